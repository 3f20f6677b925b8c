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

/* Times are of ktime_get_boottime_ns(), which goes on while the machine is suspended. */

/**
 * struct pams_pipe - what was reported of a pipe
 * @rate_byteps:	throughput of the pipe, 0 if no pipe was reported
 * @hs_rate_byteps:	throughput of the HS-path, from server to helper; 0: take TCP's
 * @ns:			when the pipe was reported
 * @expires_ns:		when the report of the pipe expires
 * @backlog_bytes:	bytes that waited before the pipe at @ns
 * @delay_us:		one-way delay of the pipe, if @split
 * @split:		the helper ends TCP, so TCP's round trips end at the helper
 */
struct pams_pipe {
	u64 rate_byteps;
	u64 hs_rate_byteps;
	u64 ns;
	u64 expires_ns;
	u32 backlog_bytes;
	u32 delay_us;
	bool split;
};

/**
 * struct pams_loss - when a path will be lost
 * @ns:			that time, 0 if none was reported
 * @expires_ns:		when the report expires
 * @spread_ms:		standard deviation of @ns
 */
struct pams_loss {
	u64 ns;
	u64 expires_ns;
	u32 spread_ms;
};

/**
 * struct pams_cost - what using a path costs
 * @expires_ns:		when the report expires, 0 if no cost was reported
 * @level:		the cost; 0: none
 */
struct pams_cost {
	u64 expires_ns;
	u8 level;
};

/**
 * struct pams_report - what was reported of a path; each part is replaced as a whole
 * @pipe:	the pipe behind a helper
 * @loss:	when the path will be lost
 * @cost:	what it costs
 */
struct pams_report {
	struct pams_pipe pipe;
	struct pams_loss loss;
	struct pams_cost cost;
};

static inline bool pams_report_has_pipe(const struct pams_report *report,
					u64 now_ns)
{
	return report->pipe.rate_byteps && now_ns < report->pipe.expires_ns;
}

static inline bool pams_report_has_loss(const struct pams_report *report,
					u64 now_ns)
{
	return report->loss.ns && now_ns < report->loss.expires_ns;
}

static inline bool pams_report_has_cost(const struct pams_report *report,
					u64 now_ns)
{
	return now_ns < report->cost.expires_ns;
}

#endif /* _MPTCP_PAMS_TOLD_H */
