// SPDX-License-Identifier: GPL-2.0
/* exits - the interfaces of default routes in the main routing table */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cap.h"

static unsigned int add(char names[EXITS_MAX][IF_NAMESIZE], unsigned int count,
			const char *name)
{
	for (unsigned int i = 0; i < count; i++)
		if (!strcmp(names[i], name))
			return count;
	if (count < EXITS_MAX)
		snprintf(names[count++], IF_NAMESIZE, "%s", name);
	return count;
}

/* Lines look like "wwan0 00000000 0108A8C0 0003 0 0 100 00000000 ...": word 8 is the mask. */
static unsigned int read4(char names[EXITS_MAX][IF_NAMESIZE], unsigned int count)
{
	FILE *file = fopen("/proc/net/route", "re");
	char line[256], name[IF_NAMESIZE];
	uint32_t to, mask;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%15s %" SCNx32 " %*s %*s %*s %*s %*s %" SCNx32,
			   name, &to, &mask) == 3 && !to && !mask)
			count = add(names, count, name);
	if (file)
		fclose(file);
	return count;
}

/* In each line, prefix and length are the first words, the interface is the last. */
static unsigned int read6(char names[EXITS_MAX][IF_NAMESIZE], unsigned int count)
{
	FILE *file = fopen("/proc/net/ipv6_route", "re");
	char line[256], to[33], name[IF_NAMESIZE];
	unsigned int len;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%32s %x %*s %*s %*s %*s %*s %*s %*s %15s", to,
			   &len, name) == 3 && !len &&
		    strspn(to, "0") == strlen(to) && strcmp(name, "lo"))
			count = add(names, count, name);
	if (file)
		fclose(file);
	return count;
}

unsigned int exits_read(char names[EXITS_MAX][IF_NAMESIZE])
{
	return read6(names, read4(names, 0));
}
