// SPDX-License-Identifier: GPL-2.0
/*
 * first - on which of this machine's addresses new MPTCP connections begin, by destination
 *
 * The entries are in a table in the kernel (first_hook.c), in no file: they stay until they are
 * deleted or the machine restarts.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "first_hook.h"
#include "pamsctl.h"

#define DEFAULT		"default"
#define TEXT_MAX	(INET6_ADDRSTRLEN + 4)

static struct first entries[2 * FIRST_MAX];

static int refuse_first(int err)
{
	if ((err == -EPERM || err == -EACCES) && geteuid())
		return refuse(NOT_PERMITTED, "%s: run it as root", first_error());
	if (err == -EPERM)
		return refuse(NOT_PERMITTED, "%s: needs CAP_BPF, CAP_NET_ADMIN and "
			      "CAP_PERFMON, and a kernel that is not locked down",
			      first_error());
	if (err == -ENOSPC)
		return refuse(FAILED, "there are %d entries already", FIRST_MAX);
	return refuse(FAILED, "%s", first_error());
}

/* --- text --- */

static unsigned int bits_of(int family)
{
	return family == AF_INET ? 32 : 128;
}

static bool address_is(const char *text, int *family, uint8_t address[16])
{
	memset(address, 0, 16);
	*family = strchr(text, ':') ? AF_INET6 : AF_INET;
	return inet_pton(*family, text, address) == 1;
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
	char address[TEXT_MAX];
	const char *slash = strchr(text, '/');
	size_t length = slash ? (size_t)(slash - text) : strlen(text);
	uint64_t bits;

	if (length < sizeof(address)) {
		memcpy(address, text, length);
		address[length] = 0;
	}
	if (length >= sizeof(address) ||
	    !address_is(address, &first->family, first->prefix))
		return refuse(USAGE, "first: '%s' is no address, prefix or \"" DEFAULT "\"",
			      text);
	bits = bits_of(first->family);
	if (slash && parse_number("the prefix length", slash + 1, 0, bits, &bits))
		return USAGE;
	first->length = bits;
	mask(first);
	return DONE;
}

static const char *show_destination(char text[TEXT_MAX], const struct first *first)
{
	if (!first->length)
		return DEFAULT;
	inet_ntop(first->family, first->prefix, text, TEXT_MAX);
	if (first->length < bits_of(first->family))
		snprintf(text + strlen(text), TEXT_MAX - strlen(text), "/%u", first->length);
	return text;
}

/* --- the commands --- */

/* Which interface has the source address; false: none has. */
static bool find_device(struct first *first)
{
	struct ifaddrs *all, *one;
	bool found = false;

	if (getifaddrs(&all))
		return false;
	for (one = all; one && !found; one = one->ifa_next) {
		const struct sockaddr *name = one->ifa_addr;

		if (!name || name->sa_family != first->family)
			continue;
		found = first->family == AF_INET ?
			!memcmp(first->source, &((const struct sockaddr_in *)name)->sin_addr, 4) :
			!memcmp(first->source, &((const struct sockaddr_in6 *)name)->sin6_addr,
				16);
		if (found)
			snprintf(first->device, sizeof(first->device), "%s", one->ifa_name);
	}
	freeifaddrs(all);
	return found;
}

static int set(const char *destination, const char *source)
{
	const char *why = first_missing();
	struct first first = { .length = 0 };
	char text[TEXT_MAX];
	int family, err;

	if (!address_is(source, &family, first.source))
		return refuse(USAGE, "first set: '%s' is no address", source);
	first.family = family;
	if (strcmp(destination, DEFAULT)) {
		err = parse_destination(destination, &first);
		if (err)
			return err;
	}
	if (first.family != family)
		return refuse(USAGE, "first set: %s and %s are of different families",
			      destination, source);
	if (why)
		return refuse(FAILED, "first set: %s", why);
	if (!find_device(&first))
		return refuse(FAILED, "first set: %s is no address of this machine", source);
	err = first_set(&first);
	if (err)
		return refuse_first(err);
	if (options.json)
		return print_json(json_object());
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
			     (wanted.length && one->family != wanted.family) ||
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
	char destination[TEXT_MAX], source[TEXT_MAX];
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

		inet_ntop(entries[i].family, entries[i].source, source, sizeof(source));
		append(list, json_pack("{s:s, s:s, s:s, s:I}", "destination", to, "address",
				       source, "device", entries[i].device, "connections",
				       (json_int_t)entries[i].connections));
		table_row(table);
		table_cell(table, to);
		table_cell(table, source);
		table_cell(table, entries[i].device);
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
