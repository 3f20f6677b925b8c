// SPDX-License-Identifier: GPL-2.0
/*
 * rules - the nftables table "inet pamsplit", which selects the packets to queue
 *
 *	forward 100	mark the connection of a client's SYN with MP_JOIN; queue the
 *			packets of marked connections, and ICMP messages that such a
 *			packet is too large for a hop
 *	forward 101	pass packets that the splitter has seen, and clear the mark of a
 *			connection that it steps out of. Answer other packets of marked
 *			connections by a reset: the splitter doesn't know their flow, or
 *			is dead
 *	output -300	exempt packets that the splitter makes for the client from
 *			connection tracking
 *
 * The splitter's packets leave through the output hook and bypass the forward hook. So a
 * firewall's chains in forward must come before the queue: nftables' at 0, firewalld's at
 * 10, iptables' security at 50.
 *
 * Nothing is marked or queued unless the worker lives: each of its beats, a packet
 * to the loopback interface, keeps the one element of the set "alive" for another
 * three seconds. So the kernel resets flows by itself if both worker and guard are
 * stopped.
 *
 * The mark of connections is a random number of each run, and the name of an empty
 * chain of the table contains it. If a table of an earlier run is found, that run
 * ended badly: connections with the mark of a run that the table names are reset. A
 * run that ended well may leave its mark on connections, but no table, so the mark
 * means nothing. After a boot of the machine no connection is marked: then MPTCP
 * packets in mid-stream of an untracked connection are reset, too, for as long as the
 * set "started" has its one element.
 *
 * Another program may remove the rules while the worker lives, as each restart of
 * nftables does by "flush ruleset". The kernel tells the guard of that.
 */
#include <arpa/inet.h>
#include <errno.h>
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

#include "pamsplit.h"

#define TABLE_NAME	"pamsplit"
#define TABLE		"inet " TABLE_NAME
#define MARK_MASK	0xff000000U
#define MARK_SHIFT	24
#define STARTED_S	600	/* for this time a machine counts as just started */
#define RUN_CHAIN	"run_"	/* followed by two hexadecimal digits */
#define ALIVE		"meta l4proto @alive"
#define STARTED		"meta l4proto @started"
#define EVENT_BYTES	8192	/* the kernel puts no more into one datagram */

/* Runs that ended badly, by the number in their mark; runs[0] stands for all runs. */
struct ended {
	bool any;
	bool runs[256];
};

/* Say it in one line: nftables shows all that it was given, for each thing that it can't do. */
static void say_why(const char *error)
{
	bool lacks = strstr(error, strerror(ENOENT)) || strstr(error, strerror(EOPNOTSUPP));
	const char *head = "Error: ";

	if (!strncmp(error, head, strlen(head)))
		error += strlen(head);
	say("nftables: %.*s%s", (int)strcspn(error, "\n"), error, lacks ?
	    ": does this kernel lack something? modprobe -a nft_queue nft_ct nft_reject_inet" : "");
}

static int run(const char *commands, bool quietly, char **output)
{
	struct nft_ctx *nft = nft_ctx_new(NFT_CTX_DEFAULT);
	int status;

	if (!nft) {
		say("nftables can't be used here");
		return -1;
	}
	nft_ctx_buffer_error(nft);
	nft_ctx_buffer_output(nft);
	status = nft_run_cmd_from_buffer(nft, commands);
	if (status && !quietly)
		say_why(nft_ctx_get_error_buffer(nft));
	if (!status && output)
		*output = strdup(nft_ctx_get_output_buffer(nft));
	nft_ctx_free(nft);
	return status ? -1 : 0;
}

/* Find the runs that the table of an earlier run names, if there is a table. */
static void find_ended(struct ended *ended)
{
	const char *start = "chain " RUN_CHAIN, *at;
	char *table = NULL;
	bool named = false;

	*ended = (struct ended){ };
	if (run("list table " TABLE, true, &table))
		return;
	ended->any = true;
	at = table ? strstr(table, start) : NULL;
	for (; at; at = strstr(at, start)) {
		unsigned int id;

		at += strlen(start);
		if (sscanf(at, "%2x", &id) != 1)
			continue;
		ended->runs[id] = true;
		named = true;
	}
	if (!named)
		ended->runs[0] = true;
	free(table);
}

int rules_remove(void)
{
	return run("add table " TABLE "\ndelete table " TABLE, false, NULL);
}

/* Make the table anew, with a chain that names this run, and one for each that ended badly. */
static void add_table(FILE *out, uint8_t id, const struct ended *ended)
{
	fprintf(out, "add table " TABLE "\ndelete table " TABLE
		"\nadd table " TABLE "\n");
	for (unsigned int i = 0; i < ARRAY_LEN(ended->runs); i++)
		if (i == id || ended->runs[i])
			fprintf(out, "add chain " TABLE " " RUN_CHAIN "%02x\n",
				i);
}

static void reset_ended(FILE *out, const struct ended *ended)
{
	for (unsigned int i = 0; i < ARRAY_LEN(ended->runs); i++)
		if (ended->runs[i])
			fprintf(out, "add rule " TABLE " split ct mark & 0x%x "
				"%s%x meta l4proto tcp reject with tcp reset\n",
				MARK_MASK, i ? "== 0x" : "!= ",
				i << MARK_SHIFT);
}

static void add_prefix(FILE *out, const struct prefix *prefix)
{
	char text[INET6_ADDRSTRLEN];

	inet_ntop(prefix->v6 ? AF_INET6 : AF_INET, prefix->address.bytes, text,
		  sizeof(text));
	fprintf(out, "%s saddr %s/%u", prefix->v6 ? "ip6" : "ip", text,
		prefix->len);
}

/* Add a rule for each client, or interface, of which @then is the part after the match. */
static void each_client(FILE *out, const struct settings *settings,
			const char *then)
{
	for (unsigned int i = 0; i < settings->client_count; i++) {
		fprintf(out, "add rule " TABLE " split ");
		add_prefix(out, &settings->clients[i]);
		fprintf(out, " %s\n", then);
	}
	for (unsigned int i = 0; i < settings->pipe_count; i++)
		fprintf(out, "add rule " TABLE " split iifname \"%s\" %s\n",
			settings->pipes[i], then);
}

/* The time for which the machine still counts as just started. */
static unsigned int just_started_ms(void)
{
	double up_s = STARTED_S;
	FILE *file = fopen("/proc/uptime", "re");

	if (file) {
		if (fscanf(file, "%lf", &up_s) != 1)
			up_s = STARTED_S;
		fclose(file);
	}
	return up_s < STARTED_S ? (STARTED_S - up_s) * 1000 : 0;
}

/*
 * Reset unknown MPTCP connections after a boot. The rule is in a chain of its own, since
 * nftables 1.1 doesn't see that a match with a set of protocols implies TCP.
 */
static void reset_unknown(FILE *out, const struct settings *settings)
{
	unsigned int left_ms = just_started_ms();

	if (!left_ms)
		return;
	fprintf(out, "add set " TABLE " started { type inet_proto; "
		"flags timeout; elements = { tcp timeout %ums }; }\n", left_ms);
	fprintf(out, "add chain " TABLE " unknown\n"
		"add rule " TABLE " unknown tcp flags & (syn | rst) == 0x0 "
		"ct state new tcp option mptcp exists reject with tcp reset\n");
	each_client(out, settings, STARTED " jump unknown");
}

static void add_split(FILE *out, const struct settings *settings, uint8_t id,
		      const struct ended *ended)
{
	static const char *const too_large[] = {
		"icmp type destination-unreachable icmp code frag-needed",
		"icmpv6 type packet-too-big",
	};
	uint32_t mark = (uint32_t)id << MARK_SHIFT;
	char then[512];

	fprintf(out, "add chain " TABLE " split { type filter hook forward "
		"priority 100; }\n");
	/* A new connection may have the ports of one that was split. */
	snprintf(then, sizeof(then),
		 "tcp flags & (fin | syn | rst | ack) == syn "
		 "tcp option mptcp subtype 1 ct state new " ALIVE " "
		 "ct mark set ct mark & 0x%x | 0x%x",
		 ~MARK_MASK, mark);
	each_client(out, settings, then);
	fprintf(out, "add rule " TABLE " split ct mark & 0x%x == 0x%x "
		"tcp flags & syn == syn tcp option maxseg size set rt mtu\n",
		MARK_MASK, mark);
	fprintf(out, "add rule " TABLE " split ct mark & 0x%x == 0x%x "
		ALIVE " queue num %u bypass\n", MARK_MASK, mark,
		settings->queue);
	/* no check of ALIVE: if a hanging worker loses the message, its flow is reset anyway */
	for (unsigned int i = 0; i < ARRAY_LEN(too_large); i++)
		fprintf(out, "add rule " TABLE " split ct mark & 0x%x == 0x%x "
			"%s queue num %u bypass\n", MARK_MASK, mark,
			too_large[i], settings->queue);
	reset_ended(out, ended);
	reset_unknown(out, settings);
}

static void add_after(FILE *out, uint8_t id)
{
	uint32_t mark = (uint32_t)id << MARK_SHIFT;

	fprintf(out, "add chain " TABLE " after { type filter hook forward "
		"priority 101; }\n");
	fprintf(out, "add rule " TABLE " after ct mark & 0x%x != 0x%x "
		"return\n", MARK_MASK, mark);
	fprintf(out, "add rule " TABLE " after meta mark & 0x%x == 0x%x "
		"ct mark set ct mark & 0x%x\n", MARK_LEFT, MARK_LEFT,
		~MARK_MASK);
	fprintf(out, "add rule " TABLE " after meta mark & 0x%x == 0x%x "
		"meta mark set meta mark & 0x%x return\n", MARK_PASSED,
		MARK_PASSED, ~MARK_ALL);
	fprintf(out, "add rule " TABLE " after meta l4proto tcp "
		"reject with tcp reset\n");
}

/*
 * A beat is a packet made for the "client" 127.0.0.1, which can't be one: see worker.c. What is
 * made has no other bits in its mark, unlike packets of programs that use the same bit.
 */
static void add_made(FILE *out)
{
	fprintf(out, "add chain " TABLE " made { type filter hook output "
		"priority -300; }\n");
	fprintf(out, "add rule " TABLE " made meta mark 0x%x "
		"ip daddr 127.0.0.1 update @alive { meta l4proto }\n", MARK_MADE);
	fprintf(out, "add rule " TABLE " made meta mark 0x%x notrack\n", MARK_MADE);
}

/* Close the stream of open_memstream(), then run the text that was written to it. */
static int run_written(char **commands, FILE *out)
{
	int status = fclose(out) ? -1 : run(*commands, false, NULL);

	free(*commands);
	return status;
}

int rules_add(const struct settings *settings, uint8_t id)
{
	struct ended ended;
	char *commands = NULL;
	size_t len;
	FILE *out = open_memstream(&commands, &len);

	if (!out)
		return -1;
	find_ended(&ended);
	if (ended.any)
		say("an earlier run ended badly: its flows are reset");
	add_table(out, id, &ended);
	fprintf(out, "add set " TABLE " alive { type inet_proto; "
		"flags dynamic, timeout; timeout %ums; size 2; }\n",
		SILENCE_MS);
	add_split(out, settings, id, &ended);
	add_after(out, id);
	add_made(out);
	return run_written(&commands, out);
}

/* Change the rules so that no new connection is split, and the ones of this run are reset. */
int rules_only_reset(uint8_t id)
{
	struct ended ended;
	char *commands = NULL;
	size_t len;
	FILE *out = open_memstream(&commands, &len);

	if (!out)
		return -1;
	find_ended(&ended);
	add_table(out, id, &ended);
	add_after(out, id);
	return run_written(&commands, out);
}

/* --- rules that another program removes --- */

static bool is_there(void)
{
	return !run("list table " TABLE, true, NULL);
}

int rules_listen(void)
{
	const struct sockaddr_nl rules = {
		.nl_family = AF_NETLINK,
		.nl_groups = 1 << (NFNLGRP_NFTABLES - 1),
	};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK,
			NETLINK_NETFILTER);

	if (fd < 0 || bind(fd, (const struct sockaddr *)&rules, sizeof(rules)))
		say("nftables' events can't be received: %s", strerror(errno));
	else if (!is_there())
		say("the table " TABLE " is gone already");
	else
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Look for removed rules: removing a table or a chain makes an event for each of its rules. */
static int on_event(const struct nlmsghdr *message, void *removed)
{
	const struct nfgenmsg *header = mnl_nlmsg_get_payload(message);
	const struct nlattr *at;

	if (message->nlmsg_type !=
		    (NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_DELRULE) ||
	    header->nfgen_family != NFPROTO_INET)
		return MNL_CB_OK;
	mnl_attr_for_each(at, message, sizeof(*header))
		if (mnl_attr_get_type(at) == NFTA_RULE_TABLE &&
		    !strcmp(mnl_attr_get_str(at), TABLE_NAME))
			*(bool *)removed = true;
	return MNL_CB_OK;
}

bool rules_removed(int fd)
{
	uint8_t events[EVENT_BYTES];
	bool removed = false;
	ssize_t len = recv(fd, events, sizeof(events), 0);

	if (len < 0)
		return errno == ENOBUFS && !is_there();
	mnl_cb_run(events, len, 0, 0, on_event, &removed);
	return removed;
}
