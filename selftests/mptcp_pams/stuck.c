// SPDX-License-Identifier: GPL-2.0
/*
 * stuck - an MPTCP client that owns its socket for ever
 *
 *	stuck ADDRESS PORT
 *
 * Sends some bytes, waits for SIGUSR1, and calls send() with memory that
 * never comes, since nobody serves it. Within that call the kernel has the socket locked.
 * Prints "stuck" before that. Exit code: 2 usage or error, 3 the kernel lacks userfaultfd.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/userfaultfd.h>

static void die(const char *what)
{
	perror(what);
	exit(2);
}

/* A page that never comes. */
static void *missing_page(size_t bytes)
{
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_api api = { .api = UFFD_API };
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC);
	void *page;

	if (fd < 0) {
		perror("stuck: userfaultfd");
		exit(3);
	}
	if (ioctl(fd, UFFDIO_API, &api))
		die("stuck: userfaultfd");
	page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		die("stuck: mmap");
	range.range.start = (unsigned long)page;
	range.range.len = bytes;
	if (ioctl(fd, UFFDIO_REGISTER, &range))
		die("stuck: register");
	return page;
}

int main(int argc, char **argv)
{
	size_t bytes = sysconf(_SC_PAGESIZE);
	struct sockaddr_in to = { .sin_family = AF_INET };
	sigset_t go;
	void *page;
	int fd, sig;

	sigemptyset(&go);
	sigaddset(&go, SIGUSR1);
	sigprocmask(SIG_BLOCK, &go, NULL);
	if (argc != 3 || inet_pton(AF_INET, argv[1], &to.sin_addr) != 1) {
		fprintf(stderr, "usage: stuck ADDRESS PORT\n");
		return 2;
	}
	to.sin_port = htons(atoi(argv[2]));
	page = missing_page(bytes);
	fd = socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)))
		die("stuck: connect");
	if (write(fd, argv[1], 1) != 1)
		die("stuck: write");
	sigwait(&go, &sig);
	puts("stuck");
	fflush(stdout);
	send(fd, page, bytes, 0);
	return 0;
}
