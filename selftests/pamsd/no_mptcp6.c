// SPDX-License-Identifier: GPL-2.0
/* no_mptcp6 - preloaded: no MPTCP sockets of IPv6 can be had, as without CONFIG_MPTCP_IPV6 */
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

int socket(int family, int type, int protocol)
{
	if (family == AF_INET6 && protocol == IPPROTO_MPTCP) {
		errno = EPROTONOSUPPORT;
		return -1;
	}
	return syscall(SYS_socket, family, type, protocol);
}
