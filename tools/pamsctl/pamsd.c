// SPDX-License-Identifier: GPL-2.0
/* pamsd - asks the daemon for its status, over its control socket */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "pamsctl.h"

#define PATIENCE_S	5

int unix_connect(const char *path)
{
	const struct timeval patience = { .tv_sec = PATIENCE_S };
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd, err;

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (!connect(fd, (struct sockaddr *)&address, sizeof(address)))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

json_t *pamsd_status(const char *path, int *err)
{
	static const char question[] = "{\"command\": \"status\"}\n";
	int fd = unix_connect(path);
	json_t *status = NULL;
	char *line = NULL;
	size_t room = 0;
	FILE *stream;

	*err = fd;
	if (fd < 0)
		return NULL;
	*err = -EPROTO;
	stream = fdopen(fd, "r+");
	if (!stream) {
		close(fd);
		return NULL;
	}
	fputs(question, stream);
	fflush(stream);
	if (getline(&line, &room, stream) > 0)
		status = json_loads(line, 0, NULL);
	free(line);
	fclose(stream);
	return status;
}

bool procd_is_here(void)
{
	return !access("/etc/rc.common", F_OK);
}

const char pamsd_enable[] =
	"pamsd --check && systemctl enable pamsd && systemctl restart pamsd && pamsctl peers";
const char pamsd_enable_uci[] =
	"write the same into /etc/config/pamsd; or, if that has nothing else, let pamsd use "
	"/etc/pamsd/pamsd.conf in place of it: uci set pamsd.global.own_file=1. Then: "
	"uci set pamsd.global.enabled=1 && uci commit pamsd && service pamsd restart && "
	"pamsctl peers";

const char *pamsd_start(void)
{
	return procd_is_here() ? "service pamsd start" : "systemctl start pamsd";
}

static int refuse_pamsd(const char *path, int err)
{
	if (err == -ENOENT || err == -ECONNREFUSED)
		return refuse(FAILED, "pamsd isn't running: nothing listens at "
			      "its control socket %s: %s", path, pamsd_start());
	return refuse(err == -EACCES ? NOT_PERMITTED : FAILED,
		      "pamsd can't be asked at its control socket %s: %s%s",
		      path, strerror(-err), err == -EACCES ?
		      ": run it as root" : "");
}

int pamsd_ask(struct words *words, json_t **status)
{
	const char *path = options.control ?: PAMSD_CONTROL;
	int err;

	if (no_more_words(words))
		return USAGE;
	*status = pamsd_status(path, &err);
	return *status ? DONE : refuse_pamsd(path, err);
}
