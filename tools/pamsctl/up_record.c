// SPDX-License-Identifier: GPL-2.0
/*
 * up_record - the record of what "pamsctl up" changes
 *
 * It is written before each change, so that an up that was killed can be completed, and undone
 * by down. Only one up or down runs at a time.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pamsctl.h"
#include "up.h"

#define VERSION	1

/* On OpenWrt /var is gone after a restart. */
static const char *folder_of(const struct up *up)
{
	return up->procd ? "/etc/mptcp-pams" : "/var/lib/mptcp-pams";
}

static const char *record_file(const struct up *up)
{
	return up->procd ? "/etc/mptcp-pams/up.json" : "/var/lib/mptcp-pams/up.json";
}

int up_fail(struct up *up, int status, const char *format, ...)
{
	va_list args;

	if (up->status)
		return status;
	up->status = status;
	va_start(args, format);
	vsnprintf(up->why, sizeof(up->why), format, args);
	va_end(args);
	return status;
}

static void add_line(json_t *list, const char *before, const char *format, va_list args)
{
	char text[1024];

	vsnprintf(text, sizeof(text), format, args);
	json_array_append_new(list, json_sprintf("%s%s", before, text));
}

void up_say(struct up *up, const char *would, const char *did, const char *format, ...)
{
	char before[64];
	va_list args;

	snprintf(before, sizeof(before), "%s%s ", up->dry_run ? "would " : "",
		 up->dry_run ? would : did);
	va_start(args, format);
	add_line(up->lines, before, format, args);
	va_end(args);
}

void up_note(struct up *up, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add_line(up->lines, "", format, args);
	va_end(args);
}

int up_stays(struct up *up, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add_line(up->wrong, "", format, args);
	va_end(args);
	return FAILED;
}

/* --- reading --- */

json_t *up_steps(const struct up *up)
{
	return json_object_get(up->record, "steps");
}

const char *up_string(const json_t *object, const char *name)
{
	return json_string_value(json_object_get(object, name)) ?: "";
}

bool up_flag(const json_t *object, const char *name)
{
	return json_is_true(json_object_get(object, name));
}

bool up_boot(char boot[64])
{
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");
	bool known = f && fgets(boot, 64, f);

	if (f)
		fclose(f);
	boot[known ? strcspn(boot, "\n") : 0] = 0;
	return known;
}

json_t *find_step(const json_t *steps, const char *what, const char *path)
{
	json_t *step;
	size_t i;

	json_array_foreach(steps, i, step)
		if (!strcmp(up_string(step, "what"), what) &&
		    !strcmp(up_string(step, "path"), path))
			return step;
	return NULL;
}

json_t *up_step_of(const struct up *up, const char *what, const char *path)
{
	return find_step(up_steps(up), what, path);
}

static bool is_record(const json_t *record)
{
	json_t *steps = json_object_get(record, "steps"), *step;
	size_t i;

	if (json_integer_value(json_object_get(record, "version")) != VERSION ||
	    !json_is_array(steps))
		return false;
	json_array_foreach(steps, i, step)
		if (!*up_string(step, "what"))
			return false;
	return true;
}

int up_read_record(struct up *up)
{
	const char *file = record_file(up);
	json_error_t error;

	if (access(file, F_OK) && errno == ENOENT) {
		up->record = json_pack("{s:i, s:[]}", "version", VERSION, "steps");
		return up->record ? DONE : up_fail(up, FAILED, "there is no memory");
	}
	if (access(file, R_OK))
		return up_fail(up, NOT_PERMITTED, "%s can't be read: %s: run it as root",
			       file, strerror(errno));
	up->record = json_load_file(file, JSON_REJECT_DUPLICATES, &error);
	if (!is_record(up->record))
		return up_fail(up, FAILED, "%s isn't a record that this pamsctl wrote: move it "
			       "away, and what is in it must be undone by hand", file);
	up->complete = up_flag(up->record, "complete");
	return DONE;
}

/* --- writing --- */

static int refuse_record(struct up *up, int err)
{
	return up_fail(up, err == -EACCES || err == -EPERM ? NOT_PERMITTED : FAILED,
		       "%s can't be written: %s", record_file(up), strerror(-err));
}

int up_lock(struct up *up, bool make)
{
	const char *folder = folder_of(up);
	struct stat held, there;

	if (make && mkdir(folder, 0700) && errno != EEXIST)
		return refuse_record(up, -errno);
	up->locked = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (up->locked < 0)
		return !make && errno == ENOENT ? DONE : refuse_record(up, -errno);
	if (flock(up->locked, LOCK_EX))
		return refuse_record(up, -errno);
	/* a down that was waited for may have removed the folder */
	if (!fstat(up->locked, &held) && !stat(folder, &there) && held.st_ino == there.st_ino)
		return DONE;
	close(up->locked);
	return up_lock(up, make);
}

int up_write_record(struct up *up)
{
	char *text;
	int err;

	if (up->dry_run)
		return DONE;
	text = json_dumps(up->record, JSON_INDENT(2));
	if (!text)
		return up_fail(up, FAILED, "there is no memory");
	/* former contents of files may not be for everybody */
	err = file_put(record_file(up), text, 0600);
	free(text);
	return err ? refuse_record(up, err) : DONE;
}

int up_remove_record(struct up *up)
{
	const char *file = record_file(up);

	if (up->dry_run || up->locked < 0)
		return DONE;
	file_clean(file);
	if (unlink(file) && errno != ENOENT)
		return up_fail(up, FAILED, "%s can't be removed: %s", file, strerror(errno));
	rmdir(folder_of(up));
	return DONE;
}
