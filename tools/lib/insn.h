/* SPDX-License-Identifier: GPL-2.0 */
/*
 * insn - BPF instructions as C initializers, for programs that need no compiler for BPF
 *
 * A jump's offset counts from the next instruction on.
 */
#ifndef PAMS_INSN_H
#define PAMS_INSN_H

#include <stdint.h>
#include <string.h>

#include <linux/bpf.h>

#define INSN(op, to, from, where, number)				\
	((struct bpf_insn){ .code = (op), .dst_reg = (to),		\
			    .src_reg = (from), .off = (where),		\
			    .imm = (number) })
#define LET(to, number)	INSN(BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, number)
#define COPY(to, from)	INSN(BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0)
#define ADD(to, number)	INSN(BPF_ALU64 | BPF_ADD | BPF_K, to, 0, 0, number)
#define AND(to, number)	INSN(BPF_ALU64 | BPF_AND | BPF_K, to, 0, 0, number)
#define AND_WITH(to, from)						\
	INSN(BPF_ALU64 | BPF_AND | BPF_X, to, from, 0, 0)
#define SHIFT_RIGHT(to, number)						\
	INSN(BPF_ALU64 | BPF_RSH | BPF_K, to, 0, 0, number)
#define LOAD(to, from, where)						\
	INSN(BPF_LDX | BPF_MEM | BPF_DW, to, from, where, 0)
#define LOAD32(to, from, where)						\
	INSN(BPF_LDX | BPF_MEM | BPF_W, to, from, where, 0)
#define STORE(to, where, from)						\
	INSN(BPF_STX | BPF_MEM | BPF_DW, to, from, where, 0)
#define STORE32(to, where, from)					\
	INSN(BPF_STX | BPF_MEM | BPF_W, to, from, where, 0)
#define PUT32(to, where, number)					\
	INSN(BPF_ST | BPF_MEM | BPF_W, to, 0, where, number)
#define COUNT(to, where, from)						\
	INSN(BPF_STX | BPF_ATOMIC | BPF_DW, to, from, where, BPF_ADD)
#define COUNT32(to, where, from)					\
	INSN(BPF_STX | BPF_ATOMIC | BPF_W, to, from, where, BPF_ADD)
/* A map's address takes two instructions: HALF() has to follow. */
#define LET_MAP(to, fd)							\
	INSN(BPF_LD | BPF_IMM | BPF_DW, to, BPF_PSEUDO_MAP_FD, 0, fd)
#define HALF()	INSN(0, 0, 0, 0, 0)
#define CALL(helper)	INSN(BPF_JMP | BPF_CALL, 0, 0, 0, helper)
#define EXIT()		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
/* Compare 32 bits: the upper half of a register that holds an int is undefined. */
#define IF_IS(reg, number, steps)					\
	INSN(BPF_JMP32 | BPF_JEQ | BPF_K, reg, 0, steps, number)
#define IF_NOT(reg, number, steps)					\
	INSN(BPF_JMP32 | BPF_JNE | BPF_K, reg, 0, steps, number)
#define IF_BELOW(reg, number, steps)					\
	INSN(BPF_JMP32 | BPF_JLT | BPF_K, reg, 0, steps, number)
#define IF_ZERO(reg, steps)						\
	INSN(BPF_JMP | BPF_JEQ | BPF_K, reg, 0, steps, 0)
#define IF_NOT_ZERO(reg, steps)						\
	INSN(BPF_JMP | BPF_JNE | BPF_K, reg, 0, steps, 0)

#define OUT	INT16_MAX	/* a jump to the program's end, see put_end() */

enum { R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, STACK };

/* A program that is put together. PUT() adds instructions to one that is called program. */
struct program {
	struct bpf_insn at[640];
	int count;
};

#define PUT(...)							\
	do {								\
		const struct bpf_insn put[] = { __VA_ARGS__ };		\
									\
		memcpy(program->at + program->count, put, sizeof(put));	\
		program->count += sizeof(put) / sizeof(put[0]);		\
	} while (0)

/* Return this number; jumps OUT lead here. */
static inline void put_end(struct program *program, int32_t number)
{
	for (int i = 0; i < program->count; i++)
		if (program->at[i].off == OUT)
			program->at[i].off = program->count - i - 1;
	PUT(LET(R0, number), EXIT());
}

#endif /* PAMS_INSN_H */
