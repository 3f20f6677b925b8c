// SPDX-License-Identifier: GPL-2.0
/*
 * station - reads what nl80211 reports of the access point
 *
 * A station dump has the level of the last frame and the number of frames; only a
 * new frame is a new sample. Events report what the driver notices: a level that
 * crosses the threshold which wpa_supplicant has set, missing beacons, and another
 * access point. Nothing is configured and nothing is scanned, so no privilege is
 * needed.
 */
#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <linux/nl80211.h>
#include <netlink/attr.h>
#include <netlink/errno.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>

#include "genl.h"
#include "predict.h"

#define ANSWER_S	1

struct radio {
	char interface[IF_NAMESIZE];
	struct nl_sock *questions, *events;
	int family;
	enum station_event event;	/* the most important one since radio_event() was called */
};

static unsigned int ifindex_of(const struct radio *radio)
{
	return if_nametoindex(radio->interface);
}

static enum station_event quality_event(struct nlattr *attr)
{
	struct nlattr *cqm[NL80211_ATTR_CQM_MAX + 1];

	if (nla_parse_nested(cqm, NL80211_ATTR_CQM_MAX, attr, NULL))
		return STATION_NOTHING;
	if (cqm[NL80211_ATTR_CQM_BEACON_LOSS_EVENT])
		return STATION_SILENT;
	if (cqm[NL80211_ATTR_CQM_RSSI_THRESHOLD_EVENT])
		return STATION_LOOK;
	return STATION_NOTHING;
}

static int on_event(struct nl_msg *msg, void *arg)
{
	struct genlmsghdr *header = nlmsg_data(nlmsg_hdr(msg));
	struct nlattr *attrs[NL80211_ATTR_MAX + 1];
	enum station_event event = STATION_NOTHING;
	struct radio *radio = arg;

	if (genlmsg_parse(nlmsg_hdr(msg), 0, attrs, NL80211_ATTR_MAX, NULL) ||
	    !attrs[NL80211_ATTR_IFINDEX] ||
	    nla_get_u32(attrs[NL80211_ATTR_IFINDEX]) != ifindex_of(radio))
		return NL_OK;
	switch (header->cmd) {
	case NL80211_CMD_NOTIFY_CQM:
		if (attrs[NL80211_ATTR_CQM])
			event = quality_event(attrs[NL80211_ATTR_CQM]);
		break;
	case NL80211_CMD_CONNECT:
	case NL80211_CMD_ROAM:
	case NL80211_CMD_DISCONNECT:
	case NL80211_CMD_ASSOCIATE:
		event = STATION_CHANGED;
		break;
	}
	if (event > radio->event)
		radio->event = event;
	return NL_OK;
}

static int open_events(struct radio *radio)
{
	if (genl_open_events(&radio->events))
		return -1;
	nl_socket_modify_cb(radio->events, NL_CB_VALID, NL_CB_CUSTOM, on_event,
			    radio);
	return genl_join(radio->events, NL80211_GENL_NAME, NL80211_MULTICAST_GROUP_MLME);
}

/* Open the socket for requests, without acknowledgments, which would follow the answers. */
static int open_questions(struct radio *radio)
{
	if (genl_open(&radio->questions, ANSWER_S))
		return -1;
	nl_socket_disable_auto_ack(radio->questions);
	return 0;
}

struct radio *radio_open(const char *interface)
{
	struct radio *radio = calloc(1, sizeof(*radio));

	if (!radio)
		return NULL;
	snprintf(radio->interface, IF_NAMESIZE, "%s", interface);
	if (open_questions(radio))
		goto fail;
	radio->family = genl_ctrl_resolve(radio->questions, NL80211_GENL_NAME);
	if (radio->family < 0 || open_events(radio))
		goto fail;
	return radio;
fail:
	radio_close(radio);
	return NULL;
}

void radio_close(struct radio *radio)
{
	if (!radio)
		return;
	nl_socket_free(radio->events);
	nl_socket_free(radio->questions);
	free(radio);
}

int radio_fd(const struct radio *radio)
{
	return nl_socket_get_fd(radio->events);
}

enum station_event radio_event(struct radio *radio)
{
	int err;

	radio->event = STATION_NOTHING;
	err = nl_recvmsgs_default(radio->events);
	/* the event that was lost by the overflow may have been a change */
	if (err == -NLE_NOMEM)
		return STATION_CHANGED;
	return radio->event;
}

/* --- requests --- */

static int send_request(struct radio *radio, int command, int flags,
			int (*on_answer)(struct nl_msg *msg, void *arg), void *arg)
{
	unsigned int ifindex = ifindex_of(radio);
	struct nl_msg *msg;
	int err;

	if (!ifindex)
		return -ENODEV;
	if (!radio->questions && open_questions(radio))
		return -EIO;
	msg = nlmsg_alloc();
	if (!msg)
		return -ENOMEM;
	genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, radio->family, 0, flags,
		    command, 0);
	nla_put_u32(msg, NL80211_ATTR_IFINDEX, ifindex);
	nl_socket_modify_cb(radio->questions, NL_CB_VALID, NL_CB_CUSTOM,
			    on_answer, arg);
	err = nl_send_auto(radio->questions, msg);
	nlmsg_free(msg);
	if (err >= 0)
		err = nl_recvmsgs_default(radio->questions);
	if (err >= 0)
		return 0;
	/* a new socket, so that a late answer isn't taken for that to the next request */
	nl_socket_free(radio->questions);
	radio->questions = NULL;
	/* cfg80211 was unloaded, or reloaded with other numbers for its family and groups */
	return err == -NLE_OBJ_NOTFOUND ? -ENOENT : -EIO;
}

static uint64_t count_of(struct nlattr **info, int name)
{
	struct nlattr *attr = info[name];

	if (!attr)
		return 0;
	return nla_len(attr) == 8 ? nla_get_u64(attr) : nla_get_u32(attr);
}

/*
 * Not one that is only being authenticated with, as when roaming, nor a peer of a direct link. A
 * driver that doesn't say that it is associated has frames of it.
 */
static bool is_access_point(struct nlattr *attr, uint64_t frames)
{
	const struct nl80211_sta_flag_update *flags;

	if (!attr || nla_len(attr) < (int)sizeof(*flags))
		return true;
	flags = nla_data(attr);
	return (frames || !(flags->mask & ~flags->set & 1 << NL80211_STA_FLAG_ASSOCIATED)) &&
	       !(flags->set & 1 << NL80211_STA_FLAG_TDLS_PEER);
}

struct looking {
	struct station *station;
	bool found;
};

static int on_station(struct nl_msg *msg, void *arg)
{
	struct nlattr *attrs[NL80211_ATTR_MAX + 1];
	struct nlattr *info[NL80211_STA_INFO_MAX + 1];
	struct looking *looking = arg;
	struct station *station = looking->station;
	uint64_t frames;

	if (looking->found ||
	    genlmsg_parse(nlmsg_hdr(msg), 0, attrs, NL80211_ATTR_MAX, NULL) ||
	    !attrs[NL80211_ATTR_MAC] || nla_len(attrs[NL80211_ATTR_MAC]) != 6 ||
	    !attrs[NL80211_ATTR_STA_INFO] ||
	    nla_parse_nested(info, NL80211_STA_INFO_MAX,
			     attrs[NL80211_ATTR_STA_INFO], NULL) ||
	    !info[NL80211_STA_INFO_SIGNAL])
		return NL_OK;
	frames = count_of(info, NL80211_STA_INFO_RX_PACKETS) +
		 count_of(info, NL80211_STA_INFO_BEACON_RX);
	if (!is_access_point(info[NL80211_STA_INFO_STA_FLAGS], frames))
		return NL_OK;
	looking->found = true;
	memcpy(station->bssid, nla_data(attrs[NL80211_ATTR_MAC]), 6);
	station->level_dbm =
		(int8_t)nla_get_u8(info[NL80211_STA_INFO_SIGNAL]);
	station->frames = frames;
	station->beacons = info[NL80211_STA_INFO_BEACON_RX];
	return NL_OK;
}

int radio_look(struct radio *radio, struct station *station)
{
	struct looking looking = { .station = station };
	int err = send_request(radio, NL80211_CMD_GET_STATION, NLM_F_DUMP, on_station,
			       &looking);

	return err ? err : looking.found;
}

static int on_interface(struct nl_msg *msg, void *arg)
{
	struct nlattr *attrs[NL80211_ATTR_MAX + 1];
	char *ssid = arg;
	int len;

	if (genlmsg_parse(nlmsg_hdr(msg), 0, attrs, NL80211_ATTR_MAX, NULL) ||
	    !attrs[NL80211_ATTR_SSID])
		return NL_OK;
	len = nla_len(attrs[NL80211_ATTR_SSID]);
	if (len < SSID_BYTES) {
		memcpy(ssid, nla_data(attrs[NL80211_ATTR_SSID]), len);
		ssid[len] = '\0';
	}
	return NL_OK;
}

int radio_ssid(struct radio *radio, char ssid[SSID_BYTES])
{
	ssid[0] = '\0';
	return send_request(radio, NL80211_CMD_GET_INTERFACE, 0, on_interface, ssid);
}
