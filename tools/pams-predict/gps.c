// SPDX-License-Identifier: GPL-2.0
/*
 * gps - position, speed and heading from gpsd
 *
 * If built without libgps (make GPS=), the option --gpsd prints an error.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predict.h"

#ifdef HAVE_GPS

#include <fcntl.h>
#include <gps.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define HOST_TEXT	256
#define ADDRESSES_TEXT	512
#define LOOK_UP_MS	1000
#define CONNECT_US	500000
/* addresses without an answer after which connecting is given up */
#define SILENT_MAX	2

struct gps {
	struct gps_data_t data;
};

static atomic_int alarms;

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

static void on_alarm(int number)
{
	(void)number;
	alarms++;
}

/*
 * Connect to one of the addresses. libgps waits as long as TCP for a host that is off, two
 * minutes, unless a signal interrupts it. So a timer sends a signal every CONNECT_US.
 */
static int open_in_time(char *addresses, const char *port, struct gps_data_t *data)
{
	const struct itimerval none = { }, limit = {
		.it_value.tv_usec = CONNECT_US,
		.it_interval.tv_usec = CONNECT_US,
	};
	const struct sigaction interrupt = { .sa_handler = on_alarm };
	char *rest, *address = strtok_r(addresses, "\n", &rest);
	struct sigaction before;
	int err = -1;

	alarms = 0;
	sigaction(SIGALRM, &interrupt, &before);
	setitimer(ITIMER_REAL, &limit, NULL);
	for (; address && err && alarms < SILENT_MAX; address = strtok_r(NULL, "\n", &rest))
		err = gps_open(address, port, data);
	setitimer(ITIMER_REAL, &none, NULL);
	sigaction(SIGALRM, &before, NULL);
	return err;
}

/* Connect to gpsd at "HOST" or "HOST:PORT"; NULL if that fails. */
struct gps *gps_connect(const char *where)
{
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
	if (open_in_time(addresses, port ? port + 1 : DEFAULT_GPSD_PORT,
			 &gps->data)) {
		free(gps);
		return NULL;
	}
	gps_stream(&gps->data, WATCH_ENABLE | WATCH_JSON, NULL);
	return gps;
}

/* Closing the connection ends gpsd's watch. Ending the watch first may raise SIGPIPE. */
void gps_disconnect(struct gps *gps)
{
	if (!gps)
		return;
	gps_close(&gps->data);
	free(gps);
}

int gps_descriptor(const struct gps *gps)
{
	return gps->data.gps_fd;
}

int gps_fix(struct gps *gps, struct fix *fix)
{
	const struct gps_fix_t *is = &gps->data.fix;
	bool new = false;

	/* several reports may have arrived: use the last one */
	while (gps_waiting(&gps->data, 0)) {
		int got = gps_read(&gps->data, NULL, 0);

		if (got < 0)
			return -1;
		if (!got)
			break;	/* the rest of a line comes later */
		new |= gps->data.set & LATLON_SET && is->mode >= MODE_2D &&
		       isfinite(is->latitude) && isfinite(is->longitude);
	}
	if (!new)
		return 0;
	fix->position.latitude = is->latitude;
	fix->position.longitude = is->longitude;
	fix->speed_mps = is->speed;
	fix->heading_deg = is->track;
	fix->error_m = isfinite(is->eph) ? is->eph : NAN;
	return 1;
}

#else

struct gps *gps_connect(const char *where)
{
	(void)where;
	fputs("pams-predict: built without libgps: --gpsd can't be used\n",
	      stderr);
	return NULL;
}

void gps_disconnect(struct gps *gps)
{
	(void)gps;
}

int gps_descriptor(const struct gps *gps)
{
	(void)gps;
	return -1;
}

int gps_fix(struct gps *gps, struct fix *fix)
{
	(void)gps;
	(void)fix;
	return -1;
}

#endif /* HAVE_GPS */
