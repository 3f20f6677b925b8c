// SPDX-License-Identifier: GPL-2.0
/*
 * base - the event loop of a daemon whose timers are short
 *
 * libevent's default clock is coarse: it moves by a tick of up to 10 ms, so a timer of
 * 4 ms fires twice at once or not at all.
 *
 * Users of this file have to link with libevent_core; the rest of libtools.a doesn't need
 * it.
 */
#include <event2/event.h>

#include "base.h"

struct event_base *base_new(void)
{
	struct event_config *config = event_config_new();
	struct event_base *base = NULL;

	if (config &&
	    !event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER))
		base = event_base_new_with_config(config);
	if (config)
		event_config_free(config);
	return base;
}
