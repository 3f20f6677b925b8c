// SPDX-License-Identifier: GPL-2.0
/*
 * stuck - an MPTCP client that owns its sockets for ever
 *
 *	stuck ADDRESS PORT [COUNT BYTES [MS]]
 *
 * Opens COUNT connections (1), sends BYTES (1) on each without waiting for room, waits for
 * SIGUSR1, and calls send() on each with memory that never comes, since nobody serves it.
 * Within that call the kernel has the socket locked. Prints "connected", and "stuck" before
 * the calls.
 *
 * With MS it sends one byte, at the signal BYTES, and owns the first socket for MS, in a call that
 * sends nothing. Prints how long after that everything is acknowledged.
 *
 * Exit code: 2 usage or error, 3 the kernel lacks userfaultfd.
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
#include <time.h>
#include <unistd.h>

#include <linux/mptcp.h>
#include <linux/sockios.h>
#include <linux/userfaultfd.h>

#ifndef SOL_MPTCP	/* musl has none */
#define SOL_MPTCP 284
#endif

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
static int fault_fd;

/* A page that never comes, behind one that is there. */
static void *missing_page(size_t bytes)
{
	struct uffdio_api api = { .api = UFFD_API };
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC);
	char *memory;

	if (fd < 0) {
		perror("stuck: userfaultfd");
		exit(3);
	}
	if (ioctl(fd, UFFDIO_API, &api))
		die("stuck: userfaultfd");
	memory = mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		die("stuck: mmap");
	fault_fd = fd;
	range.range.start = (unsigned long)memory + bytes;
	range.range.len = bytes;
	if (ioctl(fd, UFFDIO_REGISTER, &range))
		die("stuck: register");
	return memory + bytes;
}

static void *page;
static size_t page_bytes;

static void *send_page(void *arg)
{
	send(*(int *)arg, page, page_bytes, 0);
	return NULL;
}

static int connected(const struct sockaddr_in *to, size_t bytes, int room)
{
	int fd = socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP);
	char *data = calloc(1, bytes);

	if (fd < 0 || !data || setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)) ||
	    connect(fd, (struct sockaddr *)to, sizeof(*to)))
		die("stuck: connect");
	if (send(fd, data, bytes, MSG_DONTWAIT) < 1)
		die("stuck: send");
	free(data);
	return fd;
}

/* Let the page come after all. */
static void *give_page(void *arg)
{
	struct uffdio_zeropage page = { .range = range.range };

	usleep(*(int *)arg * 1000);
	if (ioctl(fault_fd, UFFDIO_ZEROPAGE, &page))
		die("stuck: zeropage");
	return NULL;
}

static long now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* The kernel has the socket locked while it copies what it tells of the subflows. */
static void own(int fd, size_t bytes, int ms)
{
	struct mptcp_subflow_data *head = (struct mptcp_subflow_data *)page - 1;
	char *data = calloc(1, bytes);
	socklen_t len = sizeof(*head) + 1024;
	pthread_t thread;
	long from_us;
	int left = 1;

	*head = (struct mptcp_subflow_data){ .size_subflow_data = sizeof(*head), .size_user = 256 };
	if (!data || send(fd, data, bytes, MSG_DONTWAIT) != (ssize_t)bytes ||
	    pthread_create(&thread, NULL, give_page, &ms))
		die("stuck: send");
	if (getsockopt(fd, SOL_MPTCP, MPTCP_TCPINFO, head, &len))
		die("stuck: getsockopt");
	from_us = now_us();
	while (!ioctl(fd, SIOCOUTQ, &left) && left)
		usleep(1000);
	printf("acknowledged after %ld ms\n", (now_us() - from_us) / 1000);
	fflush(stdout);
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
	if ((argc != 3 && argc != 5 && argc != 6) || count < 1 || !bytes ||
	    inet_pton(AF_INET, argv[1], &to.sin_addr) != 1) {
		fprintf(stderr, "usage: stuck ADDRESS PORT [COUNT BYTES [MS]]\n");
		return 2;
	}
	to.sin_port = htons(atoi(argv[2]));
	page_bytes = sysconf(_SC_PAGESIZE);
	page = missing_page(page_bytes);
	fds = calloc(count, sizeof(*fds));
	if (!fds)
		die("stuck");
	for (i = 0; i < count; i++)
		fds[i] = connected(&to, argc == 6 ? 1 : bytes, 65536 + 2 * bytes);
	puts("connected");
	fflush(stdout);
	sigwait(&go, &sig);
	puts("stuck");
	fflush(stdout);
	if (argc == 6)
		own(fds[0], bytes, atoi(argv[5]));
	for (i = 0; i < count && argc != 6; i++)
		if (pthread_create(&thread, NULL, send_page, &fds[i]))
			die("stuck: thread");
	pause();
	return 0;
}
