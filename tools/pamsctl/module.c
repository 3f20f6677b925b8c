// SPDX-License-Identifier: GPL-2.0
/*
 * module - finds the module's file for this kernel, and what loading it needs
 *
 * The module finds the kernel's functions through kprobes. In a kernel without
 * kprobes it needs the address of kallsyms_lookup_name as a parameter; if that
 * kernel exports the functions the parameter is unneeded, but harmless.
 */
#include <inttypes.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "pamsctl.h"

#define SIGNED_END	"~Module signature appended~\n"
#define SECURE_BOOT	"/sys/firmware/efi/efivars/SecureBoot-" \
			"8be4df61-93ca-11d2-aa0d-00e098032b8c"
/* the key that dkms signs with, in Ubuntu another; the owner's keys (MOK), as shim lists them */
#define DKMS_KEY	"/var/lib/dkms/mok.pub"
#define UBUNTU_KEY	"/var/lib/shim-signed/mok/MOK.der"
#define ENROLLED	"/sys/firmware/efi/efivars/MokListRT-" \
			"605dab50-e046-4300-abb6-3dd810dd8b23"
/* of kernels without type information, as make keep leaves it */
#define KEPT_SOURCE	"/var/lib/mptcp-pams-source"
#define KEYS_MAX	65536
#define SELF_MAX	3000

/* --- the module's file --- */

static bool exists(const char *file)
{
	return !access(file, F_OK);
}

/*
 * Look for a built module in the project's folder that has pamsctl. Not in the working folder: who
 * may write there isn't who may load.
 */
static void find_built(struct module *module)
{
	char self[SELF_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *end;

	self[length > 0 ? length : 0] = 0;
	/* pamsctl is TOP/build/tools/pamsctl */
	end = strstr(self, "/build/tools/");
	if (!end)
		return;
	*end = 0;
	snprintf(module->file, sizeof(module->file), "%s/build/%s/mptcp_pams.ko", self,
		 module->release);
	if (!exists(module->file))
		module->file[0] = 0;
}

/* A compressed module counts as signed, as its signature can't be seen here. */
static bool is_signed(const char *file)
{
	const char *suffix = strrchr(file, '.');
	char end[sizeof(SIGNED_END)] = "";
	FILE *f;
	bool fine;

	if (suffix && strcmp(suffix, ".ko"))
		return true;
	f = fopen(file, "r");
	if (!f)
		return false;
	fine = !fseek(f, -(long)strlen(SIGNED_END), SEEK_END) &&
	       fread(end, strlen(SIGNED_END), 1, f) == 1 &&
	       !strcmp(end, SIGNED_END);
	fclose(f);
	return fine;
}

/* --- the kernel --- */

static void look_at_symbols(struct module *module)
{
	FILE *f = fopen("/proc/kallsyms", "r");
	uint64_t address;
	char name[256], type;

	/* addresses are 0 for a process that may not see them */
	while (f && fscanf(f, "%" SCNx64 " %c %255s%*[^\n]", &address, &type,
			   name) == 3) {
		module->symbols_known = true;
		if (!strcmp(name, "register_kprobe"))
			module->kprobes = true;
		else if (!strcmp(name, "kallsyms_lookup_name"))
			module->lookup = address;
	}
	if (f)
		fclose(f);
}

static bool file_says(const char *file, const char *text)
{
	char content[256] = "";
	FILE *f = fopen(file, "r");
	bool found;

	if (!f)
		return false;
	found = fgets(content, sizeof(content), f) && strstr(content, text);
	fclose(f);
	return found;
}

static bool secure_boot(void)
{
	uint8_t variable[5] = { };	/* 4 bytes of attributes, then the value */
	FILE *f = fopen(SECURE_BOOT, "r");
	bool on;

	if (!f)
		return false;
	on = fread(variable, sizeof(variable), 1, f) == 1 && variable[4] == 1;
	fclose(f);
	return on;
}

static size_t read_keys(const char *file, char keys[KEYS_MAX])
{
	FILE *f = fopen(file, "r");
	size_t length = f ? fread(keys, 1, KEYS_MAX, f) : 0;

	if (f)
		fclose(f);
	return length;
}

const char *module_key_waits(const struct module *module)
{
	const char *file = exists(UBUNTU_KEY) ? UBUNTU_KEY : DKMS_KEY;
	static char key[KEYS_MAX], list[KEYS_MAX];
	size_t length = read_keys(file, key);

	if (!module->must_be_signed || !module->signed_ || !length ||
	    memmem(list, read_keys(ENROLLED, list), key, length))
		return NULL;
	return file;
}

bool has_capability(unsigned int number)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2] = { };

	return !syscall(SYS_capget, &header, data) &&
	       data[number / 32].effective & 1u << number % 32;
}

void module_look(struct module *module, const char *file)
{
	struct utsname kernel;

	memset(module, 0, sizeof(*module));
	uname(&kernel);
	snprintf(module->release, sizeof(module->release), "%s",
		 kernel.release);
	module->loaded = module_is_loaded();
	if (file)
		snprintf(module->file, sizeof(module->file), "%s", file);
	else if (loader_find(module->file, sizeof(module->file)))
		module->installed = true;
	else
		find_built(module);
	module->signed_ = module->file[0] && is_signed(module->file);
	if (!module->loaded)
		look_at_symbols(module);	/* slow, 100,000 lines */
	module->secure_boot = secure_boot();
	module->lockdown = file_says("/sys/kernel/security/lockdown",
				     "[integrity]") ||
			   file_says("/sys/kernel/security/lockdown",
				     "[confidentiality]");
	module->must_be_signed =
		module->lockdown ||
		file_says("/sys/module/module/parameters/sig_enforce", "Y");
	module->may_load = has_capability(CAP_SYS_MODULE);
}

static void advise(json_t *advice, const char *text)
{
	json_array_append_new(advice, json_string(text));
}

static void advise_to_build(json_t *advice, const char *release)
{
	json_t *text;

	if (procd_is_here()) {
		advise(advice, "there is no mptcp_pams.ko for this kernel: install "
			       "kmod-mptcp-pams, of the feed that this firmware was built "
			       "with; or give --module FILE");
		return;
	}
	if (access("/sys/kernel/btf/vmlinux", F_OK) && access(KEPT_SOURCE, F_OK)) {
		advise(advice, "there is no mptcp_pams.ko for this kernel, and it tells of no "
			       "types (BTF), from which one could be built: see \"without BTF\" in "
			       "install.md, or give --module FILE");
		return;
	}
	text = json_sprintf("there is no mptcp_pams.ko for this kernel: "
			    "install linux-headers-%s, from which the package "
			    "mptcp-pams-dkms builds it; or run make and make "
			    "install in the project's folder; or give --module "
			    "FILE", release);
	json_array_append_new(advice, text);
}

/* Add advice for each thing that prevents loading the module. */
void module_advice(const struct module *module, json_t *advice)
{
	if (module->loaded)
		return;
	if (!mptcp_is_there())
		advise(advice, "this kernel has no MPTCP (CONFIG_MPTCP=y): boot "
			       "one that has, 6.12 or newer");
	else if (file_says("/proc/sys/net/mptcp/enabled", "0"))
		advise(advice, "MPTCP is switched off: sysctl -w "
			       "net.mptcp.enabled=1");
	if (!module->file[0])
		advise_to_build(advice, module->release);
	else if (!exists(module->file))
		advise(advice, "the file given with --module does not exist");
	if (module->must_be_signed && module->file[0] && !module->signed_)
		advise(advice, "this kernel takes signed modules only (Secure "
			       "Boot or lockdown) and the file has no signature: "
			       "install it with dkms, then mokutil --import "
			       "/var/lib/dkms/mok.pub, restart, confirm");
	if (!module->symbols_known)
		advise(advice, "/proc/kallsyms can't be read: this kernel needs "
			       "CONFIG_KALLSYMS");
	else if (!module->kprobes && !module->lookup && module->may_load)
		advise(advice, "this kernel has no kprobes, and the address of "
			       "kallsyms_lookup_name is hidden: sysctl -w "
			       "kernel.kptr_restrict=0");
	if (!module->may_load)
		advise(advice, "loading needs CAP_SYS_MODULE: run it as root");
}
