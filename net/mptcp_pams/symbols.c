// SPDX-License-Identifier: GPL-2.0
/* Finds the kernel functions that a scheduler needs and MPTCP does not export, and the functions
 * that read the kernel's own type information (BTF), which it may lack.
 *
 * If the kernel exports these functions (patches/) they are linked like any other function.
 * Otherwise a kprobe is registered on each, disabled so that it is never armed, and
 * gives the address. In a kernel without kprobes kallsyms_lookup_name() gives the addresses; root
 * passes the address of that function as a module parameter, which is verified before use.
 * The functions are called through static calls only: on x86 those are direct
 * jumps, so neither IBT (the targets' ENDBR was sealed away at boot) nor kCFI
 * (no type hash is checked) stops them.
 */
#define pr_fmt(fmt) "mptcp_pams: " fmt

#include <linux/bpf.h>
#include <linux/btf.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/static_call.h>
#include <linux/string.h>

#include <net/mptcp.h>

#include "features.h"
#include "compat/mptcp.h"
#include "symbols.h"

#ifdef PAMS_SYMBOLS_EXPORTED

#define symbol_call(name)	name

int __init pams_symbols_resolve(void)
{
	return 0;
}

#else /* !PAMS_SYMBOLS_EXPORTED */

/* Until the kernel's functions are found, calls return 0. Kernels without mptcp_pm_chk_stale()
 * (6.12) check for stale subflows in mptcp_subflow_get_retrans().
 */
#define SYMBOL(name)	DEFINE_STATIC_CALL_RET0(pams_##name, name)
SYMBOL(mptcp_register_scheduler);
SYMBOL(mptcp_unregister_scheduler);
SYMBOL(mptcp_subflow_active);
SYMBOL(mptcp_subflow_get_retrans);
SYMBOL(mptcp_pm_chk_stale);
SYMBOL(bpf_get_btf_vmlinux);
SYMBOL(btf_find_by_name_kind);
SYMBOL(btf_name_by_offset);
SYMBOL(kallsyms_lookup_name);

#define symbol_call(name)	static_call(pams_##name)

static unsigned long kallsyms_lookup_name_addr;
module_param_named(kallsyms_lookup_name, kallsyms_lookup_name_addr, ulong, 0);
MODULE_PARM_DESC(kallsyms_lookup_name,
		 "address of that function as in /proc/kallsyms, for kernels without kprobes");

/* The start of the function @name if @addr is there, or 4 bytes behind it, where a kprobe
 * is placed behind an ENDBR; else 0.
 */
static unsigned long symbol_start(unsigned long addr, const char *name)
{
	char text[KSYM_SYMBOL_LEN];
	unsigned long offset;
	size_t len = strlen(name);

	sprint_symbol(text, addr);
	if (strncmp(text, name, len) ||
	    sscanf(text + len, "+%li/", &offset) != 1 || offset > 4)
		return 0;
	return addr - offset;
}

static unsigned long symbol_by_kprobe(const char *name)
{
	struct kprobe probe = {
		.symbol_name	= name,
		.flags		= KPROBE_FLAG_DISABLED,
	};
	unsigned long addr;

	if (register_kprobe(&probe))
		return 0;
	addr = (unsigned long)probe.addr;
	unregister_kprobe(&probe);

	return symbol_start(addr, name);
}

static unsigned long __nocfi symbol_by_name(const char *name)
{
	if (IS_ENABLED(CONFIG_KPROBES))
		return symbol_by_kprobe(name);
	return static_call(pams_kallsyms_lookup_name)(name);
}

static int __init symbols_check_param(void)
{
	unsigned long addr = kallsyms_lookup_name_addr;

	if (IS_ENABLED(CONFIG_KPROBES))
		return 0;
	if (!addr) {
		pr_err("this kernel has no kprobes: pass kallsyms_lookup_name=0xADDRESS, its address in /proc/kallsyms as root sees it\n");
		return -EINVAL;
	}
	if (symbol_start(addr, "kallsyms_lookup_name") != addr) {
		pr_err("parameter kallsyms_lookup_name: 0x%lx isn't that function; take its address from this boot's /proc/kallsyms, as root\n",
		       addr);
		return -EINVAL;
	}
	static_call_update(pams_kallsyms_lookup_name, (void *)addr);
	return 0;
}

static int __init symbol_missing(const char *name)
{
	pr_err("function %s not found: this kernel needs CONFIG_MPTCP and CONFIG_KALLSYMS, or has to export it (patches/ in the sources)\n",
	       name);
	return -ENOENT;
}

#define symbol_find(name) ({						\
	unsigned long __addr = symbol_by_name(#name);			\
									\
	if (__addr)							\
		static_call_update(pams_##name, (void *)__addr);	\
	__addr;								\
})

#define symbol_resolve(name)	(symbol_find(name) ? 0 : symbol_missing(#name))

/**
 * pams_symbols_resolve - find all functions, or log which one is missing
 *
 * Return: 0 or a negative error, after one line in the log.
 */
int __init pams_symbols_resolve(void)
{
	int ret = symbols_check_param() ?:
		  symbol_resolve(mptcp_register_scheduler) ?:
		  symbol_resolve(mptcp_unregister_scheduler) ?:
		  symbol_resolve(mptcp_subflow_active) ?:
		  symbol_resolve(mptcp_subflow_get_retrans);

	if (ret)
		return ret;
	(void)symbol_find(mptcp_pm_chk_stale);
	if (symbol_find(btf_find_by_name_kind) && symbol_find(btf_name_by_offset))
		(void)symbol_find(bpf_get_btf_vmlinux);
	return 0;
}

#endif /* PAMS_SYMBOLS_EXPORTED */

/* __nocfi: where static calls aren't direct (arm64), they jump through a pointer */
int __nocfi pams_register_scheduler(struct mptcp_sched_ops *ops)
{
	return symbol_call(mptcp_register_scheduler)(ops);
}

void __nocfi pams_unregister_scheduler(struct mptcp_sched_ops *ops)
{
	symbol_call(mptcp_unregister_scheduler)(ops);
}

bool __nocfi pams_subflow_active(struct mptcp_subflow_context *subflow)
{
	return symbol_call(mptcp_subflow_active)(subflow);
}

void __nocfi pams_pm_chk_stale(const struct mptcp_sock *msk)
{
#ifndef PAMS_SYMBOLS_EXPORTED
	symbol_call(mptcp_pm_chk_stale)(msk);
#endif
}

struct sock * __nocfi pams_subflow_get_retrans(struct mptcp_sock *msk)
{
	return symbol_call(mptcp_subflow_get_retrans)(msk);
}

/* The kernel's BTF; NULL or an error pointer if the kernel has none, or none that can be found. */
struct btf *__nocfi pams_btf_vmlinux(void)
{
#ifdef PAMS_SYMBOLS_EXPORTED
	return NULL;
#else
	return symbol_call(bpf_get_btf_vmlinux)();
#endif
}

s32 __nocfi pams_btf_find(const struct btf *btf, const char *name, u8 kind)
{
#ifdef PAMS_SYMBOLS_EXPORTED
	return -ENOENT;
#else
	return symbol_call(btf_find_by_name_kind)(btf, name, kind);
#endif
}

const char * __nocfi pams_btf_name(const struct btf *btf, u32 offset)
{
#ifdef PAMS_SYMBOLS_EXPORTED
	return "";
#else
	return symbol_call(btf_name_by_offset)(btf, offset);
#endif
}
