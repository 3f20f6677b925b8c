// SPDX-License-Identifier: GPL-2.0
/*
 * monitor - prints the module's events, one per line
 *
 * Reports arrive many times a second, so only "path monitor" shows when a path is
 * set or deleted, and it shows no event of a connection.
 *
 * Monitoring continues while the module isn't loaded; loading and unloading are
 * events, too.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <time.h>

#include "pamsctl.h"

#define ENOUGH	(-ECANCELED)	/* the events asked for have been shown */

struct monitored {
	bool paths;		/* path monitor: paths set and deleted, no connections */
	uint64_t left;		/* events still to show, if options.count is set */
};

static uint64_t now_us(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void print_event(const struct pams_event *event)
{
	char line[SUBFLOW_LINE_MAX];
	time_t now = time(NULL);
	char clock[16];
	struct tm tm;

	strftime(clock, sizeof(clock), "%H:%M:%S", localtime_r(&now, &tm));
	printf("%s %s", clock, pams_event_name(event->kind));
	if (event->path)
		path_print_line(event->path);
	else if (event->kind == PAMS_EVENT_PATH_DEL)
		fputs(" all", stdout);
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
		json_object_set_new(object, "conn", conn_json(event->conn, NULL));
	print_json_line(object);
}

static bool is_wanted(enum pams_event_kind kind, bool paths)
{
	switch (kind) {
	case PAMS_EVENT_PATH_SET:
	case PAMS_EVENT_PATH_DEL:
		return paths;
	case PAMS_EVENT_PATH_STOPPED:
	case PAMS_EVENT_SUBFLOW_REMOVED:
	case PAMS_EVENT_REINJECT:
		return !paths;
	default:
		return true;
	}
}

static int on_event(const struct pams_event *event, void *arg)
{
	struct monitored *monitored = arg;

	if (!is_wanted(event->kind, monitored->paths))
		return 0;
	if (options.json)
		print_event_json(event);
	else
		print_event(event);
	if (ferror(stdout))
		return -EPIPE;
	return options.count && !--monitored->left ? ENOUGH : 0;
}

static int follow(struct pams_nl *nl, bool paths)
{
	struct pollfd poll_fd = { .fd = pams_nl_event_fd(nl),
				  .events = POLLIN };
	uint64_t end_us = now_us(CLOCK_MONOTONIC) + options.timeout_us;
	struct monitored monitored = { .paths = paths, .left = options.count };
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
		err = pams_nl_receive(nl, on_event, &monitored);
		if (err == ENOUGH)
			return DONE;
		if (err == -EPIPE)
			return FAILED;
		if (err < 0)
			return refuse_kernel(nl, "monitor", err);
	}
}

static int monitor(struct words *words, bool paths)
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
	status = err ? refuse_kernel(nl, "monitor", err) :
		       follow(nl, paths);
	pams_nl_close(nl);
	return status;
}

int monitor_command(struct words *words)
{
	return monitor(words, false);
}

int path_monitor(struct words *words)
{
	return monitor(words, true);
}
