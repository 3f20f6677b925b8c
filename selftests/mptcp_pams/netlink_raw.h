/* SPDX-License-Identifier: GPL-2.0 */
/*
 * netlink_raw - messages for the family mptcp_pams, good and bad, and what the
 * kernel answers
 *
 * Raw netlink: a library would not send what is sent here. For one program of
 * one file, which ends with report().
 */
#ifndef NETLINK_RAW_H
#define NETLINK_RAW_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <linux/genetlink.h>
#include <linux/mptcp_pams.h>
#include <linux/netlink.h>

#define MESSAGE_MAX	8192
#define ANSWER_S	5
#define COUNT(array)	(sizeof(array) / sizeof((array)[0]))

enum kind { U8, U16, U32, S32, UINT, BYTES, FLAG };

struct attribute {
	uint16_t type;
	const char *name;
	enum kind kind;
	int bytes;		/* the wire's; of UINT 4 is as good as 8 */
	uint64_t good;
	bool has_min, has_max;
	int64_t low, high;	/* just out of range */
};

#define A(set_attr, kind_of, bytes_of, good_one) \
	.type = MPTCP_PAMS_A_##set_attr, .name = #set_attr, .kind = kind_of, \
	.bytes = bytes_of, .good = good_one

static const struct attribute path_attributes[] = {
	{ A(PATH_ADDRESS4, U32, 4, 0x070200c0) },
	{ A(PATH_ADDRESS6, BYTES, 16, 0) },
	{ A(PATH_PREFIX_LEN, U8, 1, 24), .has_max = true, .high = 129 },
	{ A(PATH_PORT, U16, 2, 0xbb01), .has_min = true, .low = 0 },
	{ A(PATH_TOKEN, U32, 4, 0x1234) },
	{ A(PATH_LOCAL_ID, U8, 1, 0) },
	{ A(PATH_REMOTE_ID, U8, 1, 1) },
	{ A(PATH_IFINDEX, U32, 4, 1), .has_min = true, .low = 0,
	  .has_max = true, .high = 0x80000000 },
	{ A(PATH_PIPE_RATE, UINT, 8, 625000), .has_min = true,
	  .low = MPTCP_PAMS_RATE_MIN_BYTEPS - 1, .has_max = true,
	  .high = MPTCP_PAMS_RATE_MAX_BYTEPS + 1 },
	{ A(PATH_PIPE_BACKLOG, U32, 4, 120000), .has_max = true,
	  .high = MPTCP_PAMS_BACKLOG_MAX_BYTES + 1 },
	{ A(PATH_PIPE_DELAY, U32, 4, 8000), .has_max = true,
	  .high = MPTCP_PAMS_DELAY_MAX_US + 1 },
	{ A(PATH_HS_RATE, UINT, 8, 1000000), .has_min = true,
	  .low = MPTCP_PAMS_RATE_MIN_BYTEPS - 1, .has_max = true,
	  .high = MPTCP_PAMS_RATE_MAX_BYTEPS + 1 },
	{ A(PATH_LOSS_TIME, S32, 4, 800), .has_min = true, .low = -1,
	  .has_max = true, .high = MPTCP_PAMS_TIME_MAX_MS + 1 },
	{ A(PATH_NO_LOSS, FLAG, 0, 0) },
	{ A(PATH_TTL, U32, 4, 2000), .has_max = true,
	  .high = MPTCP_PAMS_TIME_MAX_MS + 1 },
	{ A(PATH_LOSS_SPREAD, U32, 4, 90), .has_max = true,
	  .high = MPTCP_PAMS_TIME_MAX_MS + 1 },
	{ A(PATH_COST, U8, 1, 2), .has_max = true,
	  .high = MPTCP_PAMS_COST_MAX + 1 },
};

static const struct attribute conn_attributes[] = {
	{ A(CONN_TOKEN, U32, 4, 0x0badbad) },
	{ A(CONN_PEER_TOKEN, U32, 4, 0x0badbad) },
};

static const struct attribute unit_attributes[] = {
	{ A(CONN_TOKEN, U32, 4, 0x0badbad) },
	{ A(CONN_UNIT, UINT, 8, 500000), .has_max = true,
	  .high = MPTCP_PAMS_UNIT_MAX_BYTES + 1 },
};

struct command {
	uint8_t number;
	const char *name;
	const struct attribute *attributes;
	size_t count;		/* that it takes */
};

static const struct command commands[] = {
	{ MPTCP_PAMS_CMD_PATH_SET, "path-set", path_attributes, 17 },
	{ MPTCP_PAMS_CMD_PATH_DEL, "path-del", path_attributes, 8 },
	{ MPTCP_PAMS_CMD_PATH_GET, "path-get", path_attributes, 8 },
	{ MPTCP_PAMS_CMD_CONN_GET, "conn-get", conn_attributes, 2 },
	{ MPTCP_PAMS_CMD_UNIT_SET, "unit-set", unit_attributes, 2 },
};

/* What the kernel said. */
struct answer {
	int error;		/* errno, 0: done */
	int attribute;		/* the wrong one's place in the message, or 0 */
	char text[256];
	unsigned int messages;	/* besides the acknowledgment */
};

struct message {
	_Alignas(8) uint8_t bytes[MESSAGE_MAX];
	uint32_t length;
};

static int netlink = -1;
static uint16_t family;
static uint32_t sequence;
static unsigned int sent, refused, failed;

static inline void die(const char *what)
{
	perror(what);
	exit(1);
}

static inline void wrong(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

static inline void wrong(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	printf("wrong: ");
	vprintf(format, args);
	printf("\n");
	va_end(args);
	failed++;
}

/* --- messages --- */

static inline struct nlmsghdr *header(struct message *m)
{
	return (struct nlmsghdr *)m->bytes;
}

static inline void start(struct message *m, uint16_t type, uint16_t flags,
			 uint8_t command)
{
	struct genlmsghdr *genl = NLMSG_DATA(header(m));

	memset(m, 0, sizeof(*m));
	m->length = NLMSG_LENGTH(GENL_HDRLEN);
	header(m)->nlmsg_type = type;
	header(m)->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
	genl->cmd = command;
	genl->version = 1;
}

/* Returns where the attribute is. */
static inline uint32_t put(struct message *m, uint16_t type, const void *data,
			   uint16_t bytes)
{
	struct nlattr *attr = (struct nlattr *)(m->bytes + m->length);
	uint32_t at = m->length;

	if (m->length + NLA_HDRLEN + NLA_ALIGN(bytes) > sizeof(m->bytes))
		return at;
	attr->nla_type = type;
	attr->nla_len = NLA_HDRLEN + bytes;
	if (bytes)
		memcpy(attr + 1, data, bytes);
	m->length += NLA_ALIGN(attr->nla_len);
	return at;
}

/* With a value that isn't in range, or another number of bytes. */
static inline uint32_t put_value(struct message *m, const struct attribute *a,
				 uint64_t value, int bytes, uint16_t flags)
{
	uint8_t data[64] = { };

	if (a->kind == BYTES) {
		static const uint8_t address[16] = { 0x20, 0x01, 0x0d, 0xb8 };

		memcpy(data, address, sizeof(address));
	} else {
		/* both are little-endian; the module refuses other kernels */
		memcpy(data, &value, sizeof(value));
	}
	return put(m, a->type | flags, data, bytes);
}

static inline uint32_t put_good(struct message *m, const struct attribute *a)
{
	return put_value(m, a, a->good, a->bytes, 0);
}

/* --- what comes back --- */

static inline void parse_error(const struct nlmsghdr *hdr, struct answer *answer)
{
	const struct nlmsgerr *err = NLMSG_DATA(hdr);
	const char *at = (const char *)(err + 1);
	const char *end = (const char *)hdr + hdr->nlmsg_len;

	answer->error = -err->error;
	if (!(hdr->nlmsg_flags & NLM_F_CAPPED))
		at += NLMSG_ALIGN(err->msg.nlmsg_len) - NLMSG_HDRLEN;
	while (hdr->nlmsg_flags & NLM_F_ACK_TLVS && at + NLA_HDRLEN <= end) {
		const struct nlattr *attr = (const void *)at;

		if (attr->nla_len < NLA_HDRLEN || at + attr->nla_len > end)
			break;
		if (attr->nla_type == NLMSGERR_ATTR_MSG)
			snprintf(answer->text, sizeof(answer->text), "%.*s",
				 attr->nla_len - NLA_HDRLEN,
				 (const char *)(attr + 1));
		if (attr->nla_type == NLMSGERR_ATTR_OFFS)
			memcpy(&answer->attribute, attr + 1, sizeof(uint32_t));
		at += NLA_ALIGN(attr->nla_len);
	}
}

typedef void (*look_fn)(const struct nlmsghdr *hdr, void *arg);

/* Reads until the kernel has said all; false if it says nothing. */
static inline bool receive(struct answer *answer, look_fn look, void *arg)
{
	static uint8_t buffer[65536];

	memset(answer, 0, sizeof(*answer));
	for (;;) {
		ssize_t got = recv(netlink, buffer, sizeof(buffer), 0);
		struct nlmsghdr *hdr = (struct nlmsghdr *)buffer;

		if (got < 0)
			return false;
		for (; NLMSG_OK(hdr, got); hdr = NLMSG_NEXT(hdr, got)) {
			if (hdr->nlmsg_seq != sequence)
				continue;
			if (hdr->nlmsg_type == NLMSG_ERROR) {
				parse_error(hdr, answer);
				return true;
			}
			if (hdr->nlmsg_type == NLMSG_DONE)
				return true;
			answer->messages++;
			if (look)
				look(hdr, arg);
		}
	}
}

static inline void send_message(struct message *m)
{
	header(m)->nlmsg_len = m->length;
	header(m)->nlmsg_seq = ++sequence;
	sent++;
	if (send(netlink, m->bytes, m->length, 0) != (ssize_t)m->length)
		die("send");
}

static inline struct answer talk_look(struct message *m, look_fn look, void *arg)
{
	struct answer answer;

	send_message(m);
	if (!receive(&answer, look, arg))
		die("the kernel does not answer");
	refused += answer.error != 0;
	return answer;
}

static inline struct answer talk(struct message *m)
{
	return talk_look(m, NULL, NULL);
}

static inline void find_attribute(const struct nlmsghdr *hdr, uint16_t type,
				  void *to, size_t bytes)
{
	const char *at = (const char *)hdr + NLMSG_LENGTH(GENL_HDRLEN);
	const char *end = (const char *)hdr + hdr->nlmsg_len;

	while (at + NLA_HDRLEN <= end) {
		const struct nlattr *attr = (const void *)at;
		size_t length = attr->nla_len - NLA_HDRLEN;

		if (attr->nla_len < NLA_HDRLEN)
			return;
		if ((attr->nla_type & NLA_TYPE_MASK) == type)
			memcpy(to, attr + 1, length < bytes ? length : bytes);
		at += NLA_ALIGN(attr->nla_len);
	}
}

static inline void look_family(const struct nlmsghdr *hdr, void *arg)
{
	find_attribute(hdr, CTRL_ATTR_FAMILY_ID, arg, sizeof(family));
}

static inline void look_paths(const struct nlmsghdr *hdr, void *arg)
{
	find_attribute(hdr, MPTCP_PAMS_A_STATS_PATHS, arg, sizeof(uint32_t));
}

static inline void open_netlink(void)
{
	struct timeval patience = { .tv_sec = ANSWER_S };
	struct message m;
	int on = 1;

	netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	if (netlink < 0 ||
	    setsockopt(netlink, SOL_NETLINK, NETLINK_EXT_ACK, &on,
		       sizeof(on)) ||
	    setsockopt(netlink, SOL_NETLINK, NETLINK_CAP_ACK, &on,
		       sizeof(on)) ||
	    setsockopt(netlink, SOL_SOCKET, SO_RCVTIMEO, &patience,
		       sizeof(patience)))
		die("netlink");
	start(&m, GENL_ID_CTRL, 0, CTRL_CMD_GETFAMILY);
	put(&m, CTRL_ATTR_FAMILY_NAME, MPTCP_PAMS_FAMILY_NAME,
	    sizeof(MPTCP_PAMS_FAMILY_NAME));
	talk_look(&m, look_family, &family);
	if (!family) {
		fprintf(stderr, "the module is not loaded\n");
		exit(1);
	}
}

static inline uint32_t number_of_paths(void)
{
	uint32_t paths = UINT32_MAX;
	struct message m;

	start(&m, family, 0, MPTCP_PAMS_CMD_STATS_GET);
	if (talk_look(&m, look_paths, &paths).error)
		wrong("stats-get is refused");
	return paths;
}

static inline void flush_paths(void)
{
	struct message m;

	start(&m, family, 0, MPTCP_PAMS_CMD_PATH_FLUSH);
	if (talk(&m).error)
		wrong("path-flush is refused");
}

static const struct attribute *attribute(uint16_t type)
{
	size_t i;

	for (i = 0; i < COUNT(path_attributes); i++)
		if (path_attributes[i].type == type)
			return &path_attributes[i];
	return NULL;
}

static inline void put_path(struct message *m, uint16_t type)
{
	put_good(m, attribute(type));
}

/* All that a good message with this attribute has besides it. */
static inline void put_others(struct message *m, const struct command *command,
			      uint16_t type)
{
	bool token = type == MPTCP_PAMS_A_PATH_TOKEN ||
		     type == MPTCP_PAMS_A_PATH_LOCAL_ID ||
		     type == MPTCP_PAMS_A_PATH_REMOTE_ID;
	static const uint16_t subflow[] = { MPTCP_PAMS_A_PATH_TOKEN,
		MPTCP_PAMS_A_PATH_LOCAL_ID, MPTCP_PAMS_A_PATH_REMOTE_ID };
	size_t i;

	for (i = 0; command->attributes != path_attributes && i < command->count; i++)
		if (command->attributes[i].type != type)
			put_good(m, &command->attributes[i]);
	if (command->attributes != path_attributes)
		return;
	for (i = 0; token && i < COUNT(subflow); i++)
		if (subflow[i] != type)
			put_path(m, subflow[i]);
	if (!token && type != MPTCP_PAMS_A_PATH_ADDRESS4 &&
	    type != MPTCP_PAMS_A_PATH_ADDRESS6 &&
	    type != MPTCP_PAMS_A_PATH_IFINDEX)
		put_path(m, MPTCP_PAMS_A_PATH_ADDRESS4);
	if (command->number == MPTCP_PAMS_CMD_PATH_SET &&
	    type != MPTCP_PAMS_A_PATH_PIPE_RATE)
		put_path(m, MPTCP_PAMS_A_PATH_PIPE_RATE);
	if (type == MPTCP_PAMS_A_PATH_LOSS_SPREAD)
		put_path(m, MPTCP_PAMS_A_PATH_LOSS_TIME);
}

/* The last line, and the exit status. */
static inline int report(void)
{
	printf("%u messages, %u refused, %u wrong\n", sent, refused, failed);
	return failed > 0;
}

#endif
