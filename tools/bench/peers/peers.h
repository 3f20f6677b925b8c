/* SPDX-License-Identifier: GPL-2.0 */
/* Published schedulers to compare with, for the laboratory only: README.md.
 *
 *   look.c       plain numbers of every usable subflow
 *   sched_blest.c, sched_ecf.c   from them, whether to wait
 *   sched_redundant.c  every byte on every subflow; moves the send head itself
 *   state.c      what is remembered of a connection
 *   main.c       the scheduler ops and their choice, load and unload
 *
 * symbols.c of the product finds the kernel's functions and is compiled in.
 */
#ifndef _PEERS_H
#define _PEERS_H

#include <linux/timer.h>
#include <net/mptcp.h>
#include <net/tcp.h>

#include "mptcp_layout.h"
#include "compat/slab.h"
#include "compat/tcp.h"
#include "msk.h"
#include "symbols.h"

/* bits of mptcp_sock.flags and .cb_flags */
#define PEERS_FALLBACK_DONE	BIT(2)
#define PEERS_PUSH_PENDING	BIT(1)

#define PEERS_MAX	8	/* subflows; the laboratory has no more paths */

/**
 * struct peer_subflow - one usable subflow at the moment of a decision
 * @subflow:	the subflow
 * @srtt_us:	smoothed round-trip time
 * @rttvar_us:	its mean deviation
 * @cwnd:	packets
 * @in_flight:	packets sent or queued and not acknowledged
 * @mss_bytes:	payload of a packet
 * @idle:	the window has room and the socket takes more
 */
struct peer_subflow {
	struct mptcp_subflow_context *subflow;
	u32 srtt_us;
	u32 rttvar_us;
	u32 cwnd;
	u32 in_flight;
	u32 mss_bytes;
	bool idle;
};

/**
 * struct peer_view - a connection at the moment of a decision
 * @window_bytes:	MPTCP's send window, used or not (BLEST's |M|)
 * @unscheduled_bytes:	what no subflow has been given yet (ECF's k)
 * @timeout:		jiffies until the latest TCP timer, or 0
 * @nr:			entries of @sub
 * @sub:		usable subflows; backups only if nothing else is
 */
struct peer_view {
	u64 window_bytes;
	u64 unscheduled_bytes;
	long timeout;
	unsigned int nr;
	struct peer_subflow sub[PEERS_MAX];
};

/**
 * struct peer_state - what is remembered of a connection
 * @node:	in the table of state.c; RCU
 * @msk:	the key
 * @rcu:	defers the free
 * @refs:	one for the table, one for each pending @work
 * @dead:	the socket was released
 * @waiting:	ECF: the last decision was to wait
 * @lambda_percent: BLEST: correction of the fast subflow's forecast
 * @adapt_at:	BLEST: jiffies; when the correction is looked at again
 * @blocked:	BLEST: the send window was full since then
 * @work:	redundant: brings the subflows that lag their copies
 * @last:	redundant: subflow of the last decision, or -1
 * @next_seq:	redundant: first data sequence number the subflow has not got
 * @id:		redundant: subflow_id that @next_seq belongs to
 */
struct peer_state {
	struct hlist_node node;
	struct mptcp_sock *msk;
	struct rcu_head rcu;
	refcount_t refs;
	bool dead;
	bool waiting;
	bool blocked;
	u32 lambda_percent;
	unsigned long adapt_at;
	struct work_struct work;
	int last;
	u64 next_seq[PEERS_MAX];
	u32 id[PEERS_MAX];
};

/* look.c */
void peers_look(struct mptcp_sock *msk, struct peer_view *view);

int peers_fastest(const struct peer_view *view, bool idle_only);

/* F is the subflow with the least RTT, S the one with the least of those with
 * room. F has none: each says whether to wait for it rather than send on S.
 */
bool peers_blest_waits(const struct peer_view *view, struct peer_state *state,
		       const struct peer_subflow *f, const struct peer_subflow *s);
bool peers_ecf_waits(const struct peer_view *view, struct peer_state *state,
		     const struct peer_subflow *f, const struct peer_subflow *s);

/* sched_redundant.c */
int peers_redundant_next(struct mptcp_sock *msk, const struct peer_view *view,
			 struct peer_state *state);
void peers_redundant_work(struct work_struct *work);

/* state.c */
void peers_state_add(struct mptcp_sock *msk);
void peers_state_del(struct mptcp_sock *msk);
struct peer_state *peers_state_get(struct mptcp_sock *msk);
void peers_state_put(struct peer_state *state);

#endif /* _PEERS_H */
