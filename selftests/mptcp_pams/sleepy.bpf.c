// SPDX-License-Identifier: GPL-2.0
/* A scheduler that may sleep, which no decision may: for bpf.sh. It reads nothing, so nothing else
 * is wrong with it.
 */
#include "../../examples/bpf/pams.bpf.h"

SEC("struct_ops.s")
int BPF_PROG(sleepy_pick, const struct pams_view *view, struct pams_answer *answer)
{
	return PAMS_PICK_NONE;
}

SEC(".struct_ops") struct pams_sched_ops sleepy = {
	.name = "sleepy", .pick = (void *)sleepy_pick,
};

char LICENSE[] SEC("license") = "GPL";
