// SPDX-License-Identifier: GPL-2.0
/*
 * peers - the server and the client, and what they say to each other
 */
#include "world.h"

#define SERVER_WINDOW	60000		/* as make_data() has it */

/* --- making packets --- */

void handshake(bool up)
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
void client_says(bool first)
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

void server_sends(uint32_t offset)
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

void server_pushes(void)
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

void to_server(uint8_t *data, size_t len)
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

void to_client(struct flight *flight)
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
