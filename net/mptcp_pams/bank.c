// SPDX-License-Identifier: GPL-2.0
/* Estimates the bank of a helper that splits TCP: the data that the helper has acknowledged and
 * not delivered yet.
 *
 * A receiver sends TCP's acknowledgment and the DATA_ACK together. A helper that splits
 * TCP sends acknowledgments of its own, with the receiver's latest DATA_ACK. So if a
 * subflow's TCP has acknowledged data that has no DATA_ACK, the data lies in the helper's
 * bank, or at the receiver behind a hole that another subflow has to fill.
 *
 * To tell these two apart the data given to each subflow is logged in ranges, with its data
 * sequence numbers and TCP's. The head is the byte that the receiver waits for.
 *
 *   The head was given to this subflow, whose TCP has acknowledged it: the head is banked
 *   here, and so is all that this subflow was given later, since a pipe keeps the order.
 *
 *     banked  = held - (write_seq - snd_una)       held: given and without a DATA_ACK
 *     rate    = bytes that got a DATA_ACK between two such looks / the time between them,
 *               or more if the bank was empty meanwhile
 *
 *   The head is elsewhere: it isn't known what the pipe has delivered since, so
 *
 *     banked  = min(held - (write_seq - snd_una), banked + acknowledged - rate * time)
 *
 * If the head is never on a subflow, that subflow's pipe may have become faster: the rate is
 * raised by a quarter for each 100 ms without a head. The subflow is then given more, which
 * shows the true rate.
 *
 * A subflow is found to be split if for 20 ms the head keeps advancing and, whenever it is on
 * this subflow, is banked with 8 KB or more. (A receiver that is slow to process sends its
 * DATA_ACK sooner; a receiver that has dropped something sends none.)
 *
 * Data that was sent again elsewhere, and got its DATA_ACK from there, is still in the pipe,
 * before all later data. It is called spent, and is gone after the time bytes / rate, or when
 * data behind it gets a DATA_ACK.
 *
 * Units: bytes, microseconds, bytes per second; all sequence numbers wrap at 2^32, and two
 * that are compared lie within 2^31.
 *
 * Ignored: that two subflows may be given data between the same two looks (their parts may
 * be swapped), data sent again (it isn't logged), ranges beyond BANK_RANGES (the oldest
 * are forgotten).
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/time64.h>

#include "again.h"
#include "bank.h"
#include "model.h"

/* a sample of the rate takes at least MODEL_SAMPLE_US, and this many bytes or ten times the time */
#define BANK_SAMPLE_BYTES	6000U
/* If a pipe delivers nothing for this time, its bank was sent again elsewhere. Either it is silent,
 * and a bank is found anew when it isn't any more, or the subflow has no pamsplit.
 */
#define BANK_STILL_US		500000U
/* What takes a pipe longer than this to deliver isn't waited for. */
#define BANK_SPENT_US		(4 * BANK_STILL_US)
/* A pipe that never brings what is missing last may have become faster: each time its rate grows
 * by a quarter.
 */
#define BANK_RAISE_US		100000U
#define BANK_RANGE_MAX		0xffffU
/* Data that was sent before the log began is sent again for a lost path only if it is no more
 * than this: it may have been sent on another path.
 */
#define BANK_UNLOGGED_MAX	262144U

static struct bank_range *range_at(struct pams_bank *bank, u32 number)
{
	return &bank->range[number % BANK_RANGES];
}

/**
 * bank_begin - begin the log
 * @bank:	the log, zeroed
 * @snd_nxt:	low half of the next data sequence number
 * @snd_una:	low half of the first one without a DATA_ACK
 * @now_us:	low half of TCP's clock
 */
void bank_begin(struct pams_bank *bank, u32 snd_nxt, u32 snd_una, u32 now_us)
{
	bank->begin = snd_nxt;
	bank->snd_nxt = snd_nxt;
	bank->snd_una = snd_una;
	bank->moved_us = now_us;
	bank->head = -1;
}

static int path_find(const struct pams_bank *bank, u32 id)
{
	unsigned int i;

	for (i = 0; i < BANK_PATHS; i++) {
		if (bank->path[i].id == id)
			return i;
	}
	return -1;
}

/**
 * bank_path_of - the log's entry of a subflow
 * @bank:	the connection's log
 * @id:		subflow_id
 *
 * Return: NULL if it has none.
 */
const struct bank_path *bank_path_of(const struct pams_bank *bank, u32 id)
{
	int i = path_find(bank, id);

	return i < 0 ? NULL : &bank->path[i];
}

static void path_drop(struct bank_path *path, u32 bytes)
{
	path->held_bytes -= min(bytes, path->held_bytes);
}

static void path_spend(struct bank_path *path, u32 bytes)
{
	bytes = min(bytes, path->spent_bytes);
	path->spent_bytes -= bytes;
	path_drop(path, bytes);
}

static void range_add(struct pams_bank *bank, u8 path, u32 start, u32 seq, u32 bytes)
{
	struct bank_range *last = range_at(bank, bank->next - 1);

	bank->path[path].held_bytes += bytes;
	if (bank->next != bank->first && last->path == path &&
	    last->start + last->bytes == start && last->seq + last->bytes == seq &&
	    last->once == last->bytes && last->bytes + bytes <= BANK_RANGE_MAX) {
		last->bytes += bytes;
		last->once += bytes;
		return;
	}
	while (bytes) {
		u32 part = min(bytes, BANK_RANGE_MAX);

		if (bank->next - bank->first == BANK_RANGES) {
			path_drop(&bank->path[range_at(bank, bank->first)->path],
				  range_at(bank, bank->first)->bytes);
			bank->first++;
		}
		*range_at(bank, bank->next++) = (struct bank_range){
			.start = start,
			.seq = seq,
			.bytes = part,
			.once = part,
			.path = path,
		};
		start += part;
		seq += part;
		bytes -= part;
	}
}

static bool is_seen(const struct bank_seen *seen, unsigned int nr, u32 id)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (seen[i].id == id)
			return true;
	}
	return false;
}

/* The index of an entry for a new subflow: one that was never used, or whose subflow was closed
 * and has nothing left in the log. Negative if there is none.
 */
static int path_free(const struct pams_bank *bank, const struct bank_seen *seen,
		     unsigned int nr)
{
	int free = path_find(bank, 0);
	unsigned int i;

	for (i = 0; free < 0 && i < BANK_PATHS; i++) {
		if (!is_seen(seen, nr, bank->path[i].id) && !bank->path[i].held_bytes)
			free = i;
	}
	return free;
}

/* Log the data that was given to subflows since the last look. */
static void log_given(struct pams_bank *bank, const struct bank_seen *seen,
		      unsigned int nr, u32 snd_nxt)
{
	u32 left = snd_nxt - bank->snd_nxt;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		int at = path_find(bank, seen[i].id);
		struct bank_path *path;
		u32 given;

		if (at < 0) {
			at = path_free(bank, seen, nr);
			if (at < 0)
				continue;
			bank->path[at] = (struct bank_path){
				.id = seen[i].id,
				.write_seq = seen[i].write_seq,
				.snd_una = seen[i].snd_una,
			};
			continue;
		}
		path = &bank->path[at];
		given = min(seen[i].write_seq - path->write_seq, left);
		if (given && (s32)left > 0) {
			range_add(bank, at, snd_nxt - left, path->write_seq, given);
			left -= given;
		}
		path->write_seq = seen[i].write_seq;
	}
	bank->snd_nxt = snd_nxt;
}

/* Drop the data that got a DATA_ACK since the last look from the log. */
static void log_passed(struct pams_bank *bank, u32 snd_una)
{
	while (bank->first != bank->next) {
		struct bank_range *range = range_at(bank, bank->first);
		struct bank_path *path = &bank->path[range->path];
		u32 bytes, once;

		if (!seq_before(range->start, snd_una))
			break;
		bytes = min_t(u32, snd_una - range->start, range->bytes);
		once = min_t(u32, bytes, range->once);
		if (once) {
			/* the pipe has delivered this, so all before it, too */
			path_spend(path, U32_MAX);
			path_drop(path, once);
			path->passed_bytes += once;
		}
		if (bytes > once) {
			path->spent_bytes += bytes - once;
			path->sampling = false;
		}
		range->start += bytes;
		range->seq += bytes;
		range->bytes -= bytes;
		range->once -= once;
		if (range->bytes)
			break;
		bank->first++;
	}
}

/* The index of the subflow in whose bank the head is, or -1. */
static int head_of(struct pams_bank *bank)
{
	const struct bank_range *range = range_at(bank, bank->first);

	if (bank->first == bank->next || range->start != bank->snd_una)
		return -1;
	return seq_before(range->seq, bank->path[range->path].snd_una) ? range->path : -1;
}

static bool head_is_on(struct pams_bank *bank, unsigned int i)
{
	return bank->first != bank->next && range_at(bank, bank->first)->path == i;
}

static void sample_rate(struct bank_path *path, bool dry, u32 now_us)
{
	u32 span_us = now_us - path->sample_us;
	u32 bytes = path->passed_bytes - path->sample_bytes;
	u32 rate;

	path->sample_ran_dry |= dry;
	if (!path->sampling) {
		path->sampling = true;
	} else {
		if (span_us < MODEL_SAMPLE_US ||
		    (bytes < BANK_SAMPLE_BYTES && span_us < 10 * MODEL_SAMPLE_US))
			return;
		rate = clamp_t(u64, div_u64((u64)bytes * USEC_PER_SEC, span_us),
			       MODEL_RATE_MIN_BYTEPS, MODEL_RATE_UNKNOWN - 1);
		if (!path->rate_byteps || path->sample_ran_dry)
			path->rate_byteps = max(path->rate_byteps, rate);
		else
			path->rate_byteps = path->rate_byteps / 2 + rate / 2;
	}
	path->sample_ran_dry = dry;
	path->sample_us = now_us;
	path->sample_bytes = path->passed_bytes;
}

/* Take a subflow for not split after all: nothing is delivered, so the receiver must have dropped
 * something.
 */
static void path_is_not_split(struct bank_path *path, u32 now_us)
{
	path_spend(path, U32_MAX);
	path->split = false;
	path->lost = false;
	path->full = false;
	path->sampling = false;
	path->rate_byteps = 0;
	path->banked_bytes = 0;
	path->update_us = now_us;
}

/* For how long the pipe has brought nothing, be it spent or not. */
static u32 still_us(const struct pams_bank *bank, const struct bank_path *path, u32 now_us)
{
	return min(now_us - path->spent_us, now_us - bank->moved_us);
}

/**
 * bank_head_us - how long the first missing byte has been the next one in its pipe
 * @bank:	the connection's log; its @head is a subflow
 * @now_us:	low half of TCP's clock
 *
 * What is spent comes first, but isn't waited for if that takes long: if the pipe has died nothing
 * shows that, and its rate is a guess.
 */
u32 bank_head_us(const struct pams_bank *bank, u32 now_us)
{
	const struct bank_path *path = &bank->path[bank->head];
	u64 soon_bytes = div_u64((u64)path->rate_byteps * BANK_SPENT_US, USEC_PER_SEC);

	return path->spent_bytes > soon_bytes ? now_us - bank->moved_us :
						still_us(bank, path, now_us);
}

static void path_look(struct pams_bank *bank, unsigned int i, u32 acked, bool behind,
		      u32 now_us)
{
	struct bank_path *path = &bank->path[i];
	u32 queued = path->write_seq - path->snd_una;
	u32 gone = min_t(u64, U32_MAX, div_u64((u64)path->rate_byteps *
					       (now_us - path->update_us), USEC_PER_SEC));
	u32 guess = path->banked_bytes + acked;
	u32 most;

	path_spend(path, path->split ? gone : U32_MAX);
	if (path->spent_bytes)
		path->spent_us = now_us;
	most = path->held_bytes > queued ? path->held_bytes - queued : 0;
	if (bank->head == (int)i && still_us(bank, path, now_us) > BANK_STILL_US) {
		path_is_not_split(path, now_us);
		return;
	}
	if (bank->head == (int)i || !most) {
		path->banked_bytes = most;
		sample_rate(path, !most, now_us);
	} else {
		guess -= min(guess, gone);
		path->banked_bytes = min(most, guess);
	}
	if (head_is_on(bank, i) || !path->held_bytes) {
		path->last_us = now_us;
	} else if (now_us - path->last_us > BANK_RAISE_US) {
		path->last_us += BANK_RAISE_US;
		path->rate_byteps = min(path->rate_byteps + path->rate_byteps / 4,
					MODEL_RATE_UNKNOWN / 2);
	}
	path->update_us = now_us;

	if (behind || !head_is_on(bank, i))
		return;
	if (bank->head != (int)i || most < BANK_SPLIT_BYTES) {
		path->full = false;
		return;
	}
	if (!path->full)
		path->full_us = now_us;
	path->full = true;
	path->split |= now_us - path->full_us >= MODEL_SAMPLE_US &&
		       now_us - bank->moved_us < MODEL_SAMPLE_US;
}

/**
 * bank_look - log what was given to subflows and acknowledged since the last look
 * @bank:	the connection's log
 * @seen:	the numbers of its usable subflows
 * @nr:		number of these subflows
 * @snd_nxt:	low half of the next data sequence number
 * @snd_una:	low half of the first one without a DATA_ACK
 * @behind:	@snd_una may be older than @seen: no subflow is found to be split by that
 * @now_us:	low half of TCP's clock
 */
void bank_look(struct pams_bank *bank, const struct bank_seen *seen, unsigned int nr,
	       u32 snd_nxt, u32 snd_una, bool behind, u32 now_us)
{
	u32 acked[BANK_PATHS] = {};
	unsigned int i;

	log_given(bank, seen, nr, snd_nxt);
	/* all data before the log is acknowledged: move @begin on before the numbers wrap */
	if (!seq_before(snd_una, bank->begin))
		bank->begin = snd_una;
	if (snd_una != bank->snd_una) {
		log_passed(bank, snd_una);
		bank->snd_una = snd_una;
		bank->moved_us = now_us;
	}
	for (i = 0; i < nr; i++) {
		int at = path_find(bank, seen[i].id);

		if (at < 0)
			continue;
		acked[at] = seen[i].snd_una - bank->path[at].snd_una;
		bank->path[at].snd_una = seen[i].snd_una;
	}
	bank->head = head_of(bank);
	for (i = 0; i < BANK_PATHS; i++) {
		if (bank->path[i].id)
			path_look(bank, i, acked[i], behind, now_us);
	}
}

static bool is_banked(const struct bank_path *path, const struct bank_range *range)
{
	return seq_before(range->seq, path->snd_una);
}

/* How many bytes of a range are banked and weren't sent again elsewhere. */
static u32 once_of(const struct bank_path *path, const struct bank_range *range)
{
	return is_banked(path, range) ?
	       min_t(u32, range->once, path->snd_una - range->seq) : 0;
}

/* How much of a subflow's bank wasn't sent again elsewhere, delivered or not. */
static u32 once_bytes(const struct pams_bank *bank, const struct bank_path *path)
{
	u32 number, bytes = 0;

	for (number = bank->first; number != bank->next; number++) {
		const struct bank_range *range = &bank->range[number % BANK_RANGES];

		if (&bank->path[range->path] == path)
			bytes += once_of(path, range);
	}
	return bytes;
}

/**
 * bank_once_bytes - how much of a bank wasn't sent again elsewhere
 * @bank:	the connection's log
 * @path:	the subflow's entry
 *
 * Return: at most @path's @banked_bytes, since the oldest data may have been delivered.
 */
u32 bank_once_bytes(const struct pams_bank *bank, const struct bank_path *path)
{
	return min(once_bytes(bank, path), path->banked_bytes);
}

/**
 * bank_last_once - the newest part of a bank that wasn't sent again elsewhere
 * @bank:	the connection's log
 * @path:	the subflow's entry
 * @start:	set to the low half of the part's data sequence number
 * @bytes:	set to its size
 *
 * Return: false if there is none.
 */
bool bank_last_once(const struct pams_bank *bank, const struct bank_path *path,
		    u32 *start, u32 *bytes)
{
	u32 number = bank->next, passed = 0;

	while (number != bank->first && passed < path->banked_bytes) {
		const struct bank_range *range = &bank->range[--number % BANK_RANGES];
		u32 once;

		if (&bank->path[range->path] != path || !is_banked(path, range))
			continue;
		once = once_of(path, range);
		if (once) {
			*start = range->start;
			*bytes = once;
			return true;
		}
		passed += min_t(u32, range->bytes, path->snd_una - range->seq);
	}
	return false;
}

/* The oldest part of a bank that wasn't sent again and, as far as is known, isn't delivered. */
static bool first_once(const struct pams_bank *bank, const struct bank_path *path,
		       u32 *start, u32 *bytes)
{
	u32 number, behind = once_bytes(bank, path);

	for (number = bank->first; number != bank->next; number++) {
		const struct bank_range *range = &bank->range[number % BANK_RANGES];
		u32 once;

		if (&bank->path[range->path] != path)
			continue;
		once = once_of(path, range);
		if (once && behind < path->banked_bytes + once) {
			*start = range->start;
			*bytes = once;
			return true;
		}
		behind -= once;
	}
	return false;
}

/* Was the first missing byte sent before the log began? Then its subflow isn't known. */
static bool is_unlogged(const struct pams_bank *bank)
{
	return seq_before(bank->snd_una, bank->begin) &&
	       bank->begin - bank->snd_una <= BANK_UNLOGGED_MAX;
}

/**
 * bank_next_lost - the next part of a lost path's bank to send again, the oldest first
 * @bank:	the connection's log
 * @id:		subflow_id
 * @start:	set to the low half of the part's data sequence number
 * @bytes:	set to its size
 *
 * bank_lost_sent() steps over the part. A subflow that isn't known to be split has a bank,
 * too, if its TCP has acknowledged the byte that the receiver waits for, or if nobody knows
 * which subflow that byte was sent on.
 *
 * Return: false if there is none.
 */
bool bank_next_lost(struct pams_bank *bank, u32 id, u32 *start, u32 *bytes)
{
	int i = path_find(bank, id);
	struct bank_path *path;

	if (i < 0)
		return false;
	path = &bank->path[i];
	path->lost |= path->split || bank->head == i || is_unlogged(bank);
	if (!path->lost)
		return false;
	if (path->lost_at != path->lost_end && seq_before(path->lost_at, bank->snd_una))
		path->lost_at = seq_before(bank->snd_una, path->lost_end) ?
				bank->snd_una : path->lost_end;
	if (path->lost_at == path->lost_end) {
		if (is_unlogged(bank)) {
			*start = bank->snd_una;
			*bytes = bank->begin - bank->snd_una;
			bank->begin = bank->snd_una;
		} else if (!first_once(bank, path, start, bytes)) {
			return false;
		}
		path->lost_at = *start;
		path->lost_end = *start + *bytes;
	}
	*start = path->lost_at;
	*bytes = path->lost_end - path->lost_at;
	return true;
}

/**
 * bank_lost_sent - note that the part which bank_next_lost() returned was sent again
 * @bank:	the connection's log
 * @id:		subflow_id
 * @bytes:	how much of the part's beginning was sent again
 */
void bank_lost_sent(struct pams_bank *bank, u32 id, u32 bytes)
{
	struct bank_path *path = &bank->path[path_find(bank, id)];
	u32 part = path->lost_end - path->lost_at;

	bank_sent_again(bank, path->lost_at, part);
	path->lost_at += min(bytes, part);
}

/**
 * bank_sent_again - note that data was sent again elsewhere
 * @bank:	the connection's log
 * @start:	low half of the data's sequence number
 * @bytes:	its size
 *
 * Data that follows in the same range counts as sent again, too: ranges are sent again from
 * their end on.
 */
void bank_sent_again(struct pams_bank *bank, u32 start, u32 bytes)
{
	u32 number;

	for (number = bank->first; number != bank->next; number++) {
		struct bank_range *range = range_at(bank, number);

		if (!seq_before(range->start, start + bytes))
			break;
		if (!seq_before(start, range->start + range->bytes))
			continue;
		range->once = seq_before(range->start, start) ?
			      min_t(u32, range->once, start - range->start) : 0;
	}
}
