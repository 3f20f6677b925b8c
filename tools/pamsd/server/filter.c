// SPDX-License-Identifier: GPL-2.0
/*
 * filter - BPF programs that look at datagrams before the daemon does
 *
 * One tells those of known sessions, which have a socket of their own, from others. The
 * first four bytes of a session are enough, as they are random.
 *
 * The other is a filter that drops datagrams which no peer can have sent. Such datagrams
 * then don't cost the daemon anything. It is mark.c's, or, where that can't be loaded, a
 * classic BPF program that compares the magic and the first half of the key id. Who doesn't
 * know an id guesses one half with probability 2^-32. Other versions of the protocol pass
 * this one, so that peer.c can log that a peer speaks one. peer.c checks all datagrams that
 * pass.
 *
 * For the filter the datagram begins with the UDP header, for the other program after it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/filter.h>
#include <linux/sock_diag.h>

#include "peers.h"

#define UDP_HEADER	8
#define MAGIC_AT	(UDP_HEADER + 0)
#define ID_AT		(UDP_HEADER + 8)
#define MAGIC		0x50414d53	/* "PAMS" */
#define PASS		0xffffffff
#define SESSION_AT	16
/* The kernel takes no longer program: net.core.optmem_max was 20480 bytes for long. */
#define SESSIONS_MOST	1000

/* Each peer takes two instructions. With more peers the filter checks only the magic. */
#define PEERS_MAX	((BPF_MAXINSNS - 8) / 2)

static uint32_t first_bytes(const uint8_t *id)
{
	return (uint32_t)id[0] << 24 | id[1] << 16 | id[2] << 8 | id[3];
}

/* If what was loaded are these bytes, return that. */
static struct sock_filter *add_case(struct sock_filter *at, uint32_t bytes, uint32_t that)
{
	*at++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, bytes, 0, 1);
	*at++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, that);
	return at;
}

/* Returns 0 or -errno. */
static int attach(int fd, int option, struct sock_filter *code, const struct sock_filter *end)
{
	struct sock_fprog program = { .len = end - code, .filter = code };

	return setsockopt(fd, SOL_SOCKET, option, &program, sizeof(program)) ? -errno : 0;
}

void filter_attach(int fd, const struct peers *peers, bool marks)
{
	const struct sock_filter magic[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, MAGIC_AT),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MAGIC, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, 0),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ID_AT),
	};
	unsigned int count = peers_count(peers);
	struct sock_filter *code, *at;
	int program = marks_program(), err;

	if (marks && !setsockopt(fd, SOL_SOCKET, SO_ATTACH_BPF, &program, sizeof(program)))
		return;
	code = calloc(ARRAY_SIZE(magic) + 2 * count + 1, sizeof(*code));
	if (!code)
		return;
	memcpy(code, magic, sizeof(magic));
	at = code + ARRAY_SIZE(magic);
	for (unsigned int i = 0; i < count && count <= PEERS_MAX; i++)
		at = add_case(at, first_bytes(peers_keys(peers, i)->id), PASS);
	*at++ = (struct sock_filter)
		BPF_STMT(BPF_RET | BPF_K, count <= PEERS_MAX ? 0 : PASS);
	err = attach(fd, SO_ATTACH_FILTER, code, at);
	if (err)
		say("the kernel doesn't filter a flood of datagrams: %s", strerror(-err));
	free(code);
}

int filter_steer(int fd, const struct peers *peers)
{
	static struct sock_filter code[2 + 2 * SESSIONS_MOST];
	const uint8_t *ids[SESSIONS_MOST];
	unsigned int count = peers_sessions(peers, ids, SESSIONS_MOST);
	struct sock_filter *at = code;

	*at++ = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, SESSION_AT);
	for (unsigned int i = 0; i < count; i++)
		at = add_case(at, first_bytes(ids[i]), 1);
	*at++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0);
	return attach(fd, SO_ATTACH_REUSEPORT_CBPF, code, at);
}

void filter_detach(int fd)
{
	int unused = 0;

	setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof(unused));
}

uint32_t filter_drops(int fd)
{
	uint32_t info[SK_MEMINFO_VARS] = { };
	socklen_t len = sizeof(info);

	getsockopt(fd, SOL_SOCKET, SO_MEMINFO, info, &len);
	return info[SK_MEMINFO_DROPS];
}
