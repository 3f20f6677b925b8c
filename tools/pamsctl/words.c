// SPDX-License-Identifier: GPL-2.0
/* words - the command line's words, one after the other */
#include <string.h>

#include "pamsctl.h"

const char *next_word(struct words *words)
{
	if (!words->left)
		return NULL;
	words->left--;
	return *words->at++;
}

bool next_is(struct words *words, const char *keyword)
{
	if (!words->left || strcmp(*words->at, keyword))
		return false;
	next_word(words);
	return true;
}

int no_more_words(const struct words *words)
{
	if (!words->left)
		return DONE;
	return refuse(USAGE, "'%s' is one word too many", *words->at);
}
