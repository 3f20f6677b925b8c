/* SPDX-License-Identifier: GPL-2.0 */
/* What a helper that splits TCP has acknowledged and not delivered yet, from the numbers
 * of the sender alone. Plain numbers; bank.c has the equations, split.c fills it in.
 */
#ifndef _MPTCP_PAMS_BANK_H
#define _MPTCP_PAMS_BANK_H

#include <linux/types.h>

#define BANK_RANGES	512U	/* 0.7 MB of single packets; 8 KB */
#define BANK_PATHS	8U	/* the path manager's limit */

/**
 * struct bank_range - data that a subflow was given in one go
 * @start:	low half of its first byte's data sequence number
 * @bytes:	how much of it has no DATA_ACK
 * @once:	how much of that, from @start on, wasn't sent again elsewhere
 * @seq:	TCP's sequence number of its first byte
 * @path:	index of the subflow
 */
struct bank_range {
	u32 start;
	u32 seq;
	u16 bytes;
	u16 once;
	u8 path;
};

/**
 * struct bank_path - a subflow
 * @id:		the connection's number for it, 0: none
 * @write_seq:	TCP's, behind what was logged
 * @snd_una:	TCP's
 * @held_bytes:	in ranges, without a DATA_ACK; and @spent_bytes
 * @spent_bytes: that have a DATA_ACK since they were sent again elsewhere, and that the
 *		pipe brings nevertheless, before anything else
 * @banked_bytes: of these, acknowledged by TCP and, as far as is known, not delivered
 * @passed_bytes: of ranges, that got a DATA_ACK
 * @rate_byteps: at which the pipe delivers, 0 if unknown
 * @update_us:	when @banked_bytes was reckoned
 * @last_us:	when the first missing byte was here last, or @rate_byteps was raised since
 * @spent_us:	when there were @spent_bytes last
 * @sample_us:	when the sample of the rate was begun,
 * @sample_bytes: at these @passed_bytes
 * @full_us:	since when the first missing byte has always been here, whenever it was on
 *		this path at all, with data of some size behind it
 * @lost_at:	low half of the data sequence number of what is sent again next since the
 *		pipe is dead,
 * @lost_end:	and behind that part
 * @lost:	what it has acknowledged was sent again, or is to be, since its path is lost
 * @sampling:	there is a sample under way,
 * @sample_ran_dry: and nothing was banked for a part of it
 * @full:	@full_us holds
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
 * struct pams_bank - of a connection
 * @begin:	low half of the data sequence number from which on it was logged
 * @snd_nxt:	and behind what was logged
 * @snd_una:	low half of the first byte without a DATA_ACK
 * @moved_us:	when @snd_una last advanced
 * @head:	the subflow that holds the first missing byte, and has an acknowledgment for
 *		it; or negative
 * @first:	number of the oldest range,
 * @next:	and behind the newest; modulo BANK_RANGES an index
 * @path:	the subflows
 * @range:	in the order of their data sequence numbers
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
 * struct bank_seen - a subflow at a look
 * @id:		the connection's number for it
 * @write_seq:	TCP's
 * @snd_una:	TCP's
 */
struct bank_seen {
	u32 id;
	u32 write_seq;
	u32 snd_una;
};

void bank_begin(struct pams_bank *bank, u32 snd_nxt, u32 snd_una, u32 now_us);
void bank_look(struct pams_bank *bank, const struct bank_seen *seen, unsigned int nr,
	       u32 snd_nxt, u32 snd_una, u32 now_us);
const struct bank_path *bank_path_of(const struct pams_bank *bank, u32 id);
u32 bank_head_us(const struct pams_bank *bank, u32 now_us);
u32 bank_once_bytes(const struct pams_bank *bank, const struct bank_path *path);
bool bank_last_once(const struct pams_bank *bank, const struct bank_path *path,
		    u32 *start, u32 *bytes);
bool bank_next_lost(struct pams_bank *bank, u32 id, u32 *start, u32 *bytes);
void bank_lost_sent(struct pams_bank *bank, u32 id, u32 bytes);
void bank_sent_again(struct pams_bank *bank, u32 start, u32 bytes);

#endif /* _MPTCP_PAMS_BANK_H */
