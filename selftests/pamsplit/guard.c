// SPDX-License-Identifier: GPL-2.0
/*
 * guard - that the flows are reset though nobody reads the messages any more
 *
 * guard.c beside a worker that only waits; what it needs of the core and the rules is made up.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../pamsd/tap.h"
#include "pamsplit.h"

#define FLOWS	3

static unsigned int sent;	/* resets */
static bool resets;		/* so do the rules that are left */

unsigned int split_ends(const struct split *split, struct split_end *ends, unsigned int max)
{
	(void)split;
	(void)max;
	memset(ends, 0, FLOWS * sizeof(*ends));
	return FLOWS;
}

size_t split_end_reset(uint8_t *data, const struct split_end *end, enum split_side side)
{
	(void)data;
	(void)end;
	(void)side;
	return 0;
}

void raw_put(void *raw, enum split_side side, uint8_t *data, size_t len)
{
	(void)raw;
	(void)side;
	(void)data;
	(void)len;
	sent++;
}

void raw_flush(struct raw *raw)
{
	(void)raw;
}

int rules_listen(void)
{
	return open("/dev/zero", O_RDONLY | O_CLOEXEC);
}

bool rules_removed(int fd)
{
	(void)fd;
	return true;
}

int rules_remove(void)
{
	return 0;
}

int rules_only_reset(uint8_t id)
{
	(void)id;
	resets = true;
	return 0;
}

/* The exit status: 0 if the flows were reset. */
static int reset_flows(void)
{
	struct guard *guard = guard_new(FLOWS);
	int ends[2], pid;

	if (!guard || pipe(ends) || dup2(ends[1], STDERR_FILENO) < 0)
		return 2;
	close(ends[0]);
	close(ends[1]);
	guard_beat(guard, NULL);
	pid = fork();
	if (!pid) {
		alarm(10);
		for (;;)
			pause();
	}
	return guard_watch(guard, pid, NULL, 1) == EXIT_FAILURE && sent == 2 * FLOWS && resets ?
	       0 : 1;
}

static void nobody_reads_its_messages(void)
{
	int status = -1, pid;

	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(reset_flows());
	check(waitpid(pid, &status, 0) == pid && !status);
}

int main(void)
{
	run(nobody_reads_its_messages);
	return tap_end();
}
