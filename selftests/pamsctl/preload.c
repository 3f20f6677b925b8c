// SPDX-License-Identifier: GPL-2.0
/*
 * preload - what another kernel would answer to pamsctl, by the variable FAULT
 *
 *	noexec		vm.memfd_noexec is 2: no memory that may be executed
 *	old		MFD_NOEXEC_SEAL isn't known
 *	memfd		no memory as a file at all
 *	diag		no list of sockets
 *	interrupted	each dump of rtnetlink's says that a change came in between
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/netlink.h>

#define NOEXEC_SEAL	0x0008U

static bool fault(const char *name)
{
	const char *wanted = getenv("FAULT");

	return wanted && !strcmp(wanted, name);
}

int memfd_create(const char *name, unsigned int flags)
{
	if (fault("memfd") || (fault("noexec") && !(flags & NOEXEC_SEAL)))
		errno = EACCES;
	else if (fault("old") && flags & NOEXEC_SEAL)
		errno = EINVAL;
	else
		return syscall(SYS_memfd_create, name, flags);
	return -1;
}

int socket(int domain, int type, int protocol)
{
	if (fault("diag") && domain == AF_NETLINK && protocol == NETLINK_SOCK_DIAG) {
		errno = ENOENT;
		return -1;
	}
	return syscall(SYS_socket, domain, type, protocol);
}

static bool is_rtnetlink(int fd)
{
	int domain = 0, protocol = -1;
	socklen_t length = sizeof(int);

	return !getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) && domain == AF_NETLINK &&
	       !getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &length) &&
	       protocol == NETLINK_ROUTE;
}

ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	ssize_t got = syscall(SYS_recvmsg, fd, msg, flags);
	struct nlmsghdr *hdr = msg->msg_iovlen ? msg->msg_iov->iov_base : NULL;

	if (fault("interrupted") && got >= (ssize_t)sizeof(*hdr) && !(flags & MSG_PEEK) &&
	    hdr->nlmsg_flags & NLM_F_MULTI && is_rtnetlink(fd))
		hdr->nlmsg_flags |= NLM_F_DUMP_INTR;
	return got;
}
