// SPDX-License-Identifier: GPL-2.0
/*
 * source_tcp - the connections over the pipe, as sock_diag tells
 *
 * For a helper that ends TCP: its own connections to the device that fetches
 * are the pipe. MPTCP's subflows are TCP sockets and are seen like others.
 * Meant are those whose peer is in one of the prefixes that the interface is
 * about, or, where it is about its source, those with its address at this end.
 * Of them
 *
 *	rate     the sum of the delivery rates
 *	backlog  the sum of the bytes not sent yet and not acknowledged yet
 *	delay    half of the lowest minimum round-trip time
 *
 * A delivery rate that the application limited says less than the pipe can
 * do. It counts only if it is more than what was known.
 */
#include <errno.h>
#include <string.h>

#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>

#include "pamsd.h"
#include "tcpinfo.h"

#define TCP_STATE_ESTABLISHED	1

static struct nl_sock *sock;

struct sum {
	const struct link *link;
	const struct interface_config *config;
	uint64_t bytes, rate_byteps, limited_byteps, backlog_bytes;
	uint32_t min_rtt_us;
};

static bool is_address(const struct link *link, int family, const void *address)
{
	if (family == AF_INET)
		return link->has_address4 &&
		       !memcmp(&link->address4, address, 4);
	return link->has_address6 && !memcmp(&link->address6, address, 16);
}

/* An IPv6 socket may speak IPv4. */
static void prefix_from(struct prefix *prefix, int family, const void *address)
{
	const struct in6_addr *address6 = address;

	memset(prefix, 0, sizeof(*prefix));
	if (family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(address6)) {
		family = AF_INET;
		address = &address6->s6_addr[12];
	}
	prefix->family = family;
	prefix->len = family == AF_INET ? 32 : 128;
	memcpy(prefix->address, address, prefix->len / 8);
}

static bool is_meant(const struct sum *sum, const struct inet_diag_msg *diag)
{
	struct prefix local, peer;

	prefix_from(&local, diag->idiag_family, diag->id.idiag_src);
	prefix_from(&peer, diag->idiag_family, diag->id.idiag_dst);
	for (unsigned int i = 0; i < sum->config->about_count; i++) {
		const struct about *about = &sum->config->abouts[i];

		if (about->port && about->port != ntohs(diag->id.idiag_dport))
			continue;
		if (about->source ? is_address(sum->link, local.family,
					       local.address) :
				    prefix_contains(&about->prefix, &peer))
			return true;
	}
	return false;
}

static int take(struct nl_msg *msg, void *arg)
{
	struct inet_diag_msg *diag = nlmsg_data(nlmsg_hdr(msg));
	struct tcpinfo info;
	struct nlattr *attr;
	struct sum *sum = arg;

	if (nlmsg_hdr(msg)->nlmsg_type != SOCK_DIAG_BY_FAMILY ||
	    !is_meant(sum, diag))
		return NL_OK;
	attr = nlmsg_find_attr(nlmsg_hdr(msg), sizeof(*diag), INET_DIAG_INFO);
	if (!attr)
		return NL_OK;
	tcpinfo_parse(&info, nla_data(attr), nla_len(attr));
	sum->bytes += info.acked_bytes;
	sum->backlog_bytes += info.waiting_bytes;
	if (info.limited)
		sum->limited_byteps += info.rate_byteps;
	else
		sum->rate_byteps += info.rate_byteps;
	if (info.min_rtt_us &&
	    (!sum->min_rtt_us || info.min_rtt_us < sum->min_rtt_us))
		sum->min_rtt_us = info.min_rtt_us;
	return NL_OK;
}

static int ask(int family)
{
	struct inet_diag_req_v2 req = {
		.sdiag_family = family,
		.sdiag_protocol = IPPROTO_TCP,
		.idiag_ext = 1 << (INET_DIAG_INFO - 1),
		.idiag_states = 1 << TCP_STATE_ESTABLISHED,
	};
	int err = nl_send_simple(sock, SOCK_DIAG_BY_FAMILY, NLM_F_DUMP, &req,
				 sizeof(req));

	return err < 0 ? err : nl_recvmsgs_default(sock);
}

static void close_source(void)
{
	source_close(&sock);
}

static int sample(const struct link *link,
		  const struct interface_config *config,
		  struct estimate *estimate, uint64_t us)
{
	struct sum sum = { .link = link, .config = config };
	uint64_t rate_byteps;
	int err;

	err = source_open(&sock, NETLINK_SOCK_DIAG);
	if (err)
		return err;
	nl_socket_modify_cb(sock, NL_CB_VALID, NL_CB_CUSTOM, take, &sum);
	err = ask(AF_INET);
	if (err >= 0)
		err = ask(AF_INET6);
	if (err < 0) {
		close_source();
		return -EIO;
	}
	rate_byteps = sum.rate_byteps + sum.limited_byteps;
	if (!sum.rate_byteps && rate_byteps <= estimate->rate_byteps)
		rate_byteps = 0;
	if (sum.backlog_bytes > UINT32_MAX)
		sum.backlog_bytes = UINT32_MAX;
	if (sum.min_rtt_us) {
		estimate->has_delay = true;
		estimate->delay_us = sum.min_rtt_us / 2;
	}
	/* Connections that ended took their counts along. */
	if (sum.bytes < estimate->bytes)
		estimate->bytes = sum.bytes;
	estimate_rate(estimate, us, sum.bytes, sum.backlog_bytes, rate_byteps);
	return 0;
}

const struct source source_tcp = {
	.name = "tcp",
	.sample = sample,
	.close = close_source,
};
