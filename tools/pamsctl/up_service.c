// SPDX-License-Identifier: GPL-2.0
/* up_service - pamsd as a service of systemd or of OpenWrt's procd */
#include <string.h>
#include <unistd.h>

#include "pamsctl.h"
#include "up.h"

#define INIT_SCRIPT	"/etc/init.d/pamsd"
/* pamsd's, of what it has made */
#define PATHS_FILE	"/var/lib/pamsd/paths.json"

void service_manager(struct up *up)
{
	up->procd = procd_is_here();
	up->systemd = !up->procd && !access("/run/systemd/system", F_OK);
}

/* --- systemd and procd alike --- */

static int ask_script(const char *command, char *said, size_t room)
{
	const char * const words[] = { INIT_SCRIPT, command, NULL };
	int status = program_run(words, true, said, room);

	said[strcspn(said, "\n")] = 0;
	return status;
}

static int ask(const struct up *up, const char *command, char *said, size_t room)
{
	return up->procd ? ask_script(command, said, room) :
			   unit_tell(command, "pamsd", said, room);
}

static bool is_enabled(const struct up *up)
{
	char said[256];

	if (up->procd)
		return !ask_script("enabled", said, sizeof(said));
	return unit_is("pamsd.service", "UnitFileState", "enabled");
}

static bool is_active(const struct up *up)
{
	char value[64] = "", said[256];

	if (up->procd)
		return !ask_script("running", said, sizeof(said));
	return unit_property("pamsd.service", "ActiveState", value, sizeof(value)) &&
	       (!strcmp(value, "active") || !strcmp(value, "reloading") ||
		!strcmp(value, "activating"));
}

/* DONE, or up_fail(): there is no such service. */
static int check_service(struct up *up)
{
	char state[64] = "";

	if (up->procd) {
		if (!access(INIT_SCRIPT, X_OK))
			return DONE;
		return up_fail(up, FAILED, "there is no %s: install the package pamsd",
			       INIT_SCRIPT);
	}
	if (!unit_property("pamsd.service", "LoadState", state, sizeof(state)))
		return up_fail(up, FAILED, "systemd doesn't answer systemctl show pamsd");
	if (!strcmp(state, "masked"))
		return up_fail(up, FAILED, "pamsd is masked: systemctl unmask pamsd");
	if (strcmp(state, "loaded"))
		return up_fail(up, FAILED, "systemd has no unit pamsd: install the package "
			       "mptcp-pams-tools, or make install-tools");
	return DONE;
}

json_t *service_plan(struct up *up, bool changed)
{
	bool enabled, active;

	if (!up->procd && !up->systemd) {
		up_note(up, "there is neither systemd nor procd: start pamsd yourself, now and at "
			"each boot: pamsd &");
		return NULL;
	}
	if (check_service(up))
		return NULL;
	enabled = is_enabled(up);
	active = is_active(up);
	/* one that was killed may have changed the configuration, but not told pamsd */
	changed |= !up->complete && up_step_of(up, "service", "");
	if (enabled && active && !changed)
		return NULL;
	return json_pack("{s:s, s:b, s:b}", "what", "service", "enabled", enabled,
			 "active", active);
}

static int tell(struct up *up, const char *command)
{
	char said[256];
	int status = ask(up, command, said, sizeof(said));

	if (!status)
		return DONE;
	return up_fail(up, FAILED, "pamsd can't be %s: %s: %s",
		       !strcmp(command, "enable") ? "enabled" : "started",
		       *said ? said : "no reason is given",
		       up->procd ? "logread -e pamsd" : "journalctl -u pamsd");
}

int service_carry_out(struct up *up, json_t *step)
{
	bool enabled = is_enabled(up), active = is_active(up);

	(void)step;
	if (!up->dry_run) {
		if (!enabled && tell(up, "enable"))
			return FAILED;
		/*
		 * Not reload: a pamsd without CAP_NET_ADMIN can't keep paths, and one that isn't
		 * root's may have a copy of the file from its start.
		 */
		if (tell(up, "restart"))
			return FAILED;
		if (!is_active(up))
			return up_fail(up, FAILED, "pamsd doesn't run: %s", up->procd ?
				       "logread -e pamsd" : "journalctl -u pamsd");
	}
	if (!enabled)
		up_say(up, "enable", "enabled", "pamsd at each boot");
	up_say(up, active ? "restart" : "start", active ? "restarted" : "started", "pamsd");
	return DONE;
}

static int undo_one(struct up *up, const char *command, const char *would, const char *did,
		    const char *what)
{
	char said[256] = "";
	int status = up->dry_run ? 0 : ask(up, command, said, sizeof(said));

	if (status)
		return up_stays(up, "%s pamsd fails: %s", command, said);
	up_say(up, would, did, "%s", what);
	return DONE;
}

/* What pamsd left to connections that were open when it ended. */
static int clean(struct up *up)
{
	const char * const words[] = { "pamsd", "--clean", NULL };
	char said[256] = "";
	int status;

	if (up->dry_run || access(PATHS_FILE, F_OK))
		return DONE;
	status = program_run(words, true, said, sizeof(said));
	if (!status)
		return DONE;
	return up_stays(up, "pamsd --clean fails: %s", status < 0 ? strerror(-status) : said);
}

int service_undo(struct up *up, json_t *step)
{
	/* this down repeats one with which pamsd didn't start, and which had cut the file */
	bool again = up_flag(step, "conf_is_users"), active = is_active(up);
	int status = DONE;

	if (up->conf_is_users || again) {
		up_note(up, "left pamsd: there is more in %s than up had added", CONF_FILE);
		if (active || again)
			status = undo_one(up, "restart", "restart", "restarted", "pamsd");
		if (status)
			json_object_set_new(step, "conf_is_users", json_true());
		return status;
	}
	if (!up_flag(step, "enabled") && is_enabled(up))
		status = undo_one(up, "disable", "disable", "disabled", "pamsd at boot");
	if (!status && active && up_flag(step, "active"))
		return undo_one(up, "restart", "restart", "restarted", "pamsd");
	if (!status && active)
		status = undo_one(up, "stop", "stop", "stopped", "pamsd");
	return status ?: clean(up);
}

/* --- OpenWrt's configuration --- */

static int uci(const char *command, const char *what, char *said, size_t room)
{
	const char * const words[] = { "uci", "-q", command, what, NULL };
	int status = program_run(words, false, said, room);

	said[strcspn(said, "\n")] = 0;
	return status;
}

static void uci_get(const char *what, char value[64])
{
	if (uci("get", what, value, 64))
		value[0] = 0;
}

/* As config_get_bool in the init script has it, with 0 for what it doesn't know. */
static bool is_true(const char *value)
{
	static const char * const names[] = { "1", "on", "true", "yes", "enabled" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(value, names[i]))
			return true;
	return false;
}

bool uci_is_used(const struct up *up)
{
	char own_file[64];

	if (!up->procd)
		return false;
	uci_get("pamsd.global.own_file", own_file);
	return !is_true(own_file);
}

json_t *uci_plan(struct up *up)
{
	char enabled[64], paths[64] = "in pamsd.conf", global[64];

	if (access("/etc/config/pamsd", F_OK)) {
		up_fail(up, FAILED, "there is no /etc/config/pamsd: install the package pamsd");
		return NULL;
	}
	uci_get("pamsd.global", global);
	uci_get("pamsd.global.enabled", enabled);
	if (uci_is_used(up))
		uci_get("pamsd.paths", paths);
	if (is_true(enabled) && *paths)
		return NULL;
	return json_pack("{s:s, s:b, s:s, s:b}", "what", "uci", "global", *global != 0,
			 "enabled", enabled, "paths", *paths != 0);
}

static int uci_set(const char *command, const char *what)
{
	char said[64];

	return uci(command, what, said, sizeof(said));
}

int uci_carry_out(struct up *up, json_t *step)
{
	int err = 0;

	if (!up->dry_run) {
		if (!up_flag(step, "global"))
			err = uci_set("set", "pamsd.global=pamsd");
		err = err ?: uci_set("set", "pamsd.global.enabled=1");
		if (!up_flag(step, "paths"))
			err = err ?: uci_set("set", "pamsd.paths=paths");
		err = err ?: uci_set("commit", "pamsd");
	}
	if (err)
		return up_fail(up, FAILED, "uci can't set pamsd.global.enabled and pamsd.paths");
	up_say(up, "set", "set", "pamsd.global.enabled%s in /etc/config/pamsd",
	       up_flag(step, "paths") ? "" : " and pamsd.paths");
	return DONE;
}

/* Has the section pamsd.global more than the option "enabled"? */
static bool global_has_more(void)
{
	static const char option[] = "pamsd.global.";
	const char * const words[] = { "uci", "-q", "show", "pamsd.global", NULL };
	char shown[4096], *line = shown;
	bool more = false;

	if (program_run(words, false, shown, sizeof(shown)))
		return false;
	for (; *line; line += strcspn(line, "\n"), line += *line == '\n')
		more |= !strncmp(line, option, strlen(option)) &&
			strncmp(line + strlen(option), "enabled=", 8);
	return more;
}

int uci_undo(struct up *up, json_t *step)
{
	const char *enabled = up_string(step, "enabled");
	char paths[64], now[64], set[128];
	int err = 0;

	uci_get("pamsd.paths", paths);
	uci_get("pamsd.global.enabled", now);
	if (!strcmp(now, enabled) && (up_flag(step, "paths") || !*paths))
		return DONE;
	if (!up->dry_run) {
		if (!up_flag(step, "paths") && *paths)
			err = uci_set("delete", "pamsd.paths");
		snprintf(set, sizeof(set), "pamsd.global.enabled=%s", enabled);
		if (!up_flag(step, "global") && !global_has_more())
			err = err ?: uci_set("delete", "pamsd.global");
		else
			err = err ?: uci_set(*enabled ? "set" : "delete",
					     *enabled ? set : "pamsd.global.enabled");
		err = err ?: uci_set("commit", "pamsd");
	}
	if (err)
		return up_stays(up, "uci can't set pamsd.global.enabled and pamsd.paths");
	up_say(up, "set", "set", "/etc/config/pamsd as it was");
	return DONE;
}
