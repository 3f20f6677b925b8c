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
	return flows_mean(config, &client, number(line, " client_port="));
}

/* The sum of the flows; gives the sum of the rates of those that wait. */
static uint64_t parse(struct flows *flows,
		      const struct interface_config *config)
{
	char *state, *line = strtok_r(answer, "\n", &state);
	uint64_t rate_byteps = 0;

	for (; line; line = strtok_r(NULL, "\n", &state)) {
		uint64_t waiting = number(line, " waiting=");

		if (strncmp(line, "flow ", 5) || !is_meant(config, line))
			continue;
		flows_add(flows, number(line, " delivered="), waiting,
			  number(line, " min_rtt="));
		if (waiting)
			rate_byteps += number(line, " rate=");
	}
	return rate_byteps;
}

static int sample(const struct link *link,
		  const struct interface_config *config,
		  struct estimate *estimate, uint64_t us)
{
	struct flows flows = { };
	int fd = ask(config->socket);
	uint64_t rate_byteps;
	ssize_t len;

	(void)link;
	if (fd < 0)
		return fd;
	len = read_answer(fd);
	close(fd);
	if (len < 0)
		return len;
	rate_byteps = parse(&flows, config);
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
