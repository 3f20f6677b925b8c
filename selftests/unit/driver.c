// SPDX-License-Identifier: GPL-2.0
/* Runs the module's plain-number functions over arrays of cases.
 *
 * Everything goes through u64 arrays, so that the Python side needs no struct of
 * ours and a renamed field stops the compiler, not the test.
 */
#include <linux/types.h>

#include "again.h"
#include "bank.h"
#include "cost.h"
#include "model.h"
#include "pick.h"
#include "stream.h"
#include "unit.h"

#define HOP_WORDS	3	/* rate_byteps, owd_us, queued_bytes */
#define MODEL_WORDS	16	/* see model() */
#define SUB_WORDS	8	/* pad_ns, th_byteps, srtt_us, room_bytes, idle, in_flight,
				 * outstanding, once_bytes
				 */
#define CHOICE_WORDS	4	/* idle, stopped, room_bytes, once_bytes */

/* prototypes for -Wmissing-prototypes; called from Python only */
unsigned int unit_subflows_max(void);
unsigned int unit_packet_bytes(void);
void unit_direct(const u64 *in, u64 *out, size_t nr);
void unit_helper(const u64 *in, u64 *out, size_t nr);
void unit_carried(const u64 *in, u64 *out, size_t nr);
int unit_pick(int which, const u64 *in, int *out, size_t nr);
int unit_late_pams(const u64 *in, u32 eta_percent, u64 *bytes);
void unit_model_window(const u64 *in, u64 *out);
void unit_model_trust(const u64 *in, u64 *out);
u64 unit_model_pad(const u64 *in, u32 bytes);
u32 unit_model_arrival(const u64 *in, u32 bytes);
u64 unit_model_carried(const u64 *in, u64 span_us);
u32 unit_model_since(u32 now_us, u32 then_us);
const char *unit_model_inverse(u64 seed, size_t nr, u64 *checked, u64 *state);
int unit_minfct(const u64 *in, const u64 *models, u32 *bytes);
int unit_late_minfct(const u64 *in, const u64 *models, u64 *bytes);
int unit_late_stream(const u64 *in, const u64 *models);
int unit_stream_follow(u32 *state, u32 write_seq, u32 snd_nxt, int waits, u32 now_ms);
u32 unit_stream_room(const u64 *in, u32 room_bytes, u32 packet_bytes);
u32 unit_rate_follow(u32 rate_byteps, u32 memory_us, u32 bytes, u32 span_us);
int unit_policy(int which, const u64 *in, u32 *state, u32 *bytes);
int unit_cost(const u64 *in, s64 *state, u64 *room);
void unit_unit_mark(u32 *marks, u64 write_seq, u64 snd_nxt, u32 bytes);
u64 unit_unit_left(u32 *marks, u64 write_seq, u64 snd_nxt, u64 unscheduled_bytes);
void unit_forget(u32 *again, u32 snd_una);
int unit_cut_again(u64 *range, const u32 *again, int tail);
u32 unit_excess(u32 write_seq, u32 handed_end, u32 most);
void unit_bank_begin(u32 snd_nxt, u32 snd_una, u32 now_us);
void unit_bank_look(const u32 *seen, unsigned int nr, u32 snd_nxt, u32 snd_una, bool behind,
		    u32 now_us);
int unit_bank_path(u32 id, u32 *out);
int unit_bank_last(u32 id, u32 *out);
u32 unit_bank_head_us(u32 now_us);
int unit_bank_lost(u32 id, u32 *out);
void unit_bank_lost_sent(u32 id, u32 bytes);
void unit_bank_again(u32 start, u32 bytes);

static struct pad_hop hop(const u64 *in)
{
	return (struct pad_hop){
		.rate_byteps = in[0],
		.owd_us = (u32)in[1],
		.queued_bytes = (u32)in[2],
	};
}

unsigned int unit_subflows_max(void)
{
	return PAMS_SUBFLOWS_MAX;
}

unsigned int unit_packet_bytes(void)
{
	return PICK_PACKET_BYTES;
}

void unit_direct(const u64 *in, u64 *out, size_t nr)
{
	for (; nr; nr--, in += HOP_WORDS) {
		struct pad_hop path = hop(in);

		*out++ = pad_direct_ns(&path);
	}
}

void unit_helper(const u64 *in, u64 *out, size_t nr)
{
	for (; nr; nr--, in += 2 * HOP_WORDS) {
		struct pad_hop hs = hop(in), pipe = hop(in + HOP_WORDS);

		*out++ = pad_helper_ns(&hs, &pipe);
	}
}

void unit_carried(const u64 *in, u64 *out, size_t nr)
{
	for (; nr; nr--, in += 2)
		*out++ = pad_carried_bytes(in[0], in[1]);
}

/* What minrtt, minpad and pams choose from: unscheduled_bytes, nr, then SUB_WORDS for
 * each of nr subflows. Returns what follows, or NULL if there are too many.
 */
static const u64 *plain_view(const u64 *in, struct pams_view *view,
			     struct pams_model *models)
{
	*view = (struct pams_view){
		.unscheduled_bytes = in[0],
		.left_bytes = in[0],
		.nr = (unsigned int)in[1],
	};
	if (view->nr > PAMS_SUBFLOWS_MAX)
		return NULL;

	in += 2;
	for (unsigned int i = 0; i < view->nr; i++, in += SUB_WORDS) {
		models[i] = (struct pams_model){
			.pad_ns = in[0],
			.th_byteps = in[1],
			.srtt_us = (u32)in[2],
			.room_bytes = (u32)in[3],
			.id = i + 1,
			.idle = in[4],
			.in_flight = in[5],
			.outstanding = in[6],
			.once_bytes = (u32)in[7],
		};
		view->sub[i] = &models[i];
	}
	return in;
}

/* Returns 0, or -1 for a scheduler or a number of subflows that can't be, or if a
 * number of bytes was chosen: these leave that alone.
 */
int unit_pick(int which, const u64 *in, int *out, size_t nr)
{
	static const struct pams_sched * const scheds[] = {
		&pams_sched_minrtt, &pams_sched_minpad, &pams_sched_pams,
	};

	if (which < 0 || (size_t)which >= sizeof(scheds) / sizeof(scheds[0]))
		return -1;

	for (; nr; nr--) {
		struct pams_model models[PAMS_SUBFLOWS_MAX];
		struct pams_view view;
		u32 bytes = U32_MAX;

		in = plain_view(in, &view, models);
		if (!in)
			return -1;
		*out++ = scheds[which]->pick(scheds[which], &view, &bytes);
		if (bytes != U32_MAX)
			return -1;
	}

	return 0;
}

int unit_late_pams(const u64 *in, u32 eta_percent, u64 *bytes)
{
	struct pams_model models[PAMS_SUBFLOWS_MAX];
	struct pams_view view;

	if (!plain_view(in, &view, models))
		return PAMS_PICK_DEFER;
	return pams_sched_pams.late(&pams_sched_pams, &view, eta_percent, bytes);
}

static struct pams_model model(const u64 *in)
{
	return (struct pams_model){
		.rate_byteps = (u32)in[0],
		.limit_byteps = (u32)in[1],
		.proven_byteps = (u32)in[2],
		.rtt_us = (u32)in[3],
		.window_bytes = (u32)in[4],
		.flight_bytes = (u32)in[5],
		.backlog_bytes = (u32)in[6],
		.due_us = (u32)in[7],
		.growing = in[8] & 1,
		.moving = in[8] >> 1 & 1,
		.guessed = in[8] >> 2 & 1,
		.split = in[8] >> 3 & 1,
		.rested = in[8] >> 4 & 1,
		.repeats = in[8] >> 5 & 1,
		.horizon_us = (u32)in[9],
		.pipe_byteps = (u32)in[10],
		.pipe_delay_us = (u32)in[11],
		.pipe_backlog_bytes = (u32)in[12],
		.th_byteps = in[13],
		.owd_us = (u32)in[14],
		.cwnd_bytes = (u32)in[15],
	};
}

/* Out: window_bytes, rate_byteps. */
void unit_model_window(const u64 *in, u64 *out)
{
	struct pams_model one = model(in);

	model_set_window(&one);
	out[0] = one.window_bytes;
	out[1] = one.rate_byteps;
}

/* Out: limit_byteps, rate_byteps, window_bytes, growing. */
void unit_model_trust(const u64 *in, u64 *out)
{
	struct pams_model one = model(in);

	model_trust_guess(&one);
	out[0] = one.limit_byteps;
	out[1] = one.rate_byteps;
	out[2] = one.window_bytes;
	out[3] = one.growing;
}

u64 unit_model_pad(const u64 *in, u32 bytes)
{
	struct pams_model one = model(in);

	return model_pad_ns(&one, bytes);
}

u32 unit_model_arrival(const u64 *in, u32 bytes)
{
	struct pams_model one = model(in);

	return model_arrival_us(&one, bytes);
}

u32 unit_model_since(u32 now_us, u32 then_us)
{
	return model_since_us(now_us, then_us);
}

u64 unit_model_carried(const u64 *in, u64 span_us)
{
	struct pams_model one = model(in);

	return model_carried_bytes(&one, span_us);
}

/* A random number, and one whose order of magnitude is random, from @low to 2^@bits - 1. */
static u64 draw(u64 *seed)
{
	u64 z = *seed += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

static u32 draw_below(u64 *seed, u32 most)
{
	return draw(seed) % ((u64)most + 1);
}

static u32 draw_spread(u64 *seed, u32 low, unsigned int bits)
{
	return max(low, draw_below(seed, (u32)((1ULL << (1 + draw(seed) % bits)) - 1)));
}

/* A state as learn.c and report.c make them: MODEL_WORDS of @in. */
static void draw_state(u64 *seed, u64 *in)
{
	u32 capacity = draw_spread(seed, 12500, 27), rtt_us = draw_spread(seed, 50, 18);
	u32 limit = draw(seed) % 3 ? capacity : MODEL_RATE_UNKNOWN;
	u32 proven = limit == capacity ? capacity : draw_spread(seed, 12500, 27);
	u32 cwnd = 1428 * (draw(seed) % 2 ? 10 : draw_spread(seed, 2, 12));
	struct pams_model one = {
		.limit_byteps = limit, .rtt_us = rtt_us, .cwnd_bytes = cwnd,
	};
	u32 pipe = draw(seed) % 2 ? draw_spread(seed, 12500, 24) : 0;
	bool split = pipe && draw(seed) % 2;
	/* as much as the window, at times more after a loss; or nothing */
	u32 flight = draw(seed) % 3 ? draw_below(seed, cwnd + cwnd / 4) : 0;

	model_set_window(&one);
	in[0] = one.rate_byteps;
	in[1] = limit;
	in[2] = proven;
	in[3] = rtt_us;
	in[4] = one.window_bytes;
	in[5] = flight;
	in[6] = draw(seed) % 2 ? draw_below(seed, 65536) : 0;
	in[7] = !flight ? rtt_us : draw(seed) % 2 ? draw_below(seed, rtt_us) : 0;
	in[8] = (one.rate_byteps < limit && draw(seed) % 2) | split << 3;
	in[9] = MODEL_HORIZON_NONE;
	in[10] = pipe;
	in[11] = split ? draw_below(seed, 50000) : 0;
	in[12] = pipe ? draw_below(seed, 1000000) : 0;
}

/* What is broken of one state, or NULL. */
static const char *inverse_broken(u64 *seed, const u64 *in, u64 *checked)
{
	struct pams_model one = model(in), more = one;
	u32 bytes = draw_spread(seed, 1, 23), at_us = model_arrival_us(&one, bytes);
	u32 span_us = draw_spread(seed, 1, 24);
	u64 carried = model_carried_bytes(&one, span_us);

	if (model_arrival_us(&one, bytes + draw_spread(seed, 1, 23)) < at_us)
		return "more bytes arrive earlier";
	if (model_carried_bytes(&one, (u64)span_us + draw_spread(seed, 1, 24)) < carried)
		return "less is carried in more time";
	more.flight_bytes += draw_spread(seed, 1, 20);
	if (model_arrival_us(&more, bytes) < at_us)
		return "bytes arrive earlier with more in flight";
	if (model_carried_bytes(&more, span_us) > carried)
		return "more is carried with more in flight";
	more = one;
	more.backlog_bytes += draw_spread(seed, 1, 20);
	if (model_arrival_us(&more, bytes) < at_us)
		return "bytes arrive earlier with a larger backlog";
	if (model_carried_bytes(&more, span_us) > carried)
		return "more is carried with a larger backlog";

	/* where arrivals end; the longest round trip, and 100 ms to join, may be before */
	if (at_us >= MODEL_SPAN_MAX_US)
		return NULL;
	++*checked;
	if (model_carried_bytes(&one, at_us) < bytes)
		return "less is carried than has arrived";
	if (model_carried_bytes(&one, at_us - 2) > bytes)
		return "more is carried than has arrived";
	carried = model_carried_bytes(&one, at_us);
	if (one.limit_byteps != MODEL_RATE_UNKNOWN &&
	    (carried + PICK_PACKET_BYTES < bytes || carried > bytes + PICK_PACKET_BYTES))
		return "carried and arrived differ by a packet";
	return NULL;
}

/* Draw @nr states: is carried the inverse of arrival (of @checked), are both monotone? Returns
 * what is broken of @state, or "".
 */
const char *unit_model_inverse(u64 seed, size_t nr, u64 *checked, u64 *state)
{
	const char *broken = NULL;

	for (*checked = 0; nr && !broken; nr--) {
		draw_state(&seed, state);
		broken = inverse_broken(&seed, state, checked);
	}
	return broken ?: "";
}

/* What minfct chooses from: unscheduled_bytes, buffer_bytes, sent_bytes, nr,
 * left_bytes, then CHOICE_WORDS for each subflow, and MODEL_WORDS; PAD follows from the
 * model. Returns false if there are too many.
 */
static bool model_view(const u64 *in, const u64 *words, struct pams_view *view,
		       struct pams_model *models)
{
	*view = (struct pams_view){
		.unscheduled_bytes = in[0],
		.buffer_bytes = in[1],
		.sent_bytes = in[2],
		.nr = (unsigned int)in[3],
		.left_bytes = in[4],
	};
	if (view->nr > PAMS_SUBFLOWS_MAX)
		return false;

	in += 5;
	for (unsigned int i = 0; i < view->nr; i++, in += CHOICE_WORDS, words += MODEL_WORDS) {
		models[i] = model(words);
		models[i].pad_ns = 1000ULL * model_arrival_us(&models[i],
							      PICK_PACKET_BYTES);
		models[i].idle = in[0];
		models[i].stopped = in[1];
		models[i].room_bytes = (u32)in[2];
		models[i].once_bytes = (u32)in[3];
		models[i].outstanding = models[i].flight_bytes ||
					models[i].backlog_bytes;
		view->sub[i] = &models[i];
	}
	return true;
}

int unit_minfct(const u64 *in, const u64 *models, u32 *bytes)
{
	struct pams_model all[PAMS_SUBFLOWS_MAX];
	struct pams_view view;

	if (!model_view(in, models, &view, all))
		return -1000;
	return pams_sched_minfct.pick(&pams_sched_minfct, &view, bytes);
}

/* What eta is doesn't matter. */
int unit_late_minfct(const u64 *in, const u64 *models, u64 *bytes)
{
	struct pams_model all[PAMS_SUBFLOWS_MAX];
	struct pams_view view;

	if (!model_view(in, models, &view, all))
		return -1000;
	return pams_sched_minfct.late(&pams_sched_minfct, &view, 20, bytes);
}

int unit_late_stream(const u64 *in, const u64 *models)
{
	struct pams_model all[PAMS_SUBFLOWS_MAX];
	struct pams_view view;

	if (!model_view(in, models, &view, all))
		return -1000;
	return stream_late(&view);
}

/* @state is that of stream.c, changed. */
int unit_stream_follow(u32 *state, u32 write_seq, u32 snd_nxt, int waits, u32 now_ms)
{
	struct stream_state own = {
		.mark = state[0], .mark_ms = state[1], .seen_ms = state[2],
		.lived_ms = (u16)state[3],
	};
	bool stream = stream_follow(&own, write_seq, snd_nxt, waits, now_ms);

	state[0] = own.mark;
	state[1] = own.mark_ms;
	state[2] = own.seen_ms;
	state[3] = own.lived_ms;
	return stream;
}

/* The room that a stream leaves of @room_bytes. */
u32 unit_stream_room(const u64 *in, u32 room_bytes, u32 packet_bytes)
{
	struct pams_model one = model(in);

	one.room_bytes = room_bytes;
	one.idle = room_bytes > 0;
	stream_bound(&one, packet_bytes);
	return one.idle ? one.room_bytes : 0;
}

u32 unit_rate_follow(u32 rate_byteps, u32 memory_us, u32 bytes, u32 span_us)
{
	return model_rate_follow(rate_byteps, memory_us, bytes, span_us);
}

#define POLICY_WORDS	9	/* see policy_sub() in unit.py */

/* What single and redundant choose from: unscheduled_bytes, sent_bytes, first_bytes,
 * snd_nxt, snd_una, now_ms, nr, then POLICY_WORDS for each subflow. @state is changed.
 * Which: single, redundant, redundant's copy, what it calls late, and where that goes
 * which the subflow @state begins with has.
 */
int unit_policy(int which, const u64 *in, u32 *state, u32 *bytes)
{
	struct pick_state own = {
		.lead = state[0], .other = state[1],
		.copied = which ? state[3] : state[2],
	};
	struct pams_model models[PAMS_SUBFLOWS_MAX];
	struct pams_view view = {
		.unscheduled_bytes = in[0],
		.left_bytes = in[0],
		.sent_bytes = in[1],
		.first_bytes = in[2],
		.snd_nxt = (u32)in[3],
		.snd_una = (u32)in[4],
		.now_ms = (u32)in[5],
		.nr = (unsigned int)in[6],
		.state = &own,
	};
	u64 late = 0;
	int chosen;

	if (view.nr > PAMS_SUBFLOWS_MAX)
		return -1000;
	in += 7;
	for (unsigned int i = 0; i < view.nr; i++, in += POLICY_WORDS) {
		models[i] = (struct pams_model){
			.id = (u32)in[0],
			.pad_ns = in[1],
			.srtt_us = (u32)in[2],
			.rtt_us = (u32)in[3],
			.limit_byteps = (u32)in[4],
			.window_bytes = (u32)in[5],
			.flight_bytes = (u32)in[6],
			.idle = in[7],
			.stopped = in[8],
			.outstanding = in[6],
			.in_flight = in[6],
		};
		view.sub[i] = &models[i];
	}
	switch (which) {
	case 0:
		chosen = pams_sched_single.pick(&pams_sched_single, &view, bytes);
		break;
	case 1:
		chosen = pams_sched_redundant.pick(&pams_sched_redundant, &view, bytes);
		break;
	case 2:
		chosen = pams_sched_redundant.copy(&view, bytes);
		break;
	case 3:
		chosen = pams_sched_redundant.late(&pams_sched_redundant, &view, 20, &late);
		break;
	default:
		chosen = pams_lowest_pad_but(&view, own.lead);
	}
	state[0] = own.lead;
	state[1] = own.other;
	state[which ? 3 : 2] = own.copied;
	return chosen;
}

#define COST_WORDS	10	/* see cost_sub() in unit.py */

/* What costlier subflows may be used for: delay_ms, percent, waiting, left, sent,
 * lead, again, nr, then COST_WORDS for each. @state is that of cost.c, changed; @room what
 * each may be given, U64_MAX if it is spared. Returns if costs differ.
 */
int unit_cost(const u64 *in, s64 *state, u64 *room)
{
	struct cost_overflow overflow = { .delay_ms = (u32)in[0], .percent = (u16)in[1] };
	struct cost_state own = { .sent_bytes = state[0], .credit_bytes = state[1] };
	struct pick_state lead = { .lead = (u32)in[5] };
	struct pams_model models[PAMS_SUBFLOWS_MAX];
	struct pams_view view = {
		.left_bytes = in[3],
		.sent_bytes = in[4],
		.nr = (unsigned int)in[7],
		.state = &lead,
	};
	u64 waiting = in[2], again = in[6];
	bool was_stopped[PAMS_SUBFLOWS_MAX];
	bool differs;

	if (view.nr > PAMS_SUBFLOWS_MAX)
		return -1000;
	in += 8;
	for (unsigned int i = 0; i < view.nr; i++, in += COST_WORDS) {
		models[i] = (struct pams_model){
			.id = i + 1,
			.cost = (u8)in[0],
			.rate_byteps = (u32)in[1],
			.limit_byteps = (u32)in[2],
			.proven_byteps = (u32)in[1],
			.rtt_us = (u32)in[3],
			.window_bytes = (u32)in[4],
			.flight_bytes = (u32)in[5],
			.room_bytes = (u32)in[6],
			.idle = in[6] > 0,
			.stopped = in[7],
			.growing = in[8],
			.at_risk = in[9],
			.horizon_us = MODEL_HORIZON_NONE,
		};
		was_stopped[i] = in[7];
		view.sub[i] = &models[i];
	}
	differs = cost_follow(&view, &overflow, &own, waiting, again);
	for (unsigned int i = 0; i < view.nr; i++)
		room[i] = models[i].stopped && !was_stopped[i] ? ~0ULL :
			  models[i].room_bytes;
	state[0] = own.sent_bytes;
	state[1] = own.credit_bytes;
	return differs;
}

static struct msk_sent_again again_of(const u32 *in)
{
	return (struct msk_sent_again){
		.from = in[0], .to = in[1],
		.lost_from = in[2], .lost_to = in[3], .lost = in[4],
	};
}

/* from, to, lost_from, lost_to, lost: changed in place. */
void unit_forget(u32 *again, u32 snd_una)
{
	struct msk_sent_again one = again_of(again);

	again_forget(&one, snd_una);
	again[0] = one.from;
	again[1] = one.to;
	again[2] = one.lost_from;
	again[3] = one.lost_to;
}

/* start, end, seq, seq_end: changed in place. Returns if anything is left. */
int unit_cut_again(u64 *range, const u32 *again, int tail)
{
	struct msk_range one = {
		.start = range[0], .end = range[1],
		.seq = (u32)range[2], .seq_end = (u32)range[3],
	};
	struct msk_sent_again sent = again_of(again);
	bool left = range_cut_again(&one, &sent, tail);

	range[0] = one.start;
	range[1] = one.end;
	range[2] = one.seq;
	range[3] = one.seq_end;
	return left;
}

u32 unit_excess(u32 write_seq, u32 handed_end, u32 most)
{
	return range_excess(write_seq, handed_end, most);
}

static struct pams_bank bank;

void unit_bank_begin(u32 snd_nxt, u32 snd_una, u32 now_us)
{
	bank = (struct pams_bank){};
	bank_begin(&bank, snd_nxt, snd_una, now_us);
}

/* Of each subflow: id, write_seq, snd_una. */
void unit_bank_look(const u32 *seen, unsigned int nr, u32 snd_nxt, u32 snd_una, bool behind,
		    u32 now_us)
{
	struct bank_seen subs[PAMS_SUBFLOWS_MAX] = {};
	unsigned int i;

	for (i = 0; i < nr; i++, seen += 3)
		subs[i] = (struct bank_seen){
			.id = seen[0],
			.write_seq = seen[1],
			.snd_una = seen[2],
		};
	bank_look(&bank, subs, nr, snd_nxt, snd_una, behind, now_us);
}

/* banked, spent, once, rate, split */
int unit_bank_path(u32 id, u32 *out)
{
	const struct bank_path *path = bank_path_of(&bank, id);

	if (!path)
		return 0;
	out[0] = path->banked_bytes;
	out[1] = path->spent_bytes;
	out[2] = bank_once_bytes(&bank, path);
	out[3] = path->rate_byteps;
	out[4] = path->split;
	return 1;
}

int unit_bank_last(u32 id, u32 *out)
{
	const struct bank_path *path = bank_path_of(&bank, id);

	return path && bank_last_once(&bank, path, &out[0], &out[1]);
}

/* 0: the head is in no bank */
u32 unit_bank_head_us(u32 now_us)
{
	return bank.head < 0 ? 0 : bank_head_us(&bank, now_us);
}

int unit_bank_lost(u32 id, u32 *out)
{
	return bank_next_lost(&bank, id, &out[0], &out[1]);
}

void unit_bank_lost_sent(u32 id, u32 bytes)
{
	bank_lost_sent(&bank, id, bytes);
}

void unit_bank_again(u32 start, u32 bytes)
{
	bank_sent_again(&bank, start, bytes);
}

void unit_unit_mark(u32 *marks, u64 write_seq, u64 snd_nxt, u32 bytes)
{
	struct unit_marks own = { .end = marks[0], .next = marks[1] };

	unit_mark(&own, write_seq, snd_nxt, bytes);
	marks[0] = own.end;
	marks[1] = own.next;
}

/* As a look does: @marks is changed. */
u64 unit_unit_left(u32 *marks, u64 write_seq, u64 snd_nxt, u64 unscheduled_bytes)
{
	struct unit_marks own = { .end = marks[0], .next = marks[1] };

	unit_follow(&own, snd_nxt);
	marks[0] = own.end;
	marks[1] = own.next;
	return unit_unscheduled_bytes(&own, write_seq, snd_nxt, unscheduled_bytes);
}
