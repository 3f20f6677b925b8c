/* SPDX-License-Identifier: GPL-2.0 */
/* Estimates how much a helper that splits TCP has acknowledged and not delivered yet, from
 * the sender's numbers alone. bank.c has the equations, split.c passes in the numbers.
 */
#ifndef _MPTCP_PAMS_BANK_H
#define _MPTCP_PAMS_BANK_H

#include <linux/types.h>

/* A bank is noticed when it holds this many bytes. */
#define BANK_SPLIT_BYTES	8192U

#define BANK_RANGES	512U	/* 0.7 MB of single packets; takes 8 KB */
#define BANK_PATHS	8U	/* subflows in a log; data of other subflows isn't logged */

/**
 * struct bank_range - data without a DATA_ACK that a subflow was given in one go
 * @start:	low half of the first byte's data sequence number
 * @bytes:	number of bytes
 * @once:	number of bytes, from @start on, that weren't sent again elsewhere
 * @seq:	TCP's sequence number of the first byte
 * @path:	index of the subflow in struct pams_bank
 */
struct bank_range {
	u32 start;
	u32 seq;
	u16 bytes;
	u16 once;
	u8 path;
};

/**
 * struct bank_path - a subflow, and the bank of the helper behind it; times of TCP's clock
 * @id:		subflow_id, 0: this entry is free
 * @write_seq:	TCP's write_seq at the last look; what is before it is logged
 * @snd_una:	TCP's snd_una at the last look
 * @held_bytes:	the subflow's bytes in ranges, plus @spent_bytes
 * @spent_bytes: bytes that were sent again elsewhere, and got their DATA_ACK from there; the
 *		pipe still delivers them, before anything else
 * @banked_bytes: those of @held_bytes that TCP has acknowledged and that, as far as is known,
 *		are not delivered
 * @passed_bytes: bytes in ranges that got a DATA_ACK, and weren't sent again elsewhere
 * @rate_byteps: rate at which the pipe delivers, 0 if unknown
 * @update_us:	when @banked_bytes was computed
 * @last_us:	when the first missing byte last was on this subflow, or nothing was held; moved
 *		on each time that @rate_byteps is raised
 * @spent_us:	when @spent_bytes was last above 0
 * @sample_us:	when the sample of the rate began
 * @sample_bytes: @passed_bytes when it began
 * @full_us:	since when the first missing byte, whenever it was on this subflow, was banked
 *		with BANK_SPLIT_BYTES or more
 * @lost_at:	low half of the data sequence number of the next byte to send again in the part
 *		that bank_next_lost() returned
 * @lost_end:	end of that part
 * @lost:	the path is lost: data that TCP has acknowledged has to be sent again, too
 * @sampling:	a sample of the rate is under way
 * @sample_ran_dry: nothing was banked for a part of the sample
 * @full:	@full_us is valid
 * @split:	a helper ends this subflow's TCP
 */
struct bank_path {
	u32 id;
	u32 write_seq;
	u32 snd_una;
	u32 held_bytes;
	u32 spent_bytes;
	u32 banked_bytes;
	u32 passed_bytes;
	u32 rate_byteps;
	u32 update_us;
	u32 last_us;
	u32 spent_us;
	u32 sample_us;
	u32 sample_bytes;
	u32 full_us;
	u32 lost_at;
	u32 lost_end;
	bool lost;
	bool sampling;
	bool sample_ran_dry;
	bool full;
	bool split;
};

/**
 * struct pams_bank - the log of a connection; data sequence numbers are low halves
 * @begin:	data sequence number where the log begins
 * @snd_nxt:	data sequence number behind the last byte that is logged
 * @snd_una:	data sequence number of the first byte without a DATA_ACK
 * @moved_us:	when @snd_una last advanced
 * @head:	index of the subflow whose TCP has acknowledged the first missing byte; or
 *		negative
 * @first:	number of the oldest range; modulo BANK_RANGES it is an index
 * @next:	number behind the newest range
 * @path:	the subflows
 * @range:	the ranges, in the order of their data sequence numbers
 */
struct pams_bank {
	u32 begin;
	u32 snd_nxt;
	u32 snd_una;
	u32 moved_us;
	s32 head;
	u32 first;
	u32 next;
	struct bank_path path[BANK_PATHS];
	struct bank_range range[BANK_RANGES];
};

/**
 * struct bank_seen - a subflow's numbers at a look
 * @id:		subflow_id
 * @write_seq:	TCP's write_seq
 * @snd_una:	TCP's snd_una
 */
struct bank_seen {
	u32 id;
	u32 write_seq;
	u32 snd_una;
};

void bank_begin(struct pams_bank *bank, u32 snd_nxt, u32 snd_una, u32 now_us);
void bank_look(struct pams_bank *bank, const struct bank_seen *seen, unsigned int nr,
	       u32 snd_nxt, u32 snd_una, bool behind, u32 now_us);
const struct bank_path *bank_path_of(const struct pams_bank *bank, u32 id);
u32 bank_head_us(const struct pams_bank *bank, u32 now_us);
u32 bank_once_bytes(const struct pams_bank *bank, const struct bank_path *path);
bool bank_last_once(const struct pams_bank *bank, const struct bank_path *path,
		    u32 *start, u32 *bytes);
bool bank_next_lost(struct pams_bank *bank, u32 id, u32 *start, u32 *bytes);
void bank_lost_sent(struct pams_bank *bank, u32 id, u32 bytes);
void bank_sent_again(struct pams_bank *bank, u32 start, u32 bytes);

#endif /* _MPTCP_PAMS_BANK_H */
