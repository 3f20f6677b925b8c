// SPDX-License-Identifier: GPL-2.0
/* Answers anything: for bpf.sh. Most answers can't be carried out. */
#include "../../examples/bpf/pams.bpf.h"

static int anything(struct pams_answer *answer)
{
	u32 random = bpf_get_prandom_u32();

	answer->bytes = bpf_get_prandom_u32() >> (random & 31);
	answer->memory[1] = random;
	return random & 0x80 ? (int)bpf_get_prandom_u32() : (int)(random % 8) - 4;
}

SEC("struct_ops")
int BPF_PROG(pick, const struct pams_view *view, struct pams_answer *answer)
{
	return anything(answer);
}

SEC("struct_ops")
int BPF_PROG(late, const struct pams_view *view, struct pams_answer *answer)
{
	return anything(answer);
}

/* another program of that name, which sends nothing again */
SEC(".struct_ops") struct pams_sched_ops never_late = { .name = "random", .pick = (void *)pick };

PAMS_SCHEDULER(random, .pick = (void *)pick, .late = (void *)late);
