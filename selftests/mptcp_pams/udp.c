// SPDX-License-Identifier: GPL-2.0
/*
 * udp - connect one UDP socket to several addresses, one after the other, and say from where
 *
 * usage: udp OWN-PORT ADDRESS PORT [ADDRESS PORT]... (numeric)
 *
 * The socket is of the first address's family; an IPv6 one is connected to IPv4 addresses, too, as
 * getaddrinfo() does. It is bound to OWN-PORT unless that is 0, and disconnected in between.
 * Prints for each the local address, and the interface that the socket is bound to, or "-".
 */
#include <net/if.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int die(const char *what)
{
	perror(what);
	exit(1);
}

static struct addrinfo *resolve(const char *address, const char *port)
{
	const struct addrinfo hints = {
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_DGRAM,
	};
	struct addrinfo *found;

	if (getaddrinfo(address, port, &hints, &found)) {
		fprintf(stderr, "udp: %s port %s: not in numbers\n", address, port);
		exit(2);
	}
	return found;
}

static void bind_port(int fd, int family, const char *port)
{
	struct addrinfo *any = resolve(family == AF_INET ? "0.0.0.0" : "::", port);

	if (bind(fd, any->ai_addr, any->ai_addrlen))
		die("bind");
	freeaddrinfo(any);
}

static void show(int fd)
{
	struct sockaddr_storage own;
	socklen_t length = sizeof(own), device_length = IF_NAMESIZE;
	char text[NI_MAXHOST], device[IF_NAMESIZE] = "";

	if (getsockname(fd, (struct sockaddr *)&own, &length))
		die("getsockname");
	if (getsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device, &device_length))
		die("getsockopt");
	getnameinfo((struct sockaddr *)&own, length, text, sizeof(text), NULL, 0, NI_NUMERICHOST);
	printf("%s %s\n", text, *device ? device : "-");
}

int main(int argc, char **argv)
{
	const struct sockaddr none = { .sa_family = AF_UNSPEC };
	int fd = -1;

	if (argc < 4 || argc % 2) {
		fprintf(stderr, "usage: udp OWN-PORT ADDRESS PORT [ADDRESS PORT]...\n");
		return 2;
	}
	for (int i = 2; i < argc; i += 2) {
		struct addrinfo *to = resolve(argv[i], argv[i + 1]);

		if (fd < 0) {
			fd = socket(to->ai_family, SOCK_DGRAM, 0);
			if (fd < 0)
				die("socket");
			if (strcmp(argv[1], "0"))
				bind_port(fd, to->ai_family, argv[1]);
		} else if (connect(fd, &none, sizeof(none))) {
			die("disconnect");
		}
		if (connect(fd, to->ai_addr, to->ai_addrlen))
			die("connect");
		show(fd);
		freeaddrinfo(to);
	}
	close(fd);
	return 0;
}
