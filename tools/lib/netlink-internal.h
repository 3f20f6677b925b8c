/* SPDX-License-Identifier: GPL-2.0 */
/* Declarations shared by the files of the netlink client. */
#ifndef PAMS_NETLINK_INTERNAL_H
#define PAMS_NETLINK_INTERNAL_H

#include <netlink/msg.h>
#include <netlink/netlink.h>

#include "netlink.h"

#define PAMS_ERROR_MAX	256

struct pams_nl {
	struct nl_sock *sock;		/* requests */
	struct nl_sock *events;		/* NULL: not subscribed */
	int family;			/* id of the family, 0 while the module isn't loaded */
	int told_family;		/* id of the family that the last events were about */
	const char *bad;		/* name of the attribute that was wrong, or NULL */
	char error[PAMS_ERROR_MAX];
};

/* attributes.c: converts between messages and structs */
enum pams_set { PAMS_SET_PATH, PAMS_SET_CONN, PAMS_SET_NONE };

const char *pams_attr_name(enum pams_set set, unsigned int type);
enum pams_set pams_set_of(uint8_t command);
int pams_put_key(struct nl_msg *msg, const struct pams_path *path);
int pams_put_values(struct nl_msg *msg, const struct pams_path *path);
/* Does a path that was read have a key? */
bool pams_has_key(const struct pams_path *path);
int pams_read_path(struct nlmsghdr *hdr, struct pams_path *path);
int pams_read_stats(struct nlmsghdr *hdr, struct pams_stats *stats);
int pams_read_scheduler(struct nlmsghdr *hdr, struct pams_scheduler *scheduler);
int pams_put_rules(struct nl_msg *msg, const struct pams_rules *rules);
/* Read one message of the table; appends to rules->rule. */
int pams_read_rules(struct nlmsghdr *hdr, struct pams_rules *rules);
/* Allocates conn->subflow, which the caller frees, after an error, too. */
int pams_read_conn(struct nlmsghdr *hdr, struct pams_conn *conn);

/* netlink.c */
int pams_errno(int nl_error);		/* libnl's code as a negative errno */
int pams_fail(struct pams_nl *nl, int error, const char *text);
int pams_resolve(struct pams_nl *nl);	/* find the family, or -ENOENT */

/* events.c */
int pams_join(struct pams_nl *nl);	/* join the family's group, or -ENOENT */

#endif
