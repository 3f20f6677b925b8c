// SPDX-License-Identifier: GPL-2.0
/*
 * stuck - an MPTCP client that owns its sockets for ever
 *
 *	stuck ADDRESS PORT [COUNT BYTES]
 *
 * Opens COUNT connections (1), sends BYTES (1) on each without waiting for room, waits for
 * SIGUSR1, and calls send() on each with memory that never comes, since nobody serves it.
 * Within that call the kernel has the socket locked. Prints "connected", and "stuck" before
 * the calls. Exit code: 2 usage or error, 3 the kernel lacks userfaultfd.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
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
	void *memory;

	if (fd < 0) {
		perror("stuck: userfaultfd");
		exit(3);
	}
	if (ioctl(fd, UFFDIO_API, &api))
		die("stuck: userfaultfd");
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		die("stuck: mmap");
	range.range.start = (unsigned long)memory;
	range.range.len = bytes;
	if (ioctl(fd, UFFDIO_REGISTER, &range))
		die("stuck: register");
	return memory;
}

static void *page;
static size_t page_bytes;

static void *send_page(void *arg)
{
	send(*(int *)arg, page, page_bytes, 0);
	return NULL;
}

static int connected(const struct sockaddr_in *to, size_t bytes)
{
	int fd = socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP), room = 65536 + 2 * bytes;
	char *data = calloc(1, bytes);

	if (fd < 0 || !data || setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)) ||
	    connect(fd, (struct sockaddr *)to, sizeof(*to)))
		die("stuck: connect");
	if (send(fd, data, bytes, MSG_DONTWAIT) < 1)
		die("stuck: send");
	free(data);
	return fd;
}

int main(int argc, char **argv)
{
	int count = argc > 3 ? atoi(argv[3]) : 1, sig, i, *fds;
	size_t bytes = argc > 4 ? atoi(argv[4]) : 1;
	struct sockaddr_in to = { .sin_family = AF_INET };
	pthread_t thread;
	sigset_t go;

	sigemptyset(&go);
	sigaddset(&go, SIGUSR1);
	sigprocmask(SIG_BLOCK, &go, NULL);
	if ((argc != 3 && argc != 5) || count < 1 || !bytes ||
	    inet_pton(AF_INET, argv[1], &to.sin_addr) != 1) {
		fprintf(stderr, "usage: stuck ADDRESS PORT [COUNT BYTES]\n");
		return 2;
	}
	to.sin_port = htons(atoi(argv[2]));
	page_bytes = sysconf(_SC_PAGESIZE);
	page = missing_page(page_bytes);
	fds = calloc(count, sizeof(*fds));
	if (!fds)
		die("stuck");
	for (i = 0; i < count; i++)
		fds[i] = connected(&to, bytes);
	puts("connected");
	fflush(stdout);
	sigwait(&go, &sig);
	puts("stuck");
	fflush(stdout);
	for (i = 0; i < count; i++)
		if (pthread_create(&thread, NULL, send_page, &fds[i]))
			die("stuck: thread");
	pause();
	return 0;
}
