// SPDX-License-Identifier: GPL-2.0
/*
 * up_listen - services whose listening sockets are to be made anew
 *
 * A socket keeps the scheduler that was chosen when it was made, and the connections that a
 * listening one accepts have it, too. The module tells which it is. Where it doesn't (an older
 * one, or none yet) sockets of a process that is older than the choice count as made before.
 * Loopback counts for nothing.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <netlink/errno.h>

#include "pamsctl.h"
#include "up.h"

struct looking {
	const struct up *up;
	json_t *list;		/* objects: name, restart, unit, mptcp, ports */
	double since;		/* s since the boot; below 0: not known */
	char chosen[SCHEDULERS_MAX];	/* in a dry run: what would be */
};

static bool is_loopback(const struct listener *one)
{
	struct in6_addr address;

	memcpy(&address, one->address, sizeof(address));
	if (one->family == AF_INET)
		return one->address[0] == 127;
	return IN6_IS_ADDR_LOOPBACK(&address) ||
	       (IN6_IS_ADDR_V4MAPPED(&address) && one->address[12] == 127);
}

/* When the process began, in seconds since the boot; 0 if that isn't known. */
static double begin_of(int pid)
{
	char file[64], line[1024] = "";
	unsigned long long ticks = 0;
	char *at;
	FILE *f;

	snprintf(file, sizeof(file), "/proc/%d/stat", pid);
	f = fopen(file, "r");
	if (!f)
		return 0;
	if (!fgets(line, sizeof(line), f))
		line[0] = 0;
	fclose(f);
	/* field 22, counted from behind the name, which may have blanks and brackets in it */
	at = strrchr(line, ')');
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	if (at)
		ticks = strtoull(at, NULL, 10);
	return (double)ticks / sysconf(_SC_CLK_TCK);
}

static bool is_service(const char *unit)
{
	const char *suffix = strrchr(unit, '.');

	return suffix && !strcmp(suffix, ".service");
}

/*
 * Are all folders on the way to it slices? Users and containers have services of their own, within
 * a service or scope.
 */
static bool is_in_slices(const char *way, const char *end)
{
	static const char slice[] = ".slice";

	while (way < end) {
		size_t length = strcspn(way, "/");

		if (length < strlen(slice) ||
		    strncmp(way + length - strlen(slice), slice, strlen(slice)))
			return false;
		way += length + 1;
	}
	return true;
}

/* The unit of systemd's, or the service of procd's, to which the process belongs; "" if none. */
static void unit_of(int pid, char *unit, size_t room)
{
	static const char procd[] = "0::/services/";
	char file[64], line[PATH_MAX];
	const char *last;
	FILE *f;

	unit[0] = 0;
	snprintf(file, sizeof(file), "/proc/%d/cgroup", pid);
	f = fopen(file, "r");
	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		last = strrchr(line, '/');
		if (!strncmp(line, procd, strlen(procd)))
			snprintf(unit, room, "%.*s", (int)strcspn(line + strlen(procd), "/"),
				 line + strlen(procd));
		else if (last && is_service(last) && is_in_slices(strchr(line, '/') + 1, last))
			snprintf(unit, room, "%s", last + 1);
	}
	if (f)
		fclose(f);
}

/* The last unit of what systemctl shows of "*.socket" that listens on the port; "" if none. */
static void socket_unit(uint16_t port, char *unit, size_t room)
{
	const char * const words[] = { "systemctl", "show", "--property", "Id,Listen", "*.socket",
				       NULL };
	static char shown[65536];
	char id[128] = "", end[32];
	bool listens = false;
	char *line, *left;

	unit[0] = 0;
	if (program_run(words, false, shown, sizeof(shown)))
		return;
	snprintf(end, sizeof(end), ":%u (Stream)", port);
	/* a unit's properties in any order, then an empty line */
	for (line = shown; line && *line; line = left) {
		left = strchr(line, '\n');
		if (left)
			*left++ = 0;
		if (!strncmp(line, "Id=", 3))
			snprintf(id, sizeof(id), "%s", line + 3);
		else if (!strncmp(line, "Listen=", 7) && strstr(line, end))
			listens = true;
		if (*line && left && *left)
			continue;
		if (listens && *id)
			snprintf(unit, room, "%s", id);
		listens = false;
		id[0] = 0;
	}
}

static json_t *find(json_t *list, const char *name, bool mptcp)
{
	json_t *one;
	size_t i;

	json_array_foreach(list, i, one)
		if (!strcmp(up_string(one, "name"), name) && up_flag(one, "mptcp") == mptcp)
			return one;
	return NULL;
}

/* Does it have the chosen scheduler, as far as is known? */
static bool has_scheduler(const struct looking *looking, const struct listener *listener)
{
	if (listener->scheduler[0] && looking->chosen[0])
		return !strcmp(listener->scheduler, looking->chosen);
	/* a second for what began while the scheduler was chosen */
	return looking->since < 0 || begin_of(listener->pid) > looking->since + 1;
}

static void add(const struct listener *listener, void *arg)
{
	struct looking *looking = arg;
	json_t *one, *ports, *port;
	char unit[256], name[300];
	size_t i;

	if (is_loopback(listener))
		return;
	if (listener->mptcp && has_scheduler(looking, listener))
		return;
	if (listener->pid == 1 && looking->up->systemd)
		socket_unit(listener->port, unit, sizeof(unit));
	else
		unit_of(listener->pid, unit, sizeof(unit));
	snprintf(name, sizeof(name), "%s", unit);
	if (!*unit)
		snprintf(name, sizeof(name), "%s[%d]", listener->name, listener->pid);
	one = find(looking->list, name, listener->mptcp);
	if (!one) {
		one = json_pack("{s:s, s:s, s:b, s:[]}", "name", name, "unit", unit, "mptcp",
				listener->mptcp, "ports");
		json_array_append_new(looking->list, one);
	}
	ports = json_object_get(one, "ports");
	json_array_foreach(ports, i, port)
		if (json_integer_value(port) == listener->port)
			return;
	json_array_append_new(ports, json_integer(listener->port));
}

json_t *listen_services(struct up *up, bool restart, int *status)
{
	static const char unlisted[] = "the sockets that listen can't be listed (%s): "
				       "modprobe -a mptcp_diag tcp_diag";
	struct looking looking = { .up = up, .list = json_array(), .since = scheduler_time(up) };
	int err;

	scheduler_chosen(looking.chosen, sizeof(looking.chosen));
	if (up->dry_run && !is_ours(looking.chosen))
		snprintf(looking.chosen, sizeof(looking.chosen), UP_SCHEDULER);
	err = each_listener(add, &looking);
	if (!err)
		return looking.list;
	json_decref(looking.list);
	if (restart)
		*status = up_stays(up, unlisted, nl_geterror(err));
	else
		up_note(up, unlisted, nl_geterror(err));
	return NULL;
}

static bool tell(const char *command, const char *unit, const char *other, char *said, size_t room)
{
	const char * const words[] = { "systemctl", command, "--", unit, other, NULL };

	return !program_run(words, true, said, room);
}

/* systemd refuses to open a socket anew while its service runs: both stop, then both start. */
static bool restart_socket(const char *unit, char *said, size_t room)
{
	char service[256] = "", state[64] = "";
	const char *other = NULL;

	unit_property(unit, "Triggers", service, sizeof(service));
	if (*service && !strchr(service, ' ') &&
	    unit_property(service, "ActiveState", state, sizeof(state)) &&
	    !strcmp(state, "active"))
		other = service;
	return tell("stop", unit, other, said, room) && tell("start", unit, other, said, room);
}

static bool restart(const struct up *up, const char *unit, char *said, size_t room)
{
	const char *end = strrchr(unit, '.');
	char file[300];
	const char * const script[] = { file, "restart", NULL };

	snprintf(file, sizeof(file), "/etc/init.d/%s", unit);
	if (up->procd)
		return !program_run(script, true, said, room);
	if (end && !strcmp(end, ".socket"))
		return restart_socket(unit, said, room);
	return tell("restart", unit, NULL, said, room);
}

int listen_restart(struct up *up, json_t *services)
{
	int status = DONE;
	char said[256];
	json_t *one;
	size_t i;

	json_array_foreach(services, i, one) {
		const char *unit = up_string(one, "unit");

		if (!up_flag(one, "mptcp") || !*unit)
			continue;
		if (up->dry_run || restart(up, unit, said, sizeof(said))) {
			up_say(up, "restart", "restarted", "%s", unit);
			json_object_set_new(one, "restarted", json_boolean(!up->dry_run));
			continue;
		}
		said[strcspn(said, "\n")] = 0;
		status = FAILED;
		up_stays(up, "%s can't be restarted: %s", unit, said);
	}
	return status;
}

static void show_ports(json_t *ports, char *text, size_t room)
{
	size_t at, i;
	json_t *port;

	at = snprintf(text, room, "port%s", json_array_size(ports) > 1 ? "s" : "");
	json_array_foreach(ports, i, port)
		if (at < room)
			at += snprintf(text + at, room - at, " %d", (int)json_integer_value(port));
}

void listen_print(struct up *up, json_t *services, bool restart)
{
	char ports[256];
	json_t *one;
	size_t i;

	json_array_foreach(services, i, one) {
		const char *name = up_string(one, "name"), *unit = up_string(one, "unit");

		show_ports(json_object_get(one, "ports"), ports, sizeof(ports));
		if (!up_flag(one, "mptcp") && is_service(unit))
			/* a cgroup's enabling ends with the restart that a listener needs */
			up_note(up, "%s, %s, listens without MPTCP: mptcpize enable %s, and "
				"restart it", name, ports, unit);
		else if (!up_flag(one, "mptcp"))
			up_note(up, "%s, %s, listens without MPTCP: see pamsctl mptcp enable",
				name, ports);
		else if (!*unit || !restart)
			up_note(up, "%s, %s, listens with the scheduler before this one: restart "
				"it%s", name, ports, *unit ? ", or repeat with --restart" : "");
	}
}
