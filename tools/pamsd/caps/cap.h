/* SPDX-License-Identifier: GPL-2.0 */
/* cap - a limit on the use of an interface, the reasons for it, and what it does */
#ifndef PAMSD_CAP_H
#define PAMSD_CAP_H

#include <time.h>

#include "caps.h"

/* --- quota.c: the bytes used in a period; plain arithmetic, no system calls --- */

/* The last reading of an interface's byte counter. */
struct counter {
	bool known;
	unsigned int ifindex;	/* 0: read before this boot */
	uint64_t bytes;
};

/* Store a new reading. Returns the bytes since the one before. */
uint64_t counter_take(struct counter *counter, unsigned int ifindex,
		      uint64_t bytes);

/* A period and the bytes used in it. */
struct spell {
	uint32_t begin;		/* first day, as 20261122; 0: none */
	uint64_t used;
};

struct usage {
	struct spell now;
	struct spell before;	/* needed when the clock is set back */
	bool synced;		/* now.begin is from a synchronised clock */
	bool unknown;		/* the state file was unreadable: the quota counts as used up */
};

uint32_t period_begin(const struct tm *now, enum period period,
		      unsigned int from_day);
/* The first day of the next period. */
uint32_t period_end(uint32_t begin, enum period period);
/* Is this a date of the calendar? */
bool is_date(uint32_t begin);
/*
 * Switch to the period that begins at begin, by a clock that is synchronised or not. Returns
 * whether that is another period than before.
 */
bool usage_turn(struct usage *usage, uint32_t begin, bool synced);
/* By how many bytes the quota may be exceeded, and how many a crash may forget. */
uint64_t quota_slack(uint64_t quota);
/*
 * When to read the counter again, so that the quota isn't exceeded by more than the slack.
 * rate_byteps is the highest rate seen so far.
 */
unsigned int quota_look_ms(uint64_t left, uint64_t slack, uint64_t rate_byteps);

/* --- counter.c: an interface's byte counter --- */

/* Read the sum of bytes received and sent. Returns 0 or -errno; -ENODEV: no such interface. */
int counter_read(const char *interface, unsigned int *ifindex, uint64_t *bytes);
void counter_close(void);

/* --- battery.c --- */

struct battery {
	bool there;
	bool discharging;
	unsigned int percent;	/* average of all batteries */
};

void battery_read(struct battery *battery);

/* --- metered.c: asks NetworkManager whether an interface is metered --- */

struct metered;

enum metering {
	METERING_UNKNOWN,	/* also: the device isn't in use, or NetworkManager is slow */
	METERING_YES,		/* also: NetworkManager guesses so */
	METERING_NO,
	METERING_AWAY,		/* NetworkManager isn't running */
};

/*
 * Returns NULL if there is no memory or if pamsd was built without D-Bus; the functions below
 * accept that, except for metered_ask().
 */
struct metered *metered_new(struct event_base *base);
void metered_free(struct metered *metered);
/* Ask NetworkManager; call this every few seconds. metered_is() has the answer later. */
void metered_ask(struct metered *metered, const char *interface);
enum metering metered_is(const struct metered *metered, const char *interface);

/* --- exits.c: the default routes --- */

#define EXITS_MAX	16

/* Fill in the names of the interfaces with a default route. Returns how many there are. */
unsigned int exits_read(char names[EXITS_MAX][IF_NAMESIZE]);

/* --- caps.c --- */

/* An interface, or a pamsplit, that has caps. */
struct capped {
	const char *name;	/* interface, or path of pamsplit's socket */
	bool lends;		/* this is a pamsplit */
	unsigned int ifindex;	/* of pamsplit: its pid; 0: it doesn't exist now */
	struct counter counter;
	uint64_t counted_us;
	uint64_t rate_byteps;	/* the highest so far */
	struct effect effect;	/* of all its caps together */
	bool told;		/* an effect was set in the module or in pamsplit */
	uint8_t lasting_cost;	/* cost that somebody set without a lifetime */
	bool asks_metered;	/* a cap depends on whether it is metered */
	enum metering metering;	/* until NetworkManager says another one, or is away */
};

struct cap {
	const struct cap_config *config;
	struct capped *on;
	struct usage usage;
	uint64_t saved_bytes;	/* used bytes as the state file has them */
	bool used_up, low, in_hours, metered;	/* reasons that hold now */
	bool active;		/* a reason holds, or the cap needs none */
};

/* An endpoint that pamsd has changed. */
struct held {
	struct endpoint endpoint;	/* its original state */
	bool removed;		/* pamsd removed it; else made it a backup */
	bool id_taken;		/* another endpoint got its id meanwhile */
	bool left;		/* caps_release() leaves it as it is */
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
	/* parts of the state file about caps and interfaces that aren't configured now */
	struct json_t *kept_quotas, *kept_interfaces;
	uint8_t least_cost;	/* with costs-as-backup: of the cheapest usable interface */
	bool released;		/* all effects are undone */
	void (*news)(void *arg); /* or NULL */
	void *news_arg;
	struct seldom unsaved, unread, refused, full;
};

/* caps_keep.c: the state file */
void caps_restore(struct caps *caps);
void caps_save(struct caps *caps);

/* caps_apply.c: applies the effects of the caps */

/* Set costs in the module, and pamsplit's lending. */
void caps_tell(struct caps *caps);
/* Make endpoints backups, remove them, or restore them. */
void caps_settle_endpoints(struct caps *caps);
/* Restore an interface's lasting cost (0: it has none) once none of its caps is active. */
void caps_give_back_cost(struct caps *caps, unsigned int ifindex, uint8_t cost);

#endif /* PAMSD_CAP_H */
