/* SPDX-License-Identifier: GPL-2.0 */
/*
 * split - the core: splits a flow's TCP in two, while its MPTCP stays end to end
 *
 * Packets and the time go in, packets and the time of the next timer come out;
 * the core makes no system call. Sequence numbers, MPTCP options and data stay as
 * they are, so a flow can go on without the splitter whenever nothing is banked.
 *
 *	server --- HS-path ---> splitter --- pipe ---> client
 *	       <-- early ACK --          <-- ACK -----
 *
 * Data is banked if the splitter has acknowledged it to the server, but the client hasn't
 * acknowledged it yet. The splitter never invents a DATA_ACK: the server keeps the data until
 * the client's own DATA_ACK, so nothing is lost if the splitter dies. Data that the client
 * uploads isn't banked; it passes with its acknowledgment, window and SACK rewritten.
 *
 * The rate of all clients together may have a cap, see lend.c.
 *
 * Times in us, sizes in bytes, rates in bytes per second.
 */
#ifndef PAMSPLIT_SPLIT_H
#define PAMSPLIT_SPLIT_H

#include "packet.h"

#define NEVER_US	UINT64_MAX

enum split_side { TO_CLIENT, TO_SERVER };

/* What the caller has to do with a packet that it gave to the core. */
enum split_verdict {
	SPLIT_PASS,	/* send it on as it is */
	SPLIT_CHANGED,	/* send it on; it was changed in place */
	SPLIT_TAKEN,	/* drop it: the core has sent other packets for it, or will */
	SPLIT_HELD,	/* keep it: the core sends it on, or drops it, by split_let_fn */
	SPLIT_LEAVE,	/* send it on, and give the core no more packets of its flow */
	SPLIT_REFUSED,	/* drop it, and answer its sender by a reset */
};

/* Called with each packet that the core makes; its checksums are right. */
typedef void (*split_out_fn)(void *arg, enum split_side side, uint8_t *data,
			     size_t len);

/*
 * Called once with the id of each packet whose verdict is SPLIT_HELD, maybe before that verdict:
 * @send it on as it is, or drop it.
 */
typedef void (*split_let_fn)(void *arg, uint32_t id, bool send);

struct split_options {
	/* a flow banks at most the larger one of: */
	uint32_t limit_bytes;	/* bytes, and */
	uint32_t limit_us;	/* what the pipe carries in this time */
	/* memory; packets beyond it are dropped */
	uint64_t flow_bytes;	/* of a flow */
	uint64_t client_bytes;	/* of a client's flows, and no more than is left free */
	uint64_t total_bytes;	/* of all flows */
	unsigned int flows_max;
	uint64_t seed;		/* of the table's hash */
	uint32_t silent_us;	/* a pipe that is silent for this time is dead */
	uint64_t lend_byteps;	/* cap on the rate of all clients together, 0: none */
	bool where_it_pays;	/* pass flows until their pipe loses something, see pays.c */
};

extern const struct split_options split_defaults;

struct split_counters {
	uint64_t flows;		/* flows that were split, ever */
	uint64_t refused;	/* flows that were not split: a limit, or missing options */
	uint64_t put_off;	/* SYNs that were dropped, since flows wait for the cap */
	uint64_t resets;	/* flows that the splitter has reset */
	uint64_t unknown;	/* packets of unknown flows, other than SYNs */
	uint64_t early_acks;
	uint64_t lent_bytes;	/* bytes of packets from servers, headers included */
	uint64_t received_bytes;  /* new payload from servers */
	uint64_t delivered_bytes; /* payload that clients have acknowledged */
	uint64_t whole_bytes;	/* payload that was sent on in the packets in which it came */
	uint64_t resent;	/* segments sent again over the pipe */
	uint64_t timeouts;	/* of the retransmission timer towards clients */
	uint64_t probes;	/* tail loss probes and window probes */
	uint64_t dropped;	/* packets for which there was no memory */
	uint64_t duplicates;	/* packets with nothing new */
	uint64_t banked_max;	/* most that one flow has banked */
	uint64_t memory_max;	/* most memory of all flows */
};

/* A flow, as "pamsplit show" shows it. */
struct split_info {
	bool v6;
	bool passing;		/* it isn't split now */
	struct address client, server;
	uint16_t client_port, server_port;
	uint32_t banked_bytes;
	uint32_t waiting_bytes;	/* received, and not acknowledged by the client */
	uint64_t rate_byteps;	/* delivery rate over the pipe, EWMA; 0: none */
	uint32_t srtt_us, min_rtt_us;	/* of the pipe */
	uint64_t received_bytes, delivered_bytes;
	uint64_t resent;
	uint64_t memory_bytes;
};

/*
 * What is needed to reset both ends of a flow: an end accepts a RST only if its sequence
 * number is exactly the next one that the end expects.
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

/* Take a forwarded packet, and possibly change it. Returns what the caller has to do with it. */
enum split_verdict split_packet(struct split *split, uint64_t now_us,
				uint8_t *data, size_t len);

/* The same for a packet that may be held. Its id isn't 0, and no packet that is held has it. */
enum split_verdict split_offer(struct split *split, uint64_t now_us, uint8_t *data,
			       size_t len, uint32_t id);
void split_may_hold(struct split *split, split_let_fn let, void *arg);

/*
 * Tell the core that a packet it made for a client is larger than the path's MTU: the core
 * makes the flow's segments smaller from now on. May be called while the core makes a packet.
 */
void split_too_large(struct split *split, uint8_t *data, size_t len,
		     uint32_t mtu);

/* Tell the core that a burst of packets is over: it sends the early ACKs that are due. */
void split_flush(struct split *split, uint64_t now_us);

/* When split_timers() has to be called next; NEVER_US: no timer is armed. */
uint64_t split_next_us(const struct split *split);
void split_timers(struct split *split, uint64_t now_us);

/* Change the cap on the rate of all clients together; 0: none. */
void split_lend(struct split *split, uint64_t byteps);
uint64_t split_cap(const struct split *split);

/* If @nothing, reset all flows and refuse new ones; else split new flows again. */
void split_lend_nothing(struct split *split, bool nothing);
bool split_lends(const struct split *split);

/* Split no more flows, and step out of the existing ones as soon as nothing is banked. */
void split_drain(struct split *split, uint64_t now_us);

/* Has the core stepped out of all flows? */
bool split_drained(const struct split *split);

/* Reset both ends of the flows that the core hasn't stepped out of. */
void split_reset_all(struct split *split, uint64_t now_us);

const struct split_counters *split_counters(const struct split *split);
unsigned int split_flows(const struct split *split);
uint64_t split_memory(const struct split *split);

typedef void (*split_info_fn)(void *arg, const struct split_info *info);
void split_each(const struct split *split, split_info_fn fn, void *arg);

/* Fill in the ends of up to @max flows; returns how many. */
unsigned int split_ends(const struct split *split, struct split_end *ends,
			unsigned int max);

/* Make the RST for one end, in @data of HEADER_MAX bytes; returns its length. */
size_t split_end_reset(uint8_t *data, const struct split_end *end,
		       enum split_side side);

#endif /* PAMSPLIT_SPLIT_H */
