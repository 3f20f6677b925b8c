// SPDX-License-Identifier: GPL-2.0
/*
 * mib - the kernel's counters of MPTCP and of TCP, of this network namespace
 *
 * /proc/net/netstat has two lines per group: the names, then the numbers.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "pamsctl.h"

/* Read the two lines of the group, which the caller frees; false if there are none. */
static bool read_group(const char *group, char **names, char **numbers)
{
	FILE *f = fopen("/proc/net/netstat", "r");
	char *line = NULL;
	size_t room = 0;

	*names = NULL;
	*numbers = NULL;
	while (f && !*numbers && getline(&line, &room, f) > 0) {
		if (strncmp(line, group, strlen(group)))
			continue;
		if (!*names)
			*names = strdup(line);
		else
			*numbers = strdup(line);
	}
	free(line);
	if (f)
		fclose(f);
	if (*numbers)
		return true;
	free(*names);
	return false;
}

static uint64_t counter(const char *group, const char *name)
{
	char *names, *numbers, *n, *v, *save_n, *save_v;
	uint64_t value = 0;

	if (!read_group(group, &names, &numbers))
		return 0;
	n = strtok_r(names, "\n ", &save_n);
	v = strtok_r(numbers, "\n ", &save_v);
	while (n && v && strcmp(n, name)) {
		n = strtok_r(NULL, "\n ", &save_n);
		v = strtok_r(NULL, "\n ", &save_v);
	}
	if (n && v)
		value = strtoull(v, NULL, 10);
	free(names);
	free(numbers);
	return value;
}

uint64_t mib_counter(const char *name)
{
	return counter("MPTcpExt: ", name);
}

uint64_t mib_tcp_counter(const char *name)
{
	return counter("TcpExt: ", name);
}

/* Counters that show a problem when they aren't 0, and the problem. */
static const struct {
	const char *name;
	const char *text;
} troubles[] = {
	{ "MPCapableFallbackSYNACK",
	  "connections from here fell back: the SYN/ACK came without MPTCP" },
	{ "MPCapableFallbackACK",
	  "connections to here fell back: the client's third packet came "
	  "without MPTCP" },
	{ "MPCapableDataFallback",
	  "connections fell back: the first data came without MPTCP" },
	{ "MPCapableSYNTXDrop",
	  "first packets with MPTCP were never answered, those without were: "
	  "something drops them" },
	{ "MPCapableSYNTXDisabled",
	  "connections didn't try MPTCP, as such packets were dropped before" },
	{ "Blackhole", "times that MPTCP was given up for a while, its packets "
		       "were dropped" },
	{ "DSSCorruptionFallback",
	  "connections fell back: a middlebox changes the data" },
	{ "DSSCorruptionReset",
	  "subflows were reset: a middlebox changes the data" },
	{ "InfiniteMapRx", "connections whose peer fell back" },
	{ "MPJoinNoTokenFound",
	  "joins came for connections that aren't here: several servers behind "
	  "one address?" },
	{ "MPJoinAckHMacFailure", "joins had a wrong signature" },
	{ "MPJoinSynTxBindErr",
	  "joins from here failed to bind: an endpoint's address isn't on this "
	  "machine" },
	{ "MPJoinSynTxConnectErr",
	  "joins from here failed to connect: is there a route from the "
	  "endpoint's address?" },
	{ "RcvPruned", "packets were dropped for want of receive buffer" },
};

void look_at_counters(json_t *list)
{
	size_t i;

	finding(list, FINE, "counters", NULL,
		"MPTCP connections: %" PRIu64 " tried from here, %" PRIu64
		" answered with MPTCP; %" PRIu64 " tried to here, %" PRIu64
		" made; joins made: %" PRIu64 " from here, %" PRIu64
		" to here",
		mib_counter("MPCapableSYNTX"), mib_counter("MPCapableSYNACKRX"),
		mib_counter("MPCapableSYNRX"), mib_counter("MPCapableACKRX"),
		mib_counter("MPJoinSynAckRx"), mib_counter("MPJoinAckRx"));
	for (i = 0; i < sizeof(troubles) / sizeof(troubles[0]); i++) {
		uint64_t count = mib_counter(troubles[i].name);

		if (count)
			finding(list, NOTE, "counters", NULL,
				"MPTcpExt%s %" PRIu64 ": %s", troubles[i].name,
				count, troubles[i].text);
	}
}
