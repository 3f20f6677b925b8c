/* SPDX-License-Identifier: GPL-2.0 */
/*
 * aps - what csv.c and geojson.c need to add access points to the database
 */
#ifndef PAMS_PREDICT_APS_H
#define PAMS_PREDICT_APS_H

#include "predict.h"

/* What Windows puts before a text in UTF-8. */
#define BYTE_ORDER_MARK	"\xef\xbb\xbf"

/* An access point of which some values have been read. */
struct ap_text {
	struct ap ap;
	bool has_latitude, has_longitude, has_range, has_power;
	double power_dbm;
};

/*
 * Set a value of an access point, or add the access point to the database. Values
 * with unknown names are ignored. Both return NULL, or a message of what is wrong.
 */
const char *ap_text_set(struct ap_text *text, const char *name,
			const char *value);
const char *aps_add(struct aps *aps, const struct ap_text *text,
		    const struct pathloss *model);

#endif /* PAMS_PREDICT_APS_H */
