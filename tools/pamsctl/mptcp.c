// SPDX-License-Identifier: GPL-2.0
/*
 * mptcp - MPTCP for programs that don't ask for it, per systemd unit or cgroup
 *
 * The enabled cgroups are in a table in the kernel (hook.c), in no file. The number of a
 * cgroup that no longer exists stays there until the next enable or disable removes it.
 */
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hook.h"
#include "pamsctl.h"
#include "pins.h"
#include "sockdiag.h"

/* An enabled cgroup that exists, and its path. */
struct enabled {
	struct hook_cgroup cgroup;
	char path[PATH_MAX];
};

static int refuse_hook(int err)
{
	if (err == -E2BIG)
		return refuse(FAILED, "%d cgroups are enabled already",
			      HOOK_CGROUPS_MAX);
	return pins_refuse(err, "CAP_BPF and CAP_PERFMON");
}

/* Is it a cgroup's path rather than the name of a unit? */
static bool is_path(const char *name)
{
	return name[0] == '/';
}

/* Find a word that ends so, as "nginx.socket" ends in ".socket"; "" if there is none. */
static void find_word(char *words, const char *end, char *found, size_t room)
{
	char *word, *left;

	found[0] = 0;
	for (word = strtok_r(words, " ", &left); word;
	     word = strtok_r(NULL, " ", &left))
		if (strlen(word) > strlen(end) &&
		    !strcmp(word + strlen(word) - strlen(end), end))
			snprintf(found, room, "%s", word);
}

/*
 * Without the hook, name another way to MPTCP: systemd's SocketProtocol= where systemd opens
 * the sockets, else mptcpize, which preloads a library.
 */
static int refuse_missing(const char *why, const char *name)
{
	char words[512], found[512] = "";

	if (is_path(name))
		return refuse(FAILED, "%s; instead: mptcpize run PROGRAM", why);
	if (unit_property(name, "TriggeredBy", words, sizeof(words)))
		find_word(words, ".socket", found, sizeof(found));
	if (found[0])
		return refuse(FAILED, "%s; instead: SocketProtocol=mptcp in %s "
			      "(systemd 257 or newer)", why, found);
	return refuse(FAILED, "%s; instead: mptcpize enable %s", why, name);
}

/* Without MPTCP in this kernel, the hook would keep programs from opening TCP sockets. */
static int check_sockets(void)
{
	if (!sockdiag_opens(AF_INET, IPPROTO_MPTCP))
		return refuse(FAILED, "this kernel opens no MPTCP sockets: see "
			      "pamsctl doctor");
	if (sockdiag_lacks_ipv6())
		return refuse(FAILED, "MPTCP has no IPv6 in this kernel: "
			      "programs could open no IPv6 sockets");
	return DONE;
}

static int find(const char *name, uint64_t *id)
{
	char path[PATH_MAX];
	int err;

	if (!is_path(name)) {
		if (!unit_property(name, "ControlGroup", path, sizeof(path)))
			return refuse(FAILED, "no systemd answers here: give "
				      "the cgroup's path, as in "
				      "/proc/PID/cgroup");
		if (!path[0])
			return refuse(FAILED, "the unit %s has no cgroup: it "
				      "doesn't run", name);
		name = path;
	}
	err = cgroup_find(name, id);
	if (err == -EOPNOTSUPP)
		return refuse(FAILED, "cgroup v2 isn't mounted here");
	if (err == -ENOENT || err == -ENOTDIR)
		return refuse(FAILED, "there is no cgroup %s", name);
	if (err == -EACCES)
		return refuse(NOT_PERMITTED, "the cgroup %s: %s: run it as root",
			      name, strerror(-err));
	if (err)
		return refuse(FAILED, "the cgroup %s: %s", name, strerror(-err));
	return DONE;
}

/*
 * List the enabled cgroups that exist; their number, or -errno. With sweep, also disable the
 * ones that no longer exist.
 */
static int read_enabled(struct enabled enabled[HOOK_CGROUPS_MAX], bool sweep)
{
	struct hook_cgroup all[HOOK_CGROUPS_MAX];
	int count = hook_read(all), kept = 0;

	for (int i = 0; i < count; i++) {
		struct enabled *one = &enabled[kept];
		int err = cgroup_path(all[i].id, one->path);

		if (err == -ESTALE) {
			if (sweep)
				hook_remove(all[i].id);
			continue;
		}
		if (err)
			snprintf(one->path, PATH_MAX, "? (%s)", strerror(-err));
		one->cgroup = all[i];
		kept++;
	}
	return count < 0 ? count : kept;
}

/* --- the commands --- */

static int show(void)
{
	struct enabled enabled[HOOK_CGROUPS_MAX];
	int count = read_enabled(enabled, false);
	struct table *table;
	json_t *list;

	if (count < 0)
		return refuse_hook(count);
	if (options.json) {
		list = json_array();
		for (int i = 0; i < count; i++)
			append(list, json_pack("{s:s, s:I}", "cgroup",
					       enabled[i].path, "sockets",
					       (json_int_t)
					       enabled[i].cgroup.sockets));
		return print_json(list);
	}
	if (!count) {
		puts("no cgroup is enabled: programs get MPTCP if they ask for "
		     "it");
		return DONE;
	}
	table = table_new("CGROUP SOCKETS>");
	for (int i = 0; i < count; i++) {
		table_row(table);
		table_cell(table, enabled[i].path);
		table_number(table, enabled[i].cgroup.sockets);
	}
	table_print(table, 0, terminal_width(), line_to_stdout, NULL);
	return DONE;
}

/* A unit gets a new cgroup at each start: say how to enable each of them. */
static void say_how_to_keep(void)
{
	char self[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[length > 0 ? length : 0] = 0;
	printf("until the unit stops; for each start of it: ExecStartPre=-+%s "
	       "mptcp enable %%n\n", self);
}

static int enable(const char *name)
{
	struct enabled enabled[HOOK_CGROUPS_MAX];
	const char *why = hook_missing();
	uint64_t id;
	int err;

	if (why)
		return refuse_missing(why, name);
	err = check_sockets() ?: find(name, &id);
	if (err)
		return err;
	read_enabled(enabled, true);
	err = hook_add(id);
	if (err)
		return refuse_hook(err);
	if (options.json)
		return print_json(json_pack("{s:s}", "enabled", name));
	printf("%s: its TCP sockets made from now on are MPTCP's\n", name);
	if (!is_path(name))
		say_how_to_keep();
	return DONE;
}

/* Is this the cgroup of that unit? It has the unit's name; without a suffix a service's. */
static bool is_unit(const char *path, const char *name)
{
	const char *last = strrchr(path, '/');
	size_t length = strlen(name);

	return last && !strncmp(last + 1, name, length) &&
	       (!last[1 + length] || !strcmp(last + 1 + length, ".service"));
}

static int disable(const char *name)
{
	struct enabled enabled[HOOK_CGROUPS_MAX];
	int count = read_enabled(enabled, true), removed = 0, err;
	bool all = !strcmp(name, "all");
	uint64_t id = 0;

	if (count < 0)
		return refuse_hook(count);
	if (is_path(name)) {
		err = find(name, &id);
		if (err)
			return err;
	}
	for (int i = 0; i < count; i++) {
		if (!all && id != enabled[i].cgroup.id &&
		    (is_path(name) || !is_unit(enabled[i].path, name)))
			continue;
		err = hook_remove(enabled[i].cgroup.id);
		if (err)
			return refuse_hook(err);
		removed++;
	}
	if (!removed && !all)
		return refuse(FAILED, "%s isn't enabled: see pamsctl mptcp show",
			      name);
	if (options.json)
		return print_json(json_object());
	return DONE;
}

int mptcp_command(struct words *words)
{
	static const char * const names[] = { "show", "enable", "disable",
					      NULL };
	int which = choose(words, "mptcp", names, 0);
	const char *name;

	if (which < 0)
		return USAGE;
	if (!which)
		return no_more_words(words) ? USAGE : show();
	name = next_word(words);
	if (!name || !name[0])
		return refuse(USAGE, "mptcp %s: which unit or cgroup?",
			      names[which]);
	if (no_more_words(words))
		return USAGE;
	return which == 1 ? enable(name) : disable(name);
}

void look_at_hook(json_t *list)
{
	struct enabled enabled[HOOK_CGROUPS_MAX];
	int count = read_enabled(enabled, false);
	uint64_t sockets = 0;

	for (int i = 0; i < count; i++)
		sockets += enabled[i].cgroup.sockets;
	if (count > 0)
		finding(list, FINE, "programs", NULL,
			"those of %d cgroups get MPTCP unasked, %" PRIu64
			" sockets so far: see pamsctl mptcp show", count,
			sockets);
}
