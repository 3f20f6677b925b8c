// SPDX-License-Identifier: GPL-2.0
/*
 * loader - what modprobe, insmod and rmmod do, through libkmod
 *
 * A module that depmod knows is loaded with the options that modprobe.d sets for
 * it; a module given as a file is loaded without them. libkmod's messages are
 * suppressed, as the commands say what failed.
 */
#include <errno.h>
#include <libkmod.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "pamsctl.h"

#define NAME	"mptcp_pams"

bool module_is_loaded(void)
{
	return !access("/sys/module/mptcp_pams/initstate", F_OK) ||
	       !access("/sys/module/mptcp_pams/refcnt", F_OK);
}

static void log_nothing(void *data, int priority, const char *file, int line,
			const char *function, const char *format, va_list args)
{
	(void)data;
	(void)priority;
	(void)file;
	(void)line;
	(void)function;
	(void)format;
	(void)args;
}

static struct kmod_ctx *open_loader(void)
{
	struct kmod_ctx *loader = kmod_new(NULL, NULL);

	if (loader)
		kmod_set_log_fn(loader, log_nothing, NULL);
	return loader;
}

/* The module, or NULL if it isn't installed. OpenWrt keeps modules without depmod's files. */
static struct kmod_module *find(struct kmod_ctx *loader)
{
	struct kmod_module *module = NULL;
	struct kmod_list *list = NULL;
	char file[256];

	if (kmod_module_new_from_lookup(loader, NAME, &list) < 0)
		return NULL;
	snprintf(file, sizeof(file), "%s/" NAME ".ko", kmod_get_dirname(loader));
	if (list)
		module = kmod_module_get_module(list);
	else if (kmod_module_new_from_path(loader, file, &module) < 0)
		module = NULL;
	kmod_module_unref_list(list);
	return module;
}

bool loader_find(char *file, size_t room)
{
	struct kmod_ctx *loader = open_loader();
	struct kmod_module *module = loader ? find(loader) : NULL;
	const char *path = module ? kmod_module_get_path(module) : NULL;

	if (path)
		snprintf(file, room, "%s", path);
	kmod_module_unref(module);
	kmod_unref(loader);
	return path;
}

int loader_insert(const struct module *what, const char *parameters)
{
	struct kmod_ctx *loader = open_loader();
	struct kmod_module *module = NULL;
	int err = -ENOENT;

	if (!loader)
		return -ENOMEM;
	if (what->installed) {
		module = find(loader);
		if (module)
			err = kmod_module_probe_insert_module(module, 0,
							      parameters, NULL,
							      NULL, NULL);
	} else {
		err = kmod_module_new_from_path(loader, what->file, &module);
		if (!err)
			err = kmod_module_insert_module(module, 0, parameters);
	}
	kmod_module_unref(module);
	kmod_unref(loader);
	return err;
}

int loader_remove(void)
{
	struct kmod_ctx *loader = open_loader();
	struct kmod_module *module = NULL;
	int err;

	if (!loader)
		return -ENOMEM;
	err = kmod_module_new_from_name(loader, NAME, &module);
	if (!err)
		err = kmod_module_remove_module(module, 0);
	kmod_module_unref(module);
	kmod_unref(loader);
	return err;
}
