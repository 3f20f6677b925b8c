// SPDX-License-Identifier: GPL-2.0
/*
 * upward - rewrites packets from the client, and drops those without news
 *
 * The acknowledgment becomes the early one, the time stamp echo becomes the server's newest
 * time stamp, and the client's SACK is removed, as the splitter itself retransmits over the
 * pipe. A bare acknowledgment that advances only the DATA_ACK or the window waits up to 5 ms
 * for the next early ACK; one that advances neither is dropped.
 *
 * Uploaded data passes as it comes: the kernel cuts a packet that offload has merged into the
 * client's own segments again, whose size fits the path's MTU as the client knows it. But the
 * kernel needs one piece of memory for a packet that was changed. For a large packet it is
 * hard to get, and more than some drivers can send, so such a packet is cut here.
 *
 * A packet that can't be the client's own passes, too, and changes nothing in the flow's state.
 */
#include <string.h>

#include "flow.h"

/* With a link's header the length of one buffer fits into 14 bits, as in mtk_eth_soc's rings. */
#define CHANGED_MAX	16000

#define WAIT_US		5000

/* Compare DATA_ACKs: modulo 2^32 if one of them has only 32 bits. */
static bool data_ack_advances(const struct flow *flow,
			      const struct packet *packet)
{
	if (!packet->data_ack_len)
		return false;
	if (!flow->data_ack_len)
		return true;
	if (packet->data_ack_len == 8 && flow->data_ack_len == 8)
		return (int64_t)(packet->data_ack - flow->data_ack) > 0;
	return after((uint32_t)packet->data_ack, (uint32_t)flow->data_ack);
}

/* Store the client's DATA_ACK, window and sequence numbers. Are DATA_ACK or window new? */
static bool note(struct flow *flow, const struct packet *packet)
{
	uint32_t nxt = packet->seq + packet->payload_len +
		       !!(packet->flags & TCP_FIN);
	bool advances = data_ack_advances(flow, packet), news = advances;
	bool old = packet->data_ack_len && flow->data_ack_len && !advances &&
		   (uint32_t)packet->data_ack != (uint32_t)flow->data_ack;

	flow->client_nxt = seq_max(flow->client_nxt, nxt);
	flow->client_fin |= !!(packet->flags & TCP_FIN);
	/*
	 * An older one has no news, and neither TCP would look at it. A stranger has to guess both
	 * numbers closely.
	 */
	if (before(nxt, flow->server_ack) || before(packet->ack, flow->una))
		return false;
	if (packet->has_stamp)
		flow->client_tsval = seq_max(flow->client_tsval,
					     packet->tsval);
	memcpy(flow->client_header, packet->data, packet->tcp_at + 20);
	flow->client_tcp_at = packet->tcp_at;
	/* a window counts from its own packet's DATA_ACK, which may be behind others */
	if (old || (!packet->data_ack_len && flow->data_ack_len))
		return false;
	if (packet->data_ack_len) {
		flow->data_ack_len = packet->data_ack_len;
		flow->data_ack = packet->data_ack;
	}
	/* a smaller window counts only with a new DATA_ACK: the right edge never moves back */
	if (advances || packet->window > flow->client_window ||
	    flow->state == ANSWERED) {
		news |= packet->window != flow->client_window;
		flow->client_window = packet->window;
	}
	return news;
}

/* Can the packet be the client's own? */
static bool is_the_clients(const struct flow *flow, const struct packet *packet)
{
	uint32_t window = (uint32_t)flow->server_window << flow->server_scale;

	return packet->flags & TCP_ACK &&
	       lies_in(packet->ack, flow->una - LATE_BYTES, flow->snd_nxt) &&
	       is_near(packet->seq, flow->server_ack, window);
}

static bool is_bare(const struct packet *packet)
{
	return !packet->payload_len && !(packet->flags & TCP_FIN) &&
	       !(packet->mptcp & ~(1 << MP_DSS)) &&
	       !(packet->dss_flags & ~(DSS_ACK | DSS_ACK_64));
}

/* Note what the server learns from a packet that is passed to it. */
static void note_passed(struct flow *flow, const struct packet *packet)
{
	if (packet->data_ack_len) {
		flow->window_out = packet->window;
		flow->data_ack_out = (uint32_t)packet->data_ack;
	}
	flow->ack_out = early_target(flow);
}

static void rewrite(struct flow *flow, struct packet *packet)
{
	uint8_t *tcp = packet->data + packet->tcp_at;

	packet_drop_sack(packet);
	note_passed(flow, packet);
	flow->unacked = 0;
	flow->ack_by_us = NEVER_US;
	tcp_set_ack(tcp, flow->ack_out);
	if (packet->has_stamp) {
		/* the packet may be late, behind an early ACK with newer time stamps */
		put32(packet->data + packet->stamp_at, flow->client_tsval);
		put32(packet->data + packet->stamp_at + 4, flow->ts_recent);
	}
	packet_seal(packet->data, packet->len);
}

/* Cut a packet that offload has merged into segments, and send them, each with its options. */
static void send_pieces(struct flow *flow, const struct packet *packet)
{
	uint32_t most = flow->server_mss -
			(packet->payload_at - packet->tcp_at - 20);
	uint8_t data[PACKET_MAX];
	uint32_t done = 0;

	while (done < packet->payload_len) {
		uint32_t left = packet->payload_len - done;
		uint32_t len = left < most ? left : most;
		uint8_t flags = packet->flags;

		if (len < left)
			flags &= ~(TCP_FIN | TCP_PSH);
		memcpy(data, packet->data, packet->payload_at);
		memcpy(data + packet->payload_at,
		       packet->data + packet->payload_at + done, len);
		tcp_set_seq(data + packet->tcp_at, packet->seq + done);
		tcp_set_flags(data + packet->tcp_at, flags);
		packet_set_len(data, packet->payload_at + len);
		packet_seal(data, packet->payload_at + len);
		flow->split->out(flow->split->arg, TO_SERVER, data,
				 packet->payload_at + len);
		done += len;
	}
}

/* Take the handshake's third packet: from now on the flow is split. */
static enum split_verdict establish(struct flow *flow,
				    const struct packet *packet,
				    uint64_t now_us)
{
	uint32_t rtt_us = (uint32_t)(now_us - flow->answer_us);

	if (!packet->mptcp) {
		flow->split->counters.refused++;
		return SPLIT_LEAVE;
	}
	flow->split->counters.flows++;
	acked_rtt(flow, rtt_us ? rtt_us : 1);
	bbr_start(flow, now_us);
	note(flow, packet);
	flow->state = SPLITTING;
	flow->passing = flow->split->options.where_it_pays;
	flow->unclear = flow->una;
	flow->lost_us = now_us;
	flow->right_edge = packet->ack +
			   ((uint32_t)packet->window << flow->client_scale);
	return SPLIT_PASS;
}

/* Has data no MPTCP option? Then a middlebox removes the options. */
static bool is_stripped(const struct packet *packet)
{
	return packet->payload_len && !packet->mptcp;
}

enum split_verdict upward_packet(struct flow *flow, struct packet *packet,
				 uint64_t now_us)
{
	bool old_ack = !after(packet->ack, flow->una) && !packet->sacks;
	bool news;

	if (flow->state == OPENING || !is_the_clients(flow, packet))
		return SPLIT_PASS;
	if (flow->state == ANSWERED)
		return establish(flow, packet, now_us);
	flow->heard_us = now_us;
	if (is_stripped(packet) && flow_is_through(flow))
		return SPLIT_LEAVE;
	if (flow->passing && pays_splitting(flow, packet, now_us))
		pays_begin(flow, now_us);
	news = note(flow, packet);
	acked_packet(flow, packet, now_us);
	if (flow->passing) {
		pays_note(flow, packet);
		note_passed(flow, packet);
		return SPLIT_PASS;
	}
	deliver_send(flow, now_us);
	pays_rest(flow, now_us);
	/* without a DATA_ACK to say, an early acknowledgment isn't sent (early.c) */
	if (flow->data_ack_len && is_bare(packet) && !before(packet->seq, flow->client_nxt) &&
	    (news || !old_ack)) {
		if (after(early_target(flow), flow->ack_out)) {
			flow->unacked += 2;
			early_wanted(flow);
		} else if (news && flow->ack_by_us > now_us + WAIT_US) {
			flow->ack_by_us = now_us + WAIT_US;
		}
		return SPLIT_TAKEN;
	}
	rewrite(flow, packet);
	if (packet->len <= CHANGED_MAX)
		return SPLIT_CHANGED;
	send_pieces(flow, packet);
	return SPLIT_TAKEN;
}
