/* SPDX-License-Identifier: GPL-2.0 */
/* What a scheduler sees of a connection, and the choices it can make.
 *
 * Plain numbers only: look.c fills a view from the live sockets, the sched_*.c
 * files choose from it, sched.c carries the choice out. Nothing here knows a
 * socket, so every scheduler can be tested on numbers alone.
 */
#ifndef _MPTCP_PAMS_PICK_H
#define _MPTCP_PAMS_PICK_H

#include <linux/limits.h>
#include <linux/types.h>

#include "model.h"

/* The kernel's path manager opens at most 1 + 8 subflows; one from user space
 * may open more. Usable subflows beyond this number carry no new data.
 */
#define PAMS_SUBFLOWS_MAX	16
/* paths that are expected to join; see memory.c */
#define PAMS_EXPECTED_MAX	2

/* what a choice looks ahead by where fragments are cut: a packet */
#define PICK_PACKET_BYTES	1500U

/* a choice that is no index: nothing has room; or wait for a faster one */
#define PAMS_PICK_NONE		(-1)
#define PAMS_PICK_DEFER		(-2)

/**
 * struct pick_state - what is remembered of a connection between decisions; 0 at first
 * @lead:	id of the subflow that was given new data last; sched.c writes it
 * @other:	of single, the subflow that may become the better one; of redundant, the
 *		one that copies go to; 0: none
 * @since_ms:	of single, since when @other is better
 * @copied:	of redundant, low half of the data sequence number up to which everything
 *		was sent on two subflows; resend.c moves it on
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
 *			U64_MAX when the application waits for buffer space
 * @left_bytes:		what has to arrive together: the rest of the application's unit
 *			(unit.h), or without one the same
 * @buffer_bytes:	what faster subflows may be ahead by: of the send buffer two
 *			thirds, of the receive window half, the lesser
 * @sent_bytes:		what the connection has sent so far
 * @first_bytes:	what is to be sent on two subflows: the connection's first bytes;
 *			U64_MAX: all, 0: none
 * @snd_nxt:		low half of the data sequence number behind what was sent,
 * @snd_una:		and of the first byte that isn't acknowledged
 * @now_ms:		a clock
 * @state:		the scheduler's own, which it may write
 * @fragment_bytes:	what is handed over next: the rest of a fragment, or a packet
 *			of it where the scheduler cuts fragments
 * @nr:			usable subflows in @sub
 * @nr_expected:	subflows that are expected to join, behind those in @sub
 * @sub:		usable subflows in the connection's order; backups are
 *			here only if nothing else is usable
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
	struct pick_state *state;
	unsigned int nr;
	unsigned int nr_expected;
	struct pams_model *sub[PAMS_SUBFLOWS_MAX + PAMS_EXPECTED_MAX];
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

/* Where the subflow with that id is in @sub, or PAMS_PICK_NONE. */
static inline int pick_index(const struct pams_view *view, u32 id)
{
	unsigned int i;

	for (i = 0; i < view->nr; i++) {
		if (view->sub[i]->id == id)
			return i;
	}
	return PAMS_PICK_NONE;
}

/* Is each other one lost, or spared for what it costs, and this one not? */
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

/* The lowest PAD, but not on that subflow, which has the data already, unless no other one
 * is alive: data of others may be missing before it, which is sent again after it.
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
	PAMS_DETAIL_ARRIVAL,	/* the arrival by model.c, also of paths expected to join */
};

/**
 * struct pams_sched - a scheduler: how it chooses, and what it wants of the files that
 *	look, watch and send again for all of them
 * @name:	as net.mptcp.scheduler has it
 * @pick:	chooses the subflow that is given new data. Returns its index in the view,
 *		PAMS_PICK_NONE or PAMS_PICK_DEFER, and may lower @bytes, the most that is
 *		handed over. NULL: the rules choose another scheduler (rules.c)
 * @late:	chooses the subflow whose unacknowledged data is sent again on another one.
 *		Returns its index or PAMS_PICK_NONE, and in @bytes the most that is sent
 *		again. @eta_percent is the sysctl reinject_eta_percent. NULL: late data is
 *		not sent again
 * @copy:	chooses the subflow that is given a copy of what another one was given, from
 *		@state's @copied on. Returns its index or PAMS_PICK_NONE, and in @bytes the
 *		most that is copied. NULL: nothing is copied
 * @detail:	what the models' @pad_ns has to hold
 * @window_shift: 2^-n of the receive window stays free while there are several
 *		subflows; 0: as look.c has it
 * @cuts:	less than a data fragment may be handed over
 * @keeps_to_window: nothing is handed over ahead of a window that no acknowledgment
 *		has opened yet
 * @closely:	a tail is looked at every millisecond, not every 10 ms (watch.c)
 * @watches:	the connection is watched for subflows that go silent (watch.c)
 * @owns_retransmission: @late decides what is late, so the kernel's own retransmission
 *		waits until the first missing byte is overdue
 */
struct pams_sched {
	const char *name;
	int (*pick)(const struct pams_view *view, u32 *bytes);
	int (*late)(const struct pams_view *view, u32 eta_percent, u64 *bytes);
	int (*copy)(const struct pams_view *view, u32 *bytes);
	enum pams_detail detail;
	u8 window_shift;
	bool cuts;
	bool keeps_to_window;
	bool closely;
	bool watches;
	bool owns_retransmission;
};

/* each at the end of its sched_*.c */
extern const struct pams_sched pams_sched_minrtt;
extern const struct pams_sched pams_sched_minpad;
extern const struct pams_sched pams_sched_pams;
extern const struct pams_sched pams_sched_minfct;
extern const struct pams_sched pams_sched_single;
extern const struct pams_sched pams_sched_redundant;

#endif /* _MPTCP_PAMS_PICK_H */
