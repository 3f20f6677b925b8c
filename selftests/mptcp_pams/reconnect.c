// SPDX-License-Identifier: GPL-2.0
/*
 * reconnect - use one MPTCP socket for several connections, one after the other
 *
 * usage: reconnect HOST PORT TIMES BYTES (numeric IPv4 address)
 *
 * Each time the socket is connected to an `xfer server`, asks for BYTES bytes,
 * reads them (every other time only half of them, so that the connection is
 * given up with data on its way) and is disconnected with connect(AF_UNSPEC).
 * Prints one line and fails at the first thing that goes wrong.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

static int die(const char *what, long time)
{
	fprintf(stderr, "reconnect: %s, connection %ld: %s\n", what, time,
		errno ? strerror(errno) : "early end");
	return 1;
}

int main(int argc, char **argv)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	struct sockaddr nowhere = { .sa_family = AF_UNSPEC };
	long times, bytes, i;
	char buf[16384];
	int fd;

	if (argc != 5 || inet_pton(AF_INET, argv[1], &to.sin_addr) != 1) {
		fputs("usage: reconnect HOST PORT TIMES BYTES\n", stderr);
		return 2;
	}
	to.sin_port = htons(atoi(argv[2]));
	times = atol(argv[3]);
	bytes = atol(argv[4]);

	fd = socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP);
	if (fd < 0)
		return die("socket", 0);

	for (i = 1; i <= times; i++) {
		long left = i % 2 ? bytes : bytes / 2;
		int len = snprintf(buf, sizeof(buf), "D %ld %ld 0\n", bytes, i);

		errno = 0;
		if (connect(fd, (struct sockaddr *)&to, sizeof(to)))
			return die("connect", i);
		if (send(fd, buf, len, 0) != len)
			return die("send", i);
		while (left > 0) {
			ssize_t n = recv(fd, buf, sizeof(buf), 0);

			if (n <= 0)
				return die("receive", i);
			left -= n;
		}
		if (connect(fd, &nowhere, sizeof(nowhere)))
			return die("disconnect", i);
	}
	close(fd);
	printf("%ld connections over one socket\n", times);
	return 0;
}
