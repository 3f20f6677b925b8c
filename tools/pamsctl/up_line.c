// SPDX-License-Identifier: GPL-2.0
/* up_line - a line more in a file of the system's, which may have to be made for it */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pamsctl.h"
#include "up.h"

#define MODE	0644

/* What the file has, to be freed; NULL with *failed if it can't be read. */
static char *text_before(struct up *up, const char *path, bool *failed)
{
	int err;
	char *text = file_text(path, NULL, &err);

	*failed = err;
	if (err)
		up_fail(up, FAILED, "%s can't be read: %s", path,
			err == -EINVAL ? "it is no text file" : strerror(-err));
	return text;
}

/* To write the file; "line": what down takes out of it, if the file has changed by then. */
static json_t *write_step(struct up *up, const char *path, const char *line, const char *before,
			  const char *after)
{
	json_t *step = json_pack("{s:s, s:s, s:s, s:s?, s:s}", "what", "file", "path", path,
				 "line", line, "before", before, "after", after);
	char folder[PATH_MAX];

	if (!step)
		up_fail(up, FAILED, "%s is not in UTF-8", path);
	else if (file_folder(path, folder, sizeof(folder)))
		json_object_set_new(step, "folder", json_string(folder));
	return step;
}

json_t *line_plan(struct up *up, const char *path, const char *line, bool (*has)(const char *text))
{
	json_t *step = NULL;
	char *after = NULL;
	bool failed;
	char *before = text_before(up, path, &failed);

	if (failed)
		return NULL;
	if (before && has(before))
		goto out;
	if (asprintf(&after, "%s%s%s\n", before ?: "",
		     before && *before && before[strlen(before) - 1] != '\n' ? "\n" : "",
		     line) < 0)
		after = NULL;
	step = write_step(up, path, line, before, after);
out:
	free(before);
	free(after);
	return step;
}

int line_carry_out(struct up *up, json_t *step)
{
	const char *path = up_string(step, "path"), *folder = up_string(step, "folder");
	int err = 0;

	if (!up->dry_run) {
		if (*folder && mkdir(folder, 0755) && errno != EEXIST)
			err = -errno;
		if (!err)
			err = file_put(path, up_string(step, "after"), MODE);
	}
	if (err)
		return up_fail(up, err == -EACCES || err == -EPERM ? NOT_PERMITTED : FAILED,
			       "%s can't be written: %s", path, strerror(-err));
	up_say(up, "write", "wrote", "%s", path);
	return DONE;
}

json_t *file_plan(struct up *up, const char *path, const char *text)
{
	json_t *old = up_step_of(up, "file", path), *step = NULL;
	bool failed;
	char *before = text_before(up, path, &failed);

	if (failed)
		return NULL;
	if (before && old && strcmp(before, text) && strcmp(before, up_string(old, "after"))) {
		up_note(up, "left %s: it was changed since", path);
	} else if (!before || strcmp(before, text)) {
		step = write_step(up, path, "", before, text);
		if (step)
			json_object_set_new(step, "whole", json_true());
	}
	free(before);
	return step;
}

static int remove_file(const char *path, const char *folder)
{
	if (unlink(path) && errno != ENOENT)
		return -errno;
	/* a folder that isn't empty is somebody's by now */
	if (*folder)
		rmdir(folder);
	return 0;
}

/* Take the last line that is this one out of the text; false if there is none. */
static bool cut(char *text, const char *line)
{
	size_t length = strlen(line);
	char *found = NULL, *at;

	for (at = text; length && (at = strstr(at, line)); at++)
		if ((at == text || at[-1] == '\n') && (!at[length] || at[length] == '\n'))
			found = at;
	if (!found)
		return false;
	at = found + length + (found[length] == '\n');
	memmove(found, at, strlen(at) + 1);
	return true;
}

/* The file was changed since: up's line goes, if it is there yet, and all others stay. */
static int undo_line(struct up *up, json_t *step, char *now)
{
	const char *path = up_string(step, "path"), *line = up_string(step, "line");
	int err;

	if (!now || !cut(now, line)) {
		up_note(up, "left %s: it was %s since", path, now ? "changed" : "removed");
		return DONE;
	}
	err = up->dry_run ? 0 : file_put(path, now, MODE);
	if (err)
		return up_stays(up, "%s can't be written: %s", path, strerror(-err));
	up_say(up, "take", "took", "'%s' out of %s", line, path);
	return DONE;
}

int line_undo(struct up *up, json_t *step)
{
	const char *path = up_string(step, "path");
	json_t *before = json_object_get(step, "before");
	const char *old = json_string_value(before);
	char *now;
	int err;

	if (!up->dry_run)
		file_clean(path);
	now = file_text(path, NULL, &err);
	if (err)
		return up_stays(up, "%s can't be read: %s", path, strerror(-err));
	/* killed before it was written, or after it was taken back */
	if (!now ? !old : old && !strcmp(now, old)) {
		if (!now && !up->dry_run && *up_string(step, "folder"))
			rmdir(up_string(step, "folder"));
		goto out;
	}
	if (!now || strcmp(now, up_string(step, "after"))) {
		err = undo_line(up, step, now);
		goto out;
	}
	if (!up->dry_run)
		err = old ? file_put(path, old, MODE) :
			    remove_file(path, up_string(step, "folder"));
	if (err)
		err = up_stays(up, "%s can't be %s: %s", path,
			       old ? "written" : "removed", strerror(-err));
	else if (old)
		up_say(up, "give", "gave", "%s its former content", path);
	else
		up_say(up, "remove", "removed", "%s", path);
out:
	free(now);
	return err;
}
