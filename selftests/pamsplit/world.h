/* SPDX-License-Identifier: GPL-2.0 */
/*
 * world - what is simulated around the core: a scene, its two legs, and the ends (ends.c)
 */
#ifndef PAMSPLIT_WORLD_H
#define PAMSPLIT_WORLD_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "make.h"
#include "split.h"

struct leg {
	uint64_t rate_byteps;
	uint64_t delay_us;
	uint64_t queue_bytes;
	unsigned int loss, late, twice;	/* in thousands */
};

struct scene {
	const char *name;
	struct leg hs, pipe;
	uint32_t bytes;
	uint32_t isn, client_isn, stamp;
	unsigned int data_ack_len;
	uint32_t window;		/* of the client */
	uint64_t reader_stops_us, reader_goes_on_us;
	uint64_t pipe_rate_at_us, pipe_rate_byteps;
	uint64_t pipe_dies_us, pipe_back_us;	/* 0: not again */
	uint64_t pipe_narrow_us;	/* from then on it takes packets up to ... */
	uint32_t pipe_mtu;		/* ... that many bytes */
	uint64_t client_bursts_us;	/* what the client says comes at its multiples */
	uint64_t drain_us;
	uint64_t stranger_us;		/* somebody else's SYN comes to the core */
	unsigned int pieces;		/* segments put together by offload */
	uint32_t payload;		/* of a segment, 0: all that fits */
	uint64_t memory;		/* of the flow, 0: 2 MB */
	uint64_t lend_byteps;		/* cap of what clients get */
	uint64_t least_us, most_us;	/* it has to be done then */
	bool resets;			/* it has to end with a reset */
	bool pays;			/* it is split only where that pays: ... */
	enum { ANY_WAY, NEVER, BEGINS, RESTS } how;	/* ... so */
	uint64_t pipe_heals_us;		/* from then on it loses nothing */
	/* of the client's, in thousandths of its packets */
	unsigned int reneges;		/* it drops what it has SACKed */
	unsigned int shrinks;		/* its window is smaller by up to half */
	unsigned int uploads;		/* they carry data */
};

enum place { SERVER, CORE_UP, CORE_DOWN, CLIENT };

struct flight {
	struct flight *next;
	uint64_t at_us;
	enum place to;
	uint64_t number;		/* its place among all that were sent */
	bool passed;			/* as it is, while the core passed the flow */
	size_t len;
	uint8_t data[];
};

struct world {
	const struct scene *scene;
	uint64_t now_us;
	uint64_t free_at_us[4];		/* of the link to a place */
	struct flight *flights;
	struct flight *held;		/* packets that the core holds; at_us: their ids */
	uint64_t sent;			/* so many packets by now */
	uint32_t last_id;
	struct split *split;
	bool left;			/* packets pass the core */
	bool rested;			/* the flow was split, and is passed again */
	char wrong[200];

	/* the server */
	uint32_t una, nxt, cwnd, recover;
	unsigned int dups;
	uint64_t rto_at_us;
	bool server_reset, fin_acked;
	uint64_t wnd_end;
	uint32_t uploads_came;

	/* the client */
	uint32_t rcv_nxt;
	uint8_t *has;			/* a flag for each byte ... */
	uint32_t highest;		/* ... up to here */
	uint32_t unread;
	bool client_reset, fin_came;
	uint32_t uploaded, uploads_acked;
	uint64_t answered_us;		/* the last without data that wasn't due */
	uint32_t ts_recent;
	uint64_t ts_recent_number;	/* of the packet that it is from */

	/* what may be */
	uint64_t data_ack_sent, right_edge;
	uint32_t hs_came;		/* the core has all before it */
	uint8_t *came;
	uint32_t tsval_up, tsval_down;
	bool up_any, down_any;
	uint64_t memory_max;
};

extern struct world world;

static inline void wrong(const char *what)
{
	if (!*world.wrong)
		snprintf(world.wrong, sizeof(world.wrong), "%s at %.6f s", what,
			 world.now_us / 1e6);
}

static inline uint32_t stamp_now(void)
{
	return world.scene->stamp + world.now_us / 1000;
}

static inline uint8_t pattern(uint32_t offset)
{
	return offset * 2654435761U >> 24;
}

static inline bool chance(unsigned int thousandths)
{
	return (unsigned int)rand() % 1000 < thousandths;
}

/* legs.c */
bool is_passed(void);
void schedule(enum place to, uint64_t at_us, const uint8_t *data, size_t len);
void transmit(enum place to, const uint8_t *data, size_t len);

/* peers.c */
void handshake(bool up);
void client_says(bool first);
void server_sends(uint32_t offset);
void server_pushes(void);
void to_server(uint8_t *data, size_t len);
void to_client(struct flight *flight);

/* scenes.c */
extern const struct scene scenes[];
extern const unsigned int scenes_count;
void draw(struct scene *scene, unsigned int seed);

#endif /* PAMSPLIT_WORLD_H */
