// SPDX-License-Identifier: GPL-2.0
/*
 * buffers - compares TCP's maximum buffers with what all paths together need
 *
 * MPTCP puts the data of all paths in order, so its buffers have to hold the sum
 * of the paths' rates times the longest round-trip time. Half of a receive buffer
 * is for the kernel's own bookkeeping.
 */
#include <inttypes.h>
#include <string.h>

#include "pamsctl.h"

#define PER_MS		1000

/* The maximum, which is the last number of tcp_wmem or tcp_rmem; 0 if it can't be read. */
static uint64_t largest(const char *file)
{
	uint64_t least, usual, most = 0;
	FILE *f = fopen(file, "r");

	if (f && fscanf(f, "%" SCNu64 " %" SCNu64 " %" SCNu64, &least, &usual,
			&most) != 3)
		most = 0;
	if (f)
		fclose(f);
	return most;
}

struct need {
	uint64_t bytes;
	uint64_t rate_byteps;
	uint32_t rtt_us;
	uint32_t token;
};

static int on_conn(const struct pams_conn *conn, void *arg)
{
	struct need *need = arg, own = { .token = conn->token };
	unsigned int i;

	for (i = 0; i < conn->subflows; i++) {
		own.rate_byteps += conn->subflow[i].rate_byteps;
		if (conn->subflow[i].srtt_us > own.rtt_us)
			own.rtt_us = conn->subflow[i].srtt_us;
	}
	own.bytes = own.rate_byteps / PER_MS * own.rtt_us / PER_MS;
	if (own.bytes > need->bytes)
		*need = own;
	return 0;
}

static void judge(json_t *list, const char *name, uint64_t room,
		  const struct need *need)
{
	char rate[QUANTITY_MAX], rtt[QUANTITY_MAX], advice[128];

	if (!room || !need->bytes)
		return;
	if (room >= need->bytes) {
		finding(list, FINE, "buffers", NULL,
			"net.ipv4.%s: %" PRIu64 " bytes of data at most, the "
			"largest connection's paths hold %" PRIu64, name, room,
			need->bytes);
		return;
	}
	snprintf(advice, sizeof(advice),
		 "sysctl -w net.ipv4.%s=\"4096 131072 %" PRIu64 "\"", name,
		 need->bytes * 4);
	finding(list, NOTE, "buffers", advice,
		"net.ipv4.%s: %" PRIu64 " bytes of data at most, but the paths "
		"of connection 0x%08" PRIx32 " hold %" PRIu64 " (%s times %s)",
		name, room, need->token, need->bytes,
		show_rate(rate, need->rate_byteps),
		show_time(rtt, need->rtt_us));
}

void look_at_buffers(json_t *list)
{
	uint64_t send = largest("/proc/sys/net/ipv4/tcp_wmem");
	uint64_t receive = largest("/proc/sys/net/ipv4/tcp_rmem");
	struct need need = { };
	struct pams_nl *nl;
	char rate[QUANTITY_MAX];

	if (send && receive)
		finding(list, FINE, "buffers", NULL,
			"at a round trip of 50ms enough to receive %s over all "
			"paths together",
			show_rate(rate, receive / 2 * 20));
	if (!pams_nl_open(&nl))
		pams_nl_conn_dump(nl, on_conn, &need);
	pams_nl_close(nl);
	judge(list, "tcp_wmem", send, &need);
}
