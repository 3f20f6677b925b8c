/* SPDX-License-Identifier: GPL-2.0 */
/*
 * pamsd - what is at the top: the configuration, and those who give commands
 *
 *	  config.c -> rules.c -> base/kernel.c
 *	  control.c, plugin.c -> lines.c -> server/, reporter/, paths/, caps/
 *	  http.c -> lines.c, shown.c
 *	  control.c, http.c -> clients.c
 *
 * Files call downward only, by this map and on by that of each folder's header; and a folder's
 * files include of other folders what is named here (selftests/downward).
 *
 *	main.c			init and exit
 *	config.c		parses the configuration file
 *	config_check.c		checks each value of the configuration
 *	control.c plugin.c	the control socket, and the programs that predict losses
 *	http.c			the page for browsers and Prometheus
 *	lines.c			carries out their commands, which are lines of JSON
 *	shown.c			links, and MPTCP's subflows over them
 *	rules.c			the kernel's table of rules
 *	clients.c		programs connected to a socket of the daemon's
 *
 *	server/		base/base.h base/config.h
 *	reporter/	base/base.h base/config.h base/diag.h
 *	paths/		caps/caps.h base/base.h base/config.h base/diag.h
 *	caps/		base/base.h base/config.h
 *	base/
 *
 * One thread, one event loop.
 */
#ifndef PAMSD_H
#define PAMSD_H

#include "base/base.h"
#include "base/config.h"

#define PAMSD_CONFIG	"/etc/pamsd/pamsd.conf"
#define PAMSD_CONTROL	"/run/pamsd/control"
#define PAMSD_STATE	"/var/lib/pamsd/caps.json"
#define PAMSPLIT_CONTROL "/run/pamsplit/socket"

/* --- config.c: the configuration --- */

/*
 * Read the configuration. Calls say() for each fault, with a line that has the file's name
 * and the line number. Returns NULL if there is a fault.
 */
struct config *config_read(const char *file, void (*say)(const char *line));
/* Overwrite the keys with zeros and free the configuration. */
void config_free(struct config *config);
/*
 * Read only the control socket's path, without reading files of keys. Returns "" if no path is
 * configured, NULL if the file has a fault. The caller frees the path.
 */
char *config_read_control(const char *file, void (*say)(const char *line));

/* --- rules.c: the kernel's table of rules --- */

struct rules;

/* Returns NULL if there is no memory. */
struct rules *rules_new(struct event_base *base, const struct config *config,
			struct kernel *kernel);
void rules_free(struct rules *rules);
/* Set the whole table in the module. */
void rules_feed(struct rules *rules);
struct json_t *rules_status(const struct rules *rules);

/* --- lines.c: commands, as lines of JSON --- */

/* The parts of the daemon that commands are for. */
struct lines {
	struct kernel *kernel;
	struct server *server;		/* or NULL */
	struct reporter *reporter;	/* or NULL */
	struct rules *rules;		/* or NULL */
	struct caps *caps;		/* or NULL */
	struct paths *paths;		/* or NULL */
	bool unprivileged;		/* CAP_NET_ADMIN was dropped */
};

/*
 * Carry out the command in a line. The interface (or NULL) is for commands that name none.
 * Returns the answer, which the caller frees.
 */
struct json_t *lines_obey(const struct lines *lines, const char *line,
			  size_t len, const char *interface);

/* --- clients.c: programs connected to a socket of the daemon's --- */

#define CLIENTS_MAX	16

struct client {
	struct clients *clients;
	struct bufferevent *buffer;
	struct event *deadline;		/* or NULL */
	uint64_t heard_ms;		/* when it last said something, or connected */
	bool ended;			/* it says nothing more, but waits for answers */
	bool answered;			/* for whoever uses it */
	struct client *next;
};

struct client_use {
	void (*readable)(struct client *client);
	void (*written)(struct client *client);	/* it has read all that was written */
	unsigned int patience_s;	/* it is dropped so long after it connected; 0: never */
};

struct clients {
	struct event_base *base;
	int fd;
	struct event *event;
	struct event *again;		/* timer, used instead of event while none can be taken */
	const struct client_use *use;
	void *arg;
	struct client *first;
	unsigned int count;
};

/*
 * Take those who connect to the listening socket fd, which clients_end() closes, also after a
 * failure. Of more than CLIENTS_MAX, the one that was silent for the longest is dropped.
 */
int clients_begin(struct clients *clients, struct event_base *base, int fd,
		  const struct client_use *use, void *arg);
void clients_end(struct clients *clients);
void client_drop(struct client *client);

/* --- control.c: the control socket --- */

struct control;

struct control *control_new(struct event_base *base, const char *path,
			    const struct lines *lines);
void control_free(struct control *control);
/* Send a line to the daemon at this socket and print its answer. Returns the exit status. */
int control_tell(const char *path, const char *line);

/* --- shown.c: what the page shows besides --- */

struct json_t *shown_links(void);

/* --- http.c: the page for browsers and Prometheus --- */

struct http;

/* Listen at this address. Returns NULL after logging why it can't. */
struct http *http_new(struct event_base *base, const union address *address,
		      const struct lines *lines);
void http_free(struct http *http);

/* --- plugin.c: programs that predict losses --- */

struct plugins;

struct plugins *plugins_new(struct event_base *base,
			    const struct config *config,
			    const struct lines *lines);
void plugins_free(struct plugins *plugins);

#endif /* PAMSD_H */
