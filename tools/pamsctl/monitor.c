// SPDX-License-Identifier: GPL-2.0
/*
 * monitor - what happens, one line per event
 *
 * Goes on while the module is out, and says when it comes and goes.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <time.h>

#include "pamsctl.h"

#define ENOUGH	(-ECANCELED)	/* the events asked for have been shown */

static uint64_t now_us(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void print_event(const struct pams_event *event)
{
	char key[KEY_TEXT_MAX], line[SUBFLOW_LINE_MAX];
	time_t now = time(NULL);
	char clock[16];
	struct tm tm;

	strftime(clock, sizeof(clock), "%H:%M:%S", localtime_r(&now, &tm));
	printf("%s %s", clock, pams_event_name(event->kind));
	if (event->path)
		printf(" %s", show_key(key, event->path));
	if (event->conn)
		printf(" token 0x%08" PRIx32 " %s", event->conn->token,
		       event->conn->scheduler);
	if (event->conn && event->conn->subflows) {
		subflow_line(line, sizeof(line), event->conn->subflow);
		printf(" subflow %s", line);
	}
	putchar('\n');
	fflush(stdout);
}

static void print_event_json(const struct pams_event *event)
{
	json_t *object = json_pack("{s:s, s:I}", "event",
				   pams_event_name(event->kind), "time_us",
				   (json_int_t)now_us(CLOCK_REALTIME));

	if (event->path)
		json_object_set_new(object, "path", path_json(event->path));
	if (event->conn)
		json_object_set_new(object, "conn", conn_json(event->conn));
	print_json_line(object);
}

static int on_event(const struct pams_event *event, void *arg)
{
	uint64_t *left = arg;

	if (options.json)
		print_event_json(event);
	else
		print_event(event);
	if (ferror(stdout))
		return -EPIPE;
	return options.count && !--*left ? ENOUGH : 0;
}

static int follow(struct pams_nl *nl)
{
	struct pollfd poll_fd = { .fd = pams_nl_event_fd(nl),
				  .events = POLLIN };
	uint64_t end_us = now_us(CLOCK_MONOTONIC) + options.timeout_us;
	uint64_t left = options.count;
	int err, wait_ms = -1;

	for (;;) {
		if (options.timeout_us) {
			int64_t rest_us = end_us - now_us(CLOCK_MONOTONIC);

			if (rest_us <= 0)
				return DONE;
			wait_ms = rest_us / 1000 + 1;
		}
		err = poll(&poll_fd, 1, wait_ms);
		if (err < 0 && errno != EINTR)
			return refuse(FAILED, "monitor: poll failed");
		if (err <= 0)
			continue;
		err = pams_nl_receive(nl, on_event, &left);
		if (err == ENOUGH)
			return DONE;
		if (err == -EPIPE)
			return FAILED;
		if (err < 0)
			return refuse_kernel(nl, "monitor", err);
	}
}

int monitor_command(struct words *words)
{
	struct pams_nl *nl = NULL;
	int err, status;

	if (no_more_words(words))
		return USAGE;
	err = pams_nl_open(&nl);
	if (err == -ENOENT)
		fprintf(stderr, "pamsctl: the module mptcp_pams is not loaded: "
				"waiting for it\n");
	if (!err || err == -ENOENT)
		err = pams_nl_subscribe(nl);
	status = err ? refuse_kernel(nl, "monitor", err) : follow(nl);
	pams_nl_close(nl);
	return status;
}
