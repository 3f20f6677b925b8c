// SPDX-License-Identifier: GPL-2.0
/*
 * reset - resets both ends of a flow that can't go on
 *
 * A RST has the option MP_TCPRST (RFC 8684, 3.6), marked as transient, so that the
 * client may join again.
 */
#include <string.h>

#include "flow.h"

void reset_end_of(const struct flow *flow, struct split_end *end)
{
	*end = (struct split_end){
		.v6 = flow->v6,
		.client = flow->key.client,
		.server = flow->key.server,
		.client_port = flow->key.client_port,
		.server_port = flow->key.server_port,
		.to_server_seq = flow->client_nxt,
		.to_server_ack = flow->ack_out,
		.to_client_seq = flow->snd_nxt,
		.to_client_ack = flow->server_ack,
	};
}

static size_t make_bare(uint8_t *data, const struct split_end *end,
			enum split_side side, uint8_t flags, uint8_t reason)
{
	bool up = side == TO_SERVER;
	const struct address *from = up ? &end->client : &end->server;
	const struct address *to = up ? &end->server : &end->client;
	uint16_t from_port = up ? end->client_port : end->server_port;
	uint16_t to_port = up ? end->server_port : end->client_port;
	uint8_t header[40 + 20] = { };
	struct bare bare = {
		.header = header,
		.tcp_at = end->v6 ? 40 : 20,
		.seq = up ? end->to_server_seq : end->to_client_seq,
		.ack = up ? end->to_server_ack : end->to_client_ack,
		.flags = flags,
		.has_reset = flags & TCP_RST,
		.reset_reason = reason,
	};

	if (end->v6) {
		header[0] = 0x60;
		header[6] = 6;
		header[7] = 64;
		memcpy(header + 8, from->bytes, 16);
		memcpy(header + 24, to->bytes, 16);
	} else {
		header[0] = 0x45;
		header[6] = 0x40;	/* don't fragment */
		header[8] = 64;
		header[9] = 6;
		memcpy(header + 12, from->bytes, 4);
		memcpy(header + 16, to->bytes, 4);
	}
	put16(header + bare.tcp_at, from_port);
	put16(header + bare.tcp_at + 2, to_port);
	return packet_make(data, &bare);
}

static size_t make_reset(uint8_t *data, const struct split_end *end,
			 enum split_side side, uint8_t reason)
{
	return make_bare(data, end, side, TCP_RST | TCP_ACK, reason);
}

/* Send the server an acknowledgment, which it answers by a RST if it has forgotten the flow. */
void reset_provoke(const struct flow *flow)
{
	uint8_t data[HEADER_MAX];
	struct split_end end;

	reset_end_of(flow, &end);
	flow->split->out(flow->split->arg, TO_SERVER, data,
			 make_bare(data, &end, TO_SERVER, TCP_ACK, 0));
}

size_t split_end_reset(uint8_t *data, const struct split_end *end,
		       enum split_side side)
{
	return make_reset(data, end, side, RESET_UNSPECIFIED);
}

void reset_send(struct split *split, const struct split_end *end,
		enum split_side side, uint8_t reason)
{
	uint8_t data[HEADER_MAX];

	split->out(split->arg, side, data, make_reset(data, end, side, reason));
}

/*
 * It isn't known how much of the data in flight the client has, so the client gets two
 * RSTs, for all of the data and for none. If neither is exact the client answers by an
 * acknowledgment, and the rules answer that by an exact RST.
 */
void flow_reset(struct flow *flow, uint8_t reason)
{
	struct split *split = flow->split;
	struct split_end end;

	reset_end_of(flow, &end);
	split->counters.resets++;
	if (flow->state == ANSWERED || flow->state == SPLITTING) {
		reset_send(split, &end, TO_SERVER, reason);
		reset_send(split, &end, TO_CLIENT, reason);
		end.to_client_seq = flow->una;
		if (flow->una != flow->snd_nxt)
			reset_send(split, &end, TO_CLIENT, reason);
	}
	flow_free(flow);
}
