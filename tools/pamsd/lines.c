// SPDX-License-Identifier: GPL-2.0
/*
 * lines - the commands of the control socket and of plugins, see pamsd(8)
 *
 *	{"command": "status"}
 *	{"interface": "wlan0", "loss_ms": 800}		lost in 800 ms
 *	{"interface": "wlan0", "loss_ms": 800, "ttl_ms": 5000}
 *	{"interface": "wlan0", "loss_ms": 800, "spread_ms": 90}
 *	{"interface": "wlan0", "no_loss": true}
 *
 * An unknown name is an error, since it may be a typing error.
 *
 * spread_ms is the standard deviation of loss_ms. pamsd passes it to the module, which
 * decides how long before the loss it acts.
 */
#include <string.h>

#include <jansson.h>

#include <linux/mptcp_pams.h>

#include "caps/caps.h"
#include "pamsd.h"
#include "paths/paths.h"
#include "reporter/reporter.h"
#include "server/server.h"

static json_t *fault(const char *why)
{
	return json_pack("{s:s}", "error", why);
}

static json_t *status(const struct lines *lines)
{
	json_t *object = json_pack("{s:s, s:o}", "version", PAMS_VERSION,
				   "kernel", kernel_status(lines->kernel));

	if (lines->server)
		json_object_set_new(object, "server",
				    server_status(lines->server));
	if (lines->reporter)
		json_object_set_new(object, "reporter",
				    reporter_status(lines->reporter));
	if (lines->rules)
		json_object_set_new(object, "rules",
				    rules_status(lines->rules));
	if (lines->caps)
		json_object_set_new(object, "caps", caps_status(lines->caps));
	if (lines->paths)
		json_object_set_new(object, "paths", paths_status(lines->paths));
	return object;
}

static bool is_time(json_t *value, json_int_t min)
{
	return json_is_integer(value) && json_integer_value(value) >= min &&
	       json_integer_value(value) <= MPTCP_PAMS_TIME_MAX_MS;
}

static json_t *loss(const struct lines *lines, json_t *object,
		    const char *interface)
{
	json_t *name = json_object_get(object, "interface");
	json_t *loss_ms = json_object_get(object, "loss_ms");
	json_t *no_loss = json_object_get(object, "no_loss");
	json_t *ttl_ms = json_object_get(object, "ttl_ms");
	json_t *spread_ms = json_object_get(object, "spread_ms");
	struct prediction prediction;
	const char *why, *why_not_reported = NULL;

	if (name)
		interface = json_string_value(name);
	if (!interface)
		return fault("interface is missing or not a string");
	if (!loss_ms == !no_loss)
		return fault("one of loss_ms and no_loss is needed");
	if (loss_ms && !is_time(loss_ms, 0))
		return fault("loss_ms is not a whole number from 0 to "
			     "86400000");
	if (no_loss && !json_is_true(no_loss))
		return fault("no_loss can only be true");
	if (ttl_ms && (no_loss || !is_time(ttl_ms, 1)))
		return fault("ttl_ms is not a whole number from 1 to "
			     "86400000 beside loss_ms");
	if (spread_ms && (no_loss || !is_time(spread_ms, 0)))
		return fault("spread_ms is not a whole number from 0 to "
			     "86400000 beside loss_ms");
	if (!lines->reporter && !lines->paths)
		return fault("no reporter is configured here");
	prediction.loss = loss_ms;
	prediction.loss_ms = json_integer_value(loss_ms);
	prediction.spread_ms = json_integer_value(spread_ms);
	prediction.ttl_ms = json_integer_value(ttl_ms);
	why = lines->paths ? paths_predict(lines->paths, interface, &prediction) : NULL;
	if (lines->reporter)
		why_not_reported = reporter_predict(lines->reporter, interface, &prediction);
	/* one that takes it is enough */
	if ((lines->paths && !why) || (lines->reporter && !why_not_reported))
		return json_pack("{s:b}", "ok", 1);
	return fault(why_not_reported ?: why);
}

json_t *lines_obey(const struct lines *lines, const char *line, size_t len,
		   const char *interface)
{
	static const char * const known[] = {
		"command", "interface", "loss_ms", "no_loss", "spread_ms",
		"ttl_ms",
	};
	json_t *object, *value, *result, *command;
	json_error_t error;
	const char *name;
	unsigned int i;

	object = json_loadb(line, len, JSON_REJECT_DUPLICATES, &error);
	if (!object)
		return json_pack("{s:s, s:s}", "error", "this is not JSON",
				 "text", error.text);
	if (!json_is_object(object)) {
		json_decref(object);
		return fault("this is not an object of JSON");
	}
	json_object_foreach(object, name, value) {
		for (i = 0; i < ARRAY_SIZE(known); i++)
			if (!strcmp(name, known[i]))
				break;
		if (i < ARRAY_SIZE(known))
			continue;
		result = json_pack("{s:s, s:s}", "error",
				   "this name is not known", "name", name);
		json_decref(object);
		return result;
	}
	command = json_object_get(object, "command");
	if (!command)
		result = loss(lines, object, interface);
	else if (json_is_string(command) && json_object_size(object) == 1 &&
		 !strcmp(json_string_value(command), "status"))
		result = status(lines);
	else
		result = fault("the only command is \"status\", alone");
	json_decref(object);
	return result;
}
