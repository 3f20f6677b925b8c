// SPDX-License-Identifier: GPL-2.0
/*
 * networkmanager - answers as NetworkManager does: is a device metered?
 *
 *	networkmanager FILE
 *
 * On the bus of DBUS_SYSTEM_BUS_ADDRESS. FILE has the value of lo's property Metered, or
 * another word for what isn't a number. It knows no other device. Says "ready".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dbus/dbus.h>

#define NAME	"org.freedesktop.NetworkManager"
#define PATH	"/org/freedesktop/NetworkManager/Devices/1"

static const char *file;

static DBusMessage *error(DBusMessage *call, const char *name)
{
	return dbus_message_new_error(call, name, "no such thing");
}

static DBusMessage *find_device(DBusMessage *call)
{
	const char *interface, *path = PATH;
	DBusMessage *answer;

	if (!dbus_message_get_args(call, NULL, DBUS_TYPE_STRING, &interface,
				   DBUS_TYPE_INVALID) ||
	    strcmp(interface, "lo"))
		return error(call, NAME ".UnknownDevice");
	answer = dbus_message_new_method_return(call);
	dbus_message_append_args(answer, DBUS_TYPE_OBJECT_PATH, &path,
				 DBUS_TYPE_INVALID);
	return answer;
}

static DBusMessage *get(DBusMessage *call)
{
	const char *interface, *name, *word = NULL;
	dbus_uint32_t value;
	DBusMessage *answer;
	DBusMessageIter at, inner;
	char text[64] = "", *end;
	FILE *f;

	if (!dbus_message_has_path(call, PATH) ||
	    !dbus_message_get_args(call, NULL, DBUS_TYPE_STRING, &interface,
				   DBUS_TYPE_STRING, &name, DBUS_TYPE_INVALID) ||
	    strcmp(interface, NAME ".Device") || strcmp(name, "Metered"))
		return error(call, DBUS_ERROR_UNKNOWN_PROPERTY);
	f = fopen(file, "r");
	if (!f || !fgets(text, sizeof(text), f))
		return error(call, DBUS_ERROR_FAILED);
	fclose(f);
	value = strtoul(text, &end, 10);
	if (end == text)
		word = text;
	answer = dbus_message_new_method_return(call);
	dbus_message_iter_init_append(answer, &at);
	dbus_message_iter_open_container(&at, DBUS_TYPE_VARIANT,
					 word ? "s" : "u", &inner);
	if (word)
		dbus_message_iter_append_basic(&inner, DBUS_TYPE_STRING, &word);
	else
		dbus_message_iter_append_basic(&inner, DBUS_TYPE_UINT32, &value);
	dbus_message_iter_close_container(&at, &inner);
	return answer;
}

int main(int argc, char **argv)
{
	DBusConnection *bus = dbus_bus_get(DBUS_BUS_SYSTEM, NULL);
	DBusMessage *call, *answer;

	if (argc != 2 || !bus ||
	    dbus_bus_request_name(bus, NAME, 0, NULL) !=
	    DBUS_REQUEST_NAME_REPLY_PRIMARY_OWNER)
		return EXIT_FAILURE;
	file = argv[1];
	puts("ready");
	fflush(stdout);
	while (dbus_connection_read_write(bus, -1)) {
		while ((call = dbus_connection_pop_message(bus))) {
			answer = NULL;
			if (dbus_message_is_method_call(call, NAME,
							"GetDeviceByIpIface"))
				answer = find_device(call);
			else if (dbus_message_is_method_call(call,
							     DBUS_INTERFACE_PROPERTIES,
							     "Get"))
				answer = get(call);
			if (answer) {
				dbus_connection_send(bus, answer, NULL);
				dbus_message_unref(answer);
			}
			dbus_message_unref(call);
		}
	}
	return EXIT_SUCCESS;
}
