// SPDX-License-Identifier: GPL-2.0
/*
 * refuse - errors: one line for people on standard error and, with --json, an
 * object with "error" on standard output
 */
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "pamsctl.h"

#define TEXT_MAX	512

static int print_refusal(int status, const char *text, const char *attribute)
{
	fprintf(stderr, "pamsctl: %s\n", text);
	if (options.json)
		print_json(json_pack("{s:s, s:i, s:s*}", "error", text,
				     "status", status, "attribute",
				     attribute));
	return status;
}

int refuse(int status, const char *format, ...)
{
	char text[TEXT_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return print_refusal(status, text, NULL);
}

int refuse_not_loaded(void)
{
	return refuse(NOT_LOADED,
		      "the module mptcp_pams is not loaded: see pamsctl load");
}

/* Report a request to the module that failed, with the handle's last error. */
int refuse_kernel(struct pams_nl *nl, const char *what, int err)
{
	const char *why = nl ? pams_nl_error(nl) : strerror(-err);
	char text[TEXT_MAX];

	if (nl && err == -ENOENT && !pams_nl_loaded(nl))
		return refuse_not_loaded();
	if (err == -EPERM)
		snprintf(text, sizeof(text),
			 "%s: needs CAP_NET_ADMIN: run it as root", what);
	else
		snprintf(text, sizeof(text), "%s: %s", what, why);
	return print_refusal(err == -EPERM ? NOT_PERMITTED : FAILED, text,
			     nl ? pams_nl_bad_attribute(nl) : NULL);
}

int print_json(json_t *value)
{
	bool fine = value && !json_dumpf(value, stdout, JSON_INDENT(2));

	putchar('\n');
	json_decref(value);
	if (fine && !fflush(stdout))
		return DONE;
	fprintf(stderr, "pamsctl: the JSON can't be written\n");
	return FAILED;
}

int append(json_t *list, json_t *value)
{
	return json_array_append_new(list, value) ? -ENOMEM : 0;
}

void print_json_line(json_t *value)
{
	json_dumpf(value, stdout, JSON_COMPACT);
	putchar('\n');
	fflush(stdout);
	json_decref(value);
}
