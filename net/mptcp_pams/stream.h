/* SPDX-License-Identifier: GPL-2.0 */
/* Is a connection a stream, and how much of it may a path hold? See stream.c. */
#ifndef _MPTCP_PAMS_STREAM_H
#define _MPTCP_PAMS_STREAM_H

#include <linux/types.h>

/* What a stream bears: it stalls for about as long when a path is lost untold. */
#define STREAM_LATE_US		100000U

struct pams_model;
struct pams_view;

/**
 * struct stream_state - what is known of how the application writes; 0 at first
 * @mark:	low half of the data sequence number up to which data was written at @mark_ms
 * @mark_ms:	when @mark was set
 * @seen_ms:	when stream_follow() was called last
 * @lived_ms:	for how long the connection was a stream, less how long it wasn't
 * @bounds:	the last look bounded the subflows' room (look.c)
 */
struct stream_state {
	u32 mark;
	u32 mark_ms;
	u32 seen_ms;
	u16 lived_ms;
	bool bounds;
};

bool stream_follow(struct stream_state *state, u32 write_seq, u32 snd_nxt, bool waits,
		   u32 now_ms);
void stream_bound(struct pams_model *model, u32 packet_bytes);
int stream_late(const struct pams_view *view);

#endif /* _MPTCP_PAMS_STREAM_H */
