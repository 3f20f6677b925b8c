// SPDX-License-Identifier: GPL-2.0
/*
 * aps - the database of access points
 *
 * CSV, whose first line names the columns, or GeoJSON. Of each access point:
 *
 *	latitude, longitude	degrees
 *	bssid			or
 *	ssid			or both
 *	range_m			or
 *	power_dbm		from which pathloss.c makes the range
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "aps.h"
#include "predict.h"

#define COLUMNS_MAX	32

static bool is_number(const char *value, double *number)
{
	char *end;

	*number = strtod(value, &end);
	return end != value && !*end && isfinite(*number);
}

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
		return is_number(value, numbers[i].value) ? NULL :
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

/*
 * Split a line at its commas, in place; a field in quotes may hold some, and a
 * quote twice. 0 if it can't be.
 */
static unsigned int split(char *line, char *fields[COLUMNS_MAX])
{
	unsigned int count = 0;
	char *to = line;

	for (;;) {
		bool quoted = *line == '"';

		if (count == COLUMNS_MAX)
			return 0;
		fields[count++] = to;
		line += quoted;
		while (*line && (quoted || *line != ',')) {
			if (quoted && *line == '"' && *++line != '"') {
				quoted = false;
				continue;
			}
			*to++ = *line++;
		}
		if (quoted)
			return 0;
		if (!*line) {
			*to = '\0';
			return count;
		}
		line++;
		*to++ = '\0';
	}
}

struct csv {
	char *header;		/* what names points into */
	char *names[COLUMNS_MAX];
	unsigned int columns;	/* 0 until the first line is read */
};

static const char *csv_line(struct csv *csv, char *line, struct aps *aps,
			    const struct pathloss *model)
{
	struct ap_text text = { };
	char *fields[COLUMNS_MAX];
	unsigned int count;
	const char *fault;

	line[strcspn(line, "\r\n")] = '\0';
	if (!*line || *line == '#')
		return NULL;
	if (!csv->columns) {
		csv->header = strdup(line);
		if (csv->header)
			csv->columns = split(csv->header, csv->names);
		return csv->columns ? NULL : "the names of the columns can't be read";
	}
	count = split(line, fields);
	if (count != csv->columns)
		return "the line hasn't as many fields as the first one";
	for (unsigned int i = 0; i < count; i++) {
		fault = ap_text_set(&text, csv->names[i], fields[i]);
		if (fault)
			return fault;
	}
	return aps_add(aps, &text, model);
}

static int csv_read(struct aps *aps, const char *name,
		    const struct pathloss *model)
{
	FILE *file = fopen(name, "re");
	const char *fault = NULL;
	struct csv csv = { };
	size_t number = 0, room = 0;
	char *line = NULL;

	if (!file) {
		perror(name);
		return -1;
	}
	while (!fault && getline(&line, &room, file) >= 0) {
		number++;
		fault = csv_line(&csv, line, aps, model);
	}
	if (fault)
		fprintf(stderr, "pams-predict: %s:%zu: %s\n", name, number,
			fault);
	free(csv.header);
	free(line);
	fclose(file);
	return fault ? -1 : 0;
}

int aps_read(struct aps *aps, const char *file, const struct pathloss *model)
{
	size_t len = strlen(file);
	int err;

	memset(aps, 0, sizeof(*aps));
	if (len > 4 && !strcasecmp(file + len - 4, ".csv"))
		err = csv_read(aps, file, model);
	else
		err = geojson_aps_read(aps, file, model);
	if (!err && aps->count)
		return 0;
	if (!err)
		fprintf(stderr, "pams-predict: %s: it has no access point\n",
			file);
	aps_free(aps);
	return -1;
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
