/* SPDX-License-Identifier: GPL-2.0 */
/*
 * source_station - what it takes from nl80211, for it and for its test
 */
#ifndef PAMSD_SOURCE_STATION_H
#define PAMSD_SOURCE_STATION_H

#include <stdbool.h>
#include <stdint.h>

struct nlattr;

struct station {
	uint8_t mac[6];
	uint64_t bytes;		/* sent to it */
	uint64_t rate_byteps;	/* 0: not known */
	const char *rate_from;	/* what that is; NULL: not known */
	bool has_backlog;	/* the driver tells what waits for it */
	uint32_t backlog_bytes;
};

/* attrs: of a message NL80211_CMD_NEW_STATION. 0 or -EINVAL. */
int station_parse(struct nlattr **attrs, struct station *station);

/*
 * What is known of each station, whatever the interface: as many as there are,
 * those that have gone are forgotten.
 */
struct stations {
	struct known_station *known;
	unsigned int count;
};

/* Look at a station of that interface. */
void stations_note(struct stations *stations, unsigned int ifindex,
		   const struct station *station, uint64_t us);
/*
 * All of that interface's stations were noted: the estimate of the one to which
 * most was sent since the last time, or that was chosen then if nothing was to
 * any. NULL: there is none.
 */
struct estimate;
const struct estimate *stations_choose(struct stations *stations,
				       unsigned int ifindex);
void stations_free(struct stations *stations);

#endif /* PAMSD_SOURCE_STATION_H */
