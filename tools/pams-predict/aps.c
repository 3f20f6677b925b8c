// SPDX-License-Identifier: GPL-2.0
/*
 * aps - the database of access points
 *
 * A file (csv.c, geojson.c) has for each access point:
 *
 *	latitude, longitude	degrees
 *	bssid			or
 *	ssid			or both
 *	range_m			or
 *	power_dbm		from which pathloss.c computes the range
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "aps.h"
#include "predict.h"

static bool is_bssid(const char *value, uint8_t bssid[6])
{
	int used = 0;

	return sscanf(value, "%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx%n", &bssid[0],
		      &bssid[1], &bssid[2], &bssid[3], &bssid[4], &bssid[5],
		      &used) == 6 && !value[used];
}

const char *ap_text_set(struct ap_text *text, const char *name,
			const char *value)
{
	struct {
		const char *name;
		double *value;
		bool *has;
	} numbers[] = {
		{ "latitude", &text->ap.position.latitude,
		  &text->has_latitude },
		{ "longitude", &text->ap.position.longitude,
		  &text->has_longitude },
		{ "range_m", &text->ap.range_m, &text->has_range },
		{ "power_dbm", &text->power_dbm, &text->has_power },
	};

	if (!*value)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		if (strcasecmp(name, numbers[i].name))
			continue;
		*numbers[i].has = true;
		return geo_number(value, numbers[i].value) ? NULL :
		       "a value is not a number";
	}
	if (!strcasecmp(name, "bssid")) {
		text->ap.has_bssid = true;
		return is_bssid(value, text->ap.bssid) ? NULL :
		       "a BSSID is not like 02:00:00:00:00:01";
	}
	if (!strcasecmp(name, "ssid")) {
		if (strlen(value) >= SSID_BYTES)
			return "an SSID is longer than 32 bytes";
		memcpy(text->ap.ssid, value, strlen(value) + 1);
	}
	return NULL;
}

const char *aps_add(struct aps *aps, const struct ap_text *text,
		    const struct pathloss *model)
{
	struct ap ap = text->ap, *more;

	if (!text->has_latitude || !text->has_longitude)
		return "latitude or longitude is missing";
	if (!(fabs(ap.position.latitude) <= 90 &&
	      fabs(ap.position.longitude) <= 180))
		return "the position is not on the earth";
	if (!ap.has_bssid && !*ap.ssid)
		return "bssid and ssid are missing: one is needed";
	if (!text->has_range && !text->has_power)
		return "range_m and power_dbm are missing: one is needed";
	if (!text->has_range)
		ap.range_m = pathloss_range_m(model, text->power_dbm);
	if (!(ap.range_m > 0 && ap.range_m < 100000))
		return "the range is not between 0 and 100 km";
	more = realloc(aps->aps, (aps->count + 1) * sizeof(*more));
	if (!more)
		return "out of memory";
	aps->aps = more;
	more[aps->count++] = ap;
	return NULL;
}

void aps_free(struct aps *aps)
{
	free(aps->aps);
	memset(aps, 0, sizeof(*aps));
}

const struct ap *aps_find(const struct aps *aps, const uint8_t *bssid,
			  const char *ssid, const struct position *position)
{
	const struct ap *best = NULL;
	double share, least = INFINITY;

	for (unsigned int i = 0; i < aps->count; i++) {
		const struct ap *ap = &aps->aps[i];

		if (bssid && ap->has_bssid && !memcmp(ap->bssid, bssid, 6))
			return ap;
		if (ap->has_bssid ? !!bssid : ssid && strcmp(ap->ssid, ssid))
			continue;
		share = geo_distance_m(&ap->position, position) / ap->range_m;
		if (share < least) {
			least = share;
			best = ap;
		}
	}
	return best;
}

void ap_name(const struct ap *ap, char name[SSID_BYTES])
{
	const uint8_t *b = ap->bssid;

	if (*ap->ssid)
		memcpy(name, ap->ssid, SSID_BYTES);
	else
		snprintf(name, SSID_BYTES, "%02x:%02x:%02x:%02x:%02x:%02x",
			 b[0], b[1], b[2], b[3], b[4], b[5]);
}
