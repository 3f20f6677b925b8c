// SPDX-License-Identifier: GPL-2.0
/*
 * rules - whose connections a start resets: those of runs that ended badly. And which
 * events say that somebody else has removed the rules
 *
 * rules.c beside an nftables that keeps one table, and is asked what it was told.
 */
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <libmnl/libmnl.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <nftables/libnftables.h>

#include "../pamsd/tap.h"
#include "pamsplit.h"

#define MARK(id)	"ct mark & 0xff000000 == 0x" id "000000 "
#define RESETS		"meta l4proto tcp reject with tcp reset"

static const struct settings settings = {
	.pipes = { "h2" },
	.pipe_count = 1,
	.queue = 1,
};

static char table[1 << 14];	/* as it is listed; "": there is none */
static char told[1 << 14];	/* the commands that made it */

void say(const char *format, ...)
{
	(void)format;
}

/* --- nftables --- */

struct nft_ctx *nft_ctx_new(uint32_t flags)
{
	(void)flags;
	return (struct nft_ctx *)table;
}

void nft_ctx_free(struct nft_ctx *ctx)
{
	(void)ctx;
}

int nft_ctx_buffer_error(struct nft_ctx *ctx)
{
	(void)ctx;
	return 0;
}

int nft_ctx_buffer_output(struct nft_ctx *ctx)
{
	(void)ctx;
	return 0;
}

const char *nft_ctx_get_error_buffer(struct nft_ctx *ctx)
{
	(void)ctx;
	return "";
}

const char *nft_ctx_get_output_buffer(struct nft_ctx *ctx)
{
	(void)ctx;
	return table;
}

/* Of the chains the names, of the rules nothing. */
static void make_table(const char *commands)
{
	const char *at = commands;
	char name[100];

	snprintf(told, sizeof(told), "%s", commands);
	snprintf(table, sizeof(table), "table inet pamsplit {\n");
	while ((at = strstr(at, "add chain inet pamsplit "))) {
		at += strlen("add chain inet pamsplit ");
		if (sscanf(at, "%99[a-z0-9_]", name) == 1)
			snprintf(table + strlen(table),
				 sizeof(table) - strlen(table),
				 "\tchain %s {\n\t}\n", name);
	}
	strncat(table, "}\n", sizeof(table) - strlen(table) - 1);
}

int nft_run_cmd_from_buffer(struct nft_ctx *ctx, const char *commands)
{
	(void)ctx;
	if (!strncmp(commands, "list", 4))
		return *table ? 0 : -1;
	make_table(commands);
	if (!strcmp(commands, "add table inet pamsplit\ndelete table inet pamsplit"))
		*table = '\0';
	return 0;
}

/* --- runs --- */

static void start(uint8_t id)
{
	check(!rules_add(&settings, id));
}

static bool resets(const char *what)
{
	char rule[200];

	snprintf(rule, sizeof(rule), "add rule inet pamsplit split %s" RESETS,
		 what);
	return strstr(told, rule);
}

static bool resets_all(void)
{
	return resets("ct mark & 0xff000000 != 0 ");
}

static void the_first_run_resets_nothing(void)
{
	*table = '\0';
	start(0x1a);
	check(!resets_all() && !resets(MARK("1a")));
	check(!rules_remove());
}

/* What the first one left goes on through the third. */
static void a_run_after_one_that_was_killed(void)
{
	*table = '\0';
	start(0x1a);
	rules_remove();
	start(0x2b);
	start(0x3c);
	check(resets(MARK("2b")));
	check(!resets(MARK("1a")) && !resets_all());
}

static void a_run_after_two_that_were_killed(void)
{
	*table = '\0';
	start(0x05);
	start(0x2b);
	start(0x3c);
	check(resets(MARK("5")) && resets(MARK("2b")));
	check(!resets(MARK("3c")) && !resets_all());
}

/* Whose parent was left to make the rules that reset. */
static void a_run_after_one_whose_worker_was_killed(void)
{
	*table = '\0';
	start(0x05);
	start(0x2b);
	check(!rules_only_reset(0x2b));
	start(0x3c);
	check(resets(MARK("5")) && resets(MARK("2b")) && !resets_all());
}

/* By chance it has the number of the other one. */
static void a_run_of_the_same_number(void)
{
	*table = '\0';
	start(0x2b);
	start(0x2b);
	check(resets(MARK("2b")));
}

/* An earlier version named no runs. */
static void a_run_after_an_earlier_version(void)
{
	snprintf(table, sizeof(table),
		 "table inet pamsplit {\n\tchain split {\n\t}\n}\n");
	start(0x3c);
	check(resets_all());
	start(0x4d);
	check(resets_all());
}

/* Packets of others whose mark has that bit, too, stay tracked: a VPN's may be 0x6d6f6c65. */
static void only_its_own_packets_are_untracked(void)
{
	start(0x1a);
	check(strstr(told, " made meta mark 0x4000000 notrack\n"));
	check(!strstr(told, "meta mark & 0x4000000"));
	check(!rules_remove());
}

/* --- events --- */

static void put_event(struct mnl_nlmsg_batch *batch, uint8_t family, int type,
		      const char *name)
{
	struct nlmsghdr *message =
		mnl_nlmsg_put_header(mnl_nlmsg_batch_current(batch));
	struct nfgenmsg *header;

	message->nlmsg_type = NFNL_SUBSYS_NFTABLES << 8 | type;
	header = mnl_nlmsg_put_extra_header(message, sizeof(*header));
	header->nfgen_family = family;
	mnl_attr_put_strz(message, NFTA_RULE_TABLE, name);
	mnl_attr_put_strz(message, NFTA_RULE_CHAIN, "pamsplit");
	mnl_nlmsg_batch_next(batch);
}

/* What is said of two events in one datagram, the other one of another table. */
static bool removed_by(uint8_t family, int type, const char *name)
{
	char events[1024];
	struct mnl_nlmsg_batch *batch =
		mnl_nlmsg_batch_start(events, sizeof(events));
	bool removed;
	int ends[2];

	put_event(batch, NFPROTO_INET, NFT_MSG_DELRULE, "filter");
	put_event(batch, family, type, name);
	check(!socketpair(AF_UNIX, SOCK_DGRAM, 0, ends));
	check(write(ends[0], events, mnl_nlmsg_batch_size(batch)) ==
	      (ssize_t)mnl_nlmsg_batch_size(batch));
	removed = rules_removed(ends[1]);
	close(ends[0]);
	close(ends[1]);
	mnl_nlmsg_batch_stop(batch);
	return removed;
}

static void removed_by_others(void)
{
	check(removed_by(NFPROTO_INET, NFT_MSG_DELRULE, "pamsplit"));
	check(!removed_by(NFPROTO_INET, NFT_MSG_NEWRULE, "pamsplit"));
	check(!removed_by(NFPROTO_INET, NFT_MSG_DELRULE, "pamsplit2"));
	check(!removed_by(NFPROTO_IPV4, NFT_MSG_DELRULE, "pamsplit"));
}

int main(void)
{
	run(the_first_run_resets_nothing);
	run(a_run_after_one_that_was_killed);
	run(a_run_after_two_that_were_killed);
	run(a_run_after_one_whose_worker_was_killed);
	run(a_run_of_the_same_number);
	run(a_run_after_an_earlier_version);
	run(only_its_own_packets_are_untracked);
	run(removed_by_others);
	return tap_end();
}
