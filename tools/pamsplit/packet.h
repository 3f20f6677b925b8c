/* SPDX-License-Identifier: GPL-2.0 */
/*
 * packet - reads, changes and makes IP packets with TCP in them
 *
 * Numbers are in the host's byte order. Places (..._at) are offsets from the packet's
 * start, 0 if there is no such option. A packet may be larger than a link's MTU, since
 * the kernel's receive offload merges packets.
 */
#ifndef PAMSPLIT_PACKET_H
#define PAMSPLIT_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TCP_FIN		0x01
#define TCP_SYN		0x02
#define TCP_RST		0x04
#define TCP_PSH		0x08
#define TCP_ACK		0x10
#define TCP_ECE		0x40
#define TCP_CWR		0x80
#define TCP_AE		0x01		/* in the byte before the other flags */

#define HEADER_MAX	(60 + 60)	/* an IPv4 or IPv6 header, and TCP's */
#define OPTIONS_MAX	40
#define COPIED_MAX	65531		/* NFQUEUE copies no more of a packet */
#define PACKET_MAX	(40 + 65535)	/* IPv6's length doesn't count its header */

/* MPTCP's subtypes of RFC 8684 */
#define MP_JOIN		0x1
#define MP_DSS		0x2
#define MP_TCPRST	0x8

#define DSS_ACK		0x01		/* a DATA_ACK is there */
#define DSS_ACK_64	0x02		/* the DATA_ACK has 8 bytes, not 4 */

/* Is @a before @b? For sequence numbers and time stamps, which wrap. */
static inline bool before(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

static inline bool after(uint32_t a, uint32_t b)
{
	return before(b, a);
}

static inline uint32_t seq_max(uint32_t a, uint32_t b)
{
	return before(a, b) ? b : a;
}

static inline uint32_t seq_min(uint32_t a, uint32_t b)
{
	return before(a, b) ? a : b;
}

static inline bool lies_in(uint32_t seq, uint32_t from, uint32_t to)
{
	return !before(seq, from) && !after(seq, to);
}

struct address {
	uint8_t bytes[16];	/* the first 4 for IPv4, the rest 0 */
};

struct packet {
	uint8_t *data;
	uint32_t len;		/* length by the IP header; if cut, of what was copied */
	bool cut;		/* its end wasn't copied: it must not be sent on as it is */
	bool v6;
	uint16_t tcp_at;
	uint16_t payload_at;
	uint32_t payload_len;

	struct address source, target;
	uint16_t source_port, target_port;
	uint32_t seq, ack;
	uint16_t window;
	uint8_t flags;

	uint16_t mss;		/* 0: not given */
	uint8_t scale;		/* shift of the window scale option */
	bool has_scale, sack_permitted, has_stamp;
	uint16_t stamp_at;	/* place of TSval */
	uint32_t tsval, tsecr;
	uint16_t sack_at;	/* place of the SACK option */
	uint8_t sacks;		/* number of blocks in it */

	uint16_t mptcp;		/* bits: the subtypes of MPTCP's options in the packet */
	uint8_t dss_flags;
	uint8_t data_ack_len;	/* 0, 4 or 8 */
	uint64_t data_ack;
};

/*
 * Parse a packet. Returns false if it isn't a whole TCP packet with valid options. A packet
 * that is too long for NFQUEUE is read as one that ends where the copy ends.
 */
bool packet_read(struct packet *packet, uint8_t *data, size_t len);

/*
 * Parse an ICMP message that a TCP packet is too large for a hop, whose MTU is stored in @mtu.
 * In @packet only the TCP packet's addresses, ports, sequence number and tcp_at are set, as the
 * message has no more of it. Returns false for any other packet.
 */
bool packet_read_too_large(struct packet *packet, uint32_t *mtu, uint8_t *data,
			   size_t len);

/* Is the TCP checksum right? */
bool packet_intact(const struct packet *packet);

/* Compute the checksums of IP and TCP. */
void packet_seal(uint8_t *data, size_t len);

static inline uint16_t get16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

static inline uint32_t get32(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | at[1] << 16 | at[2] << 8 | at[3];
}

static inline void put16(uint8_t *at, uint16_t value)
{
	at[0] = value >> 8;
	at[1] = value;
}

static inline void put32(uint8_t *at, uint32_t value)
{
	put16(at, value >> 16);
	put16(at + 2, value);
}

/* Fields of the TCP header, from its start. */
static inline void tcp_set_seq(uint8_t *tcp, uint32_t seq)
{
	put32(tcp + 4, seq);
}

static inline void tcp_set_ack(uint8_t *tcp, uint32_t ack)
{
	put32(tcp + 8, ack);
}

static inline void tcp_set_flags(uint8_t *tcp, uint8_t flags)
{
	tcp[13] = flags;
}

/* Clear the flags that ask for ECN or Accurate ECN. Returns false if none was set. */
static inline bool tcp_drop_ecn(uint8_t *tcp)
{
	bool any = tcp[12] & TCP_AE || tcp[13] & (TCP_ECE | TCP_CWR);

	tcp[12] &= ~TCP_AE;
	tcp[13] &= ~(TCP_ECE | TCP_CWR);
	return any;
}

static inline void tcp_set_window(uint8_t *tcp, uint16_t window)
{
	put16(tcp + 14, window);
}

/* Set the length in the IP header of a packet that is made, from another's header. */
void packet_set_len(uint8_t *data, uint32_t len);

/* Overwrite the SACK option with no-operations. */
void packet_drop_sack(struct packet *packet);

struct range {
	uint32_t from, to;	/* sequence numbers; to is the first one after the range */
};

/*
 * A packet with options and no data. Its IP header and ports are copied from @header,
 * a packet of the same direction whose TCP header begins at @tcp_at.
 */
struct bare {
	const uint8_t *header;
	uint16_t tcp_at;
	uint32_t seq, ack;
	uint16_t window;
	uint8_t flags;
	bool has_stamp;
	uint32_t tsval, tsecr;
	uint8_t data_ack_len;	/* 0: none */
	uint64_t data_ack;
	const struct range *ranges;
	unsigned int range_count;
	bool has_reset;		/* with an MP_TCPRST of reset_reason, marked as transient */
	uint8_t reset_reason;
};

/* Make such a packet in @data, of HEADER_MAX bytes; returns its length. */
size_t packet_make(uint8_t *data, const struct bare *bare);

#endif /* PAMSPLIT_PACKET_H */
