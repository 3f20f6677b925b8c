// SPDX-License-Identifier: GPL-2.0
/*
 * source_pamsplit - the flows of a pamsplit on this machine, read from its control socket
 *
 * Counts the flows whose client is in one of the prefixes that the interface is about:
 *
 *	rate     the sum of the delivery rates, of flows with data waiting
 *	backlog  the sum of the bytes that the client hasn't acknowledged
 *	delay    half of the lowest minimum round-trip time
 *
 * The rates are averages already. The rate of a flow without waiting data is from the past,
 * so if no flow has any, the last rate stays.
 */
#include <arpa/inet.h>
#include <string.h>

#include "measure.h"

static bool is_meant(const struct interface_config *config, const char *line)
{
	const char *at = strstr(line, " client=");
	char text[INET6_ADDRSTRLEN];
	struct prefix client;
	size_t len;

	if (!at)
		return false;
	at += strlen(" client=");
	len = strcspn(at, " ");
	if (len >= sizeof(text))
		return false;
	memcpy(text, at, len);
	text[len] = '\0';
	if (prefix_parse(&client, text))
		return false;
	return flows_mean(config, &client,
			  pamsplit_number(line, " client_port="));
}

/* Sum up the flows. Returns the sum of the rates of those with waiting data. */
static uint64_t parse(char *answer, struct flows *flows,
		      const struct interface_config *config)
{
	char *state, *line = strtok_r(answer, "\n", &state);
	uint64_t rate_byteps = 0;

	for (; line; line = strtok_r(NULL, "\n", &state)) {
		uint64_t waiting = pamsplit_number(line, " waiting=");

		if (strncmp(line, "flow ", 5) || !is_meant(config, line))
			continue;
		flows_add(flows, pamsplit_number(line, " delivered="), waiting,
			  pamsplit_number(line, " min_rtt="));
		if (waiting)
			rate_byteps += pamsplit_number(line, " rate=");
	}
	return rate_byteps;
}

static int sample(const struct link *link,
		  const struct interface_config *config,
		  struct estimate *estimate, uint64_t us)
{
	struct flows flows = { };
	uint64_t rate_byteps;
	unsigned int pid;
	char *answer;
	int err = pamsplit_ask(config->socket, &answer, &pid);

	(void)link;
	if (err)
		return err;
	rate_byteps = parse(answer, &flows, config);
	flows_settle(&flows, estimate);
	estimate_exact(estimate, us, flows.bytes, flows.backlog_bytes,
		       rate_byteps);
	return 0;
}

static void close_source(void)
{
}

const struct source source_pamsplit = {
	.name = "pamsplit",
	.sample = sample,
	.close = close_source,
};
