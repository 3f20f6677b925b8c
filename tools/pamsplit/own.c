// SPDX-License-Identifier: GPL-2.0
/*
 * own - computes what this device's own traffic leaves of its link for clients
 *
 *	own	the rate that the link receives, less the rate that is lent (moving averages)
 *	peak	the highest rate that the link received in the last 10 s
 *
 * Without own traffic clients aren't limited. With own traffic, while the link is full
 * (7/8 of its peak), the clients' rate is halved every 200 ms, down to 1/8 of the peak;
 * while the link isn't full, the clients' rate grows by 1/6 of the peak each second. So
 * own traffic that can use the whole link soon gets it, and clients get what smaller own
 * traffic leaves.
 *
 * While clients are limited the peak is kept, since the rate received then doesn't show
 * what the link can carry. If the link becomes slower meanwhile, own traffic and clients
 * share it as they would without a limit.
 *
 * Rates are in bytes per second. worker.c reads the counters.
 */
#include <string.h>

#include "pamsplit.h"

#define LOOK_US		40000		/* least time that a rate is measured over */
#define GAIN_SHIFT	2		/* a new sample's weight in an average: 1/4 */
#define SLOT_US		1000000
#define LEAST_BYTEPS	4096
#define OWN_SHIFT	5		/* own traffic below 1/32 of all traffic is ignored */
#define FLOOR_SHIFT	3		/* clients keep 1/8 of the peak, for banked data */
#define STEP_SHIFT	7		/* clients' rate grows by 1/128 of the peak at a time */
#define HOLD_US		200000		/* between two halvings */

static void average(uint64_t *rate, uint64_t bytes, uint64_t took_us)
{
	int64_t sample = bytes * 1000000 / took_us;

	*rate += (sample - (int64_t)*rate) / (1 << GAIN_SHIFT);
}

static uint64_t peak_of(struct own *own, uint64_t now_us)
{
	uint64_t slot = now_us / SLOT_US, peak = 0;

	if (own->left_byteps)
		own->slot = slot;	/* keep all slots while clients are limited */
	if (slot - own->slot >= OWN_SLOTS)
		memset(own->peaks, 0, sizeof(own->peaks));
	else
		while (own->slot < slot)
			own->peaks[++own->slot % OWN_SLOTS] = 0;
	own->slot = slot;
	if (own->peaks[slot % OWN_SLOTS] < own->total_byteps)
		own->peaks[slot % OWN_SLOTS] = own->total_byteps;
	for (unsigned int i = 0; i < OWN_SLOTS; i++)
		if (own->peaks[i] > peak)
			peak = own->peaks[i];
	return peak;
}

static uint64_t next_left(struct own *own, uint64_t peak, uint64_t now_us)
{
	uint64_t left = own->left_byteps, least = peak >> FLOOR_SHIFT;

	if (own->own_byteps < LEAST_BYTEPS ||
	    own->own_byteps < own->total_byteps >> OWN_SHIFT)
		return 0;
	if (least < LEAST_BYTEPS)
		least = LEAST_BYTEPS;
	if (own->total_byteps < peak - peak / 8) {
		if (left)
			left += peak >> STEP_SHIFT;
		return left;
	}
	if (now_us < own->halved_us + HOLD_US)
		return left;
	own->halved_us = now_us;
	if (!left || left > own->lent_byteps)
		left = own->lent_byteps;
	left /= 2;
	return left > least ? left : least;
}

uint64_t own_leaves(struct own *own, uint64_t now_us, uint64_t received_bytes,
		    uint64_t lent_bytes)
{
	uint64_t received = received_bytes - own->received_bytes;
	uint64_t lent = lent_bytes - own->lent_bytes;
	uint64_t took_us = now_us - own->at_us;
	bool first = !own->at_us || received_bytes < own->received_bytes;

	if (!first && took_us < LOOK_US)
		return own->left_byteps;
	own->received_bytes = received_bytes;
	own->lent_bytes = lent_bytes;
	own->at_us = now_us;
	if (first)	/* the first call, or the interface's counter has restarted */
		return own->left_byteps;
	average(&own->total_byteps, received, took_us);
	average(&own->lent_byteps, lent, took_us);
	average(&own->own_byteps, received > lent ? received - lent : 0,
		took_us);
	own->left_byteps = next_left(own, peak_of(own, now_us), now_us);
	return own->left_byteps;
}
