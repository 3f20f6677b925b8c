// SPDX-License-Identifier: GPL-2.0
/* Sets and shows the table of rules (rules.c) over netlink. A request replaces the whole
 * table, or is refused and changes nothing; a refusal says which rule is wrong, and why.
 */
#include <linux/cred.h>
#include <linux/string.h>
#include <net/genetlink.h>

#include "netlink-gen.h"
#include "netlink.h"
#include "pams.h"

/* A rule of a request, while it is parsed. */
struct parse {
	struct genl_info *info;
	struct nlattr *attrs[MPTCP_PAMS_A_RULE_MAX + 1];
	unsigned int number;
};

#define parse_refuse(_parse, attr, why, ...) ({				\
	const struct parse *__parse = (_parse);				\
									\
	NL_SET_BAD_ATTR(__parse->info->extack, __parse->attrs[attr]);	\
	GENL_SET_ERR_MSG_FMT(__parse->info, "rule %u: " why,		\
			     __parse->number, ##__VA_ARGS__);		\
	-EINVAL;							\
})

/* The attribute numbers of a struct pams_choice: those of a rule and of the table differ. */
struct choice_attrs {
	int scheduler;
	int first_bytes;
	int overflow_ms;
	int overflow_percent;
	int costly_copies;
};

static const struct choice_attrs of_rule = {
	.scheduler		= MPTCP_PAMS_A_RULE_SCHEDULER,
	.first_bytes		= MPTCP_PAMS_A_RULE_FIRST_BYTES,
	.overflow_ms		= MPTCP_PAMS_A_RULE_OVERFLOW_MS,
	.overflow_percent	= MPTCP_PAMS_A_RULE_OVERFLOW_PERCENT,
	.costly_copies		= MPTCP_PAMS_A_RULE_COSTLY_COPIES,
};

static const struct choice_attrs of_table = {
	.scheduler		= MPTCP_PAMS_A_RULES_SCHEDULER,
	.first_bytes		= MPTCP_PAMS_A_RULES_FIRST_BYTES,
	.overflow_ms		= MPTCP_PAMS_A_RULES_OVERFLOW_MS,
	.overflow_percent	= MPTCP_PAMS_A_RULES_OVERFLOW_PERCENT,
	.costly_copies		= MPTCP_PAMS_A_RULES_COSTLY_COPIES,
};

static const char *overflow_parse(const struct nlattr *ms, const struct nlattr *percent,
				  bool copies, struct cost_overflow *overflow)
{
	if (ms && percent)
		return "takes one of overflow-ms and overflow-percent";
	if (copies && !ms && !percent)
		return "needs overflow-ms or -percent beside costly-copies";
	overflow->delay_ms = ms ? nla_get_u32(ms) : 0;
	overflow->percent = percent ? nla_get_u32(percent) : 0;
	overflow->copies = copies;
	overflow->said = ms || percent;
	return NULL;
}

/* Parse a scheduler's name and parameters. Returns a text that says what is wrong, or NULL. */
static const char *choice_parse(struct nlattr * const *attrs, const struct choice_attrs *of,
				struct pams_choice *choice)
{
	const struct nlattr *first = attrs[of->first_bytes];
	const struct nlattr *name = attrs[of->scheduler];

	if (name) {
		choice->sched = pams_sched_find(nla_data(name));
		if (!choice->sched)
			return "is none for rules: see pamsctl sched list";
	}
	if (first) {
		if (!choice->sched || !choice->sched->copy)
			return "takes no first-bytes: see pamsctl sched list";
		choice->first_bytes = nla_get_u32(first);
	}
	return overflow_parse(attrs[of->overflow_ms], attrs[of->overflow_percent],
			      attrs[of->costly_copies], &choice->overflow);
}

/* The scheduler's name in a refusal. An unknown name isn't repeated, since it may be unprintable,
 * or so long that the kernel cuts the text and logs that.
 */
static const char *choice_name(const struct pams_choice *choice, const struct nlattr *name)
{
	return choice->sched ? choice->sched->name : name ? "the scheduler" : "minfct";
}

static int parse_choice(struct parse *parse, struct pams_rule *rule)
{
	const struct nlattr *name = parse->attrs[MPTCP_PAMS_A_RULE_SCHEDULER];
	const char *why;

	if (!name)
		return parse_refuse(parse, 0, "scheduler is missing");
	why = choice_parse(parse->attrs, &of_rule, &rule->choice);
	return why ? parse_refuse(parse, MPTCP_PAMS_A_RULE_SCHEDULER, "%s %s",
				  choice_name(&rule->choice, name), why) : 0;
}

static int parse_cgroup(struct parse *parse, struct pams_rule *rule)
{
	const struct nlattr *path = parse->attrs[MPTCP_PAMS_A_RULE_CGROUP];
	struct cgroup *cgroup;

	if (!path)
		return 0;
	if (!PAMS_HAVE_CGROUPS)
		return parse_refuse(parse, MPTCP_PAMS_A_RULE_CGROUP,
				    "this kernel's sockets know no cgroup");

	rule->path = nla_strdup(path, GFP_KERNEL_ACCOUNT);
	if (!rule->path)
		return -ENOMEM;
	cgroup = cgroup_get_from_path(rule->path);
	if (IS_ERR(cgroup))
		return parse_refuse(parse, MPTCP_PAMS_A_RULE_CGROUP,
				    "there is no such cgroup");
	rule->cgroup = cgroup;
	return 0;
}

static int parse_socket(struct parse *parse, struct pams_rule *rule)
{
	const struct nlattr *mark = parse->attrs[MPTCP_PAMS_A_RULE_MARK];
	const struct nlattr *mask = parse->attrs[MPTCP_PAMS_A_RULE_MASK];
	const struct nlattr *uid = parse->attrs[MPTCP_PAMS_A_RULE_UID];

	if (mask && !mark)
		return parse_refuse(parse, MPTCP_PAMS_A_RULE_MASK, "mask needs mark");
	if (mark) {
		rule->mark = nla_get_u32(mark);
		rule->mask = mask ? nla_get_u32(mask) : U32_MAX;
	}
	if (rule->mark & ~rule->mask)
		return parse_refuse(parse, MPTCP_PAMS_A_RULE_MARK,
				    "mark has bits that mask leaves out: it fits nothing");

	rule->uid = INVALID_UID;
	if (uid) {
		rule->uid = make_kuid(current_user_ns(), nla_get_u32(uid));
		if (!uid_valid(rule->uid))
			return parse_refuse(parse, MPTCP_PAMS_A_RULE_UID,
					    "there is no such uid in this user namespace");
	}
	return 0;
}

static int parse_range(struct parse *parse, int min_attr, int max_attr, u16 *min, u16 *max)
{
	*min = parse->attrs[min_attr] ? ntohs(nla_get_be16(parse->attrs[min_attr])) : 0;
	*max = parse->attrs[max_attr] ? ntohs(nla_get_be16(parse->attrs[max_attr])) :
					U16_MAX;
	return *min <= *max ? 0 :
	       parse_refuse(parse, min_attr, "the lowest port is above the highest");
}

static int parse_remote(struct parse *parse, struct pams_rule *rule)
{
	const struct nlattr *v4 = parse->attrs[MPTCP_PAMS_A_RULE_ADDRESS4];
	const struct nlattr *v6 = parse->attrs[MPTCP_PAMS_A_RULE_ADDRESS6];
	const struct nlattr *prefix = parse->attrs[MPTCP_PAMS_A_RULE_PREFIX_LEN];
	u8 bits = prefix ? nla_get_u8(prefix) : v4 ? 32 : PAMS_PREFIX_BITS;

	if (v4 && v6)
		return parse_refuse(parse, MPTCP_PAMS_A_RULE_ADDRESS6,
				    "address4 and address6 exclude each other");
	if (prefix && !v4 && !v6)
		return parse_refuse(parse, MPTCP_PAMS_A_RULE_PREFIX_LEN,
				    "prefix-len needs an address");
	if (v4 && bits > 32)
		return parse_refuse(parse, MPTCP_PAMS_A_RULE_PREFIX_LEN,
				    "an IPv4 prefix has at most 32 bits");
	if (!v4 && !v6)
		return 0;

	if (v4) {
		ipv6_addr_set_v4mapped(nla_get_in_addr(v4), &rule->remote);
		bits += 96;
	} else {
		rule->remote = nla_get_in6_addr(v6);
	}
	rule->prefix_len = bits;
	rule->has_remote = true;
	return 0;
}

static int parse_side(struct parse *parse, struct pams_rule *rule)
{
	bool client = parse->attrs[MPTCP_PAMS_A_RULE_CLIENT];
	bool server = parse->attrs[MPTCP_PAMS_A_RULE_SERVER];

	if (client && server)
		return parse_refuse(parse, MPTCP_PAMS_A_RULE_SERVER,
				    "client and server exclude each other");
	rule->side = client ? PAMS_RULE_CLIENT :
		     server ? PAMS_RULE_SERVER : PAMS_RULE_BOTH;
	return 0;
}

static int rule_parse(struct genl_info *info, const struct nlattr *nest,
		      unsigned int number, struct pams_rule *rule)
{
	struct parse parse = { .info = info, .number = number };
	int err;

	err = nla_parse_nested(parse.attrs, MPTCP_PAMS_A_RULE_MAX, nest,
			       mptcp_pams_rule_nl_policy, info->extack);
	return err ?: parse_choice(&parse, rule) ?: parse_socket(&parse, rule) ?:
	       parse_range(&parse, MPTCP_PAMS_A_RULE_LOCAL_PORT_MIN,
			   MPTCP_PAMS_A_RULE_LOCAL_PORT_MAX,
			   &rule->local_min, &rule->local_max) ?:
	       parse_range(&parse, MPTCP_PAMS_A_RULE_REMOTE_PORT_MIN,
			   MPTCP_PAMS_A_RULE_REMOTE_PORT_MAX,
			   &rule->remote_min, &rule->remote_max) ?:
	       parse_remote(&parse, rule) ?: parse_side(&parse, rule) ?:
	       parse_cgroup(&parse, rule);
}

static bool is_rule(const struct nlattr *attr)
{
	return nla_type(attr) == MPTCP_PAMS_A_RULES_RULE;
}

static int table_parse(struct genl_info *info, struct pams_rule_table *table)
{
	const struct nlattr *name = info->attrs[MPTCP_PAMS_A_RULES_SCHEDULER];
	const struct nlattr *attr;
	unsigned int nr = 0;
	const char *why;
	int left, err;

	why = choice_parse(info->attrs, &of_table, &table->otherwise);
	if (why) {
		GENL_SET_ERR_MSG_FMT(info, "the default: %s %s",
				     choice_name(&table->otherwise, name), why);
		return -EINVAL;
	}
	nlmsg_for_each_attr(attr, info->nlhdr, GENL_HDRLEN, left) {
		if (!is_rule(attr))
			continue;
		err = rule_parse(info, attr, nr + 1, &table->rule[nr]);
		if (err)
			return err;
		nr++;
	}
	return 0;
}

int mptcp_pams_nl_rules_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	const struct nlattr *generation = info->attrs[MPTCP_PAMS_A_RULES_GENERATION];
	struct pams_net *net = pams_net(genl_info_net(info));
	struct pams_rule_table *table;
	const struct nlattr *attr;
	unsigned int nr = 0;
	u32 expected;
	int left, err;

	nlmsg_for_each_attr(attr, info->nlhdr, GENL_HDRLEN, left)
		nr += is_rule(attr);
	if (nr > MPTCP_PAMS_RULES_MAX) {
		GENL_SET_ERR_MSG_FMT(info, "%u rules are too many: %u at most", nr,
				     MPTCP_PAMS_RULES_MAX);
		return -ENOSPC;
	}
	table = pams_rules_alloc(nr);
	if (!table)
		return -ENOMEM;
	err = table_parse(info, table);
	if (err) {
		pams_rules_free(table);
		return err;
	}

	expected = generation ? nla_get_u32(generation) : 0;
	err = pams_rules_replace(&net->rules, table, generation ? &expected : NULL);
	if (err > 0)
		pams_watch_join(net);
	if (err >= 0)
		return 0;
	NL_SET_BAD_ATTR(info->extack, generation);
	GENL_SET_ERR_MSG(info, "the rules were changed meanwhile");
	return err;
}

static int put_port(struct sk_buff *skb, int attr, u16 port, u16 absent)
{
	return port == absent ? 0 : nla_put_be16(skb, attr, htons(port));
}

static int put_overflow(struct sk_buff *skb, const struct choice_attrs *of,
			const struct cost_overflow *overflow)
{
	if (!overflow->said)
		return 0;
	return (overflow->percent ?
		nla_put_u32(skb, of->overflow_percent, overflow->percent) :
		nla_put_u32(skb, of->overflow_ms, overflow->delay_ms)) ?:
	       (overflow->copies ? nla_put_flag(skb, of->costly_copies) : 0);
}

static int put_choice(struct sk_buff *skb, const struct choice_attrs *of,
		      const struct pams_choice *choice)
{
	return (choice->sched ?
		nla_put_string(skb, of->scheduler, choice->sched->name) : 0) ?:
	       (choice->first_bytes ?
		nla_put_u32(skb, of->first_bytes, choice->first_bytes) : 0) ?:
	       put_overflow(skb, of, &choice->overflow);
}

static int put_remote(struct sk_buff *skb, const struct pams_rule *rule)
{
	bool v4 = rule->prefix_len >= 96 && ipv6_addr_v4mapped(&rule->remote);

	if (!rule->has_remote)
		return 0;
	return (v4 ? nla_put_in_addr(skb, MPTCP_PAMS_A_RULE_ADDRESS4,
				     rule->remote.s6_addr32[3]) :
		     nla_put_in6_addr(skb, MPTCP_PAMS_A_RULE_ADDRESS6, &rule->remote)) ?:
	       nla_put_u8(skb, MPTCP_PAMS_A_RULE_PREFIX_LEN,
			  rule->prefix_len - (v4 ? 96 : 0));
}

static int put_socket(struct sk_buff *skb, const struct pams_rule *rule)
{
	return (rule->path ? nla_put_string(skb, MPTCP_PAMS_A_RULE_CGROUP, rule->path) :
			     0) ?:
	       (rule->mask ? nla_put_u32(skb, MPTCP_PAMS_A_RULE_MARK, rule->mark) ?:
			     nla_put_u32(skb, MPTCP_PAMS_A_RULE_MASK, rule->mask) : 0) ?:
	       (uid_valid(rule->uid) ?
		nla_put_u32(skb, MPTCP_PAMS_A_RULE_UID,
			    from_kuid_munged(current_user_ns(), rule->uid)) : 0) ?:
	       (rule->side == PAMS_RULE_CLIENT ?
		nla_put_flag(skb, MPTCP_PAMS_A_RULE_CLIENT) : 0) ?:
	       (rule->side == PAMS_RULE_SERVER ?
		nla_put_flag(skb, MPTCP_PAMS_A_RULE_SERVER) : 0);
}

struct numbered {
	const struct pams_rule *rule;
	u32 number;
};

static int put_rule(struct sk_buff *skb, const void *arg)
{
	const struct numbered *numbered = arg;
	const struct pams_rule *rule = numbered->rule;
	struct nlattr *nest = nla_nest_start(skb, MPTCP_PAMS_A_RULES_RULE);
	int err;

	if (!nest)
		return -EMSGSIZE;
	err = nla_put_u32(skb, MPTCP_PAMS_A_RULE_NUMBER, numbered->number) ?:
	      put_socket(skb, rule) ?:
	      put_port(skb, MPTCP_PAMS_A_RULE_LOCAL_PORT_MIN, rule->local_min, 0) ?:
	      put_port(skb, MPTCP_PAMS_A_RULE_LOCAL_PORT_MAX, rule->local_max,
		       U16_MAX) ?:
	      put_port(skb, MPTCP_PAMS_A_RULE_REMOTE_PORT_MIN, rule->remote_min, 0) ?:
	      put_port(skb, MPTCP_PAMS_A_RULE_REMOTE_PORT_MAX, rule->remote_max,
		       U16_MAX) ?:
	      put_remote(skb, rule) ?:
	      put_choice(skb, &of_rule, &rule->choice);
	if (!err)
		nla_nest_end(skb, nest);
	return err;
}

/* Put the table's generation and its default choice: the first message of a dump. */
static int put_table(struct sk_buff *skb, const void *arg)
{
	const struct pams_rules *rules = arg;
	const struct pams_rule_table *table = pams_rules_locked(rules);

	return nla_put_u32(skb, MPTCP_PAMS_A_RULES_GENERATION, rules->generation) ?:
	       (table ? put_choice(skb, &of_table, &table->otherwise) : 0);
}

int mptcp_pams_nl_rules_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct pams_rules *rules = &pams_net(sock_net(skb->sk))->rules;
	const struct pams_rule_table *table;
	unsigned long *sent = (unsigned long *)&cb->args[0];
	int err = 0;

	mutex_lock(&rules->lock);
	table = pams_rules_locked(rules);
	cb->seq = rules->generation;
	while (!err && *sent <= (table ? table->nr : 0)) {
		struct numbered next = { .number = *sent };

		if (*sent)
			next.rule = &table->rule[*sent - 1];
		err = pams_netlink_part(skb, cb, MPTCP_PAMS_CMD_RULES_GET,
					*sent ? put_rule : put_table,
					*sent ? (const void *)&next : rules);
		if (!err)
			++*sent;
	}
	mutex_unlock(&rules->lock);
	return err && !skb->len ? err : skb->len;
}
