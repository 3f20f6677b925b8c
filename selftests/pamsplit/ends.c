// SPDX-License-Identifier: GPL-2.0
/*
 * ends - the core between two simulated ends, in virtual time
 *
 *	server --- HS-path --- core --- pipe --- client
 *
 * The server sends a pattern by the simplest of TCPs, the client checks every
 * byte. The server acknowledges all uploads up to the last one that came, and the client keeps to
 * the server's window. Each leg has a rate, a delay, a queue, and loses, reorders and doubles at
 * random, from fixed seeds. Of every packet that the core lets through or makes
 * it is checked what split.h promises:
 *
 *	no DATA_ACK that the client hasn't sent
 *	no right edge beyond the client's
 *	no acknowledgment of what hasn't come, nor of a FIN before the client's
 *	time stamps never run back, to either end, in the order in which packets are sent
 *	the bytes, and no more memory than allowed
 *	each packet that is held goes on, or is dropped, once; the pace has room for what goes on
 *	no flow stands still (live.h)
 *
 * Beside the scenes there are drawn ones, in which the client also drops what it has SACKed,
 * shrinks its window, and uploads.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../pamsd/tap.h"
#include "live.h"
#include "make.h"
#include "split.h"

#define SEEDS		6		/* of what is random */
#define LIMIT_US	(300 * 1000000ULL)
#define SERVER_WINDOW	60000		/* as make_data() has it */

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

static struct {
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
} world;

static void wrong(const char *what)
{
	if (!*world.wrong)
		snprintf(world.wrong, sizeof(world.wrong), "%s at %.6f s", what,
			 world.now_us / 1e6);
}

static uint32_t stamp_now(void)
{
	return world.scene->stamp + world.now_us / 1000;
}

static uint8_t pattern(uint32_t offset)
{
	return offset * 2654435761U >> 24;
}

static bool chance(unsigned int thousandths)
{
	return (unsigned int)rand() % 1000 < thousandths;
}

/* --- links --- */

static bool passes;

static void note_passing(void *arg, const struct split_info *info)
{
	(void)arg;
	passes = info->passing;
}

/* Does the core pass the flow, so that the path itself changes the order? */
static bool is_passed(void)
{
	passes = world.left;
	split_each(world.split, note_passing, NULL);
	return passes;
}

static void schedule(enum place to, uint64_t at_us, const uint8_t *data,
		     size_t len)
{
	struct flight **at = &world.flights;
	struct flight *flight = malloc(sizeof(*flight) + len);

	flight->at_us = at_us;
	flight->to = to;
	flight->number = world.sent;
	flight->passed = is_passed();
	flight->len = len;
	memcpy(flight->data, data, len);
	while (*at && (*at)->at_us <= at_us)
		at = &(*at)->next;
	flight->next = *at;
	*at = flight;
}

static struct leg leg_to(enum place to)
{
	struct leg leg = to == SERVER || to == CORE_DOWN ? world.scene->hs
							 : world.scene->pipe;
	bool of_pipe = to == CLIENT || to == CORE_UP;

	if (of_pipe && world.scene->pipe_rate_at_us &&
	    world.now_us >= world.scene->pipe_rate_at_us)
		leg.rate_byteps = world.scene->pipe_rate_byteps;
	if (of_pipe && world.scene->pipe_dies_us &&
	    world.now_us >= world.scene->pipe_dies_us &&
	    (!world.scene->pipe_back_us || world.now_us < world.scene->pipe_back_us))
		leg.loss = 1000;
	if (of_pipe && world.scene->pipe_heals_us && world.now_us >= world.scene->pipe_heals_us)
		leg.loss = 0;
	return leg;
}

static void transmit(enum place to, const uint8_t *data, size_t len)
{
	struct leg leg = leg_to(to);
	uint64_t start_us = world.free_at_us[to], at_us;

	world.sent++;
	if (start_us < world.now_us)
		start_us = world.now_us;
	if ((start_us - world.now_us) * leg.rate_byteps / 1000000 >
	    leg.queue_bytes || chance(leg.loss))
		return;
	world.free_at_us[to] = start_us + len * 1000000 / leg.rate_byteps;
	at_us = world.free_at_us[to] + leg.delay_us;
	if (chance(leg.late))
		at_us += leg.delay_us / 2;
	if (to == CORE_UP && world.scene->client_bursts_us)
		at_us += world.scene->client_bursts_us - at_us % world.scene->client_bursts_us;
	schedule(to, at_us, data, len);
	if (chance(leg.twice))
		schedule(to, at_us + 100, data, len);
}

/* --- making packets --- */

static void handshake(bool up)
{
	const struct scene *scene = world.scene;
	uint8_t data[256];
	size_t len = make_handshake(data, up, up ? scene->client_isn : scene->isn,
				    up ? 0 : scene->client_isn + 1, stamp_now());

	if (split_packet(world.split, world.now_us, data, len) == SPLIT_TAKEN)
		wrong("the handshake is taken");
	if (up && data[33] & (TCP_ECE | TCP_CWR))
		wrong("ECN is agreed on");
}

static uint32_t window_now(void)
{
	bool stopped = world.scene->reader_stops_us &&
		       world.now_us >= world.scene->reader_stops_us &&
		       world.now_us < world.scene->reader_goes_on_us;

	uint32_t window = world.scene->window;

	if (!stopped)
		world.unread = 0;
	if (world.scene->shrinks && chance(world.scene->shrinks))
		window -= (uint32_t)rand() % (window / 2);
	return world.unread < window ? (window - world.unread) >> CLIENT_SCALE : 0;
}

/* RFC 2018, 8: it may drop what isn't in order, even what it has SACKed. */
static void client_reneges(void)
{
	uint32_t have = world.rcv_nxt - world.scene->isn - 1;

	if (have < world.highest)
		memset(world.has + have, 0, world.highest - have);
	world.highest = have;
}

/* What the client says: all it has, its window, and one SACK. */
static void client_says(bool first)
{
	const struct scene *scene = world.scene;
	uint8_t data[256], options[40] = { };
	uint32_t have = world.rcv_nxt - scene->isn - 1, from, to;
	uint32_t window = window_now();
	bool may_upload = !first && world.uploaded - world.uploads_acked + 100 <= SERVER_WINDOW;
	uint32_t payload = may_upload && scene->uploads && chance(scene->uploads) ? 100 : 0;
	size_t len = put_stamps(options, stamp_now(), world.ts_recent), dss = 4;

	if (first) {
		options[len] = 30;
		options[len + 1] = 24;
		options[len + 2] = MP_JOIN << 4;
		len += 24;
	} else {
		/* one byte of data is one of the connection's */
		uint64_t data_ack = (scene->data_ack_len == 8 ? 1ULL << 40 : 0)
				    + 0xffff0000U + have;

		options[len] = 30;
		options[len + 1] = 4 + scene->data_ack_len;
		options[len + 2] = MP_DSS << 4;
		options[len + 3] = scene->data_ack_len == 8 ? 3 : 1;
		if (scene->data_ack_len == 8) {
			put32(options + len + dss, data_ack >> 32);
			dss += 4;
		}
		put32(options + len + dss, data_ack);
		len += dss + 4;
		world.data_ack_sent = have;
		if (have + ((uint64_t)window << CLIENT_SCALE) >
		    world.right_edge)
			world.right_edge = have +
					   ((uint64_t)window << CLIENT_SCALE);
		for (from = have; from < world.highest && !world.has[from]; )
			from++;
		for (to = from; to < world.highest && world.has[to]; )
			to++;
		if (from > have && to > from) {
			options[len] = 1;
			options[len + 1] = 1;
			options[len + 2] = 5;
			options[len + 3] = 10;
			put32(options + len + 4, from + scene->isn + 1);
			put32(options + len + 8, to + scene->isn + 1);
			len += 12;
		}
	}
	len = make(data, true, scene->client_isn + 1 + world.uploaded,
		   world.rcv_nxt + world.fin_came, TCP_ACK, window, options,
		   len, payload);
	memset(data + len - payload, 0, payload);
	world.uploaded += payload;
	packet_seal(data, len);
	transmit(CORE_UP, data, len);
}

static void server_sends(uint32_t offset)
{
	static uint8_t data[70000];
	const struct scene *scene = world.scene;
	uint32_t most = (MSS - 32) * (scene->pieces ? scene->pieces : 1);
	uint32_t left = scene->bytes - offset;
	uint32_t payload = left < most ? left : most;
	uint8_t flags = TCP_ACK;
	size_t len;

	if (scene->payload && payload > scene->payload)
		payload = scene->payload;
	if (offset + payload == scene->bytes)
		flags |= TCP_FIN | TCP_PSH;
	len = make_data(data, scene->isn + 1 + offset,
			scene->client_isn + 1 + world.uploads_came, stamp_now(), flags, payload);
	for (uint32_t i = 0; i < payload; i++)
		data[len - payload + i] = pattern(offset + i);
	packet_seal(data, len);
	transmit(CORE_DOWN, data, len);
	if (offset + payload > world.nxt)
		world.nxt = offset + payload;
}

static void server_pushes(void)
{
	while (world.nxt < world.scene->bytes &&
	       world.nxt - world.una < world.cwnd &&
	       world.nxt < world.wnd_end && !world.server_reset)
		server_sends(world.nxt);
	if (world.rto_at_us == NEVER_US && world.una < world.nxt)
		world.rto_at_us = world.now_us + 400000;
}

static void server_acknowledges(void)
{
	const struct scene *scene = world.scene;
	uint8_t data[256];
	size_t len = make_data(data, scene->isn + 1 + world.nxt,
			       scene->client_isn + 1 + world.uploads_came, stamp_now(), TCP_ACK, 0);

	packet_seal(data, len);
	transmit(CORE_DOWN, data, len);
}

/* --- receiving them --- */

static void check_up(const struct packet *packet)
{
	uint32_t have = world.hs_came + world.scene->isn + 1;
	uint32_t data_ack;

	if (packet->flags & (TCP_RST | TCP_SYN))
		return;
	if (!packet_intact(packet))
		wrong("checksum, to the server");
	if (after(packet->ack, have + world.fin_came))
		wrong("an acknowledgment of what hasn't come");
	if (packet->sack_at && before(get32(packet->data + packet->sack_at + 2),
				      world.scene->isn))
		wrong("SACK of nothing");
	if (world.up_any && before(packet->tsval, world.tsval_up) && !is_passed())
		wrong("the time stamp runs back, to the server");
	/* of what passes the core the path itself changes the order */
	if (!world.left)
		world.tsval_up = world.up_any ? seq_max(world.tsval_up, packet->tsval) :
						packet->tsval;
	world.up_any = true;
	if (!packet->data_ack_len)
		return;
	data_ack = (uint32_t)packet->data_ack - 0xffff0000U;
	if (data_ack > world.data_ack_sent)
		wrong("an invented DATA_ACK");
	if (data_ack + ((uint64_t)packet->window << CLIENT_SCALE) >
	    world.right_edge)
		wrong("a right edge beyond the client's");
}

static void to_server(uint8_t *data, size_t len)
{
	struct packet packet;
	uint32_t acked, came;

	if (!packet_read(&packet, data, len))
		return wrong("a packet that can't be read, to the server");
	if (packet.flags & TCP_RST) {
		world.server_reset = true;
		return;
	}
	/* a SYN of a connection that there is: RFC 9293, 3.10.7.4 */
	if (packet.flags & TCP_SYN)
		return server_acknowledges();
	acked = packet.ack - world.scene->isn - 1;
	if (packet.data_ack_len) {
		uint64_t end = ((uint32_t)packet.data_ack - 0xffff0000U) +
			       ((uint64_t)packet.window << CLIENT_SCALE);

		if (end > world.wnd_end)
			world.wnd_end = end;
	}
	if (acked > world.scene->bytes) {
		world.fin_acked = true;
		acked = world.scene->bytes;
	}
	if (acked > world.una && acked <= world.nxt) {
		if (world.cwnd < 100 * MSS)
			world.cwnd += acked - world.una;
		world.una = acked;
		world.dups = 0;
		world.rto_at_us = world.una < world.nxt || !world.fin_acked
				? world.now_us + 400000 : NEVER_US;
		if (world.una < world.recover)
			server_sends(world.una);
	} else if (acked == world.una && packet.sacks && ++world.dups == 3) {
		world.cwnd = world.cwnd / 2 > 4 * MSS ? world.cwnd / 2
						      : 4 * MSS;
		world.recover = world.nxt;
		server_sends(world.una);
	}
	server_pushes();
	came = packet.seq + packet.payload_len - world.scene->client_isn - 1;
	if (packet.payload_len && came > world.uploads_came)
		world.uploads_came = came;
	if (packet.payload_len)
		server_acknowledges();
}

/*
 * As Linux: without data only what lies outside of the window is answered, and
 * that twice a second at most (tcp_invalid_ratelimit).
 */
static bool answers_bare(const struct packet *packet)
{
	if (!before(packet->seq, world.rcv_nxt) ||
	    world.now_us - world.answered_us < 500000)
		return false;
	world.answered_us = world.now_us;
	return true;
}

static void to_client(struct flight *flight)
{
	const struct scene *scene = world.scene;
	uint8_t *data = flight->data;
	struct packet packet;
	uint32_t offset, acked;

	if (!packet_read(&packet, data, flight->len))
		return wrong("a packet that can't be read, to the client");
	if (packet.flags & TCP_RST) {
		world.client_reset = true;
		return;
	}
	acked = packet.ack - scene->client_isn - 1;
	if (acked > world.uploaded)
		wrong("an acknowledgment of what the client hasn't sent");
	else if (acked > world.uploads_acked)
		world.uploads_acked = acked;
	offset = packet.seq - scene->isn - 1;
	/* as RFC 7323 has it: it is dropped; no packet is that wasn't overtaken on the pipe */
	if (before(packet.tsval, world.ts_recent)) {
		if (flight->number > world.ts_recent_number && !flight->passed)
			wrong("the client would drop it for its time stamp");
		return;
	}
	/* the server's last segment is beyond it, and what is passed isn't cut to fit */
	if (!scene->pays && packet.payload_len && offset + packet.payload_len >
	    world.right_edge)
		wrong("beyond the client's window");
	if (!after(packet.seq, world.rcv_nxt)) {
		world.ts_recent = packet.tsval;
		world.ts_recent_number = flight->number;
	}
	for (uint32_t i = 0; i < packet.payload_len; i++) {
		if (packet.seq + i == scene->isn)
			continue;	/* a probe before any data */
		if (offset + i >= scene->bytes ||
		    data[packet.payload_at + i] != pattern(offset + i)) {
			wrong("a wrong byte");
			continue;
		}
		if (!world.has[offset + i])
			world.unread++;
		world.has[offset + i] = 1;
	}
	if (offset + packet.payload_len > world.highest &&
	    offset + packet.payload_len <= scene->bytes)
		world.highest = offset + packet.payload_len;
	while (world.rcv_nxt - scene->isn - 1 < scene->bytes &&
	       world.has[world.rcv_nxt - scene->isn - 1])
		world.rcv_nxt++;
	if (packet.flags & TCP_FIN &&
	    world.rcv_nxt - scene->isn - 1 == scene->bytes)
		world.fin_came = true;
	if (scene->reneges && chance(scene->reneges))
		client_reneges();
	if (packet.payload_len || packet.flags & TCP_FIN ||
	    answers_bare(&packet))
		client_says(false);
}

static bool is_too_large(size_t len)
{
	return world.scene->pipe_mtu && len > world.scene->pipe_mtu &&
	       world.now_us >= world.scene->pipe_narrow_us;
}

/*
 * What the core makes or lets through leaves it here. Of what is too large it knows
 * only if it was its own.
 */
static void leave_core(void *arg, enum split_side side, uint8_t *data,
		       size_t len)
{
	struct packet packet;

	if (side == TO_CLIENT && is_too_large(len)) {
		if (arg)
			split_too_large(world.split, data, len,
					world.scene->pipe_mtu);
		return;
	}
	if (!packet_read(&packet, data, len))
		return wrong("a packet that can't be read");
	if (side == TO_SERVER)
		check_up(&packet);
	else if (!(packet.flags & TCP_RST) && !packet_intact(&packet))
		wrong("checksum, to the client");
	transmit(side == TO_SERVER ? SERVER : CLIENT, data, len);
}

static void note_came(const struct packet *packet)
{
	uint32_t offset = packet->seq - world.scene->isn - 1;

	for (uint32_t i = 0; i < packet->payload_len; i++)
		if (offset + i < world.scene->bytes)
			world.came[offset + i] = 1;
	while (world.hs_came < world.scene->bytes &&
	       world.came[world.hs_came])
		world.hs_came++;
}

/* As the kernel does, which keeps a packet before the core has seen it. */
static uint32_t keep(const uint8_t *data, size_t len)
{
	struct flight *flight = malloc(sizeof(*flight) + len);

	flight->at_us = ++world.last_id;
	flight->len = len;
	memcpy(flight->data, data, len);
	flight->next = world.held;
	world.held = flight;
	return world.last_id;
}

static struct flight *take_held(uint32_t id)
{
	struct flight **at = &world.held, *found;

	while (*at && (*at)->at_us != id)
		at = &(*at)->next;
	found = *at;
	if (found)
		*at = found->next;
	return found;
}

static void let(void *arg, uint32_t id, bool send)
{
	const struct flow *flow = world.split->flows;
	struct flight *flight = take_held(id);

	(void)arg;
	if (!flight)
		return wrong("let go twice");
	if (send && flight->len * SECOND_US > flow->bbr.rate_byteps * 1100)
		wrong("more than a millisecond of the pace in one go");
	if (send)
		leave_core(NULL, TO_CLIENT, flight->data, flight->len);
	free(flight);
}

static void into_core(enum place to, uint8_t *data, size_t len)
{
	enum split_verdict verdict = SPLIT_LEAVE;
	uint32_t id = keep(data, len);
	struct packet packet;

	if (to == CORE_DOWN && packet_read(&packet, data, len))
		note_came(&packet);
	if (!world.left)
		verdict = split_offer(world.split, world.now_us, data, len, id);
	if (verdict == SPLIT_LEAVE)
		world.left = true;
	if (verdict != SPLIT_HELD)
		free(take_held(id));
	if (verdict != SPLIT_TAKEN && verdict != SPLIT_REFUSED && verdict != SPLIT_HELD)
		leave_core(NULL, to == CORE_UP ? TO_SERVER : TO_CLIENT, data,
			   len);
	split_flush(world.split, world.now_us);
}

static void arrive(struct flight *flight)
{
	switch (flight->to) {
	case SERVER:
		to_server(flight->data, flight->len);
		break;
	case CLIENT:
		to_client(flight);
		break;
	default:
		into_core(flight->to, flight->data, flight->len);
	}
}

/* --- a scene --- */

static uint64_t next_us(void)
{
	uint64_t at_us = world.flights ? world.flights->at_us : NEVER_US;

	if (split_next_us(world.split) < at_us)
		at_us = split_next_us(world.split);
	if (world.rto_at_us < at_us)
		at_us = world.rto_at_us;
	if (world.scene->reader_goes_on_us > world.now_us &&
	    world.scene->reader_goes_on_us < at_us)
		at_us = world.scene->reader_goes_on_us;
	if (world.scene->drain_us > world.now_us &&
	    world.scene->drain_us < at_us)
		at_us = world.scene->drain_us;
	return at_us > world.now_us ? at_us : world.now_us;
}

static void stranger_says(void)
{
	uint8_t data[256];

	schedule(CORE_UP, world.now_us, data,
		 make_handshake(data, true, world.scene->client_isn + 100000,
				0, stamp_now()));
}

static void step(void)
{
	const struct scene *scene = world.scene;
	uint64_t before_us = world.now_us;

	world.now_us = next_us();
	while (world.flights && world.flights->at_us <= world.now_us) {
		struct flight *flight = world.flights;

		world.flights = flight->next;
		arrive(flight);
		free(flight);
	}
	if (scene->reader_goes_on_us > before_us &&
	    scene->reader_goes_on_us <= world.now_us)
		client_says(false);
	if (scene->stranger_us > before_us &&
	    scene->stranger_us <= world.now_us)
		stranger_says();
	if (scene->drain_us > before_us && scene->drain_us <= world.now_us)
		split_drain(world.split, world.now_us);
	if (world.rto_at_us <= world.now_us) {
		world.rto_at_us = world.now_us + 400000;
		world.cwnd = MSS;
		world.recover = world.nxt;
		if (!world.server_reset)
			server_sends(world.una);
	}
	if (split_next_us(world.split) <= world.now_us) {
		split_timers(world.split, world.now_us);
		split_flush(world.split, world.now_us);
	}
	if (flows_wrong(world.split, world.now_us))
		wrong(flows_wrong(world.split, world.now_us));
	if (split_counters(world.split)->early_acks && !world.left && is_passed())
		world.rested = true;
	if (split_memory(world.split) > world.memory_max)
		world.memory_max = split_memory(world.split);
}

static bool is_over(void)
{
	if (world.scene->resets)
		return world.server_reset;
	return world.fin_acked && world.fin_came;
}

static void start(const struct scene *scene, unsigned int seed)
{
	struct split_options options = split_defaults;

	memset(&world, 0, sizeof(world));
	srand(seed);
	options.flow_bytes = scene->memory;
	options.lend_byteps = scene->lend_byteps;
	options.where_it_pays = scene->pays;
	world.scene = scene;
	world.now_us = 1000000;
	world.split = split_new(&options, leave_core, &world);
	split_may_hold(world.split, let, NULL);
	world.has = calloc(1, scene->bytes);
	world.came = calloc(1, scene->bytes);
	world.rcv_nxt = scene->isn + 1;
	world.cwnd = 10 * MSS;
	world.rto_at_us = NEVER_US;
	world.wnd_end = scene->window;
	world.right_edge = scene->window;
	world.ts_recent = stamp_now();
	handshake(true);
	world.now_us += scene->hs.delay_us;
	handshake(false);
	world.now_us += scene->pipe.delay_us;
}

static void stop(void)
{
	while (world.flights) {
		struct flight *flight = world.flights;

		world.flights = flight->next;
		free(flight);
	}
	split_free(world.split);
	check(!world.held);
	free(world.has);
	free(world.came);
}

static struct scene chosen;
static unsigned int chosen_seed;

static void play(void)
{
	const struct scene *scene = &chosen;
	const struct split_counters *counters;
	unsigned int seed = chosen_seed;

	start(scene, seed);
	client_says(true);
	schedule(CORE_UP, world.now_us, world.flights->data,
		 world.flights->len);	/* at least one of them comes */
	server_pushes();
	while (!is_over() && !*world.wrong &&
	       world.now_us < (scene->most_us ? scene->most_us : LIMIT_US))
		step();
	if (!is_over())
		wrong("it doesn't end");
	if (world.now_us < scene->least_us)
		wrong("it is done too soon");
	counters = split_counters(world.split);
	if (!counters->flows)
		wrong("nothing was split");
	if (scene->how == NEVER ? counters->early_acks : scene->how && !counters->early_acks)
		wrong("it is split where it should be passed, or not at all");
	if (scene->how == RESTS && !world.rested)
		wrong("it is split for ever");
	/* what a packet is cut into comes on top */
	if (world.memory_max > scene->memory + 4096)
		wrong("more memory than allowed");
	printf("# %.3f s, %llu early, %llu resent, %llu timeouts, "
	       "banked %llu, memory %llu\n", world.now_us / 1e6 - 1,
	       (unsigned long long)counters->early_acks,
	       (unsigned long long)counters->resent,
	       (unsigned long long)counters->timeouts,
	       (unsigned long long)counters->banked_max,
	       (unsigned long long)world.memory_max);
	if (*world.wrong)
		printf("# of %u bytes %u were sent, %u acknowledged, %u came to the core, "
		       "%u to the client\n", scene->bytes, world.nxt,
		       world.una, world.hs_came,
		       world.rcv_nxt - scene->isn - 1);
	check_at(!*world.wrong, world.wrong, __LINE__);
	stop();
}

#define MBIT(n)	((n) * 125000ULL)
#define S(n)	((uint64_t)((n) * 1e6) + 1000000)
#define HS	{ MBIT(10), 20000, 150000, 0, 0, 0 }
#define PIPE	{ MBIT(5), 5000, 150000, 0, 0, 0 }

static const struct scene scenes[] = {
	{ "plain", HS, PIPE, 2000000, .most_us = S(3.6) },
	{ "32-bit DATA_ACK, which wraps", HS, PIPE, 500000,
	  .data_ack_len = 4 },
	{ "sequence numbers and stamps wrap", HS, PIPE, 500000,
	  .isn = 0xfffff000, .client_isn = 0xffffffff, .stamp = 0xffffff80 },
	{ "offload", HS, PIPE, 1000000, .pieces = 8 },
	{ "large offload, fast", { MBIT(1000), 1000, 3000000, 0, 0, 0 },
	  { MBIT(1000), 1000, 3000000, 0, 0, 0 }, 8000000,
	  .pieces = 45, .most_us = S(1) },
	{ "loss of 2 % on the pipe", HS, { MBIT(5), 5000, 150000, 20, 0, 0 },
	  2000000, .most_us = S(4.2) },
	{ "loss of 2 % on the HS-path", { MBIT(10), 20000, 150000, 20, 0, 0 },
	  PIPE, .bytes = 500000 },
	{ "loss, lateness and doubles on both",
	  { MBIT(10), 20000, 150000, 10, 20, 20 },
	  { MBIT(5), 5000, 150000, 20, 20, 20 }, .bytes = 500000 },
	{ "the same, wrapping, with offload",
	  { MBIT(10), 20000, 150000, 10, 20, 20 },
	  { MBIT(5), 5000, 150000, 20, 20, 20 }, 500000,
	  .isn = 0xffff0000, .stamp = 0xffffff00, .pieces = 3 },
	{ "the pipe falls to 1 Mbit/s", HS, PIPE, 2000000,
	  .pipe_rate_at_us = S(1), .pipe_rate_byteps = MBIT(1),
	  .most_us = S(14) },
	/* 1.28 s at the pipe's rate */
	{ "acknowledgments in bursts of 20 ms, round trips of 4 ms",
	  { MBIT(200), 2000, 600000, 0, 0, 0 },
	  { MBIT(50), 2000, 150000, 0, 0, 0 }, 8000000,
	  .client_bursts_us = 20000, .most_us = S(2.6) },
	{ "a reader that stops for 5 s", HS, PIPE, 1000000,
	  .window = 256 << 10, .reader_stops_us = S(0.3),
	  .reader_goes_on_us = S(5.3), .most_us = S(8) },
	{ "the same behind a round trip of 2 ms", HS,
	  { MBIT(5), 1000, 150000, 0, 0, 0 }, 1000000,
	  .window = 256 << 10, .reader_stops_us = S(0.3),
	  .reader_goes_on_us = S(5.3), .most_us = S(8) },
	/* which answers each probe, though seldom */
	{ "the same behind a round trip of 300 ms", HS,
	  { MBIT(5), 150000, 150000, 0, 0, 0 }, 1000000,
	  .window = 256 << 10, .reader_stops_us = S(1),
	  .reader_goes_on_us = S(20), .most_us = S(24) },
	{ "little memory, and a slow pipe", HS, { MBIT(1), 5000, 150000, 0, 0, 0 },
	  500000, .memory = 150000 },
	{ "a small window", HS, PIPE, 300000, .window = 4096 },
	/* 500,000 bytes, and 66 of each packet's 1,448 beside them */
	{ "a cap of 100 KB/s", HS, PIPE, 500000, .lend_byteps = 100000,
	  .least_us = S(5), .most_us = S(6) },
	{ "the same with offload", HS, PIPE, 500000, .lend_byteps = 100000,
	  .pieces = 8, .least_us = S(5), .most_us = S(6) },
	{ "a cap, and loss on the pipe", HS,
	  { MBIT(5), 5000, 150000, 20, 0, 0 }, 500000,
	  .lend_byteps = 100000, .least_us = S(5), .most_us = S(7) },
	{ "a cap above the pipe's rate", HS, PIPE, 2000000,
	  .lend_byteps = 2000000, .most_us = S(3.7) },
	{ "the pipe dies", HS, PIPE, 2000000, .pipe_dies_us = S(1),
	  .resets = true, .least_us = S(20.5), .most_us = S(23) },
	/* what a pause takes, and what the server's timer, doubled meanwhile, takes beyond it */
	/* 1.2 s and 1.1 s at the pipe's rate */
	{ "segments of 50 bytes", { MBIT(10), 20000, 3000000, 0, 0, 0 }, PIPE, 300000,
	  .payload = 50, .most_us = S(2) },
	{ "segments of 20 bytes", { MBIT(10), 20000, 3000000, 0, 0, 0 }, PIPE, 150000,
	  .payload = 20, .most_us = S(2) },
	{ "a pause of 0.1 s", HS, PIPE, 2000000, .pipe_dies_us = S(1),
	  .pipe_back_us = S(1.1), .most_us = S(3.9) },
	{ "a pause of 0.3 s", HS, PIPE, 2000000, .pipe_dies_us = S(1),
	  .pipe_back_us = S(1.3), .most_us = S(4.2) },
	{ "a pause of 0.7 s", HS, PIPE, 2000000, .pipe_dies_us = S(1),
	  .pipe_back_us = S(1.7), .most_us = S(4.7) },
	{ "a pause of 2 s", HS, PIPE, 2000000, .pipe_dies_us = S(1),
	  .pipe_back_us = S(3), .most_us = S(6) },
	{ "a pause of 10 s", HS, PIPE, 2000000, .pipe_dies_us = S(1),
	  .pipe_back_us = S(11), .most_us = S(15) },
	{ "a pause of 2 s before any data", HS, PIPE, 2000000, .pipe_dies_us = S(0.05),
	  .pipe_back_us = S(2.05), .most_us = S(6) },
	{ "another pipe with a smaller MTU", HS, PIPE, 1000000,
	  .pipe_narrow_us = S(0.5), .pipe_mtu = 1280, .most_us = S(2.5) },
	{ "the same with loss and offload", HS,
	  { MBIT(5), 5000, 150000, 20, 20, 20 }, 500000, .pieces = 3,
	  .pipe_narrow_us = S(0.3), .pipe_mtu = 600, .most_us = S(4) },
	{ "a stranger's SYN", HS, PIPE, 2000000, .stranger_us = S(1),
	  .most_us = S(3.6) },
	{ "passed", HS, PIPE, 2000000, .pays = true, .how = NEVER, .most_us = S(3.6) },
	{ "passed, the pipe's queue overflows", HS, { MBIT(5), 5000, 40000, 0, 0, 0 }, 2000000,
	  .pays = true, .how = NEVER },
	{ "passed, loss of 2 % on the HS-path", { MBIT(10), 20000, 150000, 20, 0, 0 }, PIPE,
	  .bytes = 2000000, .pays = true, .how = NEVER },
	{ "passed, the HS-path changes the order", { MBIT(10), 20000, 150000, 0, 50, 10 }, PIPE,
	  .bytes = 2000000, .pays = true, .how = NEVER },
	{ "passed until the pipe loses 2 %", HS, { MBIT(20), 5000, 150000, 20, 0, 0 },
	  2000000, .pays = true, .how = BEGINS, .most_us = S(2.1) },
	{ "passed until there is a cap", HS, PIPE, 500000, .lend_byteps = 100000,
	  .pays = true, .how = BEGINS, .least_us = S(4), .most_us = S(6) },
	{ "passed again once the pipe has healed", { MBIT(2), 20000, 150000, 0, 0, 0 },
	  { MBIT(5), 5000, 150000, 20, 0, 0 }, 10000000, .pipe_heals_us = S(2),
	  .pays = true, .how = RESTS, .most_us = S(50) },
	{ "passed, with loss and offload, drains", HS, { MBIT(5), 5000, 150000, 20, 20, 20 },
	  1000000, .pays = true, .pieces = 3, .drain_us = S(1) },
	{ "passed, a pause of 2 s", HS, PIPE, 2000000, .pays = true, .pipe_dies_us = S(1),
	  .pipe_back_us = S(3), .most_us = S(7) },
	{ "it drains", HS, PIPE, 2000000, .drain_us = S(1) },
	{ "it drains with loss", HS, { MBIT(5), 5000, 150000, 20, 0, 0 },
	  1000000, .drain_us = S(1) },
};

static uint32_t any(uint32_t from, uint32_t to)
{
	return from + (uint32_t)rand() % (to - from + 1);
}

static struct leg any_leg(void)
{
	return (struct leg){ MBIT(any(2, 50)), any(500, 40000), any(20000, 300000),
			     any(0, 1) * any(0, 40), any(0, 1) * any(0, 100),
			     any(0, 1) * any(0, 40) };
}

/* One of any scenes, in which both ends do what they may, and the legs what they can. */
static void draw(unsigned int seed)
{
	srand(seed);
	chosen = (struct scene){
		.hs = any_leg(), .pipe = any_leg(), .bytes = any(10000, 150000),
		.isn = any(0, 1) ? (uint32_t)rand() * 2 : 0U - any(0, 100000),
		.client_isn = 0U - any(0, 5000), .stamp = 0U - any(0, 2000),
		.data_ack_len = any(0, 1) ? 4 : 8, .window = any(8192, 1 << 20),
		.memory = any(60000, 1 << 20),
		.pieces = any(0, 2) ? 0 : any(2, 8), .payload = any(0, 3) ? 0 : any(30, 600),
		.reneges = any(0, 1) * any(0, 50), .shrinks = any(0, 1) * any(0, 300),
		.uploads = any(0, 1) * any(0, 500),
	};
	/* not before the handshake is over, which takes each leg's delay once */
	if (!any(0, 3)) {
		chosen.pipe_dies_us = S(0) + chosen.hs.delay_us + chosen.pipe.delay_us +
				      any(50000, 1000000);
		chosen.pipe_back_us = chosen.pipe_dies_us + any(50000, 3000000);
	}
	if (!any(0, 5)) {
		chosen.reader_stops_us = S(0) + any(50000, 1000000);
		chosen.reader_goes_on_us = chosen.reader_stops_us + any(50000, 3000000);
	}
	chosen.pays = any(0, 1);
	/* so fast that packets are sent on whole */
	if (seed % 3 == 0) {
		chosen.hs.rate_byteps *= 20;
		chosen.pipe.rate_byteps *= 20;
	}
	chosen_seed = seed;
}

/* So many drawn ones as one case; those that are wrong are named. */
static unsigned int drawn = 200, first_drawn = 1;

static void any_scene(void)
{
	unsigned int bad = 0;

	for (unsigned int seed = first_drawn; seed < first_drawn + drawn; seed++) {
		draw(seed);
		start(&chosen, chosen_seed);
		while (!world.flights)
			client_says(true);
		schedule(CORE_UP, world.now_us, world.flights->data, world.flights->len);
		server_pushes();
		/* behind a router the server above sends a lost window a segment a round trip */
		while (!is_over() && !*world.wrong &&
		       world.now_us < (chosen.pays ? 10 : 1) * LIMIT_US)
			step();
		if (!is_over())
			wrong("it doesn't end");
		if (*world.wrong)
			printf("# seed %u: %s\n", seed, world.wrong);
		bad += !!*world.wrong;
		stop();
	}
	printf("# %u of %u\n", bad, drawn);
	check(!bad);
}

/* Usage: ends [COUNT [FIRST SEED]], only drawn scenes then */
int main(int argc, char **argv)
{
	char name[100];

	if (argc > 1) {
		drawn = atoi(argv[1]);
		first_drawn = argc > 2 ? atoi(argv[2]) : 1;
		run(any_scene);
		return tap_end();
	}
	run(any_scene);

	for (unsigned int i = 0; i < sizeof(scenes) / sizeof(*scenes); i++) {
		const struct leg *hs = &scenes[i].hs, *pipe = &scenes[i].pipe;
		bool random = hs->loss + hs->late + pipe->loss + pipe->late;

		for (chosen_seed = 1; chosen_seed <= (random ? SEEDS : 1);
		     chosen_seed++) {
			chosen = scenes[i];
			chosen.data_ack_len = chosen.data_ack_len ?: 8;
			chosen.window = chosen.window ?: 1 << 20;
			chosen.memory = chosen.memory ?: 2 << 20;
			snprintf(name, sizeof(name), "%s, seed %u",
				 chosen.name, chosen_seed);
			run_case(name, play);
		}
	}
	return tap_end();
}
