// SPDX-License-Identifier: GPL-2.0
/*
 * pamsplit - splits the TCP of MPTCP subflows that pass through a helper
 *
 * This file parses the options, sets everything up, and takes it down at the end.
 * The program is documented in pamsplit(8).
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "output.h"
#include "pamsplit.h"

#define EXIT_USAGE	2
#define KB		1024

static const char help[] =
"usage: pamsplit {--client PREFIX | --pipe INTERFACE}... [OPTION...] run\n"
"       pamsplit [--control FILE] show\n"
"       pamsplit --help, --version\n"
"\n"
"  --client PREFIX     whose joining subflows are split: 192.168.7.2, fd07::/64\n"
"  --pipe INTERFACE    or: through which interface they come\n"
"  --limit KB          banked of a flow at least (128) ...\n"
"  --limit-ms MS       ... and so much time at the pipe's rate (200)\n"
"  --flow-memory KB, --client-memory KB, --memory KB\n"
"                      for a flow (4096), a client (16384), in all (65536)\n"
"  --flows N           at most (1000)\n"
"  --from-the-start    split a flow before the pipe loses something, too\n"
"  --lend KB           all clients get so much a second together, at most\n"
"  --own INTERFACE     whose own traffic goes before what clients get\n"
"  --silence MS        a pipe that is silent that long is dead (20000)\n"
"  --drain MS          time to leave the flows at the end (3000)\n"
"  --queue N           NFQUEUE's number (4077)\n"
"  --user NAME         to become, or a number (nobody)\n"
"  --control FILE      the socket that `show` asks, \"\" for none\n"
"                      (" PAMSPLIT_CONTROL ")\n"
"\n"
"See pamsplit(8).\n";

static int see_help(void)
{
	say("see pamsplit --help");
	return EXIT_USAGE;
}

static int read_number(const char *name, const char *text, uint64_t max,
		       uint64_t *number)
{
	char *end;

	errno = 0;
	*number = strtoull(text, &end, 10);
	if (!errno && end != text && !*end && *text != '-' && *number &&
	    *number <= max)
		return 0;
	say("--%s '%s': a number from 1 to %llu", name, text,
	    (unsigned long long)max);
	return -1;
}

static int read_prefix(const char *text, struct prefix *prefix)
{
	char address[INET6_ADDRSTRLEN + 4];
	uint64_t len;
	char *slash;

	memset(prefix, 0, sizeof(*prefix));
	if (strlen(text) >= sizeof(address))
		goto wrong;
	memcpy(address, text, strlen(text) + 1);
	slash = strchr(address, '/');
	if (slash)
		*slash++ = '\0';
	if (inet_pton(AF_INET6, address, prefix->address.bytes) == 1)
		prefix->v6 = true;
	else if (inet_pton(AF_INET, address, prefix->address.bytes) != 1)
		goto wrong;
	prefix->len = prefix->v6 ? 128 : 32;
	if (slash) {
		if (read_number("client", slash, prefix->len, &len))
			return -1;
		prefix->len = len;
	}
	return 0;
wrong:
	say("--client '%s': an address or a prefix", text);
	return -1;
}

/* Can it be an interface's name? It is put between quotation marks in nftables' rules. */
static bool is_interface(const char *name)
{
	size_t len = 0;

	while (isalnum((unsigned char)name[len]) ||
	       (name[len] && strchr("._-@:", name[len])))
		len++;
	return len && len < 16 && !name[len];
}

static int read_option(struct settings *settings, int option, const char *name,
		       const char *text)
{
	struct split_options *split = &settings->split;
	uint64_t number;

	switch (option) {
	case 'c':
		if (settings->client_count == CLIENTS_MAX) {
			say("--client: at most %d", CLIENTS_MAX);
			return -1;
		}
		return read_prefix(text, settings->clients +
					 settings->client_count++);
	case 'p':
		if (settings->pipe_count == PIPES_MAX || !is_interface(text)) {
			say("--pipe '%s': up to %d interfaces", text,
			    PIPES_MAX);
			return -1;
		}
		settings->pipes[settings->pipe_count++] = text;
		return 0;
	case 'o':
		if (!is_interface(text)) {
			say("--own '%s': an interface", text);
			return -1;
		}
		settings->own = text;
		return 0;
	case 'u':
		settings->user = text;
		return 0;
	case 's':
		settings->control = text;
		return 0;
	case 'w':
		split->where_it_pays = false;
		return 0;
	}
	if (read_number(name, text, option == 'q' ? 65535 : 4 << 20, &number))
		return -1;
	switch (option) {
	case 'l': split->limit_bytes = number > KB * KB ? KB * KB * KB
							 : number * KB; break;
	case 'm': split->limit_us = number * 1000; break;
	case 'F': split->flow_bytes = number * KB; break;
	case 'C': split->client_bytes = number * KB; break;
	case 'T': split->total_bytes = number * KB; break;
	case 'n': split->flows_max = number > 65536 ? 65536 : number; break;
	case 'L': split->lend_byteps = number * KB; break;
	case 'S': split->silent_us = number * 1000; break;
	case 'd': settings->drain_us = number * 1000; break;
	case 'q': settings->queue = number; break;
	}
	return 0;
}

/* Choose the random seed of the table's hash, and the run's mark: never 0, which is no mark. */
static int choose(uint8_t *id, uint64_t *seed)
{
	if (getrandom(seed, sizeof(*seed), 0) != sizeof(*seed) ||
	    getrandom(id, sizeof(*id), 0) != sizeof(*id)) {
		say("no random numbers: %s", strerror(errno));
		return -1;
	}
	*id = *id ?: 1;
	return 0;
}

/* Block signals before rules are added, so that none can end the process with rules in place. */
static void block_signals(sigset_t *old)
{
	sigset_t blocked;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGTERM);
	sigaddset(&blocked, SIGINT);
	sigaddset(&blocked, SIGUSR1);
	sigaddset(&blocked, SIGUSR2);
	sigaddset(&blocked, SIGCHLD);
	sigprocmask(SIG_BLOCK, &blocked, old);
}

/*
 * Two in a network namespace would take each other's rules: it has one such name, which is free
 * again when this process has ended, however that was. Returns -1 after logging the reason.
 */
static int lock(void)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX, .sun_path = "\0mptcp-pamsplit" };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && !bind(fd, (struct sockaddr *)&name,
			     offsetof(struct sockaddr_un, sun_path) + 15))
		return fd;
	say("%s", errno == EADDRINUSE ? "another pamsplit runs in this network namespace: one is "
	    "enough for all its clients and pipes" : strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

/*
 * Start the worker, and guard it until it ends. The worker is killed if this process dies; the
 * rules then reset the flows.
 */
static int start(const struct settings *settings, uint8_t id,
		 const struct worker_files *files, const sigset_t *old)
{
	int pid = fork();

	if (pid < 0) {
		say("fork: %s", strerror(errno));
		rules_remove();
		return EXIT_FAILURE;
	}
	if (!pid) {
		close(files->lock);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* until the worker handles them */
		signal(SIGUSR1, SIG_IGN);
		signal(SIGUSR2, SIG_IGN);
		sigprocmask(SIG_SETMASK, old, NULL);
		_exit(worker_run(settings, files));
	}
	return guard_watch(files->guard, pid, files->raw, id);
}

static int run(struct settings *settings)
{
	struct worker_files files = { .control = -1 };
	int status = EXIT_FAILURE;
	sigset_t old;
	uint8_t id;

	if (choose(&id, &settings->split.seed))
		return EXIT_FAILURE;
	files.lock = lock();
	if (files.lock < 0)
		return EXIT_FAILURE;
	files.raw = raw_new();
	files.queue = files.raw ? queue_new(settings->queue, files.raw) : NULL;
	files.guard = files.queue ? guard_new(settings->split.flows_max) : NULL;
	if (!files.guard)
		goto free_files;
	if (*settings->control) {
		files.control = control_listen(settings->control,
					       settings->user);
		if (files.control < 0)
			goto free_files;
	}
	block_signals(&old);
	if (!rules_add(settings, id))
		status = start(settings, id, &files, &old);
	if (files.control >= 0) {
		close(files.control);
		unlink(settings->control);
	}
free_files:
	guard_free(files.guard);
	queue_free(files.queue);
	raw_free(files.raw);
	close(files.lock);
	return status;
}

static int finish(int status)
{
	return output_end("pamsplit", status);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "client", required_argument, NULL, 'c' },
		{ "pipe", required_argument, NULL, 'p' },
		{ "limit", required_argument, NULL, 'l' },
		{ "limit-ms", required_argument, NULL, 'm' },
		{ "flow-memory", required_argument, NULL, 'F' },
		{ "client-memory", required_argument, NULL, 'C' },
		{ "memory", required_argument, NULL, 'T' },
		{ "flows", required_argument, NULL, 'n' },
		{ "lend", required_argument, NULL, 'L' },
		{ "own", required_argument, NULL, 'o' },
		{ "silence", required_argument, NULL, 'S' },
		{ "drain", required_argument, NULL, 'd' },
		{ "from-the-start", no_argument, NULL, 'w' },
		{ "queue", required_argument, NULL, 'q' },
		{ "user", required_argument, NULL, 'u' },
		{ "control", required_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ }
	};
	struct settings settings = {
		.queue = 4077,
		.user = "nobody",
		.control = PAMSPLIT_CONTROL,
		.drain_us = 3000000,
		.split = split_defaults,
	};
	static char buffer[BUFSIZ];
	int option, index = 0;
	uid_t uid;
	gid_t gid;

	settings.split.where_it_pays = true;
	/* to allocate a buffer, the C library would make system calls that the worker may not */
	setvbuf(stderr, buffer, _IOLBF, sizeof(buffer));
	while ((option = getopt_long(argc, argv, "hV", options,
				     &index)) >= 0) {
		switch (option) {
		case '?':
			return see_help();
		case 'h':
			fputs(help, stdout);
			return finish(EXIT_SUCCESS);
		case 'V':
			puts("pamsplit " PAMS_VERSION);
			return finish(EXIT_SUCCESS);
		}
		if (read_option(&settings, option, options[index].name, optarg))
			return EXIT_USAGE;
	}
	if (optind == argc) {
		say("what is to be done, run or show? see pamsplit --help");
		return EXIT_USAGE;
	}
	if (strcmp(argv[optind], "show") && strcmp(argv[optind], "run")) {
		say("'%s' is neither run nor show: see pamsplit --help", argv[optind]);
		return EXIT_USAGE;
	}
	if (argc - optind > 1) {
		say("'%s' is one argument too many: see pamsplit --help", argv[optind + 1]);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[optind], "show"))
		return finish(control_ask(settings.control));
	if (!settings.client_count && !settings.pipe_count) {
		say("whose subflows? --client PREFIX or --pipe INTERFACE");
		return EXIT_USAGE;
	}
	if (confine_find(settings.user, &uid, &gid))
		return EXIT_USAGE;
	return run(&settings);
}
