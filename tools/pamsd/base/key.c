// SPDX-License-Identifier: GPL-2.0
/*
 * key - the 32-byte key that two peers share: parsed from base64, read, or generated
 */
#include <assert.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base.h"

#define VARIANT		sodium_base64_VARIANT_ORIGINAL
#define FILE_BYTES_MAX	128	/* a key, and white space around it */

static_assert(sodium_base64_ENCODED_LEN(REPORT_KEY_BYTES, VARIANT) == KEY_TEXT,
	      "text of a key");

const char *key_parse(uint8_t key[REPORT_KEY_BYTES], const char *text)
{
	static const char wrong[] =
		"is not a key: 32 bytes in base64, as pamsd --genkey makes";
	size_t len;

	if (!sodium_base642bin(key, REPORT_KEY_BYTES, text, strlen(text),
			       " \t\r\n", &len, NULL, VARIANT) &&
	    len == REPORT_KEY_BYTES)
		return sodium_is_zero(key, REPORT_KEY_BYTES) ?
		       "is all zero, which is no secret" : NULL;
	sodium_memzero(key, REPORT_KEY_BYTES);
	return wrong;
}

const char *key_read(uint8_t key[REPORT_KEY_BYTES], const char *file)
{
	static char open_to_others[96];
	const char *why;
	char *text;
	mode_t mode;

	text = file_read(file, FILE_BYTES_MAX, &mode, &why);
	if (!text)
		return why;
	if (mode & 0077) {
		snprintf(open_to_others, sizeof(open_to_others),
			 "has mode %04o, open to others: chmod 600", mode);
		why = open_to_others;
	} else {
		why = key_parse(key, text);
	}
	file_free(text);
	if (!why || why == open_to_others)
		return why;
	return "holds no key: 32 bytes in base64, as pamsd --genkey makes";
}

void key_generate(char text[KEY_TEXT])
{
	uint8_t key[REPORT_KEY_BYTES];

	randombytes_buf(key, sizeof(key));
	sodium_bin2base64(text, KEY_TEXT, key, sizeof(key),
			  VARIANT);
	sodium_memzero(key, sizeof(key));
}
