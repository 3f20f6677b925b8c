// SPDX-License-Identifier: GPL-2.0
/*
 * netem-seed - what the netem queues of this network namespace lose at random
 * follows from a seed and from the name of the interface, and from nothing else
 *
 *	netem-seed SEED [FIRST]
 *
 * The number in a name counts from FIRST (0) on: a path that is alone here loses
 * what it loses as the FIRST of several.
 *
 * With it the n-th packet into a path has the same fate whatever kernel, module
 * or scheduler runs: what two runs differ by is their own doing. The queue keeps
 * its parameters and what it holds. Option "seed" of newer tc does the same.
 * Exit code: 0, or 1 where a queue could not be changed, which is told.
 */
#include <errno.h>
#include <net/if.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>

#define QUEUES_MAX	64
#define OPTIONS_MAX	512
#define NETEM_PRNG_SEED	14	/* TCA_NETEM_PRNG_SEED, since Linux 6.6 */

struct queue {
	struct tcmsg tcm;
	unsigned char options[OPTIONS_MAX];
	int len;
};

static struct queue queues[QUEUES_MAX];
static unsigned int count;

static int keep(struct nl_msg *msg, void *arg)
{
	struct nlmsghdr *header = nlmsg_hdr(msg);
	struct nlattr *kind, *options;
	struct queue *queue = &queues[count];

	(void)arg;
	kind = nlmsg_find_attr(header, sizeof(struct tcmsg), TCA_KIND);
	options = nlmsg_find_attr(header, sizeof(struct tcmsg), TCA_OPTIONS);
	if (!kind || !options || nla_strcmp(kind, "netem") ||
	    nla_len(options) > OPTIONS_MAX || count == QUEUES_MAX)
		return NL_OK;
	queue->tcm = *(struct tcmsg *)nlmsg_data(header);
	queue->len = nla_len(options);
	memcpy(queue->options, nla_data(options), queue->len);
	count++;
	return NL_OK;
}

/* FNV-1a (Fowler, Noll, Vo), begun with the seed. */
static uint64_t seed_of(uint64_t seed, int ifindex, unsigned long first)
{
	uint64_t hash = 0xcbf29ce484222325 ^ seed * 0x9e3779b97f4a7c15;
	char name[2 * IF_NAMESIZE] = "";
	size_t letters;

	if_indextoname(ifindex, name);
	letters = strcspn(name, "0123456789");
	snprintf(name + letters, sizeof(name) - letters, "%lu",
		 strtoul(name + letters, NULL, 10) + first);
	for (const char *c = name; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 0x100000001b3;
	return hash;
}

/* All as it was, but for the seed. */
static int seed(struct nl_sock *sock, const struct queue *queue, uint64_t value)
{
	int left, qopt = NLA_ALIGN(sizeof(struct tc_netem_qopt));
	struct nl_msg *msg = nlmsg_alloc_simple(RTM_NEWQDISC, 0);
	struct nlattr *attr, *options;
	int err = -NLE_NOMEM;

	if (!msg)
		return err;
	nlmsg_append(msg, (void *)&queue->tcm, sizeof(queue->tcm), NLMSG_ALIGNTO);
	nla_put_string(msg, TCA_KIND, "netem");
	options = nla_nest_start(msg, TCA_OPTIONS);
	if (!options)
		goto free;
	nlmsg_append(msg, (void *)queue->options, qopt, NLMSG_ALIGNTO);
	nla_for_each_attr(attr, (struct nlattr *)(queue->options + qopt),
			  queue->len - qopt, left)
		if (nla_type(attr) != NETEM_PRNG_SEED)
			nla_put(msg, nla_type(attr), nla_len(attr),
				nla_data(attr));
	nla_put_u64(msg, NETEM_PRNG_SEED, value);
	nla_nest_end(msg, options);
	err = nl_send_auto(sock, msg);
	if (err >= 0)
		err = nl_wait_for_ack(sock);
free:
	nlmsg_free(msg);
	return err;
}

int main(int argc, char **argv)
{
	struct nl_sock *sock = nl_socket_alloc();
	struct tcmsg any = { .tcm_family = AF_UNSPEC };
	unsigned long first;
	uint64_t value;
	int err;

	if (argc != 2 && argc != 3) {
		fputs("usage: netem-seed SEED [FIRST]\n", stderr);
		return 1;
	}
	value = strtoull(argv[1], NULL, 0);
	first = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
	err = sock ? nl_connect(sock, NETLINK_ROUTE) : -NLE_NOMEM;
	if (err >= 0) {
		nl_socket_modify_cb(sock, NL_CB_VALID, NL_CB_CUSTOM, keep, NULL);
		err = nl_send_simple(sock, RTM_GETQDISC, NLM_F_DUMP, &any,
				     sizeof(any));
	}
	if (err >= 0)
		err = nl_recvmsgs_default(sock);
	for (unsigned int i = 0; err >= 0 && i < count; i++)
		err = seed(sock, &queues[i],
			   seed_of(value, queues[i].tcm.tcm_ifindex,
				   first));
	if (err < 0)
		fprintf(stderr, "netem-seed: %s\n", nl_geterror(err));
	nl_socket_free(sock);
	return err < 0;
}
