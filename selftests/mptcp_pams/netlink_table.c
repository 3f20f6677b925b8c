// SPDX-License-Identifier: GPL-2.0
/*
 * netlink_table - every way in which each attribute can be wrong, for each
 * command of the family mptcp_pams: each has to be refused, with a reason
 *
 *	netlink_table			missing, short, long, out of range, of
 *					another kind, doubled, unknown, garbage
 *	netlink_table unprivileged	without CAP_NET_ADMIN nothing can be changed
 *					and no connection seen
 *
 * Prints what went wrong and, at the end, how many messages were sent and
 * refused. Exit code: 0 all as it should be, 1 not, 2 usage.
 */
#define _GNU_SOURCE
#include <netinet/in.h>
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
	if (a->kind == UINT && a->has_min)
		expect_wrong_value(command, a, "of 4 bytes too low", a->low, 4,
				   0);
	expect_wrong_value(command, a, "as a nest", a->good, a->bytes,
			   NLA_F_NESTED);
}

static bool is_of(const struct command *command, int type)
{
	size_t i;

	for (i = 0; i < command->count; i++)
		if (command->attributes[i].type == type)
			return true;
	return false;
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
		if (is_of(command, type))
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

/* What of a report needs something else, in the order in which it is refused. */
static const char *fault_of(const bool *has, int *type)
{
	static const struct {
		int type, needs;
		const char *text;
	} rules[] = {
		{ MPTCP_PAMS_A_PATH_LOSS_SPREAD, MPTCP_PAMS_A_PATH_LOSS_TIME,
		  "loss-spread needs loss-time" },
		{ MPTCP_PAMS_A_PATH_PIPE_BACKLOG, MPTCP_PAMS_A_PATH_PIPE_RATE,
		  "pipe-backlog needs pipe-rate" },
		{ MPTCP_PAMS_A_PATH_PIPE_DELAY, MPTCP_PAMS_A_PATH_PIPE_RATE,
		  "pipe-delay needs pipe-rate" },
		{ MPTCP_PAMS_A_PATH_HS_RATE, MPTCP_PAMS_A_PATH_PIPE_RATE,
		  "hs-rate needs pipe-rate" },
	};
	size_t i;

	*type = MPTCP_PAMS_A_PATH_NO_LOSS;
	if (has[MPTCP_PAMS_A_PATH_LOSS_TIME] && has[MPTCP_PAMS_A_PATH_NO_LOSS])
		return "no-loss and loss-time contradict each other";
	for (i = 0; i < COUNT(rules); i++) {
		*type = rules[i].type;
		if (has[rules[i].type] && !has[rules[i].needs])
			return rules[i].text;
	}
	*type = 0;
	if (!has[MPTCP_PAMS_A_PATH_PIPE_RATE] &&
	    !has[MPTCP_PAMS_A_PATH_LOSS_TIME] &&
	    !has[MPTCP_PAMS_A_PATH_NO_LOSS])
		return "nothing is reported: pipe-rate, loss-time, no-loss or cost is needed";
	return NULL;
}

/* Of the attributes of a report every subset: taken, or refused for its reason. */
static void test_reports(const struct command *c)
{
	static const int types[] = {
		MPTCP_PAMS_A_PATH_PIPE_RATE, MPTCP_PAMS_A_PATH_PIPE_BACKLOG,
		MPTCP_PAMS_A_PATH_PIPE_DELAY, MPTCP_PAMS_A_PATH_HS_RATE,
		MPTCP_PAMS_A_PATH_LOSS_TIME, MPTCP_PAMS_A_PATH_NO_LOSS,
		MPTCP_PAMS_A_PATH_TTL, MPTCP_PAMS_A_PATH_LOSS_SPREAD,
	};
	unsigned int subset, i;

	for (subset = 0; subset < 1u << COUNT(types); subset++) {
		bool has[MPTCP_PAMS_A_PATH_MAX + 1] = { };
		uint32_t place[MPTCP_PAMS_A_PATH_MAX + 1] = { };
		struct answer answer;
		const char *fault;
		struct message m;
		int type;

		start(&m, family, 0, c->number);
		put_path(&m, MPTCP_PAMS_A_PATH_ADDRESS4);
		for (i = 0; i < COUNT(types); i++) {
			if (!(subset & 1u << i))
				continue;
			has[types[i]] = true;
			place[types[i]] = m.length;
			put_path(&m, types[i]);
		}
		fault = fault_of(has, &type);
		answer = talk(&m);
		if (!answer.error != !fault ||
		    (fault && strcmp(answer.text, fault)))
			wrong("%s: subset %#x: error %d, '%s', expected '%s'",
			      c->name, subset, answer.error, answer.text,
			      fault ? fault : "none");
		else if (fault && answer.attribute != (int)place[type])
			wrong("%s: subset %#x: '%s' names place %d, not %u",
			      c->name, subset, fault, answer.attribute,
			      place[type]);
		/* no-loss alone, of a path that isn't there, makes none */
		if (number_of_paths() !=
		    (!fault && (has[MPTCP_PAMS_A_PATH_PIPE_RATE] ||
				has[MPTCP_PAMS_A_PATH_LOSS_TIME])))
			wrong("%s: subset %#x: %u paths", c->name, subset,
			      number_of_paths());
		flush_paths();
	}
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

/* The origin is printable, ends with a 0, and has at most 15 characters. */
static void test_origin(const struct command *c)
{
	static const char * const bad[] = {
		"sixteen-letters.", "esc\033[2J", "new\nline", "caf\303\251",
	};
	static const char good[] = "fifteen letters";
	struct message m;
	uint32_t place;
	size_t i;

	for (i = 0; i < COUNT(bad); i++) {
		start(&m, family, 0, c->number);
		put_others(&m, c, 0);
		place = put(&m, MPTCP_PAMS_A_PATH_ORIGIN, bad[i],
			    strlen(bad[i]) + 1);
		expect_refusal(&m, c, "origin", "of that text", place);
	}
	start(&m, family, 0, c->number);
	put_others(&m, c, 0);
	place = put(&m, MPTCP_PAMS_A_PATH_ORIGIN, good, strlen(good));
	expect_refusal(&m, c, "origin", "without an end", place);

	start(&m, family, 0, c->number);
	put_others(&m, c, 0);
	put(&m, MPTCP_PAMS_A_PATH_ORIGIN, good, sizeof(good));
	if (talk(&m).error)
		wrong("%s: an origin of 15 characters is refused", c->name);
	flush_paths();
}

/* Commands and headers. */
static void test_heads(void)
{
	struct genlmsghdr *genl;
	struct message m;
	int command;

	for (command = 0; command < 256; command++) {
		if ((command >= MPTCP_PAMS_CMD_PATH_SET &&
		     command <= MPTCP_PAMS_CMD_STATS_GET) ||
		    command == MPTCP_PAMS_CMD_RULES_SET ||
		    command == MPTCP_PAMS_CMD_UNIT_SET ||
		    command == MPTCP_PAMS_CMD_SCHED_GET)
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

/* What a unit needs, and the values that it may have. */
static void test_unit(const struct command *c)
{
	struct message m;

	start(&m, family, 0, c->number);
	expect_refusal(&m, c, "nothing", "", 0);
	start(&m, family, 0, c->number);
	put_good(&m, &c->attributes[0]);
	expect_refusal(&m, c, "a token", "alone", 0);
	start(&m, family, 0, c->number);
	put_good(&m, &c->attributes[1]);
	expect_refusal(&m, c, "a unit", "alone", 0);
}

/* Names are as long as they may be, with characters that no terminal should see. */
static void test_rules(void)
{
	static const struct attribute of_table[] = {
		{ A(RULES_FIRST_BYTES, U32, 4, 16384), .has_min = true, .low = 0 },
	};
	static const struct command c = {
		.number = MPTCP_PAMS_CMD_RULES_SET, .name = "rules-set",
		.attributes = of_table, .count = 1,
	};
	char name[MPTCP_PAMS_SCHEDULER_MAX + 1];
	struct message m;
	uint32_t place;

	memset(name, '\n', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	start(&m, family, 0, c.number);
	put(&m, MPTCP_PAMS_A_RULES_SCHEDULER, name, sizeof(name));
	expect_refusal(&m, &c, "scheduler", "of newlines", 0);
	start(&m, family, 0, c.number);
	put(&m, MPTCP_PAMS_A_RULES_COSTLY_COPIES, NULL, 0);
	expect_refusal(&m, &c, "costly-copies", "alone", 0);
	start(&m, family, 0, c.number);
	put(&m, MPTCP_PAMS_A_RULES_SCHEDULER, "redundant", 10);
	place = put_value(&m, &of_table[0], of_table[0].low, 4, 0);
	expect_refusal(&m, &c, "first-bytes", "too low", place);
}

static void look_name(const struct nlmsghdr *hdr, void *arg)
{
	find_attribute(hdr, MPTCP_PAMS_A_SCHED_NAME, arg, MPTCP_PAMS_SCHEDULER_MAX);
}

/* Ask of a file descriptor. Returns the error; "name" is the answer. */
static int ask_of(uint32_t fd, char name[MPTCP_PAMS_SCHEDULER_MAX + 1])
{
	struct message m;

	memset(name, 0, MPTCP_PAMS_SCHEDULER_MAX + 1);
	start(&m, family, 0, MPTCP_PAMS_CMD_SCHED_GET);
	put(&m, MPTCP_PAMS_A_SCHED_FD, &fd, sizeof(fd));
	return talk_look(&m, look_name, name).error;
}

/* Which scheduler a socket of one's own has everybody may ask; a listening one, too. */
static void test_sched_of(void)
{
	char name[MPTCP_PAMS_SCHEDULER_MAX + 1], chosen[64] = "";
	FILE *f = fopen("/proc/sys/net/mptcp/scheduler", "r");
	int mptcp = socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP);
	int tcp = socket(AF_INET, SOCK_STREAM, 0);
	/* of MPTCP's number, but none of its connections */
	int raw = socket(AF_INET, SOCK_RAW, IPPROTO_MPTCP);
	int raw6 = socket(AF_INET6, SOCK_RAW, IPPROTO_MPTCP);
	struct message m;

	if (!f || !fgets(chosen, sizeof(chosen), f) || mptcp < 0 || tcp < 0 || raw < 0)
		die("sockets, and the scheduler");
	fclose(f);
	chosen[strcspn(chosen, "\n")] = 0;
	for (int i = 0; i < 2; i++) {
		if (ask_of(mptcp, name) || strcmp(name, chosen))
			wrong("the socket has '%s', not '%s'", name, chosen);
		if (listen(mptcp, 1))
			die("listen");
	}
	if (ask_of(tcp, name) != EOPNOTSUPP || ask_of(netlink, name) != EOPNOTSUPP ||
	    ask_of(raw, name) != EOPNOTSUPP || (raw6 >= 0 && ask_of(raw6, name) != EOPNOTSUPP))
		wrong("a socket that isn't MPTCP's has '%s'", name);
	close(raw);
	if (raw6 >= 0)
		close(raw6);
	close(tcp);
	if (ask_of(tcp, name) != EBADF)
		wrong("no socket has '%s'", name);
	close(mptcp);
	start(&m, family, 0, MPTCP_PAMS_CMD_SCHED_GET);
	if (talk(&m).error != EINVAL)
		wrong("nobody's socket has a scheduler");
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
		if (commands[i].attributes == unit_attributes)
			test_unit(&commands[i]);
	}
	test_reports(&commands[0]);
	test_duplicates(&commands[0]);
	test_origin(&commands[0]);
	test_heads();
	test_rules();
	test_sched_of();
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

static void look_groups(const struct nlmsghdr *hdr, void *arg)
{
	find_attribute(hdr, CTRL_ATTR_MCAST_GROUPS, arg, 64);
}

/* The group's number, from what the controller knows of the family. */
static uint32_t event_group(void)
{
	/* of the groups: the head of the first one, then its attributes */
	uint8_t groups[64] = { };
	uint32_t group = 0;
	struct message m;
	size_t at = NLA_HDRLEN;

	start(&m, GENL_ID_CTRL, 0, CTRL_CMD_GETFAMILY);
	put(&m, CTRL_ATTR_FAMILY_NAME, MPTCP_PAMS_FAMILY_NAME,
	    sizeof(MPTCP_PAMS_FAMILY_NAME));
	talk_look(&m, look_groups, groups);
	while (at + NLA_HDRLEN + sizeof(group) <= sizeof(groups)) {
		const struct nlattr *attr = (const void *)(groups + at);

		if (attr->nla_type == CTRL_ATTR_MCAST_GRP_ID)
			memcpy(&group, attr + 1, sizeof(group));
		if (attr->nla_len < NLA_HDRLEN)
			break;
		at += NLA_ALIGN(attr->nla_len);
	}
	if (!group)
		wrong("the family has no group of events");
	return group;
}

static int join(uint32_t group)
{
	return setsockopt(netlink, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group,
			  sizeof(group));
}

static void unprivileged(void)
{
	static const uint8_t writing[] = { MPTCP_PAMS_CMD_PATH_SET,
		MPTCP_PAMS_CMD_PATH_DEL, MPTCP_PAMS_CMD_PATH_FLUSH };
	struct message m;
	size_t i;

	for (i = 0; i < COUNT(writing); i++) {
		start(&m, family, 0, writing[i]);
		put_path(&m, MPTCP_PAMS_A_PATH_ADDRESS4);
		if (writing[i] == MPTCP_PAMS_CMD_PATH_SET)
			put_path(&m, MPTCP_PAMS_A_PATH_PIPE_RATE);
		if (talk(&m).error != EPERM)
			wrong("command %u is permitted", writing[i]);
	}
	/* reading is */
	number_of_paths();
	start(&m, family, NLM_F_DUMP, MPTCP_PAMS_CMD_PATH_GET);
	if (talk(&m).error)
		wrong("path-get is refused");
	start(&m, family, NLM_F_DUMP, MPTCP_PAMS_CMD_SCHED_GET);
	if (talk(&m).error)
		wrong("sched-get is refused");
	test_sched_of();
	/* looking at a connection takes its lock: only for who may change it */
	start(&m, family, NLM_F_DUMP, MPTCP_PAMS_CMD_CONN_GET);
	if (talk(&m).error != EPERM)
		wrong("conn-get as a dump is permitted");
	start(&m, family, 0, MPTCP_PAMS_CMD_CONN_GET);
	put_good(&m, &conn_attributes[0]);
	if (talk(&m).error != EPERM)
		wrong("conn-get is permitted");
	/* a unit may be marked, of a connection of one's own */
	start(&m, family, 0, MPTCP_PAMS_CMD_UNIT_SET);
	put_good(&m, &unit_attributes[0]);
	put_good(&m, &unit_attributes[1]);
	if (talk(&m).error != ENOENT)
		wrong("unit-set isn't for everybody");
	if (!join(event_group()) || errno != EPERM)
		wrong("the events are sent to anybody");
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
