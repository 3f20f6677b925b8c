// SPDX-License-Identifier: GPL-2.0
/*
 * netlink_faults - a kernel that doesn't answer over netlink, or too shortly, or late, or
 * has no more descriptors; and what it is asked and answers, counted
 *
 * Preloaded into a program. While the file that NETLINK_FAULT names holds this word:
 *
 *	silent	what is sent to the kernel doesn't get there
 *	short	what comes ends four bytes behind its first message's header
 *	late	what is sent to the kernel gets there with its socket's next message only
 *	full	no connection is taken
 *	flood	datagrams never end
 *	count	nothing is changed
 *
 * What is counted adds a line to that file's namesake with a suffix: .held, messages that get
 * there late; .refused, connections that aren't taken; while it is to count .sockets, answers
 * that tell of sockets, of how many; .waits, answers that were waited for and didn't come;
 * .steered, programs that tell sockets of a port apart.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
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

/* A message to the kernel, by its socket's descriptor. */
static struct {
	size_t len;
	char data[4096];
} held[64];

static bool may_hold(int fd)
{
	return fd < (int)(sizeof(held) / sizeof(held[0])) && !held[fd].len && fault_is(fd, "late");
}

static ssize_t hold(int fd, const struct msghdr *msg)
{
	for (size_t i = 0; i < msg->msg_iovlen; i++) {
		memcpy(held[fd].data + held[fd].len, msg->msg_iov[i].iov_base,
		       msg->msg_iov[i].iov_len);
		held[fd].len += msg->msg_iov[i].iov_len;
	}
	note("held", 1);
	return held[fd].len;
}

static void send_held(int fd)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };

	if (fd < 0 || fd >= (int)(sizeof(held) / sizeof(held[0])) || !held[fd].len)
		return;
	sendto(fd, held[fd].data, held[fd].len, 0, (struct sockaddr *)&kernel, sizeof(kernel));
	held[fd].len = 0;
}

int close(int fd)
{
	int (*real)(int fd) = dlsym(RTLD_NEXT, "close");

	if (fd >= 0 && fd < (int)(sizeof(held) / sizeof(held[0])))
		held[fd].len = 0;
	return real(fd);
}

ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	ssize_t (*real)(int fd, const struct msghdr *msg, int flags) =
		dlsym(RTLD_NEXT, "sendmsg");
	ssize_t bytes = 0;

	if (may_hold(fd))
		return hold(fd, msg);
	send_held(fd);
	if (!fault_is(fd, "silent"))
		return real(fd, msg, flags);
	for (size_t i = 0; i < msg->msg_iovlen; i++)
		bytes += msg->msg_iov[i].iov_len;
	return bytes;
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

ssize_t recv(int fd, void *data, size_t room, int flags)
{
	ssize_t (*real)(int fd, void *data, size_t room, int flags) = dlsym(RTLD_NEXT, "recv");
	socklen_t len = sizeof(int);
	int protocol = 0;

	if (!getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &len) &&
	    protocol == IPPROTO_UDP && word_is("flood")) {
		memset(data, 0, room);
		return room;
	}
	return real(fd, data, room, flags);
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
