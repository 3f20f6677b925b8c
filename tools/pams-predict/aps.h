/* SPDX-License-Identifier: GPL-2.0 */
/*
 * aps - what both formats of the database of access points share
 */
#ifndef PAMS_PREDICT_APS_H
#define PAMS_PREDICT_APS_H

#include "predict.h"

/* An access point while its values are read one after the other. */
struct ap_text {
	struct ap ap;
	bool has_latitude, has_longitude, has_range, has_power;
	double power_dbm;
};

/*
 * Values that are no access point's are left out. Both give NULL, or what is
 * wrong.
 */
const char *ap_text_set(struct ap_text *text, const char *name,
			const char *value);
const char *aps_add(struct aps *aps, const struct ap_text *text,
		    const struct pathloss *model);

#endif /* PAMS_PREDICT_APS_H */
