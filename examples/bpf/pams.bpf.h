/* SPDX-License-Identifier: GPL-2.0 */
/* For schedulers in BPF: what they see and answer (view.h), and what they may call. See
 * Documentation/write-a-scheduler.md.
 */
#ifndef _PAMS_BPF_H
#define _PAMS_BPF_H

#include <stdbool.h>

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef u8 __u8;
typedef u16 __u16;
typedef u32 __u32;
typedef u64 __u64;
typedef signed int __s32;
typedef signed long long __s64;
typedef u16 __be16;
typedef u32 __be32;
typedef u32 __wsum;

/* of linux/bpf.h, whose types would be there twice */
enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
};

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

/* libbpf finds each field where the module that is loaded has it */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
#include "../../net/mptcp_pams/view.h"
#pragma clang attribute pop

/* The functions of net/mptcp_pams/bpf.c, which describes them. */
const struct pams_model *pams_sub(const struct pams_view *view, u32 i) __ksym;
u32 pams_arrival_us(const struct pams_view *view, u32 i, u32 bytes) __ksym;
u64 pams_carried_bytes(const struct pams_view *view, u32 i, u32 span_us) __ksym;

/* pams_is(sub, idle): a flag of struct pams_model, which is one bit of a u32. libbpf's own macro
 * tries all sizes of words, and leaves a value unset between them that the verifier stumbles over.
 */
#define pams_is(_sub, _flag) ({						\
	const void *_word = (const void *)(_sub) +			\
			    __CORE_RELO(_sub, _flag, BYTE_OFFSET);	\
	(bool)((u64)*(const u32 *)_word <<				\
	       __CORE_RELO(_sub, _flag, LSHIFT_U64) >> 63);		\
})

/* for (i = 0; (sub = pams_nth(view, i)); i++), a loop that the verifier sees the end of */
static __always_inline const struct pams_model *pams_nth(const struct pams_view *view, u32 i)
{
	return i < PAMS_SUBFLOWS_MAX ? pams_sub(view, i) : (void *)0;
}

/* PAMS_SCHEDULER(name, functions): the scheduler, as struct pams_sched_ops has it */
#define PAMS_SCHEDULER(_name, ...)					\
char LICENSE[] SEC("license") = "GPL";					\
SEC(".struct_ops") struct pams_sched_ops _name = {			\
	.name = #_name,							\
	__VA_ARGS__							\
}

#endif /* _PAMS_BPF_H */
