// SPDX-License-Identifier: GPL-2.0
/*
 * key - the 32 bytes that two peers share: as base64, from a file, new ones
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pamsd.h"

#define VARIANT		sodium_base64_VARIANT_ORIGINAL
#define FILE_BYTES_MAX	128	/* a key, and white space around it */

static_assert(sodium_base64_ENCODED_LEN(REPORT_KEY_BYTES, VARIANT) == KEY_TEXT,
	      "text of a key");

const char *key_parse(uint8_t key[REPORT_KEY_BYTES], const char *text)
{
	static const char wrong[] =
		"is not a key: 32 bytes in base64, as pamsd --genkey makes";
	size_t len;

	if (sodium_base642bin(key, REPORT_KEY_BYTES, text, strlen(text),
			      " \t\r\n", &len, NULL,
			      VARIANT) ||
	    len != REPORT_KEY_BYTES)
		return wrong;
	return sodium_is_zero(key, REPORT_KEY_BYTES) ?
	       "is all zero, which is no secret" : NULL;
}

/* The group may read it, since a service's user isn't the owner. */
const char *key_read(uint8_t key[REPORT_KEY_BYTES], const char *file)
{
	static char why[96];
	char text[FILE_BYTES_MAX + 1];
	struct stat st;
	ssize_t len = -1;
	const char *wrong;
	int fd;

	fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st)) {
		snprintf(why, sizeof(why), "can't be read: %s",
			 strerror(errno));
		if (fd >= 0)
			close(fd);
		return why;
	}
	if (!S_ISREG(st.st_mode)) {
		close(fd);
		return "is not a file";
	}
	if (st.st_mode & 0037) {
		snprintf(why, sizeof(why),
			 "has mode %04o, open to others: chmod 600 or 640",
			 st.st_mode & 07777);
		close(fd);
		return why;
	}
	len = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (len < 0) {
		snprintf(why, sizeof(why), "can't be read: %s",
			 strerror(errno));
		return why;
	}
	text[len] = '\0';
	wrong = key_parse(key, text);
	sodium_memzero(text, sizeof(text));
	return wrong ? "holds no key: 32 bytes in base64, as pamsd --genkey "
		       "makes" : NULL;
}

int key_generate(char text[KEY_TEXT])
{
	uint8_t key[REPORT_KEY_BYTES];

	if (sodium_init() < 0)
		return -1;
	randombytes_buf(key, sizeof(key));
	sodium_bin2base64(text, KEY_TEXT, key, sizeof(key),
			  VARIANT);
	sodium_memzero(key, sizeof(key));
	return 0;
}
