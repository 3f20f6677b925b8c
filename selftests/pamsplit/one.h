/* SPDX-License-Identifier: GPL-2.0 */
/*
 * one - one core, a room for its packets, and its time
 */
#ifndef PAMSPLIT_ONE_H
#define PAMSPLIT_ONE_H

#include "make.h"
#include "split.h"

#define ISN		1000	/* of both ends */
#define WINDOW		500	/* as it is in the packets */
#define PAYLOAD		512	/* 4 of the client's window */

static struct split *split;
static uint64_t now_us;
static uint8_t data[70000];

/* What lies in data, as a burst of its own; 10 ms pass. */
static inline enum split_verdict give(size_t len)
{
	enum split_verdict verdict;

	packet_seal(data, len);
	verdict = split_packet(split, now_us, data, len);
	split_flush(split, now_us);
	now_us += 10000;
	return verdict;
}

/* That long passes, with its timers. */
static inline void pass(uint64_t us)
{
	uint64_t until_us = now_us + us;

	while (split_next_us(split) <= until_us) {
		if (split_next_us(split) > now_us)
			now_us = split_next_us(split);
		split_timers(split, now_us);
	}
	now_us = until_us;
}

#endif /* PAMSPLIT_ONE_H */
