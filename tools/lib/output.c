// SPDX-License-Identifier: GPL-2.0
/* output - whether all that a program prints was written */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"

int output_end(const char *program, int status)
{
	bool failed = ferror(stdout);

	errno = 0;
	if (!fflush(stdout) && !failed)
		return status;
	/* nobody knows why it failed before */
	fprintf(stderr, "%s: standard output can't be written%s%s\n", program,
		errno ? ": " : "", errno ? strerror(errno) : "");
	return EXIT_FAILURE;
}
