// SPDX-License-Identifier: GPL-2.0
/*
 * netlink_faults - a kernel that doesn't answer over netlink, or too shortly, or has
 * no more descriptors; and what it answers, counted
 *
 * Preloaded into a program. While the file that NETLINK_FAULT names holds the
 * word "silent", what is sent to the kernel doesn't get there; while it holds
 * "short", what comes ends four bytes behind its first message's header; while it
 * holds "full", no connection is taken, and each that is refused adds a line to that
 * file's namesake with .refused behind. Else
 * nothing is changed; while it holds "count", each answer that tells of sockets
 * adds a line with their number to that file's namesake with .sockets behind, and
 * each answer that was waited for and didn't come makes one with .waits behind,
 * and each program that tells sockets of a port apart one with .steered behind.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/netlink.h>
#include <linux/sock_diag.h>

#define SHORT_BYTES	(NLMSG_HDRLEN + 4)

static bool word_is(const char *word)
{
	const char *name = getenv("NETLINK_FAULT");
	char found[16] = "";
	FILE *file;

	if (!name)
		return false;
	file = fopen(name, "re");
	if (file && !fgets(found, sizeof(found), file))
		found[0] = 0;
	if (file)
		fclose(file);
	return !strcmp(found, word);
}

static bool fault_is(int fd, const char *word)
{
	socklen_t len = sizeof(int);
	int domain = 0;

	return !getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) &&
	       domain == AF_NETLINK && word_is(word);
}

ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	ssize_t (*real)(int fd, const struct msghdr *msg, int flags) =
		dlsym(RTLD_NEXT, "sendmsg");
	ssize_t bytes = 0;

	if (!fault_is(fd, "silent"))
		return real(fd, msg, flags);
	for (size_t i = 0; i < msg->msg_iovlen; i++)
		bytes += msg->msg_iov[i].iov_len;
	return bytes;
}

static void note(const char *what, unsigned int number)
{
	char name[4096];
	FILE *file;

	snprintf(name, sizeof(name), "%s.%s", getenv("NETLINK_FAULT"), what);
	file = fopen(name, "ae");
	if (!file)
		return;
	fprintf(file, "%u\n", number);
	fclose(file);
}

static void count_sockets(struct nlmsghdr *hdr, size_t len)
{
	unsigned int sockets = 0;

	for (; NLMSG_OK(hdr, len); hdr = NLMSG_NEXT(hdr, len))
		sockets += hdr->nlmsg_type == SOCK_DIAG_BY_FAMILY;
	if (sockets)
		note("sockets", sockets);
}

static bool has_waited(int fd, int flags)
{
	return errno == EAGAIN && !(flags & MSG_DONTWAIT) && !(fcntl(fd, F_GETFL) & O_NONBLOCK);
}

ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	ssize_t (*real)(int fd, struct msghdr *msg, int flags) =
		dlsym(RTLD_NEXT, "recvmsg");
	ssize_t got = real(fd, msg, flags);
	struct nlmsghdr *hdr = msg->msg_iov[0].iov_base;
	int err = errno;

	if (got < 0) {
		if (has_waited(fd, flags) && fault_is(fd, "count"))
			note("waits", 1);
		errno = err;
		return got;
	}
	if (got > 0 && !(flags & MSG_PEEK) && fault_is(fd, "count"))
		count_sockets(hdr, got);
	if (got <= (ssize_t)SHORT_BYTES || flags & MSG_PEEK ||
	    hdr->nlmsg_type < NLMSG_MIN_TYPE || !fault_is(fd, "short"))
		return got;
	hdr->nlmsg_len = SHORT_BYTES;
	/* What is read behind that is seen by who looks at memory. */
	memset((char *)hdr + SHORT_BYTES, 0xff, got - SHORT_BYTES);
	return SHORT_BYTES;
}

int accept4(int fd, struct sockaddr *address, socklen_t *len, int flags)
{
	int (*real)(int fd, struct sockaddr *address, socklen_t *len, int flags) =
		dlsym(RTLD_NEXT, "accept4");

	if (!word_is("full"))
		return real(fd, address, len, flags);
	note("refused", 1);
	errno = EMFILE;
	return -1;
}

int setsockopt(int fd, int level, int option, const void *value, socklen_t len)
{
	int (*real)(int fd, int level, int option, const void *value, socklen_t len) =
		dlsym(RTLD_NEXT, "setsockopt");

	if (level == SOL_SOCKET && option == SO_ATTACH_REUSEPORT_CBPF && word_is("count"))
		note("steered", 1);
	return real(fd, level, option, value, len);
}
