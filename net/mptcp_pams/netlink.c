// SPDX-License-Identifier: GPL-2.0
/* The generic-netlink family: takes reports of paths, and shows them. The family is
 * described in Documentation/netlink/specs/mptcp_pams.yaml, from which netlink-gen.c is
 * generated. netlink_conn.c shows connections.
 *
 * The generated policies check types and ranges; this file checks which attributes may
 * come together. Every refusal says why, and names the attribute where there is one.
 */
#include <linux/ctype.h>
#include <linux/ktime.h>
#include <linux/time64.h>
#include <net/genetlink.h>

#include "netlink-gen.h"
#include "netlink.h"
#include "pams.h"
#include "tell.h"
#include "trace.h"

static struct pams_net *info_net(const struct genl_info *info)
{
	return pams_net(genl_info_net(info));
}

static bool has(const struct genl_info *info, int attr)
{
	return info->attrs[attr];
}

static int refuse(struct genl_info *info, int attr, const char *why)
{
	NL_SET_BAD_ATTR(info->extack, info->attrs[attr]);
	if (info->extack)
		info->extack->_msg = why;
	return -EINVAL;
}

static int key_subflow(struct genl_info *info, struct pams_path_key *key)
{
	if (!has(info, MPTCP_PAMS_A_PATH_LOCAL_ID) ||
	    !has(info, MPTCP_PAMS_A_PATH_REMOTE_ID))
		return refuse(info, MPTCP_PAMS_A_PATH_TOKEN,
			      "a token needs local-id and remote-id beside it");

	key->kind = PAMS_PATH_SUBFLOW;
	key->number = nla_get_u32(info->attrs[MPTCP_PAMS_A_PATH_TOKEN]);
	key->local_id = nla_get_u8(info->attrs[MPTCP_PAMS_A_PATH_LOCAL_ID]);
	key->remote_id = nla_get_u8(info->attrs[MPTCP_PAMS_A_PATH_REMOTE_ID]);
	return 0;
}

static int key_interface(struct genl_info *info, struct pams_path_key *key)
{
	key->kind = PAMS_PATH_INTERFACE;
	key->number = nla_get_u32(info->attrs[MPTCP_PAMS_A_PATH_IFINDEX]);
	return 0;
}

static int key_address(struct genl_info *info, struct pams_path_key *key)
{
	const struct nlattr *v4 = info->attrs[MPTCP_PAMS_A_PATH_ADDRESS4];
	const struct nlattr *v6 = info->attrs[MPTCP_PAMS_A_PATH_ADDRESS6];
	const struct nlattr *prefix = info->attrs[MPTCP_PAMS_A_PATH_PREFIX_LEN];
	const struct nlattr *port = info->attrs[MPTCP_PAMS_A_PATH_PORT];
	u8 bits = PAMS_PREFIX_BITS;

	key->kind = PAMS_PATH_ADDRESS;
	if (v4)
		ipv6_addr_set_v4mapped(nla_get_in_addr(v4), &key->address);
	else
		key->address = nla_get_in6_addr(v6);

	if (prefix) {
		bits = nla_get_u8(prefix);
		if (v4 && bits > 32)
			return refuse(info, MPTCP_PAMS_A_PATH_PREFIX_LEN,
				      "an IPv4 prefix has at most 32 bits");
		if (v4)
			bits += 96;
	}
	if (port)
		key->port = nla_get_be16(port);
	key->prefix_len = bits;
	pams_path_key_mask(key);
	return 0;
}

/* Parse the path's key. A request must have one kind of key, and no attribute of another kind. */
static int key_parse(struct genl_info *info, struct pams_path_key *key)
{
	bool address = has(info, MPTCP_PAMS_A_PATH_ADDRESS4) ||
		       has(info, MPTCP_PAMS_A_PATH_ADDRESS6);
	int kinds = has(info, MPTCP_PAMS_A_PATH_ADDRESS4) +
		    has(info, MPTCP_PAMS_A_PATH_ADDRESS6) +
		    has(info, MPTCP_PAMS_A_PATH_TOKEN) +
		    has(info, MPTCP_PAMS_A_PATH_IFINDEX);

	memset(key, 0, sizeof(*key));
	if (!kinds) {
		GENL_SET_ERR_MSG(info,
				 "no key: address4, address6, token or ifindex is needed");
		return -EINVAL;
	}
	if (kinds > 1) {
		GENL_SET_ERR_MSG(info,
				 "only one of address4, address6, token and ifindex can be the key");
		return -EINVAL;
	}
	if (!address && has(info, MPTCP_PAMS_A_PATH_PREFIX_LEN))
		return refuse(info, MPTCP_PAMS_A_PATH_PREFIX_LEN,
			      "prefix-len needs an address");
	if (!address && has(info, MPTCP_PAMS_A_PATH_PORT))
		return refuse(info, MPTCP_PAMS_A_PATH_PORT,
			      "port needs an address");
	if (!has(info, MPTCP_PAMS_A_PATH_TOKEN)) {
		if (has(info, MPTCP_PAMS_A_PATH_LOCAL_ID))
			return refuse(info, MPTCP_PAMS_A_PATH_LOCAL_ID,
				      "local-id needs a token");
		if (has(info, MPTCP_PAMS_A_PATH_REMOTE_ID))
			return refuse(info, MPTCP_PAMS_A_PATH_REMOTE_ID,
				      "remote-id needs a token");
	}

	if (address)
		return key_address(info, key);
	return has(info, MPTCP_PAMS_A_PATH_TOKEN) ? key_subflow(info, key) :
						   key_interface(info, key);
}

static u64 ms_to_ns(u64 ms)
{
	return ms * NSEC_PER_MSEC;
}

/* When a report that holds from @from_ns on expires. */
static u64 expires_ns(const struct genl_info *info, u64 from_ns, u32 default_ms)
{
	const struct nlattr *ttl = info->attrs[MPTCP_PAMS_A_PATH_TTL];
	u32 ttl_ms = ttl ? nla_get_u32(ttl) : default_ms;

	return ttl_ms ? from_ns + ms_to_ns(ttl_ms) : PAMS_NEVER_NS;
}

static int pipe_parse(struct genl_info *info, u64 now_ns,
		      struct pams_report *report)
{
	const struct nlattr *backlog = info->attrs[MPTCP_PAMS_A_PATH_PIPE_BACKLOG];
	const struct nlattr *delay = info->attrs[MPTCP_PAMS_A_PATH_PIPE_DELAY];
	const struct nlattr *rate = info->attrs[MPTCP_PAMS_A_PATH_PIPE_RATE];
	const struct nlattr *hs = info->attrs[MPTCP_PAMS_A_PATH_HS_RATE];

	if (!rate) {
		if (backlog)
			return refuse(info, MPTCP_PAMS_A_PATH_PIPE_BACKLOG,
				      "pipe-backlog needs pipe-rate");
		if (delay)
			return refuse(info, MPTCP_PAMS_A_PATH_PIPE_DELAY,
				      "pipe-delay needs pipe-rate");
		if (hs)
			return refuse(info, MPTCP_PAMS_A_PATH_HS_RATE,
				      "hs-rate needs pipe-rate");
		return 0;
	}

	report->pipe.rate_byteps = nla_get_uint(rate);
	report->pipe.backlog_bytes = backlog ? nla_get_u32(backlog) : 0;
	report->pipe.delay_us = delay ? nla_get_u32(delay) : 0;
	report->pipe.split = delay;
	report->pipe.hs_rate_byteps = hs ? nla_get_uint(hs) : 0;
	report->pipe.ns = now_ns;
	report->pipe.expires_ns = expires_ns(info, now_ns,
					     MPTCP_PAMS_TTL_DEFAULT_MS);
	return 0;
}

static int report_parse(struct genl_info *info, struct pams_report *report,
			bool *no_loss)
{
	const struct nlattr *spread = info->attrs[MPTCP_PAMS_A_PATH_LOSS_SPREAD];
	const struct nlattr *loss = info->attrs[MPTCP_PAMS_A_PATH_LOSS_TIME];
	const struct nlattr *cost = info->attrs[MPTCP_PAMS_A_PATH_COST];
	u64 now_ns = ktime_get_boottime_ns();
	int err;

	memset(report, 0, sizeof(*report));
	*no_loss = has(info, MPTCP_PAMS_A_PATH_NO_LOSS);
	if (loss && nla_get_s32(loss) > MPTCP_PAMS_TIME_MAX_MS)
		return refuse(info, MPTCP_PAMS_A_PATH_LOSS_TIME,
			      "loss-time is at most 86400000 ms");
	if (loss && *no_loss)
		return refuse(info, MPTCP_PAMS_A_PATH_NO_LOSS,
			      "no-loss and loss-time contradict each other");
	if (spread && !loss)
		return refuse(info, MPTCP_PAMS_A_PATH_LOSS_SPREAD,
			      "loss-spread needs loss-time");
	err = pipe_parse(info, now_ns, report);
	if (err)
		return err;

	if (loss) {
		report->loss.ns = now_ns + ms_to_ns(nla_get_s32(loss));
		report->loss.expires_ns =
			expires_ns(info, report->loss.ns,
				   MPTCP_PAMS_LOSS_TTL_DEFAULT_MS);
		report->loss.spread_ms = spread ? nla_get_u32(spread) : 0;
	}
	if (cost) {
		report->cost.level = nla_get_u8(cost);
		report->cost.expires_ns = expires_ns(info, now_ns, 0);
	}
	if (!report->pipe.rate_byteps && !loss && !*no_loss && !cost) {
		GENL_SET_ERR_MSG(info,
				 "nothing is reported: pipe-rate, loss-time, no-loss or cost is needed");
		return -EINVAL;
	}
	return 0;
}

/* Parse the reporter's name. It is shown on terminals, so only printable text is allowed. */
static int origin_parse(struct genl_info *info, const char **origin)
{
	const struct nlattr *attr = info->attrs[MPTCP_PAMS_A_PATH_ORIGIN];
	const char *c;

	*origin = attr ? nla_data(attr) : "";
	for (c = *origin; *c; c++) {
		if (!isascii(*c) || !isprint(*c))
			return refuse(info, MPTCP_PAMS_A_PATH_ORIGIN,
				      "origin has characters other than printable ASCII");
	}
	return 0;
}

/* Send the attributes of a request that was carried out to the listeners. */
static void tell_done(const struct genl_info *info, u8 cmd, int attr_max)
{
	struct sk_buff *skb = pams_tell_begin(info_net(info), cmd);
	int err = 0;

	if (!skb)
		return;
	for (int i = 1; !err && i <= attr_max; i++) {
		const struct nlattr *attr = info->attrs[i];

		if (attr)
			err = nla_put(skb, i, nla_len(attr), nla_data(attr));
	}
	pams_tell_end(info_net(info), skb, err);
}

static int path_set(struct genl_info *info)
{
	struct pams_net *net = info_net(info);
	struct pams_report report;
	struct pams_path_key key;
	const char *origin;
	bool no_loss;
	int err;

	err = key_parse(info, &key);
	if (err)
		return err;
	err = report_parse(info, &report, &no_loss);
	if (err)
		return err;
	err = origin_parse(info, &origin);
	if (err)
		return err;
	err = pams_path_set(net, &key, &report, no_loss, origin, info->extack);
	if (err)
		return err;

	trace_mptcp_pams_report(&key, &report, report.loss.ns ?
				(s64)(report.loss.ns - ktime_get_boottime_ns()) : 0);
	/* data queued on this path may have to go elsewhere, waiting data may go here */
	if (report.loss.ns || no_loss || report.cost.expires_ns)
		pams_watch_wake(net, &key);
	tell_done(info, MPTCP_PAMS_CMD_PATH_SET_NTF, MPTCP_PAMS_A_PATH_COST);
	return 0;
}

int mptcp_pams_nl_path_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct pams_totals *totals = &info_net(info)->totals;
	int err = path_set(info);

	atomic64_inc(err ? &totals->refused : &totals->reports);
	return err;
}

static int not_known(struct genl_info *info)
{
	GENL_SET_ERR_MSG(info, "no such path");
	return -ENOENT;
}

int mptcp_pams_nl_path_del_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct pams_path_key key;
	int err;

	err = key_parse(info, &key);
	if (err)
		return err;
	if (pams_path_del(info_net(info), &key))
		return not_known(info);

	pams_watch_wake(info_net(info), &key);
	tell_done(info, MPTCP_PAMS_CMD_PATH_DEL_NTF, MPTCP_PAMS_A_PATH_IFINDEX);
	return 0;
}

int mptcp_pams_nl_path_flush_doit(struct sk_buff *skb, struct genl_info *info)
{
	pams_path_flush(info_net(info));
	pams_watch_wake(info_net(info), NULL);
	tell_done(info, MPTCP_PAMS_CMD_PATH_DEL_NTF, 0);
	return 0;
}

static int put_expiry(struct sk_buff *skb, int attr, u64 at_ns, u64 now_ns)
{
	if (at_ns == PAMS_NEVER_NS)
		return 0;
	return nla_put_u32(skb, attr, pams_tell_ms(now_ns, at_ns));
}

static int put_pipe(struct sk_buff *skb, const struct pams_report *report,
		    u64 now_ns)
{
	return nla_put_uint(skb, MPTCP_PAMS_A_PATH_PIPE_RATE,
			    report->pipe.rate_byteps) ?:
	       nla_put_u32(skb, MPTCP_PAMS_A_PATH_PIPE_BACKLOG,
			   report->pipe.backlog_bytes) ?:
	       (report->pipe.split ? nla_put_u32(skb, MPTCP_PAMS_A_PATH_PIPE_DELAY,
					    report->pipe.delay_us) : 0) ?:
	       (report->pipe.hs_rate_byteps ?
		nla_put_uint(skb, MPTCP_PAMS_A_PATH_HS_RATE,
			     report->pipe.hs_rate_byteps) : 0) ?:
	       nla_put_u32(skb, MPTCP_PAMS_A_PATH_PIPE_AGE,
			   pams_tell_ms(report->pipe.ns, now_ns)) ?:
	       put_expiry(skb, MPTCP_PAMS_A_PATH_PIPE_EXPIRES,
			  report->pipe.expires_ns, now_ns);
}

static int put_loss(struct sk_buff *skb, const struct pams_report *report, u64 now_ns)
{
	return nla_put_s32(skb, MPTCP_PAMS_A_PATH_LOSS_TIME,
			   pams_tell_until_ms(report->loss.ns, now_ns)) ?:
	       put_expiry(skb, MPTCP_PAMS_A_PATH_LOSS_EXPIRES,
			  report->loss.expires_ns, now_ns) ?:
	       (report->loss.spread_ms ?
		nla_put_u32(skb, MPTCP_PAMS_A_PATH_LOSS_SPREAD,
			    report->loss.spread_ms) : 0);
}

/* Put what is known of a path now, without the expired parts that the table may still have. */
static int put_path(struct sk_buff *skb, const void *arg)
{
	const struct pams_path *path = arg;
	const struct pams_report *report = &path->report;
	int err = pams_tell_put_key(skb, &path->key);
	u64 now_ns = ktime_get_boottime_ns();

	if (!err && pams_report_has_pipe(report, now_ns))
		err = put_pipe(skb, report, now_ns);
	if (!err && pams_report_has_loss(report, now_ns))
		err = put_loss(skb, report, now_ns);
	if (!err && pams_report_has_cost(report, now_ns))
		err = nla_put_u8(skb, MPTCP_PAMS_A_PATH_COST, report->cost.level) ?:
		      put_expiry(skb, MPTCP_PAMS_A_PATH_COST_EXPIRES,
				 report->cost.expires_ns, now_ns);
	if (!err && path->origin[0])
		err = nla_put_string(skb, MPTCP_PAMS_A_PATH_ORIGIN,
				     path->origin);
	return err;
}

/**
 * pams_netlink_answer - answer a request with one message
 * @info:	the request
 * @cmd:	MPTCP_PAMS_CMD_*
 * @put:	puts the message's attributes
 * @arg:	passed on to @put
 *
 * Return: 0 or a negative error.
 */
int pams_netlink_answer(struct genl_info *info, u8 cmd,
			int (*put)(struct sk_buff *skb, const void *arg), const void *arg)
{
	struct sk_buff *skb = genlmsg_new(NLMSG_DEFAULT_SIZE, GFP_KERNEL);
	void *head;
	int err;

	if (!skb)
		return -ENOMEM;
	head = genlmsg_put_reply(skb, info, &mptcp_pams_nl_family, 0, cmd);
	err = head ? put(skb, arg) : -EMSGSIZE;
	if (err) {
		nlmsg_free(skb);
		return err;
	}
	genlmsg_end(skb, head);
	return genlmsg_reply(skb, info);
}

int mptcp_pams_nl_path_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct pams_paths *paths = &info_net(info)->paths;
	const struct pams_path *path;
	struct pams_path_key key;
	int err;

	err = key_parse(info, &key);
	if (err)
		return err;
	mutex_lock(&paths->lock);
	path = pams_path_find(paths, &key);
	err = path ? pams_netlink_answer(info, MPTCP_PAMS_CMD_PATH_GET, put_path, path) :
		     not_known(info);
	mutex_unlock(&paths->lock);
	return err;
}

/* How far a dump has come, in cb->ctx; all 0 at its start. */
struct path_dump {
	unsigned long nr;		/* how many paths were sent */
	u64 generation;			/* of the table, at the last message */
	struct list_head *next;		/* the next path; valid at @generation only */
};

/* The path where the dump goes on. The paths' lock is held. */
static struct list_head *dump_next(const struct pams_paths *paths,
				   const struct path_dump *dump)
{
	struct list_head *next = paths->list.next;
	unsigned long nr = dump->nr;

	if (nr && dump->generation == pams_paths_generation(paths))
		return dump->next;

	/* the table has changed, so the dump is marked as interrupted: skip @nr paths */
	for (; nr && next != &paths->list; nr--)
		next = next->next;
	return next;
}

/**
 * pams_netlink_part - put one message of a dump
 * @skb:	the dump's buffer
 * @cb:		the dump, whose seq is set
 * @cmd:	MPTCP_PAMS_CMD_*
 * @put:	puts the message's attributes
 * @arg:	passed on to @put
 *
 * Return: 0 or a negative error: @skb is as it was.
 */
int pams_netlink_part(struct sk_buff *skb, struct netlink_callback *cb, u8 cmd,
		      int (*put)(struct sk_buff *skb, const void *arg), const void *arg)
{
	void *head = genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
				 &mptcp_pams_nl_family, NLM_F_MULTI, cmd);
	int err = head ? put(skb, arg) : -EMSGSIZE;

	if (err) {
		genlmsg_cancel(skb, head);
		return err;
	}
	genl_dump_check_consistent(cb, head);
	genlmsg_end(skb, head);
	return 0;
}

int mptcp_pams_nl_path_get_dumpit(struct sk_buff *skb,
				  struct netlink_callback *cb)
{
	struct pams_paths *paths = &pams_net(sock_net(skb->sk))->paths;
	struct path_dump *dump = (void *)cb->ctx;
	int err = 0;

	BUILD_BUG_ON(sizeof(*dump) > sizeof(cb->ctx));

	mutex_lock(&paths->lock);
	/* the netlink core compares cb->seq between messages, and takes 0 for "not set" */
	cb->seq = paths->generation + 1 ?: 1;
	dump->next = dump_next(paths, dump);
	dump->generation = pams_paths_generation(paths);
	for (; dump->next != &paths->list; dump->next = dump->next->next) {
		err = pams_netlink_part(skb, cb, MPTCP_PAMS_CMD_PATH_GET, put_path,
					list_entry(dump->next, struct pams_path, list));
		if (err)
			break;
		dump->nr++;
	}
	mutex_unlock(&paths->lock);

	return err && !skb->len ? err : skb->len;
}

int __init pams_netlink_init(void)
{
	int err = genl_register_family(&mptcp_pams_nl_family);

	if (!err)
		pams_tell_start(&mptcp_pams_nl_family);
	return err;
}

/* Requests use the namespaces' states, so pams_net_exit() is called after this. Until then work
 * items still remove expired paths, but send no events.
 */
void pams_netlink_exit(void)
{
	pams_tell_stop();
	genl_unregister_family(&mptcp_pams_nl_family);
}
