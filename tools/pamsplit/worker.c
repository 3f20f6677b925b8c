// SPDX-License-Identifier: GPL-2.0
/*
 * worker - the event loop: packets, timers, the control socket and signals
 *
 * SIGTERM and SIGINT: split no new flow, and step out of each flow as soon as
 * nothing of it is banked; after a time, reset the other flows and end. SIGUSR1:
 * lend nothing until SIGUSR2. A request at the control socket can have the same
 * effect for a limited time.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "base.h"
#include "notify.h"
#include "pamsplit.h"

#define BEAT_US		50000
#define LEAST_WAIT_US	200	/* shortest timer; a burst makes up for the delay */
#define PATIENCE_US	1000000	/* time that a control client has to send a request */

struct worker {
	const struct settings *settings;
	const struct worker_files *files;
	struct event_base *base;
	struct event *packets, *timer, *beat, *control, *signals[4];
	struct split *split;
	struct link *link;		/* interface of --own; NULL: own traffic has no priority */
	struct own own;
	uint64_t drain_until_us;	/* 0: no signal to end has come */
	bool nothing;			/* lend nothing, until SIGUSR2 */
	uint64_t nothing_until_us;	/* lend nothing, by request, until then; 0: no request */
	bool failed;
};

static struct timeval in_us(uint64_t us)
{
	return (struct timeval){ us / 1000000, us % 1000000 };
}

static void set_timer(struct worker *worker)
{
	uint64_t at_us = split_next_us(worker->split), now = now_us();
	struct timeval wait;

	if (at_us == NEVER_US) {
		event_del(worker->timer);
		return;
	}
	wait = in_us(at_us > now + LEAST_WAIT_US ? at_us - now
						 : LEAST_WAIT_US);
	event_add(worker->timer, &wait);
}

static void end_if_drained(struct worker *worker)
{
	if (!worker->drain_until_us)
		return;
	if (now_us() >= worker->drain_until_us) {
		split_reset_all(worker->split, now_us());
		queue_flush(worker->files->queue);
	}
	if (split_drained(worker->split))
		event_base_loopbreak(worker->base);
}

static void after_each(struct worker *worker)
{
	set_timer(worker);
	end_if_drained(worker);
}

static void on_packets(evutil_socket_t fd, short what, void *arg)
{
	struct worker *worker = arg;

	(void)fd;
	(void)what;
	if (queue_take(worker->files->queue, worker->split)) {
		worker->failed = true;
		event_base_loopbreak(worker->base);
	}
	guard_beat(worker->files->guard, worker->split);
	after_each(worker);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct worker *worker = arg;
	uint64_t now = now_us();

	(void)fd;
	(void)what;
	split_timers(worker->split, now);
	split_flush(worker->split, now);
	queue_flush(worker->files->queue);
	after_each(worker);
}

/* Set the core's cap to the lower one of --lend and what own traffic leaves. */
static void set_cap(struct worker *worker)
{
	uint64_t cap = worker->settings->split.lend_byteps, left;

	if (!worker->link)
		return;
	left = own_leaves(&worker->own, now_us(),
			  link_received_bytes(worker->link),
			  split_counters(worker->split)->lent_bytes);
	split_lend(worker->split, left && (!cap || left < cap) ? left : cap);
	set_timer(worker);
}

static void set_lending(struct worker *worker)
{
	bool lends;

	if (worker->nothing_until_us && worker->nothing_until_us <= now_us())
		worker->nothing_until_us = 0;
	lends = !worker->nothing && !worker->nothing_until_us;
	if (lends == split_lends(worker->split))
		return;
	split_lend_nothing(worker->split, !lends);
	queue_flush(worker->files->queue);
	say(lends ? "it lends again" : "nothing is lent now");
}

/* Show the guard that the worker lives, and the rules, by a RST to 127.0.0.1 that TCP discards. */
static void beat(struct worker *worker)
{
	const struct address here = { .bytes = { 127, 0, 0, 1 } };
	const struct split_end end = { .client = here, .server = here };
	struct raw *raw = worker->files->raw;
	uint8_t data[HEADER_MAX];

	guard_beat(worker->files->guard, worker->split);
	raw_put(raw, TO_CLIENT, data, split_end_reset(data, &end, TO_CLIENT));
	raw_flush(raw);
}

static void on_beat(evutil_socket_t fd, short what, void *arg)
{
	struct worker *worker = arg;

	(void)fd;
	(void)what;
	beat(worker);
	if (worker->control)
		event_add(worker->control, NULL);
	set_cap(worker);
	set_lending(worker);
	end_if_drained(worker);
}

static void on_words(evutil_socket_t fd, short what, void *arg)
{
	struct worker *worker = arg;
	unsigned int ms;

	if (what & EV_READ && control_hear(fd, &ms)) {
		worker->nothing_until_us = ms ? now_us() + ms * 1000ULL : 0;
		set_lending(worker);
		after_each(worker);
	}
	close(fd);
}

static void on_question(evutil_socket_t fd, short what, void *arg)
{
	const struct timeval patience = in_us(PATIENCE_US);
	struct worker *worker = arg;
	int asker = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)what;
	/* without a descriptor for it, who waits would wake the worker all the time: on_beat() */
	if (asker < 0) {
		event_del(worker->control);
		return;
	}
	control_answer(asker, worker->split, worker->files,
		       worker->drain_until_us);
	if (event_base_once(worker->base, asker, EV_READ, on_words, worker,
			    &patience))
		close(asker);
}

static void on_signal(evutil_socket_t number, short what, void *arg)
{
	struct worker *worker = arg;

	(void)number;
	(void)what;
	if (!worker->drain_until_us) {
		notify("STOPPING=1");
		worker->drain_until_us = now_us() +
					 worker->settings->drain_us;
	}
	split_drain(worker->split, now_us());
	split_flush(worker->split, now_us());
	queue_flush(worker->files->queue);
	after_each(worker);
}

static void on_lend(evutil_socket_t number, short what, void *arg)
{
	struct worker *worker = arg;

	(void)what;
	worker->nothing = number == SIGUSR1;
	set_lending(worker);
	after_each(worker);
}

static int set_up(struct worker *worker)
{
	static const int numbers[] = { SIGTERM, SIGINT, SIGUSR1, SIGUSR2 };
	const struct timeval beat = in_us(BEAT_US);
	const struct worker_files *files = worker->files;

	signal(SIGPIPE, SIG_IGN);
	worker->base = base_new();
	if (!worker->base)
		return -1;
	worker->packets = event_new(worker->base, queue_fd(files->queue),
				    EV_READ | EV_PERSIST, on_packets, worker);
	worker->timer = evtimer_new(worker->base, on_timer, worker);
	worker->beat = event_new(worker->base, -1, EV_PERSIST, on_beat, worker);
	if (!worker->packets || event_add(worker->packets, NULL) ||
	    !worker->timer || !worker->beat || event_add(worker->beat, &beat))
		return -1;
	if (files->control >= 0) {
		worker->control = event_new(worker->base, files->control,
					    EV_READ | EV_PERSIST, on_question,
					    worker);
		if (!worker->control || event_add(worker->control, NULL))
			return -1;
	}
	if (worker->settings->own) {
		worker->link = link_new(worker->settings->own);
		if (!worker->link)
			return -1;
	}
	for (unsigned int i = 0; i < ARRAY_LEN(numbers); i++) {
		worker->signals[i] = evsignal_new(worker->base, numbers[i],
						  i < 2 ? on_signal : on_lend,
						  worker);
		if (!worker->signals[i] || event_add(worker->signals[i], NULL))
			return -1;
	}
	return 0;
}

static void tear_down(struct worker *worker)
{
	struct event *events[] = {
		worker->packets, worker->timer, worker->beat, worker->control,
		worker->signals[0], worker->signals[1],
		worker->signals[2], worker->signals[3]
	};

	for (unsigned int i = 0; i < ARRAY_LEN(events); i++)
		if (events[i])
			event_free(events[i]);
	link_free(worker->link);
	if (worker->base)
		event_base_free(worker->base);
	split_free(worker->split);
}

static void on_large(void *arg, uint8_t *data, size_t len, uint32_t mtu)
{
	split_too_large(arg, data, len, mtu);
}

int worker_run(const struct settings *settings,
	       const struct worker_files *files)
{
	struct worker worker = { .settings = settings, .files = files };

	worker.split = split_new(&settings->split, raw_put, files->raw);
	if (!worker.split || set_up(&worker)) {
		say("the worker can't be set up: %s", strerror(errno));
		worker.failed = true;
	} else if (confine_user(settings->user) || confine_calls()) {
		worker.failed = true;
	} else {
		raw_on_large(files->raw, on_large, worker.split);
		split_may_hold(worker.split, queue_let, files->queue);
		beat(&worker);
		if (raw_failed(files->raw))
			say("nothing can be split while the loopback interface is down");
		notify("READY=1");
		event_base_dispatch(worker.base);
	}
	tear_down(&worker);
	return worker.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
