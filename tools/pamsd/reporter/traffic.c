// SPDX-License-Identifier: GPL-2.0
/*
 * traffic - waits for the first packet after a silence
 *
 * The kernel doesn't notify of changed counters: to notice that data flows again, they
 * would have to be read all the time. A packet socket wakes the daemon instead. While
 * data flows, the socket receives nothing, so that the kernel copies no packets for it.
 *
 * Opening the socket needs CAP_NET_RAW, using it needs no privilege. So it is opened
 * once, before privileges are dropped, and stays open.
 */
#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "links.h"

/* Shorter packets are acknowledgments, DNS lookups, keep-alives, ARP. */
#define DATA_BYTES	256
/* Nobody uses this protocol, so a socket that is bound to it receives nothing. */
#define NO_PROTOCOL	ETH_P_LOOP
#define FILTER_MAX	(TRAFFIC_MAX + 5)

static int packets = -1;
static struct event *event;
static void (*seen)(void *arg);

void traffic_open(void)
{
	packets = socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
			 0);
}

void traffic_close(void)
{
	if (packets >= 0)
		close(packets);
	packets = -1;
}

static int receive_only(uint16_t protocol)
{
	struct sockaddr_ll address = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(protocol),
	};

	return bind(packets, (struct sockaddr *)&address, sizeof(address));
}

/* Receive one byte of each packet of at least DATA_BYTES on these interfaces. */
static int set_filter(const unsigned int *ifindexes, unsigned int count)
{
	struct sock_filter code[FILTER_MAX] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, DATA_BYTES, 0, count + 1),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 SKF_AD_OFF + SKF_AD_IFINDEX),
	};
	struct sock_fprog program = { .len = count + 5, .filter = code };

	for (unsigned int i = 0; i < count; i++)
		code[i + 3] = (struct sock_filter)
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ifindexes[i],
				 count - i, 0);
	code[count + 3] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0);
	code[count + 4] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 1);
	return setsockopt(packets, SOL_SOCKET, SO_ATTACH_FILTER, &program,
			  sizeof(program));
}

static void discard(void)
{
	char byte;

	while (recv(packets, &byte, sizeof(byte), 0) >= 0)
		;
}

static void on_packet(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	traffic_ignore();
	seen(arg);
}

bool traffic_await(struct event_base *base, const unsigned int *ifindexes,
		   unsigned int count, void (*on_traffic)(void *arg),
		   void *arg)
{
	if (packets < 0)
		return false;
	traffic_ignore();
	seen = on_traffic;
	event = event_new(base, packets, EV_READ, on_packet, arg);
	if (event && !set_filter(ifindexes, count) &&
	    !receive_only(ETH_P_ALL) && !event_add(event, NULL))
		return true;
	traffic_ignore();
	return false;
}

void traffic_ignore(void)
{
	if (!event)
		return;
	event_free(event);
	event = NULL;
	receive_only(NO_PROTOCOL);
	discard();
}
