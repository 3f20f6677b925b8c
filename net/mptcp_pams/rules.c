// SPDX-License-Identifier: GPL-2.0
/* Chooses a scheduler for each connection whose socket has one of the module's: that of the first
 * rule in the namespace's table that fits, or the table's default, or else the socket's own.
 *
 * The table is replaced as a whole. It is searched at a connection's first decision, when
 * addresses, owner and cgroup are known, and at the first decision after each change; other
 * decisions only compare two generations. Data that was given to subflows stays there: a new
 * scheduler decides only on the data that is left.
 *
 * Where the table says nothing, connections don't even compare generations (@rules of struct
 * pams_conn). The first table that says something has a kick set that in the connections that
 * are there.
 *
 * Readers use RCU. A rule holds a reference on its cgroup: a cgroup that was removed keeps
 * its memory, and fits no new socket, until the table is replaced.
 */
#include <linux/slab.h>
#include <net/sock.h>

#include "pams.h"

/**
 * pams_rules_alloc - make a table
 * @nr: number of rules, at most MPTCP_PAMS_RULES_MAX
 *
 * Return: the table, whose rules have to be filled in; NULL if there is no memory.
 */
struct pams_rule_table *pams_rules_alloc(unsigned int nr)
{
	struct pams_rule_table *table;

	table = kvzalloc(struct_size(table, rule, nr), GFP_KERNEL_ACCOUNT);
	if (table)
		table->nr = nr;
	return table;
}

/**
 * pams_rules_free - free a table that nobody uses
 * @table: the table, which may be filled in only in part; or NULL
 */
void pams_rules_free(struct pams_rule_table *table)
{
	unsigned int i;

	for (i = 0; table && i < table->nr; i++) {
		if (table->rule[i].cgroup)
			cgroup_put(table->rule[i].cgroup);
		kfree(table->rule[i].path);
	}
	kvfree(table);
}

/**
 * pams_rules_locked - the table, for callers that hold the lock
 * @rules: the namespace's rules
 */
struct pams_rule_table *pams_rules_locked(const struct pams_rules *rules)
{
	return rcu_dereference_protected(rules->table, lockdep_is_held(&rules->lock));
}

/**
 * pams_rules_replace - have connections follow another table
 * @rules:	the namespace's rules
 * @table:	the new table; freed if it isn't used
 * @generation:	use the new table only if the rules still have this generation; NULL: always
 *
 * Return: -EBUSY if the rules have another generation. 1 if the new table says something and the
 * one before said nothing: pams_watch_join() has to follow. 0 otherwise.
 */
int pams_rules_replace(struct pams_rules *rules, struct pams_rule_table *table,
		       const u32 *generation)
{
	bool taken, any, first = false;

	mutex_lock(&rules->lock);
	taken = !generation || *generation == rules->generation;
	if (taken) {
		first = !rules->any;
		any = table->nr || table->otherwise.sched || table->otherwise.overflow.said;
		WRITE_ONCE(rules->any, any);
		first &= any;
		table = rcu_replace_pointer(rules->table, table,
					    lockdep_is_held(&rules->lock));
		/* pairs with pams_rules_follow(): who sees the generation sees the table */
		smp_store_release(&rules->generation, rules->generation + 1 ?: 1);
	}
	mutex_unlock(&rules->lock);

	if (taken)
		synchronize_rcu();
	pams_rules_free(table);
	return taken ? first : -EBUSY;
}

static bool fits_cgroup(const struct pams_rule *rule, struct sock *sk)
{
#ifdef CONFIG_SOCK_CGROUP_DATA
	return !rule->cgroup ||
	       cgroup_is_descendant(sock_cgroup_ptr(&sk->sk_cgrp_data), rule->cgroup);
#else
	return !rule->cgroup;
#endif
}

static bool fits_remote(const struct pams_rule *rule, const struct sock *sk)
{
	struct in6_addr remote;

	if (!rule->has_remote)
		return true;
	peek_peer(sk, &remote);
	/* an IPv6 prefix is for IPv6 alone, though ::/0 holds the mapped addresses */
	if (ipv6_addr_v4mapped(&remote) && rule->prefix_len < 96)
		return false;
	return ipv6_prefix_equal(&remote, &rule->remote, rule->prefix_len);
}

static bool fits_ports(const struct pams_rule *rule, const struct sock *sk)
{
	u16 local = sk->sk_num, remote = ntohs(sk->sk_dport);

	return local >= rule->local_min && local <= rule->local_max &&
	       remote >= rule->remote_min && remote <= rule->remote_max;
}

static bool rule_fits(const struct pams_rule *rule, const struct pams_conn *conn)
{
	struct sock *sk = (struct sock *)conn->msk;

	return (rule->side == PAMS_RULE_BOTH ||
		(rule->side == PAMS_RULE_SERVER) == msk_is_server(conn->msk)) &&
	       fits_ports(rule, sk) &&
	       !((READ_ONCE(sk->sk_mark) ^ rule->mark) & rule->mask) &&
	       (!uid_valid(rule->uid) || uid_eq(READ_ONCE(sk->sk_uid), rule->uid)) &&
	       fits_remote(rule, sk) && fits_cgroup(rule, sk);
}

static void conn_choose(struct pams_conn *conn, const struct pams_choice *choice)
{
	unsigned int i;

	conn->first_bytes = choice->first_bytes;
	conn->overflow = choice->overflow;
	if (conn->sched == choice->sched)
		return;

	WRITE_ONCE(conn->sched, choice->sched);
	conn->copies = !!choice->sched->copy;
	/* the former scheduler's state and PADs mean nothing to the new one */
	conn->state = (struct pick_state){};
	if (conn->copies)
		conn->state.copied = msk_snd_nxt(conn->msk);
	conn->deferring = false;
	for (i = 0; i < conn->nr; i++) {
		conn->sub[i]->pad_of_bytes = 0;
		conn->sub[i]->model.due_us = 0;
	}
}

/* It has no functions: each connection uses those of the scheduler that the rules choose. Sockets
 * with another scheduler of the module follow rules as well; this one is for them alone.
 */
const struct pams_sched pams_sched_rules = {
	.name		= "rules",
	.text		= "for each connection the one that the rules name",
};

/**
 * pams_rules_follow - choose the scheduler of a connection, if rules do and were changed
 * @conn:	the connection, owned or with its data lock held
 * @of_socket:	the scheduler that its socket has
 *
 * If neither a rule nor the table's default names a scheduler, the connection gets that of its
 * socket, and minfct where that is rules.
 */
void pams_rules_follow(struct pams_conn *conn, const struct pams_sched *of_socket)
{
	struct pams_rules *rules = &conn->net->rules;
	struct pams_choice choice = {};
	const struct pams_rule_table *table;
	unsigned int i;

	if (!conn->rules || conn->rules_generation == READ_ONCE(rules->generation))
		return;
	/* pairs with pams_rules_replace() */
	conn->rules_generation = smp_load_acquire(&rules->generation);
	conn->rule = 0;
	rcu_read_lock();
	table = rcu_dereference(rules->table);
	if (table)
		choice = table->otherwise;
	choice.sched = choice.sched ?: of_socket->pick ? of_socket : &pams_sched_minfct;
	for (i = 0; table && i < table->nr; i++) {
		if (rule_fits(&table->rule[i], conn)) {
			conn->rule = i + 1;
			choice = table->rule[i].choice;
			break;
		}
	}
	rcu_read_unlock();
	conn_choose(conn, &choice);
}

void pams_rules_init(struct pams_rules *rules)
{
	mutex_init(&rules->lock);
	rules->generation = 1;
}

/* Called when no socket of the namespace is left. */
void pams_rules_exit(struct pams_rules *rules)
{
	pams_rules_free(rcu_dereference_protected(rules->table, true));
	mutex_destroy(&rules->lock);
}
