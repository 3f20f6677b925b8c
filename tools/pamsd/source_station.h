/* SPDX-License-Identifier: GPL-2.0 */
/*
 * source_station - what it takes from nl80211, for it and for its test
 */
#ifndef PAMSD_SOURCE_STATION_H
#define PAMSD_SOURCE_STATION_H

#include <stdint.h>

struct nlattr;

struct station {
	uint8_t mac[6];
	uint64_t bytes;		/* sent to it */
	uint64_t rate_byteps;	/* 0: not known */
	uint32_t backlog_bytes;
};

/* attrs: of a message NL80211_CMD_NEW_STATION. 0 or -EINVAL. */
int station_parse(struct nlattr **attrs, struct station *station);

#endif /* PAMSD_SOURCE_STATION_H */
