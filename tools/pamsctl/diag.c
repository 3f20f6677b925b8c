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
#include <sys/syscall.h>
#include <unistd.h>

#include <netlink/attr.h>
#include <netlink/netlink.h>

#include <linux/mptcp.h>

#include "pamsctl.h"
#include "sockdiag.h"

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
		snprintf(s->owner, sizeof(s->owner), "%s[%.16s]", name, pid);
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
 * Those of the sockets that listen, from the module: the connections that a listening socket accepts
 * get its scheduler, and it has the one that was chosen when it was made.
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

/* A reload keeps a service's listening sockets, and so do other programs that are told to hand them over. */
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
