// SPDX-License-Identifier: GPL-2.0
/*
 * netlink - handles, requests and the kernel's errors
 *
 * The family's id is resolved when the handle is opened, and again whenever the
 * kernel doesn't know the id any more: the module may have been unloaded, or
 * unloaded and loaded again. The kernel assigns ids in turn and reuses one only
 * after all others, so that it refuses a stale id, which belongs to no other family.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>

#include <linux/genetlink.h>
#include <linux/mptcp_pams.h>
#include <linux/netlink.h>

#include "genl.h"
#include "netlink-internal.h"

#define DUMPS_MAX	4	/* attempts, if changes interrupt a dump */
#define ANSWER_S	5	/* receive timeout; the kernel answers at once */
#define MESSAGE_MAX	65536
#define REQUEST_BYTES	4096	/* size of a request without rules */
#define CHANGE_BYTES	256	/* of one that sets or deletes a path */
/* Size of one rule in a request: the longest cgroup path, and room for the other attributes. */
#define RULE_BYTES	(PAMS_CGROUP_MAX + 256)

/* A request and its answers. */
struct exchange {
	struct pams_nl *nl;
	struct nl_msg *request;
	int error;		/* negative errno of the kernel, or 0 */
	bool done;
	bool interrupted;
	struct nl_msg **answer;
	size_t answers;
};

int pams_errno(int nl_error)
{
	switch (-nl_error) {
	case NLE_SUCCESS:
		return 0;
	case NLE_NOMEM:
		return -ENOMEM;
	case NLE_AGAIN:
		return -EAGAIN;
	case NLE_INTR:
		return -EINTR;
	case NLE_OBJ_NOTFOUND:
		return -ENOENT;
	case NLE_PERM:
		return -EPERM;
	case NLE_BUSY:
		return -EBUSY;
	case NLE_EXIST:
		return -EEXIST;
	case NLE_INVAL:
		return -EINVAL;
	case NLE_NODEV:
		return -ENODEV;
	case NLE_AF_NOSUPPORT:
		return -EAFNOSUPPORT;
	case NLE_OPNOTSUPP:
		return -EOPNOTSUPP;
	}
	return -EIO;
}

int pams_fail(struct pams_nl *nl, int error, const char *text)
{
	snprintf(nl->error, sizeof(nl->error), "%s",
		 text ? text : strerror(-error));
	return error;
}

static int not_loaded(struct pams_nl *nl)
{
	nl->family = 0;
	return pams_fail(nl, -ENOENT, "the module mptcp_pams is not loaded");
}

/*
 * By a socket of its own: libnl resolves only where it has seen an answer for each request, and
 * takes anything else for a family that isn't there.
 */
int pams_resolve(struct pams_nl *nl)
{
	struct nl_sock *sock;
	int family = genl_open(&sock, ANSWER_S);

	if (!family)
		family = genl_ctrl_resolve(sock, MPTCP_PAMS_FAMILY_NAME);
	nl_socket_free(sock);
	if (family == -NLE_OBJ_NOTFOUND)
		return not_loaded(nl);
	if (family < 0)
		return pams_fail(nl, pams_errno(family), nl_geterror(family));
	nl->family = family;
	return 0;
}

/* --- the kernel's errors --- */

/* Append the range that a policy allows to the error text, as " (125 to 12500000000)". */
static void add_range(struct pams_nl *nl, struct nlattr *policy)
{
	struct nlattr *tb[NL_POLICY_TYPE_ATTR_MAX + 1];
	size_t used = strlen(nl->error);
	char *to = nl->error + used;
	size_t room = sizeof(nl->error) - used;

	if (nla_parse_nested(tb, NL_POLICY_TYPE_ATTR_MAX, policy, NULL))
		return;
	if (tb[NL_POLICY_TYPE_ATTR_MIN_VALUE_U] &&
	    tb[NL_POLICY_TYPE_ATTR_MAX_VALUE_U])
		snprintf(to, room, " (%llu to %llu)",
			 (unsigned long long)
			 nla_get_u64(tb[NL_POLICY_TYPE_ATTR_MIN_VALUE_U]),
			 (unsigned long long)
			 nla_get_u64(tb[NL_POLICY_TYPE_ATTR_MAX_VALUE_U]));
	else if (tb[NL_POLICY_TYPE_ATTR_MIN_VALUE_S] &&
		 tb[NL_POLICY_TYPE_ATTR_MAX_VALUE_S])
		snprintf(to, room, " (%lld to %lld)",
			 (long long)
			 nla_get_s64(tb[NL_POLICY_TYPE_ATTR_MIN_VALUE_S]),
			 (long long)
			 nla_get_s64(tb[NL_POLICY_TYPE_ATTR_MAX_VALUE_S]));
}

/* The name of the attribute at this offset of the request. */
static const char *attr_at(struct exchange *exchange, uint32_t offset)
{
	struct nlmsghdr *hdr = nlmsg_hdr(exchange->request);
	struct nlattr *attr = (struct nlattr *)((char *)hdr + offset);

	if (offset % NLA_ALIGNTO || offset + NLA_HDRLEN > hdr->nlmsg_len)
		return NULL;
	return pams_attr_name(pams_set_of(genlmsg_hdr(hdr)->cmd),
			      nla_type(attr));
}

static void note_error(struct exchange *exchange, int error,
		       struct nlattr *head, int len)
{
	struct genlmsghdr *request = genlmsg_hdr(nlmsg_hdr(exchange->request));
	enum pams_set set = pams_set_of(request->cmd);
	struct nlattr *missing, *tb[NLMSGERR_ATTR_MAX + 1] = { };
	struct pams_nl *nl = exchange->nl;
	const char *text = strerror(-error);

	exchange->error = error;
	if (head && nla_parse(tb, NLMSGERR_ATTR_MAX, head, len, NULL))
		memset(tb, 0, sizeof(tb));
	missing = tb[NLMSGERR_ATTR_MISS_TYPE];
	if (tb[NLMSGERR_ATTR_MSG])
		text = nla_get_string(tb[NLMSGERR_ATTR_MSG]);
	else if (missing)
		text = "is missing";
	if (tb[NLMSGERR_ATTR_OFFS])
		nl->bad = attr_at(exchange,
				  nla_get_u32(tb[NLMSGERR_ATTR_OFFS]));
	else if (missing)
		nl->bad = pams_attr_name(set, nla_get_u32(missing));
	snprintf(nl->error, sizeof(nl->error), "%s%s%s", nl->bad ?: "",
		 nl->bad ? ": " : "", text);
	if (tb[NLMSGERR_ATTR_POLICY])
		add_range(nl, tb[NLMSGERR_ATTR_POLICY]);
}

/*
 * Read an error message. After the error number it has the request, or only the request's header
 * if NETLINK_CAP_ACK is set, and then the attributes.
 */
static int on_error(struct sockaddr_nl *from, struct nlmsgerr *err, void *arg)
{
	struct nlmsghdr *hdr = (struct nlmsghdr *)((char *)err - NLMSG_HDRLEN);
	struct exchange *exchange = arg;
	struct nlattr *head = NULL;
	size_t skip = sizeof(*err);
	int len = 0;

	(void)from;
	if (!(hdr->nlmsg_flags & NLM_F_CAPPED))
		skip += NLMSG_ALIGN(err->msg.nlmsg_len) - NLMSG_HDRLEN;
	if (hdr->nlmsg_flags & NLM_F_ACK_TLVS &&
	    hdr->nlmsg_len > NLMSG_HDRLEN + skip) {
		head = (struct nlattr *)((char *)err + skip);
		len = hdr->nlmsg_len - NLMSG_HDRLEN - skip;
	}
	note_error(exchange, err->error, head, len);
	exchange->done = true;
	return NL_STOP;
}

/* Read the message that ends a dump; it has the error of a dump that failed. */
static int on_finish(struct nl_msg *msg, void *arg)
{
	struct nlmsghdr *hdr = nlmsg_hdr(msg);
	struct exchange *exchange = arg;
	struct nlattr *head = NULL;
	int error = 0, len = 0;

	if (nlmsg_datalen(hdr) >= (int)sizeof(error))
		memcpy(&error, nlmsg_data(hdr), sizeof(error));
	if (error < 0 && hdr->nlmsg_flags & NLM_F_ACK_TLVS) {
		head = nlmsg_attrdata(hdr, sizeof(error));
		len = nlmsg_attrlen(hdr, sizeof(error));
	}
	if (error < 0)
		note_error(exchange, error, head, len);
	exchange->done = true;
	return NL_OK;
}

static int on_ack(struct nl_msg *msg, void *arg)
{
	struct exchange *exchange = arg;

	(void)msg;
	exchange->done = true;
	return NL_OK;
}

static int on_interrupted(struct nl_msg *msg, void *arg)
{
	struct exchange *exchange = arg;

	(void)msg;
	exchange->interrupted = true;
	return NL_OK;
}

/* Skip remaining answers to an earlier request that failed halfway. */
static int on_sequence(struct nl_msg *msg, void *arg)
{
	struct exchange *exchange = arg;

	return nlmsg_hdr(msg)->nlmsg_seq ==
	       nlmsg_hdr(exchange->request)->nlmsg_seq ? NL_OK : NL_SKIP;
}

static int on_answer(struct nl_msg *msg, void *arg)
{
	struct exchange *exchange = arg;
	struct nl_msg **more = reallocarray(exchange->answer,
					    exchange->answers + 1,
					    sizeof(struct nl_msg *));

	if (!more) {
		/* go on, to read the remaining answers from the socket */
		note_error(exchange, -ENOMEM, NULL, 0);
		return NL_OK;
	}
	nlmsg_get(msg);
	exchange->answer = more;
	exchange->answer[exchange->answers++] = msg;
	return NL_OK;
}

/* --- requests --- */

static void drop_answers(struct exchange *exchange)
{
	while (exchange->answers)
		nlmsg_free(exchange->answer[--exchange->answers]);
	free(exchange->answer);
	exchange->answer = NULL;
}

static struct nl_cb *callbacks(struct exchange *exchange)
{
	struct nl_cb *cb = nl_cb_alloc(NL_CB_CUSTOM);

	if (!cb)
		return NULL;
	nl_cb_err(cb, NL_CB_CUSTOM, on_error, exchange);
	nl_cb_set(cb, NL_CB_FINISH, NL_CB_CUSTOM, on_finish, exchange);
	nl_cb_set(cb, NL_CB_ACK, NL_CB_CUSTOM, on_ack, exchange);
	nl_cb_set(cb, NL_CB_DUMP_INTR, NL_CB_CUSTOM, on_interrupted, exchange);
	nl_cb_set(cb, NL_CB_SEQ_CHECK, NL_CB_CUSTOM, on_sequence, exchange);
	nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, on_answer, exchange);
	return cb;
}

/* Send the request and read all answers. */
static int roundtrip(struct exchange *exchange)
{
	struct nlmsghdr *hdr = nlmsg_hdr(exchange->request);
	struct pams_nl *nl = exchange->nl;
	struct nl_cb *cb = callbacks(exchange);
	int err;

	if (!cb)
		return pams_fail(nl, -ENOMEM, NULL);
	drop_answers(exchange);
	exchange->error = 0;
	exchange->done = false;
	exchange->interrupted = false;
	nl->bad = NULL;
	nl->error[0] = 0;

	hdr->nlmsg_type = nl->family;
	hdr->nlmsg_seq = NL_AUTO_SEQ;
	err = nl_send_auto(nl->sock, exchange->request);
	while (err >= 0 && !exchange->done)
		err = nl_recvmsgs(nl->sock, cb);
	nl_cb_put(cb);
	if (!exchange->done)
		return pams_fail(nl, pams_errno(err), nl_geterror(err));
	return exchange->error;
}

/* Do a roundtrip; repeat it if the family has another id by now. */
static int exchange_once(struct exchange *exchange)
{
	struct pams_nl *nl = exchange->nl;
	int family = nl->family;
	int err;

	if (!family) {
		err = pams_resolve(nl);
		return err ?: roundtrip(exchange);
	}
	err = roundtrip(exchange);
	if (err != -ENOENT)
		return err;
	/* -ENOENT may be about the family or about the path: look for the family */
	if (pams_resolve(nl))
		return -ENOENT;
	return nl->family == family ? err : roundtrip(exchange);
}

/*
 * Send the request, again if a change interrupts the dump. Returns 1 with the last answers if it
 * was interrupted every time, else 0 or a negative errno.
 */
static int exchange(struct exchange *exchange)
{
	int err, i;

	for (i = 0; i < DUMPS_MAX; i++) {
		err = exchange_once(exchange);
		if (err || !exchange->interrupted)
			return err;
	}
	return 1;
}

static int begin_sized(struct exchange *exchange, struct pams_nl *nl,
		       uint8_t command, int flags, size_t bytes)
{
	memset(exchange, 0, sizeof(*exchange));
	exchange->nl = nl;
	nl->bad = NULL;
	nl->error[0] = 0;
	exchange->request = nlmsg_alloc_size(bytes);
	if (!exchange->request ||
	    !genlmsg_put(exchange->request, NL_AUTO_PORT, NL_AUTO_SEQ,
			 nl->family, 0, flags, command,
			 MPTCP_PAMS_FAMILY_VERSION)) {
		nlmsg_free(exchange->request);
		return pams_fail(nl, -ENOMEM, NULL);
	}
	return 0;
}

static int begin(struct exchange *exchange, struct pams_nl *nl,
		 uint8_t command, int flags)
{
	return begin_sized(exchange, nl, command, flags, REQUEST_BYTES);
}

static int end(struct exchange *exchange, int err)
{
	drop_answers(exchange);
	nlmsg_free(exchange->request);
	if (err < 0 && !exchange->nl->error[0])
		return pams_fail(exchange->nl, err, NULL);
	return err;
}

/* Send a "do" request with the path's key and, if values is set, its values. */
static int path_request(struct pams_nl *nl, uint8_t command,
			const struct pams_path *path, bool values,
			struct pams_path *answer)
{
	struct exchange ex;
	int err = begin(&ex, nl, command, 0);

	if (err)
		return err;
	err = pams_put_key(ex.request, path);
	if (!err && values)
		err = pams_put_values(ex.request, path);
	if (!err)
		err = exchange(&ex);
	if (!err && answer)
		err = ex.answers ? pams_read_path(nlmsg_hdr(ex.answer[0]),
						  answer) : -EBADMSG;
	return end(&ex, err);
}

/* --- several changes at once --- */

/* Their requests have consecutive numbers; only the last one asks for an answer. */
struct batch {
	struct exchange exchange;	/* its request: the one that an error is about */
	const struct pams_change *changes;
	struct nl_msg *requests[PAMS_CHANGES_MAX];
	unsigned int count;
	uint32_t first;		/* number of the first request */
	bool missing;		/* something isn't there: a path, or the family of this id */
	pams_refused_fn refused;
	void *arg;
};

static int put_change(struct batch *batch, const struct pams_change *change)
{
	struct nl_msg *msg = nlmsg_alloc_size(CHANGE_BYTES);
	uint8_t command = change->del ? MPTCP_PAMS_CMD_PATH_DEL : MPTCP_PAMS_CMD_PATH_SET;
	int err;

	if (!msg)
		return -ENOMEM;
	batch->requests[batch->count++] = msg;
	if (!genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, 0, 0, 0, command,
			 MPTCP_PAMS_FAMILY_VERSION))
		return -ENOMEM;
	err = pams_put_key(msg, &change->path);
	return err || change->del ? err : pams_put_values(msg, &change->path);
}

static int on_batch_sequence(struct nl_msg *msg, void *arg)
{
	const struct batch *batch = arg;

	return nlmsg_hdr(msg)->nlmsg_seq - batch->first < batch->count ? NL_OK : NL_SKIP;
}

static int on_batch_error(struct sockaddr_nl *from, struct nlmsgerr *err, void *arg)
{
	struct batch *batch = arg;
	unsigned int index = err->msg.nlmsg_seq - batch->first;

	batch->exchange.request = batch->requests[index];
	batch->exchange.nl->bad = NULL;
	on_error(from, err, &batch->exchange);
	batch->exchange.done = index == batch->count - 1;
	if (err->error == -ENOENT)
		batch->missing = true;
	else
		batch->refused(&batch->changes[index], err->error, batch->arg);
	return NL_SKIP;
}

/* Number the requests anew and send them as one datagram. Returns libnl's code. */
static int send_batch(struct batch *batch)
{
	struct nl_sock *sock = batch->exchange.nl->sock;
	uint8_t buf[PAMS_CHANGES_MAX * CHANGE_BYTES] = { };
	size_t len = 0;

	for (unsigned int i = 0; i < batch->count; i++) {
		struct nlmsghdr *hdr = nlmsg_hdr(batch->requests[i]);

		hdr->nlmsg_type = batch->exchange.nl->family;
		hdr->nlmsg_seq = NL_AUTO_SEQ;
		nl_complete_msg(sock, batch->requests[i]);
		if (!i)
			batch->first = hdr->nlmsg_seq;
		if (i < batch->count - 1)
			hdr->nlmsg_flags &= ~NLM_F_ACK;
		memcpy(buf + len, hdr, hdr->nlmsg_len);
		len += NLMSG_ALIGN(hdr->nlmsg_len);
	}
	return nl_sendto(sock, buf, len);
}

static int batch_roundtrip(struct batch *batch)
{
	struct exchange *exchange = &batch->exchange;
	struct pams_nl *nl = exchange->nl;
	struct nl_cb *cb = callbacks(exchange);
	int err;

	if (!cb)
		return pams_fail(nl, -ENOMEM, NULL);
	nl_cb_err(cb, NL_CB_CUSTOM, on_batch_error, batch);
	nl_cb_set(cb, NL_CB_SEQ_CHECK, NL_CB_CUSTOM, on_batch_sequence, batch);
	exchange->done = false;
	batch->missing = false;
	nl->error[0] = 0;
	err = send_batch(batch);
	while (err >= 0 && !exchange->done)
		err = nl_recvmsgs(nl->sock, cb);
	nl_cb_put(cb);
	return exchange->done ? 0 : pams_fail(nl, pams_errno(err), nl_geterror(err));
}

/* As exchange_once(). */
static int batch_exchange(struct batch *batch)
{
	struct pams_nl *nl = batch->exchange.nl;
	int family = nl->family, err;

	err = family ? batch_roundtrip(batch) : pams_resolve(nl) ?: batch_roundtrip(batch);
	if (err || !family || !batch->missing)
		return err;
	err = pams_resolve(nl);
	return err || nl->family == family ? err : batch_roundtrip(batch);
}

int pams_nl_path_batch(struct pams_nl *nl, const struct pams_change *changes, unsigned int count,
		       pams_refused_fn refused, void *arg)
{
	struct batch batch = { .exchange = { .nl = nl }, .changes = changes, .refused = refused,
			       .arg = arg };
	int err = 0;

	for (unsigned int i = 0; i < count && !err; i++)
		err = put_change(&batch, &changes[i]);
	err = err ? pams_fail(nl, err, NULL) : batch_exchange(&batch);
	while (batch.count)
		nlmsg_free(batch.requests[--batch.count]);
	return err;
}

int pams_nl_path_set(struct pams_nl *nl, const struct pams_path *path)
{
	return path_request(nl, MPTCP_PAMS_CMD_PATH_SET, path, true, NULL);
}

int pams_nl_path_del(struct pams_nl *nl, const struct pams_path *path)
{
	return path_request(nl, MPTCP_PAMS_CMD_PATH_DEL, path, false, NULL);
}

int pams_nl_path_get(struct pams_nl *nl, struct pams_path *path)
{
	struct pams_path answer;
	int err = path_request(nl, MPTCP_PAMS_CMD_PATH_GET, path, false,
			       &answer);

	if (!err)
		*path = answer;
	return err;
}

int pams_nl_path_flush(struct pams_nl *nl)
{
	struct exchange ex;
	int err = begin(&ex, nl, MPTCP_PAMS_CMD_PATH_FLUSH, 0);

	return err ?: end(&ex, exchange(&ex));
}

int pams_nl_stats(struct pams_nl *nl, struct pams_stats *stats)
{
	struct exchange ex;
	int err = begin(&ex, nl, MPTCP_PAMS_CMD_STATS_GET, 0);

	if (err)
		return err;
	err = exchange(&ex);
	if (!err)
		err = ex.answers ? pams_read_stats(nlmsg_hdr(ex.answer[0]),
						   stats) : -EBADMSG;
	return end(&ex, err);
}

int pams_nl_path_dump(struct pams_nl *nl, pams_path_fn fn, void *arg)
{
	struct pams_path path;
	struct exchange ex;
	int err = begin(&ex, nl, MPTCP_PAMS_CMD_PATH_GET, NLM_F_DUMP);
	int stop = 0;
	size_t i;

	if (err)
		return err;
	err = exchange(&ex);
	for (i = 0; err >= 0 && !stop && i < ex.answers; i++) {
		stop = pams_read_path(nlmsg_hdr(ex.answer[i]), &path);
		if (!stop)
			stop = fn(&path, arg);
	}
	return end(&ex, stop ?: err);
}

static int give_conns(struct exchange *ex, pams_conn_fn fn, void *arg)
{
	struct pams_conn conn;
	int stop = 0;
	size_t i;

	for (i = 0; !stop && i < ex->answers; i++) {
		stop = pams_read_conn(nlmsg_hdr(ex->answer[i]), &conn);
		if (!stop)
			stop = fn(&conn, arg);
		free(conn.subflow);
	}
	return stop;
}

int pams_nl_conn_dump(struct pams_nl *nl, pams_conn_fn fn, void *arg)
{
	struct exchange ex;
	int err = begin(&ex, nl, MPTCP_PAMS_CMD_CONN_GET, NLM_F_DUMP);

	if (err)
		return err;
	err = exchange(&ex);
	if (err >= 0)
		err = give_conns(&ex, fn, arg) ?: err;
	return end(&ex, err);
}

static int get_conn(struct pams_nl *nl, uint32_t token, const uint32_t *peer_token,
		    pams_conn_fn fn, void *arg)
{
	struct exchange ex;
	int err = begin(&ex, nl, MPTCP_PAMS_CMD_CONN_GET, 0);

	if (err)
		return err;
	err = nla_put_u32(ex.request, MPTCP_PAMS_A_CONN_TOKEN, token) ||
	      (peer_token &&
	       nla_put_u32(ex.request, MPTCP_PAMS_A_CONN_PEER_TOKEN, *peer_token)) ?
	      -EMSGSIZE : exchange(&ex);
	if (!err)
		err = give_conns(&ex, fn, arg);
	return end(&ex, err);
}

int pams_nl_conn_get(struct pams_nl *nl, uint32_t token, pams_conn_fn fn,
		     void *arg)
{
	return get_conn(nl, token, NULL, fn, arg);
}

int pams_nl_conn_get_as(struct pams_nl *nl, uint32_t token, uint32_t peer_token,
			pams_conn_fn fn, void *arg)
{
	return get_conn(nl, token, &peer_token, fn, arg);
}

int pams_nl_rules_get(struct pams_nl *nl, struct pams_rules *rules)
{
	struct exchange ex;
	int err = begin(&ex, nl, MPTCP_PAMS_CMD_RULES_GET, NLM_F_DUMP);
	size_t i;

	memset(rules, 0, sizeof(*rules));
	if (err)
		return err;
	err = exchange(&ex);
	if (err > 0)
		err = -EBUSY;
	for (i = 0; !err && i < ex.answers; i++)
		err = pams_read_rules(nlmsg_hdr(ex.answer[i]), rules);
	if (err) {
		free(rules->rule);
		memset(rules, 0, sizeof(*rules));
	}
	return end(&ex, err);
}

int pams_nl_rules_set(struct pams_nl *nl, const struct pams_rules *rules)
{
	struct exchange ex;
	int err = begin_sized(&ex, nl, MPTCP_PAMS_CMD_RULES_SET, 0,
			      REQUEST_BYTES + rules->nr * RULE_BYTES);

	if (err)
		return err;
	err = pams_put_rules(ex.request, rules) ?: exchange(&ex);
	return end(&ex, err);
}

int pams_nl_sched_dump(struct pams_nl *nl, pams_scheduler_fn fn, void *arg)
{
	struct pams_scheduler scheduler;
	struct exchange ex;
	int err = begin(&ex, nl, MPTCP_PAMS_CMD_SCHED_GET, NLM_F_DUMP);
	int stop = 0;
	size_t i;

	if (err)
		return err;
	err = exchange(&ex);
	for (i = 0; err >= 0 && !stop && i < ex.answers; i++) {
		stop = pams_read_scheduler(nlmsg_hdr(ex.answer[i]), &scheduler);
		if (!stop)
			stop = fn(&scheduler, arg);
	}
	return end(&ex, stop ?: err);
}

int pams_nl_sched_of(struct pams_nl *nl, int fd, char name[PAMS_SCHEDULER_MAX])
{
	struct pams_scheduler scheduler;
	struct exchange ex;
	int err = begin(&ex, nl, MPTCP_PAMS_CMD_SCHED_GET, 0);

	if (err)
		return err;
	err = nla_put_u32(ex.request, MPTCP_PAMS_A_SCHED_FD, fd) ? -EMSGSIZE : exchange(&ex);
	if (!err)
		err = ex.answers ? pams_read_scheduler(nlmsg_hdr(ex.answer[0]), &scheduler) :
				   -EBADMSG;
	if (!err)
		memcpy(name, scheduler.name, PAMS_SCHEDULER_MAX);
	return end(&ex, err);
}

/* --- the handle --- */

static int set_up(struct pams_nl *nl)
{
	int err = genl_open(&nl->sock, ANSWER_S), fd, on = 1;

	if (err)
		return pams_errno(err);
	/* no message of a dump is larger than this; a request with all rules may be */
	err = nl_socket_set_msg_buf_size(nl->sock, MESSAGE_MAX);
	err = err ?: nl_socket_set_buffer_size(nl->sock, 0, REQUEST_BYTES +
					       MPTCP_PAMS_RULES_MAX * RULE_BYTES);
	if (err)
		return pams_errno(err);
	fd = nl_socket_get_fd(nl->sock);
	if (setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on)) ||
	    setsockopt(fd, SOL_NETLINK, NETLINK_CAP_ACK, &on, sizeof(on)))
		return -errno;
	return 0;
}

int pams_nl_open(struct pams_nl **nl)
{
	int err;

	*nl = calloc(1, sizeof(**nl));
	if (!*nl)
		return -ENOMEM;
	err = set_up(*nl);
	if (!err) {
		err = pams_resolve(*nl);
		if (!err || err == -ENOENT)
			return err;
	}
	pams_nl_close(*nl);
	*nl = NULL;
	return err;
}

void pams_nl_close(struct pams_nl *nl)
{
	if (!nl)
		return;
	nl_socket_free(nl->events);
	nl_socket_free(nl->sock);
	free(nl);
}

bool pams_nl_loaded(const struct pams_nl *nl)
{
	return nl->family;
}

const char *pams_nl_error(const struct pams_nl *nl)
{
	return nl->error;
}

const char *pams_nl_bad_attribute(const struct pams_nl *nl)
{
	return nl->bad;
}
