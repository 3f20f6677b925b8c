// SPDX-License-Identifier: GPL-2.0
/*
 * first - on which of this machine's addresses new MPTCP connections begin, by destination
 *
 * The entries are in a table in the kernel (first_hook.c), in no file: they stay until they are
 * deleted or the machine restarts.
 */
#include <errno.h>
#include <inttypes.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "first_hook.h"
#include "pamsctl.h"
#include "pins.h"

#define DEFAULT		"default"
#define NONE		"none"		/* in place of an address: begin where the routes say */

static struct first entries[2 * FIRST_MAX];

static int refuse_first(int err)
{
	if (err == -ENOSPC)
		return refuse(FAILED, "there are %d entries already", FIRST_MAX);
	return pins_refuse(err, "CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON");
}

/* --- text --- */

static unsigned int bits_of(int family)
{
	return family == AF_INET ? 32 : 128;
}

/* Clear the bits behind the prefix. */
static void mask(struct first *first)
{
	for (unsigned int bit = first->length; bit < bits_of(first->family); bit++)
		first->prefix[bit / 8] &= ~(0x80 >> bit % 8);
}

/* DESTINATION, but for "default": an address or a prefix. */
static int parse_destination(const char *text, struct first *first)
{
	const char *length;
	uint64_t bits;

	if (!inet_parse(text, &first->family, first->prefix, &length))
		return refuse(USAGE, "first: '%s' is no address, prefix or \"" DEFAULT "\"",
			      text);
	bits = bits_of(first->family);
	if (length && parse_number("the prefix length", length, 0, bits, &bits))
		return USAGE;
	first->length = bits;
	mask(first);
	return DONE;
}

static bool leaves_alone(const struct first *first)
{
	return !first->device[0];
}

static const char *show_source(char text[DESTINATION_MAX], const struct first *first)
{
	if (leaves_alone(first))
		return NONE;
	show_address(text, first->family, first->source);
	return text;
}

const char *show_destination(char text[DESTINATION_MAX], const struct first *first)
{
	if (!first->length)
		return DEFAULT;
	show_address(text, first->family, first->prefix);
	if (first->length < bits_of(first->family))
		snprintf(text + strlen(text), DESTINATION_MAX - strlen(text), "/%u", first->length);
	return text;
}

/* --- the commands --- */

/* The address that connections begin on, which this machine has, into *first. */
static int find_source(const char *source, struct first *first)
{
	unsigned int ifindex = interface_of(first->family, first->source, 0);

	if (!ifindex)
		return refuse(FAILED, "first set: %s is no address of this machine", source);
	/* the kernel's own name, which may not be UTF-8 */
	if (!if_indextoname(ifindex, first->device))
		return refuse(FAILED, "first set: %s is no address of this machine", source);
	return DONE;
}

/* The words of "set" into *first, but for the device. */
static int parse(const char *destination, const char *source, struct first *first)
{
	bool none = !strcmp(source, NONE);
	const char *length;
	int family, err;

	if (!none && (!inet_parse(source, &family, first->source, &length) || length))
		return refuse(USAGE, "first set: '%s' is no address, and not \"" NONE "\"", source);
	if (!strcmp(destination, DEFAULT)) {
		if (none)
			return refuse(USAGE, "first set: " NONE " is for a prefix; for all "
				      "destinations: first del " DEFAULT);
		first->family = family;
		return DONE;
	}
	err = parse_destination(destination, first);
	if (!err && !none && first->family != family)
		return refuse(USAGE, "first set: %s and %s are of different families",
			      destination, source);
	return err;
}

/* Its program runs beside the one here, and which of them was there first counts. */
static bool is_pamsds(void)
{
	int err;
	json_t *status = pamsd_status(options.control ?: PAMSD_CONTROL, &err);
	json_t *paths = json_object_get(status, "paths");
	bool chooses = json_is_true(json_object_get(paths, "chooses_first"));

	json_decref(status);
	return chooses;
}

static int set(const char *destination, const char *source)
{
	struct first first = { .length = 0 };
	const char *why = pins_missing();
	char text[DESTINATION_MAX];
	int err;

	err = parse(destination, source, &first);
	if (err)
		return err;
	if (is_pamsds())
		return refuse(FAILED, "first set: pamsd chooses where connections begin: write "
			      "first = false into section paths of pamsd.conf, or not-first for "
			      "some destinations, and restart pamsd");
	if (why)
		return refuse(FAILED, "first set: %s", why);
	if (strcmp(source, NONE)) {
		err = find_source(source, &first);
		if (err)
			return err;
	}
	err = first_set(&first);
	if (err)
		return refuse_first(err);
	if (options.json)
		return print_json(json_object());
	if (leaves_alone(&first))
		printf("MPTCP connections to %s begin where the routes say, from now on\n",
		       show_destination(text, &first));
	else
		printf("MPTCP connections to %s begin on %s, %s, from now on\n",
		       show_destination(text, &first), source, first.device);
	return DONE;
}

static int del(const char *destination)
{
	int count = first_read(entries, sizeof(entries) / sizeof(entries[0])), err, removed = 0;
	bool all = !strcmp(destination, "all");
	struct first wanted = { .length = 0 };

	if (count < 0)
		return refuse_first(count);
	if (!all && strcmp(destination, DEFAULT)) {
		err = parse_destination(destination, &wanted);
		if (err)
			return err;
	}
	for (int i = 0; i < count; i++) {
		const struct first *one = &entries[i];

		if (!all && (one->length != wanted.length ||
			     (wanted.family && one->family != wanted.family) ||
			     memcmp(one->prefix, wanted.prefix, sizeof(wanted.prefix))))
			continue;
		err = first_remove(one);
		if (err && err != -ENOENT)
			return refuse_first(err);
		removed++;
	}
	if (!removed && !all)
		return refuse(FAILED, "first del: there is no entry for %s: see pamsctl "
			      "first show", destination);
	if (options.json)
		return print_json(json_object());
	return DONE;
}

static int show(void)
{
	int count = first_read(entries, sizeof(entries) / sizeof(entries[0]));
	char destination[DESTINATION_MAX], source[DESTINATION_MAX], device[IF_NAMESIZE];
	struct table *table;
	json_t *list;

	if (count < 0)
		return refuse_first(count);
	if (!count && !options.json) {
		puts("connections begin where the routes say");
		return DONE;
	}
	list = json_array();
	table = table_new("DESTINATION ADDRESS DEVICE CONNECTIONS>");
	for (int i = 0; i < count; i++) {
		const char *to = show_destination(destination, &entries[i]);
		const char *from = show_source(source, &entries[i]);

		snprintf(device, sizeof(device), "%s", entries[i].device);
		show_utf8(device);
		append(list, json_pack("{s:s, s:s, s:s, s:I}", "destination", to, "address",
				       from, "device", device, "connections",
				       (json_int_t)entries[i].connections));
		table_row(table);
		table_cell(table, to);
		table_cell(table, from);
		table_cell(table, device);
		table_number(table, entries[i].connections);
	}
	if (options.json)
		return print_json(list);
	json_decref(list);
	table_print(table, 0, terminal_width(), line_to_stdout, NULL);
	return DONE;
}

int first_command(struct words *words)
{
	static const char * const names[] = { "show", "set", "del", NULL };
	int which = choose(words, "first", names, 0);
	const char *destination, *source;

	if (which < 0)
		return USAGE;
	if (!which)
		return no_more_words(words) ? USAGE : show();
	destination = next_word(words);
	if (!destination || !destination[0])
		return refuse(USAGE, "first %s: which destination?", names[which]);
	if (which == 2)
		return no_more_words(words) ? USAGE : del(destination);
	source = next_word(words);
	if (!source || !source[0])
		return refuse(USAGE, "first set: on which address?");
	return no_more_words(words) ? USAGE : set(destination, source);
}
