/* SPDX-License-Identifier: GPL-2.0 */
/* The module's schedulers, each once, in the order in which they are shown.
 *
 * X(name) has the name that net.mptcp.scheduler and rules use. pams_sched_<name>, at the end of
 * sched_<name>.c, says what the scheduler does; that of rules is in rules.c.
 *
 * The module registers these and lists them over netlink (sched-get). pamsctl has the names
 * built in for when no module answers; tools/scheds gives them to scripts, packages, manual pages
 * and the laboratory.
 */
#ifndef _MPTCP_PAMS_SCHEDS_H
#define _MPTCP_PAMS_SCHEDS_H

/* These aim at the shortest time until data has arrived. */
#define PAMS_SCHEDS_TIME(X)	\
	X(minrtt)		\
	X(minpad)		\
	X(pams)			\
	X(minfct)

/* These keep to a policy. */
#define PAMS_SCHEDS_POLICY(X)	\
	X(single)		\
	X(redundant)		\
	X(rules)

#define PAMS_SCHEDS(X)	PAMS_SCHEDS_TIME(X) PAMS_SCHEDS_POLICY(X)

#define PAMS_SCHED_DECLARE(_name)	extern const struct pams_sched pams_sched_##_name;
#define PAMS_SCHED_WORD(_name)		" " #_name
#define PAMS_SCHED_STRING(_name)	#_name,

#endif /* _MPTCP_PAMS_SCHEDS_H */
