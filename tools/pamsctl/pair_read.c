// SPDX-License-Identifier: GPL-2.0
/*
 * pair_read - sets up one end from what "pamsctl --json pair" printed
 *
 * It writes the key to a file that only its owner can read. No file is replaced:
 * if the key's file exists that is an error, and if a configuration exists the
 * section to add to it is only shown.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "pair.h"
#include "pamsctl.h"

#define FILE_MAX	4096

bool is_name(const char *name)
{
	const char *at = name;

	while (isalnum((unsigned char)*at) || (*at && strchr("._-", *at)))
		at++;
	return *name && *name != '.' && !*at && at - name < 64;
}

/* 0 or -errno; -EEXIST: the file exists, and stays as it is. */
static int write_new(const char *file, mode_t mode, const char *text)
{
	size_t length = strlen(text);
	ssize_t written;
	int fd, err = 0;

	fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	if (fd < 0)
		return -errno;
	written = write(fd, text, length);
	if (written < 0)
		err = -errno;
	else if ((size_t)written < length)
		err = -ENOSPC;
	if (close(fd) && !err)
		err = -errno;
	if (err)
		unlink(file);
	return err;
}

static int write_key(const char *file, const char *key)
{
	char line[PAIR_KEY_TEXT + 1];
	int err;

	snprintf(line, sizeof(line), "%s\n", key);
	err = write_new(file, 0600, line);
	sodium_memzero(line, sizeof(line));
	if (!err)
		return DONE;
	if (err == -EEXIST)
		return refuse(FAILED, "%s exists already: remove it, or give "
			      "pair another name", file);
	return refuse(FAILED, "%s can't be written: %s", file, strerror(-err));
}

static bool is_key(const char *key)
{
	unsigned char bytes[PAIR_KEY_BYTES];
	size_t count;
	bool fine = !sodium_base642bin(bytes, sizeof(bytes), key, strlen(key),
				       NULL, &count, NULL,
				       sodium_base64_VARIANT_ORIGINAL) &&
		    count == sizeof(bytes);

	sodium_memzero(bytes, sizeof(bytes));
	return fine;
}

/* The section as it was printed, but with key_file as the key's file. NULL: no memory. */
static char *section_text(const char *printed, const char *name,
			  const char *key_file)
{
	char usual[FILE_MAX], *text;
	const char *at;

	snprintf(usual, sizeof(usual), "/etc/pamsd/%s.key", name);
	at = strstr(printed, usual);
	if (!at)
		return strdup(printed);
	if (asprintf(&text, "%.*s%s%s", (int)(at - printed), printed, key_file,
		     at + strlen(usual)) < 0)
		return NULL;
	return text;
}

/* Say what was written, and what to add to the configuration if one existed. */
static int tell(const char *key_file, const char *config, const char *text,
		bool exists)
{
	if (options.json)
		return print_json(json_pack("{s:s, s:s, s:s?}", "key_file",
					    key_file, "configuration", config,
					    "add", exists ? text : NULL));
	printf("written: %s\n", key_file);
	if (exists)
		printf("%s exists already: add to it\n\n%s\nthen, as root: ",
		       config, text);
	else
		printf("written: %s\nnow, as root: ", config);
	puts(procd_is_here() ? pamsd_enable_uci : pamsd_enable);
	return DONE;
}

static int set_up(const char *directory, const char *name, const char *key,
		  const char *printed)
{
	char key_file[FILE_MAX], config[FILE_MAX], *text;
	int err, status;

	if (snprintf(key_file, sizeof(key_file), "%s/%s.key", directory,
		     name) >= FILE_MAX ||
	    snprintf(config, sizeof(config), "%s/pamsd.conf", directory) >=
		    FILE_MAX)
		return refuse(USAGE, "the name of the directory is too long");
	text = section_text(printed, name, key_file);
	if (!text)
		return refuse(FAILED, "there is no memory");
	status = write_key(key_file, key);
	if (status)
		goto out;
	err = write_new(config, 0644, text);
	if (err && err != -EEXIST) {
		unlink(key_file);
		status = refuse(FAILED, "%s can't be written: %s", config,
				strerror(-err));
		goto out;
	}
	status = tell(key_file, config, text, err);
out:
	free(text);
	return status;
}

int pair_read(const char *role, const char *directory)
{
	const char *name = NULL, *key = NULL, *printed = NULL;
	json_error_t error;
	json_t *object;
	int status;

	if (strcmp(role, "server") && strcmp(role, "reporter"))
		return refuse(USAGE, "--read '%s': it is server or reporter, "
			      "the end that this machine is", role);
	object = json_loadf(stdin, JSON_REJECT_DUPLICATES, &error);
	if (json_unpack(object, "{s:s, s:s, s:s}", "name", &name, "key", &key,
			role, &printed) || !is_name(name) || !is_key(key))
		status = refuse(FAILED, "standard input is not what pamsctl "
				"--json pair prints");
	else
		status = set_up(directory, name, key, printed);
	json_decref(object);
	return status;
}
