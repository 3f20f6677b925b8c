/* SPDX-License-Identifier: GPL-2.0 */
/* The administrator's rules, which choose a connection's scheduler; see rules.c. */
#ifndef _MPTCP_PAMS_RULES_H
#define _MPTCP_PAMS_RULES_H

#include <linux/cgroup.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/types.h>
#include <linux/uidgid.h>
#include <net/ipv6.h>

#include "cost.h"

/* Does a socket know its cgroup? */
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
 * @first_bytes: how many first bytes of a connection redundant sends twice; 0: as the
 *		sysctl says
 * @overflow:	what costlier paths are used for
 */
struct pams_choice {
	const struct pams_sched *sched;
	u32 first_bytes;
	struct cost_overflow overflow;
};

/**
 * struct pams_rule - which connections a rule fits, and what scheduler they get
 * @choice:	the scheduler, and its parameters
 * @cgroup:	the socket's cgroup, or one above it; holds a reference; NULL: any
 * @path:	path of @cgroup as it was given
 * @remote:	prefix of the peer's address; IPv4 as mapped into IPv6
 * @prefix_len:	bits of @remote that count
 * @mark:	the socket's mark
 * @mask:	bits of @mark that count; 0: any mark
 * @uid:	the socket's owner; invalid: any
 * @local_min:	lowest local port
 * @local_max:	highest local port
 * @remote_min:	lowest port of the peer
 * @remote_max:	highest port of the peer
 * @side:	enum pams_rule_side
 * @has_remote:	the peer's address counts
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
	bool has_remote;
};

/**
 * struct pams_rule_table - a table of rules; never changed while in use, but replaced
 * @otherwise:	choice for connections that no rule fits; sched NULL: the module's default
 * @nr:		number of rules
 * @rule:	the rules; the first one that fits counts
 */
struct pams_rule_table {
	struct pams_choice otherwise;
	unsigned int nr;
	struct pams_rule rule[] __counted_by(nr);
};

/**
 * struct pams_rules - the rules of a namespace
 * @table:	the table, read under RCU; NULL if none was ever set
 * @generation:	changes with each new table; never 0
 * @any:	the table has a rule or a default, which connections follow
 * @lock:	held by writers, and by readers that don't use RCU
 */
struct pams_rules {
	struct pams_rule_table __rcu *table;
	u32 generation;
	bool any;
	struct mutex lock;	/* writers of all above */
};

struct pams_rule_table *pams_rules_alloc(unsigned int nr);
void pams_rules_free(struct pams_rule_table *table);
struct pams_rule_table *pams_rules_locked(const struct pams_rules *rules);
int pams_rules_replace(struct pams_rules *rules, struct pams_rule_table *table,
		       const u32 *generation);
void pams_rules_follow(struct pams_conn *conn, const struct pams_sched *of_socket);
void pams_rules_init(struct pams_rules *rules);
void pams_rules_exit(struct pams_rules *rules);

#endif /* _MPTCP_PAMS_RULES_H */
