// SPDX-License-Identifier: GPL-2.0
/*
 * links_pamsd - what pamsd knows of the links, if it runs and keeps paths: on which address of
 * a family connections begin, and over which they go unanswered
 */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "links.h"
#include "pamsctl.h"
#include "parse.h"

static struct link_address *address_at(struct outlook *outlook, const char *name, int family,
				       const uint8_t *bytes)
{
	for (size_t i = 0; i < outlook->count; i++) {
		const struct interface *interface = outlook->links[i].interface;

		for (size_t j = 0; !strcmp(interface->name, name) && j < interface->count; j++)
			if (interface->addresses[j].family == family &&
			    !memcmp(interface->addresses[j].bytes, bytes, 16))
				return &outlook->links[i].addresses[j];
	}
	return NULL;
}

static bool has(json_t *list, const char *text)
{
	json_t *one;
	size_t i;

	json_array_foreach(list, i, one)
		if (!strcmp(json_string_value(one) ?: "", text))
			return true;
	return false;
}

static int add_first(struct outlook *outlook, int family, const uint8_t *bytes, const char *name,
		     json_t *also)
{
	int count = outlook->first_count < 0 ? 0 : outlook->first_count;
	struct first *grown = reallocarray(outlook->first, count + 1, sizeof(*grown));

	if (!grown)
		return -1;
	outlook->first = grown;
	grown += count;
	memset(grown, 0, sizeof(*grown));
	grown->family = family;
	memcpy(grown->source, bytes, sizeof(grown->source));
	snprintf(grown->device, sizeof(grown->device), "%s", name);
	grown->also = has(also, "tcp") * FIRST_TCP | has(also, "udp") * FIRST_UDP;
	outlook->first_count = count + 1;
	return 0;
}

static int take(struct outlook *outlook, json_t *path)
{
	const char *name = json_string_value(json_object_get(path, "interface"));
	const char *text = json_string_value(json_object_get(path, "address")), *length;
	const char *state = json_string_value(json_object_get(path, "state"));
	struct link_address *address;
	uint8_t bytes[16];
	int family;

	if (!name || !text || !state || !inet_parse(text, &family, bytes, &length))
		return 0;
	address = address_at(outlook, name, family, bytes);
	if (address)
		address->dead = !strcmp(state, "dead");
	return json_is_true(json_object_get(path, "first")) ?
	       add_first(outlook, family, bytes, name, json_object_get(path, "first_also")) : 0;
}

int links_ask_pamsd(struct outlook *outlook)
{
	int no_answer, err = 0;
	json_t *status, *path;
	size_t i;

	status = pamsd_status(options.control ?: PAMSD_CONTROL, &no_answer);
	if (!status)
		return 0;
	json_array_foreach(json_object_get(json_object_get(status, "paths"), "paths"), i, path)
		err = err ?: take(outlook, path);
	json_decref(status);
	return err;
}
