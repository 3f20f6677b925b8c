// SPDX-License-Identifier: GPL-2.0
/*
 * plugin - programs that predict when an interface's path will be lost
 *
 * A plugin is started for its interface, whose name is in PAMSD_INTERFACE, and writes
 * lines of JSON to its standard output. When it ends it is started again, after 1, 2, 4
 * ... 64 s; a line that isn't refused sets that back to 1 s.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <jansson.h>

#include "pamsd.h"

#define LINE_BYTES_MAX	4096
#define AGAIN_MIN_S	1
#define AGAIN_MAX_S	64
/* What is read of a plugin's output, a few hundred lines a second: one that never pauses waits. */
#define READ_TICK_MS	100
#define READ_TICK_BYTES	1024
#define READ_BURST_BYTES	8192

struct plugin {
	struct plugins *plugins;
	const struct interface_config *config;
	pid_t pid;			/* 0: it isn't running */
	struct bufferevent *buffer;
	struct event *again;
	unsigned int again_s;
	bool said;			/* a refused line of this plugin was logged */
};

struct plugins {
	struct event_base *base;
	const struct lines *lines;
	struct plugin *plugins;
	unsigned int count;
	struct ev_token_bucket_cfg *pace;
};

/*
 * A plugin counts as ended when it closes its output. Kill it in case it still runs, and the
 * processes that it has started, which are in its process group.
 */
static void stop(struct plugin *plugin)
{
	int status;

	if (plugin->buffer)
		bufferevent_free(plugin->buffer);
	plugin->buffer = NULL;
	if (plugin->pid) {
		kill(-plugin->pid, SIGKILL);
		kill(plugin->pid, SIGKILL);
		waitpid(plugin->pid, &status, 0);
	}
	plugin->pid = 0;
}

static void start_later(struct plugin *plugin)
{
	struct timeval after = { .tv_sec = plugin->again_s };

	say("%s: the plugin %s has ended; again in %u s", plugin->config->name,
	    plugin->config->plugin[0], plugin->again_s);
	evtimer_add(plugin->again, &after);
	if (plugin->again_s < AGAIN_MAX_S)
		plugin->again_s *= 2;
}

static void on_output(struct bufferevent *buffer, void *arg)
{
	struct evbuffer *input = bufferevent_get_input(buffer);
	struct plugin *plugin = arg;
	const char *error;
	json_t *answer;
	char *line;
	size_t len;

	while ((line = evbuffer_readln(input, &len, EVBUFFER_EOL_LF))) {
		answer = lines_obey(plugin->plugins->lines, line, len,
				    plugin->config->name);
		free(line);
		error = json_string_value(json_object_get(answer, "error"));
		if (error && !plugin->said) {
			plugin->said = true;
			say("%s: the plugin %s wrote a line that is refused: %s",
			    plugin->config->name, plugin->config->plugin[0],
			    error);
		}
		/* the plugin works, so the next restart is soon again */
		if (!error)
			plugin->again_s = AGAIN_MIN_S;
		json_decref(answer);
	}
	if (evbuffer_get_length(input) > LINE_BYTES_MAX) {
		stop(plugin);
		start_later(plugin);
	}
}

static void on_closed(struct bufferevent *buffer, short what, void *arg)
{
	(void)buffer;
	if (!(what & (BEV_EVENT_EOF | BEV_EVENT_ERROR)))
		return;
	stop(arg);
	start_later(arg);
}

/*
 * Runs in the child process. The plugin gets none of the daemon's open files but standard
 * error, and none of its privileges; the kernel kills it when the daemon ends.
 */
static void become(const struct plugin *plugin, int output, pid_t daemon)
{
	int null = open("/dev/null", O_RDONLY);
	sigset_t none;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != daemon)
		_exit(127);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 ||
	    dup2(output, STDOUT_FILENO) < 0 ||
	    /* musl has no close_range() */
	    syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0))
		_exit(127);
	if (privilege_drop_all())
		_exit(127);
	unsetenv("NOTIFY_SOCKET");
	unsetenv("CREDENTIALS_DIRECTORY");
	setenv("PAMSD_INTERFACE", plugin->config->name, 1);
	execvp(plugin->config->plugin[0], plugin->config->plugin);
	_exit(127);
}

static int run(struct plugin *plugin)
{
	pid_t daemon = getpid();
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	plugin->pid = fork();
	if (!plugin->pid)
		become(plugin, ends[1], daemon);
	close(ends[1]);
	if (plugin->pid < 0) {
		plugin->pid = 0;
		close(ends[0]);
		return -EAGAIN;
	}
	evutil_make_socket_nonblocking(ends[0]);
	plugin->buffer = bufferevent_socket_new(plugin->plugins->base, ends[0],
						BEV_OPT_CLOSE_ON_FREE);
	if (!plugin->buffer) {
		close(ends[0]);
		stop(plugin);
		return -ENOMEM;
	}
	bufferevent_set_rate_limit(plugin->buffer, plugin->plugins->pace);
	bufferevent_setcb(plugin->buffer, on_output, NULL, on_closed, plugin);
	bufferevent_enable(plugin->buffer, EV_READ);
	return 0;
}

static void start(evutil_socket_t fd, short what, void *arg)
{
	struct plugin *plugin = arg;

	(void)fd;
	(void)what;
	if (run(plugin))
		start_later(plugin);
}

struct plugins *plugins_new(struct event_base *base,
			    const struct config *config,
			    const struct lines *lines)
{
	const struct timeval tick = { .tv_usec = READ_TICK_MS * 1000 };
	struct plugins *plugins = calloc(1, sizeof(*plugins));

	if (!plugins)
		return NULL;
	plugins->base = base;
	plugins->lines = lines;
	plugins->plugins = calloc(config->interface_count + 1,
				  sizeof(*plugins->plugins));
	plugins->pace = ev_token_bucket_cfg_new(READ_TICK_BYTES, READ_BURST_BYTES,
						EV_RATE_LIMIT_MAX, EV_RATE_LIMIT_MAX, &tick);
	if (!plugins->plugins || !plugins->pace) {
		plugins_free(plugins);
		return NULL;
	}
	for (unsigned int i = 0; i < config->interface_count; i++) {
		struct plugin *plugin = &plugins->plugins[plugins->count];

		if (!config->interfaces[i].plugin)
			continue;
		plugin->plugins = plugins;
		plugin->config = &config->interfaces[i];
		plugin->again_s = AGAIN_MIN_S;
		plugin->again = evtimer_new(base, start, plugin);
		if (!plugin->again) {
			plugins_free(plugins);
			return NULL;
		}
		plugins->count++;
		start(-1, 0, plugin);
	}
	return plugins;
}

void plugins_free(struct plugins *plugins)
{
	if (!plugins)
		return;
	for (unsigned int i = 0; i < plugins->count; i++) {
		stop(&plugins->plugins[i]);
		event_free(plugins->plugins[i].again);
	}
	if (plugins->pace)
		ev_token_bucket_cfg_free(plugins->pace);
	free(plugins->plugins);
	free(plugins);
}
