// SPDX-License-Identifier: GPL-2.0
/* up_unit - systemd's units: one that up has written, and services that read what it has written */
#include <string.h>

#include "pamsctl.h"
#include "up.h"

int unit_tell(const char *command, const char *unit, char *said, size_t room)
{
	const char * const words[] = { "systemctl", command, "--quiet", unit, NULL };
	int status = program_run(words, true, said, room);

	said[strcspn(said, "\n")] = 0;
	return status;
}

bool unit_is(const char *unit, const char *property, const char *value)
{
	char found[64] = "";

	return unit_property(unit, property, found, sizeof(found)) && !strcmp(found, value);
}

static bool is_enabled(const char *unit)
{
	return unit_is(unit, "UnitFileState", "enabled");
}

static bool is_active(const char *unit)
{
	return unit_is(unit, "ActiveState", "active");
}

static int tell(struct up *up, const char *command, const char *unit)
{
	char said[256];
	int status = up->dry_run ? 0 : unit_tell(command, unit, said, sizeof(said));

	if (!status)
		return DONE;
	return up_fail(up, FAILED, "systemctl %s %s fails: %s: journalctl -u %s", command, unit,
		       *said ? said : "no reason is given", unit);
}

static int tell_back(struct up *up, const char *command, const char *unit)
{
	char said[256];
	int status = up->dry_run ? 0 : unit_tell(command, unit, said, sizeof(said));

	return status ? up_stays(up, "systemctl %s %s fails: %s", command, unit, said) : DONE;
}

/* --- one of up's own --- */

json_t *unit_plan(struct up *up, const char *unit, bool changed)
{
	changed |= !up->complete && up_step_of(up, "unit", unit);
	if (!changed && is_enabled(unit) && is_active(unit))
		return NULL;
	return json_pack("{s:s, s:s, s:b, s:b}", "what", "unit", "path", unit,
			 "enabled", is_enabled(unit), "active", is_active(unit));
}

int unit_carry_out(struct up *up, json_t *step)
{
	const char *unit = up_string(step, "path");

	/* enable makes systemd read its file, too */
	if (tell(up, "enable", unit) || tell(up, "restart", unit))
		return FAILED;
	up_say(up, "start", "started", "%s, now and at each boot", unit);
	return DONE;
}

int unit_undo(struct up *up, json_t *step)
{
	const char *unit = up_string(step, "path");
	bool was_active = up_flag(step, "active");
	bool enabled = !up_flag(step, "enabled") && is_enabled(unit);
	bool active = !was_active && is_active(unit);

	if (was_active && tell_back(up, "restart", unit))
		return FAILED;
	if (enabled && tell_back(up, "disable", unit))
		return FAILED;
	if (active && tell_back(up, "stop", unit))
		return FAILED;
	if (enabled || active)
		up_say(up, "stop", "stopped", "%s", unit);
	else if (was_active)
		up_say(up, "restart", "restarted", "%s", unit);
	return DONE;
}

/* --- another's, which reads a file that up writes, and down removes --- */

json_t *reader_plan(struct up *up, const char *unit, const char *command, bool changed)
{
	changed |= !up->complete && up_step_of(up, "reader", unit);
	if (!changed && is_active(unit))
		return NULL;
	return json_pack("{s:s, s:s, s:s, s:b}", "what", "reader", "path", unit,
			 "command", command, "active", is_active(unit));
}

static void say(struct up *up, const char *command, const char *unit)
{
	if (!strcmp(command, "reload"))
		up_say(up, "reload", "reloaded", "%s", unit);
	else if (!strcmp(command, "stop"))
		up_say(up, "stop", "stopped", "%s", unit);
	else
		up_say(up, "restart", "restarted", "%s", unit);
}

int reader_carry_out(struct up *up, json_t *step)
{
	const char *unit = up_string(step, "path"), *command = up_string(step, "command");

	if (tell(up, command, unit))
		return FAILED;
	say(up, command, unit);
	return DONE;
}

int reader_undo(struct up *up, json_t *step)
{
	const char *unit = up_string(step, "path"), *command = up_string(step, "command");

	if (!up_flag(step, "active") && is_active(unit))
		command = "stop";
	else if (!is_active(unit) && !unit_is(unit, "ActiveState", "failed"))
		return DONE;
	if (tell_back(up, command, unit))
		return FAILED;
	say(up, command, unit);
	return DONE;
}
