// SPDX-License-Identifier: GPL-2.0
/*
 * mark - a BPF program that drops datagrams whose mark is wrong
 *
 * Anybody on the way can read a key's id, and then send datagrams that name it. Without the
 * key they lack the mark, SipHash-2-4 of the header (tools/lib/report.c). The program makes it,
 * too, with the key that it finds under the id in a table. So a flood of them fills no socket
 * while the daemon waits for a processor. Of this version of the protocol only reports pass.
 *
 * The program is loaded before privileges are dropped; to fill the table takes none. Where it
 * can't be loaded the filter looks at the key's id alone (filter.c).
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "peers.h"
#include "server.h"

#ifndef HAVE_BPF

void marks_open(void)
{
}

void marks_close(void)
{
}

bool marks_are_open(void)
{
	return false;
}

int marks_fill(const struct peers *peers)
{
	(void)peers;
	return -EOPNOTSUPP;
}

int marks_program(void)
{
	return -1;
}

void marks_forget(void)
{
}

#else

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "../../lib/insn.h"

#define PEERS_MAX	65536
#define HEADER_AT	8	/* behind UDP's */
#define MARKED_BYTES	(REPORT_HEADER_BYTES - REPORT_MARK_BYTES)
#define KEY_BYTES	sizeof(((struct report_keys *)NULL)->mark)

/* On the stack: the header. */
#define HEADER		(-REPORT_HEADER_BYTES)
#define ID		(HEADER + 8)
#define MARK		(HEADER + MARKED_BYTES)

#define LOAD16(to, from, where)	INSN(BPF_LDX | BPF_MEM | BPF_H, to, from, where, 0)
#define PLUS(to, from)	INSN(BPF_ALU64 | BPF_ADD | BPF_X, to, from, 0, 0)
#define XOR(to, from)	INSN(BPF_ALU64 | BPF_XOR | BPF_X, to, from, 0, 0)
#define XOR_NUMBER(to, number)						\
	INSN(BPF_ALU64 | BPF_XOR | BPF_K, to, 0, 0, number)
#define TO_LITTLE(reg)						\
	INSN(BPF_ALU | BPF_END | BPF_TO_LE, reg, 0, 0, 64)

static int table = -1, program_fd = -1;

/* --- SipHash; R1 to R4: its state, R5: a word of what is hashed --- */

static void put_number(struct program *program, int to, uint64_t number)
{
	PUT(INSN(BPF_LD | BPF_IMM | BPF_DW, to, 0, 0, (int32_t)number),
	    INSN(0, 0, 0, 0, (int32_t)(number >> 32)));
}

/* R0 is overwritten. */
static void put_turn(struct program *program, int reg, int bits)
{
	PUT(COPY(R0, reg),
	    INSN(BPF_ALU64 | BPF_LSH | BPF_K, reg, 0, 0, bits),
	    SHIFT_RIGHT(R0, 64 - bits),
	    INSN(BPF_ALU64 | BPF_OR | BPF_X, reg, R0, 0, 0));
}

static void put_add(struct program *program, int to, int other, int bits)
{
	PUT(PLUS(to, other));
	put_turn(program, other, bits);
	PUT(XOR(other, to));
}

static void put_rounds(struct program *program, unsigned int rounds)
{
	while (rounds--) {
		put_add(program, R1, R2, 13);
		put_turn(program, R1, 32);
		put_add(program, R3, R4, 16);
		put_add(program, R1, R4, 21);
		put_add(program, R3, R2, 17);
		put_turn(program, R3, 32);
	}
}

static void put_word(struct program *program)
{
	PUT(XOR(R4, R5));
	put_rounds(program, 2);
	PUT(XOR(R1, R5));
}

/* R0: the key; leaves the hash in R1 */
static void put_hash(struct program *program)
{
	PUT(LOAD(R6, R0, 0), TO_LITTLE(R6), LOAD(R7, R0, 8), TO_LITTLE(R7));
	put_number(program, R1, 0x736f6d6570736575);
	put_number(program, R2, 0x646f72616e646f6d);
	put_number(program, R3, 0x6c7967656e657261);
	put_number(program, R4, 0x7465646279746573);
	PUT(XOR(R1, R6), XOR(R2, R7), XOR(R3, R6), XOR(R4, R7));
	for (int at = 0; at < MARKED_BYTES; at += 8) {
		PUT(LOAD(R5, STACK, HEADER + at), TO_LITTLE(R5));
		put_word(program);
	}
	put_number(program, R5, (uint64_t)MARKED_BYTES << 56);
	put_word(program);
	PUT(XOR_NUMBER(R3, 0xff));
	put_rounds(program, 4);
	PUT(XOR(R1, R2), XOR(R1, R3), XOR(R1, R4));
}

/* --- the program --- */

static int load_program(void)
{
	LIBBPF_OPTS(bpf_prog_load_opts, options);
	struct program all = { }, *program = &all;
	const uint8_t version_type[] = { REPORT_VERSION, REPORT_TYPE_REPORT };
	uint32_t magic;
	uint16_t ours;

	static_assert(MARKED_BYTES % 8 == 0, "words");
	memcpy(&magic, "PAMS", sizeof(magic));
	memcpy(&ours, version_type, sizeof(ours));
	PUT(LET(R2, HEADER_AT), COPY(R3, STACK), ADD(R3, HEADER), LET(R4, REPORT_HEADER_BYTES),
	    CALL(BPF_FUNC_skb_load_bytes), IF_NOT(R0, 0, OUT),
	    LOAD32(R1, STACK, HEADER), IF_NOT(R1, (int32_t)magic, OUT),
	    LOAD16(R1, STACK, HEADER + 4), IF_NOT(R1, ours, OUT),
	    LET_MAP(R1, table), HALF(), COPY(R2, STACK), ADD(R2, ID),
	    CALL(BPF_FUNC_map_lookup_elem), IF_ZERO(R0, OUT));
	put_hash(program);
	PUT(TO_LITTLE(R1), LOAD(R2, STACK, MARK), LET(R0, -1),
	    INSN(BPF_JMP | BPF_JEQ | BPF_X, R1, R2, 1, 0));
	put_end(program, 0);
	return bpf_prog_load(BPF_PROG_TYPE_SOCKET_FILTER, "pams_marks", "GPL", program->at,
			     program->count, &options);
}

void marks_open(void)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_NO_PREALLOC);

	libbpf_set_print(NULL);
	table = bpf_map_create(BPF_MAP_TYPE_HASH, "pams_marks", REPORT_ID_BYTES, KEY_BYTES,
			       PEERS_MAX, &options);
	if (table < 0)
		return;
	program_fd = load_program();
	if (program_fd < 0)
		marks_close();
}

void marks_close(void)
{
	if (program_fd >= 0)
		close(program_fd);
	if (table >= 0)
		close(table);
	program_fd = -1;
	table = -1;
}

bool marks_are_open(void)
{
	return program_fd >= 0;
}

int marks_program(void)
{
	return program_fd;
}

void marks_forget(void)
{
	uint8_t id[REPORT_ID_BYTES];

	while (table >= 0 && !bpf_map_get_next_key(table, NULL, id) &&
	       !bpf_map_delete_elem(table, id))
		;
}

int marks_fill(const struct peers *peers)
{
	int err = program_fd < 0 ? -EOPNOTSUPP : 0;

	for (unsigned int i = 0; !err && i < peers_count(peers); i++)
		err = bpf_map_update_elem(table, peers_keys(peers, i)->id,
					  peers_keys(peers, i)->mark, BPF_ANY);
	return err;
}

#endif
