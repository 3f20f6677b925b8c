/* SPDX-License-Identifier: GPL-2.0 */
/*
 * pamsplit - what the program's files share; the core's interface is split.h
 *
 * The map of the files; a file calls only files below it (selftests/downward), and
 * the core, whose map is in flow.h:
 *
 *	main.c		the command line
 *	worker.c	the loop over packets and timers
 *	guard.c		resets the flows if the worker dies or hangs, or the rules are removed
 *	control.c	the control socket: shows the flows, and takes requests
 *	queue.c		packets that the kernel queues for the splitter
 *	raw.c		sends the packets that the core makes
 *	rules.c		the nftables table, which selects the packets to queue
 *	own.c		what this device's own traffic leaves for clients
 *	link.c		counts what an interface has received
 *	confine.c	drops privileges and system calls that the worker doesn't need
 *	say.c		messages, and the clock
 */
#ifndef PAMSPLIT_H
#define PAMSPLIT_H

#include <netinet/in.h>
#include <sys/types.h>

#include "split.h"

#define ARRAY_LEN(a)	(sizeof(a) / sizeof((a)[0]))
#define CLIENTS_MAX	64
#define PIPES_MAX	8
#define SILENCE_MS	3000	/* a worker that doesn't beat for this time hangs */
#define STOPPED_MS	500	/* the same for one that was stopped */
#define PAMSPLIT_CONTROL "/run/pamsplit/socket"

/* Bits of a packet's mark. For the mark of a connection, see rules.c. */
#define MARK_PASSED	0x01000000	/* the splitter has seen the packet */
#define MARK_LEFT	0x02000000	/* the splitter steps out of the packet's flow */
#define MARK_MADE	0x04000000	/* the splitter made the packet, for the client */
#define MARK_ALL	(MARK_PASSED | MARK_LEFT | MARK_MADE)

struct prefix {
	bool v6;
	struct address address;
	unsigned int len;
};

struct settings {
	struct prefix clients[CLIENTS_MAX];
	unsigned int client_count;
	const char *pipes[PIPES_MAX];	/* interfaces */
	unsigned int pipe_count;
	const char *own;	/* interface on which own traffic goes before clients' */
	uint16_t queue;
	const char *user;
	const char *control;		/* "" for none */
	uint32_t drain_us;
	struct split_options split;
};

/* say.c */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
uint64_t now_us(void);

/* rules.c: 0, or -1 after a message */
int rules_add(const struct settings *settings, uint8_t id);
int rules_remove(void);
int rules_only_reset(uint8_t id);

/* A socket that becomes readable when nftables' rules change; to call after rules_add(). */
int rules_listen(void);
/* Take an event from that socket. Have rules of pamsplit been removed? */
bool rules_removed(int fd);

/* raw.c */
struct raw;

struct raw *raw_new(void);
void raw_free(struct raw *raw);
void raw_put(void *raw, enum split_side side, uint8_t *data, size_t len);
void raw_flush(struct raw *raw);
bool raw_waits(const struct raw *raw);
uint64_t raw_failed(const struct raw *raw);

/* Called with a packet to a client that wasn't sent because it is larger than @mtu. */
typedef void (*raw_large_fn)(void *arg, uint8_t *data, size_t len,
			     uint32_t mtu);
void raw_on_large(struct raw *raw, raw_large_fn large, void *arg);

/* queue.c */
struct queue;

struct queue *queue_new(uint16_t number, struct raw *raw);
void queue_free(struct queue *queue);
int queue_fd(const struct queue *queue);

/* Give up to a burst of waiting packets to the core, and send the results. 0, or -1 on failure. */
int queue_take(struct queue *queue, struct split *split);
/* Send on, or drop, a packet that the core holds: a split_let_fn. */
void queue_let(void *queue, uint32_t id, bool send);
/* Send all that waits: verdicts, and packets that the core has made. */
void queue_flush(struct queue *queue);
uint64_t queue_overruns(const struct queue *queue);

/* own.c */
#define OWN_SLOTS	10

struct own {
	uint64_t at_us;			/* when the counters were read last, 0: not yet */
	uint64_t received_bytes, lent_bytes;
	uint64_t own_byteps, lent_byteps, total_byteps;	/* averages */
	uint64_t halved_us;
	uint64_t slot, peaks[OWN_SLOTS];
	uint64_t left_byteps;		/* the last result of own_leaves() */
};

/* The rate that may be lent, in bytes per second, 0: no limit; from two counters of all bytes. */
uint64_t own_leaves(struct own *own, uint64_t now_us, uint64_t received_bytes,
		    uint64_t lent_bytes);

/* link.c */
struct link;

struct link *link_new(const char *name);
void link_free(struct link *link);
uint64_t link_received_bytes(struct link *link);

/* confine.c */
int confine_find(const char *user, uid_t *uid, gid_t *gid);
int confine_user(const char *user);
int confine_calls(void);

/* guard.c */
struct guard;

struct guard *guard_new(unsigned int flows_max);
void guard_free(struct guard *guard);
void guard_beat(struct guard *guard, const struct split *split);

/* Guard the worker until it ends; the exit status. */
int guard_watch(struct guard *guard, int pid, struct raw *raw, uint8_t id);

/* worker.c: the exit status */
struct worker_files {
	struct queue *queue;
	struct raw *raw;
	struct guard *guard;
	int control;		/* listening socket, -1 for none */
	int lock;		/* the parent's alone */
};

int worker_run(const struct settings *settings,
	       const struct worker_files *files);

/* control.c */
int control_listen(const char *path, const char *user);
void control_answer(int fd, const struct split *split,
		    const struct worker_files *files, bool draining);
/* Read a request: lend nothing for *nothing_ms, 0: lend again. False if there is no valid one. */
bool control_hear(int fd, unsigned int *nothing_ms);
int control_ask(const char *path);

#endif /* PAMSPLIT_H */
