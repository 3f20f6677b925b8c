/* SPDX-License-Identifier: GPL-2.0 */
/* Tracepoints: a report, a PAD, a decision, a deferral, a stop. Connections are
 * named by MPTCP's local token, as ss -M shows it, subflows by the
 * connection's number for them.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM mptcp_pams

#if !defined(_TRACE_MPTCP_PAMS_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_MPTCP_PAMS_H

#include <linux/tracepoint.h>

/* A report that was accepted. Its key names a subflow (kind 0, number is the connection's token),
 * a peer's address (1) or an interface (2, number is its index). address is IPv6, or IPv4 as
 * mapped into IPv6; loss_in_ns is the loss time from now on, 0 if the report has none.
 */
TRACE_EVENT(mptcp_pams_report,
	TP_PROTO(const struct pams_path_key *key,
		 const struct pams_report *report, s64 loss_in_ns),
	TP_ARGS(key, report, loss_in_ns),
	TP_STRUCT__entry(
		__array(u8, address, 16)
		__field(u8, prefix_len)
		__field(u8, kind)
		__field(u16, port)
		__field(u32, number)
		__field(u64, pipe_rate_byteps)
		__field(u32, pipe_backlog_bytes)
		__field(u32, pipe_delay_us)
		__field(s64, loss_in_ns)
	),
	TP_fast_assign(
		memcpy(__entry->address, &key->address, 16);
		__entry->prefix_len = key->prefix_len;
		__entry->kind = key->kind;
		__entry->port = be16_to_cpu(key->port);
		__entry->number = key->number;
		__entry->pipe_rate_byteps = report->pipe.rate_byteps;
		__entry->pipe_backlog_bytes = report->pipe.backlog_bytes;
		__entry->pipe_delay_us = report->pipe.delay_us;
		__entry->loss_in_ns = loss_in_ns;
	),
	TP_printk("kind=%u address=%pI6c/%u port=%u number=%u pipe_rate_byteps=%llu pipe_backlog_bytes=%u pipe_delay_us=%u loss_in_ns=%lld",
		  __entry->kind, __entry->address, __entry->prefix_len,
		  __entry->port, __entry->number, __entry->pipe_rate_byteps,
		  __entry->pipe_backlog_bytes, __entry->pipe_delay_us,
		  __entry->loss_in_ns)
);

/* A candidate of a decision, with the numbers that the decision is made from: rate_byteps is the
 * smoothed cwnd/RTT, at most the pipe's rate; queued_bytes were handed over and not sent, or lost
 * and not sent again.
 */
TRACE_EVENT(mptcp_pams_pad,
	TP_PROTO(u32 token, const struct pams_model *sub),
	TP_ARGS(token, sub),
	TP_STRUCT__entry(
		__field(u32, token)
		__field(u32, subflow)
		__field(u64, pad_ns)
		__field(u64, rate_byteps)
		__field(u32, srtt_us)
		__field(u32, owd_us)
		__field(u32, queued_bytes)
		__field(u32, room_bytes)
		__field(bool, idle)
		__field(bool, stopped)
		__field(bool, piped)
	),
	TP_fast_assign(
		__entry->token = token;
		__entry->subflow = sub->id;
		__entry->pad_ns = sub->pad_ns;
		__entry->rate_byteps = sub->th_byteps;
		__entry->srtt_us = sub->srtt_us;
		__entry->owd_us = sub->owd_us;
		__entry->queued_bytes = sub->backlog_bytes;
		__entry->room_bytes = sub->room_bytes;
		__entry->idle = sub->idle;
		__entry->stopped = sub->stopped;
		__entry->piped = sub->pipe_byteps;
	),
	TP_printk("token=%08x subflow=%u pad_ns=%llu rate_byteps=%llu srtt_us=%u owd_us=%u queued_bytes=%u room_bytes=%u%s%s%s",
		  __entry->token, __entry->subflow, __entry->pad_ns,
		  __entry->rate_byteps, __entry->srtt_us, __entry->owd_us,
		  __entry->queued_bytes, __entry->room_bytes,
		  __entry->idle ? " idle" : " busy",
		  __entry->stopped ? " stopped" : "",
		  __entry->piped ? " piped" : "")
);

/* A decision: the number of the chosen subflow, or 0 if nothing is sent now. left_bytes is
 * what no subflow was given yet, or the rest of the application's unit (pick.h); 2^64 - 1 while
 * the application waits for buffer space.
 */
TRACE_EVENT(mptcp_pams_decision,
	TP_PROTO(u32 token, u32 chosen, unsigned int candidates, u64 left_bytes),
	TP_ARGS(token, chosen, candidates, left_bytes),
	TP_STRUCT__entry(
		__field(u32, token)
		__field(u32, chosen)
		__field(u32, candidates)
		__field(u64, left_bytes)
	),
	TP_fast_assign(
		__entry->token = token;
		__entry->chosen = chosen;
		__entry->candidates = candidates;
		__entry->left_bytes = left_bytes;
	),
	TP_printk("token=%08x chosen=%u candidates=%u left_bytes=%llu",
		  __entry->token, __entry->chosen, __entry->candidates,
		  __entry->left_bytes)
);

/* A decision to wait. target is the subflow that the data would have gone to, wait_ns its
 * PAD, which bounds the wait.
 */
TRACE_EVENT(mptcp_pams_deferral,
	TP_PROTO(u32 token, u32 target, u64 wait_ns, u64 left_bytes),
	TP_ARGS(token, target, wait_ns, left_bytes),
	TP_STRUCT__entry(
		__field(u32, token)
		__field(u32, target)
		__field(u64, wait_ns)
		__field(u64, left_bytes)
	),
	TP_fast_assign(
		__entry->token = token;
		__entry->target = target;
		__entry->wait_ns = wait_ns;
		__entry->left_bytes = left_bytes;
	),
	TP_printk("token=%08x target=%u wait_ns=%llu left_bytes=%llu",
		  __entry->token, __entry->target, __entry->wait_ns,
		  __entry->left_bytes)
);

/* A subflow is given nothing more: its path is lost loss_in_ns from now, or it is silent
 * (then loss_in_ns is minus the time since boot).
 */
TRACE_EVENT(mptcp_pams_stop,
	TP_PROTO(u32 token, u32 subflow, s64 loss_in_ns, u64 pad_ns),
	TP_ARGS(token, subflow, loss_in_ns, pad_ns),
	TP_STRUCT__entry(
		__field(u32, token)
		__field(u32, subflow)
		__field(s64, loss_in_ns)
		__field(u64, pad_ns)
	),
	TP_fast_assign(
		__entry->token = token;
		__entry->subflow = subflow;
		__entry->loss_in_ns = loss_in_ns;
		__entry->pad_ns = pad_ns;
	),
	TP_printk("token=%08x subflow=%u loss_in_ns=%lld pad_ns=%llu",
		  __entry->token, __entry->subflow, __entry->loss_in_ns,
		  __entry->pad_ns)
);

#endif /* _TRACE_MPTCP_PAMS_H */

#include <trace/define_trace.h>
