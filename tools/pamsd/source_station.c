// SPDX-License-Identifier: GPL-2.0
/*
 * source_station - a wireless interface's throughput, as nl80211 tells
 *
 * Of the stations the one is meant to which most was sent since the last
 * sample: on a client that is the access point, on a helper that is one the
 * device that fetches. Its rate is what the driver's rate control expects to
 * get through, where it says so; else half of the bitrate that was used last,
 * which is about what is left of it for payload beside preambles,
 * acknowledgments and the waiting for the medium.
 *
 * What waits in mac80211's own queues for that station is told where the
 * driver uses them (it then counts per traffic class).
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include <linux/nl80211.h>
#include <netlink/attr.h>
#include <netlink/errno.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>

#include "pamsd.h"
#include "source_station.h"

#define STATIONS_MAX	64
#define BITRATE_PART	2

static struct nl_sock *sock;
static int family;

/* What was sent to each when it was last looked at, whatever the interface. */
static struct {
	uint8_t mac[6];
	uint64_t bytes;
} stations[STATIONS_MAX];
static unsigned int station_count;

static uint32_t backlog_of(struct nlattr *tids)
{
	struct nlattr *tid, *stats[NL80211_TID_STATS_MAX + 1];
	struct nlattr *queue[NL80211_TXQ_STATS_MAX + 1];
	uint64_t backlog_bytes = 0;
	int left;

	nla_for_each_nested(tid, tids, left) {
		if (nla_parse_nested(stats, NL80211_TID_STATS_MAX, tid, NULL) ||
		    !stats[NL80211_TID_STATS_TXQ_STATS] ||
		    nla_parse_nested(queue, NL80211_TXQ_STATS_MAX,
				     stats[NL80211_TID_STATS_TXQ_STATS],
				     NULL) ||
		    !queue[NL80211_TXQ_STATS_BACKLOG_BYTES])
			continue;
		backlog_bytes +=
			nla_get_u32(queue[NL80211_TXQ_STATS_BACKLOG_BYTES]);
	}
	return backlog_bytes > UINT32_MAX ? UINT32_MAX : backlog_bytes;
}

/* nl80211 counts bitrates in 100 kbit/s, expected throughput in kbit/s. */
static uint64_t rate_of(struct nlattr **info)
{
	struct nlattr *rate[NL80211_RATE_INFO_MAX + 1];
	uint64_t bitrate = 0;

	if (info[NL80211_STA_INFO_EXPECTED_THROUGHPUT])
		return nla_get_u32(info[NL80211_STA_INFO_EXPECTED_THROUGHPUT]) *
		       1000ULL / 8;
	if (!info[NL80211_STA_INFO_TX_BITRATE] ||
	    nla_parse_nested(rate, NL80211_RATE_INFO_MAX,
			     info[NL80211_STA_INFO_TX_BITRATE], NULL))
		return 0;
	if (rate[NL80211_RATE_INFO_BITRATE32])
		bitrate = nla_get_u32(rate[NL80211_RATE_INFO_BITRATE32]);
	else if (rate[NL80211_RATE_INFO_BITRATE])
		bitrate = nla_get_u16(rate[NL80211_RATE_INFO_BITRATE]);
	return bitrate * 100000 / 8 / BITRATE_PART;
}

int station_parse(struct nlattr **attrs, struct station *station)
{
	struct nlattr *info[NL80211_STA_INFO_MAX + 1];

	memset(station, 0, sizeof(*station));
	if (!attrs[NL80211_ATTR_MAC] || nla_len(attrs[NL80211_ATTR_MAC]) != 6 ||
	    !attrs[NL80211_ATTR_STA_INFO] ||
	    nla_parse_nested(info, NL80211_STA_INFO_MAX,
			     attrs[NL80211_ATTR_STA_INFO], NULL))
		return -EINVAL;
	memcpy(station->mac, nla_data(attrs[NL80211_ATTR_MAC]), 6);
	if (info[NL80211_STA_INFO_TX_BYTES64])
		station->bytes = nla_get_u64(info[NL80211_STA_INFO_TX_BYTES64]);
	else if (info[NL80211_STA_INFO_TX_BYTES])
		station->bytes = nla_get_u32(info[NL80211_STA_INFO_TX_BYTES]);
	station->rate_byteps = rate_of(info);
	if (info[NL80211_STA_INFO_TID_STATS])
		station->backlog_bytes =
			backlog_of(info[NL80211_STA_INFO_TID_STATS]);
	return 0;
}

/* What was sent since it was last looked at. */
static uint64_t sent_to(const struct station *station)
{
	uint64_t before = station->bytes;
	unsigned int i;

	for (i = 0; i < station_count; i++)
		if (!memcmp(stations[i].mac, station->mac, 6))
			break;
	if (i == STATIONS_MAX)
		return 0;
	if (i == station_count)
		memcpy(stations[station_count++].mac, station->mac, 6);
	else
		before = stations[i].bytes;
	stations[i].bytes = station->bytes;
	return station->bytes > before ? station->bytes - before : 0;
}

struct choice {
	bool found;
	struct station station;
	uint64_t sent;
	uint64_t total;		/* sent to all of them ever */
};

static int take(struct nl_msg *msg, void *arg)
{
	struct nlattr *attrs[NL80211_ATTR_MAX + 1];
	struct choice *choice = arg;
	struct station station;
	uint64_t sent;

	if (genlmsg_parse(nlmsg_hdr(msg), 0, attrs, NL80211_ATTR_MAX, NULL) ||
	    station_parse(attrs, &station))
		return NL_OK;
	sent = sent_to(&station);
	choice->total += station.bytes;
	if (choice->found && sent <= choice->sent)
		return NL_OK;
	choice->found = true;
	choice->station = station;
	choice->sent = sent;
	return NL_OK;
}

static int open_family(void)
{
	int err;

	if (sock)
		return 0;
	err = source_open(&sock, NETLINK_GENERIC);
	if (err)
		return err;
	family = genl_ctrl_resolve(sock, NL80211_GENL_NAME);
	if (family >= 0)
		return 0;
	source_close(&sock);
	return -ENOENT;
}

static int sample(const struct link *link,
		  const struct interface_config *config,
		  struct estimate *estimate, uint64_t us)
{
	struct choice choice = { };
	struct nl_msg *msg;
	int err;

	(void)config;
	err = open_family();
	if (err)
		return err;
	msg = nlmsg_alloc();
	if (!msg)
		return -ENOMEM;
	genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, family, 0, NLM_F_DUMP,
		    NL80211_CMD_GET_STATION, 0);
	nla_put_u32(msg, NL80211_ATTR_IFINDEX, link->ifindex);
	nl_socket_modify_cb(sock, NL_CB_VALID, NL_CB_CUSTOM, take, &choice);
	err = nl_send_auto(sock, msg);
	nlmsg_free(msg);
	if (err >= 0)
		err = nl_recvmsgs_default(sock);
	if (err < 0) {
		source_close(&sock);	/* the family may come anew */
		return err == -NLE_OPNOTSUPP ? -EOPNOTSUPP : -EIO;
	}
	/* Nobody is associated: that is no fault, there is no pipe now. */
	if (choice.found)
		estimate_rate(estimate, us, choice.total,
			      choice.station.backlog_bytes,
			      choice.station.rate_byteps);
	return 0;
}

static void close_source(void)
{
	source_close(&sock);
	station_count = 0;
}

bool source_station_suits(const struct link *link)
{
	char path[sizeof("/sys/class/net//phy80211") + IF_NAMESIZE] =
		"/sys/class/net/";
	struct stat st;

	strcat(path, link->name);
	strcat(path, "/phy80211");
	return !stat(path, &st);
}

const struct source source_station = {
	.name = "station",
	.sample = sample,
	.close = close_source,
};
