// SPDX-License-Identifier: GPL-2.0
/*
 * up_conf - the section "paths" in pamsd.conf(5)
 *
 * pamsd parses the file with libconfuse. What has to be known here is only if the section is
 * there, and where the block begins that up added: a scan for words, strings, braces and
 * comments is enough. A file with which the scan can't go on is pamsd's to judge, which up asks
 * before it writes.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pamsctl.h"
#include "up.h"

#define BLOCK_BEGIN	"# added by pamsctl up\n"

/* --- the scan --- */

/* what ends a word without quotes, for libconfuse */
#define WORD_ENDS	" \t\r\n\v\f\"'{}()=+,#"

enum token { NOTHING, WORD, STRING, SIGN };

struct scan {
	const char *at;
	const char *text;	/* of the token */
	size_t length;
	const char *wanted;	/* found is set if a comment begins there */
	bool found;
};

static void skip_to(struct scan *scan, const char *end)
{
	const char *found = strstr(scan->at, end);

	scan->at = found ? found + strlen(end) : scan->at + strlen(scan->at);
}

/* Skip blanks and comments. */
static void skip(struct scan *scan)
{
	for (;;) {
		const char *at = scan->at;

		if (isspace((unsigned char)*at)) {
			scan->at++;
			continue;
		}
		if (*at != '#' && strncmp(at, "//", 2) && strncmp(at, "/*", 2))
			return;
		scan->found |= at == scan->wanted;
		if (at[0] == '/')
			scan->at += 2;
		skip_to(scan, at[0] == '/' && at[1] == '*' ? "*/" : "\n");
	}
}

static enum token next(struct scan *scan)
{
	char first;

	skip(scan);
	scan->text = scan->at;
	scan->length = 1;
	first = *scan->at;
	if (!first)
		return NOTHING;
	if (first == '"' || first == '\'') {
		for (scan->at++; *scan->at && *scan->at != first; scan->at++)
			if (*scan->at == '\\' && scan->at[1])
				scan->at++;
		if (*scan->at)
			scan->at++;
		return STRING;
	}
	if (strchr("{}()=+,", first)) {
		scan->at++;
		return SIGN;
	}
	/* a variable of the environment */
	if (!strncmp(scan->at, "${", 2)) {
		skip_to(scan, "}");
		return STRING;
	}
	scan->length = strcspn(scan->at, WORD_ENDS);
	scan->length += !scan->length;
	scan->at += scan->length;
	return WORD;
}

static bool is_sign(const struct scan *scan, enum token token, char sign)
{
	return token == SIGN && *scan->text == sign;
}

/* Skip what follows a '{' or '(', and what is nested in it. */
static void skip_nested(struct scan *scan)
{
	enum token token;
	int depth = 1;

	while (depth && (token = next(scan)) != NOTHING) {
		if (token != SIGN)
			continue;
		if (strchr("{(", *scan->text))
			depth++;
		else if (strchr("})", *scan->text))
			depth--;
	}
}

/*
 * Look through the statements outside of all sections: NAME = VALUE, NAME += VALUE, NAME { },
 * NAME TITLE { } and NAME(VALUES). Stops behind the '{' of the section of that name.
 */
static bool find_section(struct scan *scan, const char *name)
{
	enum token token;

	while ((token = next(scan)) != NOTHING) {
		bool is_it = token == WORD && scan->length == strlen(name) &&
			     !strncmp(scan->text, name, scan->length);

		token = next(scan);
		if (is_sign(scan, token, '{') && is_it)
			return true;
		if (is_sign(scan, token, '+'))
			token = next(scan);
		if (is_sign(scan, token, '=') || token == WORD || token == STRING)
			token = next(scan);
		if (is_sign(scan, token, '{') || is_sign(scan, token, '('))
			skip_nested(scan);
	}
	return false;
}

bool conf_has_paths(const char *text)
{
	struct scan scan = { .at = text };

	return find_section(&scan, "paths");
}

/* Does a comment begin there, outside of strings and other comments? */
static bool is_comment(const char *text, const char *there)
{
	struct scan scan = { .at = text, .wanted = there };

	while (!scan.found && next(&scan) != NOTHING)
		;
	return scan.found;
}

const char *conf_find_block(const char *text)
{
	const char *at = text;

	while ((at = strstr(at, CONF_BLOCK))) {
		if ((at == text || at[-1] == '\n') && is_comment(text, at))
			return at;
		at++;
	}
	return NULL;
}

/* --- pamsd's judgment --- */

#define SAID_MAX	1024

/* pamsd, beside this program or in PATH */
static const char *find_pamsd(char file[PATH_MAX])
{
	ssize_t length = readlink("/proc/self/exe", file, PATH_MAX - 1);
	char *slash;

	file[length > 0 ? length : 0] = 0;
	slash = strrchr(file, '/');
	if (slash && slash + sizeof("/pamsd") <= file + PATH_MAX) {
		memcpy(slash, "/pamsd", sizeof("/pamsd"));
		if (!access(file, X_OK))
			return file;
	}
	return "pamsd";
}

/* What pamsd said, in one line, with the file's own name. */
static void shorten(char said[SAID_MAX], const char *name)
{
	char *at = said, *end;

	while ((at = strstr(at, name)) && strlen(said) + strlen(CONF_FILE) < SAID_MAX) {
		size_t rest = strlen(at + strlen(name)) + 1;

		memmove(at + strlen(CONF_FILE), at + strlen(name), rest);
		memcpy(at, CONF_FILE, strlen(CONF_FILE));
		at += strlen(CONF_FILE);
	}
	end = said + strcspn(said, "\n");
	*end = 0;
}

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL	0x0008U
#endif

/* A file without a name that has the text; -errno. Where vm.memfd_noexec is 2 none may be run. */
static int put_into_memory(const char *text, mode_t mode)
{
	int fd = memfd_create("pamsd.conf", MFD_NOEXEC_SEAL), err = 0;
	size_t length = strlen(text);

	/* kernels before 6.3 */
	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("pamsd.conf", 0);
	if (fd < 0)
		return -errno;
	if (write(fd, text, length) != (ssize_t)length || fchmod(fd, mode & 0666))
		err = -errno;
	if (err)
		close(fd);
	return err ?: fd;
}

/*
 * Ask pamsd if it would take that text as its configuration, which is in no file yet: 0, or what
 * program_run() returns.
 */
static int ask(const char *text, mode_t mode, char said[SAID_MAX])
{
	char program[PATH_MAX], name[64];
	const char * const words[] = { find_pamsd(program), "--check", name, NULL };
	int fd = put_into_memory(text, mode), status;

	said[0] = 0;
	if (fd < 0)
		return fd == -ENOENT ? -EIO : fd;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	/* the file's own name may be longer, and needs room */
	status = program_run(words, true, said, SAID_MAX / 2);
	shorten(said, name);
	close(fd);
	return status;
}

/* Is there no pamsd? Some C libraries' posix_spawn() leaves that to the child. */
static bool is_missing(int status)
{
	return status == -ENOENT || status == 127;
}

/* If pamsd can't be asked the text counts as good: what is the user's isn't stopped for that. */
static bool is_taken(const char *text, mode_t mode)
{
	char said[SAID_MAX];
	int status = ask(text, mode, said);

	return !status || (status < 0 && !is_missing(status));
}

/* If pamsd won't take the text with the block, it's likelier because of what was there. */
static int check(struct up *up, const char *before, const char *after, mode_t mode)
{
	char said[SAID_MAX], first[SAID_MAX] = "";
	int status = ask(after, mode, said);

	if (!status)
		return DONE;
	if (is_missing(status))
		return up_fail(up, FAILED, "there is no pamsd, which keeps the paths: install it");
	if (status < 0)
		return up_fail(up, FAILED, "pamsd can't be asked about its configuration: %s",
			       strerror(-status));
	if (status > PROGRAM_KILLED)
		return up_fail(up, FAILED, "pamsd --check has crashed: %s",
			       strsignal(status - PROGRAM_KILLED));
	if (before && ask(before, mode, first) && !strstr(first, "there is nothing to do"))
		snprintf(said, sizeof(said), "%s", first);
	return up_fail(up, FAILED, "pamsd refuses its configuration: %s", said);
}

/* --- the step --- */

json_t *conf_plan(struct up *up)
{
	char folder[PATH_MAX], *after = NULL;
	mode_t mode = 0644;
	json_t *step = NULL;
	bool newline;
	int err;
	char *text = file_text(CONF_FILE, &mode, &err);

	if (err) {
		up_fail(up, err == -EACCES ? NOT_PERMITTED : FAILED, "%s can't be read: %s",
			CONF_FILE, err == -EINVAL ? "it is no text file" : strerror(-err));
		return NULL;
	}
	newline = text && *text && text[strlen(text) - 1] != '\n';
	if (text && conf_has_paths(text)) {
		check(up, NULL, text, mode);
	} else if (asprintf(&after, "%s%s%s", text ?: "", newline ? "\n" : "", CONF_BLOCK) < 0) {
		after = NULL;
		up_fail(up, FAILED, "there is no memory");
	} else if (!check(up, text, after, mode)) {
		step = json_pack("{s:s, s:s, s:b, s:b}", "what", "conf", "path", CONF_FILE,
				 "made", !text, "newline", newline);
		if (file_folder(CONF_FILE, folder, sizeof(folder)))
			json_object_set_new(step, "folder", json_string(folder));
	}
	free(text);
	free(after);
	return step;
}

int conf_carry_out(struct up *up, json_t *step)
{
	const char *folder = up_string(step, "folder");
	char *text, *after = NULL;
	int err = 0;

	text = file_text(CONF_FILE, NULL, &err);
	if (!err && asprintf(&after, "%s%s%s", text ?: "",
			     up_flag(step, "newline") ? "\n" : "", CONF_BLOCK) < 0)
		err = -ENOMEM;
	if (!err && !up->dry_run) {
		if (*folder && mkdir(folder, 0755) && errno != EEXIST)
			err = -errno;
		if (!err)
			err = file_put(CONF_FILE, after, 0644);
	}
	free(text);
	free(after);
	if (err)
		return up_fail(up, err == -EACCES || err == -EPERM ? NOT_PERMITTED : FAILED,
			       "%s can't be written: %s", CONF_FILE, strerror(-err));
	up_say(up, "add", "added", "a section \"paths\" to %s: pamsd keeps an MPTCP endpoint for "
	       "each link", CONF_FILE);
	return DONE;
}

/* Take the block out of the text, and the end of line before it that it came with. */
static void cut(char *text, char *block, bool newline)
{
	char *rest = block + strlen(CONF_BLOCK);

	if (newline && block > text && !*rest)
		block--;
	memmove(block, rest, strlen(rest) + 1);
}

static int take_out(struct up *up, json_t *step, char *text, char *block)
{
	const char *folder = up_string(step, "folder");
	int err = 0;
	bool whole;

	cut(text, block, up_flag(step, "newline"));
	whole = up_flag(step, "made") && !*text;
	if (!up->dry_run) {
		if (!whole)
			err = file_put(CONF_FILE, text, 0644);
		else if (unlink(CONF_FILE))
			err = -errno;
		else if (*folder)
			rmdir(folder);
	}
	if (err)
		return up_stays(up, "%s can't be written: %s", CONF_FILE, strerror(-err));
	if (whole)
		up_say(up, "remove", "removed", "%s", CONF_FILE);
	else
		up_say(up, "take", "took", "the section \"paths\" out of %s", CONF_FILE);
	return DONE;
}

int conf_undo(struct up *up, json_t *step)
{
	const char *begin, *block;
	int err, status = DONE;
	mode_t mode = 0644;
	char *text;

	if (!up->dry_run)
		file_clean(CONF_FILE);
	text = file_text(CONF_FILE, &mode, &err);
	if (err)
		return up_stays(up, "%s can't be read: %s", CONF_FILE, strerror(-err));
	if (!text) {
		if (!up->dry_run && *up_string(step, "folder"))
			rmdir(up_string(step, "folder"));
		return DONE;
	}
	block = conf_find_block(text);
	begin = strstr(text, BLOCK_BEGIN);
	if (block)
		status = take_out(up, step, text, text + (block - text));
	else if (begin && is_comment(text, begin))
		up_note(up, "left %s: what up added to it was changed since", CONF_FILE);
	/* take_out() leaves the rest: pamsd is to go on with that, if there is something to do */
	up->conf_is_users = up_flag(step, "made") && *text && is_taken(text, mode);
	free(text);
	return status;
}
