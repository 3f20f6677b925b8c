// SPDX-License-Identifier: GPL-2.0
/* What is remembered of a connection, from its init to its release. The table
 * is read under RCU; whoever drops the last reference frees after a grace
 * period.
 */
#include <linux/hashtable.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "peers.h"

static DEFINE_HASHTABLE(state_table, 10);
static DEFINE_SPINLOCK(state_lock);	/* for writers */

static struct peer_state *state_find(const struct mptcp_sock *msk)
{
	struct peer_state *state;

	hash_for_each_possible_rcu(state_table, state, node, (unsigned long)msk,
				   lockdep_is_held(&state_lock))
		if (state->msk == msk)
			return state;
	return NULL;
}

void peers_state_put(struct peer_state *state)
{
	if (refcount_dec_and_test(&state->refs))
		kfree_rcu(state, rcu);
}

void peers_state_del(struct mptcp_sock *msk)
{
	struct peer_state *state;

	spin_lock_bh(&state_lock);
	state = state_find(msk);
	if (state)
		hash_del_rcu(&state->node);
	spin_unlock_bh(&state_lock);

	if (state) {
		WRITE_ONCE(state->dead, true);
		peers_state_put(state);
	}
}

void peers_state_add(struct mptcp_sock *msk)
{
	struct peer_state *state;

	/* one of a socket that failed before its release */
	peers_state_del(msk);

	state = kzalloc(sizeof(*state), GFP_ATOMIC);
	if (!state)
		return;
	state->msk = msk;
	state->last = -1;
	state->lambda_percent = 100;
	refcount_set(&state->refs, 1);
	INIT_WORK(&state->work, peers_redundant_work);

	spin_lock_bh(&state_lock);
	hash_add_rcu(state_table, &state->node, (unsigned long)msk);
	spin_unlock_bh(&state_lock);
}

/* Valid while the msk is owned or its data lock is held: it isn't released. */
struct peer_state *peers_state_get(struct mptcp_sock *msk)
{
	struct peer_state *state;

	rcu_read_lock();
	state = state_find(msk);
	rcu_read_unlock();
	return state;
}
