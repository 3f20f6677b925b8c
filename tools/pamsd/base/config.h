/* SPDX-License-Identifier: GPL-2.0 */
/* config - the configuration, which config.c reads and the folders keep to */
#ifndef PAMSD_CONFIG_H
#define PAMSD_CONFIG_H

#include "base.h"

struct peer_config {
	char *name;
	uint8_t key[REPORT_KEY_BYTES];
	struct prefix *prefixes;
	unsigned int prefix_count;
	unsigned int rate_ps;	/* limit of reports per second */
	bool source;		/* the peer may report about its source address */
	unsigned int loss_max_s; /* the server's loss-max-s: longest time a loss may hold */
};

/* A server has at most this many addresses. */
#define ADDRESSES_MAX	4

struct target_config {
	char *name;
	uint8_t key[REPORT_KEY_BYTES];
	union address *addresses;	/* the server's; none if host has its name */
	unsigned int address_count;
	struct host host;		/* the server's name, if the configuration gives one */
	char (*via)[IF_NAMESIZE];
	unsigned int via_count;
};

enum measure {
	MEASURE_AUTO,
	MEASURE_QDISC,
	MEASURE_STATION,
	MEASURE_TCP,
	MEASURE_PAMSPLIT,
	MEASURE_NONE,
};

struct about {
	bool source;		/* about the source address of the report, not about prefix */
	struct prefix prefix;
	uint16_t port;		/* TCP port, 0 for any */
};

struct interface_config {
	char name[IF_NAMESIZE];
	struct about *abouts;
	unsigned int about_count;
	enum measure measure;
	char *socket;		/* path of pamsplit's control socket */
	bool carrier;		/* report link down and up */
	bool local;		/* tell the module on this machine, too */
	uint32_t delay_us;	/* delay of the pipe; UINT32_MAX: not given */
	char **plugin;		/* argv of the command, ends with NULL; NULL: no plugin */
};

/* What a cap does while it is active. */
struct effect {
	uint8_t cost;		/* the interface costs at least this */
	bool backup;
	bool forbid;
	bool lend_nothing;	/* for pamsplit; the other fields are for interfaces */
};

enum period {
	PERIOD_DAY,
	PERIOD_MONTH,
};

/* Minutes since midnight. If from_min is after to_min, the interval spans midnight. */
struct hours {
	uint16_t from_min, to_min;
};

struct cap_config {
	char *name;
	char interface[IF_NAMESIZE];	/* "": the cap limits what pamsplit lends */
	char *socket;		/* path of pamsplit's control socket, or NULL */
	uint64_t quota_bytes;	/* 0: none */
	enum period period;
	unsigned int from_day;	/* of the month */
	unsigned int battery_below; /* active below this percentage; 0: the battery is no reason */
	bool metered;		/* active while NetworkManager calls the interface metered */
	struct hours *hours;
	unsigned int hours_count;
	struct effect then;
};

/* Section "paths": pamsd keeps the host's paths. */
struct paths_config {
	bool kept;		/* the section is there */
	bool first;		/* choose where connections begin */
	bool first_by_metric;	/* by a default route where BPF programs can't */
	unsigned int first_also; /* FIRST_: of what besides MPTCP */
	char (*also)[IF_NAMESIZE]; /* bridges and tunnels that are paths */
	unsigned int also_count;
	char (*without)[IF_NAMESIZE]; /* interfaces that are none */
	unsigned int without_count;
	struct prefix *not_first; /* destinations that begin where the routes say */
	unsigned int not_first_count;
};

struct config {
	char *control;		/* path of the socket, NULL for none */
	union address http;	/* where the page is; family 0: nowhere */
	bool server, reporter;
	union address *listens;
	unsigned int listen_count;
	struct peer_config *peers;
	unsigned int peer_count;
	unsigned int interval_ms;
	unsigned int rate_age_ms;
	struct target_config *targets;
	unsigned int target_count;
	struct interface_config *interfaces;
	unsigned int interface_count;
	char *rules_file;	/* NULL: the kernel's table isn't touched */
	struct pams_rules rules;
	struct paths_config paths;
	char *state;		/* path of the caps' state file */
	bool costs_as_backup;	/* costly endpoints become backups, so peers see MP_PRIO */
	struct cap_config *caps;
	unsigned int cap_count;
};

#endif /* PAMSD_CONFIG_H */
