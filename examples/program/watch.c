// SPDX-License-Identifier: GPL-2.0
/* Connections, then events, over netlink: Documentation/recipes/program.md. */
#include <stdio.h>
#include <linux/mptcp_pams.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>

/* The family's "uint" takes 4 bytes or 8. */
static unsigned long long number(const struct nlattr *attr)
{
	if (!attr)
		return 0;
	return nla_len(attr) == 8 ? nla_get_u64(attr) : nla_get_u32(attr);
}

static int on_message(struct nl_msg *msg, void *stopped)
{
	struct genlmsghdr *header = genlmsg_hdr(nlmsg_hdr(msg));
	struct nlattr *conn[MPTCP_PAMS_A_CONN_MAX + 1], *at;
	int left;

	if (header->cmd != MPTCP_PAMS_CMD_CONN_GET &&
	    header->cmd != MPTCP_PAMS_CMD_PATH_STOPPED_NTF)
		return NL_SKIP;
	genlmsg_parse(nlmsg_hdr(msg), 0, conn, MPTCP_PAMS_A_CONN_MAX, NULL);
	printf("%s: scheduler %s\n", header->cmd == MPTCP_PAMS_CMD_CONN_GET ?
	       "connection" : "a path is left",
	       nla_get_string(conn[MPTCP_PAMS_A_CONN_SCHEDULER]));
	nlmsg_for_each_attr(at, nlmsg_hdr(msg), GENL_HDRLEN, left) {
		struct nlattr *sub[MPTCP_PAMS_A_SUBFLOW_MAX + 1];

		if (nla_type(at) != MPTCP_PAMS_A_CONN_SUBFLOW)
			continue;
		nla_parse_nested(sub, MPTCP_PAMS_A_SUBFLOW_MAX, at, NULL);
		printf("  subflow %llu", number(sub[MPTCP_PAMS_A_SUBFLOW_ID]));
		/* of one that is left it isn't told */
		if (sub[MPTCP_PAMS_A_SUBFLOW_RATE])
			printf(": %llu bytes/s", number(sub[MPTCP_PAMS_A_SUBFLOW_RATE]));
		putchar('\n');
	}
	fflush(stdout);
	*(int *)stopped = header->cmd == MPTCP_PAMS_CMD_PATH_STOPPED_NTF;
	return NL_OK;
}

int main(void)
{
	struct nl_sock *ask = nl_socket_alloc(), *events = nl_socket_alloc();
	int family, err, stopped = 0;

	genl_connect(ask);
	family = genl_ctrl_resolve(ask, MPTCP_PAMS_FAMILY_NAME);
	if (family < 0) {
		fputs("the module mptcp_pams isn't loaded\n", stderr);
		return 1;
	}
	/* a socket of its own: events come at any time */
	nl_socket_disable_seq_check(events);
	genl_connect(events);
	err = nl_socket_add_membership(events,
				       genl_ctrl_resolve_grp(events, MPTCP_PAMS_FAMILY_NAME,
							     MPTCP_PAMS_MCGRP_EVENTS));

	nl_socket_modify_cb(ask, NL_CB_VALID, NL_CB_CUSTOM, on_message, &stopped);
	if (!err)
		err = genl_send_simple(ask, family, MPTCP_PAMS_CMD_CONN_GET, 1, NLM_F_DUMP);
	if (err >= 0)
		err = nl_recvmsgs_default(ask);
	if (err < 0) {
		nl_perror(err, "connections and events are root's");
		return 1;
	}

	nl_socket_modify_cb(events, NL_CB_VALID, NL_CB_CUSTOM, on_message, &stopped);
	/* -NLE_NOMEM: events came too fast, and some are lost */
	while (!stopped && (err >= 0 || err == -NLE_NOMEM))
		err = nl_recvmsgs_default(events);
	if (!stopped)
		nl_perror(err, "events");
	nl_socket_free(events);
	nl_socket_free(ask);
	return !stopped;
}
