/* SPDX-License-Identifier: GPL-2.0 */
/* What a scheduler sees of a connection, and the choices it can make.
 *
 * Plain numbers only: look.c fills a view from the sockets, the sched_*.c files choose
 * from it, sched.c carries the choice out. Nothing here knows a socket, so every
 * scheduler can be tested on numbers alone.
 */
#ifndef _MPTCP_PAMS_PICK_H
#define _MPTCP_PAMS_PICK_H

#include <linux/limits.h>
#include <linux/types.h>

#include "model.h"
#include "scheds.h"

/* The kernel's path manager opens at most 1 + 8 subflows in 6.12 and up to 1 + 64 in 7.3; one
 * from user space may open more. Usable subflows beyond this number carry no new data.
 */
#define PAMS_SUBFLOWS_MAX	16

/* the size of a packet in the schedulers' computations */
#define PICK_PACKET_BYTES	1500U

/* PAMS: at most what the application wrote, divided by this, is sent again for being late */
#define PICK_LATE_SHARE		10

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
 */
struct pick_state {
	u32 lead;
	u32 other;
	union {
		u32 since_ms;
		u32 copied;
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

/* The idle subflow where the next data arrives first, the first of equals. */
static inline int pams_lowest_pad(const struct pams_view *view)
{
	int lowest = PAMS_PICK_NONE;
	u64 lowest_ns = U64_MAX;
	unsigned int i;

	for (i = 0; i < view->nr; i++) {
		if (view->sub[i]->idle && view->sub[i]->pad_ns < lowest_ns) {
			lowest_ns = view->sub[i]->pad_ns;
			lowest = i;
		}
	}

	return lowest;
}

/* The index in @sub of the subflow with this id, or PAMS_PICK_NONE. */
static inline int pick_index(const struct pams_view *view, u32 id)
{
	unsigned int i;

	for (i = 0; i < view->nr; i++) {
		if (view->sub[i]->id == id)
			return i;
	}
	return PAMS_PICK_NONE;
}

/* Is subflow @i the only one that is neither lost, silent nor spared for its cost? */
static inline bool pick_is_only_alive(const struct pams_view *view, unsigned int i)
{
	unsigned int j;

	if (view->sub[i]->stopped)
		return false;
	for (j = 0; j < view->nr; j++) {
		if (j != i && !view->sub[j]->stopped)
			return false;
	}
	return true;
}

/* The idle subflow with the lowest PAD but for @origin, which was given the data before.
 * @origin is allowed, too, if no other subflow is alive: the data would otherwise stay
 * pending, and keep the data of lost subflows, which is next, from being sent again.
 */
static inline int pams_lowest_pad_but(const struct pams_view *view, u32 origin)
{
	int from = pick_index(view, origin), lowest;
	bool idle;

	if (from < 0 || view->nr == 1 || pick_is_only_alive(view, from))
		return pams_lowest_pad(view);

	idle = view->sub[from]->idle;
	view->sub[from]->idle = false;
	lowest = pams_lowest_pad(view);
	view->sub[from]->idle = idle;
	return lowest;
}

/* What @pad_ns of the models has to hold before a scheduler chooses. */
enum pams_detail {
	PAMS_DETAIL_ROOM,	/* nothing: round-trip times and room are enough */
	PAMS_DETAIL_PAD,	/* the PAD (pad.c) */
	PAMS_DETAIL_ARRIVAL,	/* the arrival by model.c */
};

/**
 * struct pams_sched - a scheduler: how it chooses, and what it asks of the files that look at
 *	connections, watch them and send data again for all schedulers
 * @name:	as scheds.h and net.mptcp.scheduler have it
 * @text:	what it does, in one line for people (sched-get)
 * @pick:	chooses the subflow that is given new data. Returns its index in the view,
 *		PAMS_PICK_NONE or PAMS_PICK_DEFER, and may lower @bytes, the most that is
 *		handed over. NULL: the rules choose another scheduler (rules.c)
 * @late:	chooses the subflow whose unacknowledged data is sent again on another one.
 *		Returns its index or PAMS_PICK_NONE, and in @bytes the most that is sent
 *		again. @eta_percent is the sysctl reinject_eta_percent. May be NULL if
 *		@late_share is 0
 * @late_share:	late data that is sent again is at most what the application wrote, divided
 *		by this; 0: no late data is sent again
 * @copy:	chooses the subflow that is given a copy of what another one was given, from
 *		@state's @copied on. Returns its index or PAMS_PICK_NONE, and in @bytes the
 *		most that is copied. NULL: nothing is copied
 * @detail:	what the models' @pad_ns has to hold
 * @window_shift: 2^-n of the receive window stays free while there are several
 *		subflows; 0: n is look.c's default
 * @cuts:	less than a data fragment may be handed over
 * @keeps_to_window: until a burst's first acknowledgment nothing is handed over beyond the
 *		congestion window
 * @closely:	once hardly any new data can be sent, the timer looks after a quarter of the
 *		least round trip, 1 to 10 ms, not every 10 ms (watch.c)
 * @watches:	the connection is watched for subflows that go silent (alive.c)
 * @owns_retransmission: @late decides what is late, so the kernel's own retransmission
 *		waits until the first missing byte is overdue
 */
struct pams_sched {
	const char *name;
	const char *text;
	int (*pick)(const struct pams_view *view, u32 *bytes);
	int (*late)(const struct pams_view *view, u32 eta_percent, u64 *bytes);
	int (*copy)(const struct pams_view *view, u32 *bytes);
	enum pams_detail detail;
	u8 late_share;
	u8 window_shift;
	bool cuts;
	bool keeps_to_window;
	bool closely;
	bool watches;
	bool owns_retransmission;
};

PAMS_SCHEDS(PAMS_SCHED_DECLARE)

#endif /* _MPTCP_PAMS_PICK_H */
