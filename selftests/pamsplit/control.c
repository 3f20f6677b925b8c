// SPDX-License-Identifier: GPL-2.0
/*
 * control - what the control socket answers with many flows, to an asker who
 * reads only once it was answered
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../pamsd/tap.h"
#include "make.h"
#include "pamsplit.h"

#define ISN		1000
#define STAMP		5

static unsigned int said;

void say(const char *format, ...)
{
	va_list args;

	said++;
	fputs("# ", stdout);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

/* What else the answer has. */
uint64_t queue_overruns(const struct queue *queue)
{
	(void)queue;
	return 0;
}

uint64_t raw_failed(const struct raw *raw)
{
	(void)raw;
	return 0;
}

int confine_find(const char *user, uid_t *uid, gid_t *gid)
{
	(void)user;
	*uid = 0;
	*gid = 0;
	return 0;
}

static struct split *with_flows(unsigned int count)
{
	struct split_options options = split_defaults;
	const uint64_t now_us = 1000000;
	struct split *split;
	uint8_t data[256];

	options.flows_max = count + 1;
	split = split_new(&options, discard, NULL);
	for (unsigned int i = 0; i < count; i++) {
		client_port = 1024 + i;
		open_flow(split, now_us, data, ISN, STAMP, 60000);
	}
	return split;
}

/* Lines that begin with that word, in what can be read until the end. */
static unsigned int lines_of(int fd, const char *word)
{
	FILE *in = fdopen(fd, "r");
	unsigned int lines = 0;
	char *line = NULL;
	size_t room = 0;

	while (getline(&line, &room, in) > 0)
		lines += !strncmp(line, word, strlen(word)) && strchr(line, '\n');
	free(line);
	fclose(in);
	return lines;
}

static void all_flows_are_shown(void)
{
	static const unsigned int counts[] = { 0, 1, 2, 5, 20, 100, 1000, 2000, 20000 };
	const struct worker_files files = { .control = -1 };

	for (unsigned int i = 0; i < ARRAY_LEN(counts); i++) {
		struct split *split = with_flows(counts[i]);
		int ends[2];

		check(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
		control_answer(ends[0], split, &files, false);
		close(ends[0]);
		check(lines_of(ends[1], "flow ") == counts[i]);
		split_free(split);
	}
	check(!said);
}

/* The worker keeps CAP_NET_ADMIN for it. */
static bool may_make_room(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), room = 1 << 20;
	bool may = !setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &room,
			       sizeof(room));

	close(fd);
	return may;
}

int main(void)
{
	if (may_make_room())
		run(all_flows_are_shown);
	else
		skip(all_flows_are_shown, "without CAP_NET_ADMIN");
	return tap_end();
}
