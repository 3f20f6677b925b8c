// SPDX-License-Identifier: GPL-2.0
/*
 * start - that the rules go however a start ends: main.c with all else made up
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

static int fails_to_fork(void)
{
	errno = EAGAIN;
	return -1;
}

#define fork fails_to_fork
#define main pamsplit_main
#include "main.c"
#undef main
#undef fork

#include "../pamsd/tap.h"

#define ANY	((void *)1)

static unsigned int added, removed;
static bool blocked;		/* what would end it, while there are rules */

int rules_add(const struct settings *settings, uint8_t id)
{
	sigset_t set;

	(void)settings;
	(void)id;
	added++;
	sigprocmask(SIG_BLOCK, NULL, &set);
	blocked = sigismember(&set, SIGTERM) == 1 &&
		  sigismember(&set, SIGINT) == 1;
	return 0;
}

int rules_remove(void)
{
	removed++;
	return 0;
}

struct raw *raw_new(void)
{
	return ANY;
}

void raw_free(struct raw *raw)
{
	(void)raw;
}

struct queue *queue_new(uint16_t number, struct raw *raw)
{
	(void)raw;
	(void)number;
	return ANY;
}

void queue_free(struct queue *queue)
{
	(void)queue;
}

struct guard *guard_new(unsigned int flows_max)
{
	(void)flows_max;
	return ANY;
}

void guard_free(struct guard *guard)
{
	(void)guard;
}

int guard_watch(struct guard *guard, int pid, struct raw *raw, uint8_t id)
{
	(void)guard;
	(void)pid;
	(void)raw;
	(void)id;
	return EXIT_SUCCESS;
}

int worker_run(const struct settings *settings,
	       const struct worker_files *files)
{
	(void)settings;
	(void)files;
	return EXIT_SUCCESS;
}

int control_listen(const char *path, const char *user)
{
	(void)path;
	(void)user;
	return -1;
}

int control_ask(const char *path)
{
	(void)path;
	return EXIT_SUCCESS;
}

int confine_find(const char *user, uid_t *uid, gid_t *gid)
{
	(void)user;
	*uid = 1;
	*gid = 1;
	return 0;
}

static void no_process_for_the_worker(void)
{
	char *arguments[7] = { "pamsplit", "--client", "10.0.0.1",
			       "--control", "", "run" };

	check(pamsplit_main(ARRAY_LEN(arguments) - 1, arguments) ==
	      EXIT_FAILURE);
	check(added == 1 && removed == 1);
}

static void no_signal_ends_it_beside_its_rules(void)
{
	check(blocked);
}

/* It would take over the queue and the rules. */
static void one_in_a_network_namespace(void)
{
	char *arguments[7] = { "pamsplit", "--client", "10.0.0.1",
			       "--control", "", "run" };
	unsigned int before = added;
	int other = lock();

	check(other >= 0);
	optind = 1;
	check(pamsplit_main(ARRAY_LEN(arguments) - 1, arguments) == EXIT_FAILURE);
	check(added == before);
	close(other);
	optind = 1;
	pamsplit_main(ARRAY_LEN(arguments) - 1, arguments);
	check(added == before + 1);
}

int main(void)
{
	/* of its own, if possible: elsewhere one may run */
	unshare(CLONE_NEWUSER | CLONE_NEWNET);
	run_case("no_process_for_the_worker", no_process_for_the_worker);
	run_case("no_signal_ends_it_beside_its_rules",
		 no_signal_ends_it_beside_its_rules);
	run_case("one_in_a_network_namespace", one_in_a_network_namespace);
	return tap_end();
}
