// SPDX-License-Identifier: GPL-2.0
/*
 * source - a netlink socket for a source's requests to the kernel
 *
 * There is one request at a time, and the kernel answers at once. If something goes wrong,
 * a receive blocks the daemon for a second at most.
 */
#include <errno.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <netlink/errno.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>

#include "base.h"

int source_open(struct nl_sock **sock, int protocol)
{
	const struct timeval patience = { .tv_sec = 1 };

	if (*sock)
		return 0;
	*sock = nl_socket_alloc();
	if (!*sock)
		return -ENOMEM;
	nl_socket_disable_auto_ack(*sock);
	if (!nl_connect(*sock, protocol) &&
	    !setsockopt(nl_socket_get_fd(*sock), SOL_SOCKET, SO_RCVTIMEO,
			&patience, sizeof(patience)))
		return 0;
	source_close(sock);
	return -EIO;
}

/* An interrupted dump was received to its end. */
int source_receive(struct nl_sock **sock)
{
	int err = nl_recvmsgs_default(*sock);

	if (err < 0 && err != -NLE_DUMP_INTR)
		source_close(sock);
	return err;
}

void source_close(struct nl_sock **sock)
{
	nl_socket_free(*sock);
	*sock = NULL;
}
