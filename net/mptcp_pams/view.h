/* SPDX-License-Identifier: GPL-2.0 */
/* What a scheduler sees, in plain numbers, and what it answers. The module, the tests on numbers
 * and schedulers in BPF (pams.bpf.h) read this file; it needs nothing but integer types.
 */
#ifndef _MPTCP_PAMS_VIEW_H
#define _MPTCP_PAMS_VIEW_H

#ifndef __bpf__
#include <linux/types.h>
#endif

/* The kernel's path manager opens at most 1 + 8 subflows in 6.12 and up to 1 + 64 in 7.3; one
 * from user space may open more. Usable subflows beyond this number carry no new data.
 */
#define PAMS_SUBFLOWS_MAX	16

/**
 * struct pams_model - one subflow at the moment of a decision
 * @pad_ns:		how long until the next data would arrive, as the scheduler
 *			reckons: PAD, or with minfct model_arrival_us()
 * @th_byteps:		Th, smoothed cwnd/RTT, at most the pipe's rate
 * @id:			the connection's subflow_id
 * @srtt_us:		smoothed round-trip time
 * @owd_us:		one-way delay, queueing included
 * @rtt_us:		m, round-trip time without a queue; never 0
 * @rate_byteps:	R, rate at which data leaves while the window is full, at most
 *			@limit_byteps; never 0
 * @limit_byteps:	C, capacity of the path, or MODEL_RATE_UNKNOWN
 * @proven_byteps:	P, rate that the path is sure to carry; never 0
 * @cwnd_bytes:		congestion window
 * @window_bytes:	W, how much may be under way without queueing
 * @flight_bytes:	F, bytes sent and not acknowledged
 * @backlog_bytes:	B, bytes handed over and not sent, or lost and not sent again
 * @room_bytes:		how much may be handed over now
 * @once_bytes:		bytes held by the subflow or a helper and not sent again elsewhere
 * @due_us:		how long until the first acknowledgment of a burst, before which
 *			nothing beyond the window leaves; or 0
 * @horizon_us:		how long until the path is lost, less the guard; or
 *			MODEL_HORIZON_NONE
 * @pipe_byteps:	capacity of the pipe behind a helper; 0 if no pipe is known
 * @pipe_delay_us:	one-way delay of the pipe, if the helper ends TCP
 * @pipe_backlog_bytes:	bytes that wait before the pipe
 * @cost:		cost of using the path
 * @at_risk:		the path may be lost soon, and the connection is a stream (stream.h)
 * @idle:		the subflow has room (MPBond: "idle"); otherwise it is busy
 * @in_flight:		data is sent and unacknowledged, and TCP isn't in RTO recovery, so
 *			an acknowledgment, and with it another decision, is expected
 * @outstanding:	data was handed over and isn't acknowledged, sent or not (the host's
 *			own queue may refuse it), whatever TCP's state
 * @stopped:		the path is lost, or will be before anything arrives, or is silent,
 *			or is spared for its cost; not idle then, unless every subflow is
 *			stopped
 * @split:		the helper ends TCP, so TCP's round trips end at the helper
 * @growing:		the window doubles each round trip (slow start)
 * @guessed:		@limit_byteps is unknown, and @proven_byteps is a guess from the
 *			first few packets
 * @moving:		an acknowledgment will come, for data that was sent or will be
 * @unanswered:		nothing of a burst is acknowledged yet, or nothing is outstanding
 * @rested:		nothing was sent for so long that what is known of the path may be wrong
 * @repeats:		TCP has lost some of what is outstanding and sends that again behind
 *			what is in flight, so the first bytes held aren't the first to arrive
 * @interface:		for report.c: mark of the interface that packets left through when
 *			reports were last looked up while the subflow had a route; 0: it never
 *			had one
 */
struct pams_model {
	u64 pad_ns;
	u64 th_byteps;
	u32 id;
	u32 srtt_us;
	u32 owd_us;
	u32 rtt_us;
	u32 rate_byteps;
	u32 limit_byteps;
	u32 proven_byteps;
	u32 cwnd_bytes;
	u32 window_bytes;
	u32 flight_bytes;
	u32 backlog_bytes;
	u32 room_bytes;
	u32 once_bytes;
	u32 due_us;
	u32 horizon_us;
	u32 pipe_byteps;
	u32 pipe_delay_us;
	u32 pipe_backlog_bytes;
	u32 cost:7;	/* a bit field, as what follows: BPF reads all of the word */
	u32 at_risk:1;
	u32 idle:1;
	u32 in_flight:1;
	u32 outstanding:1;
	u32 stopped:1;
	u32 split:1;
	u32 growing:1;
	u32 guessed:1;
	u32 moving:1;
	u32 unanswered:1;
	u32 rested:1;
	u32 repeats:1;
	u32 interface:13;
};

/* choices other than an index: no subflow has room; wait for a faster subflow */
#define PAMS_PICK_NONE		(-1)
#define PAMS_PICK_DEFER		(-2)

/**
 * struct pick_state - a scheduler's state of a connection between decisions; 0 at first
 * @lead:	id of the subflow that was given new data last; written by sched.c
 * @other:	single: id of the subflow that is clearly better than the one in use;
 *		redundant: id of the subflow that gets the copies; 0: none
 * @since_ms:	single: since when @other is better, by @now_ms of struct pams_view
 * @copied:	redundant: low half of the data sequence number up to which everything was
 *		sent on two subflows; written by resend.c, too
 * @memory:	of a scheduler in BPF, as in struct pams_answer
 */
struct pick_state {
	u32 lead;
	union {
		struct {
			u32 other;
			union {
				u32 since_ms;
				u32 copied;
			};
		};
		u32 memory[2];
	};
};

/**
 * struct pams_view - a connection at the moment of a decision
 * @unscheduled_bytes:	bytes in the meta buffer given to no subflow yet;
 *			U64_MAX while the application waits for buffer space
 * @left_bytes:		bytes that have to arrive together: the rest of the application's
 *			unit (unit.h), or without a unit @unscheduled_bytes
 * @buffer_bytes:	how far faster subflows may be ahead: two thirds of the send buffer
 *			or half of the receive window, the smaller one
 * @sent_bytes:		bytes that the connection has sent so far
 * @first_bytes:	number of the connection's first bytes that are to be sent on two
 *			subflows; U64_MAX: all, 0: none
 * @snd_nxt:		low half of the next data sequence number to send
 * @snd_una:		low half of the first one that isn't acknowledged
 * @now_ms:		time in milliseconds, wraps
 * @stream:		the application writes no faster than the paths carry, mostly (stream.h)
 * @state:		the scheduler's own state, which it may write
 * @fragment_bytes:	how much is handed over next: the rest of a fragment, or a packet
 *			if the scheduler cuts fragments
 * @nr:			number of usable subflows in @sub
 * @sub:		usable subflows in the connection's order (backups only if no other
 *			subflow is usable)
 */
struct pams_view {
	u64 unscheduled_bytes;
	u64 left_bytes;
	u64 buffer_bytes;
	u64 sent_bytes;
	u64 first_bytes;
	u32 snd_nxt;
	u32 snd_una;
	u32 now_ms;
	u32 fragment_bytes;
	bool stream;
	struct pick_state *state;
	unsigned int nr;
	struct pams_model *sub[PAMS_SUBFLOWS_MAX];
};

/**
 * struct pams_answer - what a scheduler in BPF writes, beside the index that it returns
 * @bytes:	the most that the subflow is given, or that is sent again; as much as possible
 *		at first. A smaller number than a packet's counts as a packet
 * @memory:	what pick wrote here at the connection's last decision; 0 at first. late may
 *		read it; what it writes is lost
 */
struct pams_answer {
	u32 bytes;
	u32 memory[2];
};

#define PAMS_NAME_MAX	16

/**
 * struct pams_sched_ops - a scheduler in BPF; program.c checks what it answers
 * @pick:	chooses the subflow that is given new data: its index in the view,
 *		PAMS_PICK_NONE or PAMS_PICK_DEFER
 * @late:	chooses the subflow whose unacknowledged data is sent again on another one, once
 *		no new data can be sent: its index, or PAMS_PICK_NONE. Nothing is sent again while
 *		no other subflow has room. May be NULL: no late data is sent again
 * @name:	for net.mptcp.scheduler and rules: small letters, digits, '_' and '-'
 */
struct pams_sched_ops {
	int (*pick)(const struct pams_view *view, struct pams_answer *answer);
	int (*late)(const struct pams_view *view, struct pams_answer *answer);
	char name[PAMS_NAME_MAX];
};

#endif /* _MPTCP_PAMS_VIEW_H */
