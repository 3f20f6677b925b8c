// SPDX-License-Identifier: GPL-2.0
/* Runs the module's plain-number functions over arrays of cases.
 *
 * Everything goes through u64 arrays, so that the Python side needs no struct of
 * ours and a renamed field stops the compiler, not the test.
 */
#include <linux/types.h>

#include "pad.h"
#include "pick.h"

#define HOP_WORDS	3	/* rate_byteps, owd_us, queued_bytes */
#define FLOW_WORDS	9	/* rate, limit, proven, rtt, window, flight, backlog, due,
				 * growing | moving << 1 | untried << 2 | alone << 3 |
				 * guessed << 4
				 */
#define SUB_WORDS	6	/* pad_ns, rate_byteps, srtt_us, room_bytes, idle, in_flight */

typedef int (*pick_fn)(const struct pams_view *view, u32 *bytes);

/* prototypes for -Wmissing-prototypes; called from Python only */
unsigned int unit_subflows_max(void);
unsigned int unit_packet_bytes(void);
void unit_direct(const u64 *in, u64 *out, size_t nr);
void unit_helper(const u64 *in, u64 *out, size_t nr);
void unit_carried(const u64 *in, u64 *out, size_t nr);
int unit_pick(int which, const u64 *in, int *out, size_t nr);
u32 unit_flow_arrival(const u64 *in, u32 bytes);
u64 unit_flow_carried(const u64 *in, u64 span_us);
int unit_minfct(const u64 *in, const u64 *flows, u32 *bytes);
int unit_late(const u64 *in, const u64 *flows);

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

/* A view is unscheduled_bytes, nr, then SUB_WORDS for each of nr subflows.
 * Returns 0, or -1 for a scheduler or a number of subflows that can't be, or if a
 * number of bytes was chosen: these leave that alone.
 */
int unit_pick(int which, const u64 *in, int *out, size_t nr)
{
	static const pick_fn picks[] = {
		pams_pick_minrtt, pams_pick_minpad, pams_pick_pams,
	};

	if (which < 0 || (size_t)which >= sizeof(picks) / sizeof(picks[0]))
		return -1;

	for (; nr; nr--) {
		struct pams_view view = {
			.unscheduled_bytes = in[0],
			.nr = (unsigned int)in[1],
		};
		u32 bytes = U32_MAX;

		if (view.nr > PAMS_SUBFLOWS_MAX)
			return -1;
		in += 2;
		for (unsigned int i = 0; i < view.nr; i++, in += SUB_WORDS)
			view.sub[i] = (struct pams_subflow_view){
				.pad_ns = in[0],
				.rate_byteps = in[1],
				.srtt_us = (u32)in[2],
				.room_bytes = (u32)in[3],
				.id = i + 1,
				.idle = in[4],
				.in_flight = in[5],
			};
		*out++ = picks[which](&view, &bytes);
		if (bytes != U32_MAX)
			return -1;
	}

	return 0;
}

static struct pams_flow flow(const u64 *in)
{
	return (struct pams_flow){
		.rate_byteps = (u32)in[0],
		.limit_byteps = (u32)in[1],
		.proven_byteps = (u32)in[2],
		.rtt_us = (u32)in[3],
		.window_bytes = (u32)in[4],
		.flight_bytes = (u32)in[5],
		.backlog_bytes = (u32)in[6],
		.due_us = (s32)(u32)in[7],
		.growing = in[8] & 1,
		.moving = in[8] >> 1 & 1,
		.untried = in[8] >> 2 & 1,
		.alone = in[8] >> 3 & 1,
		.guessed = in[8] >> 4 & 1,
	};
}

u32 unit_flow_arrival(const u64 *in, u32 bytes)
{
	struct pams_flow one = flow(in);

	return flow_arrival_us(&one, bytes);
}

u64 unit_flow_carried(const u64 *in, u64 span_us)
{
	struct pams_flow one = flow(in);

	return flow_carried_bytes(&one, span_us);
}

/* A view is unscheduled_bytes, buffer_bytes, sent_bytes, nr, then for each subflow
 * whether it is idle, whether it is stopped, its room_bytes and once_bytes; PAD follows
 * from the flow.
 */
static struct pams_view flow_view(const u64 *in, const u64 *flows,
				  struct pams_flow *all)
{
	struct pams_view view = {
		.unscheduled_bytes = in[0],
		.buffer_bytes = in[1],
		.sent_bytes = in[2],
		.flow = all,
		.nr = (unsigned int)in[3],
	};

	in += 4;
	for (unsigned int i = 0; i < view.nr; i++, in += 4, flows += FLOW_WORDS) {
		all[i] = flow(flows);
		view.sub[i].pad_ns = 1000ULL * flow_arrival_us(&all[i],
							       PICK_PACKET_BYTES);
		view.sub[i].idle = in[0];
		view.sub[i].stopped = in[1];
		view.sub[i].room_bytes = (u32)in[2];
		view.sub[i].once_bytes = (u32)in[3];
		view.sub[i].outstanding = all[i].flight_bytes;
	}
	return view;
}

int unit_minfct(const u64 *in, const u64 *flows, u32 *bytes)
{
	struct pams_flow all[PAMS_SUBFLOWS_MAX];
	struct pams_view view = flow_view(in, flows, all);

	return pams_pick_minfct(&view, bytes);
}

int unit_late(const u64 *in, const u64 *flows)
{
	struct pams_flow all[PAMS_SUBFLOWS_MAX];
	struct pams_view view = flow_view(in, flows, all);

	return pams_late_minfct(&view);
}
