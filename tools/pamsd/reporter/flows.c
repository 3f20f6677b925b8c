// SPDX-License-Identifier: GPL-2.0
/*
 * flows - sums up the TCP flows through a pipe
 *
 * For the sources that read TCP sockets. A flow belongs to an interface if its peer is
 * in one of the prefixes that the interface is about.
 */
#include "measure.h"

bool flows_mean(const struct interface_config *config,
		const struct prefix *peer, uint16_t port)
{
	for (unsigned int i = 0; i < config->about_count; i++) {
		const struct about *about = &config->abouts[i];

		if (about->port && about->port != port)
			continue;
		if (!about->source && prefix_contains(&about->prefix, peer))
			return true;
	}
	return false;
}

void flows_add(struct flows *flows, uint64_t bytes, uint64_t backlog_bytes,
	       uint32_t min_rtt_us)
{
	flows->bytes += bytes;
	flows->backlog_bytes += backlog_bytes;
	if (min_rtt_us &&
	    (!flows->min_rtt_us || min_rtt_us < flows->min_rtt_us))
		flows->min_rtt_us = min_rtt_us;
}

void flows_settle(struct flows *flows, struct estimate *estimate)
{
	if (flows->backlog_bytes > UINT32_MAX)
		flows->backlog_bytes = UINT32_MAX;
	if (flows->min_rtt_us) {
		estimate->has_delay = true;
		estimate->delay_us = flows->min_rtt_us / 2;
	}
	/* The sum drops when flows end: count on from the lower sum. */
	if (flows->bytes < estimate->bytes)
		estimate->bytes = flows->bytes;
}
