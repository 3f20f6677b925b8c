// SPDX-License-Identifier: GPL-2.0
/*
 * open - the handshake of a subflow that joins, which decides if it is split
 *
 * Only an MP_JOIN (RFC 8684, 3.2) is: a connection's first subflow may fall back
 * to plain TCP, and what was acknowledged early would be lost with the splitter.
 * SACK, time stamps and window scaling are needed at both ends. ECN isn't
 * translated, so it isn't agreed on.
 */
#include <string.h>

#include "flow.h"

static bool can_be_split(const struct packet *packet)
{
	return packet->mptcp & 1 << MP_JOIN && packet->has_stamp &&
	       packet->has_scale && packet->mss >= MSS_MIN;
}

static enum split_verdict without_ecn(struct packet *packet)
{
	uint8_t *tcp = packet->data + packet->tcp_at;

	if (!(packet->flags & (TCP_ECE | TCP_CWR)))
		return SPLIT_PASS;
	tcp_set_flags(tcp, packet->flags & ~(TCP_ECE | TCP_CWR));
	packet_seal(packet->data, packet->len);
	return SPLIT_CHANGED;
}

/*
 * A flow's SYN may come more than once, and cross the answer to it. Once there is
 * one it changes nothing of the flow. It goes on, and the server sends its answer
 * again, or an acknowledgment (RFC 9293, 3.10.7.4).
 */
enum split_verdict open_syn(struct flow *flow, struct packet *packet)
{
	if (flow->state == LEFT)
		return SPLIT_LEAVE;
	if (flow->state != OPENING)
		return without_ecn(packet);
	flow->client_isn = packet->seq;
	if (!can_be_split(packet) || !packet->sack_permitted) {
		flow->split->counters.refused++;
		flow->state = LEFT;
		return SPLIT_LEAVE;
	}
	flow->client_mss = packet->mss;
	flow->client_scale = packet->scale;
	flow->client_tsval = packet->tsval;
	flow->client_window = packet->window;
	return without_ecn(packet);
}

/*
 * Another connection's SYN, or a stranger's, while the flow lives: what is banked
 * can't be given up for it. A server that has the flow answers by an
 * acknowledgment (RFC 9293, 3.10.7.4), which a client that has it ignores, and
 * one that began anew answers by a reset.
 */
enum split_verdict open_other_syn(struct flow *flow,
				  const struct packet *packet)
{
	flow->other_isn = packet->seq;
	flow->has_other = true;
	return SPLIT_PASS;
}

/*
 * The server took the other SYN, so it has forgotten the flow, or a stranger says
 * so. It is asked: who doesn't know the flow answers by a reset that is exact. The
 * client sends its SYN once more.
 */
static bool answers_other(const struct flow *flow, const struct packet *packet)
{
	return flow->has_other && packet->ack == flow->other_isn + 1 &&
	       (flow->state == ANSWERED || flow->state == SPLITTING);
}

enum split_verdict open_answer(struct flow *flow, struct packet *packet,
			       uint64_t now_us)
{
	if (answers_other(flow, packet)) {
		reset_provoke(flow);
		return SPLIT_TAKEN;
	}
	if (flow->state == SPLITTING)
		return SPLIT_PASS;	/* once more */
	if (packet->ack != flow->client_isn + 1)
		return SPLIT_PASS;	/* an old one: the client refuses it */
	if (!can_be_split(packet) || !packet->sack_permitted) {
		flow->split->counters.refused++;
		flow->state = LEFT;
		return SPLIT_LEAVE;
	}
	flow->server_scale = packet->scale;
	flow->server_mss = packet->mss;
	flow->rcv_nxt = packet->seq + 1;
	flow->ack_out = flow->rcv_nxt;
	flow->una = flow->rcv_nxt;
	flow->snd_nxt = flow->rcv_nxt;
	flow->recover_seq = flow->rcv_nxt;
	flow->rack_end = flow->rcv_nxt;
	/* not scaled in a SYN; until the client says more */
	flow->right_edge = flow->rcv_nxt + flow->client_window;
	flow->ts_recent = packet->tsval;
	flow->tsval_out = packet->tsval;
	flow->server_ack = packet->ack;
	flow->server_window = packet->window;
	flow->server_tsecr = packet->tsecr;
	flow->client_nxt = packet->ack;
	memcpy(flow->server_header, packet->data, packet->tcp_at + 20);
	flow->server_tcp_at = packet->tcp_at;
	flow->answer_us = now_us;
	flow->state = ANSWERED;
	return SPLIT_PASS;
}
