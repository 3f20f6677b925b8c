// SPDX-License-Identifier: GPL-2.0
/*
 * packet - reads, changes and makes IP packets with TCP in them
 *
 * RFC 791, 8200, 9293, 7323 (time stamps), 2018 (SACK), 8684 (MPTCP), 1191 and 8201 (MTU).
 */
#include <string.h>

#include "packet.h"

#define IPPROTO_ICMP	1
#define IPPROTO_TCP	6
#define IPPROTO_ICMPV6	58

#define OPT_END		0
#define OPT_NOP		1
#define OPT_MSS		2
#define OPT_SCALE	3
#define OPT_SACK_OK	4
#define OPT_SACK	5
#define OPT_STAMP	8
#define OPT_MPTCP	30

#define SCALE_MAX	14
#define V4_FRAGMENT	0x3fff		/* fragment offset and more-fragments flag */

static bool read_dss(struct packet *packet, const uint8_t *option, uint8_t len)
{
	if (len < 4)
		return false;
	packet->dss_flags = option[3];
	if (!(option[3] & DSS_ACK))
		return true;
	packet->data_ack_len = option[3] & DSS_ACK_64 ? 8 : 4;
	if (len < 4 + packet->data_ack_len)
		return false;
	packet->data_ack = get32(option + 4);
	if (packet->data_ack_len == 8)
		packet->data_ack = packet->data_ack << 32 | get32(option + 8);
	return true;
}

static bool read_option(struct packet *packet, uint16_t at, uint8_t len)
{
	const uint8_t *option = packet->data + at;

	switch (option[0]) {
	case OPT_MSS:
		if (len != 4)
			return false;
		packet->mss = get16(option + 2);
		break;
	case OPT_SCALE:
		if (len != 3)
			return false;
		packet->has_scale = true;
		packet->scale = option[2] > SCALE_MAX ? SCALE_MAX : option[2];
		break;
	case OPT_SACK_OK:
		packet->sack_permitted = len == 2;
		break;
	case OPT_SACK:
		if (len < 10 || (len - 2) % 8)
			return false;
		packet->sack_at = at;
		packet->sacks = (len - 2) / 8;
		break;
	case OPT_STAMP:
		if (len != 10)
			return false;
		packet->has_stamp = true;
		packet->stamp_at = at + 2;
		packet->tsval = get32(option + 2);
		packet->tsecr = get32(option + 6);
		break;
	case OPT_MPTCP:
		if (len < 3)
			return false;
		packet->mptcp |= 1 << (option[2] >> 4);
		if (option[2] >> 4 == MP_DSS)
			return read_dss(packet, option, len);
		break;
	}
	return true;
}

static bool read_options(struct packet *packet)
{
	uint16_t at = packet->tcp_at + 20;

	while (at < packet->payload_at) {
		uint8_t kind = packet->data[at], len;

		if (kind == OPT_END)
			return true;
		if (kind == OPT_NOP) {
			at++;
			continue;
		}
		if (at + 2 > packet->payload_at)
			return false;
		len = packet->data[at + 1];
		if (len < 2 || at + len > packet->payload_at)
			return false;
		if (!read_option(packet, at, len))
			return false;
		at += len;
	}
	return true;
}

/* Parse the IP header. False if it isn't followed by TCP at once, without extension headers. */
static bool read_ip(struct packet *packet, size_t len)
{
	const uint8_t *data = packet->data;

	if (len >= 20 && data[0] >> 4 == 4) {
		packet->tcp_at = (data[0] & 15) * 4;
		packet->len = get16(data + 2);
		memcpy(packet->source.bytes, data + 12, 4);
		memcpy(packet->target.bytes, data + 16, 4);
		return packet->tcp_at >= 20 && data[9] == IPPROTO_TCP &&
		       !(get16(data + 6) & V4_FRAGMENT);
	}
	if (len < 40 || data[0] >> 4 != 6)
		return false;
	packet->v6 = true;
	packet->tcp_at = 40;
	packet->len = 40 + get16(data + 4);
	memcpy(packet->source.bytes, data + 8, 16);
	memcpy(packet->target.bytes, data + 24, 16);
	return data[6] == IPPROTO_TCP;
}

bool packet_read(struct packet *packet, uint8_t *data, size_t len)
{
	const uint8_t *tcp;

	memset(packet, 0, sizeof(*packet));
	packet->data = data;
	if (!read_ip(packet, len))
		return false;
	packet->cut = packet->len > len && len == COPIED_MAX;
	if (packet->cut)
		packet->len = len;
	if (packet->len > len || packet->len < packet->tcp_at + 20u)
		return false;
	tcp = data + packet->tcp_at;
	packet->payload_at = packet->tcp_at + (tcp[12] >> 4) * 4;
	if (packet->payload_at < packet->tcp_at + 20 ||
	    packet->payload_at > packet->len)
		return false;
	packet->payload_len = packet->len - packet->payload_at;
	packet->source_port = get16(tcp);
	packet->target_port = get16(tcp + 2);
	packet->seq = get32(tcp + 4);
	packet->ack = get32(tcp + 8);
	packet->flags = tcp[13];
	if (packet->cut)	/* they belong to its end */
		packet->flags &= ~(TCP_FIN | TCP_PSH);
	packet->window = get16(tcp + 14);
	return read_options(packet);
}

/* --- packets that are too large for a hop --- */

/* The offset of the packet that the ICMP message is about; 0: it isn't a "too large" message. */
static size_t read_icmp(const uint8_t *data, size_t len, uint32_t *mtu)
{
	size_t at = 40;

	if (len >= 20 && data[0] >> 4 == 4) {
		at = (data[0] & 15) * 4u;
		if (at < 20 || len < at + 8 || data[9] != IPPROTO_ICMP ||
		    get16(data + 6) & V4_FRAGMENT ||
		    data[at] != 3 || data[at + 1] != 4)
			return 0;
		*mtu = get16(data + at + 6);
		return at + 8;
	}
	if (len < at + 8 || data[0] >> 4 != 6 || data[6] != IPPROTO_ICMPV6 ||
	    data[at] != 2)
		return 0;
	*mtu = get32(data + at + 4);
	return at + 8;
}

bool packet_read_too_large(struct packet *packet, uint32_t *mtu, uint8_t *data,
			   size_t len)
{
	size_t at = read_icmp(data, len, mtu);
	const uint8_t *tcp;

	memset(packet, 0, sizeof(*packet));
	packet->data = data + at;
	if (!at || !read_ip(packet, len - at) || len - at < packet->tcp_at + 8u)
		return false;
	tcp = packet->data + packet->tcp_at;
	packet->source_port = get16(tcp);
	packet->target_port = get16(tcp + 2);
	packet->seq = get32(tcp + 4);
	return true;
}

/* --- checksums --- */

static uint64_t add_up(uint64_t sum, const uint8_t *data, size_t len)
{
	uint64_t word;

	for (; len >= 8; data += 8, len -= 8) {
		memcpy(&word, data, 8);
		sum += word;
		sum += sum < word;	/* end-around carry */
	}
	word = 0;
	memcpy(&word, data, len);
	sum += word;
	return sum + (sum < word);
}

/* Fold a sum to 16 bits, in the byte order of the data that was summed. */
static uint16_t fold(uint64_t sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

static uint16_t tcp_sum(const uint8_t *data, size_t len)
{
	bool v6 = data[0] >> 4 == 6;
	size_t tcp_at = v6 ? 40 : (data[0] & 15) * 4u;
	uint8_t rest[8] = { [7] = IPPROTO_TCP };
	uint64_t sum;

	put32(rest, (uint32_t)(len - tcp_at));
	sum = add_up(0, rest, sizeof(rest));
	sum = v6 ? add_up(sum, data + 8, 32) : add_up(sum, data + 12, 8);
	return fold(add_up(sum, data + tcp_at, len - tcp_at));
}

bool packet_intact(const struct packet *packet)
{
	return tcp_sum(packet->data, packet->len) == 0xffff;
}

static void put_sum(uint8_t *at, uint16_t sum)
{
	sum = ~sum;
	memcpy(at, &sum, 2);
}

void packet_seal(uint8_t *data, size_t len)
{
	bool v6 = data[0] >> 4 == 6;
	size_t tcp_at = v6 ? 40 : (data[0] & 15) * 4u;

	put16(data + tcp_at + 16, 0);
	put_sum(data + tcp_at + 16, tcp_sum(data, len));
	if (v6)
		return;
	put16(data + 10, 0);
	put_sum(data + 10, fold(add_up(0, data, tcp_at)));
}

/* --- changing and making --- */

void packet_set_len(uint8_t *data, uint32_t len)
{
	if (data[0] >> 4 == 6) {
		put16(data + 4, (uint16_t)(len - 40));
		return;
	}
	put16(data + 2, (uint16_t)len);
	put16(data + 4, 0);	/* the kernel gives the packet an id */
}

void packet_drop_sack(struct packet *packet)
{
	if (!packet->sack_at)
		return;
	memset(packet->data + packet->sack_at, OPT_NOP, 2 + 8 * packet->sacks);
	packet->sack_at = 0;
	packet->sacks = 0;
}

static uint8_t *put_stamp(uint8_t *at, const struct bare *bare)
{
	static const uint8_t start[] = { OPT_NOP, OPT_NOP, OPT_STAMP, 10 };

	memcpy(at, start, sizeof(start));
	put32(at + 4, bare->tsval);
	put32(at + 8, bare->tsecr);
	return at + 12;
}

static uint8_t *put_dss(uint8_t *at, const struct bare *bare)
{
	at[0] = OPT_MPTCP;
	at[1] = 4 + bare->data_ack_len;
	at[2] = MP_DSS << 4;
	at[3] = bare->data_ack_len == 8 ? DSS_ACK | DSS_ACK_64 : DSS_ACK;
	at += 4;
	if (bare->data_ack_len == 8) {
		put32(at, bare->data_ack >> 32);
		at += 4;
	}
	put32(at, (uint32_t)bare->data_ack);
	return at + 4;
}

static uint8_t *put_sacks(uint8_t *at, const struct bare *bare,
			  unsigned int count)
{
	at[0] = OPT_NOP;
	at[1] = OPT_NOP;
	at[2] = OPT_SACK;
	at[3] = 2 + 8 * count;
	at += 4;
	for (unsigned int i = 0; i < count; i++, at += 8) {
		put32(at, bare->ranges[i].from);
		put32(at + 4, bare->ranges[i].to);
	}
	return at;
}

static uint8_t *put_reset(uint8_t *at, uint8_t reason)
{
	at[0] = OPT_MPTCP;
	at[1] = 4;
	at[2] = MP_TCPRST << 4 | 1;	/* T: transient */
	at[3] = reason;
	return at + 4;
}

size_t packet_make(uint8_t *data, const struct bare *bare)
{
	/* copy the IP header without its options, which belong to another packet */
	size_t tcp_at = bare->header[0] >> 4 == 6 ? 40 : 20;
	uint8_t *tcp = data + tcp_at, *at = tcp + 20;
	unsigned int room, count;

	memcpy(data, bare->header, tcp_at);
	if (tcp_at == 20)
		data[0] = 0x45;
	memset(tcp, 0, 20);
	memcpy(tcp, bare->header + bare->tcp_at, 4);
	tcp_set_seq(tcp, bare->seq);
	tcp_set_ack(tcp, bare->ack);
	tcp_set_flags(tcp, bare->flags);
	tcp_set_window(tcp, bare->window);
	if (bare->has_stamp)
		at = put_stamp(at, bare);
	if (bare->data_ack_len)
		at = put_dss(at, bare);
	if (bare->has_reset)
		at = put_reset(at, bare->reset_reason);
	room = OPTIONS_MAX - (at - tcp - 20);
	count = room >= 12 ? (room - 4) / 8 : 0;
	if (count > bare->range_count)
		count = bare->range_count;
	if (count)
		at = put_sacks(at, bare, count);
	tcp[12] = (at - tcp) / 4 << 4;
	packet_set_len(data, at - data);
	packet_seal(data, at - data);
	return at - data;
}
