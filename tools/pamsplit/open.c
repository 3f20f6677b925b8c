// SPDX-License-Identifier: GPL-2.0
/*
 * open - follows the handshake of a joining subflow, and decides if the subflow is split
 *
 * Only a subflow with MP_JOIN (RFC 8684, 3.2) is split: a connection's first subflow may
 * fall back to plain TCP, and data acknowledged early would then be lost with the splitter.
 * SACK, time stamps and window scaling are needed at both ends. ECN marks aren't
 * passed on between the two halves, so ECN is taken out of the handshake.
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
	if (!tcp_drop_ecn(packet->data + packet->tcp_at))
		return SPLIT_PASS;
	packet_seal(packet->data, packet->len);
	return SPLIT_CHANGED;
}

/*
 * Take a flow's SYN, which may be repeated. A SYN that comes after the server's answer
 * changes nothing in the flow: it is passed on, and the server repeats its answer or sends
 * an acknowledgment (RFC 9293, 3.10.7.4).
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
 * Take a SYN with the addresses and ports of a live flow, but another sequence number: of a
 * new connection, or forged. Banked data can't be given up for it, so the SYN is passed on.
 * A server that has the flow answers by an acknowledgment (RFC 9293, 3.10.7.4). A client
 * that has the flow ignores that, and one that began a new connection answers by a reset.
 */
enum split_verdict open_other_syn(struct flow *flow,
				  const struct packet *packet)
{
	flow->other_isn = packet->seq;
	flow->has_other = true;
	return SPLIT_PASS;
}

/*
 * Is it an answer to the other SYN? Then the server has forgotten the flow, or the answer is
 * forged. So the caller sends the server an acknowledgment: a server that doesn't know the
 * flow answers it by an exact reset. The client will send its SYN once more.
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
		return SPLIT_PASS;	/* a repeated answer */
	if (packet->ack != flow->client_isn + 1)
		return SPLIT_PASS;	/* an old answer, which the client refuses */
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
	/* the window isn't scaled in a SYN; valid until the client sends a newer one */
	flow->right_edge = flow->rcv_nxt + flow->client_window;
	flow->ts_recent = packet->tsval;
	flow->ts_recent_us = now_us;
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
