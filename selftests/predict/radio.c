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

static bool counts(unsigned int mask, unsigned int set, uint64_t frames)
{
	const struct nl80211_sta_flag_update flags = { mask, set };
	struct nl_msg *msg = nlmsg_alloc();
	struct nlattr *attr;
	bool found;

	nla_put(msg, NL80211_STA_INFO_STA_FLAGS, sizeof(flags), &flags);
	attr = nlmsg_data(nlmsg_hdr(msg));
	found = is_access_point(attr, frames);
	nlmsg_free(msg);
	return found;
}

/* One with which nothing goes yet, as when roaming, is none; nor is the peer of a direct link. */
static void who_is_an_access_point(void)
{
	const unsigned int joined = 1 << NL80211_STA_FLAG_ASSOCIATED;
	const unsigned int direct = 1 << NL80211_STA_FLAG_TDLS_PEER;

	check(is_access_point(NULL, 0));
	check(counts(0, 0, 0));
	check(counts(joined, joined, 0));
	check(!counts(joined, 0, 0));
	check(counts(joined, 0, 1));
	check(!counts(joined | direct, joined | direct, 1));
}

int main(void)
{
	run(a_family_that_is_gone);
	run(an_interface_that_is_gone);
	run(who_is_an_access_point);
	return tap_end();
}
