// SPDX-License-Identifier: GPL-2.0
/* words - matches words with the names of commands; next_word() is in lib/parse.c */
#include <string.h>

#include "pamsctl.h"

int no_more_words(const struct words *words)
{
	if (!words->left)
		return DONE;
	return refuse(USAGE, "unexpected argument '%s'", *words->at);
}

/* The names that begin with start, as "show, set or del". */
static const char *show_names(char *buffer, size_t room,
			      const char * const names[], const char *start)
{
	size_t length = strlen(start), at = 0;
	unsigned int left = 0;
	unsigned int i;

	for (i = 0; names[i]; i++)
		left += !strncmp(names[i], start, length);
	buffer[0] = 0;
	for (i = 0; names[i] && at < room; i++) {
		if (strncmp(names[i], start, length))
			continue;
		left--;
		at += snprintf(buffer + at, room - at, "%s%s", names[i],
			       left > 1 ? ", " : left ? " or " : "");
	}
	return buffer;
}

int choose(struct words *words, const char *where, const char * const names[],
	   int otherwise)
{
	const char *word = words->left ? *words->at : NULL;
	const char *dash = *where ? " " : "";
	char text[256];
	int i, found = -1, count = 0;

	if (!word)
		return otherwise;
	for (i = 0; names[i]; i++) {
		if (!strcmp(names[i], word)) {
			found = i;
			count = 1;
			break;
		}
		if (*word && !strncmp(names[i], word, strlen(word))) {
			found = i;
			count++;
		}
	}
	if (count == 1) {
		next_word(words);
		return found;
	}
	if (count)
		refuse(USAGE, "%s%s'%s' is ambiguous: %s", where, dash, word,
		       show_names(text, sizeof(text), names, word));
	else
		refuse(USAGE, "%s%s'%s' is not a command: %s", where, dash,
		       word, show_names(text, sizeof(text), names, ""));
	return -1;
}
