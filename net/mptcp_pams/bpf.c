// SPDX-License-Identifier: GPL-2.0
/* Takes schedulers from BPF: the struct_ops type pams_sched_ops (view.h), and the functions that a
 * scheduler may call beside BPF's own.
 *
 * Whoever may load such programs (CAP_BPF and CAP_PERFMON for the kernel, CAP_NET_ADMIN for us)
 * registers one under a name of its own (examples/bpf/load.c); from then on it is one of the
 * kernel's schedulers (scheds.c). A program that is loaded holds the module.
 *
 * The type needs a kernel that takes types of modules (6.9 and later, with BPF's JIT) and the
 * module's own type information, BTF, which the build adds if it finds pahole and the kernel's
 * vmlinux. Without it everything else works.
 */
#define pr_fmt(fmt) "mptcp_pams: " fmt

#include <linux/bpf.h>
#include <linux/bpf_verifier.h>
#include <linux/btf.h>
#include <linux/btf_ids.h>
#include <linux/capability.h>
#include <linux/ctype.h>
#include <linux/init.h>
#include <linux/module.h>

#include "pams.h"

#if defined(PAMS_STRUCT_OPS) && defined(CONFIG_DEBUG_INFO_BTF_MODULES)

/* --- what a scheduler may call --- */

__bpf_kfunc_start_defs();

/**
 * pams_sub - a subflow
 * @view:	the view that the scheduler was given
 * @i:		its index
 *
 * Return: NULL if the view has no more.
 */
__bpf_kfunc const struct pams_model *pams_sub(const struct pams_view *view, u32 i)
{
	return i < view->nr ? view->sub[i] : NULL;
}

/**
 * pams_arrival_us - when data would have arrived that is handed over now (model.c)
 * @view:	the view that the scheduler was given
 * @i:		index of the subflow
 * @bytes:	how much data
 *
 * Return: microseconds from now; U32_MAX if there is no such subflow.
 */
__bpf_kfunc u32 pams_arrival_us(const struct pams_view *view, u32 i, u32 bytes)
{
	return i < view->nr ? model_arrival_us(view->sub[i], bytes) : U32_MAX;
}

/**
 * pams_carried_bytes - how much new data a subflow delivers within a time (model.c)
 * @view:	the view that the scheduler was given
 * @i:		index of the subflow
 * @span_us:	microseconds from now
 *
 * Return: 0 if there is no such subflow.
 */
__bpf_kfunc u64 pams_carried_bytes(const struct pams_view *view, u32 i, u32 span_us)
{
	return i < view->nr ? model_carried_bytes(view->sub[i], span_us) : 0;
}

__bpf_kfunc_end_defs();

/* From 7.0 on every argument has to be what the program was given; before, only with this. */
#ifndef KF_TRUSTED_ARGS
#define KF_TRUSTED_ARGS	0
#endif

BTF_KFUNCS_START(bpf_functions)
BTF_ID_FLAGS(func, pams_sub, KF_RET_NULL | KF_TRUSTED_ARGS)
BTF_ID_FLAGS(func, pams_arrival_us, KF_TRUSTED_ARGS)
BTF_ID_FLAGS(func, pams_carried_bytes, KF_TRUSTED_ARGS)
BTF_KFUNCS_END(bpf_functions)

static const struct btf_kfunc_id_set bpf_function_set = {
	.owner	= THIS_MODULE,
	.set	= &bpf_functions,
};

/* --- what a scheduler may write --- */

/* struct pams_answer in the module's BTF; the same for every program */
static const struct btf_type *bpf_answer;

/* Find it: the second parameter of both functions. A member is a pointer to a function's type, and
 * the parameter a pointer to a struct. Refuse what may sleep, since a decision runs under locks;
 * the verifier's log, which can't be written here, names only the member.
 */
static int bpf_check_member(const struct btf_type *t, const struct btf_member *member,
			    const struct bpf_prog *prog)
{
	const struct btf *btf = prog->aux->attach_btf;
	const struct btf_type *type = btf_type_by_id(btf, member->type);

	if (prog->sleepable) {
		pr_info_ratelimited("a scheduler in BPF may not sleep: SEC(\"struct_ops\"), not \"struct_ops.s\"\n");
		return -EINVAL;
	}
	type = btf_type_by_id(btf, type->type);
	type = btf_type_by_id(btf, btf_params(type)[1].type);
	WRITE_ONCE(bpf_answer, btf_type_by_id(btf, type->type));
	return 0;
}

static int bpf_struct_written(struct bpf_verifier_log *log, const struct bpf_reg_state *reg,
			      int off, int size)
{
	if (btf_type_by_id(reg->btf, reg->btf_id) != READ_ONCE(bpf_answer) || off < 0 ||
	    off + size > (int)sizeof(struct pams_answer)) {
		bpf_log(log, "a scheduler may write nothing but its struct pams_answer\n");
		return -EACCES;
	}
	return 0;
}

static bool bpf_is_valid_access(int off, int size, enum bpf_access_type type,
				const struct bpf_prog *prog, struct bpf_insn_access_aux *info)
{
	return bpf_tracing_btf_ctx_access(off, size, type, prog, info);
}

static const struct bpf_verifier_ops bpf_verifier = {
	.get_func_proto		= bpf_base_func_proto,
	.is_valid_access	= bpf_is_valid_access,
	.btf_struct_access	= bpf_struct_written,
};

/* --- registration --- */

static int bpf_init(struct btf *btf)
{
	return 0;
}

/* Take over what isn't a function. Returns 1 if this did. */
static int bpf_init_member(const struct btf_type *t, const struct btf_member *member,
			   void *kdata, const void *udata)
{
	const struct pams_sched_ops *from = udata;
	struct pams_sched_ops *ops = kdata;

	if (member->offset != offsetof(struct pams_sched_ops, name) * 8)
		return 0;
	memcpy(ops->name, from->name, sizeof(ops->name));
	return 1;
}

static int bpf_validate(void *kdata)
{
	const struct pams_sched_ops *ops = kdata;
	size_t len = strnlen(ops->name, sizeof(ops->name)), i;

	if (!ops->pick || !len || len == sizeof(ops->name))
		return -EINVAL;
	for (i = 0; i < len; i++) {
		if (!islower(ops->name[i]) && !isdigit(ops->name[i]) && !strchr("_-", ops->name[i]))
			return -EINVAL;
	}
	return 0;
}

static int bpf_reg(void *kdata, struct bpf_link *link)
{
	return capable(CAP_NET_ADMIN) ? pams_sched_attach(kdata) : -EPERM;
}

static void bpf_unreg(void *kdata, struct bpf_link *link)
{
	pams_sched_detach(kdata);
}

/* The types of the functions, for kernels that check them at indirect calls. */
static int bpf_no_pick(const struct pams_view *view, struct pams_answer *answer)
{
	return PAMS_PICK_NONE;
}

static int bpf_no_late(const struct pams_view *view, struct pams_answer *answer)
{
	return PAMS_PICK_NONE;
}

static struct pams_sched_ops bpf_stubs = {
	.pick	= bpf_no_pick,
	.late	= bpf_no_late,
};

static struct bpf_struct_ops bpf_type = {
	.verifier_ops	= &bpf_verifier,
	.init		= bpf_init,
	.check_member	= bpf_check_member,
	.init_member	= bpf_init_member,
	.validate	= bpf_validate,
	.reg		= bpf_reg,
	.unreg		= bpf_unreg,
	.cfi_stubs	= &bpf_stubs,
	.owner		= THIS_MODULE,
	.name		= "pams_sched_ops",
};

/* Offer the type. Without it the module does all that it did before there was one. */
void __init pams_bpf_init(void)
{
	int err;

	if (!THIS_MODULE->btf_data_size) {
		pr_info("built without BTF (pahole, and the vmlinux of the kernel's headers): takes no schedulers in BPF\n");
		return;
	}
	err = register_btf_kfunc_id_set(BPF_PROG_TYPE_STRUCT_OPS, &bpf_function_set) ?:
	      register_bpf_struct_ops(&bpf_type, pams_sched_ops);
	if (err)
		pr_info("takes no schedulers in BPF: %pe\n", ERR_PTR(err));
}

#else

void __init pams_bpf_init(void)
{
}

#endif
