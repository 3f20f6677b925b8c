/* SPDX-License-Identifier: GPL-2.0 */
/* The map of the module, in the order in which data flows; files call downward only
 * (selftests/downward):
 *
 *   main.c      load and unload
 *   netlink*.c  the generic-netlink family: netlink.c takes reports and shows them,
 *               netlink_conn.c shows connections, netlink_rules.c takes and shows rules,
 *               netlink_sched.c tells the schedulers, netlink_unit.c takes units;
 *               netlink-gen.c is generated from the specification
 *   bpf.c       the type by which BPF gives the module schedulers, and what these may call
 *   scheds.c    the schedulers as the kernel knows them: ops of both ABIs, registration
 *   sched.c     one decision
 *   retrans.c   MPTCP's own retransmission: which subflow it goes to
 *   watch.c     looks at a connection by timer, between the kernel's calls: for the end
 *               of a wait, a late tail, a lost or silent path
 *   alive.c     which subflows don't answer, have gone, or may send again
 *   tell_conn.c sends netlink events about connections
 *   resend.c    sends late or lost data again on another subflow, or copies it
 *   look.c      one look at every subflow of a connection -> struct pams_view
 *   split.c     finds helpers that end TCP, puts the data they hold into the models
 *   learn.c     a subflow's model, from its TCP
 *   report.c    puts reported pipes and loss times into the models
 *   conn.c      the state of a connection and of its subflows: lifetimes
 *   net.c       the state of a namespace: the sysctls
 *   rules.c     chooses a connection's scheduler by the administrator's rules
 *   path.c      the table of what was reported of each path
 *   tell.c      sends netlink events about expired reports
 *   trace.c     tracepoints
 *   program.c   asks a scheduler in BPF, and checks what it answers
 *   bank.c      how much a helper has acknowledged and not delivered, plain numbers only
 *   sched_*.c   choose a subflow from a view, plain numbers only (pick.h)
 *   cost.c      takes costlier paths out of a view, plain numbers only
 *   stream.c    a connection whose application writes no faster than the paths carry: bounds
 *               what each path holds of it, and says what is late, plain numbers only
 *   unit.c      how much is left of an application's unit, plain numbers only
 *   model.c     how much a subflow delivers by when, and its PAD, from plain numbers
 *   msk*.c      MPTCP's private structures; no other file knows them: msk.c looks, msk_send.c
 *               hands over, msk_queue.c and msk_resend.c have data sent again, msk_retrans.c is
 *               about the kernel's own retransmission, msk_check.c compares them at load
 *   layout.c    compares the layouts of these with the running kernel's
 *   symbols.c   finds what the kernel does not export
 *
 * Other headers without a .c file: again.h (which bytes were sent again), msk_private.h (what
 * msk*.c share), peek.h (reads a subflow's TCP without its lock), features.h (the target kernel's
 * features), scheds.h (the list of schedulers), told.h (what is told of a path).
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
#include "msk.h"
#include "path.h"
#include "peek.h"
#include "pick.h"
#include "rules.h"
#include "stream.h"
#include "symbols.h"
#include "unit.h"

/**
 * struct pams_kernel_sched - a scheduler as the kernel knows it
 * @ops:	what the kernel is told
 * @sched:	as the module's other files know it
 * @registered:	of those built in: the kernel has taken it
 */
struct pams_kernel_sched {
	struct mptcp_sched_ops ops;
	const struct pams_sched *sched;
	bool registered;
};

/**
 * struct pams_program - a scheduler in BPF, by its name; it stays until the module goes, so that
 *	sockets and rules may keep it while no program of that name is attached
 * @sched:	as the module's other files know it
 * @kernel:	as the kernel knows it
 * @ops:	the program; NULL: none is attached
 * @name:	name of both
 * @node:	entry in scheds.c's list
 * @refused:	number of answers that can't be carried out
 * @slow:	number of answers that took over a tick
 * @overdue:	number of waits that were ended since they gained nothing any more
 * @alone:	number of decisions without a program
 */
struct pams_program {
	struct pams_sched sched;
	struct pams_kernel_sched kernel;
	const struct pams_sched_ops __rcu *ops;
	char name[PAMS_NAME_MAX];
	struct list_head node;
	atomic64_t refused;
	atomic64_t slow;
	atomic64_t overdue;
	atomic64_t alone;
};

/* Totals of one connection, written with pams_count(), or of all connections of a
 * namespace that are closed, written under conn.c's table lock.
 */
struct pams_counts {
	u64 decisions;
	u64 deferrals;
	u64 kicks;
	u64 stops;
	u64 reinjected_bytes;
};

/* How many reports of a namespace were accepted, refused, and have expired. */
struct pams_totals {
	atomic64_t reports;
	atomic64_t refused;
	atomic64_t expired;
};

/* queue_ahead_us, default: a subflow stays busy until the next decision is made */
#define PAMS_QUEUE_AHEAD_US	1000

/* owd_weights: which weights smooth the one-way delay (report.c) */
#define PAMS_OWD_RFC6298	0
#define PAMS_OWD_PLAMA		1

/* The module's state of a network namespace. */
struct pams_net {
	struct net *net;		/* the namespace */
	struct pams_paths paths;	/* what was reported of paths */
	/* the administrator's rules, which choose a connection's scheduler */
	struct pams_rules rules;
	struct pams_totals totals;	/* totals of the reports */
	struct pams_counts gone;	/* summed totals of the connections that are closed */
	/* sysctl; a tail is sent again if PADs differ by more than this */
	unsigned int reinject_eta_percent;
	/* sysctl; a subflow may be given more than its window, by this time at its pacing rate */
	unsigned int queue_ahead_us;
	/* sysctl; data has to arrive this long before its path is lost */
	unsigned int loss_guard_us;
	unsigned int owd_weights;	/* sysctl; PAMS_OWD_* */
	unsigned int paths_max;		/* sysctl; at most this many paths may be known */
	/* sysctl; redundant sends this many first bytes twice; 0: all */
	unsigned int redundant_bytes;
	/* sysctl; costlier paths carry what cheaper ones would deliver later than this
	 * (cost.h)
	 */
	unsigned int overflow_ms;
	/* sysctl; @overflow_ms as a factor of the completion time (cost.h) */
	unsigned int overflow_percent;
	struct ctl_table_header *sysctls;	/* registration of the sysctls */
	struct ctl_table *sysctl_table;	/* the table of @sysctls */
};

/* Events of a subflow that listeners on netlink are to be told. */
#define PAMS_EVENT_STOPPED	BIT(0)
#define PAMS_EVENT_REINJECT	BIT(1)
#define PAMS_STOPS_MAX		511	/* a subflow's stops are counted up to here */

/* The state of one subflow; each field belongs to the owner of the msk. learn.c writes it, from
 * TCP at the last look, unless another file is named; alive.c, learn.c and report.c
 * write those of silence: silent*, alarm*, cut_off, stopped, stops and events.
 */
struct pams_subflow {
	/* the subflow in plain numbers, as it was at the last look */
	struct pams_model model;

	/* with the model, in the two cache lines that every decision reads */
	u32 seen_us;	/* low half of tcp_mstamp; tcp_jiffies32 if nothing was outstanding */
	u32 seen_write_seq;		/* TCP's write_seq */
	u32 seen_delivered;		/* TCP's count of delivered packets */
	/* packets outstanding; U32_MAX: the look changed the model for its own use */
	u32 seen_packets;
	/* @model.pad_ns was computed for this many bytes; 0: the model has changed since, so
	 * it has to be computed again
	 */
	u16 pad_of_bytes;
	u16 alarm_s;	/* when the last false alarm was; low half of TCP's clock in seconds */
	u32 alarms:2;	/* number of false alarms: silences that ended without a timeout of TCP's */
	u32 events:2;			/* PAMS_EVENT_* that listeners have not been told yet */
	u32 guessed:1;	/* @learned_proven_byteps is a guess from the first few packets */
	u32 idle:1;			/* since the last sample a look found nothing outstanding */
	u32 queued:1;			/* the last sample showed a queue */
	/* the last lookup found a pipe, loss time or cost, or the subflow was stopped then
	 * (report.c)
	 */
	u32 reported:1;
	u32 silent:1;	/* nothing was acknowledged for too long, or nothing can be sent */
	u32 stopped:1;			/* the last look found that what is sent now won't arrive */
	/* the kernel's retransmission has used this subflow since @retrans_una of the
	 * connection changed (retrans.c)
	 */
	u32 retrans:1;
	u32 cut_off:1;			/* when @silent was set, nothing could be sent */
	/* TCP's write_seq in units of 16 KB, rounded up, when the connection's @split_mark was
	 * set (split.c)
	 */
	u32 split_mark:11;
	u32 stops:9;			/* how often @stopped was set, at most PAMS_STOPS_MAX */
	u32 silent_tstamp;		/* TCP's rcv_tstamp when @silent was set */

	u32 learned_th_byteps;		/* Th, before reports change it */
	u32 th_us;	/* low half of tcp_mstamp when @learned_th_byteps was sampled */
	u32 learned_limit_byteps;	/* capacity of the path; 0 if unknown */
	/* the highest rate that was measured, or a guess (@guessed) */
	u32 learned_proven_byteps;
	/* low half of delivered_mstamp at the last look that saw an acknowledgment */
	u32 acked_us;
	/* low half of tcp_mstamp when a sample last showed no queue, or followed an idle time */
	u32 empty_us;

	/* the subflow's data that was sent again elsewhere, as sequence numbers (resend.c) */
	struct msk_sent_again again;
	u32 owd_us;	/* smoothed one-way delay, 0 before the first sample (report.c) */
	/* how much was sent again elsewhere since the subflow began (resend.c) */
	u64 again_bytes;

	/* the path whose pipe counts, or NULL; under RCU, see path.h (report.c) */
	const struct pams_path *pipe;
	/* the path whose loss time counts, or NULL; under RCU, see path.h (report.c) */
	const struct pams_path *loss;
	/* generation of the namespace's paths when @pipe and @loss were looked up; low half,
	 * see the connection's @paths_high (report.c)
	 */
	u32 generation;
};

/* The state of one connection.
 *
 * Except for @node, @refs, @wake and @dead every field belongs to the owner of the
 * msk: a decision runs with the msk owned (process context) or with its data lock
 * held and nobody owning it (softirq), as the timer does, the kick under lock_sock().
 */
struct pams_conn {
	struct hlist_node node;		/* entry in conn.c's table, keyed by @msk; read under RCU */
	struct pams_net *net;	/* the connection's namespace, which the socket keeps alive */
	/* the connection's socket; used by its owner, or under a reference that @timer or
	 * @kick holds
	 */
	struct mptcp_sock *msk;
	const struct pams_sched *sched;	/* the connection's scheduler */
	/* MPTCP's key of this connection; a socket that was disconnected comes back with
	 * another key and the same @msk
	 */
	u64 local_key;
	/* one for the table, one for @timer, one for a pending @kick, one for @wait */
	refcount_t refs;
	bool dead;	/* the socket was released or connected anew: timer and kick do nothing */
	bool wake;	/* a report came that the next kick has to act on; set in any context */
	bool timed;			/* @timer is armed, or its function runs */
	/* how often @timer found the socket owned, one time after the other, up to
	 * WATCH_OWNED_SHIFT_MAX; used by @timer alone
	 */
	u8 owned;
	/* stages before a decision's look (sched.c); all of them: @begins */
	union {
		struct {
			u8 rules:1;	/* rules choose @sched */
			u8 again:1;	/* a range was made pending again, and isn't settled */
			u8 refusing:1;	/* no decision: the kernel's stale check runs */
		};
		u8 begins;
	};
	/* stages of a look (look.c); all of them: @stages */
	union {
		struct {
			u8 units:1;	/* the application has marked a unit */
			u8 copies:1;	/* @sched wants data on two subflows */
			u8 silent:1;	/* at least one subflow is silent */
			u8 reported:1;	/* at least one subflow has @reported set */
			u8 banks:1;	/* there is a @bank, or one is wanted (split.c) */
			/* a usable subflow costs more than another one that isn't stopped */
			u8 costly:1;
		};
		u8 stages;
	};
	bool events;			/* at least one subflow has @events set */
	u8 deferring:1;	/* the last decision was to wait, until @defer_end_ns at most */
	u8 backed_off:1;		/* @pause_us was doubled since nothing arrived */
	/* the receive window was closed at the last look, or is still for a subflow */
	u8 shut:1;
	u8 reopened:1;	/* the next kick has TCP send at once what a closed window didn't take */
	/* bits 32 to 47 of the paths' generation at the last lookup; each subflow's
	 * @generation holds bits 0 to 31
	 */
	u16 paths_high;
	u8 nr;				/* number of states in @sub */
	u8 split_nr;			/* number of usable subflows when @split_mark was set */
	/* work item for all that needs process context, see watch.c */
	struct work_struct kick;
	/* queues @kick when the socket's owner releases it; in the socket's queue if a kick
	 * found it owned. Under the data lock
	 */
	struct wait_queue_entry wait;
	struct hrtimer timer;		/* looks at the connection again when it fires */
	u64 defer_end_ns;	/* when the wait of a deferring decision ends, by ktime_get_ns() */
	u32 pause_us;			/* time between two looks of @timer */
	u32 delivered;	/* sum of the subflows' delivered packets at @timer's last look */
	u32 stale_at;	/* tcp_jiffies32 when the kernel's stale check was called last */
	u32 lost_id;	/* subflow_id whose lost data is being sent again, 0: none */
	struct pick_state state;	/* the scheduler's own state */
	/* number of the rule that chose @sched, from 1; 0: no rule fits, or there are none */
	u32 rule;
	/* the end that the peer advertised, while msk->wnd_end is lowered (msk.h) */
	struct msk_window window;
	struct unit_marks unit;		/* where the application's units end */
	struct stream_state stream;	/* how fast the application writes (stream.c) */
	struct msk_resend resend;	/* the range that is pending to be sent again */
	/* late data sent again so far, and what went beyond its ranges; resend.c limits it by
	 * @late_share of the scheduler
	 */
	u64 late_bytes;
	u32 epoch_bytes;	/* those of @late_bytes that were sent again in the current epoch */
	u32 epoch_begin;	/* tcp_jiffies32 when the epoch began, which lasts for a tick */
	/* by the rule, the first bytes that redundant sends twice; 0: sysctl */
	u32 first_bytes;
	/* generation of the namespace's rules when @rule was looked up; 0: rules don't choose
	 * the scheduler
	 */
	u32 rules_generation;
	struct cost_overflow overflow;	/* by the rule, what costlier paths are used for */
	struct cost_state cost;		/* credit of the costlier paths (cost.c) */
	u64 first_seq;	/* next data sequence number when the state was made */
	struct pams_counts counts;	/* totals; written with pams_count() */
	struct u64_stats_sync counting;	/* lets conn.c read @counts without owning the msk */
	/* states of the usable subflows in the connection's order; behind them those of other
	 * subflows, until a kick finds them gone
	 */
	struct pams_subflow *sub[PAMS_SUBFLOWS_MAX];
	struct rcu_head rcu;		/* defers the free */
	/* log of what helpers that split TCP hold; NULL until split.c suspects one */
	struct pams_bank *bank;
	/* low half of a data sequence number: once each subflow has acknowledged its own
	 * @split_mark, what has no DATA_ACK before this is banked (split.c)
	 */
	u32 split_mark;
	/* units of 64 bytes of snd_una at the kernel's last retransmission, low 16 bits */
	u16 retrans_una;
	u16 retrans_at;	/* jiffies at the kernel's last retransmission, low 16 bits */
};

/* figures.md promises that a connection with up to four subflows takes at most 1,024
 * bytes and 128 more for each subflow. Any kernel keeps that. Lockdep makes timers and work
 * items larger.
 */
static_assert(sizeof(struct pams_subflow) <= 224);
static_assert(IS_ENABLED(CONFIG_LOCKDEP) || sizeof(struct pams_conn) <= 640);

/* Adds @by to one of @conn's totals. The msk's owner calls it; conn.c reads the totals
 * without owning the msk, and must notice a u64 that takes two stores.
 */
static inline void pams_count(struct pams_conn *conn, u64 *total, u64 by)
{
	/* on 32 bits a reader spins meanwhile, so no interrupt may come between */
	unsigned long flags = u64_stats_update_begin_irqsave(&conn->counting);

	WRITE_ONCE(*total, *total + by);
	u64_stats_update_end_irqrestore(&conn->counting, flags);
}

/* Does the module look for silent subflows of @conn? The scheduler may want it; and a
 * costlier path is used as soon as the cheaper ones are silent.
 */
static inline bool pams_watches(const struct pams_conn *conn)
{
	return conn->sched->watches || conn->costly;
}

/* layout.c */
int pams_layout_check(void);

/* net.c */
struct pams_net *pams_net(const struct net *net);
int pams_net_init(void);
void pams_net_exit(void);

/* scheds.c */
const struct pams_sched *pams_sched_nth(unsigned int nr);
const struct pams_sched *pams_sched_find(const char *name);
const struct pams_sched *pams_sched_of(const struct mptcp_sock *msk);
int pams_sched_attach(const struct pams_sched_ops *ops);
void pams_sched_detach(const struct pams_sched_ops *ops);
int pams_sched_register(void);
void pams_sched_unregister(void);
void pams_sched_exit(void);

/* bpf.c; programs call all but the first */
void pams_bpf_init(void);
const struct pams_model *pams_sub(const struct pams_view *view, u32 i);
u32 pams_arrival_us(const struct pams_view *view, u32 i, u32 bytes);
u64 pams_carried_bytes(const struct pams_view *view, u32 i, u32 span_us);

/* program.c: the functions of a scheduler in BPF, as struct pams_sched has them */
int pams_program_pick(const struct pams_sched *sched, const struct pams_view *view, u32 *bytes);
int pams_program_late(const struct pams_sched *sched, const struct pams_view *view,
		      u32 eta_percent, u64 *bytes);
void pams_program_overdue(const struct pams_sched *sched);
void pams_program_tell(const struct pams_sched *sched, char *text, size_t size);

/* sched.c, retrans.c */
int pams_decide(struct mptcp_sock *msk, const struct pams_sched *of_socket);
int pams_retransmit(struct mptcp_sock *msk, const struct pams_sched *of_socket);

/* watch.c */
#define PAMS_TICK_US	10000U		/* pause between looks at a tail */
#define PAMS_CLOSE_US	1000U		/* the shortest such pause, for a scheduler with @closely */

void pams_watch(struct pams_conn *conn, u32 pause_us);
bool pams_watch_defer(struct pams_conn *conn, u64 wait_ns);
void pams_watch_kick(struct pams_conn *conn);
void pams_watch_join(struct pams_net *net);
void pams_watch_wake(struct pams_net *net, const struct pams_path_key *key);
void pams_watch_setup(struct pams_conn *conn);
int pams_watch_init(void);
void pams_watch_exit(void);

/* alive.c */
bool pams_alive_any_silent(struct pams_conn *conn, const struct pams_view *view,
			   const struct msk_look *look);
void pams_alive_find_silent(struct pams_conn *conn);
bool pams_alive_check_is_due(struct pams_conn *conn);
void pams_alive_check(struct pams_conn *conn);
bool pams_alive_any_gone(const struct pams_conn *conn, unsigned int usable);
void pams_alive_drop_gone(struct pams_conn *conn);
bool pams_alive_reopened(struct pams_conn *conn, const struct msk_look *look);
void pams_alive_let_in(struct pams_conn *conn);

/* resend.c */
bool pams_resend_wanted(struct pams_conn *conn, struct pams_view *view,
			struct msk_look *look);
bool pams_resend(struct pams_conn *conn);
void pams_resend_count_excess(struct pams_conn *conn);
void pams_resend_repair_stale(struct pams_conn *conn);
bool pams_resend_is_done(struct pams_conn *conn, const struct pams_subflow *sub,
			 const struct sock *ssk);
bool pams_copy_wanted(const struct pams_conn *conn, const struct pams_view *view,
		      int target);

/* look.c */
void pams_look(struct pams_conn *conn, enum pams_detail detail,
	       struct msk_look *look, struct pams_view *view, bool again, bool behind);

/* Is there nothing to send for the first time? Either all data was given to subflows, or
 * the receive window has no room for a packet of every subflow.
 */
static inline bool pams_nothing_new(const struct msk_look *look)
{
	return !look->pending ||
	       !before64(look->snd_nxt + look->mss_bytes, look->window_end);
}

/* split.c */
void pams_split_find(struct pams_conn *conn, const struct msk_look *look,
		     const struct pams_view *view);
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
		u32 *now_us);
void pams_learn_answer(struct pams_subflow *sub, const struct sock *ssk);
u32 pams_silence_limit_us(const struct pams_subflow *sub, const struct tcp_sock *tp);
u32 pams_answer_limit_us(const struct pams_subflow *sub, const struct tcp_sock *tp);

/* report.c */
void pams_report_new(struct pams_subflow *sub, const struct sock *ssk);
void pams_report_apply(struct pams_conn *conn, const struct msk_look *look,
		       struct pams_view *view);
bool pams_report_is_lost(struct pams_conn *conn, const struct pams_subflow *sub);

/* Has nothing changed since @sub's paths were looked up? If so they may be used, under RCU. */
static inline bool pams_report_is_current(const struct pams_conn *conn,
					  const struct pams_subflow *sub)
{
	u64 generation = pams_paths_generation(&conn->net->paths);

	return sub->generation == (u32)generation &&
	       conn->paths_high == (u16)(generation >> 32);
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
void pams_conn_for_each(struct pams_net *net,
			void (*each)(struct pams_conn *conn, const void *arg),
			const void *arg);
struct pams_conn *pams_conn_find(const struct mptcp_sock *msk);
void pams_conn_for_token(struct pams_net *net, u32 token,
			 void (*each)(struct pams_conn *conn, const void *arg),
			 const void *arg);
struct pams_conn *pams_conn_next(const struct pams_net *net,
				 unsigned long *bucket, unsigned long *skip);
u32 pams_conn_sum(const struct pams_net *net, struct pams_counts *sum);
struct pams_subflow *pams_subflow_get(struct pams_conn *conn, unsigned int place, u32 id);
void pams_subflow_drop(struct pams_conn *conn, unsigned int place);

/* The subflow's state that holds this model of a view. */
static inline struct pams_subflow *pams_subflow_of(struct pams_model *model)
{
	return container_of(model, struct pams_subflow, model);
}

/* This look has changed the subflow's model for its own use: have the next one begin from
 * TCP's numbers, though none of them has changed.
 */
static inline void pams_learn_anew(struct pams_subflow *sub)
{
	sub->seen_packets = U32_MAX;
}

/* The state of the subflow with this subflow_id, or NULL. */
static inline struct pams_subflow *pams_subflow_find(struct pams_conn *conn, u32 id)
{
	unsigned int i;

	for (i = 0; i < conn->nr; i++) {
		if (conn->sub[i]->model.id == id)
			return conn->sub[i];
	}
	return NULL;
}

static inline struct pams_subflow *pams_subflow_at(struct pams_conn *conn,
						   const struct sock *ssk)
{
	return pams_subflow_find(conn, msk_subflow_id(ssk));
}

/* The next usable backup outside the view, whose states stand at @i and behind; NULL at the end. */
static inline struct sock *pams_next_beyond(struct pams_conn *conn, unsigned int *i)
{
	struct sock *ssk = NULL;

	while (!ssk && *i < conn->nr)
		ssk = msk_backup_find(conn->msk, conn->sub[(*i)++]->model.id);
	return ssk;
}

#endif /* _MPTCP_PAMS_H */
