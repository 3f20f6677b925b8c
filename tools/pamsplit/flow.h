/* SPDX-License-Identifier: GPL-2.0 */
/*
 * flow - what the files of the core share
 *
 * The map of the files; a file calls only files below it (selftests/downward):
 *
 *	split.c		packets, timers, and when the splitter steps out of a flow
 *	open.c		the handshake
 *	bank.c		packets from the server: their data is stored, and sent on
 *	upward.c	packets from the client
 *	acked.c		the client's acknowledgments
 *	pays.c		when a flow is split, and when it is passed
 *	deliver.c	sends, and retransmits, to the client
 *	bbr.c		congestion control for that
 *	early.c		early acknowledgments to the server
 *	reset.c		resets a flow that can't go on
 *	table.c		flows and their clients
 *	lend.c		the cap on the rate of all clients together
 *	store.c		a flow's segments, in order
 *	runs.c		what lies beyond the first hole
 *	heap.c		flows by their next timer
 *	packet.c	packets, read and made
 */
#ifndef PAMSPLIT_FLOW_H
#define PAMSPLIT_FLOW_H

#include "split.h"

#define SECOND_US	1000000ULL
#define MSS_MIN		88
/*
 * A packet whose sequence number is further than FAR_BYTES and the window from the known ones
 * counts as forged: forgers guess the number, and not every end checks it. The window alone
 * isn't enough, since it is the connection's and may have been announced on another subflow.
 */
#define FAR_BYTES	(16 << 20)
#define LATE_BYTES	(256 << 10)	/* how far behind an acknowledgment may be; none is ahead */
#define PUT_OFF_MAX	256	/* at most so many new flows are remembered as put off */
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* A received packet, shared by its segments. */
struct block {
	unsigned int users;
	uint32_t size;
	uint16_t tcp_at, payload_at;
	uint32_t held;		/* the packet itself is held, by this id; 0: it isn't */
	uint32_t seq;		/* sequence number of the payload's first byte */
	uint32_t tsval;
	uint16_t sack_at;
	uint8_t sacks;
	uint8_t data[];
};

/* The data that one packet to the client carries. */
struct segment {
	struct segment *prev, *next;
	struct block *block;
	uint32_t seq, len;
	bool fin, push;
	bool sent;		/* it was sent at least once */
	bool in_flight;		/* it is assumed to be on its way */
	bool sacked;
	bool lost;
	bool again;		/* it was sent more than once */
	uint64_t sent_us;	/* when it was sent last */
	/* struct delivery's values at that time */
	uint64_t delivered, delivered_us, first_sent_us;
	bool app_limited;
};

/* Data beyond the first hole that has no hole in itself, see runs.c. */
struct run {
	struct run *left, *right;	/* in the tree */
	struct run *prev, *next;
	struct segment *head;		/* its first segment */
	uint32_t from, to;
	uint64_t random;
};

struct runs {
	struct run *root, *first, *last;
	uint64_t added;		/* ever */
};

/* Of @x and a seed that nobody knows a number that nobody can foretell. */
static inline uint64_t mix(uint64_t x)
{
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ULL;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ULL;
	return x ^ x >> 32;
}

static inline uint64_t lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint32_t segment_end(const struct segment *segment)
{
	return segment->seq + segment->len + segment->fin;
}

/* BBR, see bbr.c */
#define BW_ROUNDS	10

struct bbr {
	enum { STARTUP, DRAIN, PROBE_BW, PROBE_RTT } mode;
	uint64_t bw_of_round[BW_ROUNDS];	/* highest rate of round r, at r % BW_ROUNDS */
	uint64_t rounds;
	uint64_t round_ends;	/* delivered bytes at which the round ends */
	uint64_t full_bw;
	unsigned int full_rounds;
	unsigned int phase;	/* index into the cycle of gains */
	uint64_t phase_us;	/* when the phase began */
	uint32_t min_rtt_us;
	uint64_t min_rtt_at_us;
	uint64_t probe_rtt_until_us;
	uint64_t together_since_us;	/* since then acknowledgments come faster than bw */
	uint64_t together_bytes;	/* acknowledged since then */
	uint64_t extra, extra_before;	/* most bytes beyond bw in these and the previous rounds */
	uint64_t extra_rounds;		/* the first of the rounds that extra covers */
	uint64_t cwnd;
	uint64_t rate_byteps;	/* pacing rate */
};

/* The delivery rate's state, draft-cheng-iccrg-delivery-rate-estimation. */
struct delivery {
	uint64_t delivered;
	uint64_t delivered_us;
	uint64_t first_sent_us;
	uint64_t app_limited_until;	/* value of delivered; 0: not limited by the application */
};

struct client {
	struct client *next;
	struct address address;
	unsigned int flows;
	uint64_t memory;
};

struct flow_key {
	struct address client, server;
	uint16_t client_port, server_port;
};

/* LEFT: the splitter has stepped out; packets of the flow that still come to it pass unchanged. */
enum flow_state { OPENING, ANSWERED, SPLITTING, LEFT };

struct flow {
	struct flow *next_in_bucket;
	struct flow *prev, *next;	/* in the list of all flows */
	struct flow *next_to_ack;	/* in the list of flows to acknowledge */
	bool to_ack;		/* it is in that list */
	struct flow *next_to_lend;	/* in the list of flows that wait for the cap */
	bool lend_waits;	/* it is in that list */
	struct split *split;
	struct client *owner;
	struct flow_key key;
	bool v6;
	enum flow_state state;
	bool leaving;
	bool passing;		/* SPLITTING: packets pass as they are, see pays.c */
	bool resting;		/* it will be passed as soon as nothing is banked */
	bool told;		/* LEFT: the verdict SPLIT_LEAVE was given once */
	bool client_fin;	/* the client has sent its FIN */
	uint64_t leave_us;	/* when leaving was set */
	uint64_t used_us;	/* when its last packet came */
	unsigned int heap_at;	/* place in the heap; 0: it has no timer */
	uint64_t timer_us;

	/* the handshake */
	uint32_t client_isn;
	uint32_t other_isn;	/* sequence number of another, later SYN that was passed on */
	bool has_other;
	uint16_t client_mss, server_mss;
	bool smaller;		/* client_mss was lowered to fit the path's MTU */
	uint8_t client_scale, server_scale;
	uint64_t answer_us;	/* when the SYN-ACK was passed on */

	/* the server's side */
	uint32_t rcv_nxt;	/* all data before this has arrived here */
	uint32_t ack_out;	/* the data before this was acknowledged to the server */
	uint32_t ts_recent;	/* the server's newest time stamp in order */
	uint64_t ts_recent_us;	/* when it came */
	uint32_t last_hole_seq;	/* sequence number of the last packet out of order */
	struct range dsack;	/* a duplicate that the next early ACK reports */
	bool has_dsack;
	bool fin_seen;
	uint32_t fin_seq;
	unsigned int unacked;	/* segments since the last early ACK */
	uint64_t ack_by_us;	/* when the early ACK has to be sent */
	uint32_t server_ack;	/* the server's newest acknowledgment of the client's data */
	uint16_t server_window;
	uint32_t server_tsecr;
	uint64_t received_bytes;
	uint8_t server_header[60 + 20];	/* headers for packets made in the server's name */
	uint16_t server_tcp_at;

	/* the client's side */
	uint32_t una;		/* the client has acknowledged all data before this */
	uint8_t una_byte;	/* the byte before una, once there is one */
	uint32_t snd_nxt;	/* all data before this was sent to the client */
	uint32_t right_edge;	/* where the client's window ends */
	uint32_t tsval_out;	/* the highest time stamp that was sent to the client */
	uint64_t in_flight;
	uint64_t lost_bytes;
	struct segment *lost_from;	/* none before this one is lost; NULL: none is at all */
	unsigned int sacked_segments;
	bool reordering;
	uint32_t srtt_us, rttvar_us, rto_us;
	unsigned int backoffs;
	uint64_t heard_us;	/* when the client's last packet came */
	uint64_t rto_at_us;	/* when a timer fires; NEVER_US: it isn't armed */
	uint64_t probe_at_us;	/* tail loss probe */
	uint64_t reorder_at_us;
	uint64_t persist_at_us;
	uint64_t closed_us;	/* when the client's window closed; NEVER_US: it is open */
	uint64_t pace_next_us;
	uint64_t rack_us;	/* when the latest sent of the segments that arrived was sent */
	uint32_t rack_end;	/* the end of that segment */
	uint32_t rack_rtt_us;
	bool probed;
	bool recovering;
	uint32_t recover_seq;
	struct delivery delivery;
	struct bbr bbr;
	uint64_t rate_ewma;
	uint64_t delivered_bytes;
	uint64_t resent;
	uint64_t lost_us;	/* when something was lost last */
	/* while it is passed: losses before this may be the HS-path's, or the server knows */
	uint32_t unclear;
	uint32_t least_rtt_us, former_rtt_us;	/* of data, in this and the former span of time */
	uint64_t least_at_us;	/* when this span began */

	/* the newest values in the client's packets */
	uint32_t client_nxt;	/* the client's next sequence number */
	uint32_t client_tsval;
	uint16_t client_window;
	uint8_t data_ack_len;	/* 4 or 8 bytes; 0: there is none yet */
	uint64_t data_ack;
	uint16_t window_out;	/* the window last sent to the server */
	uint32_t data_ack_out;	/* the DATA_ACK sent with that window, its lower half */
	uint8_t client_header[60 + 20];
	uint16_t client_tcp_at;

	/* segments in order of sequence numbers */
	struct segment *head, *tail;
	struct segment *unsent;	/* the first one that was never sent */
	struct runs runs;	/* those beyond the first hole */
	uint64_t memory;
};

struct split {
	struct split_options options;
	split_out_fn out;
	void *arg;
	split_let_fn let;	/* NULL: no packet may be held */
	void *let_arg;
	uint32_t offered;	/* id by which the last packet may be held; 0: it may not */
	unsigned int held;	/* packets that are */
	bool draining;
	bool lends_nothing;
	struct flow **buckets;
	struct flow *flows;
	struct flow *to_ack;
	struct flow *lend_first;	/* the flow that has waited longest for the cap */
	struct flow *lend_turn;		/* the flow that may send though others wait */
	uint64_t lend_next_us;		/* when the cap allows more data */
	uint32_t put_off[PUT_OFF_MAX];	/* sequence numbers of the SYNs that were put off last */
	unsigned int count;
	struct client *clients;
	uint64_t memory;
	struct flow **heap;	/* from index 1 on; the flow with the earliest timer is first */
	unsigned int heap_count;
	struct split_counters counters;
};

/* Bytes that were acknowledged to the server, but not yet by the client. */
static inline uint32_t flow_banked(const struct flow *flow)
{
	return before(flow->una, flow->ack_out) ? flow->ack_out - flow->una : 0;
}

static inline bool is_near(uint32_t seq, uint32_t known, uint32_t window)
{
	return lies_in(seq, known - window - FAR_BYTES,
		       known + window + FAR_BYTES);
}

static inline bool flow_is_through(const struct flow *flow)
{
	return !flow_banked(flow);
}

/* table.c */
struct flow **table_new(void);
struct flow *flow_find(const struct split *split, const struct flow_key *key,
		       bool v6);
struct flow *flow_new(struct split *split, const struct flow_key *key, bool v6);
void flow_free(struct flow *flow);
void flow_forget_to_ack(struct flow *flow);
void flow_stop_timers(struct flow *flow);

/* reset.c */
#define RESET_UNSPECIFIED	0x00
#define RESET_PROHIBITED	0x03
#define RESET_PERFORMANCE	0x05
void flow_reset(struct flow *flow, uint8_t reason);
void reset_end_of(const struct flow *flow, struct split_end *end);
void reset_provoke(const struct flow *flow);
void reset_send(struct split *split, const struct split_end *end,
		enum split_side side, uint8_t reason);

/* runs.c */
struct run *runs_find(const struct runs *runs, uint32_t seq);
struct run *runs_add(struct runs *runs, struct run *prev, uint32_t from, uint64_t seed);
void runs_remove(struct runs *runs, struct run *run);

/* store.c */
struct block *block_new(struct flow *flow, const struct packet *packet);
void block_put(struct flow *flow, struct block *block);
void block_let(struct flow *flow, struct block *block, bool send);
bool store_has_room(const struct flow *flow, uint64_t bytes);
bool store_make_room(struct flow *flow, const struct packet *packet, uint64_t bytes);
bool store_has_all(const struct flow *flow, const struct packet *packet);
uint32_t store_data(struct flow *flow, const struct packet *packet,
		    struct block *block);
void store_fin(struct flow *flow, const struct packet *packet,
	       struct block *block);
struct segment *store_cut(struct flow *flow, struct segment *segment,
			  uint32_t len);
uint32_t store_largest(const struct flow *flow, uint32_t options);
void store_drop_first(struct flow *flow);
void store_empty(struct flow *flow);

/* heap.c */
void heap_set(struct flow *flow, uint64_t at_us);
void heap_remove(struct flow *flow);

/* open.c: the verdicts on packets with SYN */
enum split_verdict open_syn(struct flow *flow, struct packet *packet);
enum split_verdict open_other_syn(struct flow *flow,
				  const struct packet *packet);
enum split_verdict open_answer(struct flow *flow, struct packet *packet,
			       uint64_t now_us);

/* bank.c */
enum split_verdict bank_packet(struct flow *flow, struct packet *packet,
			       uint64_t now_us);

/* early.c */
uint32_t early_target(const struct flow *flow);
void early_wanted(struct flow *flow);
void early_send(struct flow *flow);
void early_answer(struct flow *flow);
void early_flush(struct flow *flow, uint64_t now_us);
unsigned int early_ranges(const struct flow *flow, struct range *ranges,
			  unsigned int max);

/* deliver.c */
void deliver_send(struct flow *flow, uint64_t now_us);
bool deliver_at_once(const struct flow *flow, const struct packet *packet,
		     uint64_t now_us);
void deliver_sent(struct flow *flow, struct segment *segment, uint64_t now_us);
void deliver_lost(struct flow *flow, struct segment *segment);
void deliver_start_timers(struct flow *flow, uint64_t now_us);
void deliver_restart_timers(struct flow *flow, uint64_t now_us);
uint64_t deliver_next_us(const struct flow *flow);
/* Run the flow's timers for sending; false if the client has stopped answering. */
bool deliver_timers(struct flow *flow, uint64_t now_us);

/* lend.c */
bool lend_is_free(const struct split *split, uint64_t now_us);
/* Must the SYN of a new flow be dropped, since others wait? If so it is counted. */
bool lend_puts_off(struct split *split, uint32_t client_isn);
bool lend_may_send(struct flow *flow, uint64_t now_us);
void lend_sent(struct split *split, uint64_t bytes, uint64_t now_us);
uint64_t lend_rate_byteps(const struct flow *flow);
uint64_t lend_limit_bytes(const struct split *split);
void lend_forget(struct flow *flow);
uint64_t lend_next_us(const struct split *split);
/* The flow that has waited longest for the cap and may send now; NULL: none may. */
struct flow *lend_begin_turn(struct split *split, uint64_t now_us);
void lend_end_turn(struct split *split);

/* acked.c */
void acked_packet(struct flow *flow, const struct packet *packet,
		  uint64_t now_us);
void acked_find_lost(struct flow *flow, uint64_t now_us);
void acked_rtt(struct flow *flow, uint32_t rtt_us);

/* pays.c */
bool pays_splitting(const struct flow *flow, const struct packet *packet, uint64_t now_us);
void pays_begin(struct flow *flow, uint64_t now_us);
void pays_note(struct flow *flow, const struct packet *packet);
void pays_rtt(struct flow *flow, uint32_t rtt_us, uint64_t now_us);
void pays_rest(struct flow *flow, uint64_t now_us);

/* bbr.c */
struct rate_sample {
	uint64_t rate_byteps;	/* 0: none */
	uint64_t prior_delivered;
	uint32_t rtt_us;	/* 0: none */
	bool app_limited;
};

void bbr_start(struct flow *flow, uint64_t now_us);
void bbr_acked(struct flow *flow, const struct rate_sample *sample,
	       uint64_t acked_bytes, uint64_t now_us);
void bbr_timeout(struct flow *flow);

/* upward.c */
enum split_verdict upward_packet(struct flow *flow, struct packet *packet,
				 uint64_t now_us);

#endif /* PAMSPLIT_FLOW_H */
