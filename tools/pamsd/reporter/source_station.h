/* SPDX-License-Identifier: GPL-2.0 */
/*
 * source_station - stations of nl80211, declared for source_station.c and its test
 */
#ifndef PAMSD_SOURCE_STATION_H
#define PAMSD_SOURCE_STATION_H

#include <stdbool.h>
#include <stdint.h>

struct nlattr;

struct station {
	uint8_t mac[6];
	uint64_t bytes;		/* sent to the station */
	uint64_t rate_byteps;	/* 0: unknown */
	const char *rate_from;	/* how the rate was found; NULL: unknown */
	bool has_backlog;	/* the driver counts the waiting bytes */
	uint32_t backlog_bytes;
};

/* Parse the attributes of a message NL80211_CMD_NEW_STATION. Returns 0 or -EINVAL. */
int station_parse(struct nlattr **attrs, struct station *station);

/*
 * The stations of all interfaces. The array grows as needed; stations that aren't associated
 * any more are removed.
 */
struct stations {
	struct known_station *known;
	unsigned int count;
};

/* Take a sample of a station of this interface. */
void stations_note(struct stations *stations, unsigned int ifindex,
		   const struct station *station, uint64_t us);
/*
 * Call this after stations_note() was called for all stations of the interface. Returns the
 * estimate of the station to which the most bytes were sent since the last time, or of the
 * last chosen one if all are equal; NULL if there is no station.
 */
struct estimate;
const struct estimate *stations_choose(struct stations *stations,
				       unsigned int ifindex);
void stations_free(struct stations *stations);

#endif /* PAMSD_SOURCE_STATION_H */
