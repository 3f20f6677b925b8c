// SPDX-License-Identifier: GPL-2.0
/*
 * load - load the module as this kernel needs it, or say what prevents it
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pamsctl.h"

#define WORDS_MAX	4

/* The command that loads it, words and a NULL; none if there is nothing to. */
static void command_words(const struct module *module, char *parameter,
			  size_t room, const char **word)
{
	if (!module->file[0] || module->loaded) {
		*word = NULL;
		return;
	}
	*word++ = module->installed ? "modprobe" : "insmod";
	*word++ = module->installed ? "mptcp_pams" : module->file;
	if (module->symbols_known && !module->kprobes) {
		snprintf(parameter, room, "kallsyms_lookup_name=0x%" PRIx64,
			 module->lookup);
		*word++ = parameter;
	}
	*word = NULL;
}

static int run_command(const char **word)
{
	int status;
	pid_t pid;

	pid = fork();
	if (pid < 0)
		return -errno;
	if (!pid) {
		/* its words are for people, JSON is not */
		dup2(STDERR_FILENO, STDOUT_FILENO);
		/* a user's lacks the administrator's folders */
		setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1);
		execvp(word[0], (char **)word);
		fprintf(stderr, "pamsctl: %s: %s\n", word[0], strerror(errno));
		_exit(127);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -EIO;
}

/* The kernel's log from now on, or -1. */
static int open_log(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0)
		lseek(fd, 0, SEEK_END);
	return fd;
}

/* The last that it says of the module. */
static bool last_words(int fd, char *text, size_t room)
{
	char record[2048];
	bool found = false;
	ssize_t length;
	char *at;

	/* one record per read, EPIPE for those that are overwritten */
	while (fd >= 0) {
		length = read(fd, record, sizeof(record) - 1);
		if (length < 0 && errno == EPIPE)
			continue;
		if (length <= 0)
			break;
		record[length] = 0;
		at = strstr(record, ";mptcp_pams: ");
		if (!at)
			continue;
		at++;
		snprintf(text, room, "%.*s", (int)strcspn(at, "\n"), at);
		found = true;
	}
	return found;
}

static json_t *module_json(const struct module *module, const char **word,
			   json_t *advice)
{
	json_t *object, *command = json_array();

	while (*word)
		json_array_append_new(command, json_string(*word++));
	object = json_pack("{s:b, s:s, s:b, s:b, s:b, s:b, s:b, s:O, s:o}",
			   "loaded", module_is_loaded(),
			   "kernel", module->release,
			   "installed", module->installed,
			   "signed", module->signed_,
			   "secure_boot", module->secure_boot,
			   "lockdown", module->lockdown,
			   "must_be_signed", module->must_be_signed,
			   "advice", advice, "command", command);
	if (module->symbols_known)
		json_object_set_new(object, "kprobes",
				    json_boolean(module->kprobes));
	json_object_set_new(object, "file", module->file[0] ?
			    json_string(module->file) : json_null());
	return object;
}

static void print_command(const char *intro, const char **word)
{
	printf("%s", intro);
	while (*word)
		printf(" %s", *word++);
	putchar('\n');
}

static int load(const struct module *module, const char **word)
{
	int log = open_log(), status = DONE;
	char why[512];

	if (run_command(word)) {
		if (!last_words(log, why, sizeof(why)))
			snprintf(why, sizeof(why), "nothing%s",
				 module->must_be_signed ?
				 ": was its key enrolled (mokutil --import)?" :
				 "");
		status = refuse(FAILED, "%s failed; the kernel's log says: %s",
				word[0], why);
	}
	if (log >= 0)
		close(log);
	return status;
}

static int print_result(const struct module *module, const char **word,
			json_t *advice)
{
	json_t *text;
	size_t i;

	if (options.json)
		return print_json(module_json(module, word, advice));
	if (module->loaded) {
		puts("the module mptcp_pams is loaded");
		return DONE;
	}
	json_array_foreach(advice, i, text)
		printf("first: %s\n", json_string_value(text));
	if (module->file[0])
		print_command(options.given & OPT_DRY_RUN ?
			      "would run:" : "then run:", word);
	return DONE;
}

int load_command(struct words *words)
{
	const char *word[WORDS_MAX];
	struct module module;
	char parameter[64];
	json_t *advice;
	int status = DONE;

	if (no_more_words(words))
		return USAGE;
	advice = json_array();
	module_look(&module, options.module);
	module_advice(&module, advice);
	command_words(&module, parameter, sizeof(parameter), word);
	if (!module.loaded && !(options.given & OPT_DRY_RUN)) {
		if (json_array_size(advice))
			status = module.may_load ? FAILED : NOT_PERMITTED;
		else
			status = load(&module, word);
		if (!status)
			module.loaded = true;
		else if (!json_array_size(advice))
			goto out;	/* it has been said */
	}
	if (print_result(&module, word, advice))
		status = FAILED;
out:
	json_decref(advice);
	return status;
}
