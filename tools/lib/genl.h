/* SPDX-License-Identifier: GPL-2.0 */
/* genl - opens sockets of generic netlink */
#ifndef PAMS_GENL_H
#define PAMS_GENL_H

struct nl_sock;

/* For requests, whose answers may take so long. Returns 0 or libnl's error. */
int genl_open(struct nl_sock **sock, unsigned int answer_s);
/* For events, of which there may be none yet; the caller joins groups. Likewise. */
int genl_open_events(struct nl_sock **sock);
/*
 * Join a family's multicast group. It is looked for over a socket of its own: libnl expects of one
 * that batches have used other sequence numbers. -NLE_OBJ_NOTFOUND if there is no such group.
 */
int genl_join(struct nl_sock *events, const char *family, const char *group);

#endif /* PAMS_GENL_H */
