/* SPDX-License-Identifier: GPL-2.0 */
/* What a scheduler sees of a connection, and the choices it can make.
 *
 * Plain numbers only: snapshot.c fills a view from the live sockets, the
 * sched_*.c files choose from it, glue.c carries the choice out. Nothing here
 * knows a socket, so every scheduler can be tested on numbers alone.
 */
#ifndef _MPTCP_PAMS_PICK_H
#define _MPTCP_PAMS_PICK_H

#include <linux/limits.h>
#include <linux/types.h>

#include "flow.h"

/* The kernel's path manager opens at most 1 + 8 subflows; one from user space
 * may open more. Usable subflows beyond this number carry no new data.
 */
#define PAMS_SUBFLOWS_MAX	16

/* what a choice looks ahead by where fragments are cut: a packet */
#define PICK_PACKET_BYTES	1500U

/* a choice that is no index: nothing has room; or wait for a faster one */
#define PAMS_PICK_NONE		(-1)
#define PAMS_PICK_DEFER		(-2)

/**
 * struct pams_subflow_view - one usable subflow at the moment of a decision
 * @pad_ns:	PAD of the next fragment on this subflow
 * @rate_byteps:	Th, bytes per second; min(Thhs, Thp) through a helper
 * @srtt_us:	smoothed round-trip time
 * @owd_us:	one-way delay, queueing included
 * @queued_bytes: Bs, what has to wait for the window, the next fragment included
 * @room_bytes:	what may be handed over before the window is full
 * @once_bytes: of what is outstanding, what wasn't sent again elsewhere; when
 *		asked what is late
 * @id:		the connection's subflow_id
 * @idle:	the window has room (MPBond: "idle"); otherwise it is busy
 * @in_flight:	data of ours is unacknowledged and TCP isn't in RTO recovery,
 *		so an acknowledgment, and with it another decision, is expected
 * @outstanding: data of ours is unacknowledged, or was handed over and not sent (the
 *		host's own queue may refuse it), whatever TCP's state
 * @stopped:	its path is lost, or will be before anything arrives; never idle
 *		then, unless every other is stopped too
 * @piped:	@pad_ns is that of a path through a helper
 */
struct pams_subflow_view {
	u64 pad_ns;
	u64 rate_byteps;
	u32 srtt_us;
	u32 owd_us;
	u32 queued_bytes;
	u32 room_bytes;
	u32 once_bytes;
	u32 id;
	bool idle;
	bool in_flight;
	bool outstanding;
	bool stopped;
	bool piped;
};

/**
 * struct pams_view - a connection at the moment of a decision
 * @unscheduled_bytes:	bytes in the meta buffer given to no subflow yet;
 *			U64_MAX when the application waits for buffer space
 * @nr:			subflows in @sub
 * @sub:		usable subflows in the connection's order; backups are
 *			here only if nothing else is usable
 * @flow:		subflows as flow.c sees them, in the order of @sub; NULL
 *			for schedulers that don't ask for it. @pad_ns is their
 *			arrival of the next fragment then
 * @buffer_bytes:	what faster subflows may be ahead by: of the send buffer two
 *			thirds, of the receive window half, the lesser; with @flow
 * @sent_bytes:		what the connection has sent so far; with @flow
 */
struct pams_view {
	u64 unscheduled_bytes;
	unsigned int nr;
	struct pams_subflow_view sub[PAMS_SUBFLOWS_MAX];
	const struct pams_flow *flow;
	u64 buffer_bytes;
	u64 sent_bytes;
};

/* The idle subflow with the lowest PAD, the first of equals. */
static inline int pams_lowest_pad(const struct pams_view *view)
{
	int lowest = PAMS_PICK_NONE;
	u64 lowest_ns = U64_MAX;
	unsigned int i;

	for (i = 0; i < view->nr; i++) {
		if (view->sub[i].idle && view->sub[i].pad_ns < lowest_ns) {
			lowest_ns = view->sub[i].pad_ns;
			lowest = i;
		}
	}

	return lowest;
}

/* Each returns an index into @sub, PAMS_PICK_NONE or PAMS_PICK_DEFER. */
int pams_pick_minrtt(const struct pams_view *view, u32 *bytes);
int pams_pick_minpad(const struct pams_view *view, u32 *bytes);
int pams_pick_pams(const struct pams_view *view, u32 *bytes);
/* And how many bytes at most are to be handed over, if it says so. */
int pams_pick_minfct(const struct pams_view *view, u32 *bytes);

int pams_late_minfct(const struct pams_view *view);

#endif /* _MPTCP_PAMS_PICK_H */
