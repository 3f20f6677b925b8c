/* SPDX-License-Identifier: GPL-2.0 */
/* The map of the module, in the order in which data flows; files call downward only
 * (selftests/downward):
 *
 *   main.c      load and unload
 *   netlink*.c  the generic-netlink family: netlink.c, reports come in, and are shown;
 *               netlink_conn.c, connections; netlink_memory.c, what is remembered;
 *               netlink_rules.c, rules; netlink_unit.c, units; netlink-gen.c is made
 *               from the specification
 *   sched.c     the scheduler ops of both kernel ABIs: one decision
 *   watch.c     looks at a connection when the kernel asks nothing: the end of a
 *               wait, a tail that is late, a path that is lost or silent
 *   tell_conn.c what happens to connections, told over netlink
 *   resend.c    what is late or lost is sent again on another subflow, or copied
 *   look.c      one look at every subflow of a connection -> struct pams_view
 *   split.c     what helpers that end TCP have banked -> models
 *   learn.c     a subflow's model, from its TCP
 *   report.c    pipes and loss times, put into the model
 *   conn.c      what is remembered of a connection: lifetimes
 *   net.c       what a namespace has: the sysctls
 *   memory.c    what earlier connections learned of a path
 *   rules.c     which scheduler a connection has, by the administrator's rules
 *   path.c      what was reported of each path
 *   tell.c      what has expired of a path, told over netlink
 *   trace.c     tracepoints
 *   bank.c      what was acknowledged and not delivered, plain numbers only
 *   sched_*.c   a choice from a view, plain numbers only (pick.h)
 *   cost.c      costlier paths stand back, plain numbers only
 *   unit.c      what is left of an application's unit, plain numbers only
 *   model.c     what a subflow delivers by when, from plain numbers
 *   pad.c       PAD from plain numbers
 *   msk.c       MPTCP's private structures; no other file knows them
 *   symbols.c   finds what the kernel does not export
 */
#ifndef _MPTCP_PAMS_H
#define _MPTCP_PAMS_H

#include <linux/hrtimer.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/types.h>
#include <linux/u64_stats_sync.h>
#include <linux/workqueue.h>

#include <net/mptcp.h>
#include <net/tcp.h>

#include "bank.h"
#include "cost.h"
#include "features.h"
#include "memory.h"
#include "msk.h"
#include "path.h"
#include "pick.h"
#include "rules.h"
#include "symbols.h"
#include "unit.h"

/* Of a connection, see pams_count(); of those that have gone, under conn.c's lock. */
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

/* owd_weights: how much of a sample goes into the one-way delay (report.c) */
#define PAMS_OWD_RFC6298	0
#define PAMS_OWD_PLAMA		1

/**
 * struct pams_net - a network namespace
 * @net:	the namespace
 * @paths:	what was reported of paths
 * @memory:	what connections learned of paths
 * @rules:	which scheduler which connection has
 * @totals:	of reports
 * @gone:	of connections that have gone
 * @reinject_eta_percent: sysctl; how much PADs differ before a tail is sent again
 * @queue_ahead_us: sysctl; how much more than its window a subflow may be given,
 *		in time at its pacing rate
 * @loss_guard_us: sysctl; how much before its path is lost data has to arrive
 * @owd_weights: sysctl; PAMS_OWD_*
 * @paths_max:	sysctl; how many paths may be known
 * @path_memory: sysctl; 0: connections neither use @memory nor add to it
 * @redundant_bytes: sysctl; how much of a connection redundant sends twice, 0: all
 * @overflow_ms: sysctl; what costlier paths are used for, see cost.h,
 * @overflow_percent: and sysctl
 * @sysctls:	their registration
 * @sysctl_table: and table
 */
struct pams_net {
	struct net *net;
	struct pams_paths paths;
	struct pams_memory memory;
	struct pams_rules rules;
	struct pams_totals totals;
	struct pams_counts gone;
	unsigned int reinject_eta_percent;
	unsigned int queue_ahead_us;
	unsigned int loss_guard_us;
	unsigned int owd_weights;
	unsigned int paths_max;
	unsigned int path_memory;
	unsigned int redundant_bytes;
	unsigned int overflow_ms;
	unsigned int overflow_percent;
	struct ctl_table_header *sysctls;
	struct ctl_table *sysctl_table;
};

/* of a subflow, to be told over netlink */
#define PAMS_EVENT_STOPPED	BIT(0)
#define PAMS_EVENT_REINJECT	BIT(1)

/**
 * struct pams_subflow - what is known and remembered of one subflow
 * @model:	the subflow in plain numbers, as it was at the last look
 * @pad_of_bytes: for how many @model.pad_ns was reckoned; 0: the model is another one now
 *
 * learn.c, of TCP at the last look:
 * @seen_us:	low half of tcp_mstamp, or tcp_jiffies32 with nothing outstanding
 * @seen_write_seq: TCP's write_seq
 * @seen_delivered: TCP's count of delivered packets
 * @seen_packets: packets outstanding
 * @th_us:	low half of tcp_mstamp when @model.th_byteps was sampled
 * @learned_th_byteps: Th, before reports
 * @learned_limit_byteps: capacity; 0 if unknown
 * @learned_proven_byteps: the most that was seen, or guessed
 * @limit_us:	low half of tcp_mstamp when @learned_limit_byteps was lowered
 * @empty_us:	low half of tcp_mstamp when there was no queue last
 * @burst_us:	low half of tcp_mstamp when a burst began behind a packet that was alone
 * @guessed:	@learned_proven_byteps is a guess from the first few packets
 * @idle:	nothing was outstanding at some look since the last sample
 * @queued:	the last sample told of a queue
 * @remembered:	@learned_limit_byteps is from memory.c, no sample has confirmed it
 *
 * memory.c:
 * @memory:	its path; a use is counted while this is set
 * @memory_byteps: what this subflow says the path gives it
 *
 * resend.c:
 * @again:	what was sent again elsewhere
 * @again_bytes: since the subflow began
 *
 * report.c:
 * @generation:	of the namespace's paths, when @pipe and @loss were found
 * @pipe:	path whose pipe counts, or NULL; under RCU, see path.h
 * @loss:	path whose loss time counts, or NULL; the same
 * @owd_us:	smoothed one-way delay, 0 before the first sample
 * @reported:	there is a @pipe or @loss, or was a moment ago
 *
 * split.c:
 * @split_mark:	TCP's write_seq in units of 16 KB, rounded up, when the connection's was set
 *
 * watch.c:
 * @silent_tstamp: TCP's rcv_tstamp when @silent was set
 * @alarms:	how often the alarm was false,
 * @alarm_s:	when it was last, low half of TCP's seconds
 * @silent:	nothing was acknowledged for too long
 * @stopped:	a look found that nothing more arrives
 * @stops:	how often @stopped was set
 * @events:	to be told, PAMS_EVENT_*
 *
 * sched.c:
 * @retrans:	a retransmission went there since @resend.retrans_una of the connection moved
 */
struct pams_subflow {
	struct pams_model model;

	/* with the model, in the two cache lines that every decision reads */
	u32 pad_of_bytes;
	u32 seen_us;
	u32 seen_write_seq;
	u32 seen_delivered;
	u32 seen_packets;
	u16 stops;
	u16 alarm_s;
	u8 alarms;
	u8 events;
	u8 guessed:1;
	u8 idle:1;
	u8 queued:1;
	u8 remembered:1;
	u8 reported:1;
	u8 silent:1;
	u8 stopped:1;
	u8 retrans:1;
	u8 split_mark;
	u32 silent_tstamp;

	u64 learned_th_byteps;
	u32 th_us;
	u32 learned_limit_byteps;
	u32 learned_proven_byteps;
	u32 limit_us;
	u32 empty_us;

	u32 memory_byteps;
	struct pams_remembered *memory;

	struct msk_sent_again again;
	u32 owd_us;
	u64 again_bytes;

	const struct pams_path *pipe;
	const struct pams_path *loss;
	u32 generation;
	u32 burst_us;
};

/**
 * struct pams_expected - a path that is expected to join (memory.c)
 * @memory:	what is remembered of it; a use is counted while this is set
 * @hint:	when, and with what
 */
struct pams_expected {
	struct pams_remembered *memory;
	struct pams_memory_hint hint;
};

/**
 * struct pams_conn - what is remembered of one connection
 * @node:	in the table of conn.c, keyed by @msk; RCU
 * @net:	its namespace, which the socket keeps alive
 * @msk:	the connection; used by its owner, or under a reference that @timer or
 *		@kick holds
 * @sched:	its scheduler
 * @local_key:	of the connection this state is about; a disconnected socket comes
 *		back with another one and the same @msk
 * @refs:	one for the table, one for @timer, one for a pending @kick
 * @dead:	the socket was released or connected anew: nothing is done any more
 * @wake:	something was reported that the next look shall see to; set by anybody
 * @kick:	work item: what needs a process, see watch.c
 * @timer:	when the connection is looked at next
 * @timed:	@timer is armed, or on its way
 * @deferring:	the last decision was to wait,
 * @defer_end_ns: until then; of ktime_get_ns()
 * @pause_us:	between looks
 * @backed_off:	that grew, since nothing arrived
 * @delivered:	packets, of all subflows, at the last look
 * @silent:	at least one subflow is silent
 * @reported:	of at least one subflow's path something was reported, when it was usable last
 * @events:	at least one subflow has events to be told
 * @server:	it was accepted here
 * @costly:	of its usable subflows one costs more than another one
 * @refusing:	no decision is made: the kernel is asked something
 * @stale_at:	tcp_jiffies32 when the kernel's stale check was asked last
 * @state:	of its scheduler
 * @rule:	number of the rule that chose it; 0: none fits, or nobody asked
 * @window:	what the kernel was told of the receive window
 * @unit:	where the application's units end
 * @resend:	what is pending again
 * @lost_id:	subflow_id whose lost data is being sent again, 0: none
 * @late_bytes:	sent again for being late, and of a range's fragment behind it; the budget
 *		is for these
 * @epoch_bytes: of these, in the current epoch,
 * @epoch_begin: which began then and lasts for a tick; tcp_jiffies32
 * @first_bytes: what its rule says of redundant; 0: nothing
 * @overflow:	what its rule says of costlier paths
 * @cost:	what is remembered of them
 * @rules_generation: of the namespace's rules when one was looked for; 0: they don't
 *		choose its scheduler
 * @first_seq:	data sequence number at the first decision
 * @first_ns:	when that was
 * @counts:	totals,
 * @counting:	which others read meanwhile
 * @nr:		subflows in @sub
 * @sub:	in the connection's order; those that have gone, behind, until that
 *		is told
 * @expected:	paths that are expected to join
 * @bank:	what helpers that split TCP have banked; NULL until one was noticed
 * @split_mark:	to notice one (split.c): low half of the data sequence number up to which
 *		everything is acknowledged where each subflow acknowledged its @split_mark,
 * @split_nr:	if there are as many
 * @rcu:	defers the free, when nobody asks for @expected any more
 *
 * Except for @node, @refs, @wake and @dead every field belongs to the owner of the
 * msk: a decision runs with the msk owned (process context) or with its data lock
 * held and nobody owning it (softirq), as the timer does, the kick under lock_sock().
 */
struct pams_conn {
	struct hlist_node node;
	struct pams_net *net;
	struct mptcp_sock *msk;
	const struct pams_sched *sched;
	u64 local_key;
	refcount_t refs;
	bool dead;
	bool wake;
	bool timed;
	bool deferring;
	bool backed_off;
	bool refusing;
	bool silent;
	bool reported;
	bool events;
	bool server;
	bool costly;
	u8 nr;
	struct work_struct kick;
	struct hrtimer timer;
	u64 defer_end_ns;
	u32 pause_us;
	u32 delivered;
	u32 stale_at;
	u32 lost_id;
	struct pick_state state;
	u32 rule;
	struct msk_window window;
	struct unit_marks unit;
	struct msk_resend resend;
	u64 late_bytes;
	u32 epoch_bytes;
	u32 epoch_begin;
	u32 first_bytes;
	u32 rules_generation;
	struct cost_overflow overflow;
	struct cost_state cost;
	u64 first_seq;
	u64 first_ns;
	struct pams_counts counts;
	struct u64_stats_sync counting;
	struct pams_subflow *sub[PAMS_SUBFLOWS_MAX];
	union {
		struct pams_expected expected[PAMS_EXPECTED_MAX];
		struct rcu_head rcu;
	};
	struct pams_bank *bank;
	u32 split_mark;
	u32 split_nr;
};

/* figures.md tells: with up to five subflows all of it is within 1,024 bytes and 128 for
 * each subflow. Lockdep makes timers and work items larger.
 */
static_assert(sizeof(struct pams_subflow) <= 224);
static_assert(IS_ENABLED(CONFIG_LOCKDEP) || sizeof(struct pams_conn) <= 640);

/* Counts one of @conn's totals on. By its owner; conn.c sums up without owning it, and
 * where u64 takes two stores it has to notice.
 */
static inline void pams_count(struct pams_conn *conn, u64 *total, u64 by)
{
	/* where u64 takes two loads: whoever reads spins, so no interrupt may come */
	unsigned long flags = u64_stats_update_begin_irqsave(&conn->counting);

	WRITE_ONCE(*total, *total + by);
	u64_stats_update_end_irqrestore(&conn->counting, flags);
}

/* Are subflows that go silent noticed? Another path may be waiting for it. */
static inline bool pams_watches(const struct pams_conn *conn)
{
	return conn->sched->watches || conn->costly;
}

/* net.c */
struct pams_net *pams_net(const struct net *net);
int pams_net_init(void);
void pams_net_exit(void);

/* sched.c */
const struct pams_sched *pams_sched_find(const char *name);
const struct pams_sched *pams_sched_of(const struct mptcp_sock *msk);
int pams_sched_register(void);
void pams_sched_unregister(void);

/* watch.c */
#define PAMS_TICK_US	10000U		/* how often a tail is looked at */
#define PAMS_CLOSE_US	1000U		/* and closely */

void pams_watch(struct pams_conn *conn, u32 pause_us);
bool pams_watch_defer(struct pams_conn *conn, u64 wait_ns, bool closely);
void pams_watch_kick(struct pams_conn *conn);
void pams_watch_wake_all(struct pams_net *net);
void pams_watch_setup(struct pams_conn *conn);
int pams_watch_init(void);
void pams_watch_exit(void);

/* resend.c */
bool pams_resend_wanted(struct pams_conn *conn, struct pams_view *view,
			const struct msk_look *look);
bool pams_resend(struct pams_conn *conn);
void pams_resend_count_excess(struct pams_conn *conn);
bool pams_copy_wanted(const struct pams_conn *conn, const struct pams_view *view,
		      int target);

/* look.c */
#define PAMS_JOIN_MIN_US	1000U

void pams_look(struct pams_conn *conn, enum pams_detail detail,
	       struct msk_look *look, struct pams_view *view,
	       struct pams_model *expected);

/* Is there nothing that may be sent for the first time: is all scheduled, or no room
 * for a packet in the receive window?
 */
static inline bool pams_nothing_new(const struct msk_look *look)
{
	return !look->pending ||
	       !before64(look->snd_nxt + look->mss_bytes, look->window_end);
}

/* split.c */
void pams_split_look(struct pams_conn *conn, const struct msk_look *look,
		     struct pams_view *view);
u32 pams_split_once_bytes(const struct pams_conn *conn, u32 id);
void pams_split_sent_again(struct pams_conn *conn);
u32 pams_split_resend(struct pams_conn *conn, const struct msk_look *look,
		      struct sock *ssk, u64 max_bytes);
bool pams_split_is_dead(const struct pams_conn *conn, u32 id);
bool pams_split_lost_left(const struct pams_conn *conn, u32 id);
u32 pams_split_resend_lost(struct pams_conn *conn, const struct msk_look *look,
			   struct sock *ssk);
u32 pams_split_head_wait_us(const struct pams_conn *conn, u32 *id);

/* learn.c */
void pams_learn(struct pams_subflow *sub, const struct sock *ssk, u32 ahead_us,
		bool tail, u32 *now_us);
u32 pams_silence_limit_us(const struct pams_subflow *sub, const struct tcp_sock *tp);
u32 pams_answer_limit_us(const struct pams_subflow *sub, const struct tcp_sock *tp);

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

/* report.c */
void pams_report_apply(struct pams_conn *conn, const struct msk_look *look,
		       struct pams_view *view);
bool pams_report_is_lost(struct pams_conn *conn, const struct pams_subflow *sub);

/* Is there anything that pams_report_apply() may have to say? */
static inline bool pams_report_any(const struct pams_conn *conn)
{
	return READ_ONCE(conn->net->paths.nr) || conn->silent || conn->reported;
}

/* rules.c: once they have changed, the connection follows. */
static inline void pams_rules_follow(struct pams_conn *conn,
				     const struct pams_sched *otherwise)
{
	if (unlikely(conn->rules_generation != READ_ONCE(conn->net->rules.generation)))
		pams_rules_resolve(conn, otherwise);
}

/* conn.c */
int pams_conn_init(void (*setup)(struct pams_conn *conn));
void pams_conn_wait(void);
void pams_conn_exit(void);
void pams_conn_reset(struct mptcp_sock *msk);
struct pams_conn *pams_conn_known(struct mptcp_sock *msk);
struct pams_conn *pams_conn_get(struct mptcp_sock *msk,
				const struct pams_sched *sched);
void pams_conn_del(struct mptcp_sock *msk);
bool pams_conn_is_current(const struct pams_conn *conn);
bool pams_conn_open_bank(struct pams_conn *conn);
void pams_conn_hold(struct pams_conn *conn);
void pams_conn_put(struct pams_conn *conn);
void pams_conn_for_each(struct pams_net *net, void (*each)(struct pams_conn *conn));
struct pams_conn *pams_conn_next(const struct pams_net *net,
				 unsigned long *bucket, unsigned long *skip);
u32 pams_conn_sum(const struct pams_net *net, struct pams_counts *sum);
struct pams_subflow *pams_subflow_get(struct pams_conn *conn, unsigned int place,
				      const struct sock *ssk, u32 id);
void pams_subflow_drop(struct pams_conn *conn, unsigned int place);

/* The state of a model in a view. */
static inline struct pams_subflow *pams_subflow_of(struct pams_model *model)
{
	return container_of(model, struct pams_subflow, model);
}

/* What is known of a subflow, or NULL. */
static inline struct pams_subflow *pams_subflow_find(struct pams_conn *conn, u32 id)
{
	unsigned int i;

	for (i = 0; i < conn->nr; i++) {
		if (conn->sub[i]->model.id == id)
			return conn->sub[i];
	}
	return NULL;
}

#endif /* _MPTCP_PAMS_H */
