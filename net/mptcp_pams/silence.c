// SPDX-License-Identifier: GPL-2.0
/* Subflows that died without notice: a cable pulled somewhere, a cell left.
 *
 * A subflow is silent when it has data outstanding and nothing came back for
 *
 *   srtt + max(4 * RTT variance, 50 ms)
 *
 * since its last acknowledgment and since the oldest of that data was sent. The
 * 50 ms leave room for a delayed acknowledgment (40 ms). TCP's own timeout is
 * some 200 ms later at least, and doubles: a receiver that waits for the missing
 * bytes would stand still that long.
 *
 * What is outstanding on a silent subflow is sent again elsewhere, each byte
 * once, and nothing more is scheduled there until TCP's own retransmission is
 * acknowledged. Wrong alarms cost duplicates of at most a window.
 *
 * The same look finds subflows that have gone, for whoever listens.
 */
#include "netlink.h"
#include "pams.h"

#define SILENCE_MIN_US	(50 * USEC_PER_MSEC)

static u32 silence_limit_us(const struct tcp_sock *tp)
{
	/* srtt_us is scaled by 8, mdev_us by 4 */
	return (tp->srtt_us >> 3) + max_t(u32, tp->mdev_us, SILENCE_MIN_US);
}

static bool older_than(u32 stamp, u32 limit_us)
{
	s32 age = tcp_jiffies32 - stamp;

	return age > 0 && jiffies_to_usecs(age) > limit_us;
}

/* Asked first without the lock: hardly ever is a subflow so quiet. */
static bool subflow_is_silent(struct sock *ssk)
{
	struct tcp_sock *tp = tcp_sk(ssk);
	u32 limit_us = silence_limit_us(tp);
	struct sk_buff *oldest;
	bool silent;

	if (!tp->packets_out || !older_than(READ_ONCE(tp->rcv_tstamp), limit_us))
		return false;

	lock_sock(ssk);
	oldest = tcp_rtx_queue_head(ssk);
	silent = oldest && older_than(READ_ONCE(tp->rcv_tstamp), limit_us) &&
		 tcp_clock_us() - tcp_skb_timestamp_us(oldest) > limit_us;
	release_sock(ssk);
	return silent;
}

static void look_at(struct pams_conn *conn,
		    const struct mptcp_subflow_context *subflow,
		    struct pams_memo *memo)
{
	struct sock *ssk = subflow->tcp_sock;

	if (memo->silent || !pams_tcp_can_send(ssk) || !subflow_is_silent(ssk))
		return;

	memo->silent = true;
	memo->silent_at = tcp_jiffies32;
	conn->silent = true;
}

static bool subflow_is_there(const struct mptcp_sock *msk, u32 id)
{
	const struct mptcp_subflow_context *subflow;

	list_for_each_entry(subflow, &msk->conn_list, node) {
		if (subflow->subflow_id == id)
			return true;
	}
	return false;
}

/**
 * pams_silence_look - find subflows that are silent or have gone
 * @msk:	the connection, owned
 * @conn:	its remembered state
 *
 * Process context; locks quiet subflows, one at a time.
 */
void pams_silence_look(struct mptcp_sock *msk, struct pams_conn *conn)
{
	struct mptcp_subflow_context *subflow;
	unsigned int i;

	for (i = 0; i < PAMS_SUBFLOWS_MAX; i++) {
		struct pams_memo *memo = &conn->memo[i];

		if (!memo->id || subflow_is_there(msk, memo->id))
			continue;
		pams_netlink_subflow_removed(msk, conn, memo);
		pams_reinject_repair(msk, conn);
		memset(memo, 0, sizeof(*memo));
	}

	if (!pams_sched(msk)->reinject)
		return;

	list_for_each_entry(subflow, &msk->conn_list, node) {
		struct pams_memo *memo = pams_conn_memo(conn,
							subflow->subflow_id);

		if (memo->id == subflow->subflow_id)
			look_at(conn, subflow, memo);
	}
}
