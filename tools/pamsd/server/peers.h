/* SPDX-License-Identifier: GPL-2.0 */
/* peers - what server.c and filter.c know of the peers */
#ifndef PAMSD_PEERS_H
#define PAMSD_PEERS_H

#include "../base/base.h"
#include "../base/config.h"

/* --- peer.c, session.c, held.c: peers that report to this server, and their reports --- */

struct peers;

/* The calls of the server's core to the module. Tests replace them. */
struct peers_env {
	/*
	 * Return 0 or -errno; -ENOENT: the module isn't loaded. What is set and deleted may wait
	 * for flush(), which returns how much of it was refused.
	 */
	int (*path_set)(const struct pams_path *path, void *arg);
	int (*path_del)(const struct pams_path *path, void *arg);
	unsigned int (*flush)(void *arg);
	/* Does the kernel have that subflow, of a connection whose peer has the token proof? */
	int (*subflow_find)(const struct pams_path *key, uint32_t proof, void *arg);
	/* Does it have that connection, whose peer has the token proof? */
	int (*conn_find)(uint32_t token, uint32_t proof, void *arg);
	/* Does the module have a cost under this key that pamsd set? */
	bool (*has_cost)(const struct pams_path *key, void *arg);
	/* kernel_rates() */
	unsigned int (*rates)(uint32_t token, uint32_t proof,
			      struct flow_rate rates[FLOW_RATES_MAX], void *arg);
	void *arg;
};

/* Why the server dropped a report, or a part of it. */
enum drop {
	DROP_REPORT_ERRORS = REPORT_MALFORMED,	/* up to here the values of enum report_error */
	DROP_UNKNOWN_PEER,
	DROP_NOT_FOR_US,	/* an answer came to a server, which takes only reports */
	DROP_REPLAY,
	DROP_COOKIE,
	DROP_OLD,
	DROP_RATE,
	DROP_CHALLENGE_RATE,
	/* the following drop one path of a report, not the whole report */
	DROP_NOT_ITS_PATH,
	DROP_UNVERIFIED,
	DROP_NO_CONNECTION,
	DROP_UNPROVEN,		/* a connection that the peer doesn't prove to be its own */
	DROP_GUESSES,
	DROP_TOO_MANY_PATHS,
	DROP_KERNEL,		/* the module refused the path */
	DROPS,
};

struct peers *peers_new(const struct config *config,
			const struct peers_env *env);
void peers_free(struct peers *peers);
/*
 * Process a datagram that was received at us (as now_us()). Returns the length of the answer
 * that it wrote to answer, or 0 if there is nothing to send.
 */
size_t peers_receive(struct peers *peers, const uint8_t *buf, size_t len,
		     const union address *from, uint64_t us,
		     uint8_t answer[REPORT_ANSWER_MAX]);
/* Delete from the module what peers reported that lose their rights with configuration next. */
void peers_revoke(struct peers *peers, const struct config *next, uint64_t ms);
/* Tell the module all reports that still hold. */
void peers_feed(struct peers *peers, uint64_t ms);
unsigned int peers_count(const struct peers *peers);
const struct report_keys *peers_keys(const struct peers *peers, unsigned int index);
/*
 * How many datagrams were dropped because no configured peer can have sent them; forged: also
 * those that have the name of a peer's key, and no more.
 */
uint64_t peers_junk(const struct peers *peers, bool forged);
/* How many sessions have become known; the ids of those that are known, at most that many. */
uint64_t peers_established(const struct peers *peers);
unsigned int peers_sessions(const struct peers *peers, const uint8_t **ids, unsigned int most);
struct json_t *peers_status(const struct peers *peers, uint64_t ms);

/* --- filter.c: BPF programs for the server's sockets --- */

/*
 * Of the two sockets of an address that socket fd is one of, have the second one get the datagrams
 * of known sessions, and the first one all others. Returns 0 or -errno.
 */
int filter_steer(int fd, const struct peers *peers);

/*
 * Make the kernel drop datagrams that don't have a key id of one of these peers; marks: those that
 * don't have a right mark, either.
 */
void filter_attach(int fd, const struct peers *peers, bool marks);
void filter_detach(int fd);
/* How many datagrams the kernel dropped at this socket, by the filter or as its buffer was full. */
uint32_t filter_drops(int fd);

/* --- mark.c: the BPF program that knows a right mark --- */

bool marks_are_open(void);
int marks_program(void);	/* a file descriptor, or -1 */
/* Give it the keys of these peers. Returns 0 or -errno. marks_forget() takes them away. */
int marks_fill(const struct peers *peers);
void marks_forget(void);

#endif /* PAMSD_PEERS_H */
