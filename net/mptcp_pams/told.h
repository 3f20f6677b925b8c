/* SPDX-License-Identifier: GPL-2.0 */
/* A report of a path: the path's key, and what was reported. path.c stores reports, report.c
 * puts them into the models, and tell.c tells listeners when they have expired.
 */
#ifndef _MPTCP_PAMS_TOLD_H
#define _MPTCP_PAMS_TOLD_H

#include <linux/in6.h>
#include <linux/types.h>

/* The kinds of keys, the most specific one first. */
enum pams_path_kind {
	PAMS_PATH_SUBFLOW,
	PAMS_PATH_ADDRESS,
	PAMS_PATH_INTERFACE,
};

/**
 * struct pams_path_key - key of a path; all bytes are hashed, so there is no padding
 * @address:	prefix of the peer's address; IPv4 as mapped into IPv6
 * @number:	token of a connection, or index of an interface
 * @port:	port of the peer, 0 for any
 * @prefix_len:	bits of @address that count
 * @kind:	enum pams_path_kind, which says what fields are used; others are 0
 * @local_id:	MPTCP's id of the subflow's local address
 * @remote_id:	MPTCP's id of its remote address
 * @zero:	0, in place of padding
 */
struct pams_path_key {
	struct in6_addr address;
	u32 number;
	__be16 port;
	u8 prefix_len;
	u8 kind;
	u8 local_id;
	u8 remote_id;
	u16 zero;
};

/* The expiry time of a report that holds until it is replaced or deleted. */
#define PAMS_NEVER_NS	U64_MAX

/**
 * struct pams_report - what was reported of a path; times are of ktime_get_boottime_ns(),
 *	which goes on while the machine is suspended
 * @pipe_rate_byteps:	throughput of the pipe, 0 if no pipe was reported
 * @hs_rate_byteps:	throughput of the HS-path, from server to helper; 0: take TCP's
 * @pipe_ns:		when the pipe was reported
 * @pipe_expires_ns:	when the report of the pipe expires
 * @loss_ns:		when the path will be lost, 0 if no loss time was reported
 * @loss_expires_ns:	when the loss time expires
 * @cost_expires_ns:	when @cost expires, 0 if no cost was reported
 * @pipe_backlog_bytes:	bytes that waited before the pipe at @pipe_ns
 * @pipe_delay_us:	one-way delay of the pipe, if @split
 * @loss_spread_ms:	standard deviation of @loss_ns
 * @split:		the helper ends TCP, so TCP's round trips end at the helper
 * @cost:		cost of using the path; 0: none
 */
struct pams_report {
	u64 pipe_rate_byteps;
	u64 hs_rate_byteps;
	u64 pipe_ns;
	u64 pipe_expires_ns;
	u64 loss_ns;
	u64 loss_expires_ns;
	u64 cost_expires_ns;
	u32 pipe_backlog_bytes;
	u32 pipe_delay_us;
	u32 loss_spread_ms;
	bool split;
	u8 cost;
};

static inline bool pams_report_has_pipe(const struct pams_report *report,
					u64 now_ns)
{
	return report->pipe_rate_byteps && now_ns < report->pipe_expires_ns;
}

static inline bool pams_report_has_loss(const struct pams_report *report,
					u64 now_ns)
{
	return report->loss_ns && now_ns < report->loss_expires_ns;
}

static inline bool pams_report_has_cost(const struct pams_report *report,
					u64 now_ns)
{
	return now_ns < report->cost_expires_ns;
}

#endif /* _MPTCP_PAMS_TOLD_H */
