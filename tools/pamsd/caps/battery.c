// SPDX-License-Identifier: GPL-2.0
/*
 * battery - the charge of this machine's batteries, from power_supply in sysfs
 *
 * Batteries of peripherals, as of a mouse, have the scope "Device" and don't count.
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cap.h"

#define SUPPLIES	"/sys/class/power_supply/*"

static bool read_word(char *word, size_t room, const char *folder,
		      const char *name)
{
	char path[512];
	FILE *file;

	*word = 0;
	if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder, name) >=
	    sizeof(path))
		return false;
	file = fopen(path, "re");
	if (!file)
		return false;
	if (fgets(word, room, file))
		word[strcspn(word, "\n")] = 0;
	fclose(file);
	return *word;
}

void battery_read(struct battery *battery)
{
	unsigned int count = 0, percent = 0;
	char word[32];
	glob_t found;

	memset(battery, 0, sizeof(*battery));
	if (glob(SUPPLIES, 0, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		const char *folder = found.gl_pathv[i];

		if (!read_word(word, sizeof(word), folder, "type") ||
		    strcmp(word, "Battery") ||
		    (read_word(word, sizeof(word), folder, "scope") &&
		     !strcmp(word, "Device")) ||
		    !read_word(word, sizeof(word), folder, "capacity"))
			continue;
		count++;
		percent += strtoul(word, NULL, 10);
		if (read_word(word, sizeof(word), folder, "status"))
			battery->discharging |= !strcmp(word, "Discharging");
	}
	globfree(&found);
	battery->there = count;
	battery->percent = count ? percent / count : 0;
}
