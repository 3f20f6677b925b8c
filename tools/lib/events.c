// SPDX-License-Identifier: GPL-2.0
/*
 * events - receives the module's events
 *
 * Events have a socket of their own, so that none is mistaken for an answer. The socket
 * joins two multicast groups: the family's, which is removed with the module and has
 * another id after the module is loaded again, and the generic-netlink controller's,
 * which announces new and removed families.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <netlink/genl/genl.h>

#include <linux/genetlink.h>
#include <linux/mptcp_pams.h>

#include "genl.h"
#include "netlink-internal.h"

#define DATAGRAMS_MAX	64	/* per call, so that the caller gets to other work */
#define QUEUE_BYTES	(256 * 1024)

struct delivery {
	struct pams_nl *nl;
	pams_event_fn fn;
	void *arg;
	int events;
	int stop;		/* what fn returned */
};

static const struct {
	const char *name;
	int command;
} kinds[] = {
	[PAMS_EVENT_PATH_SET] = { "path-set", MPTCP_PAMS_CMD_PATH_SET_NTF },
	[PAMS_EVENT_PATH_DEL] = { "path-del", MPTCP_PAMS_CMD_PATH_DEL_NTF },
	[PAMS_EVENT_PATH_EXPIRED] = { "path-expired",
		MPTCP_PAMS_CMD_PATH_EXPIRED_NTF },
	[PAMS_EVENT_PATH_STOPPED] = { "path-stopped",
		MPTCP_PAMS_CMD_PATH_STOPPED_NTF },
	[PAMS_EVENT_SUBFLOW_REMOVED] = { "subflow-removed",
		MPTCP_PAMS_CMD_SUBFLOW_REMOVED_NTF },
	[PAMS_EVENT_REINJECT] = { "reinject", MPTCP_PAMS_CMD_REINJECT_NTF },
	[PAMS_EVENT_LOADED] = { "loaded", -1 },
	[PAMS_EVENT_UNLOADED] = { "unloaded", -1 },
	[PAMS_EVENT_LOST] = { "lost", -1 },
};

#define KINDS	(sizeof(kinds) / sizeof(kinds[0]))

const char *pams_event_name(enum pams_event_kind kind)
{
	return (unsigned int)kind < KINDS ? kinds[kind].name : NULL;
}

static void deliver(struct delivery *delivery, enum pams_event_kind kind,
		    const struct pams_path *path, const struct pams_conn *conn)
{
	struct pams_event event = { .kind = kind, .path = path, .conn = conn };

	delivery->events++;
	delivery->stop = delivery->fn(&event, delivery->arg);
}

/*
 * Join the family's group. The kernel ends the membership when it removes the group, whose id it
 * may use again.
 */
int pams_join(struct pams_nl *nl)
{
	int err = genl_join(nl->events, MPTCP_PAMS_FAMILY_NAME, MPTCP_PAMS_MCGRP_EVENTS);

	return err == -NLE_OBJ_NOTFOUND ? -ENOENT : pams_errno(err);
}

/*
 * Lost events may include that the module was loaded or unloaded. Its family gets another id each
 * time, so compare the id with that of the last event.
 */
static bool has_other_family(struct pams_nl *nl)
{
	int err = pams_resolve(nl);

	err = err ?: pams_join(nl);
	if (err && err != -ENOENT)
		return false;
	if (err)
		nl->family = 0;
	if (nl->family == nl->told_family)
		return false;
	nl->told_family = nl->family;
	return true;
}

/* Is this the removal of an old family, received after the module was found to be loaded again? */
static bool is_outdated(const struct pams_nl *nl, struct nlmsghdr *hdr)
{
	struct nlattr *id = nlmsg_find_attr(hdr, GENL_HDRLEN, CTRL_ATTR_FAMILY_ID);

	return id && nl->told_family && nla_get_u16(id) != nl->told_family;
}

/* Handle the controller's event about a family, if it is the module's. */
static void on_family(struct delivery *delivery, struct nlmsghdr *hdr)
{
	struct pams_nl *nl = delivery->nl;
	struct nlattr *name = nlmsg_find_attr(hdr, GENL_HDRLEN,
					      CTRL_ATTR_FAMILY_NAME);

	if (!name || nla_strcmp(name, MPTCP_PAMS_FAMILY_NAME))
		return;
	switch (genlmsg_hdr(hdr)->cmd) {
	case CTRL_CMD_NEWFAMILY:
		/* on failure the family is gone already: the next event tells that */
		if (pams_resolve(nl) || pams_join(nl))
			break;
		nl->told_family = nl->family;
		deliver(delivery, PAMS_EVENT_LOADED, NULL, NULL);
		break;
	case CTRL_CMD_DELFAMILY:
		if (is_outdated(nl, hdr))
			break;
		nl->family = 0;
		nl->told_family = 0;
		deliver(delivery, PAMS_EVENT_UNLOADED, NULL, NULL);
		break;
	}
}

static void on_module(struct delivery *delivery, struct nlmsghdr *hdr)
{
	struct pams_path path;
	struct pams_conn conn;
	size_t kind;

	for (kind = 0; kind < KINDS; kind++)
		if (kinds[kind].command == genlmsg_hdr(hdr)->cmd)
			break;
	if (kind <= PAMS_EVENT_PATH_EXPIRED) {
		/* an event without a key is about all paths */
		if (!pams_read_path(hdr, &path))
			deliver(delivery, kind, pams_has_key(&path) ? &path :
								      NULL,
				NULL);
	} else if (kind < KINDS) {
		if (!pams_read_conn(hdr, &conn))
			deliver(delivery, kind, NULL, &conn);
		free(conn.subflow);
	}
}

/* The kernel has dropped events (ENOBUFS), and reports that once. */
static void on_overrun(struct delivery *delivery)
{
	struct pams_nl *nl = delivery->nl;
	bool other = has_other_family(nl);

	deliver(delivery, PAMS_EVENT_LOST, NULL, NULL);
	if (other && !delivery->stop)
		deliver(delivery, nl->family ? PAMS_EVENT_LOADED : PAMS_EVENT_UNLOADED, NULL, NULL);
}

static int on_event(struct nl_msg *msg, void *arg)
{
	struct nlmsghdr *hdr = nlmsg_hdr(msg);
	struct delivery *delivery = arg;

	if (!genlmsg_valid_hdr(hdr, 0) || delivery->stop)
		return NL_OK;
	if (hdr->nlmsg_type == GENL_ID_CTRL)
		on_family(delivery, hdr);
	else
		on_module(delivery, hdr);
	return NL_OK;
}

static int on_any_sequence(struct nl_msg *msg, void *arg)
{
	(void)msg;
	(void)arg;
	return NL_OK;
}

static int set_up_events(struct pams_nl *nl)
{
	int err = genl_open_events(&nl->events);

	err = err ?: nl_socket_set_buffer_size(nl->events, QUEUE_BYTES, 0);
	err = err ?: genl_join(nl->events, "nlctrl", "notify");
	return pams_errno(err);
}

int pams_nl_subscribe(struct pams_nl *nl)
{
	int err;

	if (nl->events)
		return pams_fail(nl, -EALREADY, NULL);
	err = set_up_events(nl);
	/* after joining the controller's group, so that no load in between is missed */
	if (!err)
		err = pams_join(nl);
	nl->error[0] = 0;
	nl->told_family = nl->family;
	if (!err || err == -ENOENT)
		return 0;
	nl_socket_free(nl->events);
	nl->events = NULL;
	return pams_fail(nl, err, NULL);
}

int pams_nl_event_fd(const struct pams_nl *nl)
{
	return nl->events ? nl_socket_get_fd(nl->events) : -1;
}

int pams_nl_receive(struct pams_nl *nl, pams_event_fn fn, void *arg)
{
	struct delivery delivery = { .nl = nl, .fn = fn, .arg = arg };
	struct nl_cb *cb;
	int err = 0, i;

	if (!nl->events)
		return pams_fail(nl, -EBADF, "not subscribed");
	cb = nl_cb_alloc(NL_CB_CUSTOM);
	if (!cb)
		return pams_fail(nl, -ENOMEM, NULL);
	nl_cb_set(cb, NL_CB_SEQ_CHECK, NL_CB_CUSTOM, on_any_sequence, NULL);
	nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, on_event, &delivery);

	for (i = 0; i < DATAGRAMS_MAX && !delivery.stop; i++) {
		err = nl_recvmsgs(nl->events, cb);
		if (err == -NLE_NOMEM)
			on_overrun(&delivery);
		else if (err < 0)
			break;
	}
	nl_cb_put(cb);
	if (delivery.stop)
		return delivery.stop;
	if (err < 0 && err != -NLE_AGAIN && err != -NLE_NOMEM)
		return pams_fail(nl, pams_errno(err), nl_geterror(err));
	return delivery.events;
}
