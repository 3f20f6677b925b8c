// SPDX-License-Identifier: GPL-2.0
/*
 * flows - the TCP connections that MPTCP's subflows are, from sock_diag: who uses which path,
 * and how many bytes went over it
 *
 * It works for whatever scheduler a connection has, and without the module. Subflows of a
 * connection that fell back are plain TCP, and left out. Older kernels, such as 6.12, tell only
 * who has CAP_NET_ADMIN which TCP connections are subflows.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <netlink/attr.h>
#include <netlink/errno.h>
#include <netlink/netlink.h>

#include <linux/capability.h>
#include <linux/mptcp.h>

#include "flows.h"
#include "pamsctl.h"
#include "sockdiag.h"
#include "tcpinfo.h"

/* Those in which data may still be under way. */
static const uint32_t states = 1 << TCP_ESTABLISHED | 1 << TCP_FIN_WAIT1 | 1 << TCP_FIN_WAIT2 |
			       1 << TCP_CLOSE_WAIT | 1 << TCP_LAST_ACK | 1 << TCP_CLOSING;

struct reading {
	struct flows *flows;
	bool told;		/* the kernel told of a socket that it is MPTCP's */
	bool short_of_memory;
};

static void on_socket(const struct sockdiag *socket, void *arg)
{
	struct sockdiag_subflow subflow;
	struct reading *reading = arg;
	struct flows *flows = reading->flows;
	int family = socket->family;
	struct tcpinfo info;
	struct flow *flow;

	if (!sockdiag_is_mptcp(socket->ulp))
		return;
	reading->told = true;
	if (!socket->info || !sockdiag_subflow(socket->ulp, &subflow) ||
	    !(subflow.flags & (MPTCP_SUBFLOW_FLAG_MCAP_REM | MPTCP_SUBFLOW_FLAG_JOIN_REM)))
		return;
	flow = reallocarray(flows->at, flows->count + 1, sizeof(*flow));
	if (!flow) {
		reading->short_of_memory = true;
		return;
	}
	flows->at = flow;
	flow += flows->count++;
	memset(flow, 0, sizeof(*flow));
	flow->family = socket->family;
	memcpy(flow->local, socket->local, sizeof(flow->local));
	memcpy(flow->remote, socket->remote, sizeof(flow->remote));
	sockdiag_unmap(&flow->family, flow->local);
	sockdiag_unmap(&family, flow->remote);
	flow->local_port = socket->local_port;
	flow->remote_port = socket->remote_port;
	flow->bound = socket->ifindex;
	flow->token = subflow.local_token;
	flow->local_id = subflow.local_id;
	flow->remote_id = subflow.remote_id;
	flow->backup = subflow.flags & (MPTCP_SUBFLOW_FLAG_BKUP_REM | MPTCP_SUBFLOW_FLAG_BKUP_LOC);
	tcpinfo_parse(&info, nla_data(socket->info), nla_len(socket->info));
	flow->srtt_us = info.srtt_us;
	flow->min_rtt_us = info.min_rtt_us;
	flow->rate_byteps = info.rate_byteps;
	flow->busy = info.waiting_bytes;
	flow->sent_bytes = info.sent_bytes;
	flow->received_bytes = info.received_bytes;
	flow->unanswered_ms = info.unanswered_ms;
}

static void on_mptcp(const struct sockdiag *socket, void *arg)
{
	bool *there = arg;

	(void)socket;
	*there = true;
}

static int by_token(const void *one, const void *other)
{
	const struct flow *a = one, *b = other;

	if (a->token != b->token)
		return a->token < b->token ? -1 : 1;
	return a->local_id != b->local_id ? a->local_id - b->local_id :
					    a->remote_id - b->remote_id;
}

int flows_read(struct flows *flows)
{
	struct reading reading = { .flows = flows };
	struct nl_sock *sock = nl_socket_alloc();
	struct timespec now;
	int err;

	memset(flows, 0, sizeof(*flows));
	if (!sock)
		return -NLE_NOMEM;
	err = nl_connect(sock, NETLINK_SOCK_DIAG);
	if (!err)
		err = sockdiag_dump(sock, IPPROTO_TCP, states, NULL, 0, on_socket, &reading);
	if (!err && reading.short_of_memory)
		err = -NLE_NOMEM;
	/* There are connections, but no subflow: the kernel doesn't tell everybody. */
	if (!err && !reading.told && !has_capability(CAP_NET_ADMIN))
		err = sockdiag_dump(sock, IPPROTO_MPTCP, 1 << TCP_ESTABLISHED, NULL, 0, on_mptcp,
				    &flows->hidden);
	clock_gettime(CLOCK_MONOTONIC, &now);
	flows->at_us = (uint64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
	nl_socket_free(sock);
	if (err)
		flows_free(flows);
	else if (flows->count)
		qsort(flows->at, flows->count, sizeof(*flows->at), by_token);
	return err;
}

void flows_free(struct flows *flows)
{
	free(flows->at);
	memset(flows, 0, sizeof(*flows));
}

/* The number of the first flow whose token is no less. */
static size_t first_of(const struct flows *flows, uint32_t token)
{
	size_t from = 0, to = flows->count;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (flows->at[middle].token < token)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

const struct flow *flows_find(const struct flows *flows, uint32_t token, int family,
			      const uint8_t *local, uint16_t local_port,
			      const uint8_t *remote, uint16_t remote_port)
{
	size_t bytes = family == AF_INET ? 4 : 16;

	for (size_t i = first_of(flows, token); i < flows->count; i++) {
		const struct flow *flow = &flows->at[i];

		if (flow->token != token)
			break;
		if (flow->family == family && flow->local_port == local_port &&
		    flow->remote_port == remote_port && !memcmp(flow->local, local, bytes) &&
		    !memcmp(flow->remote, remote, bytes))
			return flow;
	}
	return NULL;
}

static uint64_t per_second(uint64_t now, uint64_t before, uint64_t us)
{
	return us && now > before ? (now - before) * 1000000. / us : 0;
}

void flows_rates(struct flows *flows, const struct flows *before)
{
	uint64_t us = flows->at_us - before->at_us;

	for (size_t i = 0; i < flows->count; i++) {
		struct flow *flow = &flows->at[i];
		const struct flow *old = flows_find(before, flow->token, flow->family,
						    flow->local, flow->local_port,
						    flow->remote, flow->remote_port);

		flow->measured = old;
		if (!flow->measured)
			continue;
		flow->sending_byteps = per_second(flow->sent_bytes, old->sent_bytes, us);
		flow->receiving_byteps = per_second(flow->received_bytes, old->received_bytes, us);
	}
}

int flows_measure(struct flows *flows, uint64_t interval_us)
{
	struct flows before;
	int err = flows_read(&before);

	if (err || !before.count) {
		*flows = before;
		return err;
	}
	usleep(interval_us);
	err = flows_read(flows);
	if (!err)
		flows_rates(flows, &before);
	flows_free(&before);
	return err;
}
