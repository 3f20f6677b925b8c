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

/* the size of a packet in the schedulers' computations */
#define PICK_PACKET_BYTES	1500U
/* about what the kernel hands over in one burst, two of its fragments */
#define PICK_BURST_BYTES	(64 * 1024)

/* PAMS: at most what the application wrote, divided by this, is sent again for being late */
#define PICK_LATE_SHARE		10

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

/* Has a subflow other than @but room? */
static inline bool pick_any_idle_but(const struct pams_view *view, int but)
{
	int i;

	for (i = 0; i < (int)view->nr; i++) {
		if (i != but && view->sub[i]->idle)
			return true;
	}
	return false;
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
	PAMS_DETAIL_PAD,	/* the PAD (model.c) */
	PAMS_DETAIL_ARRIVAL,	/* the arrival (model.c) */
};

/**
 * struct pams_sched - a scheduler: how it chooses, and what it asks of the files that look at
 *	connections, watch them and send data again for all schedulers
 * @name:	as scheds.h and net.mptcp.scheduler have it
 * @text:	what it does, in one line for people (sched-get)
 * @pick:	chooses, as scheduler @sched, the subflow that is given new data. Returns its
 *		index in the view, PAMS_PICK_NONE or PAMS_PICK_DEFER, and may lower @bytes, the
 *		most that is handed over. NULL: the rules choose another scheduler (rules.c)
 * @late:	chooses the subflow whose unacknowledged data is sent again on another one.
 *		Returns its index or PAMS_PICK_NONE, and in @bytes the most that is sent
 *		again. @eta_percent is the sysctl reinject_eta_percent. May be NULL if
 *		@late_share is 0
 * @late_share:	late data that is sent again is at most what the application wrote, divided
 *		by this; 0: no late data is sent again. May change at any time
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
 * @overdue:	told of each wait that is ended since it gains nothing any more. May be NULL
 * @tell:	writes one line for people that says more than @text. May be NULL
 */
struct pams_sched {
	const char *name;
	const char *text;
	int (*pick)(const struct pams_sched *sched, const struct pams_view *view, u32 *bytes);
	int (*late)(const struct pams_sched *sched, const struct pams_view *view,
		    u32 eta_percent, u64 *bytes);
	int (*copy)(const struct pams_view *view, u32 *bytes);
	enum pams_detail detail;
	u8 late_share;
	u8 window_shift;
	bool cuts;
	bool keeps_to_window;
	bool closely;
	bool watches;
	bool owns_retransmission;
	void (*overdue)(const struct pams_sched *sched);
	void (*tell)(const struct pams_sched *sched, char *text, size_t size);
};

PAMS_SCHEDS(PAMS_SCHED_DECLARE)

#endif /* _MPTCP_PAMS_PICK_H */
