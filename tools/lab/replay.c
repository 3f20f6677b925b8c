// SPDX-License-Identifier: GPL-2.0
/*
 * replay - forward frames when a recording of a link says that one could be sent
 *
 *	replay IN OUT RECORDING FROM_US PACKETS BYTES
 *
 * What IN receives waits in a queue, of PACKETS at most and of BYTES at most (0: any
 * number), which drops what doesn't fit. A line of RECORDING is "MS [COUNT]": at MS
 * milliseconds from its start there are COUNT opportunities (1) to send 1500 bytes of IP,
 * as mahimahi's mm-link has them: a packet may take part of one or several, and what isn't
 * used when it is there is lost. The last line's time is the recording's length; then it
 * begins again. It begins FROM_US microseconds after its start, and does so again at each
 * SIGHUP. OUT delays: that is its own queue's matter.
 *
 * Checksums that a sender leaves to its device stay left to it (PACKET_VNET_HDR). The program
 * goes to the background once it forwards, and prints its process id before. It sleeps till
 * the next opportunity while something waits, else till something comes: in virtual time
 * idle links cost nothing. Exit code of the foreground: 0, or 1 and a message.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define OPPORTUNITY_BYTES	1500
#define SOCKET_BYTES		(64 << 20)
#define NS_PER_MS		1000000LL
#define NS_PER_S		1000000000LL

/* A virtio_net_hdr, and the frame. */
struct packet {
	struct packet *next;
	size_t len;
	unsigned char bytes[];
};

struct opportunity {
	long long at_ns;
	long long bytes;
};

static struct opportunity *recording;
static size_t opportunities, next_one;
static long long begun_ns;	/* when the recording's start was, or would have been */

static struct packet *first, **last = &first;
static size_t packets, packets_max, bytes, bytes_max;
static size_t sent_of_first;

static int in, out;
static volatile sig_atomic_t again;

static void fail(const char *what)
{
	fprintf(stderr, "replay: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void hangup(int sig)
{
	(void)sig;
	again = 1;
}

static long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static void add(long long ms, long long count)
{
	static size_t room;

	if (opportunities == room) {
		room = room ? 2 * room : 4096;
		recording = realloc(recording, room * sizeof(*recording));
		if (!recording)
			fail("recording");
	}
	recording[opportunities].at_ns = ms * NS_PER_MS;
	recording[opportunities++].bytes = count * OPPORTUNITY_BYTES;
}

static void read_recording(const char *name)
{
	long long ms, before = 0, count;
	FILE *lines = fopen(name, "r");
	char line[64], *end;

	if (!lines)
		fail(name);
	while (fgets(line, sizeof(line), lines)) {
		ms = strtoll(line, &end, 10);
		count = *end == ' ' ? strtoll(end, NULL, 10) : 1;
		if (end == line || ms < before || count < 0) {
			errno = EINVAL;
			fail(name);
		}
		add(ms, count);
		before = ms;
	}
	fclose(lines);
	if (!before) {
		errno = ENODATA;
		fail(name);
	}
}

static long long due_ns(void)
{
	return begun_ns + recording[next_one].at_ns;
}

static void pass_one(void)
{
	if (++next_one < opportunities)
		return;
	next_one = 0;
	begun_ns += recording[opportunities - 1].at_ns;
}

/* An empty queue leaves opportunities unused. */
static void pass_until(long long ns)
{
	while (due_ns() <= ns)
		pass_one();
}

static void begin(long long from_ns)
{
	begun_ns = now_ns() - from_ns % recording[opportunities - 1].at_ns;
	next_one = 0;
}

static int packet_socket(const char *interface, int protocol)
{
	struct sockaddr_ll address = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(protocol),
		.sll_ifindex = if_nametoindex(interface),
	};
	int fd = socket(AF_PACKET, SOCK_RAW, 0), on = 1, size = SOCKET_BYTES;

	if (fd < 0 || !address.sll_ifindex ||
	    setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof(on)) ||
	    setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) ||
	    bind(fd, (struct sockaddr *)&address, sizeof(address)))
		fail(interface);
	return fd;
}

/* Bytes of IP. */
static size_t size_of(const struct packet *packet)
{
	return packet->len - sizeof(struct virtio_net_hdr) - ETH_HLEN;
}

static void enqueue(const unsigned char *from, size_t len)
{
	struct packet *packet;
	size_t size = len - sizeof(struct virtio_net_hdr) - ETH_HLEN;

	if ((packets_max && packets >= packets_max) ||
	    (bytes_max && bytes + size > bytes_max))
		return;
	packet = malloc(sizeof(*packet) + len);
	if (!packet)
		fail("packet");
	packet->next = NULL;
	packet->len = len;
	memcpy(packet->bytes, from, len);
	if (!first)
		pass_until(now_ns());
	*last = packet;
	last = &packet->next;
	packets++;
	bytes += size;
}

/* All that has come. */
static void take(void)
{
	static unsigned char buffer[1 << 17];
	ssize_t len;

	for (;;) {
		len = recv(in, buffer, sizeof(buffer), MSG_DONTWAIT);
		if (len > (ssize_t)(sizeof(struct virtio_net_hdr) + ETH_HLEN))
			enqueue(buffer, len);
		else if (len < 0 && errno == EAGAIN)
			return;
		else if (len < 0 && errno != EINTR && errno != ENETDOWN)
			fail("recv");
	}
}

/* A device that can't take it loses it. */
static void send_first(void)
{
	struct packet *packet = first;

	send(out, packet->bytes, packet->len, 0);
	packets--;
	bytes -= size_of(packet);
	sent_of_first = 0;
	first = packet->next;
	if (!first)
		last = &first;
	free(packet);
}

/* All that was due by now. */
static void release(void)
{
	long long now = now_ns(), may;
	size_t left;

	for (; first && due_ns() <= now; pass_one()) {
		may = recording[next_one].bytes;
		while (first && may > 0) {
			left = size_of(first) - sent_of_first;
			if ((long long)left > may) {
				sent_of_first += may;
				break;
			}
			may -= left;
			send_first();
		}
	}
}

static void forward(long long from_ns, const sigset_t *unblocked)
{
	struct pollfd poll_of = { .fd = in, .events = POLLIN };
	struct timespec wait;
	long long ns;

	for (;;) {
		if (again) {
			again = 0;
			begin(from_ns);
			pass_until(now_ns());
		}
		ns = first ? due_ns() - now_ns() : 0;
		ns = ns < 0 ? 0 : ns;
		wait.tv_sec = ns / NS_PER_S;
		wait.tv_nsec = ns % NS_PER_S;
		ppoll(&poll_of, 1, first ? &wait : NULL, unblocked);
		release();
		take();
	}
}

int main(int argc, char **argv)
{
	struct sigaction act = { .sa_handler = hangup };
	sigset_t blocked, unblocked;
	long long from_ns;
	pid_t child;

	if (argc != 7) {
		fputs("usage: replay IN OUT RECORDING FROM_US PACKETS BYTES\n",
		      stderr);
		return 1;
	}
	read_recording(argv[3]);
	from_ns = strtoll(argv[4], NULL, 10) * 1000;
	packets_max = strtoul(argv[5], NULL, 10);
	bytes_max = strtoul(argv[6], NULL, 10);
	in = packet_socket(argv[1], ETH_P_ALL);
	out = packet_socket(argv[2], 0);
	prctl(PR_SET_TIMERSLACK, 1);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGHUP);
	sigprocmask(SIG_BLOCK, &blocked, &unblocked);
	sigaction(SIGHUP, &act, NULL);
	begin(from_ns);
	child = fork();
	if (child < 0)
		fail("fork");
	if (child) {
		printf("%d\n", child);
		return 0;
	}
	fclose(stdout);
	fclose(stderr);
	forward(from_ns, &unblocked);
}
