// SPDX-License-Identifier: GPL-2.0
/*
 * listen - hold MPTCP listeners, to see what they cost
 *
 * usage: listen FIRST_PORT N
 *
 * Listens on N ports, prints one line once it does, and waits to be killed.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

int main(int argc, char **argv)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	int first, count, i;

	if (argc != 3) {
		fputs("usage: listen FIRST_PORT N\n", stderr);
		return 2;
	}
	first = atoi(argv[1]);
	count = atoi(argv[2]);
	for (i = 0; i < count; i++) {
		int fd = socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP);

		at.sin_port = htons(first + i);
		if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) ||
		    listen(fd, 1024)) {
			perror("listen");
			return 1;
		}
	}
	printf("%d listeners\n", count);
	fflush(stdout);
	pause();
	return 0;
}
