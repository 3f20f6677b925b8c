// SPDX-License-Identifier: GPL-2.0
/* finding - doctor's findings: a grade, what was found, and advice */
#include <stdarg.h>
#include <string.h>

#include "pamsctl.h"

static const char * const grades[] = {
	[FINE] = "ok", [NOTE] = "note", [BAD] = "bad",
};

void finding(json_t *list, enum grade grade, const char *what,
	     const char *advice, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s*}",
					      "grade", grades[grade], "what",
					      what, "text", show_utf8(text), "advice",
					      advice));
}

static const char *string_of(json_t *object, const char *name)
{
	return json_string_value(json_object_get(object, name));
}

void only_wrong(json_t *list)
{
	size_t i = json_array_size(list);

	while (i--) {
		json_t *one = json_array_get(list, i);
		const char *advice = string_of(one, "advice");

		if (!strcmp(string_of(one, "grade"), grades[FINE]))
			json_array_remove(list, i);
		else if (advice && !strncmp(advice, OR_UP, strlen(OR_UP)))
			json_object_set_new(one, "advice", json_string(advice + strlen(OR_UP)));
	}
}

/* Print the findings and free the list. The exit status: FAILED if one of them is BAD. */
int print_findings(json_t *list)
{
	int status = DONE;
	json_t *one;
	size_t i;

	json_array_foreach(list, i, one)
		if (!strcmp(string_of(one, "grade"), grades[BAD]))
			status = FAILED;
	if (options.json)
		return print_json(list) ?: status;
	json_array_foreach(list, i, one) {
		const char *advice = string_of(one, "advice");

		printf("%-5s %-12s %s\n", string_of(one, "grade"),
		       string_of(one, "what"), string_of(one, "text"));
		if (advice)
			printf("%18s -> %s\n", "", advice);
	}
	json_decref(list);
	return status;
}
