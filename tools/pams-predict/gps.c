// SPDX-License-Identifier: GPL-2.0
/*
 * gps - position, speed and heading from gpsd
 *
 * gpsd writes lines of JSON (gpsd_json(5)), of which only TPV counts. libgps isn't used: where
 * the end of a line is damaged, its gps_read() doesn't return. A line here is as long as LINE_BYTES
 * at most, and what is no JSON is left out, like what gpsd says beside TPV.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

#include "predict.h"

#define PORT		"2947"
#define HOST_TEXT	256
#define ADDRESSES_TEXT	512
#define LOOK_UP_MS	1000
#define CONNECT_MS	500
/* addresses without an answer after which connecting is given up */
#define SILENT_MAX	2
/* gpsd's longest line, all satellites in view, has 10 KB */
#define LINE_BYTES	16384
/* reads in one call, so that who writes without end doesn't keep the caller */
#define READS_MAX	4
/* "mode" of a TPV: 2 and more is a position */
#define MODE_2D		2

struct gps {
	int fd;
	size_t len;		/* bytes of the line that has begun */
	bool skip;		/* its begin was too long, and is gone */
	bool complained;	/* about what is no JSON */
	char line[LINE_BYTES];
};

/* Look up a host, and write its numeric addresses, one per line, as many as fit. */
static void write_addresses(const char *host, int fd)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	char text[ADDRESSES_TEXT] = "";
	struct addrinfo *found;
	size_t len = 0;

	if (getaddrinfo(host, NULL, &hints, &found))
		return;
	for (; found; found = found->ai_next) {
		if (!getnameinfo(found->ai_addr, found->ai_addrlen, text + len,
				 sizeof(text) - len - 1, NULL, 0, NI_NUMERICHOST))
			len = stpcpy(text + strlen(text), "\n") - text;
		else
			text[len] = '\0';
	}
	if (write(fd, text, len) < 0)
		return;
}

/*
 * Look up a host for LOOK_UP_MS at most. A signal doesn't stop the resolver, which takes 10 s
 * and more if no name server answers. So another process, which can be killed, calls it.
 */
static void look_up(const char *host, char addresses[ADDRESSES_TEXT])
{
	struct pollfd answer = { .events = POLLIN };
	ssize_t len = 0;
	int ends[2];
	pid_t pid;

	addresses[0] = '\0';
	if (pipe2(ends, O_CLOEXEC))
		return;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		write_addresses(host, ends[1]);
		_exit(0);
	}
	close(ends[1]);
	answer.fd = ends[0];
	if (poll(&answer, 1, LOOK_UP_MS) > 0)
		len = read(ends[0], addresses, ADDRESSES_TEXT - 1);
	addresses[len > 0 ? len : 0] = '\0';
	close(ends[0]);
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
}

/* Nothing is sent to gpsd any more: thus it shows that its machine is gone, or this address. */
static void keep_alive(int fd)
{
	static const int on = 1, idle_s = 10, between_s = 5, count = 3;

	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &between_s, sizeof(between_s));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
}

/* A socket that is connected to that address, or -1. *silent counts those that don't answer. */
static int connect_to(const struct addrinfo *to, unsigned int *silent)
{
	int fd = socket(to->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), err = 0;
	struct pollfd answer = { .fd = fd, .events = POLLOUT };
	socklen_t len = sizeof(err);

	if (fd < 0)
		return -1;
	if (!connect(fd, to->ai_addr, to->ai_addrlen))
		return fd;
	if (errno == EINPROGRESS) {
		if (poll(&answer, 1, CONNECT_MS) <= 0)
			(*silent)++;
		else if (!getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) && !err)
			return fd;
	}
	close(fd);
	return -1;
}

/* Connect to one of the addresses; -1: none answers. */
static int connect_in_time(char *addresses, const char *port)
{
	const struct addrinfo hints = {
		.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST,
	};
	char *rest, *address = strtok_r(addresses, "\n", &rest);
	unsigned int silent = 0;
	struct addrinfo *found;
	int fd = -1;

	for (; address && fd < 0 && silent < SILENT_MAX; address = strtok_r(NULL, "\n", &rest)) {
		if (getaddrinfo(address, port, &hints, &found))
			continue;
		fd = connect_to(found, &silent);
		freeaddrinfo(found);
	}
	return fd;
}

/* Connect to gpsd at "HOST" or "HOST:PORT"; NULL if that fails. */
struct gps *gps_connect(const char *where)
{
	static const char watch[] = "?WATCH={\"enable\":true,\"json\":true}\n";
	struct gps *gps = calloc(1, sizeof(*gps));
	const char *port = strrchr(where, ':');
	char host[HOST_TEXT], addresses[ADDRESSES_TEXT];
	size_t len = port ? (size_t)(port - where) : strlen(where);

	if (!gps || len >= sizeof(host)) {
		free(gps);
		return NULL;
	}
	memcpy(host, where, len);
	host[len] = '\0';
	look_up(host, addresses);
	gps->fd = connect_in_time(addresses, port ? port + 1 : PORT);
	if (gps->fd >= 0)
		keep_alive(gps->fd);
	if (gps->fd >= 0 &&
	    send(gps->fd, watch, strlen(watch), MSG_NOSIGNAL) == (ssize_t)strlen(watch))
		return gps;
	gps_disconnect(gps);
	return NULL;
}

/* Closing the connection ends gpsd's watch. */
void gps_disconnect(struct gps *gps)
{
	if (!gps)
		return;
	if (gps->fd >= 0)
		close(gps->fd);
	free(gps);
}

int gps_descriptor(const struct gps *gps)
{
	return gps->fd;
}

/* A number of a report; NAN: it has none with that name. */
static double number_of(json_t *report, const char *name)
{
	json_t *value = json_object_get(report, name);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

/* Does the report say where the receiver is? */
static bool take_report(json_t *report, struct fix *fix)
{
	const char *class = json_string_value(json_object_get(report, "class"));
	struct position at = {
		number_of(report, "lat"), number_of(report, "lon"),
	};

	if (!class || strcmp(class, "TPV") || !(number_of(report, "mode") >= MODE_2D) ||
	    !(fabs(at.latitude) <= 90 && fabs(at.longitude) <= 180))
		return false;
	fix->position = at;
	fix->speed_mps = number_of(report, "speed");
	fix->heading_deg = number_of(report, "track");
	fix->error_m = number_of(report, "eph");
	return true;
}

static bool take_line(struct gps *gps, const char *line, size_t len, struct fix *fix)
{
	json_t *report = json_loadb(line, len, 0, NULL);
	bool new = report && take_report(report, fix);

	if (!report && len > strlen("\r\n") && !gps->complained) {
		fputs("pams-predict: gpsd sends what is no JSON; such lines are left out\n",
		      stderr);
		gps->complained = true;
	}
	json_decref(report);
	return new;
}

/* Take the lines that are complete, and keep the rest. */
static bool take_lines(struct gps *gps, struct fix *fix)
{
	char *line = gps->line, *end;
	size_t left = gps->len;
	bool new = false;

	while ((end = memchr(line, '\n', left))) {
		if (!gps->skip)
			new |= take_line(gps, line, end + 1 - line, fix);
		gps->skip = false;
		left -= end + 1 - line;
		line = end + 1;
	}
	memmove(gps->line, line, left);
	gps->len = left;
	if (left == sizeof(gps->line)) {
		gps->skip = true;
		gps->len = 0;
	}
	return new;
}

int gps_fix(struct gps *gps, struct fix *fix)
{
	bool new = false;

	/* several reports may have arrived: use the last one */
	for (unsigned int i = 0; i < READS_MAX; i++) {
		ssize_t got = recv(gps->fd, gps->line + gps->len,
				   sizeof(gps->line) - gps->len, MSG_DONTWAIT);

		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (got <= 0)
			return -1;
		gps->len += got;
		new |= take_lines(gps, fix);
	}
	return new;
}
