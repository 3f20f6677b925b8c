// SPDX-License-Identifier: GPL-2.0
/*
 * filter - a BPF filter that drops datagrams which no peer can have sent
 *
 * Such datagrams then don't cost the daemon anything. A classic BPF program on
 * the server's sockets compares the magic and the first half of the key id. That
 * is enough: who doesn't know an id guesses one half with probability 2^-32. Other
 * versions of the protocol pass, so that peer.c can log that a peer speaks one.
 * peer.c checks all datagrams that pass.
 *
 * For BPF the datagram begins with the UDP header.
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

/* Each peer takes two instructions. With more peers the filter checks only the magic. */
#define PEERS_MAX	((BPF_MAXINSNS - 8) / 2)

static uint32_t first_half(const uint8_t *id)
{
	return (uint32_t)id[0] << 24 | id[1] << 16 | id[2] << 8 | id[3];
}

void filter_attach(int fd, const struct peers *peers)
{
	const struct sock_filter magic[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, MAGIC_AT),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MAGIC, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, 0),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ID_AT),
	};
	unsigned int count = peers_count(peers);
	struct sock_filter *code, *at;
	struct sock_fprog program;

	code = calloc(ARRAY_SIZE(magic) + 2 * count + 1, sizeof(*code));
	if (!code)
		return;
	memcpy(code, magic, sizeof(magic));
	at = code + ARRAY_SIZE(magic);
	for (unsigned int i = 0; i < count && count <= PEERS_MAX; i++) {
		const uint32_t id = first_half(peers_id(peers, i));

		*at++ = (struct sock_filter)
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, id, 0, 1);
		*at++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, PASS);
	}
	*at++ = (struct sock_filter)
		BPF_STMT(BPF_RET | BPF_K, count <= PEERS_MAX ? 0 : PASS);
	program.len = at - code;
	program.filter = code;
	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program,
		       sizeof(program)))
		say("the kernel doesn't filter a flood of datagrams: %s",
		    strerror(errno));
	free(code);
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
