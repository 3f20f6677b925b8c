// SPDX-License-Identifier: GPL-2.0
/*
 * source_tcp - the connections over the pipe (diag.c)
 *
 * For a helper that terminates TCP: its own connections to the device that
 * downloads are the pipe. MPTCP subflows are TCP sockets, and count like others.
 * Reads the sockets whose peer is in one of the prefixes that the interface is
 * about; a filter in the kernel leaves out all others. Of these sockets
 *
 *	rate     the sum of the delivery rates
 *	backlog  the sum of the bytes not sent yet and not acknowledged yet
 *	delay    half of the lowest minimum round-trip time
 *
 * The kernel has to look at all of its sockets. To use a fiftieth of a core at
 * most, the next request waits PAUSE times as long as the last one took, up to
 * PAUSE_MAX_US.
 *
 * A delivery rate that the application limited is lower than what the pipe can
 * do, so it counts only if it is higher than the current rate.
 */
#include <string.h>

#include <netlink/attr.h>

#include "../../lib/tcpinfo.h"
#include "../base/diag.h"
#include "measure.h"

#define PAUSE			50
#define PAUSE_MAX_US		500000

static struct nl_sock *sock;
static uint64_t pause_us;	/* least time between the last request and the next */

struct sum {
	const struct interface_config *config;
	struct flows flows;
	uint64_t rate_byteps, limited_byteps;
};

static void add_up(const struct diag_socket *socket, void *arg)
{
	struct tcpinfo info;
	struct sum *sum = arg;

	if (!socket->info ||
	    !flows_mean(sum->config, &socket->peer, socket->peer_port))
		return;
	tcpinfo_parse(&info, nla_data(socket->info), nla_len(socket->info));
	flows_add(&sum->flows, info.acked_bytes, info.waiting_bytes,
		  info.min_rtt_us);
	if (info.limited)
		sum->limited_byteps += info.rate_byteps;
	else
		sum->rate_byteps += info.rate_byteps;
}

/*
 * The filter in the kernel, as inet_diag bytecode: the peer is in the first prefix, or in the
 * second, and so on. A condition that holds continues with the jump after it, else it skips
 * that jump and continues with the next condition. A jump goes to the end of the code, which
 * accepts the socket; the last condition rejects one by going to four bytes after the end.
 */
#define JUMP_BYTES	sizeof(struct inet_diag_bc_op)
#define CONDITION_MAX	(JUMP_BYTES + sizeof(struct inet_diag_hostcond) + 16)
#define FILTER_MAX	(REPORT_PATHS_MAX * (CONDITION_MAX + JUMP_BYTES))

static size_t add_condition(uint8_t *filter, const struct about *about)
{
	size_t bytes = about->prefix.family == AF_INET ? 4 : 16;
	struct inet_diag_hostcond condition = {
		.family = about->prefix.family,
		.prefix_len = about->prefix.len,
		.port = about->port ?: -1,
	};
	size_t len = JUMP_BYTES + sizeof(condition) + bytes;
	struct inet_diag_bc_op op = {
		.code = INET_DIAG_BC_D_COND,
		.yes = len,
		.no = len + JUMP_BYTES,
	};

	memcpy(filter, &op, sizeof(op));
	memcpy(filter + sizeof(op), &condition, sizeof(condition));
	memcpy(filter + sizeof(op) + sizeof(condition), about->prefix.address,
	       bytes);
	return len;
}

static size_t make_filter(uint8_t filter[FILTER_MAX],
			  const struct interface_config *config)
{
	size_t jumps[REPORT_PATHS_MAX], len = 0;
	unsigned int count = 0;

	for (unsigned int i = 0; i < config->about_count; i++) {
		if (config->abouts[i].source)
			continue;
		if (count) {
			jumps[count - 1] = len;
			len += JUMP_BYTES;
		}
		len += add_condition(filter + len, &config->abouts[i]);
		count++;
	}
	for (unsigned int i = 0; i + 1 < count; i++) {
		struct inet_diag_bc_op jump = {
			.code = INET_DIAG_BC_JMP,
			.yes = JUMP_BYTES,
			.no = len - jumps[i],
		};

		memcpy(filter + jumps[i], &jump, sizeof(jump));
	}
	return len;
}

static void close_source(void)
{
	source_close(&sock);
}

static int sample(const struct link *link,
		  const struct interface_config *config,
		  struct estimate *estimate, uint64_t us)
{
	struct sum sum = { .config = config };
	uint8_t filter[FILTER_MAX];
	uint64_t rate_byteps, asked_us;
	size_t len;
	int err;

	(void)link;
	if (estimate->sampled && us - estimate->sample_us < pause_us)
		return 0;
	len = make_filter(filter, config);
	asked_us = now_us();
	err = diag_established(&sock, filter, len, add_up, &sum);
	if (err)
		return err;
	pause_us = (now_us() - asked_us) * PAUSE;
	if (pause_us > PAUSE_MAX_US)
		pause_us = PAUSE_MAX_US;
	rate_byteps = sum.rate_byteps + sum.limited_byteps;
	if (!sum.rate_byteps && rate_byteps <= estimate->rate_byteps)
		rate_byteps = 0;
	flows_settle(&sum.flows, estimate);
	estimate_rate(estimate, us, sum.flows.bytes, sum.flows.backlog_bytes,
		      rate_byteps);
	return 0;
}

const struct source source_tcp = {
	.name = "tcp",
	.sample = sample,
	.close = close_source,
};
