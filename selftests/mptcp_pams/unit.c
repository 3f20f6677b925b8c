// SPDX-License-Identifier: GPL-2.0
/*
 * unit - mark a unit of a connection that is named by its token, through libpams
 *
 *	unit TOKEN BYTES [OPENER]
 *
 * OPENER: the user that makes the netlink socket, before it is the caller again. Prints
 * why it was refused. Exit code: 0 done, 1 refused, 2 usage.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <pams.h>

int main(int argc, char **argv)
{
	uid_t user = geteuid();
	struct pams *pams;

	if (argc != 3 && argc != 4) {
		fprintf(stderr, "usage: unit TOKEN BYTES [OPENER]\n");
		return 2;
	}
	if (argc == 4 && seteuid(atoi(argv[3]))) {
		perror("unit: seteuid");
		return 2;
	}
	pams = pams_open();
	if (!pams) {
		perror("unit: pams_open");
		return 1;
	}
	if (argc == 4 && seteuid(user)) {
		perror("unit: seteuid");
		return 2;
	}
	if (pams_unit_by_token(pams, strtoul(argv[1], NULL, 16),
			       strtoull(argv[2], NULL, 0))) {
		printf("%s: %s\n", strerror(errno), pams_error(pams));
		return 1;
	}
	pams_close(pams);
	return 0;
}
