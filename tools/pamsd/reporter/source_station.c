// SPDX-License-Identifier: GPL-2.0
/*
 * source_station - a wireless interface's throughput, read by nl80211
 *
 * Uses the station to which the most bytes were sent since the last sample: on a
 * client that is the access point, on a helper that is an access point it is the
 * device that downloads. Each station has an estimate of its own. Its rate is the
 * first of these that is known, and the status has the name:
 *
 *	queue		bytes sent to the station while more waited for it, if
 *			the driver uses mac80211's queues (estimate.c)
 *	expected	the throughput that the driver's rate control expects
 *	half bitrate	half of the last bitrate: about what preambles,
 *			acknowledgments and medium access leave for payload
 */
#include <errno.h>
#include <stdlib.h>
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

#include "measure.h"
#include "source_station.h"

#define BITRATE_PART	2

static struct nl_sock *sock;
static int family;

static struct stations all;

struct known_station {
	unsigned int ifindex;
	uint8_t mac[6];
	bool noted;		/* stations_note() was called since the last choice */
	bool chosen;		/* by the last stations_choose() */
	uint64_t sent;		/* bytes since the previous sample */
	struct estimate estimate;
};

/* Sum up the waiting bytes, which mac80211 counts per traffic class (TID). */
static void parse_backlog(struct station *station, struct nlattr *tids)
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
		station->has_backlog = true;
	}
	station->backlog_bytes = backlog_bytes > UINT32_MAX ? UINT32_MAX :
							      backlog_bytes;
}

/* nl80211 counts bitrates in 100 kbit/s, expected throughput in kbit/s. */
static void parse_rate(struct station *station, struct nlattr **info)
{
	struct nlattr *rate[NL80211_RATE_INFO_MAX + 1];
	uint64_t bitrate = 0;

	if (info[NL80211_STA_INFO_EXPECTED_THROUGHPUT]) {
		station->rate_byteps = 1000ULL / 8 *
			nla_get_u32(info[NL80211_STA_INFO_EXPECTED_THROUGHPUT]);
		station->rate_from = "expected";
		return;
	}
	if (!info[NL80211_STA_INFO_TX_BITRATE] ||
	    nla_parse_nested(rate, NL80211_RATE_INFO_MAX,
			     info[NL80211_STA_INFO_TX_BITRATE], NULL))
		return;
	if (rate[NL80211_RATE_INFO_BITRATE32])
		bitrate = nla_get_u32(rate[NL80211_RATE_INFO_BITRATE32]);
	else if (rate[NL80211_RATE_INFO_BITRATE])
		bitrate = nla_get_u16(rate[NL80211_RATE_INFO_BITRATE]);
	station->rate_byteps = bitrate * 100000 / 8 / BITRATE_PART;
	station->rate_from = "half bitrate";
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
	parse_rate(station, info);
	if (info[NL80211_STA_INFO_TID_STATS])
		parse_backlog(station, info[NL80211_STA_INFO_TID_STATS]);
	return 0;
}

static struct known_station *find(struct stations *stations,
				  unsigned int ifindex, const uint8_t mac[6])
{
	struct known_station *grown;

	for (unsigned int i = 0; i < stations->count; i++)
		if (stations->known[i].ifindex == ifindex &&
		    !memcmp(stations->known[i].mac, mac, 6))
			return &stations->known[i];
	grown = reallocarray(stations->known, stations->count + 1,
			     sizeof(*grown));
	if (!grown)
		return NULL;
	stations->known = grown;
	grown += stations->count++;
	memset(grown, 0, sizeof(*grown));
	grown->ifindex = ifindex;
	memcpy(grown->mac, mac, 6);
	return grown;
}

void stations_note(struct stations *stations, unsigned int ifindex,
		   const struct station *station, uint64_t us)
{
	struct known_station *known = find(stations, ifindex, station->mac);
	uint64_t before;

	if (!known)
		return;
	before = known->estimate.sampled ? known->estimate.bytes :
					   station->bytes;
	known->sent = station->bytes > before ? station->bytes - before : 0;
	known->noted = true;
	if (station->has_backlog)
		estimate_count(&known->estimate, us, station->bytes,
			       station->backlog_bytes);
	else
		estimate_rate(&known->estimate, us, station->bytes,
			      station->backlog_bytes, 0);
	estimate_suppose(&known->estimate, us, station->rate_byteps,
			 station->rate_from);
}

/* Remove the interface's stations that the last dump didn't contain. */
static void forget(struct stations *stations, unsigned int ifindex)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; i < stations->count; i++)
		if (stations->known[i].ifindex != ifindex ||
		    stations->known[i].noted)
			stations->known[kept++] = stations->known[i];
	stations->count = kept;
}

const struct estimate *stations_choose(struct stations *stations,
				       unsigned int ifindex)
{
	struct known_station *best = NULL;

	forget(stations, ifindex);
	for (unsigned int i = 0; i < stations->count; i++) {
		struct known_station *known = &stations->known[i];

		if (known->ifindex != ifindex)
			continue;
		if (!best || known->sent > best->sent ||
		    (known->sent == best->sent && known->chosen))
			best = known;
		known->noted = false;
	}
	for (unsigned int i = 0; i < stations->count; i++)
		if (stations->known[i].ifindex == ifindex)
			stations->known[i].chosen = best == &stations->known[i];
	return best ? &best->estimate : NULL;
}

void stations_free(struct stations *stations)
{
	free(stations->known);
	memset(stations, 0, sizeof(*stations));
}

struct dump {
	unsigned int ifindex;
	uint64_t us;
};

static int on_station(struct nl_msg *msg, void *arg)
{
	struct nlattr *attrs[NL80211_ATTR_MAX + 1];
	const struct dump *dump = arg;
	struct station station;

	if (!genlmsg_parse(nlmsg_hdr(msg), 0, attrs, NL80211_ATTR_MAX, NULL) &&
	    !station_parse(attrs, &station))
		stations_note(&all, dump->ifindex, &station, dump->us);
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
	struct dump dump = { .ifindex = link->ifindex, .us = us };
	const struct estimate *chosen;
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
	nl_socket_modify_cb(sock, NL_CB_VALID, NL_CB_CUSTOM, on_station, &dump);
	err = nl_send_auto(sock, msg);
	nlmsg_free(msg);
	if (err >= 0)
		err = nl_recvmsgs_default(sock);
	if (err < 0) {
		source_close(&sock);	/* nl80211 may have been unloaded and loaded again */
		return err == -NLE_OPNOTSUPP ? -EOPNOTSUPP : -EIO;
	}
	/* NULL if no station is associated, which is no error: there is no pipe now. */
	chosen = stations_choose(&all, link->ifindex);
	if (chosen)
		*estimate = *chosen;
	return 0;
}

static void close_source(void)
{
	source_close(&sock);
	stations_free(&all);
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
