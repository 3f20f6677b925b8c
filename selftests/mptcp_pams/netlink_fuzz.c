// SPDX-License-Identifier: GPL-2.0
/*
 * netlink_fuzz - messages with random faults for the family mptcp_pams
 *
 *	netlink_fuzz SEED ROUNDS [alone]
 *
 * Each gets an answer and, if refused, a reason; what was stored is in range
 * and never more than may be. With "alone" connections carry data meanwhile, of
 * which units must be taken, and nobody else reports paths. Prints what went wrong
 * and, at the end, how many messages were sent and refused. Exit code: 0 all as it
 * should be, 1 not, 2 usage.
 */
#define _GNU_SOURCE
#include <unistd.h>

#include "netlink_raw.h"

#define WRONG_MAX	20	/* is enough to know */
#define MOVE_US		500	/* for transfers to move on */

static uint64_t random_state;
static unsigned int units;	/* that were taken */

/* splitmix64 */
static uint64_t draw(void)
{
	uint64_t z = random_state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static uint64_t below(uint64_t bound)
{
	return draw() % bound;
}

/* A value of any kind, mostly in range or near its ends. */
static uint64_t random_value(const struct attribute *a)
{
	switch (below(6)) {
	case 0:
		return draw();
	case 1:
		return a->has_max ? a->high - below(3) : draw() >> below(64);
	case 2:
		return a->has_min ? a->low + below(3) : 0;
	case 3:
		return a->good + below(16);
	}
	return a->good;
}

/* A key and a report that belong together, with values that may be wrong. */
static void put_coherent(struct message *m, const struct command *command)
{
	static const uint16_t keys[][3] = {
		{ MPTCP_PAMS_A_PATH_ADDRESS4, MPTCP_PAMS_A_PATH_PREFIX_LEN },
		{ MPTCP_PAMS_A_PATH_ADDRESS6, MPTCP_PAMS_A_PATH_PORT },
		{ MPTCP_PAMS_A_PATH_TOKEN, MPTCP_PAMS_A_PATH_LOCAL_ID,
		  MPTCP_PAMS_A_PATH_REMOTE_ID },
		{ MPTCP_PAMS_A_PATH_IFINDEX },
	};
	const uint16_t *key = keys[below(COUNT(keys))];
	size_t i;

	for (i = 0; i < 3 && key[i]; i++) {
		const struct attribute *a = attribute(key[i]);

		put_value(m, a, below(2) ? a->good + below(64) : a->good,
			  a->bytes, 0);
	}
	if (command->number != MPTCP_PAMS_CMD_PATH_SET)
		return;
	put_path(m, MPTCP_PAMS_A_PATH_PIPE_RATE);
	for (i = MPTCP_PAMS_A_PATH_PIPE_BACKLOG;
	     i <= MPTCP_PAMS_A_PATH_TTL; i++) {
		const struct attribute *a = attribute(i);

		if (!below(3) && a->kind != FLAG)
			put_value(m, a, below(8) ? a->good : random_value(a),
				  a->bytes, 0);
	}
	if (!below(3))
		put_path(m, MPTCP_PAMS_A_PATH_LOSS_SPREAD);
}

static void put_random(struct message *m, const struct command *command)
{
	const struct attribute *a =
		&command->attributes[below(command->count)];
	int bytes = below(8) ? a->bytes : (int)below(32);

	put_value(m, a, random_value(a), bytes,
		  below(16) ? 0 : draw() & ~NLA_TYPE_MASK);
}

static void mutate(struct message *m)
{
	uint32_t first = NLMSG_LENGTH(GENL_HDRLEN);
	uint32_t body = m->length - first;
	unsigned int times = 1 + below(4);

	while (times-- && body) {
		uint32_t at = first + below(body);

		switch (below(4)) {
		case 0:
			m->bytes[at] ^= 1 << below(8);
			break;
		case 1:
			m->bytes[at] = draw();
			break;
		case 2:
			m->length = at;
			body = m->length - first;
			break;
		case 3:
			if (m->length + 64 < sizeof(m->bytes)) {
				memmove(m->bytes + m->length, m->bytes + first,
					body < 64 ? body : 64);
				m->length += body < 64 ? body : 64;
				body = m->length - first;
			}
			break;
		}
	}
}

/* What is stored has to be in range, whatever was sent. */
static void look_path(const struct nlmsghdr *hdr, void *arg)
{
	uint32_t *paths = arg;
	uint64_t rate = 0;	/* of 4 bytes the upper ones stay 0 */
	uint32_t backlog = 0, delay = 0;
	uint8_t prefix = 0;

	++*paths;
	find_attribute(hdr, MPTCP_PAMS_A_PATH_PREFIX_LEN, &prefix, 1);
	find_attribute(hdr, MPTCP_PAMS_A_PATH_PIPE_BACKLOG, &backlog, 4);
	find_attribute(hdr, MPTCP_PAMS_A_PATH_PIPE_DELAY, &delay, 4);
	find_attribute(hdr, MPTCP_PAMS_A_PATH_PIPE_RATE, &rate, 8);
	if (prefix > 128 || backlog > MPTCP_PAMS_BACKLOG_MAX_BYTES ||
	    delay > MPTCP_PAMS_DELAY_MAX_US ||
	    (rate && rate < MPTCP_PAMS_RATE_MIN_BYTEPS) ||
	    rate > MPTCP_PAMS_RATE_MAX_BYTEPS)
		wrong("stored: prefix %u rate %llu backlog %u delay %u",
		      prefix, (unsigned long long)rate, backlog, delay);
}

static uint32_t paths_max(void)
{
	FILE *f = fopen("/proc/sys/net/mptcp_pams/paths_max", "r");
	uint32_t max = 0;

	if (!f || fscanf(f, "%u", &max) != 1)
		die("net.mptcp_pams.paths_max");
	fclose(f);
	return max;
}

static void look_at_state(uint32_t max)
{
	uint32_t paths = 0;
	struct message m;

	start(&m, family, NLM_F_DUMP, MPTCP_PAMS_CMD_PATH_GET);
	if (talk_look(&m, look_path, &paths).error)
		wrong("path-get as a dump is refused");
	if (paths > max)
		wrong("%u paths are stored, at most %u may be", paths, max);
}

static const struct attribute rule_attributes[] = {
	{ A(RULE_MARK, U32, 4, 0x12) },
	{ A(RULE_MASK, U32, 4, 0xff) },
	{ A(RULE_UID, U32, 4, 0) },
	{ A(RULE_LOCAL_PORT_MIN, U16, 2, 0x0100) },
	{ A(RULE_LOCAL_PORT_MAX, U16, 2, 0xffff) },
	{ A(RULE_REMOTE_PORT_MIN, U16, 2, 0xbb01) },
	{ A(RULE_REMOTE_PORT_MAX, U16, 2, 0xbb01) },
	{ A(RULE_ADDRESS4, U32, 4, 0x070200c0) },
	{ A(RULE_ADDRESS6, BYTES, 16, 0) },
	{ A(RULE_PREFIX_LEN, U8, 1, 24), .has_max = true, .high = 129 },
	{ A(RULE_CLIENT, FLAG, 0, 0) },
	{ A(RULE_SERVER, FLAG, 0, 0) },
	{ A(RULE_FIRST_BYTES, U32, 4, 16384) },
};

/* A rule, mostly a good one. */
static void put_rule(struct message *m)
{
	static const char * const names[] = {
		"minfct", "pams", "single", "redundant", "rules", "default", "",
	};
	uint32_t at = put(m, MPTCP_PAMS_A_RULES_RULE |
			  (below(16) ? NLA_F_NESTED : 0), NULL, 0);
	struct nlattr *nest = (struct nlattr *)(m->bytes + at);
	unsigned int attributes = below(4);
	const char *name = names[below(below(4) ? 4 : COUNT(names))];

	if (m->length == at)
		return;		/* there is no room */
	if (below(8))
		put(m, MPTCP_PAMS_A_RULE_SCHEDULER, name, strlen(name) + 1);
	if (!below(8))
		put(m, MPTCP_PAMS_A_RULE_CGROUP, below(2) ? "/" : "/none/../..",
		    below(2) ? 2 : 12);
	while (attributes--) {
		const struct attribute *a =
			&rule_attributes[below(COUNT(rule_attributes))];

		put_value(m, a, below(4) ? a->good : random_value(a),
			  below(16) ? a->bytes : (int)below(32), 0);
	}
	nest->nla_len = m->length - at + (below(32) ? 0 : below(16) - 8);
}

/* The table, whole, of few rules mostly, and of more than may be. */
static void set_rules(void)
{
	unsigned int rules = below(16) ? below(6) : 250 + below(20);
	struct answer answer;
	struct message m;

	start(&m, family, 0, MPTCP_PAMS_CMD_RULES_SET);
	if (!below(4))
		put(&m, MPTCP_PAMS_A_RULES_SCHEDULER, "pams", 5);
	while (rules--)
		put_rule(&m);
	if (!below(3))
		mutate(&m);
	answer = talk(&m);
	if (answer.error && !answer.text[0])
		wrong("rules-set: error %d without a text", answer.error);
}

static void look_rule(const struct nlmsghdr *hdr, void *arg)
{
	uint32_t *rules = arg;
	uint8_t nest[1024] = { };

	find_attribute(hdr, MPTCP_PAMS_A_RULES_RULE, nest, sizeof(nest));
	*rules += nest[0] != 0;
}

static void look_at_rules(void)
{
	uint32_t rules = 0;
	struct message m;

	start(&m, family, NLM_F_DUMP, MPTCP_PAMS_CMD_RULES_GET);
	if (talk_look(&m, look_rule, &rules).error)
		wrong("rules-get is refused");
	if (rules > MPTCP_PAMS_RULES_MAX)
		wrong("%u rules are stored, at most %u may be", rules,
		      MPTCP_PAMS_RULES_MAX);
}

static void look_token(const struct nlmsghdr *hdr, void *arg)
{
	find_attribute(hdr, MPTCP_PAMS_A_CONN_TOKEN, arg, 4);
}

/* On whatever connection there is, so that its schedule runs over all kinds of units. */
static void mark_unit(void)
{
	uint64_t bytes = draw() >> below(64);
	uint32_t token = 0;
	struct answer answer;
	struct message m;

	start(&m, family, NLM_F_DUMP, MPTCP_PAMS_CMD_CONN_GET);
	talk_look(&m, look_token, &token);
	start(&m, family, 0, MPTCP_PAMS_CMD_UNIT_SET);
	put(&m, MPTCP_PAMS_A_CONN_TOKEN, &token, sizeof(token));
	put(&m, MPTCP_PAMS_A_CONN_UNIT, &bytes, sizeof(bytes));
	answer = talk(&m);
	if (answer.error && !answer.text[0])
		wrong("unit-set: error %d without a text", answer.error);
	units += !answer.error;
	usleep(MOVE_US);
	if (!answer.error && bytes > MPTCP_PAMS_UNIT_MAX_BYTES)
		wrong("a unit of %llu bytes is taken", (unsigned long long)bytes);
}

static void one_round(uint64_t round)
{
	const struct command *command = &commands[below(COUNT(commands))];
	unsigned int attributes = below(6);
	struct answer answer;
	struct message m;

	if (below(3))
		command = &commands[0];
	start(&m, family, 0, command->number);
	if (below(2) && command->attributes == path_attributes) {
		put_coherent(&m, command);
		attributes = below(8) ? 0 : 1;
	} else {
		put_others(&m, command, below(2) ? 0 :
			   1 + below(command->count));
	}
	while (attributes--)
		put_random(&m, command);
	if (!below(3))
		mutate(&m);
	answer = talk(&m);
	/* ours, and the kernel's about attributes, all have a text */
	if (answer.error && !answer.text[0])
		wrong("round %llu: %s: error %d without a text",
		      (unsigned long long)round, command->name, answer.error);
}

static void random_rounds(uint64_t seed, uint64_t rounds, bool alone)
{
	uint32_t max = paths_max();
	uint64_t i;

	random_state = seed;
	for (i = 0; i < rounds && failed < WRONG_MAX; i++) {
		if (i % 10 == 9)
			set_rules();
		else
			one_round(i);
		if (i % 10 == 4)
			mark_unit();
		if (i % 500 != 499)
			continue;
		look_at_state(max);
		look_at_rules();
		if (!below(4))
			flush_paths();
	}
	if (alone && !units)
		wrong("no unit was taken of any connection");
	look_at_state(max);
	flush_paths();
	if (alone && number_of_paths())
		wrong("paths are left after path-flush");
}

int main(int argc, char **argv)
{
	if (argc != 3 && argc != 4) {
		fprintf(stderr, "usage: netlink_fuzz SEED ROUNDS [alone]\n");
		return 2;
	}
	open_netlink();
	random_rounds(strtoull(argv[1], NULL, 0), strtoull(argv[2], NULL, 0), argc > 3);
	return report();
}
