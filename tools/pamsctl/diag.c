// SPDX-License-Identifier: GPL-2.0
/*
 * diag - MPTCP sockets, connections that fell back to TCP, datagrams, and their processes
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
#include <sys/syscall.h>
#include <unistd.h>

#include <netlink/attr.h>
#include <netlink/netlink.h>

#include <linux/mptcp.h>

#include "pamsctl.h"
#include "sockdiag.h"

#define SHOWN_MAX	20	/* sockets shown of each kind */
#define SOCKETS_MAX	65536	/* sockets read of each protocol */
#define HTTPS		443

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
	int pid, fd;		/* the owner's; 0: none */
	char scheduler[PAMS_SCHEDULER_MAX];	/* of one that listens; "": not known */
};

struct sockets {
	uint32_t protocol;
	struct socket *at;
	size_t count;
	bool all;		/* false: there are more than SOCKETS_MAX */
};

/* --- listing the sockets --- */

static void on_socket(const struct sockdiag *found, void *arg)
{
	struct sockets *sockets = arg;
	struct mptcp_info info = { };
	struct socket *s;

	if (sockets->count == SOCKETS_MAX) {
		sockets->all = false;
		return;
	}
	s = reallocarray(sockets->at, sockets->count + 1, sizeof(*s));
	if (!s)
		return;
	sockets->at = s;
	s += sockets->count++;

	memset(s, 0, sizeof(*s));
	s->family = found->family;
	s->state = found->state;
	memcpy(s->local, found->local, sizeof(s->local));
	memcpy(s->remote, found->remote, sizeof(s->remote));
	s->local_port = found->local_port;
	s->remote_port = found->remote_port;
	s->inode = found->inode;
	if (found->info && sockets->protocol == IPPROTO_MPTCP) {
		nla_memcpy(&info, found->info, sizeof(info));
		s->token = info.mptcpi_token;
		s->subflows = info.mptcpi_subflows;
		s->fell_back = info.mptcpi_flags & MPTCP_INFO_FLAG_FALLBACK;
	}
	s->over_mptcp = sockdiag_is_mptcp(found->ulp);
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
	err = nl_connect(sock, NETLINK_SOCK_DIAG);
	if (!err)
		err = sockdiag_dump(sock, protocol, states, NULL, 0, on_socket, sockets);
	nl_socket_free(sock);
	return err;
}

/* --- owners --- */

static void set_owner(struct sockets *sockets, uint32_t inode, const char *pid, const char *fd)
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
		snprintf(s->owner, sizeof(s->owner), "%s[%.16s]", show_utf8(name), pid);
		s->pid = atoi(pid);
		s->fd = atoi(fd);
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
		set_owner(mptcp, inode, pid, entry->d_name);
		set_owner(tcp, inode, pid, entry->d_name);
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

/* --- schedulers --- */

/* The process's socket, as a file descriptor here; -1 if that isn't permitted. */
static int borrow(int pid, int fd)
{
	int process = syscall(SYS_pidfd_open, pid, 0), here;

	if (process < 0)
		return -1;
	here = syscall(SYS_pidfd_getfd, process, fd, 0);
	close(process);
	return here;
}

/*
 * Those of the sockets that listen, from the module: the connections that a listening socket
 * accepts get its scheduler, and it has the one that was chosen when it was made.
 */
static void find_schedulers(struct sockets *mptcp)
{
	struct pams_nl *nl = NULL;
	bool ask = !pams_nl_open(&nl);
	size_t i;
	int fd;

	for (i = 0; ask && i < mptcp->count; i++) {
		struct socket *s = &mptcp->at[i];

		if (s->state != TCP_LISTEN || !s->pid)
			continue;
		fd = borrow(s->pid, s->fd);
		if (fd < 0)
			continue;
		if (pams_nl_sched_of(nl, fd, s->scheduler))
			s->scheduler[0] = 0;
		close(fd);
	}
	pams_nl_close(nl);
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

/* A service that is told to reload keeps its listening sockets. */
static void show_listener(json_t *list, const struct socket *s, const char *text)
{
	char chosen[SCHEDULERS_MAX] = "";

	scheduler_chosen(chosen, sizeof(chosen));
	if (!s->scheduler[0])
		finding(list, FINE, "listens", NULL, "%s", text);
	else if (!strcmp(s->scheduler, chosen))
		finding(list, FINE, "listens", NULL, "%s, with %s", text, s->scheduler);
	else
		finding(list, NOTE, "listens",
			"restart it, a reload won't do: pamsctl up --server --restart",
			"%s, with %s, and so all that it accepts: it is older than the choice of "
			"%s", text, s->scheduler, chosen);
}

static void show_one(json_t *list, const struct socket *s)
{
	char text[256];

	show_socket(text, sizeof(text), s);
	if (s->state == TCP_LISTEN)
		show_listener(list, s, text);
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
		find_schedulers(&mptcp);
		show_mptcp(list, &mptcp);
		show_plain(list, &mptcp, &tcp);
	}
	free(mptcp.at);
	free(tcp.at);
}

/* --- UDP --- */

/* An address as /proc/net/udp has it: words in the machine's order. */
static void read_address(const char *text, uint8_t bytes[16])
{
	unsigned int word;

	for (size_t i = 0; i < 16 && sscanf(text + 2 * i, "%8x", &word) == 1; i += 4)
		memcpy(bytes + i, &word, 4);
}

static bool read_datagram(const char *line, int family, struct socket *s)
{
	unsigned int local_port, remote_port, state;
	char local[33], remote[33];

	memset(s, 0, sizeof(*s));
	if (sscanf(line, " %*d: %32[0-9A-F]:%x %32[0-9A-F]:%x %x %*s %*s %*s %*d %*d %" SCNu32,
		   local, &local_port, remote, &remote_port, &state, &s->inode) != 6)
		return false;
	read_address(local, s->local);
	read_address(remote, s->remote);
	s->family = family;
	s->state = state;
	s->local_port = local_port;
	s->remote_port = remote_port;
	sockdiag_unmap(&s->family, s->local);
	family = AF_INET6;
	sockdiag_unmap(&family, s->remote);
	return true;
}

static void list_datagrams(struct sockets *udp, const char *file, int family)
{
	FILE *f = fopen(file, "r");
	char line[512];
	struct socket *s;

	while (f && udp->count < SOCKETS_MAX && fgets(line, sizeof(line), f)) {
		s = reallocarray(udp->at, udp->count + 1, sizeof(*s));
		if (!s)
			break;
		udp->at = s;
		udp->count += read_datagram(line, family, &s[udp->count]);
	}
	if (f)
		fclose(f);
}

static bool is_here(const struct socket *s)
{
	static const uint8_t one[16] = { [15] = 1 };

	return s->remote[0] == 127 || !memcmp(s->remote, one, sizeof(one));
}

/* Of both kinds one socket is named, and the others counted. */
static void show_datagrams(json_t *list, const struct sockets *udp, const struct sockets *mptcp)
{
	const struct socket *asks = NULL, *serves = NULL;
	unsigned int asking = 0, serving = 0;
	char text[256];

	for (size_t i = 0; i < udp->count; i++) {
		const struct socket *s = &udp->at[i];

		if (s->remote_port == HTTPS && !is_here(s)) {
			asks = s;
			asking++;
		} else if (!s->remote_port && listens(mptcp, s->local_port)) {
			serves = s;
			serving++;
		}
	}
	if (asks)
		finding(list, NOTE, "past MPTCP", "switch QUIC (HTTP/3) off in the program; or nft "
			"'table inet noquic { chain out { type filter hook output priority 0; udp "
			"dport 443 reject; }; }'",
			"%u UDP sockets go to port 443, as QUIC does, over one link: %s", asking,
			show_socket(text, sizeof(text), asks));
	if (serves)
		finding(list, NOTE, "past MPTCP", "leave QUIC (HTTP/3) out for clients of several "
			"links",
			"%s listens with UDP on port %u, too: clients that choose QUIC go past MPTCP",
			serves->owner[0] ? serves->owner : "?", serves->local_port);
	if (serving > 1)
		finding(list, NOTE, "past MPTCP", NULL, "%u more of those are not shown",
			serving - 1);
}

/* QUIC carries HTTP/3 over UDP, which knows nothing of MPTCP. */
void look_at_datagrams(json_t *list)
{
	struct sockets mptcp, udp = { };

	list_datagrams(&udp, "/proc/net/udp", AF_INET);
	list_datagrams(&udp, "/proc/net/udp6", AF_INET6);
	if (!list_sockets(&mptcp, IPPROTO_MPTCP, 1 << TCP_LISTEN)) {
		find_owners(&mptcp, &udp);
		show_datagrams(list, &udp, &mptcp);
	}
	free(mptcp.at);
	free(udp.at);
}

/* --- for other commands --- */

static void tell_listeners(const struct sockets *sockets, bool mptcp, listener_fn fn, void *arg)
{
	for (size_t i = 0; i < sockets->count; i++) {
		const struct socket *s = &sockets->at[i];
		struct listener one = { .mptcp = mptcp, .family = s->family,
					.port = s->local_port };

		if (s->over_mptcp || !s->pid)
			continue;
		memcpy(one.address, s->local, sizeof(one.address));
		one.pid = s->pid;
		snprintf(one.name, sizeof(one.name), "%.*s",
			 (int)(strrchr(s->owner, '[') - s->owner), s->owner);
		memcpy(one.scheduler, s->scheduler, sizeof(one.scheduler));
		fn(&one, arg);
	}
}

int each_listener(listener_fn fn, void *arg)
{
	struct sockets mptcp, tcp = { };
	int err;

	err = list_sockets(&mptcp, IPPROTO_MPTCP, 1 << TCP_LISTEN);
	if (!err)
		err = list_sockets(&tcp, IPPROTO_TCP, 1 << TCP_LISTEN);
	if (!err) {
		find_owners(&mptcp, &tcp);
		find_schedulers(&mptcp);
		tell_listeners(&mptcp, true, fn, arg);
		tell_listeners(&tcp, false, fn, arg);
	}
	free(mptcp.at);
	free(tcp.at);
	return err;
}
