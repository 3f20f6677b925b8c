// SPDX-License-Identifier: GPL-2.0
/* Redundant: every byte on every subflow, so that the fastest copy counts.
 *
 *   each subflow has a position of its own in the data;
 *   the next to send is the one with room, of these the one with the least RTT;
 *   it gets the fragment at its position;
 *   what is acknowledged meanwhile no subflow gets any more
 *
 * The kernel's push hands each byte to one subflow and moves on. So each
 * decision sets the send head to the fragment at the target's position, marks
 * it as sent up to there, and lets one fragment go. The kernel is told that it
 * is in recovery, which makes it expect acknowledgments beyond its head. When
 * the head has reached the end no decision is asked for any more: a worker sets
 * it back for those that lag.
 */
#include "peers.h"

static struct mptcp_data_frag *fragment_of(struct mptcp_sock *msk, u64 seq)
{
	struct mptcp_data_frag *dfrag;

	list_for_each_entry(dfrag, &msk->rtx_queue, list)
		if (before64(seq, dfrag->data_seq + dfrag->data_len))
			return dfrag;
	return NULL;
}

/* Nobody's position lies before what is acknowledged, and a new subflow begins
 * there.
 */
static u64 *position(struct mptcp_sock *msk, struct peer_state *state, u32 id)
{
	unsigned int i, free = 0;

	for (i = 0; i < PEERS_MAX; i++) {
		if (state->id[i] == id + 1)
			break;
		if (!state->id[i])
			free = i;
	}
	if (i == PEERS_MAX) {
		i = free;
		state->id[i] = id + 1;
		state->next_seq[i] = msk->snd_una;
	}
	if (before64(state->next_seq[i], msk->snd_una))
		state->next_seq[i] = msk->snd_una;
	return &state->next_seq[i];
}

/* The kernel may have sent less than was asked for: then its head still stands
 * at the fragment.
 */
static void correct_last(struct mptcp_sock *msk, struct peer_state *state)
{
	struct mptcp_data_frag *head = msk->first_pending;
	u64 *seq;

	if (state->last < 0 || !head)
		return;
	seq = &state->next_seq[state->last];
	if (head->already_sent < head->data_len &&
	    *seq == head->data_seq + head->data_len)
		*seq = head->data_seq + head->already_sent;
}

/* The subflow to send on next, -1 if none has both room and data to get. */
static int pick(struct mptcp_sock *msk, const struct peer_view *view,
		struct peer_state *state, bool with_room)
{
	u64 end = msk->write_seq - msk->snd_data_fin_enable;
	int best = -1;
	unsigned int i;

	for (i = 0; i < view->nr; i++) {
		const struct peer_subflow *sub = &view->sub[i];

		if ((with_room && !sub->idle) ||
		    !before64(*position(msk, state, sub->subflow->subflow_id),
			      end))
			continue;
		if (best < 0 || sub->srtt_us < view->sub[best].srtt_us)
			best = i;
	}
	return best;
}

static void set_head(struct mptcp_sock *msk, u64 seq)
{
	struct mptcp_data_frag *dfrag = fragment_of(msk, seq);

	msk->recovery_snd_nxt = msk->write_seq;
	WRITE_ONCE(msk->recovery, true);
	if (dfrag)
		dfrag->already_sent = before64(dfrag->data_seq, seq) ?
				      seq - dfrag->data_seq : 0;
	msk->first_pending = dfrag;
}

/**
 * peers_redundant_next - set the send head for the next subflow
 * @msk:	the connection, owned or with its data lock held
 * @view:	its subflows
 * @state:	what is remembered of it
 *
 * Return: an index into the view, or -1; then the head is that of who lags.
 */
int peers_redundant_next(struct mptcp_sock *msk, const struct peer_view *view,
			 struct peer_state *state)
{
	struct mptcp_data_frag *dfrag;
	int target, lagging;
	u64 *seq;

	correct_last(msk, state);
	state->last = -1;
	target = pick(msk, view, state, true);
	lagging = target < 0 ? pick(msk, view, state, false) : target;
	if (lagging < 0)
		return -1;

	seq = position(msk, state, view->sub[lagging].subflow->subflow_id);
	set_head(msk, *seq);
	dfrag = msk->first_pending;
	if (target < 0 || !dfrag)
		return -1;

	*seq = dfrag->data_seq + dfrag->data_len;
	state->last = seq - state->next_seq;
	msk->snd_burst = 1;	/* looked at between fragments: one goes */

	sock_hold((struct sock *)msk);
	refcount_inc(&state->refs);
	if (!schedule_work(&state->work)) {
		refcount_dec(&state->refs);
		__sock_put((struct sock *)msk);
	}
	return target;
}

/* Process context, with a reference on the state and on the socket. */
void peers_redundant_work(struct work_struct *work)
{
	struct peer_state *state = container_of(work, struct peer_state, work);
	struct mptcp_sock *msk = state->msk;
	struct sock *sk = (struct sock *)msk;
	struct peer_view view;
	int lagging;

	lock_sock(sk);
	if (READ_ONCE(state->dead) || inet_sk_state_load(sk) == TCP_CLOSE ||
	    msk->flags & PEERS_FALLBACK_DONE || msk->first_pending)
		goto out;

	peers_look(msk, &view);
	state->last = -1;
	lagging = pick(msk, &view, state, false);
	if (lagging < 0)
		goto out;

	set_head(msk, *position(msk, state,
				view.sub[lagging].subflow->subflow_id));
	spin_lock_bh(&sk->sk_lock.slock);
	msk->cb_flags |= PEERS_PUSH_PENDING;
	spin_unlock_bh(&sk->sk_lock.slock);
out:
	release_sock(sk);	/* pushes */
	peers_state_put(state);
	sock_put(sk);
}
