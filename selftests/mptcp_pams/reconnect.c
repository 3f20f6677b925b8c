// SPDX-License-Identifier: GPL-2.0
/*
 * reconnect - use one MPTCP socket for several connections, one after the other
 *
 * usage: reconnect HOST PORT TIMES BYTES [up | again PORT] (numeric IPv4 address)
 *
 * Each time the socket is connected to an `xfer server`, asks for BYTES bytes,
 * reads them (every other time only half of them, so that the connection is
 * given up with data on its way) and is disconnected with connect(AF_UNSPEC).
 * With "up" it sends them, and waits each time until the server has them all.
 * With "again" it connects once more, to that port, says so in a line, and nothing on
 * that connection until it is killed.
 * Prints one line and fails at the first thing that goes wrong.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
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

static bool send_all(int fd, const char *from, size_t len)
{
	while (len) {
		ssize_t n = send(fd, from, len, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		from += n;
		len -= n;
	}
	return true;
}

/* The server answers with one byte when it has read as many bytes; what they
 * should be it knows, and these are others.
 */
static bool upload(int fd, long bytes)
{
	static const char zeros[65536];
	char receipt;

	for (; bytes > 0; bytes -= sizeof(zeros)) {
		size_t part = sizeof(zeros);

		if (bytes < (long)part)
			part = bytes;
		if (!send_all(fd, zeros, part))
			return false;
	}
	return recv(fd, &receipt, 1, 0) == 1;
}

static bool download(int fd, long bytes)
{
	char buf[16384];

	while (bytes > 0) {
		ssize_t n = recv(fd, buf, sizeof(buf), 0);

		if (n <= 0)
			return false;
		bytes -= n;
	}
	return true;
}

static int stay(int fd, struct sockaddr_in *to, int port)
{
	to->sin_port = htons(port);
	if (connect(fd, (struct sockaddr *)to, sizeof(*to)))
		return die("connect", 0);
	puts("connected once more");
	fflush(stdout);
	pause();
	return 0;
}

int main(int argc, char **argv)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	struct sockaddr nowhere = { .sa_family = AF_UNSPEC };
	long times, bytes, i;
	bool up = argc == 6 && !strcmp(argv[5], "up");
	bool again = argc == 7 && !strcmp(argv[5], "again");
	char buf[96];
	int fd;

	if ((argc != 5 && !up && !again) || inet_pton(AF_INET, argv[1], &to.sin_addr) != 1) {
		fputs("usage: reconnect HOST PORT TIMES BYTES [up | again PORT]\n",
		      stderr);
		return 2;
	}
	to.sin_port = htons(atoi(argv[2]));
	times = atol(argv[3]);
	bytes = atol(argv[4]);

	fd = socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP);
	if (fd < 0)
		return die("socket", 0);

	for (i = 1; i <= times; i++) {
		int len = snprintf(buf, sizeof(buf), "%c %ld %ld 0\n",
				   up ? 'U' : 'D', bytes, i);

		errno = 0;
		if (connect(fd, (struct sockaddr *)&to, sizeof(to)))
			return die("connect", i);
		if (!send_all(fd, buf, len))
			return die("send", i);
		if (up ? !upload(fd, bytes) :
			 !download(fd, i % 2 ? bytes : bytes / 2))
			return die("transfer", i);
		if (connect(fd, &nowhere, sizeof(nowhere)))
			return die("disconnect", i);
	}
	if (again)
		return stay(fd, &to, atoi(argv[6]));
	close(fd);
	printf("%ld connections over one socket\n", times);
	return 0;
}
