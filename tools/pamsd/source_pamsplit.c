// SPDX-License-Identifier: GPL-2.0
/*
 * source_pamsplit - the flows that pamsplit splits here, as its control socket tells
 *
 * Meant are those whose client is in one of the prefixes that the interface is
 * about. Of them
 *
 *	rate     the sum of the delivery rates, of those that have data waiting
 *	backlog  the sum of the bytes that the client hasn't acknowledged
 *	delay    half of the lowest minimum round-trip time
 *
 * The rates are averages already. Those of flows with nothing to bring say what
 * the pipe was, so without any that waits the last rate stays.
 *
 * It answers at once what it has, and closes. It isn't waited for longer than
 * PATIENCE_MS.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "pamsd.h"

#define PATIENCE_MS	20
#define ANSWER_MAX	1048576	/* 1000 flows take half a megabyte */

struct sum {
	uint64_t bytes, rate_byteps, backlog_bytes;
	uint32_t min_rtt_us;
};

static char answer[ANSWER_MAX];

static int ask(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd;

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&address, sizeof(address))) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

/* All that it says, until it closes; or -errno. */
static ssize_t read_answer(int fd)
{
	size_t len = 0;

	while (len < sizeof(answer) - 1) {
		struct pollfd wait = { .fd = fd, .events = POLLIN };
		ssize_t got;

		if (poll(&wait, 1, PATIENCE_MS) <= 0)
			return -ETIMEDOUT;
		got = read(fd, answer + len, sizeof(answer) - 1 - len);
		if (got < 0)
			return -errno;
		if (!got)
			break;
		len += got;
	}
	answer[len] = '\0';
	return len;
}

/* The number behind " NAME=" in the line, 0 if it isn't there. */
static uint64_t number(const char *line, const char *name)
{
	const char *at = strstr(line, name);

	return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

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
	for (unsigned int i = 0; i < config->about_count; i++) {
		const struct about *about = &config->abouts[i];

		if (about->port && about->port != number(line, " client_port="))
			continue;
		if (!about->source && prefix_contains(&about->prefix, &client))
			return true;
	}
	return false;
}

static void add_flow(struct sum *sum, const char *line)
{
	uint64_t waiting = number(line, " waiting=");
	uint32_t min_rtt_us = number(line, " min_rtt=");

	sum->bytes += number(line, " delivered=");
	sum->backlog_bytes += waiting;
	if (waiting)
		sum->rate_byteps += number(line, " rate=");
	if (min_rtt_us && (!sum->min_rtt_us || min_rtt_us < sum->min_rtt_us))
		sum->min_rtt_us = min_rtt_us;
}

static void parse(struct sum *sum, const struct interface_config *config)
{
	char *state, *line = strtok_r(answer, "\n", &state);

	for (; line; line = strtok_r(NULL, "\n", &state)) {
		if (!strncmp(line, "flow ", 5) && is_meant(config, line))
			add_flow(sum, line);
	}
}

static int sample(const struct link *link,
		  const struct interface_config *config,
		  struct estimate *estimate, uint64_t us)
{
	struct sum sum = { };
	int fd = ask(config->socket);
	ssize_t len;

	(void)link;
	if (fd < 0)
		return fd;
	len = read_answer(fd);
	close(fd);
	if (len < 0)
		return len;
	parse(&sum, config);
	if (sum.backlog_bytes > UINT32_MAX)
		sum.backlog_bytes = UINT32_MAX;
	if (sum.min_rtt_us) {
		estimate->has_delay = true;
		estimate->delay_us = sum.min_rtt_us / 2;
	}
	/* Flows that ended took their counts along. */
	if (sum.bytes < estimate->bytes)
		estimate->bytes = sum.bytes;
	estimate_exact(estimate, us, sum.bytes, sum.backlog_bytes,
		       sum.rate_byteps);
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
