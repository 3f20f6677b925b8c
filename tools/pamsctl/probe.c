// SPDX-License-Identifier: GPL-2.0
/*
 * probe - checks if a server speaks MPTCP, and if MPTCP packets reach it
 *
 * It connects an MPTCP socket and looks if the connection fell back to TCP; it
 * sends no data. The kernel's counters tell why: the SYN/ACK had no MPTCP option,
 * or SYNs with the option were dropped and only one without it was answered.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/mptcp.h>

#include "pamsctl.h"

#ifndef SOL_MPTCP
#define SOL_MPTCP	284
#endif

/* Long enough for the kernel to send a few SYNs, seconds apart, and then one without MPTCP. */
#define PATIENCE_MS	20000

struct peer {
	char host[256];
	char port[8];
};

/* HOST, HOST:PORT, ADDRESS6 or [ADDRESS6]:PORT */
static int parse_peer(const char *text, struct peer *peer)
{
	const char *port = NULL, *end = text + strlen(text);
	uint64_t number = 443;

	if (*text == '[') {
		end = strchr(text++, ']');
		if (!end || (end[1] && end[1] != ':'))
			return refuse(USAGE, "'%s' is not HOST[:PORT]",
				      text - 1);
		port = end[1] ? end + 2 : NULL;
	} else if (strchr(text, ':') == strrchr(text, ':') &&
		   strchr(text, ':')) {
		end = strchr(text, ':');
		port = end + 1;
	}
	if (end == text || end - text >= (ptrdiff_t)sizeof(peer->host))
		return refuse(USAGE, "'%s' is not HOST[:PORT]", text);
	if (port && parse_number("port", port, 1, 65535, &number))
		return USAGE;
	snprintf(peer->host, sizeof(peer->host), "%.*s", (int)(end - text),
		 text);
	snprintf(peer->port, sizeof(peer->port), "%" PRIu64, number);
	return DONE;
}

/* Connect within PATIENCE_MS. 0 or a negative errno. */
static int connect_within(int fd, const struct addrinfo *address)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLOUT };
	socklen_t length = sizeof(int);
	int err = 0;

	if (!connect(fd, address->ai_addr, address->ai_addrlen))
		return 0;
	if (errno != EINPROGRESS)
		return -errno;
	if (poll(&poll_fd, 1, PATIENCE_MS) != 1)
		return -ETIMEDOUT;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &length))
		return -errno;
	return -err;
}

/* Does a connected socket still use MPTCP? */
static bool speaks_mptcp(int fd)
{
	struct mptcp_info info = { };
	socklen_t length = sizeof(info);

	/* a socket that fell back has no such option */
	if (getsockopt(fd, SOL_MPTCP, MPTCP_INFO, &info, &length))
		return false;
	return !(info.mptcpi_flags & MPTCP_INFO_FLAG_FALLBACK);
}

static void judge(json_t *list, const char *name, int fd,
		  uint64_t plain_answers, uint64_t drops, uint64_t disabled)
{
	if (speaks_mptcp(fd)) {
		finding(list, FINE, "peer", NULL, "%s speaks MPTCP", name);
		return;
	}
	if (mib_counter("MPCapableSYNTXDrop") > drops)
		finding(list, BAD, "peer",
			"a firewall on the way drops packets with MPTCP's "
			"option: try over another network",
			"%s answers only to packets without MPTCP: the "
			"connection fell back to TCP",
			name);
	else if (mib_counter("MPCapableSYNTXDisabled") > disabled)
		finding(list, BAD, "peer",
			"sysctl -w net.mptcp.blackhole_timeout=0, then again",
			"MPTCP was not tried with %s: packets with it were "
			"dropped before, so the kernel leaves MPTCP out for "
			"a while",
			name);
	else if (mib_counter("MPCapableFallbackSYNACK") > plain_answers)
		finding(list, BAD, "peer",
			"run pamsctl doctor on the server: if its counter of "
			"connections \"tried to here\" grows with each try, "
			"its program or kernel doesn't do MPTCP; if not, a "
			"middlebox strips the option",
			"%s answers without MPTCP: the connection fell back to "
			"TCP",
			name);
	else
		finding(list, BAD, "peer", NULL,
			"the connection with %s fell back to TCP", name);
}

/* DONE if a connection was made and judged; else FAILED, and *error is a negative errno. */
static int try_address(json_t *list, const struct peer *peer,
		       const struct addrinfo *address, int *error)
{
	uint64_t plain = mib_counter("MPCapableFallbackSYNACK");
	uint64_t drops = mib_counter("MPCapableSYNTXDrop");
	uint64_t disabled = mib_counter("MPCapableSYNTXDisabled");
	char name[NI_MAXHOST], where[NI_MAXHOST + 300];
	int fd;

	fd = socket(address->ai_family,
		    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_MPTCP);
	*error = fd < 0 ? -errno : connect_within(fd, address);
	if (!*error) {
		if (getnameinfo(address->ai_addr, address->ai_addrlen, name,
				sizeof(name), NULL, 0, NI_NUMERICHOST))
			snprintf(name, sizeof(name), "?");
		snprintf(where, sizeof(where), "%s (%s) port %s", peer->host,
			 name, peer->port);
		judge(list, where, fd, plain, drops, disabled);
	}
	if (fd >= 0)
		close(fd);
	return *error ? FAILED : DONE;
}

int look_at_peer(json_t *list, const char *text)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *found, *address;
	struct peer peer;
	int err;

	if (parse_peer(text, &peer))
		return USAGE;
	err = getaddrinfo(peer.host, peer.port, &hints, &found);
	if (err) {
		finding(list, BAD, "peer", NULL, "%s: %s", peer.host,
			gai_strerror(err));
		return DONE;
	}
	for (address = found; address; address = address->ai_next)
		if (!try_address(list, &peer, address, &err))
			break;
	if (!address)
		finding(list, BAD, "peer",
			err == -ENOPROTOOPT ?
			"sysctl -w net.mptcp.enabled=1" : NULL,
			"%s port %s: no connection: %s", peer.host, peer.port,
			strerror(-err));
	freeaddrinfo(found);
	return DONE;
}
