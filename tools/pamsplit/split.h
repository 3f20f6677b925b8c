/* SPDX-License-Identifier: GPL-2.0 */
/*
 * split - the core: a flow's TCP is split in two, its MPTCP stays whole
 *
 * Packets and the time go in, packets and the time of the next timer come out;
 * no system call is made. Sequence numbers, MPTCP options and data stay as they
 * are, so that a flow can go on without the splitter whenever nothing is banked.
 *
 *	server --- HS-path ---> splitter --- pipe ---> client
 *	       <-- early ACK --          <-- ACK -----
 *
 * Banked is what the server was told has arrived and the client doesn't have
 * yet. No DATA_ACK is made up: the server keeps the data until the client's own
 * DATA_ACK, so nothing is lost with the splitter. What the client uploads passes
 * with its acknowledgment, window and SACK rewritten; it isn't banked.
 *
 * What all clients get together may have a cap, see lend.c.
 *
 * Times in us, sizes in bytes, rates in bytes per second.
 */
#ifndef PAMSPLIT_SPLIT_H
#define PAMSPLIT_SPLIT_H

#include "packet.h"

#define NEVER_US	UINT64_MAX

enum split_side { TO_CLIENT, TO_SERVER };

/* What is to be done with a packet that was given to the core. */
enum split_verdict {
	SPLIT_PASS,	/* send it on as it is */
	SPLIT_CHANGED,	/* send it on, it was changed in place */
	SPLIT_TAKEN,	/* don't: the core has sent others, or will */
	SPLIT_LEAVE,	/* send it on, and this flow's packets past the core */
	SPLIT_REFUSED,	/* don't: answer it by a reset, as its sender knows the flow */
};

/* A packet that the core makes; sealed. */
typedef void (*split_out_fn)(void *arg, enum split_side side, uint8_t *data,
			     size_t len);

struct split_options {
	uint32_t limit_bytes;	/* banked per flow, at least ... */
	uint32_t limit_us;	/* ... and this long at the pipe's rate */
	uint64_t flow_bytes;	/* memory of a flow, ... */
	uint64_t client_bytes;	/* ... of a client, ... */
	uint64_t total_bytes;	/* ... and in all: more is dropped */
	unsigned int flows_max;
	uint64_t seed;		/* of the table's hash */
	uint32_t silent_us;	/* a pipe that is silent that long is dead */
	uint64_t lend_byteps;	/* to all clients together, 0: no cap */
};

extern const struct split_options split_defaults;

struct split_counters {
	uint64_t flows;		/* that were split, ever */
	uint64_t refused;	/* that were not: limits, or the wrong options */
	uint64_t put_off;	/* SYNs that were dropped, over the cap */
	uint64_t resets;	/* that were reset by the splitter */
	uint64_t unknown;	/* packets in mid-stream of unknown flows */
	uint64_t early_acks;
	uint64_t lent_bytes;	/* packets from servers, all of them */
	uint64_t received_bytes;  /* payload from servers, new */
	uint64_t delivered_bytes; /* acknowledged by clients */
	uint64_t resent;	/* segments sent again over the pipe */
	uint64_t timeouts;	/* of the pipe's retransmission timer */
	uint64_t probes;	/* for the tail, and for a closed window */
	uint64_t dropped;	/* packets for which there was no memory */
	uint64_t duplicates;	/* packets with nothing new */
	uint64_t banked_max;	/* of one flow */
	uint64_t memory_max;	/* of all flows */
};

/* What is known of a flow. */
struct split_info {
	bool v6;
	struct address client, server;
	uint16_t client_port, server_port;
	uint32_t banked_bytes;
	uint32_t waiting_bytes;	/* not acknowledged by the client */
	uint64_t rate_byteps;	/* delivery rate over the pipe, EWMA; 0: none */
	uint32_t srtt_us, min_rtt_us;	/* of the pipe */
	uint64_t received_bytes, delivered_bytes;
	uint64_t resent;
	uint64_t memory_bytes;
};

/*
 * With what both ends of a flow can be told that it is over: a RST is exact if
 * its sequence number is what the other side expects next.
 */
struct split_end {
	bool v6;
	struct address client, server;
	uint16_t client_port, server_port;
	uint32_t to_server_seq, to_server_ack;
	uint32_t to_client_seq, to_client_ack;
};

struct split;

struct split *split_new(const struct split_options *options, split_out_fn out,
			void *arg);
void split_free(struct split *split);

/* A packet that was forwarded. It may be changed, as the verdict tells. */
enum split_verdict split_packet(struct split *split, uint64_t now_us,
				uint8_t *data, size_t len);

/*
 * One that the core made for a client is larger than the way there takes: so are
 * others, until they are cut anew. It may be called while the core makes one.
 */
void split_too_large(struct split *split, uint8_t *data, size_t len,
		     uint32_t mtu);

/* A burst of packets is over: what is to be acknowledged is. */
void split_flush(struct split *split, uint64_t now_us);

/* When split_timers() is to be called, NEVER_US if not at all. */
uint64_t split_next_us(const struct split *split);
void split_timers(struct split *split, uint64_t now_us);

/* Another cap for what all clients get, from now on; 0: none. */
void split_lend(struct split *split, uint64_t byteps);
uint64_t split_cap(const struct split *split);

/* Reset all flows, and refuse new ones until it lends again. */
void split_lend_nothing(struct split *split, bool nothing);
bool split_lends(const struct split *split);

/* Split no more flows, and step out of those that there are. */
void split_drain(struct split *split, uint64_t now_us);

/* Is there any that isn't stepped out of? */
bool split_drained(const struct split *split);

/* Reset those flows to both ends. */
void split_reset_all(struct split *split, uint64_t now_us);

const struct split_counters *split_counters(const struct split *split);
unsigned int split_flows(const struct split *split);
uint64_t split_memory(const struct split *split);

typedef void (*split_info_fn)(void *arg, const struct split_info *info);
void split_each(const struct split *split, split_info_fn fn, void *arg);

/* Up to @max flows' ends; how many. */
unsigned int split_ends(const struct split *split, struct split_end *ends,
			unsigned int max);

/* Make the reset of one end; its length. @data: HEADER_MAX bytes. */
size_t split_end_reset(uint8_t *data, const struct split_end *end,
		       enum split_side side);

#endif /* PAMSPLIT_SPLIT_H */
