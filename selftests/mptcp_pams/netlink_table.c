// SPDX-License-Identifier: GPL-2.0
/*
 * netlink_table - every way in which each attribute can be wrong, for each
 * command of the family mptcp_pams: each has to be refused, with a reason
 *
 *	netlink_table			missing, short, long, out of range, of
 *					another kind, doubled, unknown, garbage
 *	netlink_table unprivileged	without CAP_NET_ADMIN nothing can be changed,
 *					no connection be seen and no event be heard
 *
 * Prints what went wrong and, at the end, how many messages were sent and
 * refused. Exit code: 0 all as it should be, 1 not, 2 usage.
 */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>

#include "netlink_raw.h"

/* Refused, with a text; and if place isn't 0 because of what is there. */
static void expect_refusal(struct message *m, const struct command *command,
			   const char *name, const char *what, uint32_t place)
{
	struct answer answer = talk(m);

	if (!answer.error)
		wrong("%s: %s %s is taken", command->name, name, what);
	else if (!answer.text[0])
		wrong("%s: %s %s: error %d without a text", command->name,
		      name, what, answer.error);
	else if (place && answer.attribute != (int)place)
		wrong("%s: %s %s: '%s' names place %d, not %u", command->name,
		      name, what, answer.text, answer.attribute, place);
	if (command->number == MPTCP_PAMS_CMD_PATH_SET && number_of_paths())
		wrong("%s: %s %s left a path behind", command->name, name,
		      what);
}

/* The good message has to be good, or the bad ones prove nothing. */
static void expect_good(const struct command *command,
			const struct attribute *a)
{
	bool set = command->number == MPTCP_PAMS_CMD_PATH_SET;
	struct answer answer;
	struct message m;

	start(&m, family, 0, command->number);
	put_others(&m, command, a->type);
	put_good(&m, a);
	answer = talk(&m);
	if (answer.error != (set ? 0 : ENOENT))
		wrong("%s: a good %s: error %d, %s", command->name, a->name,
		      answer.error, answer.text);
	if (!set && !answer.text[0])
		wrong("%s: %s that isn't there: no text", command->name,
		      a->name);
	if (set)
		flush_paths();
}

static void expect_wrong_value(const struct command *command,
			       const struct attribute *a, const char *what,
			       uint64_t value, int bytes, uint16_t flags)
{
	struct message m;
	uint32_t place;

	start(&m, family, 0, command->number);
	put_others(&m, command, a->type);
	place = put_value(&m, a, value, bytes, flags);
	expect_refusal(&m, command, a->name, what, place);
}

static void test_attribute(const struct command *command,
			   const struct attribute *a)
{
	char what[32];
	int bytes;

	expect_good(command, a);
	for (bytes = 0; bytes <= 20; bytes++) {
		if (bytes == a->bytes || (a->kind == UINT && bytes == 4))
			continue;
		snprintf(what, sizeof(what), "of %d bytes", bytes);
		expect_wrong_value(command, a, what, a->good, bytes, 0);
	}
	if (a->has_min)
		expect_wrong_value(command, a, "too low", a->low, a->bytes, 0);
	if (a->has_max)
		expect_wrong_value(command, a, "too high", a->high, a->bytes,
				   0);
	if (a->kind == UINT)
		expect_wrong_value(command, a, "of 4 bytes too low", a->low, 4,
				   0);
	expect_wrong_value(command, a, "as a nest", a->good, a->bytes,
			   NLA_F_NESTED);
}

/* Attributes that aren't this command's, and bytes that are none. */
static void test_strangers(const struct command *command)
{
	static const uint8_t garbage[16] = { 0xff, 0xff, 1, 0x80, 3 };
	struct message m;
	uint32_t place;
	char what[32];
	int type;

	for (type = 0; type < 40; type++) {
		/* the first ones are this command's own */
		if (type && type <= (int)command->count)
			continue;
		start(&m, family, 0, command->number);
		put_others(&m, command, 0);
		place = put(&m, type, garbage, 4);
		snprintf(what, sizeof(what), "%d", type);
		expect_refusal(&m, command, "attribute", what,
			       type ? place : 0);
	}

	start(&m, family, 0, command->number);
	put_others(&m, command, 0);
	memcpy(m.bytes + m.length, garbage, 3);
	m.length += 3;
	expect_refusal(&m, command, "three bytes", "at the end", 0);

	start(&m, family, 0, command->number);
	put_others(&m, command, 0);
	place = put(&m, command->attributes->type, garbage, 4);
	((struct nlattr *)(m.bytes + place))->nla_len = 4096;
	expect_refusal(&m, command, "an attribute", "beyond the end", 0);

	start(&m, family, 0, command->number);
	put_others(&m, command, 0);
	place = put(&m, command->attributes->type, garbage, 4);
	((struct nlattr *)(m.bytes + place))->nla_len = 2;
	expect_refusal(&m, command, "an attribute", "shorter than its head", 0);

	start(&m, family, 0, command->number);
	place = put(&m, command->attributes->type | NLA_F_NESTED, garbage, 16);
	expect_refusal(&m, command, "a nest", "of garbage", 0);
}

/* What is missing, too much, or doesn't belong together. */
static void test_combination(const struct command *command, const char *what,
			     ...)
{
	struct message m;
	va_list args;
	int type;

	start(&m, family, 0, command->number);
	va_start(args, what);
	while ((type = va_arg(args, int)))
		put_path(&m, type);
	va_end(args);
	expect_refusal(&m, command, what, "", 0);
}

static void test_keys(const struct command *c)
{
	int report = c->number == MPTCP_PAMS_CMD_PATH_SET ?
		     MPTCP_PAMS_A_PATH_PIPE_RATE : 0;
	int v4 = MPTCP_PAMS_A_PATH_ADDRESS4, v6 = MPTCP_PAMS_A_PATH_ADDRESS6;
	int token = MPTCP_PAMS_A_PATH_TOKEN, dev = MPTCP_PAMS_A_PATH_IFINDEX;
	int local = MPTCP_PAMS_A_PATH_LOCAL_ID;
	int remote = MPTCP_PAMS_A_PATH_REMOTE_ID;
	int prefix = MPTCP_PAMS_A_PATH_PREFIX_LEN;
	int port = MPTCP_PAMS_A_PATH_PORT;

	test_combination(c, "nothing", 0);
	test_combination(c, "no key", prefix, report, 0);
	test_combination(c, "no key", port, report, 0);
	test_combination(c, "no key", local, remote, report, 0);
	test_combination(c, "two addresses", v4, v6, report, 0);
	test_combination(c, "address and interface", v4, dev, report, 0);
	test_combination(c, "address and token", v6, token, local, remote,
			 report, 0);
	test_combination(c, "token and interface", token, local, remote, dev,
			 report, 0);
	test_combination(c, "token alone", token, report, 0);
	test_combination(c, "token, one id", token, local, report, 0);
	test_combination(c, "token, one id", token, remote, report, 0);
	test_combination(c, "token with port", token, local, remote, port,
			 report, 0);
	test_combination(c, "token with prefix", token, local, remote, prefix,
			 report, 0);
	test_combination(c, "interface with port", dev, port, report, 0);
	test_combination(c, "interface with prefix", dev, prefix, report, 0);
	test_combination(c, "interface with id", dev, local, report, 0);
	test_combination(c, "address with id", v4, remote, report, 0);
}

static void test_reports(const struct command *c)
{
	int v4 = MPTCP_PAMS_A_PATH_ADDRESS4, rate = MPTCP_PAMS_A_PATH_PIPE_RATE;
	int backlog = MPTCP_PAMS_A_PATH_PIPE_BACKLOG;
	int delay = MPTCP_PAMS_A_PATH_PIPE_DELAY;
	int hs = MPTCP_PAMS_A_PATH_HS_RATE;
	int loss = MPTCP_PAMS_A_PATH_LOSS_TIME;
	int no_loss = MPTCP_PAMS_A_PATH_NO_LOSS, ttl = MPTCP_PAMS_A_PATH_TTL;

	test_combination(c, "no report", v4, 0);
	test_combination(c, "no report", v4, ttl, 0);
	test_combination(c, "backlog without rate", v4, backlog, 0);
	test_combination(c, "delay without rate", v4, delay, loss, 0);
	test_combination(c, "hs-rate without rate", v4, hs, no_loss, 0);
	test_combination(c, "loss and none", v4, loss, no_loss, 0);
	test_combination(c, "loss and none", v4, rate, loss, no_loss, 0);
}

/* Of two the last counts, as with any netlink attribute. */
static void test_duplicates(const struct command *c)
{
	const struct attribute *rate = attribute(MPTCP_PAMS_A_PATH_PIPE_RATE);
	struct message m;

	start(&m, family, 0, c->number);
	put_path(&m, MPTCP_PAMS_A_PATH_ADDRESS4);
	put_good(&m, rate);
	put_value(&m, rate, rate->low, 8, 0);
	expect_refusal(&m, c, "a second rate", "too low", 0);

	start(&m, family, 0, c->number);
	put_path(&m, MPTCP_PAMS_A_PATH_ADDRESS4);
	put_good(&m, rate);
	put_good(&m, rate);
	if (talk(&m).error || number_of_paths() != 1)
		wrong("%s: a rate given twice is not one path", c->name);
	flush_paths();
}

/* Commands and headers. */
static void test_heads(void)
{
	struct genlmsghdr *genl;
	struct message m;
	int command;

	for (command = 0; command < 256; command++) {
		if (command >= MPTCP_PAMS_CMD_PATH_SET &&
		    command <= MPTCP_PAMS_CMD_STATS_GET)
			continue;
		start(&m, family, 0, command);
		if (talk(&m).error != EOPNOTSUPP)
			wrong("command %d is known", command);
	}

	start(&m, family, NLM_F_DUMP, MPTCP_PAMS_CMD_PATH_SET);
	put_path(&m, MPTCP_PAMS_A_PATH_ADDRESS4);
	if (talk(&m).error != EOPNOTSUPP)
		wrong("path-set as a dump is known");

	start(&m, family, 0, MPTCP_PAMS_CMD_PATH_SET);
	put_path(&m, MPTCP_PAMS_A_PATH_ADDRESS4);
	put_path(&m, MPTCP_PAMS_A_PATH_PIPE_RATE);
	genl = NLMSG_DATA(header(&m));
	genl->reserved = 1;
	if (!talk(&m).error)
		wrong("reserved bits are taken");

	start(&m, family, 0, MPTCP_PAMS_CMD_PATH_SET);
	m.length = NLMSG_LENGTH(0);
	if (!talk(&m).error)
		wrong("a message without a command is taken");
	if (number_of_paths())
		wrong("a bad head left a path behind");
}

static void table(void)
{
	size_t i, j;

	flush_paths();
	for (i = 0; i < COUNT(commands); i++) {
		for (j = 0; j < commands[i].count; j++)
			test_attribute(&commands[i],
				       &commands[i].attributes[j]);
		test_strangers(&commands[i]);
		if (commands[i].attributes == path_attributes)
			test_keys(&commands[i]);
	}
	test_reports(&commands[0]);
	test_duplicates(&commands[0]);
	test_heads();
}

/* --- unprivileged --- */

static void drop_net_admin(void)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &head, data))
		die("capget");
	data[0].effective &= ~(1u << CAP_NET_ADMIN);
	data[0].permitted &= ~(1u << CAP_NET_ADMIN);
	data[0].inheritable &= ~(1u << CAP_NET_ADMIN);
	if (syscall(SYS_capset, &head, data))
		die("capset");
}

/* The id of the family's one group: an attribute of an attribute of the groups. */
static void look_group(const struct nlmsghdr *hdr, void *arg)
{
	struct {
		struct nlmsghdr hdr;
		struct genlmsghdr genl;
		uint8_t attributes[256];
	} inner = { };

	find_attribute(hdr, CTRL_ATTR_MCAST_GROUPS, inner.attributes,
		       sizeof(inner.attributes));
	inner.hdr.nlmsg_len = sizeof(inner);
	/* the first group's attributes take the place of the groups */
	memmove(inner.attributes, inner.attributes + NLA_HDRLEN,
		sizeof(inner.attributes) - NLA_HDRLEN);
	find_attribute(&inner.hdr, CTRL_ATTR_MCAST_GRP_ID, arg,
		       sizeof(uint32_t));
}

static void join_group(void)
{
	uint32_t group = 0;
	struct message m;

	start(&m, GENL_ID_CTRL, 0, CTRL_CMD_GETFAMILY);
	put(&m, CTRL_ATTR_FAMILY_NAME, MPTCP_PAMS_FAMILY_NAME,
	    sizeof(MPTCP_PAMS_FAMILY_NAME));
	talk_look(&m, look_group, &group);
	if (!group)
		wrong("the family has no group");
	else if (!setsockopt(netlink, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP,
			     &group, sizeof(group)) || errno != EPERM)
		wrong("the group of events may be joined");
}

static void unprivileged(void)
{
	/* conn-get tells of others' connections, and takes their locks */
	static const struct { uint8_t command; uint16_t flags; } refused_ones[] = {
		{ MPTCP_PAMS_CMD_PATH_SET, 0 },
		{ MPTCP_PAMS_CMD_PATH_DEL, 0 },
		{ MPTCP_PAMS_CMD_PATH_FLUSH, 0 },
		{ MPTCP_PAMS_CMD_CONN_GET, 0 },
		{ MPTCP_PAMS_CMD_CONN_GET, NLM_F_DUMP },
	};
	uint32_t token = 0x0badbad;
	struct message m;
	size_t i;

	for (i = 0; i < COUNT(refused_ones); i++) {
		uint8_t command = refused_ones[i].command;

		start(&m, family, refused_ones[i].flags, command);
		if (command != MPTCP_PAMS_CMD_CONN_GET)
			put_path(&m, MPTCP_PAMS_A_PATH_ADDRESS4);
		else if (!refused_ones[i].flags)
			put(&m, MPTCP_PAMS_A_CONN_TOKEN, &token, sizeof(token));
		if (command == MPTCP_PAMS_CMD_PATH_SET)
			put_path(&m, MPTCP_PAMS_A_PATH_PIPE_RATE);
		if (talk(&m).error != EPERM)
			wrong("command %u%s is permitted", command,
			      refused_ones[i].flags ? ", a dump," : "");
	}
	join_group();
	/* reading paths and totals isn't refused */
	number_of_paths();
	start(&m, family, NLM_F_DUMP, MPTCP_PAMS_CMD_PATH_GET);
	if (talk(&m).error)
		wrong("path-get is refused");
}

int main(int argc, char **argv)
{
	bool drop = argc == 2 && !strcmp(argv[1], "unprivileged");

	if (argc > 1 && !drop) {
		fprintf(stderr, "usage: netlink_table [unprivileged]\n");
		return 2;
	}
	if (drop)
		drop_net_admin();	/* before the socket is opened */
	open_netlink();
	if (drop)
		unprivileged();
	else
		table();
	return report();
}
