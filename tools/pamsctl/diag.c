// SPDX-License-Identifier: GPL-2.0
/*
 * diag - MPTCP sockets, connections that fell back to TCP, and their processes
 *
 * A connection that this machine opened and that fell back is still an MPTCP
 * socket, with MPTCP_INFO_FLAG_FALLBACK. One that it accepted is a plain TCP
 * socket, with the port of a listening MPTCP socket.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <netlink/msg.h>
#include <netlink/netlink.h>

#include <linux/inet_diag.h>
#include <linux/mptcp.h>
#include <linux/sock_diag.h>

#include "pamsctl.h"

#define SHOWN_MAX	20	/* sockets shown of each kind */
#define SOCKETS_MAX	65536	/* sockets read of each protocol */

struct socket {
	int family;
	uint8_t state;
	uint8_t local[16];
	uint8_t remote[16];
	uint16_t local_port;
	uint16_t remote_port;
	uint32_t inode;		/* 0: no process has it */
	uint32_t token;
	unsigned int subflows;
	bool fell_back;
	bool over_mptcp;	/* the TCP socket of an MPTCP subflow */
	char owner[64];
};

struct sockets {
	uint32_t protocol;
	struct socket *at;
	size_t count;
	bool all;		/* false: there are more than SOCKETS_MAX */
};

/* --- listing the sockets --- */

static bool is_below_mptcp(struct nlattr *ulp)
{
	struct nlattr *name = nla_find(nla_data(ulp), nla_len(ulp),
				       INET_ULP_INFO_NAME);

	return name && !nla_strcmp(name, "mptcp");
}

static int on_socket(struct nl_msg *msg, void *arg)
{
	struct nlmsghdr *hdr = nlmsg_hdr(msg);
	struct sockets *sockets = arg;
	struct inet_diag_msg *diag = nlmsg_data(hdr);
	struct mptcp_info info = { };
	struct socket *s;
	struct nlattr *attr;

	if (nlmsg_datalen(hdr) < (int)sizeof(*diag))
		return NL_SKIP;
	if (sockets->count == SOCKETS_MAX) {
		sockets->all = false;
		return NL_SKIP;
	}
	s = reallocarray(sockets->at, sockets->count + 1, sizeof(*s));
	if (!s)
		return NL_SKIP;
	sockets->at = s;
	s += sockets->count++;

	memset(s, 0, sizeof(*s));
	s->family = diag->idiag_family;
	s->state = diag->idiag_state;
	memcpy(s->local, diag->id.idiag_src, sizeof(s->local));
	memcpy(s->remote, diag->id.idiag_dst, sizeof(s->remote));
	s->local_port = ntohs(diag->id.idiag_sport);
	s->remote_port = ntohs(diag->id.idiag_dport);
	s->inode = diag->idiag_inode;
	attr = nlmsg_find_attr(hdr, sizeof(*diag), INET_DIAG_INFO);
	if (attr && sockets->protocol == IPPROTO_MPTCP) {
		nla_memcpy(&info, attr, sizeof(info));
		s->token = info.mptcpi_token;
		s->subflows = info.mptcpi_subflows;
		s->fell_back = info.mptcpi_flags & MPTCP_INFO_FLAG_FALLBACK;
	}
	attr = nlmsg_find_attr(hdr, sizeof(*diag), INET_DIAG_ULP_INFO);
	s->over_mptcp = attr && is_below_mptcp(attr);
	return NL_OK;
}

static int dump(struct nl_sock *sock, int family, uint32_t protocol,
		uint32_t states)
{
	/* the kernel adds INET_DIAG_ULP_INFO only to answers with INET_DIAG_INFO */
	struct inet_diag_req_v2 request = {
		.sdiag_family = family,
		.sdiag_protocol = protocol,
		.idiag_ext = 1 << (INET_DIAG_INFO - 1),
		.idiag_states = states,
	};
	struct nl_msg *msg = nlmsg_alloc_simple(SOCK_DIAG_BY_FAMILY,
						NLM_F_DUMP);
	int err;

	if (!msg)
		return -NLE_NOMEM;
	err = nlmsg_append(msg, &request, sizeof(request), NLMSG_ALIGNTO);
	/* IPPROTO_MPTCP doesn't fit into the 8 bits of sdiag_protocol */
	if (!err && protocol > UINT8_MAX)
		err = nla_put_u32(msg, INET_DIAG_REQ_PROTOCOL, protocol);
	if (!err)
		err = nl_send_auto(sock, msg);
	nlmsg_free(msg);
	return err < 0 ? err : nl_recvmsgs_default(sock);
}

/* 0 or libnl's error. The caller frees sockets->at. */
static int list_sockets(struct sockets *sockets, uint32_t protocol,
			uint32_t states)
{
	struct nl_sock *sock = nl_socket_alloc();
	int err;

	memset(sockets, 0, sizeof(*sockets));
	sockets->protocol = protocol;
	sockets->all = true;
	if (!sock)
		return -NLE_NOMEM;
	nl_socket_modify_cb(sock, NL_CB_VALID, NL_CB_CUSTOM, on_socket,
			    sockets);
	err = nl_connect(sock, NETLINK_SOCK_DIAG);
	if (!err)
		err = dump(sock, AF_INET, protocol, states);
	if (err >= 0)
		err = dump(sock, AF_INET6, protocol, states);
	nl_socket_free(sock);
	return err < 0 ? err : 0;
}

/* --- owners --- */

static void set_owner(struct sockets *sockets, uint32_t inode, const char *pid)
{
	char file[64], name[32] = "?";
	size_t i;
	FILE *f;

	for (i = 0; i < sockets->count; i++) {
		struct socket *s = &sockets->at[i];

		if (!inode || s->inode != inode || s->owner[0])
			continue;
		snprintf(file, sizeof(file), "/proc/%.16s/comm", pid);
		f = fopen(file, "r");
		if (f && fgets(name, sizeof(name), f))
			name[strcspn(name, "\n")] = 0;
		if (f)
			fclose(f);
		snprintf(s->owner, sizeof(s->owner), "%s[%.16s]", name, pid);
	}
}

static void look_into(struct sockets *mptcp, struct sockets *tcp,
		      const char *pid)
{
	char folder[64], link[64];
	struct dirent *entry;
	uint32_t inode;
	DIR *dir;

	snprintf(folder, sizeof(folder), "/proc/%.16s/fd", pid);
	dir = opendir(folder);	/* fails for other users' processes, except as root */
	while (dir && (entry = readdir(dir))) {
		ssize_t length = readlinkat(dirfd(dir), entry->d_name, link,
					    sizeof(link) - 1);

		link[length > 0 ? length : 0] = 0;
		if (sscanf(link, "socket:[%" SCNu32 "]", &inode) != 1)
			continue;
		set_owner(mptcp, inode, pid);
		set_owner(tcp, inode, pid);
	}
	if (dir)
		closedir(dir);
}

static void find_owners(struct sockets *mptcp, struct sockets *tcp)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;

	while (proc && (entry = readdir(proc)))
		if (isdigit((unsigned char)entry->d_name[0]))
			look_into(mptcp, tcp, entry->d_name);
	if (proc)
		closedir(proc);
}

/* --- findings --- */

static bool listens(const struct sockets *mptcp, uint16_t port)
{
	size_t i;

	for (i = 0; i < mptcp->count; i++)
		if (mptcp->at[i].state == TCP_LISTEN &&
		    mptcp->at[i].local_port == port)
			return true;
	return false;
}

static const char *show_socket(char *buffer, size_t room,
			       const struct socket *s)
{
	char local[INET6_ADDRSTRLEN], remote[INET6_ADDRSTRLEN];

	snprintf(buffer, room, s->state == TCP_LISTEN ? "%s: %s port %u" :
		 "%s: %s port %u > %s port %u",
		 s->owner[0] ? s->owner : "?",
		 show_address(local, s->family, s->local), s->local_port,
		 show_address(remote, s->family, s->remote), s->remote_port);
	return buffer;
}

static void show_one(json_t *list, const struct socket *s)
{
	char text[256];

	show_socket(text, sizeof(text), s);
	if (s->state == TCP_LISTEN)
		finding(list, FINE, "listens", NULL, "%s", text);
	else if (s->fell_back)
		finding(list, NOTE, "plain TCP", NULL,
			"%s, asked for MPTCP and fell back", text);
	else
		finding(list, FINE, "connection", NULL,
			"%s, token 0x%08" PRIx32
			", %u subflows besides the first", text, s->token,
			s->subflows);
}

static void show_mptcp(json_t *list, const struct sockets *mptcp)
{
	unsigned int conns = 0, listeners = 0;
	size_t i;

	for (i = 0; i < mptcp->count; i++) {
		if (mptcp->at[i].state == TCP_LISTEN)
			listeners++;
		else if (!mptcp->at[i].fell_back)
			conns++;
	}
	finding(list, FINE, "sockets", NULL,
		"%u MPTCP connections, %u that listen%s", conns, listeners,
		mptcp->all ? "" : ", and more");
	for (i = 0; i < mptcp->count && i < SHOWN_MAX; i++)
		show_one(list, &mptcp->at[i]);
	if (i < mptcp->count)
		finding(list, NOTE, "sockets", "ss -Mni shows all",
			"%zu more are not shown", mptcp->count - i);
}

static void show_plain(json_t *list, const struct sockets *mptcp,
		       const struct sockets *tcp)
{
	unsigned int plain = 0;
	char text[256];
	size_t i;

	for (i = 0; i < tcp->count; i++) {
		const struct socket *s = &tcp->at[i];

		if (s->over_mptcp || !listens(mptcp, s->local_port) ||
		    plain++ >= SHOWN_MAX)
			continue;
		finding(list, NOTE, "plain TCP", NULL,
			"%s, of a client that didn't ask for MPTCP, or a "
			"middlebox stripped it",
			show_socket(text, sizeof(text), s));
	}
	if (plain > SHOWN_MAX)
		finding(list, NOTE, "plain TCP", NULL, "%u more are not shown",
			plain - SHOWN_MAX);
}

void look_at_sockets(json_t *list)
{
	const uint32_t open = 1 << TCP_ESTABLISHED | 1 << TCP_CLOSE_WAIT;
	struct sockets mptcp, tcp = { };
	int err;

	err = list_sockets(&mptcp, IPPROTO_MPTCP, open | 1 << TCP_LISTEN);
	if (!err)
		err = list_sockets(&tcp, IPPROTO_TCP, open);
	if (err) {
		finding(list, NOTE, "sockets",
			"modprobe -a mptcp_diag tcp_diag",
			"the sockets can't be listed: %s", nl_geterror(err));
	} else {
		find_owners(&mptcp, &tcp);
		show_mptcp(list, &mptcp);
		show_plain(list, &mptcp, &tcp);
	}
	free(mptcp.at);
	free(tcp.at);
}
