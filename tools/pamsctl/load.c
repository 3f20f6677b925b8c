// SPDX-License-Identifier: GPL-2.0
/*
 * load - loads the module with the parameters that this kernel needs, or says what
 * prevents that; unloads the module
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "pamsctl.h"

#define PARAMETERS_MAX	64

/* The parameters that the module needs in this kernel; "" if it needs none. */
static void module_parameters(const struct module *module, char *parameters)
{
	parameters[0] = 0;
	if (module->symbols_known && !module->kprobes)
		snprintf(parameters, PARAMETERS_MAX,
			 "kallsyms_lookup_name=0x%" PRIx64, module->lookup);
}

/* Open the kernel's log for the messages from now on. A file descriptor, or -1. */
static int open_log(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0)
		lseek(fd, 0, SEEK_END);
	return fd;
}

/* The log's last message from the module; false if there is none. */
static bool last_words(int fd, char *text, size_t room)
{
	char record[2048];
	bool found = false;
	ssize_t length;
	char *at;

	/* each read() returns one record, or EPIPE if records were overwritten unread */
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

static json_t *module_json(const struct module *module,
			   const char *parameters, json_t *advice)
{
	json_t *object;

	object = json_pack("{s:b, s:s, s:b, s:b, s:b, s:b, s:b, s:O, s:s}",
			   "loaded", module_is_loaded(),
			   "kernel", module->release,
			   "installed", module->installed,
			   "signed", module->signed_,
			   "secure_boot", module->secure_boot,
			   "lockdown", module->lockdown,
			   "must_be_signed", module->must_be_signed,
			   "advice", advice, "parameters", parameters);
	if (module->symbols_known)
		json_object_set_new(object, "kprobes",
				    json_boolean(module->kprobes));
	json_object_set_new(object, "file", module->file[0] ?
			    json_string(module->file) : json_null());
	return object;
}

static int insert(const struct module *module, const char *parameters, char *why, size_t room)
{
	int log = open_log(), status = DONE, err;
	char words[512];

	err = loader_insert(module, parameters);
	if (err && err != -EEXIST) {
		if (!last_words(log, words, sizeof(words)))
			snprintf(words, sizeof(words), "nothing%s",
				 module->must_be_signed ?
				 ": was its key enrolled (pamsctl doctor)?" :
				 "");
		snprintf(why, room, "%.2000s can't be loaded: %s; the kernel's log says: %s",
			 module->file, err < 0 ? strerror(-err) :
			 "modprobe.d prevents it", words);
		status = FAILED;
	}
	if (log >= 0)
		close(log);
	return status;
}

static int load(const struct module *module, const char *parameters)
{
	char why[512];

	if (insert(module, parameters, why, sizeof(why)))
		return refuse(FAILED, "%s", why);
	return DONE;
}

int module_load(const char *file, char *why, size_t room)
{
	char parameters[PARAMETERS_MAX];
	struct module module;

	module_look(&module, file);
	module_parameters(&module, parameters);
	return insert(&module, parameters, why, room);
}

static int print_result(const struct module *module, const char *parameters,
			json_t *advice)
{
	json_t *text;
	size_t i;

	if (options.json)
		return print_json(module_json(module, parameters, advice));
	if (module->loaded) {
		puts("the module mptcp_pams is loaded");
		return DONE;
	}
	json_array_foreach(advice, i, text)
		printf("first: %s\n", json_string_value(text));
	if (module->file[0])
		printf("%s %s%s%s\n", options.given & OPT_DRY_RUN ?
		       "would load:" : "then load:", module->file,
		       parameters[0] ? " with " : "", parameters);
	return DONE;
}

int load_command(struct words *words)
{
	char parameters[PARAMETERS_MAX];
	struct module module;
	json_t *advice;
	int status = DONE;

	if (no_more_words(words))
		return USAGE;
	advice = json_array();
	module_look(&module, options.module);
	module_advice(&module, advice);
	module_parameters(&module, parameters);
	if (!module.loaded && !(options.given & OPT_DRY_RUN)) {
		if (json_array_size(advice))
			status = module.may_load ? FAILED : NOT_PERMITTED;
		else
			status = load(&module, parameters);
		if (!status)
			module.loaded = true;
		else if (!json_array_size(advice))
			goto out;	/* load() has said what failed */
	}
	if (print_result(&module, parameters, advice))
		status = FAILED;
out:
	json_decref(advice);
	return status;
}

static int unload(void)
{
	int err = loader_remove();

	switch (err) {
	case 0:
	case -ENOENT:		/* unloaded in the meantime */
		return DONE;
	case -EPERM:
		return refuse(NOT_PERMITTED,
			      "unloading needs CAP_SYS_MODULE: run it as root");
	case -EAGAIN:
		return refuse(FAILED,
			      "the module mptcp_pams is in use: sockets have one "
			      "of its schedulers; end their programs (sudo ss "
			      "-Map shows them), wait a minute");
	}
	return refuse(FAILED, "the module mptcp_pams can't be unloaded: %s",
		      strerror(-err));
}

int unload_command(struct words *words)
{
	char chosen[64] = "";
	int status = DONE;

	if (no_more_words(words))
		return USAGE;
	if (module_is_loaded())
		status = unload();
	if (status)
		return status;
	if (options.json)
		return print_json(json_pack("{s:b}", "loaded", 0));
	puts("the module mptcp_pams is not loaded");
	if (scheduler_chosen(chosen, sizeof(chosen)) && is_ours(chosen))
		printf("net.mptcp.scheduler is still %s: until the module is "
		       "loaded again new sockets use default\n", chosen);
	return DONE;
}
