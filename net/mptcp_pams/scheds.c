// SPDX-License-Identifier: GPL-2.0
/* The module's schedulers as the kernel knows them: struct mptcp_sched_ops with the one or two
 * functions that the kernel's ABI has, and their registration.
 */
#include <linux/kernel.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "compat/slab.h"
#include "pams.h"

/* The kernel passes the connection alone. */
static const struct pams_sched *sched_of(const struct mptcp_sock *msk)
{
	return container_of(msk_sched(msk), struct pams_kernel_sched, ops)->sched;
}

#ifdef PAMS_HAVE_GET_SUBFLOW
static int sched_get_subflow(struct mptcp_sock *msk, struct mptcp_sched_data *data)
{
	return data->reinject ? pams_retransmit(msk, sched_of(msk)) :
				pams_decide(msk, sched_of(msk));
}

#define SCHED_SEND	.get_subflow = sched_get_subflow
#else
static int sched_get_send(struct mptcp_sock *msk)
{
	return pams_decide(msk, sched_of(msk));
}

static int sched_get_retrans(struct mptcp_sock *msk)
{
	return pams_retransmit(msk, sched_of(msk));
}

#define SCHED_SEND	.get_send = sched_get_send, .get_retrans = sched_get_retrans
#endif

#define SCHED_OPS							\
	SCHED_SEND,							\
	.owner		= THIS_MODULE,					\
	.init		= pams_conn_reset,				\
	.release	= pams_conn_del,

static struct pams_kernel_sched scheds[] = {
#define SCHED_ENTRY(_name)						\
	{ .ops = { .name = #_name, SCHED_OPS }, .sched = &pams_sched_##_name },
	PAMS_SCHEDS(SCHED_ENTRY)
};

/* --- schedulers in BPF --- */

/* The kernel warns who reads net.mptcp.available_schedulers if it has more than MPTCP_SCHED_MAX. */
#define PROGRAMS_MAX	(MPTCP_SCHED_MAX / 2)

static LIST_HEAD(programs);
static unsigned int programs_attached;
/* for both above, and for who attaches and detaches */
static DEFINE_MUTEX(programs_lock);

static const struct pams_program program_begin = {
	.sched = {
		.text		= "a program in BPF",
		.pick		= pams_program_pick,
		.late		= pams_program_late,
		.detail		= PAMS_DETAIL_PAD,
		.cuts		= true,
		.watches	= true,
		.overdue	= pams_program_overdue,
		.tell		= pams_program_tell,
	},
	.kernel.ops = { SCHED_OPS },
};

static struct pams_program *program_find(const char *name)
{
	struct pams_program *program;

	lockdep_assert_held(&programs_lock);
	list_for_each_entry(program, &programs, node) {
		if (!strcmp(program->name, name))
			return program;
	}
	return NULL;
}

static struct pams_program *program_alloc(const char *name)
{
	struct pams_program *program = kzalloc_obj(*program, GFP_KERNEL_ACCOUNT);

	if (!program)
		return NULL;
	*program = program_begin;
	strscpy(program->name, name, sizeof(program->name));
	program->sched.name = program->name;
	program->kernel.sched = &program->sched;
	strscpy(program->kernel.ops.name, name, sizeof(program->kernel.ops.name));
	return program;
}

/* Let the kernel know of a program whose name has none. */
static int program_register(struct pams_program *program, const struct pams_sched_ops *ops)
{
	int err;

	WRITE_ONCE(program->sched.late_share, ops->late ? PICK_LATE_SHARE : 0);
	err = pams_register_scheduler(&program->kernel.ops);
	/* sockets that kept the name may call it from here on: nothing may fail any more */
	if (!err)
		rcu_assign_pointer(program->ops, ops);
	return err;
}

/**
 * pams_sched_attach - make a program in BPF one of the module's schedulers
 * @ops: the program, until pams_sched_detach()
 *
 * Connections that had a program of that name, which was detached, have this one now.
 *
 * Return: 0, -EEXIST if a scheduler has the name, -ENOSPC if too many are attached, or -ENOMEM.
 */
int pams_sched_attach(const struct pams_sched_ops *ops)
{
	struct pams_program *program, *former;
	int err = -ENOMEM;

	mutex_lock(&programs_lock);
	former = program_find(ops->name);
	program = former ?: program_alloc(ops->name);
	if (program)
		err = rcu_access_pointer(program->ops) ? -EEXIST :
		      programs_attached == PROGRAMS_MAX ? -ENOSPC :
		      program_register(program, ops);
	programs_attached += !err;
	if (!former && !err)
		list_add_tail(&program->node, &programs);
	else if (!former)
		kfree(program);
	mutex_unlock(&programs_lock);
	return err;
}

/**
 * pams_sched_detach - end what pams_sched_attach() began
 * @ops: the program, which isn't called any more afterwards
 *
 * Connections that have it go on, with what sched_minpad.c chooses.
 */
void pams_sched_detach(const struct pams_sched_ops *ops)
{
	struct pams_program *program;

	mutex_lock(&programs_lock);
	program = program_find(ops->name);
	if (program) {
		pams_unregister_scheduler(&program->kernel.ops);
		rcu_assign_pointer(program->ops, NULL);
		programs_attached--;
		/* the kernel's list, and decisions that are under way */
		synchronize_rcu();
	}
	mutex_unlock(&programs_lock);
}

static const struct pams_sched *program_nth(unsigned int nr)
{
	const struct pams_program *program;
	const struct pams_sched *sched = NULL;

	mutex_lock(&programs_lock);
	list_for_each_entry(program, &programs, node) {
		if (!nr--) {
			sched = &program->sched;
			break;
		}
	}
	mutex_unlock(&programs_lock);
	return sched;
}

static const struct pams_sched *program_named(const char *name)
{
	const struct pams_program *program;

	mutex_lock(&programs_lock);
	program = program_find(name);
	mutex_unlock(&programs_lock);
	return program ? &program->sched : NULL;
}

/* No program is attached, and nothing is left that had one: the module goes. */
void pams_sched_exit(void)
{
	struct pams_program *program, *next;

	list_for_each_entry_safe(program, next, &programs, node)
		kfree(program);
}

/* --- all of them --- */

/**
 * pams_sched_nth - the module's schedulers in turn
 * @nr: number of the scheduler, from 0 on
 *
 * May sleep.
 *
 * Return: NULL if there are no more.
 */
const struct pams_sched *pams_sched_nth(unsigned int nr)
{
	return nr < ARRAY_SIZE(scheds) ? scheds[nr].sched : program_nth(nr - ARRAY_SIZE(scheds));
}

/**
 * pams_sched_find - a scheduler that a rule may choose
 * @name: its name
 *
 * Return: NULL if there is none of that name.
 */
const struct pams_sched *pams_sched_find(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(scheds); i++) {
		if (scheds[i].sched->pick && !strcmp(scheds[i].sched->name, name))
			return scheds[i].sched;
	}
	return program_named(name);
}

/**
 * pams_sched_of - which of the module's schedulers a connection has
 * @msk: the connection, owned or under RCU, as another module's scheduler may go
 *
 * Return: NULL if the connection has a scheduler of the kernel or of another module.
 */
const struct pams_sched *pams_sched_of(const struct mptcp_sock *msk)
{
	const struct mptcp_sched_ops *ops = msk_sched(msk);

	return ops && ops->release == pams_conn_del ? sched_of(msk) : NULL;
}

/* Registers the schedulers, except one whose name another module's scheduler has. A socket may use
 * a registered scheduler at once, so from the first one on the module can't fail to load.
 *
 * Return: 0 if any is registered.
 */
int __init pams_sched_register(void)
{
	bool any = false;
	unsigned int i;
	int err = 0;

	for (i = 0; i < ARRAY_SIZE(scheds); i++) {
		err = pams_register_scheduler(&scheds[i].ops);
		scheds[i].registered = !err;
		any |= !err;
		if (err)
			pr_err("mptcp_pams: scheduler %s: %pe\n",
			       scheds[i].sched->name, ERR_PTR(err));
	}
	return any ? 0 : err;
}

void pams_sched_unregister(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(scheds); i++) {
		if (scheds[i].registered)
			pams_unregister_scheduler(&scheds[i].ops);
	}
	/* a lookup that is under way may still use one of the schedulers */
	synchronize_rcu();
}
