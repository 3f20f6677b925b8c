// SPDX-License-Identifier: GPL-2.0
/*
 * guard - resets the flows if the worker dies or hangs, or somebody removes the rules
 *
 * The guard is the worker's parent. In memory that they share, the worker counts
 * its beats and stores what is needed to reset each flow. A worker that doesn't
 * beat for three seconds is killed, and so is one that is stopped (SIGSTOP) for half a
 * second, or whose rules were removed. A worker that only lacks a processor for a moment
 * goes on: to the flows that is a pause of the pipe. What a worker that is
 * killed had banked is lost here, but not at the server, which sends it over another path
 * as soon as it gets the reset.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pamsplit.h"

#define COPY_US		10000	/* least time between two copies of the flows */
#define LOOK_MS		100

/* The files that the guard polls. */
enum { SIGNALS, RULES, FILES };

struct copy {
	unsigned int count;
	struct split_end ends[];
};

/* The current one of the two copies is complete; the worker writes the other one. */
struct shared {
	atomic_uint beats;
	atomic_uint current;
};

struct guard {
	struct shared *shared;
	struct copy *copies[2];
	size_t size;
	unsigned int flows_max;
	uint64_t copied_us;
};

struct guard *guard_new(unsigned int flows_max)
{
	struct guard *guard = calloc(1, sizeof(*guard));
	size_t of_copy = sizeof(struct copy) +
			 flows_max * sizeof(struct split_end);

	if (!guard)
		return NULL;
	guard->size = 64 + 2 * of_copy;
	guard->flows_max = flows_max;
	guard->shared = mmap(NULL, guard->size, PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (guard->shared == MAP_FAILED) {
		say("no memory to share: %s", strerror(errno));
		free(guard);
		return NULL;
	}
	guard->copies[0] = (void *)((char *)guard->shared + 64);
	guard->copies[1] = (void *)((char *)guard->copies[0] + of_copy);
	return guard;
}

void guard_free(struct guard *guard)
{
	if (guard)
		munmap(guard->shared, guard->size);
	free(guard);
}

void guard_beat(struct guard *guard, const struct split *split)
{
	unsigned int next = !atomic_load(&guard->shared->current);
	struct copy *copy = guard->copies[next];
	uint64_t now = now_us();

	atomic_fetch_add(&guard->shared->beats, 1);
	if (now - guard->copied_us < COPY_US)
		return;
	guard->copied_us = now;
	copy->count = split_ends(split, copy->ends, guard->flows_max);
	atomic_store(&guard->shared->current, next);
}

/* Reset both ends of all flows in the current copy. Returns their number. */
static unsigned int reset_all(const struct guard *guard, struct raw *raw)
{
	const struct copy *copy =
		guard->copies[atomic_load(&guard->shared->current) & 1];
	unsigned int count = copy->count;
	uint8_t data[HEADER_MAX];

	if (count > guard->flows_max)
		count = guard->flows_max;
	for (unsigned int i = 0; i < count; i++) {
		const struct split_end *end = &copy->ends[i];

		raw_put(raw, TO_SERVER, data,
			split_end_reset(data, end, TO_SERVER));
		raw_put(raw, TO_CLIENT, data,
			split_end_reset(data, end, TO_CLIENT));
	}
	raw_flush(raw);
	say("%u flows were reset", count);
	return count;
}

/* Pass a signal to this process on to the worker. */
static void on_signal(int pid, int signals)
{
	struct signalfd_siginfo info;

	if (read(signals, &info, sizeof(info)) == sizeof(info) &&
	    info.ssi_signo != SIGCHLD)
		kill(pid, (int)info.ssi_signo);
}

/* Kill the worker if the rules were removed: it has missed packets, so new rules don't help. */
static void on_rules(int pid, struct pollfd *rules)
{
	if (!rules_removed(rules->fd))
		return;
	say("somebody has removed the rules, as a restart of nftables does");
	say("pamsplit ends, and its unit starts it again");
	kill(pid, SIGKILL);
	rules->fd = -1;		/* stop polling: the worker is killed only once */
}

/* Handle events for LOOK_MS at most. Has the worker ended? @stopped: was it stopped? */
static bool wait_for(int pid, struct pollfd files[FILES], int *status, bool *stopped)
{
	if (poll(files, FILES, LOOK_MS) > 0) {
		if (files[SIGNALS].revents)
			on_signal(pid, files[SIGNALS].fd);
		if (files[RULES].revents)
			on_rules(pid, &files[RULES]);
	}
	if (waitpid(pid, status, WNOHANG | WUNTRACED | WCONTINUED) != pid)
		return false;
	if (!WIFSTOPPED(*status) && !WIFCONTINUED(*status))
		return true;
	*stopped = WIFSTOPPED(*status);
	return false;
}

static int watch(struct guard *guard, int pid, struct pollfd files[FILES])
{
	unsigned int beats = 0, silent_ms = 0;
	uint64_t looked_us = now_us();
	bool stopped = false;
	int status = 0;

	while (!wait_for(pid, files, &status, &stopped)) {
		unsigned int now = atomic_load(&guard->shared->beats);
		uint64_t at_us = now_us();
		/* time in which this process itself was stopped doesn't count */
		uint64_t went_ms = (at_us - looked_us) / 1000;

		looked_us = at_us;
		silent_ms += went_ms < 2 * LOOK_MS ? went_ms : LOOK_MS;
		if (now != beats)
			silent_ms = 0;
		beats = now;
		if (silent_ms < (stopped ? STOPPED_MS : SILENCE_MS))
			continue;
		say("the worker hangs: it is killed");
		kill(pid, SIGKILL);
		silent_ms = 0;
	}
	return status;
}

int guard_watch(struct guard *guard, int pid, struct raw *raw, uint8_t id)
{
	struct pollfd files[FILES] = {
		[SIGNALS] = { .events = POLLIN },
		[RULES] = { .events = POLLIN },
	};
	sigset_t set;
	int status;

	/* who read its messages may be gone: the flows are reset all the same */
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGCHLD);
	files[SIGNALS].fd = signalfd(-1, &set, SFD_CLOEXEC);
	if (files[SIGNALS].fd < 0)
		say("signalfd: %s", strerror(errno));
	files[RULES].fd = rules_listen();
	if (files[SIGNALS].fd < 0 || files[RULES].fd < 0)
		kill(pid, SIGKILL);
	status = watch(guard, pid, files);
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS)
		return rules_remove() ? EXIT_FAILURE : EXIT_SUCCESS;
	if (WIFSIGNALED(status))
		say("the worker ended by signal %d", WTERMSIG(status));
	/* an end answers an inexact RST; the remaining rules answer that by an exact one */
	if (reset_all(guard, raw))
		rules_only_reset(id);
	else
		rules_remove();
	return EXIT_FAILURE;
}
