// SPDX-License-Identifier: GPL-2.0
/* genl - opens sockets of generic netlink */
#include <errno.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <netlink/errno.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>

#include "genl.h"

#define ANSWER_S	5	/* the kernel answers at once */

static int open_socket(struct nl_sock **sock)
{
	*sock = nl_socket_alloc();
	return *sock ? genl_connect(*sock) : -NLE_NOMEM;
}

static int close_after(int err, struct nl_sock **sock)
{
	if (!err)
		return 0;
	nl_socket_free(*sock);
	*sock = NULL;
	return err;
}

int genl_open(struct nl_sock **sock, unsigned int answer_s)
{
	const struct timeval patience = { .tv_sec = answer_s };
	int err = open_socket(sock);

	if (!err && setsockopt(nl_socket_get_fd(*sock), SOL_SOCKET, SO_RCVTIMEO, &patience,
			       sizeof(patience)))
		err = -nl_syserr2nlerr(errno);
	return close_after(err, sock);
}

int genl_open_events(struct nl_sock **sock)
{
	int err = open_socket(sock);

	if (!err) {
		nl_socket_disable_seq_check(*sock);
		err = nl_socket_set_nonblocking(*sock);
	}
	return close_after(err, sock);
}

int genl_join(struct nl_sock *events, const char *family, const char *group)
{
	struct nl_sock *questions;
	int id = genl_open(&questions, ANSWER_S);

	if (!id)
		id = genl_ctrl_resolve_grp(questions, family, group);
	nl_socket_free(questions);
	return id < 0 ? id : nl_socket_add_membership(events, id);
}
