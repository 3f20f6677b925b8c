// SPDX-License-Identifier: GPL-2.0
/* caps - how much of pamsd's caps is left, and which of them are in force now */
#include <errno.h>

#include "pamsctl.h"

static uint64_t number(const json_t *cap, const char *name)
{
	return json_integer_value(json_object_get(cap, name));
}

static const char *string(const json_t *cap, const char *name)
{
	return json_string_value(json_object_get(cap, name)) ?: "?";
}

static const char *metered(const json_t *is)
{
	return json_is_null(is) ? "NetworkManager doesn't say" :
	       json_is_true(is) ? "yes" : "no";
}

/* Print "a, b" behind the text "before"; nothing for an empty list. */
static void print_list(const json_t *list, const char *before)
{
	json_t *one;
	size_t i;

	json_array_foreach(list, i, one)
		printf("%s%s", i ? ", " : before, json_string_value(one) ?: "?");
}

static void print_now(const json_t *cap)
{
	if (!json_is_true(json_object_get(cap, "active"))) {
		printf("  now: no, then %s\n", string(cap, "then"));
		return;
	}
	printf("  now: %s", string(cap, "then"));
	print_list(json_object_get(cap, "because"), ", because of: ");
	putchar('\n');
}

static void print_cap(const json_t *cap)
{
	const char *on = json_object_get(cap, "socket") ? "socket" : "interface";
	char left[QUANTITY_MAX], of[QUANTITY_MAX];

	printf("cap: %s\n  %s: %s%s\n", string(cap, "name"), on, string(cap, on),
	       json_is_true(json_object_get(cap, "there")) ? "" :
							     ", not there");
	print_now(cap);
	if (json_is_true(json_object_get(cap, "unknown")))
		printf("  left: not known, taken as nothing until %s\n",
		       string(cap, "until"));
	else if (json_object_get(cap, "quota_bytes"))
		printf("  left: %s of %s bytes until %s\n",
		       show_count(left, number(cap, "left_bytes")),
		       show_count(of, number(cap, "quota_bytes")),
		       string(cap, "until"));
	if (json_object_get(cap, "battery"))
		printf("  battery: %d %%, counts below %d %%\n",
		       (int)number(cap, "battery"),
		       (int)number(cap, "battery_below"));
	else if (json_object_get(cap, "battery_below"))
		printf("  battery: none here\n");
	if (json_object_get(cap, "metered"))
		printf("  metered: %s\n", metered(json_object_get(cap, "metered")));
	if (json_object_get(cap, "hours")) {
		print_list(json_object_get(cap, "hours"), "  hours: ");
		putchar('\n');
	}
}

int caps_command(struct words *words)
{
	json_t *status, *caps, *cap;
	size_t i;
	int err = pamsd_ask(words, &status);

	if (err)
		return err;
	caps = json_incref(json_object_get(status, "caps")) ?: json_array();
	json_decref(status);
	if (options.json)
		return print_json(caps);
	if (!json_array_size(caps))
		puts("pamsd has no caps: see cap in pamsd.conf(5)");
	json_array_foreach(caps, i, cap)
		print_cap(cap);
	json_decref(caps);
	return DONE;
}
