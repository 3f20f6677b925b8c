/* SPDX-License-Identifier: GPL-2.0 */
/*
 * pamsplit - what the program's parts are to each other; the core is split.h
 *
 * Files call downward only (selftests/downward); below these lies the core, whose
 * map is in flow.h:
 *
 *	main.c		the command line
 *	worker.c	the loop over packets and timers
 *	guard.c		resets the flows if the worker dies or hangs, or the rules go
 *	control.c	the socket that tells how it is, and is told what to lend
 *	queue.c		packets that the kernel hands over
 *	raw.c		packets that the core makes
 *	rules.c		which packets come here: the nftables table
 *	own.c		what own traffic leaves for clients
 *	link.c		what an interface has received
 *	confine.c	privileges and system calls that aren't needed any more
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
#define SILENCE_MS	500	/* a worker that doesn't beat for so long hangs */
#define PAMSPLIT_CONTROL "/run/pamsplit/socket"

/* Bits of a packet's mark; a connection's mark is the run's own, see rules.c. */
#define MARK_PASSED	0x01000000	/* the splitter saw it */
#define MARK_LEFT	0x02000000	/* and wants no more of its flow */
#define MARK_MADE	0x04000000	/* the splitter made it, for the client */
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
	const char *own;	/* interface whose own traffic goes first */
	uint16_t queue;
	const char *user;
	const char *control;		/* "" for none */
	uint32_t drain_us;
	struct split_options split;
};

/* say.c */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
uint64_t now_us(void);

/* rules.c: 0 or -1, which has been said */
int rules_add(const struct settings *settings, uint8_t id);
int rules_remove(void);
int rules_only_reset(uint8_t id);

/* A socket that becomes readable when the kernel's rules change, once ours are added. */
int rules_listen(void);
/* Take an event from it. Has somebody removed rules of ours? */
bool rules_removed(int fd);

/* raw.c */
struct raw;

struct raw *raw_new(void);
void raw_free(struct raw *raw);
void raw_put(void *raw, enum split_side side, uint8_t *data, size_t len);
void raw_flush(struct raw *raw);
uint64_t raw_failed(const struct raw *raw);

/* Who is told of packets that are larger than the MTU there. */
typedef void (*raw_large_fn)(void *arg, uint8_t *data, size_t len,
			     uint32_t mtu);
void raw_on_large(struct raw *raw, raw_large_fn large, void *arg);

/* queue.c */
struct queue;

struct queue *queue_new(uint16_t number);
void queue_free(struct queue *queue);
int queue_fd(const struct queue *queue);

/* Take what is there, up to a burst, through the core. -1: it failed. */
int queue_take(struct queue *queue, struct split *split, struct raw *raw);
uint64_t queue_overruns(const struct queue *queue);

/* own.c */
#define OWN_SLOTS	10

struct own {
	uint64_t at_us;			/* of the last look, 0: none yet */
	uint64_t received_bytes, lent_bytes;
	uint64_t own_byteps, lent_byteps, total_byteps;	/* averages */
	uint64_t halved_us;
	uint64_t slot, peaks[OWN_SLOTS];
	uint64_t left_byteps;		/* what was answered */
};

/* What may be lent, in bytes per second, 0: all. Counters since ever. */
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

/* Wait for the worker's end; the exit status. */
int guard_watch(struct guard *guard, int pid, struct raw *raw, uint8_t id);

/* worker.c: the exit status */
struct worker_files {
	struct queue *queue;
	struct raw *raw;
	struct guard *guard;
	int control;		/* listens, -1 for none */
};

int worker_run(const struct settings *settings,
	       const struct worker_files *files);

/* control.c */
int control_listen(const char *path, const char *user);
void control_answer(int fd, const struct split *split,
		    const struct worker_files *files, bool draining);
/* What somebody says: lend nothing for so long, 0: lend again. Else false. */
bool control_hear(int fd, unsigned int *nothing_ms);
int control_ask(const char *path);

#endif /* PAMSPLIT_H */
