/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of the netlink client share. */
#ifndef PAMS_NETLINK_INTERNAL_H
#define PAMS_NETLINK_INTERNAL_H

#include <netlink/msg.h>
#include <netlink/netlink.h>

#include "netlink.h"

#define PAMS_ERROR_MAX	256

struct pams_nl {
	struct nl_sock *sock;		/* requests */
	struct nl_sock *events;		/* or NULL */
	int family;			/* its id, 0 while not loaded */
	int told_family;		/* the one that events have told of */
	const char *bad;		/* attribute */
	char error[PAMS_ERROR_MAX];
};

/* attributes.c: between messages and structs */
enum pams_set { PAMS_SET_PATH, PAMS_SET_CONN, PAMS_SET_NONE };

const char *pams_attr_name(enum pams_set set, unsigned int type);
enum pams_set pams_set_of(uint8_t command);
int pams_put_key(struct nl_msg *msg, const struct pams_path *path);
int pams_put_values(struct nl_msg *msg, const struct pams_path *path);
/* Does a path that was read name one at all? */
bool pams_has_key(const struct pams_path *path);
int pams_read_path(struct nlmsghdr *hdr, struct pams_path *path);
int pams_read_stats(struct nlmsghdr *hdr, struct pams_stats *stats);
int pams_read_scheduler(struct nlmsghdr *hdr, struct pams_scheduler *scheduler);
int pams_put_rules(struct nl_msg *msg, const struct pams_rules *rules);
/* one message of the table; rules->rule grows */
int pams_read_rules(struct nlmsghdr *hdr, struct pams_rules *rules);
/* conn->subflow is allocated, the caller frees it, after an error too */
int pams_read_conn(struct nlmsghdr *hdr, struct pams_conn *conn);

/* netlink.c */
int pams_errno(int nl_error);		/* libnl's code as a negative errno */
int pams_fail(struct pams_nl *nl, int error, const char *text);
int pams_resolve(struct pams_nl *nl);	/* find the family, or -ENOENT */

/* events.c */
int pams_join(struct pams_nl *nl);	/* the family's group, if it is there */

#endif
