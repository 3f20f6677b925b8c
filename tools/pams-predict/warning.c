// SPDX-License-Identifier: GPL-2.0
/*
 * warning - decides when a loss is reported, corrected and withdrawn
 *
 *	       loss within horizon_ms                  level <= T
 *	quiet -------------------------> said ---------------------> lost
 *	  ^  <---------------------------  |  ^                        |
 *	  |   nothing within 2 horizons    +--+ another time           |
 *	  +------------------------------------------------------------+
 *	              level >= T + recovery_db
 *
 * "Said" is a loss that was reported. A return to "quiet" needs its condition to hold
 * for CLEAR_MS while frames arrive. "Another time" is a correction, which is reported if the
 * time or its spread differs by more than SAME_MS and an eighth of the time left, but not within
 * PAUSE_MS of the last report. A report that still holds is renewed after RENEW_MS, because
 * reports expire (by default pamsd's last a minute).
 *
 * A loss whose spread is as large as the horizon isn't reported: its time isn't known
 * well enough to act on.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predict.h"

#define HORIZON_MS	5000
#define RECOVERY_DB	3
#define CLEAR_MS	250
#define SAME_MS		20
#define PAUSE_MS	50
#define RENEW_MS	30000

void warning_init(struct warning *warning)
{
	memset(warning, 0, sizeof(*warning));
	warning->horizon_ms = HORIZON_MS;
	warning->recovery_db = RECOVERY_DB;
}

void warning_forget(struct warning *warning)
{
	warning->said = false;
	warning->lost = false;
	warning->clear = false;
}

static enum warning_act say_loss(struct warning *warning,
				 const struct estimate *estimate, int64_t now_ms)
{
	warning->said = true;
	warning->lost = estimate->lost;
	warning->loss_at_ms = estimate->at_ms;
	warning->spread_ms = estimate->spread_ms;
	warning->said_ms = now_ms;
	warning->clear = false;
	return WARNING_LOSS;
}

void warning_told(const struct warning *warning, struct estimate *estimate)
{
	estimate->at_ms = warning->loss_at_ms;
	estimate->spread_ms = warning->spread_ms;
}

/* Return to "quiet", if no loss has been predicted for CLEAR_MS. */
static enum warning_act take_back(struct warning *warning, int64_t now_ms)
{
	if (!warning->clear || warning->silent) {
		warning->clear = true;
		warning->clear_ms = now_ms;
	}
	if (now_ms - warning->clear_ms < CLEAR_MS)
		return WARNING_NOTHING;
	warning_forget(warning);
	return WARNING_NO_LOSS;
}

/* Does the estimate differ from the last report? A time that is over means "now". */
static bool differs(const struct warning *warning,
		    const struct estimate *estimate, int64_t now_ms)
{
	int64_t left_ms = warning->loss_at_ms - now_ms, same_ms;
	int64_t new_ms = estimate->at_ms - now_ms;

	if (left_ms < 0)
		left_ms = 0;
	if (new_ms < 0)
		new_ms = 0;
	same_ms = SAME_MS + left_ms / 8;
	return llabs(new_ms - left_ms) > same_ms ||
	       llabs((int64_t)estimate->spread_ms - warning->spread_ms) > same_ms;
}

static enum warning_act when_lost(struct warning *warning,
				  const struct estimate *estimate,
				  double above_db, int64_t now_ms)
{
	const struct estimate now = { .known = true, .lost = true, .at_ms = now_ms };

	if (!estimate->lost && !(above_db < warning->recovery_db))
		return take_back(warning, now_ms);
	warning->clear = false;
	if (now_ms - warning->said_ms < RENEW_MS)
		return WARNING_NOTHING;
	/* above T, but not recovered: still lost */
	return say_loss(warning, estimate->lost ? estimate : &now, now_ms);
}

enum warning_act warning_update(struct warning *warning,
				const struct estimate *estimate,
				double above_db, int64_t now_ms)
{
	int64_t left_ms = estimate->at_ms - now_ms;
	uint32_t horizon_ms = warning->horizon_ms;

	if (warning->lost)
		return when_lost(warning, estimate, above_db, now_ms);
	if (!warning->said) {
		if (estimate->known && left_ms <= horizon_ms &&
		    estimate->spread_ms < horizon_ms)
			return say_loss(warning, estimate, now_ms);
		return WARNING_NOTHING;
	}
	if (!estimate->known || left_ms > 2 * (int64_t)horizon_ms)
		return take_back(warning, now_ms);
	warning->clear = false;
	if (estimate->lost)
		return say_loss(warning, estimate, now_ms);
	if (now_ms - warning->said_ms < PAUSE_MS)
		return WARNING_NOTHING;
	if (differs(warning, estimate, now_ms) ||
	    now_ms - warning->said_ms >= RENEW_MS)
		return say_loss(warning, estimate, now_ms);
	return WARNING_NOTHING;
}
