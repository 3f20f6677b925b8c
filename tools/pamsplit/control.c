// SPDX-License-Identifier: GPL-2.0
/*
 * control - the control socket: shows totals and flows, and takes requests about lending
 *
 * A client that connects gets a line "totals" and a line "flow" for each flow, then
 * the end of the stream. The first word of a line is followed by words NAME=VALUE.
 * Rates are in bytes per second, sizes in bytes, times in us. The client may send a
 * request within a second:
 *
 *	lend nothing MS		lend nothing for so many ms, up to an hour
 *	lend			lend again
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "pamsplit.h"

#define LEND_MAX_MS	3600000
#define ANSWER_S	5	/* show waits so long */

static int address_of(struct sockaddr_un *address, const char *path)
{
	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	if (strlen(path) >= sizeof(address->sun_path)) {
		say("the socket's name is too long: %s", path);
		return -1;
	}
	memcpy(address->sun_path, path, strlen(path));
	return 0;
}

int control_listen(const char *path, const char *user)
{
	struct sockaddr_un address;
	uid_t uid;
	gid_t gid;
	int fd;

	if (address_of(&address, path) || confine_find(user, &uid, &gid))
		return -1;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	unlink(path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) ||
	    chown(path, 0, gid) || chmod(path, 0660) ||
	    listen(fd, 8)) {
		say("--control %s: %s", path, errno == ENOENT ?
		    "its folder isn't there: make it, as pamsplit's unit does, or give another "
		    "place, or \"\" for no socket" : strerror(errno));
		if (fd >= 0)
			close(fd);
		return -1;
	}
	return fd;
}

static void print_flow(void *arg, const struct split_info *info)
{
	char client[INET6_ADDRSTRLEN], server[INET6_ADDRSTRLEN];
	int family = info->v6 ? AF_INET6 : AF_INET;

	inet_ntop(family, info->client.bytes, client, sizeof(client));
	inet_ntop(family, info->server.bytes, server, sizeof(server));
	fprintf(arg, "flow client=%s client_port=%u server=%s server_port=%u "
		"banked=%" PRIu32 " waiting=%" PRIu32 " rate=%" PRIu64
		" rtt=%" PRIu32 " min_rtt=%" PRIu32 " received=%" PRIu64
		" delivered=%" PRIu64 " resent=%" PRIu64 " memory=%" PRIu64
		" passing=%d\n", client, info->client_port, server, info->server_port,
		info->banked_bytes, info->waiting_bytes, info->rate_byteps,
		info->srtt_us, info->min_rtt_us, info->received_bytes,
		info->delivered_bytes, info->resent, info->memory_bytes,
		info->passing);
}

static void print_totals(FILE *out, const struct split *split,
			 const struct worker_files *files, bool draining)
{
	const struct split_counters *c = split_counters(split);

	fprintf(out, "totals flows=%u split=%" PRIu64 " refused=%" PRIu64
		" put_off=%" PRIu64 " lends=%d cap=%" PRIu64 " resets=%" PRIu64
		" unknown=%" PRIu64 " early_acks=%" PRIu64 " lent=%" PRIu64
		" received=%" PRIu64 " delivered=%" PRIu64 " whole=%" PRIu64 " resent=%" PRIu64
		" timeouts=%" PRIu64 " probes=%" PRIu64 " dropped=%" PRIu64
		" duplicates=%" PRIu64 " banked_max=%" PRIu64 " memory=%" PRIu64
		" memory_max=%" PRIu64 " overruns=%" PRIu64 " unsent=%" PRIu64
		" draining=%d\n", split_flows(split), c->flows, c->refused,
		c->put_off, split_lends(split), split_cap(split), c->resets,
		c->unknown,
		c->early_acks, c->lent_bytes, c->received_bytes,
		c->delivered_bytes, c->whole_bytes, c->resent, c->timeouts, c->probes,
		c->dropped, c->duplicates, c->banked_max, split_memory(split),
		c->memory_max, queue_overruns(files->queue),
		raw_failed(files->raw), draining);
}

/*
 * Send all of it at once or report an error, as the worker must not wait for a client. The
 * socket's default buffer is too small for the lines of some 900 flows.
 */
static void send_all(int fd, const char *text, size_t len)
{
	const int room = len;

	setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room));
	/* EPIPE: a client that only wanted to send a request has closed the socket already */
	if (send(fd, text, len, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)len &&
	    errno != EPIPE)
		say("an answer of %zu bytes found no room", len);
}

void control_answer(int fd, const struct split *split,
		    const struct worker_files *files, bool draining)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return;
	print_totals(out, split, files, draining);
	split_each(split, print_flow, out);
	if (!fclose(out))
		send_all(fd, text, len);
	free(text);
	shutdown(fd, SHUT_WR);
}

bool control_hear(int fd, unsigned int *nothing_ms)
{
	char text[64];
	ssize_t len = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);
	int end = -1;

	if (len <= 0)
		return false;
	text[len] = '\0';
	text[strcspn(text, "\n")] = '\0';
	*nothing_ms = 0;
	if (!strcmp(text, "lend"))
		return true;
	if (sscanf(text, "lend nothing %7u%n", nothing_ms, &end) == 1 &&
	    end >= 0 && !text[end] && *nothing_ms &&
	    *nothing_ms <= LEND_MAX_MS)
		return true;
	for (char *at = text; *at; at++)
		if (!isprint((unsigned char)*at))
			*at = '?';
	say("'%s' is neither \"lend\" nor \"lend nothing\" and 1 to %d ms",
	    text, LEND_MAX_MS);
	return false;
}

int control_ask(const char *path)
{
	const struct timeval patience = { .tv_sec = ANSWER_S };
	struct sockaddr_un address;
	char text[4096];
	ssize_t len;
	int fd;

	if (address_of(&address, path))
		return EXIT_FAILURE;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) ||
	    connect(fd, (struct sockaddr *)&address, sizeof(address))) {
		say("%s: %s", path, errno == ENOENT || errno == ECONNREFUSED ?
		    "pamsplit doesn't run, or was told another --control" :
		    errno == EACCES ? "asking pamsplit isn't permitted: run it as root" :
		    strerror(errno));
		return EXIT_FAILURE;
	}
	while ((len = read(fd, text, sizeof(text))) > 0)
		fwrite(text, 1, len, stdout);
	if (len < 0)
		say("%s: %s", path, errno == EAGAIN ? "pamsplit doesn't answer" : strerror(errno));
	close(fd);
	return len ? EXIT_FAILURE : EXIT_SUCCESS;
}
