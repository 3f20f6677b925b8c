// SPDX-License-Identifier: GPL-2.0
/*
 * radio - pams-predict's questions to nl80211 where that isn't any more, in a kernel
 * without any radio
 */
#include "../../tools/pams-predict/station.c"
#include "tap.h"

#define NO_FAMILY	0xfffe

static void a_family_that_is_gone(void)
{
	struct radio radio = { .interface = "lo", .family = NO_FAMILY };
	struct station station;
	char ssid[SSID_BYTES];

	check(radio_look(&radio, &station) == -ENOENT);
	check(radio_ssid(&radio, ssid) == -ENOENT);
	nl_socket_free(radio.questions);
}

/* It may come back, and nothing has to be started anew. */
static void an_interface_that_is_gone(void)
{
	struct radio radio = { .interface = "none", .family = NO_FAMILY };
	struct station station;

	check(radio_look(&radio, &station) == -ENODEV);
	nl_socket_free(radio.questions);
}

int main(void)
{
	run(a_family_that_is_gone);
	run(an_interface_that_is_gone);
	return tap_end();
}
