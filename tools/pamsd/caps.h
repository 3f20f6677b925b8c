/* SPDX-License-Identifier: GPL-2.0 */
/*
 * caps - what caps.c is made of: quotas, the state file, batteries, endpoints
 */
#ifndef PAMSD_CAPS_H
#define PAMSD_CAPS_H

#include <time.h>

#include "pamsd.h"

/* --- quota.c: bytes in a period, from plain numbers --- */

/* An interface's counter, as it was last seen. */
struct counter {
	bool known;
	unsigned int ifindex;	/* 0: before this boot */
	uint64_t bytes;
};

/* Take what the kernel says now: the bytes since it was last seen. */
uint64_t counter_take(struct counter *counter, unsigned int ifindex,
		      uint64_t bytes);

/* A day, as 20261122. */
struct spell {
	uint32_t begin;		/* 0: none */
	uint64_t used;
};

struct usage {
	struct spell now;
	struct spell before;	/* for a clock that is set back */
	bool synced;		/* that it is "now" a synchronised clock said */
	bool unknown;		/* the file couldn't be read: taken as used up */
};

uint32_t period_begin(const struct tm *now, enum period period,
		      unsigned int from_day);
/* The first day of the next one. */
uint32_t period_end(uint32_t begin, enum period period);
/* Can a period begin then? */
bool is_date(uint32_t begin);
/* The clock, synchronised or not, says that the period begins then: is it another one? */
bool usage_turn(struct usage *usage, uint32_t begin, bool synced);
/* What may be lost or exceeded. */
uint64_t quota_slack(uint64_t quota);
/* When to look again, so that no more than the slack passes; rate: the highest seen */
unsigned int quota_look_ms(uint64_t left, uint64_t slack, uint64_t rate_byteps);

/* --- counter.c: what the kernel counts --- */

/* Bytes received and sent; 0 or -errno, -ENODEV: there is no such interface. */
int counter_read(const char *interface, unsigned int *ifindex, uint64_t *bytes);
void counter_close(void);

/* --- keep.c: state that outlives the daemon --- */

/*
 * NULL: there is none, or *why, which is good until the next call, and the file is
 * kept as FILE.corrupt or FILE.unreadable.
 */
struct json_t *keep_read(const char *file, const char **why);
/* True if it is now FILE.SUFFIX. */
bool keep_put_aside(const char *file, const char *suffix);
/* As a whole or not at all, on the disk when it returns; 0 or -errno. */
int keep_write(const char *file, const struct json_t *state);

/* --- battery.c --- */

struct battery {
	bool there;
	bool discharging;
	unsigned int percent;	/* of all together */
};

void battery_read(struct battery *battery);

/* --- metered.c: NetworkManager --- */

struct metered;

enum metering {
	METERING_UNKNOWN,	/* also: it isn't there */
	METERING_YES,		/* or it guesses so */
	METERING_NO,
};

/* NULL: there is no memory, or this pamsd can't ask; the others take it. */
struct metered *metered_new(struct event_base *base);
void metered_free(struct metered *metered);
/* Ask again, each few seconds; the answer comes later. */
void metered_ask(struct metered *metered, const char *interface);
enum metering metered_is(const struct metered *metered, const char *interface);

/* --- endpoint.c: the kernel's path manager --- */

#define ENDPOINTS_MAX	64

struct endpoint {
	int family;
	uint8_t address[16];
	uint8_t id;
	uint16_t port;
	uint32_t flags;		/* MPTCP_PM_ADDR_FLAG_ */
	uint32_t ifindex;	/* 0: none */
	char interface[IF_NAMESIZE];	/* that it is of, or "" */
	bool local;			/* and that has the address, */
	bool up;			/* and that is up */
};

/* What an endpoint's interface has, of the addresses of its family. */
enum presence {
	ADDRESS_AWAY,		/* none, beside link-local ones */
	ADDRESS_REPLACED,	/* others */
	ADDRESS_THERE,
};

enum presence endpoint_presence(const struct endpoint *endpoint);
/* How many, or -errno. */
int endpoints_read(struct endpoint endpoints[ENDPOINTS_MAX]);
int endpoint_set_backup(const struct endpoint *endpoint, bool backup);
/* With id 0 the kernel picks one; -EBUSY: another endpoint has that id. */
int endpoint_add(const struct endpoint *endpoint);
int endpoint_remove(const struct endpoint *endpoint);
void endpoints_close(void);

/* --- exits.c: the default routes --- */

#define EXITS_MAX	16

/* The names of interfaces; how many. */
unsigned int exits_read(char names[EXITS_MAX][IF_NAMESIZE]);

/* --- caps.c --- */

/* An interface that has caps, or a pamsplit. */
struct capped {
	const char *name;	/* or the path of its socket */
	bool lends;		/* it is a pamsplit */
	unsigned int ifindex;	/* or the process's number; 0: there is none */
	struct counter counter;
	uint64_t counted_us;
	uint64_t rate_byteps;	/* the highest that was seen */
	struct effect effect;	/* of all its caps together */
	bool told;		/* something else than "as always" */
	uint8_t lasting_cost;	/* that somebody set until it is deleted */
	bool asks_metered;	/* a cap wants to know */
};

struct cap {
	const struct cap_config *config;
	struct capped *on;
	struct usage usage;
	uint64_t saved_bytes;	/* of the period, in the file */
	bool used_up, low, in_hours, metered;	/* reasons */
	bool active;		/* has one, or needs none */
};

/* An endpoint that isn't as it was found. */
struct held {
	struct endpoint endpoint;	/* as it was, */
	bool removed;		/* else it is now a backup */
	bool id_taken;		/* by another, while it was removed */
};

struct caps {
	const struct config *config;
	struct kernel *kernel;
	struct event *timer;
	struct cap *caps;
	struct capped *capped;
	unsigned int capped_count;
	struct battery battery;
	struct metered *metered;
	uint64_t battery_us, metered_us, told_us, saved_us;
	struct held held[ENDPOINTS_MAX];
	unsigned int held_count;
	/* as the file has them: of caps and interfaces that aren't configured now */
	struct json_t *kept_quotas, *kept_interfaces;
	uint8_t least_cost;	/* of the ways out, where costs become backups */
	bool released;		/* everything is given back */
	struct seldom unsaved, unread, refused, full;
};

/* caps_keep.c: the state file */
void caps_restore(struct caps *caps);
void caps_save(struct caps *caps);

/* caps_apply.c: what the effects of the interfaces ask for */
void caps_tell(struct caps *caps);
void caps_settle_endpoints(struct caps *caps);
/* The interface costs what somebody set, or nothing, once no cap of it holds. */
void caps_give_back_cost(struct caps *caps, unsigned int ifindex, uint8_t cost);

#endif /* PAMSD_CAPS_H */
