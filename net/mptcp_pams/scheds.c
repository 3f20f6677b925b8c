// SPDX-License-Identifier: GPL-2.0
/* The module's schedulers as the kernel knows them: struct mptcp_sched_ops with the one or two
 * functions that the kernel's ABI has, and their registration.
 */
#include <linux/kernel.h>
#include <linux/string.h>

#include "pams.h"

/* Each scheduler has functions of its own, since the kernel passes only the connection to them. */
#ifdef PAMS_HAVE_GET_SUBFLOW
#define SCHED_OPS(_name)						\
static int _name##_get_subflow(struct mptcp_sock *msk,			\
			       struct mptcp_sched_data *data);		\
static struct mptcp_sched_ops _name##_ops = {				\
	.get_subflow	= _name##_get_subflow,				\
	SCHED_OPS_COMMON(_name)						\
};									\
static int _name##_get_subflow(struct mptcp_sock *msk,			\
			       struct mptcp_sched_data *data)		\
{									\
	return data->reinject ?						\
	       pams_retransmit(msk, &pams_sched_##_name) :		\
	       pams_decide(msk, &pams_sched_##_name);			\
}
#else
#define SCHED_OPS(_name)						\
static int _name##_get_send(struct mptcp_sock *msk);			\
static int _name##_get_retrans(struct mptcp_sock *msk);			\
static struct mptcp_sched_ops _name##_ops = {				\
	.get_send	= _name##_get_send,				\
	.get_retrans	= _name##_get_retrans,				\
	SCHED_OPS_COMMON(_name)						\
};									\
static int _name##_get_send(struct mptcp_sock *msk)			\
{									\
	return pams_decide(msk, &pams_sched_##_name);			\
}									\
static int _name##_get_retrans(struct mptcp_sock *msk)			\
{									\
	return pams_retransmit(msk, &pams_sched_##_name);		\
}
#endif

#define SCHED_OPS_COMMON(_name)						\
	.name		= #_name,					\
	.owner		= THIS_MODULE,					\
	.init		= pams_conn_reset,				\
	.release	= pams_conn_del,

PAMS_SCHEDS(SCHED_OPS)

static struct {
	struct mptcp_sched_ops *ops;
	const struct pams_sched *sched;
	bool registered;
} scheds[] = {
#define SCHED_ENTRY(_name)	{ &_name##_ops, &pams_sched_##_name },
	PAMS_SCHEDS(SCHED_ENTRY)
};

/**
 * pams_sched_nth - the module's schedulers in turn
 * @nr: number of the scheduler, from 0 on
 *
 * Return: NULL if there are no more.
 */
const struct pams_sched *pams_sched_nth(unsigned int nr)
{
	return nr < ARRAY_SIZE(scheds) ? scheds[nr].sched : NULL;
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
	return NULL;
}

/**
 * pams_sched_of - which of the module's schedulers a connection has
 * @msk: the connection, owned
 *
 * Return: NULL if the connection has a scheduler of the kernel or of another module.
 */
const struct pams_sched *pams_sched_of(const struct mptcp_sock *msk)
{
	const struct mptcp_sched_ops *ops = msk_sched(msk);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(scheds); i++) {
		if (scheds[i].ops == ops)
			return scheds[i].sched;
	}
	return NULL;
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
		err = pams_register_scheduler(scheds[i].ops);
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
			pams_unregister_scheduler(scheds[i].ops);
	}
	/* a lookup that is under way may still use one of the schedulers */
	synchronize_rcu();
}
