/* SPDX-License-Identifier: GPL-2.0 */
/* The map of the module, in the order in which data flows:
 *
 *   netlink.c   reports come in, and what is known goes out; net.c, the sysctls
 *   path.c      what was reported of each path
 *   pad.c       PAD from plain numbers
 *   rate.c      Th, the smoothed throughput of a subflow
 *   flow.c      what a subflow delivers by when, from plain numbers
 *   learn.c     what flow.c has to know: the capacity of a path
 *   snapshot.c  one look at every subflow of a connection -> struct pams_view
 *   reported.c  pipes and loss times, put into the view
 *   sched_*.c   a choice from a view, plain numbers again (pick.h)
 *   glue.c      carries the choice out; the scheduler ops of both kernel ABIs
 *   reinject.c  what is late on one subflow is sent again on another
 *   conn.c      what is remembered of a connection, and its kick
 *   silence.c   subflows that died without notice, or have gone
 *   symbols.c   finds what the kernel does not export
 *   main.c      load and unload
 */
#ifndef _MPTCP_PAMS_H
#define _MPTCP_PAMS_H

#include <linux/hrtimer.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include <net/mptcp.h>
#include <net/tcp.h>

#include "path.h"
#include "pick.h"

#include "mptcp_layout.h"	/* generated from the target kernel's BTF */
#include "compat/tcp.h"

/* bits of mptcp_sock.cb_flags and .flags: macros in the kernel, so not in its
 * BTF; the same in every supported kernel
 */
#define PAMS_CB_PUSH_PENDING	BIT(1)
#define PAMS_FLAG_FALLBACK_DONE	BIT(2)

/* Of a connection, under its owner; of those that have gone, under conn.c's lock. */
struct pams_counts {
	u64 decisions;
	u64 deferrals;
	u64 kicks;
	u64 stops;
	u64 reinjected_bytes;
};

/* Of reports. */
struct pams_totals {
	atomic64_t reports;
	atomic64_t refused;
	atomic64_t expired;
};

/* queue_ahead_us: keeps a subflow busy over the time it takes to decide again */
#define PAMS_QUEUE_AHEAD_US	1000

/* owd_weights: how much of a sample goes into the one-way delay (reported.c) */
#define PAMS_OWD_RFC6298	0
#define PAMS_OWD_PLAMA		1

/**
 * struct pams_net - a network namespace
 * @net:	the namespace
 * @paths:	what was reported of paths
 * @totals:	of reports
 * @gone:	of connections that have gone
 * @reinject_eta_percent: sysctl; how much PADs differ before a tail is sent again
 * @queue_ahead_us: sysctl; how much more than its window a subflow may be given,
 *		in time at its pacing rate
 * @loss_guard_us: sysctl; how much before its path is lost data has to arrive
 * @owd_weights: sysctl; PAMS_OWD_*
 * @paths_max:	sysctl; how many paths may be known
 * @sysctls:	their registration
 * @sysctl_table: and table
 */
struct pams_net {
	struct net *net;
	struct pams_paths paths;
	struct pams_totals totals;
	struct pams_counts gone;
	unsigned int reinject_eta_percent;
	unsigned int queue_ahead_us;
	unsigned int loss_guard_us;
	unsigned int owd_weights;
	unsigned int paths_max;
	struct ctl_table_header *sysctls;
	struct ctl_table *sysctl_table;
};

/**
 * struct pams_memo - what is remembered of one subflow: Th, see rate.c; what was
 *		      reinjected, see reinject.c; what was reported of its path
 *		      and came of it, see reported.c and silence.c
 * @byteps:	bytes per second
 * @stamp_us:	low half of the subflow's tcp_mstamp at the last sample
 * @id:		subflow_id; monotonic within a connection, so never reused. 0
 *		before the first sample: the kernel counts from 1
 * @cwnd:	packets, at the last sample
 * @srtt_us:	at the last sample
 * @reinject_from: what was reinjected begins here, in TCP's sequence numbers,
 * @reinject_to:  and ends here; equal: nothing was
 * @reinjected_bytes: in the current epoch
 * @reinject_epoch_end: jiffies; an epoch is an RTT
 * @reinjected_total_bytes: since the subflow began
 * @generation:	of the namespace's paths, when @pipe and @loss were found
 * @pipe:	path whose pipe counts, or NULL; under RCU, see path.h
 * @loss:	path whose loss time counts, or NULL; the same
 * @owd_us:	smoothed one-way delay, 0 before the first sample
 * @owd_delivered: tcp's count of delivered packets at the last sample
 * @silent_at:	tcp_jiffies32 when @silent was set
 * @stops:	how often @stopped was set
 * @stopped:	a decision found that nothing more arrives before the loss
 * @silent:	nothing was acknowledged for too long
 * @known:	there is a @pipe or @loss, or was a moment ago
 * @events:	to be told, PAMS_EVENT_*
 * @limit_byteps: capacity of the path, see learn.c; 0 if unknown
 * @proven_byteps: the most it was seen to carry, or was guessed to
 * @guessed:	@proven_byteps is a guess from the first few packets
 * @idle:	nothing was outstanding at some decision since the last sample
 * @queued:	the last sample told of a queue
 * @limit_delivered: tcp's count of delivered packets at the last sample
 * @limit_stamp_us: low half of tcp_mstamp when @limit_byteps was lowered
 * @empty_us:	low half of tcp_mstamp when there was no queue last
 */
struct pams_memo {
	u64 byteps;
	u32 stamp_us;
	u32 id;
	u32 cwnd;
	u32 srtt_us;
	u32 reinject_from;
	u32 reinject_to;
	u64 reinjected_bytes;
	unsigned long reinject_epoch_end;
	u64 reinjected_total_bytes;
	unsigned long generation;
	const struct pams_path *pipe;
	const struct pams_path *loss;
	u32 owd_us;
	u32 owd_delivered;
	u32 silent_at;
	u16 stops;
	bool stopped;
	bool silent;
	bool known;
	u8 events;
	bool guessed;
	bool idle;
	bool queued;
	u32 limit_byteps;
	u32 proven_byteps;
	u32 limit_delivered;
	u32 limit_stamp_us;
	u32 empty_us;
} __aligned(64);	/* two cache lines, and found by a shift */

#define PAMS_EVENT_STOPPED	BIT(0)
#define PAMS_EVENT_REINJECT	BIT(1)

static inline bool before64(u64 a, u64 b)
{
	return (s64)(a - b) < 0;
}

/**
 * struct pams_conn - what is remembered of one connection
 * @node:	in the table of conn.c, keyed by @msk; RCU
 * @net:	its namespace, which the socket keeps alive
 * @msk:	the key; dereferenced only by its owner, or under the reference
 *		that a pending @kick holds
 * @local_key:	of the connection this state is about; a disconnected socket
 *		comes back with another one and the same @msk
 * @refs:	one for the table, one for a pending @kick, one for @timer
 * @kick:	asks for another decision when the wait of a deferral is over
 * @kick_at:	jiffies; when @kick is due. Valid while it is pending
 * @defer_end:	jiffies; the current wait ends here. Valid if @deferring
 * @deferring:	the last decision was to wait
 * @watching:	@kick looks at the tail too: all is scheduled, not acknowledged
 * @tick:	jiffies until the next look; grows while there is nothing to do
 * @wake:	something was reported that @kick shall see to; set by anybody
 * @silent:	some subflow is
 * @events:	some subflow has events to be told
 * @dead:	the socket was released: @kick does nothing any more
 * @delivered:	packets, of all subflows, at the last look
 * @counts:	totals
 * @reinject_start: data sequence number; pending data from here is sent again,
 * @reinject_end: up to here; equal: none is
 * @reinject_sent_end: what follows up to here, in the same fragment, is not
 * @reinject_origin: subflow_id that they are kept off
 * @reinject_keep: they wait for room, whatever else is pending
 * @first_seq:	data sequence number at the first decision
 * @window_end:	the receive window's end, while @narrowed
 * @narrowed:	the kernel was told a nearer one, to stop there (glue.c)
 * @timer:	when it is time for a @kick that is due within less than a jiffy
 * @pause_us:	of @timer
 * @flow:	room for a view's
 * @memo:	what is remembered per subflow
 * @rcu:	defers the free
 *
 * Except for @node, @refs, @wake and @dead every field belongs to the owner of the
 * msk: the decision runs with the msk owned (process context) or with its data
 * lock held and nobody owning it (softirq), the kick under lock_sock().
 */
struct pams_conn {
	struct hlist_node node;
	struct pams_net *net;
	struct mptcp_sock *msk;
	u64 local_key;
	refcount_t refs;
	struct delayed_work kick;
	unsigned long kick_at;
	unsigned long defer_end;
	bool deferring;
	bool dead;
	bool watching;
	bool wake;
	bool silent;
	bool events;
	bool reinject_keep;
	bool narrowed;
	u16 tick;
	u32 delivered;
	struct pams_counts counts;
	u64 reinject_start;
	u64 reinject_end;
	u64 reinject_sent_end;
	u32 reinject_origin;
	u32 pause_us;
	u64 first_seq;
	u64 window_end;
	struct hrtimer timer;
	struct pams_flow flow[PAMS_SUBFLOWS_MAX];
	struct pams_memo memo[PAMS_SUBFLOWS_MAX];
	struct rcu_head rcu;
};

/* The place for what is remembered of a subflow; another's, if its @id differs,
 * which has gone or is one of more than the places.
 */
static inline struct pams_memo *pams_conn_memo(struct pams_conn *conn, u32 id)
{
	return &conn->memo[id % PAMS_SUBFLOWS_MAX];
}

/* The budget: 1 KB per connection, 128 bytes more per subflow. Lockdep makes timers
 * and work items larger.
 */
static_assert(sizeof(struct pams_memo) <= 128);
static_assert(IS_ENABLED(CONFIG_LOCKDEP) || offsetof(struct pams_conn, memo) <= 1024);

/**
 * struct pams_snapshot - one look at a connection
 * @view:	the numbers, for the schedulers
 * @subflow:	the subflow behind each entry of the view
 * @timeout:	jiffies until the latest TCP timer of the usable subflows, or 0
 */
struct pams_snapshot {
	struct pams_view view;
	struct mptcp_subflow_context *subflow[PAMS_SUBFLOWS_MAX];
	long timeout;
};

/* rate.c */
#define PAMS_RATE_SAMPLES_PER_RTT	4

u64 pams_rate_learn(struct pams_memo *memo, u32 id, const struct tcp_sock *tp,
		    u32 cwnd);

/* TCP's is scaled by 8; 1 if there is none yet. */
static inline u32 pams_rate_srtt_us(const struct tcp_sock *tp)
{
	return max(READ_ONCE(tp->srtt_us) >> 3, 1U);
}

/* Is there nothing new to learn? Asked before a sample costs a division. */
static inline bool pams_rate_is_fresh(const struct pams_memo *memo,
				      const struct tcp_sock *tp, u32 cwnd)
{
	u32 srtt_us = pams_rate_srtt_us(tp);
	u32 age_us;

	if (cwnd < READ_ONCE(tp->snd_ssthresh))
		return memo->cwnd == cwnd && memo->srtt_us == srtt_us;

	age_us = (u32)READ_ONCE(tp->tcp_mstamp) - memo->stamp_us;
	return age_us * PAMS_RATE_SAMPLES_PER_RTT < srtt_us;
}

/* Th, updated with what TCP says; see pams_rate_learn(). */
static inline u64 pams_rate_byteps(struct pams_memo *memo, u32 id,
				   const struct tcp_sock *tp, u32 cwnd)
{
	if (memo && memo->id == id && pams_rate_is_fresh(memo, tp, cwnd))
		return memo->byteps;
	return pams_rate_learn(memo, id, tp, cwnd);
}

/* net.c */
struct pams_net *pams_net(const struct net *net);
int pams_net_init(void);
void pams_net_exit(void);

/* reported.c */
void pams_reported_apply(struct mptcp_sock *msk, struct pams_conn *conn,
			 struct pams_snapshot *snap);
u64 pams_reported_lost_bytes(struct pams_conn *conn,
			     const struct pams_subflow_view *sub,
			     const struct sock *ssk);

/* Is there anything that pams_reported_apply() may have to say? */
static inline bool pams_reported_any(const struct pams_conn *conn)
{
	return READ_ONCE(conn->net->paths.nr) || conn->silent;
}

/* And of these subflows? A comparison for each that nothing is known of. */
static inline bool pams_reported_known(const struct pams_conn *conn,
				       const struct pams_view *view)
{
	unsigned long generation = READ_ONCE(conn->net->paths.generation);
	bool known = conn->silent;
	unsigned int i;

	for (i = 0; i < view->nr; i++) {
		const struct pams_memo *memo =
			&conn->memo[view->sub[i].id % PAMS_SUBFLOWS_MAX];

		known |= memo->known | (memo->generation != generation);
	}
	return known;
}

/* silence.c */
void pams_silence_look(struct mptcp_sock *msk, struct pams_conn *conn);

/* learn.c */
void pams_flow_learn(struct pams_flow *flow, struct pams_memo *memo, u32 id,
		     const struct sock *ssk, u32 cwnd, bool tail, u32 *now_us);

/* snapshot.c */

/* May data be sent on that TCP connection? */
static inline bool pams_tcp_can_send(const struct sock *ssk)
{
	return (1 << inet_sk_state_load(ssk)) &
	       (TCPF_ESTABLISHED | TCPF_CLOSE_WAIT);
}

/* One way without a queue. */
static inline u32 pams_propagation_us(const struct tcp_sock *tp, u32 rtt_us)
{
	return min(tcp_min_rtt(tp), rtt_us) / 2;
}

/* What a round trip exceeds the least one by is queueing, and counts whole. */
static inline u32 pams_owd_us(const struct tcp_sock *tp, u32 rtt_us)
{
	return rtt_us - pams_propagation_us(tp, rtt_us);
}

enum pams_detail {
	PAMS_DETAIL_ROOM,	/* round-trip times and room */
	PAMS_DETAIL_PAD,	/* rates and PADs too */
	PAMS_DETAIL_FLOW,	/* flows, and what they say in place of both */
};

void pams_snapshot_take(struct mptcp_sock *msk, struct pams_conn *conn,
			enum pams_detail detail, struct pams_snapshot *snap);

/* reinject.c */
/* Is what is to be sent next what was reinjected last? */
static inline bool pams_reinjecting(const struct mptcp_sock *msk,
				    const struct pams_conn *conn)
{
	const struct mptcp_data_frag *next = msk->first_pending;
	u64 bytes = conn->reinject_end - conn->reinject_start;

	return bytes && next &&
	       next->data_seq + next->already_sent - conn->reinject_start <
	       bytes;
}

void pams_reinject_skip_sent(struct mptcp_sock *msk,
			     const struct pams_conn *conn);
void pams_reinject_settle(struct mptcp_sock *msk, struct pams_conn *conn);
void pams_reinject_repair(struct mptcp_sock *msk, struct pams_conn *conn);
bool pams_reinject(struct mptcp_sock *msk, struct pams_conn *conn);

/* glue.c */
struct pams_sched {
	struct mptcp_sched_ops ops;
	int (*pick)(const struct pams_view *view, u32 *bytes);
	/* whose data to send again; NULL: by PADs, as PAMS does */
	int (*late)(const struct pams_view *view);
	enum pams_detail detail;
	bool reinject;	/* watches over the tail of what it sent */
	bool cuts;	/* hands over less than a fragment */
	u8 window_shift;	/* 2^-n of the receive window stays free; 0: none */
};

static inline const struct pams_sched *pams_sched(const struct mptcp_sock *msk)
{
	return container_of_const(msk->sched, struct pams_sched, ops);
}

/* Up to where data may be sent. Schedulers that send again under a full window leave
 * some of it: a receiver that holds a window full of what came out of order may have
 * no memory left for what it waits for, since what it promised counts payload alone,
 * in packets that are full; some kernels (6.12) then take nothing more from any
 * subflow, for ever. The last packet of a fragment wastes 1/24 of its memory.
 */
static inline u64 pams_window_end(const struct mptcp_sock *msk)
{
	u64 end = READ_ONCE(msk->wnd_end);
	u64 bytes = end - msk->snd_una;
	u8 shift = pams_sched(msk)->window_shift;

	if (!shift || list_is_singular(&msk->conn_list))
		return end;
	return end - (bytes >> shift);
}

/* Is there nothing that may be sent for the first time: is all scheduled, or no room
 * for a packet in the receive window?
 */
static inline bool pams_nothing_new(struct mptcp_sock *msk)
{
	const struct mptcp_subflow_context *any =
		list_first_entry_or_null(&msk->conn_list,
					 struct mptcp_subflow_context, node);
	u32 packet_bytes = any ? tcp_sk(any->tcp_sock)->mss_cache : 0;

	return !msk->first_pending ||
	       !before64(msk->snd_nxt + packet_bytes, pams_window_end(msk));
}

void pams_window_widen(struct mptcp_sock *msk, struct pams_conn *conn);
int pams_glue_register(void);
void pams_glue_unregister(void);

/* conn.c */
int pams_conn_init(void);
void pams_conn_exit(void);
void pams_conn_add(struct mptcp_sock *msk);
void pams_conn_del(struct mptcp_sock *msk);
struct pams_conn *pams_conn_get(struct mptcp_sock *msk);
bool pams_conn_defer(struct pams_conn *conn, u64 wait_ns);
void pams_conn_watch_begin(struct pams_conn *conn);
void pams_conn_watch_closely(struct pams_conn *conn);
void pams_conn_kick_now(struct pams_conn *conn);
void pams_conn_wake_all(struct pams_net *net);
struct pams_conn *pams_conn_next(const struct pams_net *net,
				 unsigned long *bucket, unsigned long *skip);
void pams_conn_put(struct pams_conn *conn);
u32 pams_conn_sum(const struct pams_net *net, struct pams_counts *sum);
void pams_conn_forget(const struct pams_net *net);
void pams_conn_finish(struct mptcp_sock *msk);

/* jiffies; how soon a connection is looked at again at the earliest */
#define PAMS_TICK	max(HZ / 100, 1)

/* Look at the connection again in a tick. */
static inline void pams_conn_watch(struct pams_conn *conn)
{
	if (!conn->watching || conn->tick > PAMS_TICK)
		pams_conn_watch_begin(conn);
}

/* symbols.c */
int pams_symbols_resolve(void);
int pams_register_scheduler(struct mptcp_sched_ops *ops);
void pams_unregister_scheduler(struct mptcp_sched_ops *ops);
bool pams_subflow_active(struct mptcp_subflow_context *subflow);
struct sock *pams_subflow_get_retrans(struct mptcp_sock *msk);

#endif /* _MPTCP_PAMS_H */
