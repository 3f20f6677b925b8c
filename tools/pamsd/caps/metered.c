// SPDX-License-Identifier: GPL-2.0
/*
 * metered - asks NetworkManager whether a device is metered
 *
 * Uses the system bus without blocking. Every few seconds it asks for the device of each
 * interface's name, and then for the device's property, since both may change. Answers
 * arrive in the event loop. NetworkManager is away if it hasn't answered for some questions,
 * however long these took: time passes in suspend, too.
 */
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "cap.h"

#ifndef HAVE_DBUS

struct metered *metered_new(struct event_base *base)
{
	(void)base;
	return NULL;
}

void metered_free(struct metered *metered)
{
	(void)metered;
}

void metered_ask(struct metered *metered, const char *interface)
{
	(void)metered;
	(void)interface;
}

enum metering metered_is(const struct metered *metered, const char *interface)
{
	(void)metered;
	(void)interface;
	return METERING_AWAY;
}

bool metered_can_be_had(void)
{
	return false;
}

#else

#include <dbus/dbus.h>

#define NAME		"org.freedesktop.NetworkManager"
#define MANAGER		"/org/freedesktop/NetworkManager"
#define DEVICE		NAME ".Device"
#define SYSTEM_BUS	"unix:path=/run/dbus/system_bus_socket"
#define DEVICES_MAX	32
#define STEPS_MAX	8
/* NetworkManager is away after so many questions without an answer of its. */
#define QUESTIONS_MAX	6

struct device {
	char interface[IF_NAMESIZE];
	dbus_uint32_t serial;	/* of the pending method call; 0: none */
	enum metering is;
	unsigned int questions;	/* since NetworkManager's last answer */
};

struct metered {
	struct event_base *base;
	DBusConnection *bus;
	struct event *event;
	bool heard;		/* the bus has answered on this connection */
	bool told;		/* say_refused() has logged its message */
	struct device devices[DEVICES_MAX];
	unsigned int count;
};

bool metered_can_be_had(void)
{
	return true;
}

/* --- questions --- */

static void disconnect(struct metered *metered)
{
	if (metered->event)
		event_free(metered->event);
	metered->event = NULL;
	if (metered->bus) {
		dbus_connection_close(metered->bus);
		dbus_connection_unref(metered->bus);
	}
	metered->bus = NULL;
	metered->heard = false;
	for (unsigned int i = 0; i < metered->count; i++) {
		metered->devices[i].serial = 0;
		metered->devices[i].is = METERING_UNKNOWN;
	}
}

/*
 * Send a method call with up to two strings (or NULL) as arguments. Returns its serial, or 0 if
 * there is no memory.
 */
static dbus_uint32_t ask(struct metered *metered, const char *to,
			 const char *path, const char *interface,
			 const char *method, const char *one, const char *two)
{
	DBusMessage *message = dbus_message_new_method_call(to, path, interface,
							    method);
	dbus_uint32_t serial = 0;

	if (!message)
		return 0;
	/* don't make the bus start the service if it isn't running */
	dbus_message_set_auto_start(message, false);
	if ((!one || dbus_message_append_args(message, DBUS_TYPE_STRING, &one,
					      DBUS_TYPE_INVALID)) &&
	    (!two || dbus_message_append_args(message, DBUS_TYPE_STRING, &two,
					      DBUS_TYPE_INVALID)) &&
	    !dbus_connection_send(metered->bus, message, &serial))
		serial = 0;
	dbus_message_unref(message);
	return serial;
}

/* --- answers --- */

/* The property is a variant of NM_METERED_YES, NO, GUESS_YES or GUESS_NO (1 to 4). */
static enum metering read_value(DBusMessage *message)
{
	DBusMessageIter at, inner;
	dbus_uint32_t value;

	if (!dbus_message_iter_init(message, &at) ||
	    dbus_message_iter_get_arg_type(&at) != DBUS_TYPE_VARIANT)
		return METERING_UNKNOWN;
	dbus_message_iter_recurse(&at, &inner);
	if (dbus_message_iter_get_arg_type(&inner) != DBUS_TYPE_UINT32)
		return METERING_UNKNOWN;
	dbus_message_iter_get_basic(&inner, &value);
	switch (value) {
	case 1:
	case 3:
		return METERING_YES;
	case 2:
	case 4:
		return METERING_NO;
	}
	return METERING_UNKNOWN;
}

static void take_answer(struct metered *metered, struct device *device,
			DBusMessage *message)
{
	const char *path, *error = dbus_message_get_error_name(message);

	device->serial = 0;
	if (!error || !strncmp(error, NAME, strlen(NAME)))
		device->questions = 0;
	/* the first answer is the device's path, the second one its property */
	if (dbus_message_get_type(message) == DBUS_MESSAGE_TYPE_METHOD_RETURN &&
	    dbus_message_get_args(message, NULL, DBUS_TYPE_OBJECT_PATH, &path,
				  DBUS_TYPE_INVALID)) {
		device->serial = ask(metered, NAME, path,
				     DBUS_INTERFACE_PROPERTIES, "Get", DEVICE,
				     "Metered");
		return;
	}
	/* or an error: NetworkManager doesn't know the device, or isn't running */
	device->is = read_value(message);
}

static void take(struct metered *metered, DBusMessage *message)
{
	dbus_uint32_t serial = dbus_message_get_reply_serial(message);

	for (unsigned int i = 0; serial && i < metered->count; i++)
		if (metered->devices[i].serial == serial)
			take_answer(metered, &metered->devices[i], message);
}

/* Log that the bus refuses pamsd: dbus-daemon doesn't know dynamic users of systemd. */
static void say_refused(struct metered *metered)
{
	if (metered->heard || metered->told)
		return;
	say("metered: the system bus doesn't let pamsd in, whose user it doesn't know: "
	    "useradd --system pamsd, and restart it");
	metered->told = true;
}

/*
 * Read and write without blocking. Each call of the library does one step; after reading it may
 * have something to write, also while it authenticates to the bus.
 */
static void run(struct metered *metered)
{
	unsigned int steps = 0;
	DBusMessage *message;

	do {
		if (!dbus_connection_read_write(metered->bus, 0)) {
			say_refused(metered);
			disconnect(metered);
			return;
		}
		while ((message = dbus_connection_pop_message(metered->bus))) {
			metered->heard = true;
			take(metered, message);
			dbus_message_unref(message);
		}
	} while (dbus_connection_has_messages_to_send(metered->bus) &&
		 ++steps < STEPS_MAX);
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	run(arg);
}

/* Connect without dbus_bus_get(), which would block until the bus answers. */
static bool connect_to_bus(struct metered *metered)
{
	const char *address = getenv("DBUS_SYSTEM_BUS_ADDRESS");
	int fd;

	metered->bus = dbus_connection_open_private(address ?: SYSTEM_BUS, NULL);
	if (!metered->bus)
		return false;
	dbus_connection_set_exit_on_disconnect(metered->bus, false);
	if (dbus_connection_get_unix_fd(metered->bus, &fd))
		metered->event = event_new(metered->base, fd,
					   EV_READ | EV_PERSIST, on_readable,
					   metered);
	if (metered->event && !event_add(metered->event, NULL) &&
	    ask(metered, DBUS_SERVICE_DBUS, DBUS_PATH_DBUS, DBUS_INTERFACE_DBUS,
		"Hello", NULL, NULL))
		return true;
	disconnect(metered);
	return false;
}

/* --- functions for caps.c --- */

static struct device *find(struct metered *metered, const char *interface)
{
	struct device *device;

	for (unsigned int i = 0; i < metered->count; i++)
		if (!strcmp(metered->devices[i].interface, interface))
			return &metered->devices[i];
	if (metered->count == DEVICES_MAX)
		return NULL;
	device = &metered->devices[metered->count++];
	snprintf(device->interface, IF_NAMESIZE, "%s", interface);
	return device;
}

void metered_ask(struct metered *metered, const char *interface)
{
	struct device *device = find(metered, interface);

	if (device)
		device->questions++;
	if (!device || (!metered->bus && !connect_to_bus(metered)))
		return;
	device->serial = ask(metered, NAME, MANAGER, NAME, "GetDeviceByIpIface",
			     interface, NULL);
	run(metered);
}

enum metering metered_is(const struct metered *metered, const char *interface)
{
	for (unsigned int i = 0; metered && i < metered->count; i++) {
		const struct device *device = &metered->devices[i];

		if (!strcmp(device->interface, interface))
			return device->questions > QUESTIONS_MAX ? METERING_AWAY : device->is;
	}
	return metered ? METERING_UNKNOWN : METERING_AWAY;
}

struct metered *metered_new(struct event_base *base)
{
	struct metered *metered = calloc(1, sizeof(*metered));

	if (metered)
		metered->base = base;
	return metered;
}

void metered_free(struct metered *metered)
{
	if (!metered)
		return;
	disconnect(metered);
	free(metered);
}

#endif /* HAVE_DBUS */
