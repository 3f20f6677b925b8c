/* SPDX-License-Identifier: GPL-2.0 */
/* links - what this machine's interfaces do, and what goes over them */
#ifndef PAMSD_LINKS_H
#define PAMSD_LINKS_H

#include <sys/queue.h>

#include "reporter.h"

/* --- links.c: the state of interfaces, from rtnetlink --- */

struct link {
	char name[IF_NAMESIZE];
	unsigned int ifindex;	/* 0: no such interface */
	bool known, up;		/* up: with carrier */
	bool listed;		/* the current dump contains this link */
	bool lost;		/* set by reporter.c: the path is lost, or will be soon */
	uint64_t counted_us;	/* when bytes was read; 0: never */
	uint64_t bytes;		/* counter: sent and received */
	uint64_t window_us;	/* when the window began */
	uint64_t window_bytes;	/* bytes sent and received in the window */
	uint64_t moved_us;	/* when the link last carried data; 0: never seen */
	bool has_address4, has_address6; /* to send reports from, among addresses */
	struct link_address *addresses;
	unsigned int address_count;
};

struct links;

/*
 * Calls changed() at once when a link's up has changed, and addressed() when a link gets its
 * first address of a family.
 */
struct links *links_new(struct event_base *base,
			void (*changed)(struct link *link, void *arg),
			void (*addressed)(void *arg), void *arg);
void links_free(struct links *links);
/* Watch the link of this name from now on. The returned link is valid as long as links. */
struct link *links_watch(struct links *links, const char *name);
/*
 * Request a dump of all links; call this after the last links_watch(). Links that the dump
 * doesn't contain don't exist any more.
 */
int links_refresh(struct links *links);
/* Read the counters of all links, to see which of them carry data. */
int links_sample(struct links *links, uint64_t us);
/* If a link has several addresses, those come first that subflows use. */
void links_use(struct links *links);
/* The address of the link to send reports to that server from; family 0: it has none. */
void links_source(struct links *links, const struct link *link, const union address *to,
		  struct prefix *source);
#define LINKS_MAX	64
/* Fill in the indices of the existing links; returns how many there are. */
unsigned int links_indices(const struct links *links,
			   unsigned int indices[LINKS_MAX]);

/* --- traffic.c: the first packet after a silence --- */

#define TRAFFIC_MAX	64

/*
 * Call seen() once, when a packet large enough to carry data passes one of these interfaces,
 * of which there are at most TRAFFIC_MAX. Returns false if the caller has to poll instead.
 */
bool traffic_await(struct event_base *base, const unsigned int *ifindexes,
		   unsigned int count, void (*seen)(void *arg), void *arg);
void traffic_ignore(void);

/* --- subflows.c: this machine's subflows of MPTCP connections --- */

#define CONNECTIONS_MAX	32768

struct subflow {
	struct prefix local, peer;
	unsigned int ifindex;	/* that it is bound to; 0: to none */
	uint16_t peer_port;
	uint8_t local_id;	/* address id of this machine's address */
	uint8_t remote_id;
};

struct mptcp_conn {
	LIST_ENTRY(mptcp_conn) in_table;
	uint32_t own_token;	/* this machine's token */
	uint32_t token;		/* the peer's; 0: the kernel doesn't tell it yet */
	bool seen;		/* the current dump has it */
	unsigned int count;	/* 0: it is closed */
	struct subflow subflows[REPORT_FLOWS_MAX];
};

typedef void (*connection_fn)(const struct mptcp_conn *connection, void *arg);

/*
 * Call changed for each connection that begins, changes or ends, from subflows_read() on. Ready is
 * called when the kernel has told something, which subflows_read() reads.
 */
void subflows_open(struct event_base *base, void (*ready)(void *arg), connection_fn changed,
		   void *arg);
void subflows_close(void);
/*
 * Learn by the kernel's events what has changed since. all: call changed for all connections, and
 * if events were lost, or there are none, read them all by a dump. Returns 0 or -errno. Without
 * CAP_NET_ADMIN it finds none.
 */
int subflows_read(bool all);
void subflows_each(connection_fn each, void *arg);
/* The name of the interface that has its address, or had it last; NULL if none is known. */
const char *subflows_interface(const struct subflow *subflow);
/* Does a subflow use this address of this interface? */
bool subflows_use(const struct prefix *local, const char *interface);

#endif /* PAMSD_LINKS_H */
