/* SPDX-License-Identifier: GPL-2.0 */
/* Which connection has which scheduler, by the administrator's rules; see rules.c. */
#ifndef _MPTCP_PAMS_RULES_H
#define _MPTCP_PAMS_RULES_H

#include <linux/cgroup.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/types.h>
#include <linux/uidgid.h>
#include <net/ipv6.h>

#include "cost.h"

/* Sockets know their cgroup. */
#ifdef CONFIG_SOCK_CGROUP_DATA
#define PAMS_HAVE_CGROUPS	1
#else
#define PAMS_HAVE_CGROUPS	0
#endif

struct pams_conn;
struct pams_net;
struct pams_sched;

enum pams_rule_side {
	PAMS_RULE_BOTH,
	PAMS_RULE_CLIENT,
	PAMS_RULE_SERVER,
};

/**
 * struct pams_choice - a scheduler and its parameters
 * @sched:	the scheduler
 * @first_bytes: of redundant, how much of a connection is sent twice; 0: as the sysctl
 *		says
 * @overflow:	what costlier paths are used for
 */
struct pams_choice {
	const struct pams_sched *sched;
	u32 first_bytes;
	struct cost_overflow overflow;
};

/**
 * struct pams_rule - which connections it fits, and what these get
 * @choice:	what they get
 * @cgroup:	of the socket or above, with a reference; NULL: any
 * @path:	its path as it was given
 * @remote:	the peer's address, the bits of the prefix; IPv4 as mapped into IPv6
 * @prefix_len:	bits of @remote that count; 0: any address
 * @mark:	of the socket,
 * @mask:	bits of it that count
 * @uid:	of the socket, unless that is invalid
 * @local_min:	lowest local port
 * @local_max:	highest
 * @remote_min:	lowest port of the peer
 * @remote_max:	highest
 * @side:	enum pams_rule_side
 */
struct pams_rule {
	struct pams_choice choice;
	struct cgroup *cgroup;
	char *path;
	struct in6_addr remote;
	u32 mark;
	u32 mask;
	kuid_t uid;
	u16 local_min;
	u16 local_max;
	u16 remote_min;
	u16 remote_max;
	u8 prefix_len;
	u8 side;
};

/**
 * struct pams_rule_table - never changed while in use: a new one replaces it
 * @otherwise:	what a connection gets that no rule fits; sched NULL: the module's choice
 * @nr:		rules
 * @rule:	in their order
 */
struct pams_rule_table {
	struct pams_choice otherwise;
	unsigned int nr;
	struct pams_rule rule[] __counted_by(nr);
};

/**
 * struct pams_rules - the rules of a namespace
 * @table:	NULL: none was ever set; read under RCU
 * @generation:	another one with each table; never 0
 * @lock:	for writers, and whoever reads without RCU
 */
struct pams_rules {
	struct pams_rule_table __rcu *table;
	u32 generation;
	struct mutex lock;	/* for writers */
};

struct pams_rule_table *pams_rules_alloc(unsigned int nr);
void pams_rules_free(struct pams_rule_table *table);
struct pams_rule_table *pams_rules_locked(const struct pams_rules *rules);
bool pams_rules_replace(struct pams_rules *rules, struct pams_rule_table *table,
			const u32 *generation);
void pams_rules_resolve(struct pams_conn *conn, const struct pams_sched *otherwise);
void pams_rules_init(struct pams_rules *rules);
void pams_rules_exit(struct pams_rules *rules);

#endif /* _MPTCP_PAMS_RULES_H */
