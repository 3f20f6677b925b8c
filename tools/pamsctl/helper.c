// SPDX-License-Identifier: GPL-2.0
/* helper - what doctor says about pamsplit, if this machine is a helper and runs it */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pamsctl.h"

#define PAMSPLIT_CONTROL	"/run/pamsplit/socket"

/* The number behind " NAME=" in the first line of pamsplit's answer, which has its totals. */
static uint64_t total(const char *totals, const char *name)
{
	const char *at = strstr(totals, name);

	return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

static bool is_on(const char *file)
{
	FILE *f = fopen(file, "r");
	int on = 0;

	if (!f)
		return false;
	if (fscanf(f, "%d", &on) != 1)
		on = 0;
	fclose(f);
	return on;
}

static void look_at_totals(json_t *list, const char *totals)
{
	uint64_t refused = total(totals, " refused=");
	uint64_t dropped = total(totals, " dropped=");
	uint64_t overruns = total(totals, " overruns=");

	finding(list, FINE, "helper", NULL, "pamsplit runs: %" PRIu64
		" flows go through it, %" PRIu64 " did; what is said of MPTCP and "
		"the module doesn't matter for a helper",
		total(totals, " flows="), total(totals, " split="));
	if (!is_on("/proc/sys/net/ipv4/ip_forward") &&
	    !is_on("/proc/sys/net/ipv6/conf/all/forwarding"))
		finding(list, BAD, "helper", "sysctl -w net.ipv4.ip_forward=1",
			"this machine forwards nothing");
	if (!total(totals, " split="))
		finding(list, NOTE, "helper", "on the client: ip mptcp endpoint "
			"add ADDRESS dev DEVICE subflow, with a route through "
			"this machine",
			"no flow came that joins an MPTCP connection");
	if (refused)
		finding(list, NOTE, "helper", "pamsplit(8): --flows, and SACK, "
			"time stamps and window scaling at both ends",
			"%" PRIu64 " flows weren't split", refused);
	if (dropped || overruns)
		finding(list, NOTE, "helper",
			"pamsplit(8): --memory, --client-memory, --flow-memory",
			"%" PRIu64 " packets found no memory, and %" PRIu64
			" no room in the queue", dropped, overruns);
}

void look_at_pamsplit(json_t *list)
{
	char *totals = NULL;
	size_t room = 0;
	FILE *stream;
	int fd = unix_connect(PAMSPLIT_CONTROL);

	/* pamsplit isn't in use on this machine */
	if (fd == -ENOENT)
		return;
	if (fd < 0) {
		finding(list, fd == -EACCES ? NOTE : BAD, "helper",
			fd == -EACCES ? "run it as root" :
			"systemctl restart pamsplit",
			fd == -ECONNREFUSED ? "pamsplit has ended without leaving "
			"its flows" : "pamsplit can't be asked: %s",
			strerror(-fd));
		return;
	}
	stream = fdopen(fd, "r");
	if (stream && getline(&totals, &room, stream) > 0)
		look_at_totals(list, totals);
	else
		finding(list, BAD, "helper", "systemctl restart pamsplit",
			"pamsplit doesn't answer");
	free(totals);
	if (stream)
		fclose(stream);
	else
		close(fd);
}
