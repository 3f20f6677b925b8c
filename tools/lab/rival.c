// SPDX-License-Identifier: GPL-2.0
/*
 * rival - a TCP connection that is busy until it is told to stop
 *
 *	rival serve PORT		for as many as come
 *	rival down|up ADDRESS PORT	to the client, or to the server
 *
 * Told to stop (SIGTERM), the client ends the connection, waits for what is on its
 * way, and prints what the receiver of the data got, payload in bytes and segments,
 * so that both can be left out of the path's counters:
 *
 *	{"bytes": N, "segments": N}
 *
 * An upload's payload is the server's to count: it says what it received in answer
 * to the end of the data.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define UNSENT_BYTES	131072

static char buffer[65536];
static volatile sig_atomic_t stopped;

static void stop(int sig)
{
	(void)sig;
	stopped = 1;
}

static void fail(const char *what)
{
	fprintf(stderr, "rival: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* What this host received, as the client prints it. */
static int told(int fd, char *text, size_t size)
{
	struct tcp_info info = { };
	socklen_t len = sizeof(info);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len))
		fail("TCP_INFO");
	return snprintf(text, size, "{\"bytes\": %llu, \"segments\": %u}\n",
			(unsigned long long)info.tcpi_bytes_received,
			info.tcpi_segs_in);
}

/* Until there is something to read, if only the peer's end. */
static void send_while_silent(int fd)
{
	struct pollfd poll_of = { .fd = fd, .events = POLLIN | POLLOUT };
	int unsent = UNSENT_BYTES;

	setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof(unsent));
	while (!stopped && poll(&poll_of, 1, -1) > 0 &&
	       !(poll_of.revents & POLLIN) &&
	       send(fd, buffer, sizeof(buffer), MSG_NOSIGNAL | MSG_DONTWAIT) > 0)
		;
}

static void receive_all(int fd)
{
	bool told = false;
	ssize_t got;

	do {
		if (stopped && !told) {
			shutdown(fd, SHUT_WR);
			told = true;
		}
		got = recv(fd, buffer, sizeof(buffer), 0);
	} while (got > 0 || (got < 0 && errno == EINTR));
}

/* The first byte says which way. */
static void serve(int fd)
{
	char way, text[128];

	if (recv(fd, &way, 1, 0) != 1)
		return;
	if (way == 'd') {
		send_while_silent(fd);
		return;
	}
	receive_all(fd);
	send(fd, text, told(fd, text, sizeof(text)), MSG_NOSIGNAL);
}

static int serve_all(const char *port)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1, peer;

	any.sin_port = htons(atoi(port));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&any, sizeof(any)) || listen(fd, 8))
		fail("listen");
	signal(SIGCHLD, SIG_IGN);
	while ((peer = accept(fd, NULL, NULL)) >= 0) {
		if (!fork()) {
			serve(peer);
			return 0;
		}
		close(peer);
	}
	fail("accept");
	return 1;
}

static int be_busy(const char *way, const char *address, const char *port)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	struct sigaction act = { .sa_handler = stop };	/* calls are interrupted */
	int fd = socket(AF_INET, SOCK_STREAM, 0), len;
	char text[128];

	to.sin_port = htons(atoi(port));
	sigaction(SIGTERM, &act, NULL);
	if (inet_pton(AF_INET, address, &to.sin_addr) != 1 ||
	    connect(fd, (struct sockaddr *)&to, sizeof(to)) ||
	    send(fd, way, 1, 0) != 1)
		fail(address);
	if (*way == 'd') {
		receive_all(fd);
		len = told(fd, text, sizeof(text));
	} else {
		send_while_silent(fd);
		shutdown(fd, SHUT_WR);
		len = recv(fd, text, sizeof(text), MSG_WAITALL);
	}
	return len <= 0 || fwrite(text, len, 1, stdout) != 1;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "serve"))
		return serve_all(argv[2]);
	if (argc == 4 && (!strcmp(argv[1], "down") || !strcmp(argv[1], "up")))
		return be_busy(argv[1], argv[2], argv[3]);
	fputs("usage: rival serve PORT | rival down|up ADDRESS PORT\n", stderr);
	return 1;
}
