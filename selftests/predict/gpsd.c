// SPDX-License-Identifier: GPL-2.0
/*
 * gpsd - pams-predict's side of gpsd, against one that says what it is told to,
 * on loopback
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "predict.h"
#include "tap.h"

#define PAUSE_MS	20
#define PAUSES_MAX	250	/* 5 s */

static const char fixes[] =
	"{\"class\":\"VERSION\",\"release\":\"3.22\",\"rev\":\"3.22\","
	"\"proto_major\":3,\"proto_minor\":14}\r\n"
	"{\"class\":\"TPV\",\"device\":\"/dev/a\",\"mode\":1}\r\n"
	"{\"class\":\"TPV\",\"device\":\"/dev/a\",\"mode\":3,"
	"\"time\":\"2026-11-22T06:30:00.000Z\",\"lat\":35.5,\"lon\":139.25,"
	"\"speed\":13.0,\"track\":90.0,\"eph\":4.5}\r\n";

/* Says it all to one client when asked; when told to it ends, as if it crashed. */
static pid_t serve(int listener, int end[2])
{
	const struct linger reset = { .l_onoff = 1 };
	pid_t pid = fork();
	char buffer[256];
	bool good;
	int client;

	if (pid)
		return pid;
	/* its own end of the pipe, which would never be closed */
	close(end[1]);
	client = accept(listener, NULL, NULL);
	good = read(client, buffer, sizeof(buffer)) > 0 &&
	       write(client, fixes, strlen(fixes)) > 0 &&
	       read(end[0], buffer, 1) == 0 &&
	       !setsockopt(client, SOL_SOCKET, SO_LINGER, &reset,
			   sizeof(reset));
	_exit(!good);
}

/* What gps_fix() answers, once that isn't "nothing new". */
static int answer(struct gps *gps, struct fix *fix)
{
	struct pollfd fd = { .fd = gps_descriptor(gps), .events = POLLIN };
	int got = 0;

	for (unsigned int i = 0; i < PAUSES_MAX && !got; i++) {
		poll(&fd, 1, PAUSE_MS);
		got = gps_fix(gps, fix);
	}
	return got;
}

static void fix_and_end_at(const char *host)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	int listener = socket(AF_INET, SOCK_STREAM, 0), status, end[2];
	socklen_t len = sizeof(address);
	struct fix fix = { };
	struct gps *gps;
	char where[64];
	pid_t pid;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	check(!bind(listener, (struct sockaddr *)&address, len));
	check(!listen(listener, 1));
	check(!getsockname(listener, (struct sockaddr *)&address, &len));
	snprintf(where, sizeof(where), "%s:%u", host, ntohs(address.sin_port));
	check(!pipe2(end, O_CLOEXEC));
	pid = serve(listener, end);
	gps = gps_connect(where);
	if (check(gps)) {
		check(answer(gps, &fix) == 1);
		check(fix.position.latitude == 35.5);
		check(fix.position.longitude == 139.25);
		check(fix.speed_mps == 13 && fix.heading_deg == 90);
		check(fix.error_m == 4.5);
		close(end[1]);
		check(answer(gps, &fix) == -1);
		gps_disconnect(gps);
	} else {
		kill(pid, SIGKILL);
	}
	waitpid(pid, &status, 0);
	check(!status);
	close(end[0]);
	close(listener);
}

/* One that says that to a client, so many times, and ends with it. */
static struct gps *told(const char *text, unsigned int times, pid_t *pid)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	int listener = socket(AF_INET, SOCK_STREAM, 0), client;
	socklen_t len = sizeof(address);
	char where[64], buffer[256];
	struct gps *gps;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	check(!bind(listener, (struct sockaddr *)&address, len));
	check(!listen(listener, 1));
	check(!getsockname(listener, (struct sockaddr *)&address, &len));
	snprintf(where, sizeof(where), "127.0.0.1:%u", ntohs(address.sin_port));
	fflush(stdout);
	*pid = fork();
	if (!*pid) {
		client = accept(listener, NULL, NULL);
		if (read(client, buffer, sizeof(buffer)) > 0)
			while (times-- && send(client, text, strlen(text), MSG_NOSIGNAL) > 0)
				;
		while (read(client, buffer, sizeof(buffer)) > 0)
			;
		_exit(0);
	}
	close(listener);
	gps = gps_connect(where);
	check(gps);
	return gps;
}

static void ends(struct gps *gps, pid_t pid)
{
	gps_disconnect(gps);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Each byte in turn is another one: whatever that makes of the line, the next fix counts. */
static void a_byte_is_flipped(void)
{
	static const char next[] = "{\"class\":\"TPV\",\"mode\":2,\"lat\":-1,\"lon\":2}\r\n";
	char text[sizeof(fixes) + sizeof(next) + sizeof(next)];
	struct fix fix = { };
	struct gps *gps;
	pid_t pid;

	for (size_t i = 0; i < strlen(fixes); i++) {
		snprintf(text, sizeof(text), "%s%s%s", fixes, next, next);
		text[i] ^= 0x20;
		gps = told(text, 1, &pid);
		while (gps && fix.position.latitude != -1)
			if (!check(answer(gps, &fix) == 1))
				break;
		check(fix.position.longitude == 2 && isnan(fix.speed_mps));
		fix.position.latitude = 0;
		ends(gps, pid);
	}
}

/* A line that is too long is left out, and the one after it isn't. */
static void a_line_without_an_end(void)
{
	static char text[100000];
	struct fix fix = { };
	struct gps *gps;
	pid_t pid;

	memset(text, '{', sizeof(text));
	snprintf(text + sizeof(text) - sizeof(fixes) - 1, sizeof(fixes) + 1, "\n%s", fixes);
	gps = told(text, 1, &pid);
	check(gps && answer(gps, &fix) == 1 && fix.position.latitude == 35.5);
	ends(gps, pid);
}

/* Who writes without a pause doesn't keep the caller. */
static void a_stream_without_an_end(void)
{
	struct fix fix = { };
	struct gps *gps;
	pid_t pid;

	gps = told(fixes, UINT_MAX, &pid);
	for (unsigned int i = 0; gps && i < 50; i++)
		check(gps_fix(gps, &fix) >= 0);
	check(answer(gps, &fix) == 1);
	ends(gps, pid);
}

static void fix_and_end(void)
{
	fix_and_end_at("127.0.0.1");
}

/* Where localhost is ::1 first, nobody listens there: the next address counts. */
static void fix_and_end_by_name(void)
{
	fix_and_end_at("localhost");
}

/* How long it takes to see that nobody answers there. */
static double in_vain_s(const char *where)
{
	struct timespec from, to;

	clock_gettime(CLOCK_MONOTONIC, &from);
	check(!gps_connect(where));
	clock_gettime(CLOCK_MONOTONIC, &to);
	return to.tv_sec - from.tv_sec + (to.tv_nsec - from.tv_nsec) / 1e9;
}

/* What isn't accepted keeps its place in the queue, and who comes then gets no answer. */
static void a_host_that_is_off(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t len = sizeof(address);
	char where[64];
	int others[4];

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	check(!bind(listener, (struct sockaddr *)&address, len));
	check(!listen(listener, 0));
	check(!getsockname(listener, (struct sockaddr *)&address, &len));
	snprintf(where, sizeof(where), "127.0.0.1:%u", ntohs(address.sin_port));
	for (unsigned int i = 0; i < 4; i++) {
		others[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		connect(others[i], (struct sockaddr *)&address, len);
	}
	check(in_vain_s(where) < 5);
	for (unsigned int i = 0; i < 4; i++)
		close(others[i]);
	close(listener);
}

static bool is_written(char *name, const char *text)
{
	int fd = mkstemp(name);
	bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	close(fd);
	return good;
}

/*
 * A name server that never answers, at 127.0.0.1, for this process, in namespaces of its
 * own; -1: there can't be one here. In a new user namespace no file can be made.
 */
static int silent_name_server(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(53) };
	char servers[] = "/tmp/gpsd-XXXXXX", sources[] = "/tmp/gpsd-XXXXXX";
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int server;
	bool good;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	good = is_written(servers, "nameserver 127.0.0.1\n") &&
	       is_written(sources, "hosts: dns\n") &&
	       !unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET) &&
	       !mount(servers, "/etc/resolv.conf", NULL, MS_BIND, NULL) &&
	       !mount(sources, "/etc/nsswitch.conf", NULL, MS_BIND, NULL);
	unlink(servers);
	unlink(sources);
	server = socket(AF_INET, SOCK_DGRAM, 0);
	if (good && !ioctl(server, SIOCSIFFLAGS, &lo) &&
	    !bind(server, (struct sockaddr *)&address, sizeof(address)))
		return server;
	close(server);
	return -1;
}

static void look_up_in_vain(void)
{
	int server = silent_name_server();
	char question[512];

	check(in_vain_s("gpsd.example.org") < 2);
	check(recv(server, question, sizeof(question), MSG_DONTWAIT) > 0);
	/* who looked the name up is no zombie */
	check(waitpid(-1, NULL, WNOHANG) < 0);
}

static bool has_silent_name_server(void)
{
	int status = 1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(silent_name_server() < 0);
	waitpid(pid, &status, 0);
	return !status;
}

static void a_name_server_that_is_off(void)
{
	int status = 1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		look_up_in_vain();
		fflush(stdout);
		_exit(tap_bad);
	}
	waitpid(pid, &status, 0);
	check(!status);
}

static bool has_localhost(void)
{
	struct addrinfo *found;

	if (getaddrinfo("localhost", NULL, NULL, &found))
		return false;
	freeaddrinfo(found);
	return true;
}

int main(void)
{
	run(fix_and_end);
	if (has_localhost())
		run(fix_and_end_by_name);
	else
		skip(fix_and_end_by_name, "localhost has no address here");
	run(a_byte_is_flipped);
	run(a_line_without_an_end);
	run(a_stream_without_an_end);
	run(a_host_that_is_off);
	if (has_silent_name_server())
		run(a_name_server_that_is_off);
	else
		skip(a_name_server_that_is_off, "no user, mount and network namespaces here");
	return tap_end();
}
