// SPDX-License-Identifier: GPL-2.0
/* The module's state of each network namespace: paths, rules, sysctls and totals.
 * Documentation/networking/mptcp_pams-sysctl.rst describes the sysctls.
 */
#include <linux/sysctl.h>
#include <linux/time64.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <uapi/linux/mptcp_pams.h>

#include "pams.h"

/* eta: PADs that differ by no more than this are noise (MPBond's value) */
#define NET_REINJECT_ETA_PERCENT	20
/* data still arrives if the one-way delay grows by this; less than an RTT's jitter */
#define NET_LOSS_GUARD_US		5000

static const unsigned int net_weights_max = PAMS_OWD_PLAMA;
static const unsigned int net_percent_max = 10000;
static const unsigned int net_us_max = USEC_PER_SEC;
static const unsigned int net_paths_max = 1000000;
static const unsigned int net_overflow_ms_max = MPTCP_PAMS_OVERFLOW_MAX_MS;

static unsigned int net_id;

/* Refuses less than 100 % of the time over all paths, which can't be reached; so do rules. */
static int net_overflow_percent(const struct ctl_table *table, int write, void *buffer,
				size_t *size, loff_t *pos)
{
	unsigned int *place = table->data, percent = READ_ONCE(*place);
	struct ctl_table local = *table;
	int err;

	local.data = &percent;
	err = proc_douintvec_minmax(&local, write, buffer, size, pos);
	if (err || !write)
		return err;
	if (percent && percent < 100)
		return -EINVAL;
	WRITE_ONCE(*place, percent);
	return 0;
}

/* Here .data is an offset into struct pams_net; a namespace's copy has an address instead. */
#define NET_SYSCTL_BY(_name, _max, _handler) {				\
	.procname	= #_name,					\
	.data		= (void *)offsetof(struct pams_net, _name),	\
	.maxlen		= sizeof(unsigned int),				\
	.mode		= 0644,						\
	.proc_handler	= (_handler),					\
	.extra2		= (void *)(_max),				\
}

#define NET_SYSCTL(_name, _max)	NET_SYSCTL_BY(_name, _max, proc_douintvec_minmax)

static const struct ctl_table net_sysctls[] = {
	NET_SYSCTL(reinject_eta_percent, &net_percent_max),
	NET_SYSCTL(queue_ahead_us, &net_us_max),
	NET_SYSCTL(loss_guard_us, &net_us_max),
	NET_SYSCTL(owd_weights, &net_weights_max),
	NET_SYSCTL(paths_max, &net_paths_max),
	NET_SYSCTL(redundant_bytes, NULL),
	NET_SYSCTL(overflow_ms, &net_overflow_ms_max),
	NET_SYSCTL_BY(overflow_percent, &net_percent_max, net_overflow_percent),
};

static int net_sysctls_register(struct net *net, struct pams_net *own)
{
	struct ctl_table *table;
	unsigned int i;

	table = kmemdup(net_sysctls, sizeof(net_sysctls), GFP_KERNEL);
	if (!table)
		return -ENOMEM;
	for (i = 0; i < ARRAY_SIZE(net_sysctls); i++)
		table[i].data = (void *)own + (size_t)table[i].data;

	own->sysctls = register_net_sysctl_sz(net, "net/mptcp_pams", table,
					      ARRAY_SIZE(net_sysctls));
	if (!own->sysctls) {
		kfree(table);
		return -ENOMEM;
	}
	own->sysctl_table = table;
	return 0;
}

static int __net_init net_init(struct net *net)
{
	struct pams_net *own = pams_net(net);
	int err;

	own->net = net;
	own->reinject_eta_percent = NET_REINJECT_ETA_PERCENT;
	own->queue_ahead_us = PAMS_QUEUE_AHEAD_US;
	own->loss_guard_us = NET_LOSS_GUARD_US;
	own->owd_weights = PAMS_OWD_RFC6298;
	own->paths_max = MPTCP_PAMS_PATHS_MAX;
	pams_rules_init(&own->rules);
	err = pams_paths_init(own);
	if (err)
		return err;

	err = net_sysctls_register(net, own);
	if (err)
		pams_paths_exit(own);
	return err;
}

static void __net_exit net_exit(struct net *net)
{
	struct pams_net *own = pams_net(net);

	unregister_net_sysctl_table(own->sysctls);
	kfree(own->sysctl_table);
	pams_paths_exit(own);
	pams_rules_exit(&own->rules);
}

static struct pernet_operations net_ops = {
	.init	= net_init,
	.exit	= net_exit,
	.id	= &net_id,
	.size	= sizeof(struct pams_net),
};

/**
 * pams_net - the module's state of a namespace
 * @net: the namespace, alive
 */
struct pams_net *pams_net(const struct net *net)
{
	return net_generic(net, net_id);
}

int __init pams_net_init(void)
{
	return register_pernet_subsys(&net_ops);
}

void pams_net_exit(void)
{
	unregister_pernet_subsys(&net_ops);
}
