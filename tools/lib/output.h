/* SPDX-License-Identifier: GPL-2.0 */
/* output - whether all that a program prints was written */
#ifndef PAMS_OUTPUT_H
#define PAMS_OUTPUT_H

/* The exit status: the one given, or 1 after saying that standard output can't be written. */
int output_end(const char *program, int status);

#endif /* PAMS_OUTPUT_H */
