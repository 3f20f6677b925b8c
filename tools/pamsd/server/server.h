/* SPDX-License-Identifier: GPL-2.0 */
/*
 * server - takes what other machines report, and tells the module
 *
 *	  udp -> server.c -> peer.c -> session.c
 *	                     peer.c -> held.c, conns.c -> told.c -> kernel.c
 *
 *	server.c		the UDP sockets that receive reports
 *	filter.c mark.c		BPF programs for these sockets, against floods
 *	peer.c			authenticates reports and answers them
 *	held.c			the paths that peers have reported
 *	conns.c			the connections over these paths
 *	told.c			what the module was told of both
 *	session.c		sessions of peers, and the age of their reports
 */
#ifndef PAMSD_SERVER_H
#define PAMSD_SERVER_H

#include "../base/base.h"
#include "../base/config.h"

struct server;

/* Load the BPF program of mark.c, which privilege_drop() makes impossible. */
void marks_open(void);
void marks_close(void);

/* Opens the sockets. Returns NULL after logging the reason if it fails. */
struct server *server_new(struct event_base *base, const struct config *config,
			  struct kernel *kernel);
void server_free(struct server *server);
void server_feed(struct server *server);
/* Call this before switching to configuration next: see peers_revoke(). */
void server_revoke(struct server *server, const struct config *next);
struct json_t *server_status(const struct server *server);

#endif /* PAMSD_SERVER_H */
