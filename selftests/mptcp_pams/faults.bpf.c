// SPDX-License-Identifier: GPL-2.0
/* Schedulers that are wrong, each in one way: for bpf.sh. */
#include "../../examples/bpf/pams.bpf.h"

/* the first subflow that has room, or that has none */
static int first(const struct pams_view *view, bool idle)
{
	const struct pams_model *sub;
	u32 i;

	for (i = 0; (sub = pams_nth(view, i)); i++) {
		if (!pams_is(sub, idle) == !idle)
			return i;
	}
	return PAMS_PICK_NONE;
}

SEC("struct_ops")
int BPF_PROG(beyond_pick, const struct pams_view *view, struct pams_answer *answer)
{
	return view->nr;
}

SEC("struct_ops")
int BPF_PROG(below_pick, const struct pams_view *view, struct pams_answer *answer)
{
	return -1000000;
}

SEC("struct_ops")
int BPF_PROG(busy_pick, const struct pams_view *view, struct pams_answer *answer)
{
	int target = first(view, false);

	return target < 0 ? first(view, true) : target;
}

SEC("struct_ops")
int BPF_PROG(nothing_pick, const struct pams_view *view, struct pams_answer *answer)
{
	return PAMS_PICK_NONE;
}

SEC("struct_ops")
int BPF_PROG(waiting_pick, const struct pams_view *view, struct pams_answer *answer)
{
	return PAMS_PICK_DEFER;
}

SEC("struct_ops")
int BPF_PROG(crumbs_pick, const struct pams_view *view, struct pams_answer *answer)
{
	answer->bytes = 0;
	return first(view, true);
}

SEC("struct_ops")
int BPF_PROG(good_pick, const struct pams_view *view, struct pams_answer *answer)
{
	return first(view, true);
}

static int turn(u32 i, void *nothing)
{
	return 0;
}

/* over a tick, in some answers */
SEC("struct_ops")
int BPF_PROG(slow_pick, const struct pams_view *view, struct pams_answer *answer)
{
	if (!(answer->memory[0]++ & 15))
		bpf_loop(1 << 21, turn, NULL, 0);
	return first(view, true);
}

/* asked again and again about the same subflow, whether it holds anything or not */
SEC("struct_ops")
int BPF_PROG(late_late, const struct pams_view *view, struct pams_answer *answer)
{
	return view->nr;
}

/* the data of a subflow that has room itself, whether another one has any or not */
SEC("struct_ops")
int BPF_PROG(eager_late, const struct pams_view *view, struct pams_answer *answer)
{
	const struct pams_model *sub;
	u32 i;

	for (i = 0; (sub = pams_nth(view, i)); i++) {
		if (pams_is(sub, idle) && sub->once_bytes)
			return i;
	}
	return PAMS_PICK_NONE;
}

#define PICKS(_pick)	.pick = (void *)(_pick)

SEC(".struct_ops") struct pams_sched_ops beyond = { .name = "beyond", PICKS(beyond_pick) };
SEC(".struct_ops") struct pams_sched_ops below = { .name = "below", PICKS(below_pick) };
SEC(".struct_ops") struct pams_sched_ops busy = { .name = "busy", PICKS(busy_pick) };
SEC(".struct_ops") struct pams_sched_ops nothing = { .name = "nothing", PICKS(nothing_pick) };
SEC(".struct_ops") struct pams_sched_ops waiting = { .name = "waiting", PICKS(waiting_pick) };
SEC(".struct_ops") struct pams_sched_ops crumbs = { .name = "crumbs", PICKS(crumbs_pick) };
SEC(".struct_ops") struct pams_sched_ops slow = { .name = "slow", PICKS(slow_pick) };
SEC(".struct_ops") struct pams_sched_ops late = {
	.name = "late", PICKS(good_pick), .late = (void *)late_late,
};

SEC(".struct_ops") struct pams_sched_ops eager = {
	.name = "eager", PICKS(good_pick), .late = (void *)eager_late,
};

/* names that are refused: bpf.sh attaches one at a time */
SEC(".struct_ops") struct pams_sched_ops of_ours = { .name = "minfct", PICKS(good_pick) };
SEC(".struct_ops") struct pams_sched_ops of_kernel = { .name = "default", PICKS(good_pick) };
SEC(".struct_ops") struct pams_sched_ops capital = { .name = "Capital", PICKS(good_pick) };
SEC(".struct_ops") struct pams_sched_ops spaced = { .name = "two words", PICKS(good_pick) };
SEC(".struct_ops") struct pams_sched_ops control = { .name = "bell\a", PICKS(good_pick) };
SEC(".struct_ops") struct pams_sched_ops nameless = { PICKS(good_pick) };
/* 16 characters, without a zero behind them */
SEC(".struct_ops") struct pams_sched_ops endless = { .name = "sixteen-letters-", PICKS(good_pick) };
SEC(".struct_ops") struct pams_sched_ops no_pick = { .name = "no_pick" };

char LICENSE[] SEC("license") = "GPL";
