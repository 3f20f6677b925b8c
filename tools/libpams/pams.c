// SPDX-License-Identifier: GPL-2.0
/*
 * libpams - marks an application's units by the netlink family mptcp_pams
 *
 * The few lines of generic netlink are written by hand, so that the library depends on no
 * other one.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include <linux/genetlink.h>
#include <linux/mptcp.h>
#include <linux/netlink.h>

#include <linux/mptcp_pams.h>

#include "pams.h"

#ifndef SOL_MPTCP
#define SOL_MPTCP 284
#endif

#define REQUEST_MAX	128
#define ANSWER_MAX	4096

struct pams {
	int fd;
	pid_t owner;		/* after a fork two would take each other's answers */
	uint16_t family;
	uint32_t sequence;
	char error[160];
};

/* A request, with room for all attributes that this file puts into one. */
struct request {
	_Alignas(struct nlmsghdr) char bytes[REQUEST_MAX];
};

static struct nlmsghdr *head_of(struct request *request)
{
	return (struct nlmsghdr *)request->bytes;
}

static void begin(struct request *request, uint16_t type, uint8_t command)
{
	struct nlmsghdr *head = head_of(request);
	struct genlmsghdr *genl = NLMSG_DATA(head);

	memset(request, 0, sizeof(*request));
	head->nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN);
	head->nlmsg_type = type;
	head->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	genl->cmd = command;
	genl->version = 1;
}

static void put(struct request *request, uint16_t type, const void *data, uint16_t bytes)
{
	struct nlmsghdr *head = head_of(request);
	struct nlattr *attr = (void *)(request->bytes + head->nlmsg_len);

	attr->nla_type = type;
	attr->nla_len = NLA_HDRLEN + bytes;
	memcpy(attr + 1, data, bytes);
	head->nlmsg_len += NLA_ALIGN(attr->nla_len);
}

/* Find the attribute of this type, of at least so many bytes, between at and end; or NULL. */
static const void *find(const char *at, const char *end, int type, size_t bytes)
{
	while (at + NLA_HDRLEN <= end) {
		const struct nlattr *attr = (const void *)at;

		if (attr->nla_len < NLA_HDRLEN || attr->nla_len > end - at)
			return NULL;
		if ((attr->nla_type & NLA_TYPE_MASK) == type &&
		    attr->nla_len >= NLA_HDRLEN + bytes)
			return attr + 1;
		at += NLA_ALIGN(attr->nla_len);
	}
	return NULL;
}

/*
 * Read the kernel's final message. Returns 0 or -errno. Without NLM_F_CAPPED the message has a
 * copy of the request before the attributes.
 */
static int read_end(struct pams *pams, const struct nlmsghdr *head)
{
	const struct nlmsgerr *err = NLMSG_DATA(head);
	const char *at = (const char *)(err + 1), *end = (const char *)head + head->nlmsg_len;
	const char *text = NULL;

	if (head->nlmsg_len < NLMSG_LENGTH(sizeof(*err)))
		return -EBADMSG;
	if (!(head->nlmsg_flags & NLM_F_CAPPED))
		at += NLMSG_ALIGN(err->msg.nlmsg_len) - NLMSG_HDRLEN;
	if (head->nlmsg_flags & NLM_F_ACK_TLVS)
		text = find(at, end, NLMSGERR_ATTR_MSG, 1);
	if (err->error && text)
		snprintf(pams->error, sizeof(pams->error), "%.*s", (int)(end - text), text);
	return err->error;
}

/* Send the request and read all answers. Returns 0 or -errno. */
static int ask(struct pams *pams, struct request *request)
{
	struct nlmsghdr *head = head_of(request);
	_Alignas(struct nlmsghdr) char answer[ANSWER_MAX];
	const uint16_t *family;
	ssize_t got;

	head->nlmsg_seq = ++pams->sequence;
	if (send(pams->fd, head, head->nlmsg_len, 0) < 0)
		return -errno;
	for (;;) {
		got = recv(pams->fd, answer, sizeof(answer), 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		for (head = (void *)answer; NLMSG_OK(head, got); head = NLMSG_NEXT(head, got)) {
			if (head->nlmsg_seq != pams->sequence)
				continue;	/* answer to an earlier request */
			if (head->nlmsg_type == NLMSG_ERROR)
				return read_end(pams, head);
			family = find((char *)NLMSG_DATA(head) + GENL_HDRLEN,
				      (char *)head + head->nlmsg_len,
				      CTRL_ATTR_FAMILY_ID, sizeof(*family));
			if (head->nlmsg_type == GENL_ID_CTRL && family)
				pams->family = *family;
		}
	}
}

/* Set errno and the error text from a negative errno. Returns 0 or -1. */
static int result(struct pams *pams, int err)
{
	if (!err)
		return 0;
	if (!pams->error[0])
		snprintf(pams->error, sizeof(pams->error), "%s", strerror(-err));
	errno = -err;
	return -1;
}

/* Read the family's id, which changes when the module is loaded again. */
static int find_family(struct pams *pams)
{
	struct request request;

	begin(&request, GENL_ID_CTRL, CTRL_CMD_GETFAMILY);
	put(&request, CTRL_ATTR_FAMILY_NAME, MPTCP_PAMS_FAMILY_NAME,
	    sizeof(MPTCP_PAMS_FAMILY_NAME));
	return ask(pams, &request);
}

/* Open a socket of this process. Returns 0 or -errno. */
static int open_socket(struct pams *pams)
{
	int on = 1;

	pams->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	if (pams->fd < 0)
		return -errno;
	pams->owner = getpid();
	/* if these fail, answers have no text, or repeat the request */
	setsockopt(pams->fd, SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on));
	setsockopt(pams->fd, SOL_NETLINK, NETLINK_CAP_ACK, &on, sizeof(on));
	return find_family(pams);
}

struct pams *pams_open(void)
{
	struct pams *pams = calloc(1, sizeof(*pams));
	int err;

	if (!pams)
		return NULL;
	err = open_socket(pams);
	if (err) {
		pams_close(pams);
		errno = -err;
		return NULL;
	}
	return pams;
}

void pams_close(struct pams *pams)
{
	if (!pams)
		return;
	if (pams->fd >= 0)
		close(pams->fd);
	free(pams);
}

const char *pams_error(const struct pams *pams)
{
	return pams->error;
}

static int mark(struct pams *pams, uint32_t token, uint64_t bytes)
{
	struct request request;

	begin(&request, pams->family, MPTCP_PAMS_CMD_UNIT_SET);
	put(&request, MPTCP_PAMS_A_CONN_TOKEN, &token, sizeof(token));
	put(&request, MPTCP_PAMS_A_CONN_UNIT, &bytes, sizeof(bytes));
	return ask(pams, &request);
}

int pams_unit_by_token(struct pams *pams, uint32_t token, uint64_t bytes)
{
	uint16_t family = pams->family;
	int err = 0;

	pams->error[0] = '\0';
	if (pams->owner != getpid()) {
		close(pams->fd);
		err = open_socket(pams);
	}
	if (!err)
		err = mark(pams, token, bytes);
	/* the module may have been unloaded, and loaded again with another id */
	if (err && !pams->error[0]) {
		int gone = find_family(pams);

		if (gone == -ENOENT)
			snprintf(pams->error, sizeof(pams->error),
				 "the module mptcp_pams isn't loaded");
		else if (!gone && pams->family != family)
			err = mark(pams, token, bytes);
	}
	return result(pams, err);
}

int pams_unit(struct pams *pams, int fd, uint64_t bytes)
{
	struct mptcp_info info = { 0 };
	socklen_t length = sizeof(info);

	if (!getsockopt(fd, SOL_MPTCP, MPTCP_INFO, &info, &length) &&
	    length >= offsetof(struct mptcp_info, mptcpi_token) + sizeof(info.mptcpi_token)) {
		if (info.mptcpi_token)
			return pams_unit_by_token(pams, info.mptcpi_token, bytes);
		snprintf(pams->error, sizeof(pams->error), "the connection isn't established");
		errno = ENOTCONN;
		return -1;
	}
	if (errno != EBADF && errno != ENOTSOCK)
		errno = EOPNOTSUPP;
	snprintf(pams->error, sizeof(pams->error), "%s", errno == EOPNOTSUPP ?
		 "not an MPTCP connection, or it fell back to TCP" : strerror(errno));
	return -1;
}
