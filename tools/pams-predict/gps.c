// SPDX-License-Identifier: GPL-2.0
/*
 * gps - position, speed and heading from gpsd
 *
 * Without libgps (make GPS=) there is none, and the option says so.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predict.h"

#ifdef HAVE_GPS

#include <gps.h>
#include <signal.h>
#include <sys/time.h>

#define HOST_TEXT	256
#define CONNECT_US	500000

struct gps {
	struct gps_data_t data;
};

static void on_alarm(int number)
{
	(void)number;
}

/*
 * libgps waits for a host that is off as long as TCP does, two minutes, if no signal
 * interrupts it. Another one follows for the host's next address.
 */
static int open_in_time(const char *host, const char *port,
			struct gps_data_t *data)
{
	const struct itimerval none = { }, limit = {
		.it_value.tv_usec = CONNECT_US,
		.it_interval.tv_usec = CONNECT_US,
	};
	const struct sigaction interrupt = { .sa_handler = on_alarm };
	struct sigaction before;
	int err;

	sigaction(SIGALRM, &interrupt, &before);
	setitimer(ITIMER_REAL, &limit, NULL);
	err = gps_open(host, port, data);
	setitimer(ITIMER_REAL, &none, NULL);
	sigaction(SIGALRM, &before, NULL);
	return err;
}

/* "HOST" or "HOST:PORT" */
struct gps *gps_connect(const char *where)
{
	struct gps *gps = calloc(1, sizeof(*gps));
	const char *port = strrchr(where, ':');
	char host[HOST_TEXT];
	size_t len = port ? (size_t)(port - where) : strlen(where);

	if (!gps || len >= sizeof(host)) {
		free(gps);
		return NULL;
	}
	memcpy(host, where, len);
	host[len] = '\0';
	if (open_in_time(host, port ? port + 1 : DEFAULT_GPSD_PORT,
			 &gps->data)) {
		free(gps);
		return NULL;
	}
	gps_stream(&gps->data, WATCH_ENABLE | WATCH_JSON, NULL);
	return gps;
}

/* The end of the connection ends the watch; to say so first may raise SIGPIPE. */
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

	/* Several reports may have come; the last one counts. */
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
