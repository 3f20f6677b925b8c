// SPDX-License-Identifier: GPL-2.0
/*
 * queue - takes packets that the kernel queues (NFQUEUE), and returns verdicts on them
 *
 * It uses libmnl. Packets come as receive offload has merged them. The verdicts on all packets
 * of a burst are sent at once; a packet that the core holds waits in the kernel for its own. The
 * kernel counts packets that it dropped because the queue was full, in a file that is opened
 * before privileges are dropped.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <libmnl/libmnl.h>
#include <libnetfilter_queue/libnetfilter_queue.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nfnetlink_queue.h>

#include "pamsplit.h"

#define BURST		32	/* packets taken at once */
#define MESSAGE_BYTES	(0xffff + 4096)
#define VERDICTS_BYTES	(128 << 10)
#define VERDICT_BYTES	128	/* of one, without a packet's data */
#define QUEUE_PACKETS	16384
#define BUFFER_BYTES	(16 << 20)
#define COUNTERS	"/proc/net/netfilter/nfnetlink_queue"

struct queue {
	struct mnl_socket *socket;
	uint16_t number;
	int counters;		/* file with the kernel's counters of all queues */
	struct raw *raw;
	size_t told;		/* bytes of verdicts that wait to be sent */
	uint8_t verdicts[VERDICTS_BYTES];
	uint8_t messages[BURST][MESSAGE_BYTES];
};

struct delivery {
	struct queue *queue;
	struct split *split;
	uint64_t now_us;
};

static int configure(struct queue *queue)
{
	const uint32_t flags = NFQA_CFG_F_GSO;
	char buffer[512];
	struct nlmsghdr *message;

	message = nfq_nlmsg_put(buffer, NFQNL_MSG_CONFIG, queue->number);
	nfq_nlmsg_cfg_put_cmd(message, AF_UNSPEC, NFQNL_CFG_CMD_BIND);
	if (mnl_socket_sendto(queue->socket, message, message->nlmsg_len) < 0)
		return -1;
	message = nfq_nlmsg_put(buffer, NFQNL_MSG_CONFIG, queue->number);
	nfq_nlmsg_cfg_put_params(message, NFQNL_COPY_PACKET, COPIED_MAX);
	nfq_nlmsg_cfg_put_qmaxlen(message, QUEUE_PACKETS);
	mnl_attr_put_u32(message, NFQA_CFG_FLAGS, htonl(flags));
	mnl_attr_put_u32(message, NFQA_CFG_MASK, htonl(flags));
	message->nlmsg_flags |= NLM_F_ACK;
	if (mnl_socket_sendto(queue->socket, message, message->nlmsg_len) < 0)
		return -1;
	if (mnl_socket_recvfrom(queue->socket, buffer, sizeof(buffer)) < 0)
		return -1;
	message = (struct nlmsghdr *)buffer;
	if (message->nlmsg_type == NLMSG_ERROR) {
		const struct nlmsgerr *error = mnl_nlmsg_get_payload(message);

		errno = -error->error;
		return error->error ? -1 : 0;
	}
	return 0;
}

struct queue *queue_new(uint16_t number, struct raw *raw)
{
	struct queue *queue = calloc(1, sizeof(*queue));
	const int size = BUFFER_BYTES, room = VERDICTS_BYTES, one = 1;

	if (!queue)
		return NULL;
	queue->number = number;
	queue->raw = raw;
	queue->counters = -1;
	queue->socket = mnl_socket_open2(NETLINK_NETFILTER, SOCK_CLOEXEC);
	if (!queue->socket ||
	    mnl_socket_bind(queue->socket, 0, MNL_SOCKET_AUTOPID) ||
	    mnl_socket_setsockopt(queue->socket, NETLINK_NO_ENOBUFS,
				  (void *)&one, sizeof(one)) ||
	    configure(queue)) {
		say("no packets from queue %u: %s", number, strerror(errno));
		queue_free(queue);
		return NULL;
	}
	queue->counters = open(COUNTERS, O_RDONLY | O_CLOEXEC);
	if (queue->counters < 0)
		say(COUNTERS ": %s", strerror(errno));
	setsockopt(queue_fd(queue), SOL_SOCKET, SO_RCVBUFFORCE, &size,
		   sizeof(size));
	/* verdicts that find no room are lost, and their packets: the default may be less */
	setsockopt(queue_fd(queue), SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room));
	return queue;
}

void queue_free(struct queue *queue)
{
	if (queue && queue->socket)
		mnl_socket_close(queue->socket);
	if (queue && queue->counters >= 0)
		close(queue->counters);
	free(queue);
}

int queue_fd(const struct queue *queue)
{
	return mnl_socket_get_fd(queue->socket);
}

/*
 * Packets that the kernel has dropped since the queue was bound, because the queue or the
 * socket's buffer was full. A line of the file has the queue's number, port and length, two
 * settings, and these two counters.
 */
uint64_t queue_overruns(const struct queue *queue)
{
	char text[4096];
	ssize_t len = pread(queue->counters, text, sizeof(text) - 1, 0);
	const char *line = text;

	text[len > 0 ? len : 0] = '\0';
	for (; line; line = strchr(line, '\n')) {
		unsigned int number, full, unread;

		line += *line == '\n';
		if (sscanf(line, "%u %*u %*u %*u %*u %u %u", &number, &full,
			   &unread) == 3 && number == queue->number)
			return (uint64_t)full + unread;
	}
	return 0;
}

static void send_verdicts(struct queue *queue)
{
	if (queue->told)
		mnl_socket_sendto(queue->socket, queue->verdicts, queue->told);
	queue->told = 0;
}

void queue_flush(struct queue *queue)
{
	send_verdicts(queue);
	raw_flush(queue->raw);
}

static void tell(struct queue *queue, uint32_t id, int verdict, uint32_t mark,
		 const uint8_t *data, size_t len)
{
	struct nlmsghdr *message;

	/* send first the packets that the core made before this one */
	if (raw_waits(queue->raw) && verdict == NF_ACCEPT)
		queue_flush(queue);
	if (queue->told + VERDICT_BYTES + len > VERDICTS_BYTES)
		send_verdicts(queue);
	message = nfq_nlmsg_put((char *)queue->verdicts + queue->told, NFQNL_MSG_VERDICT,
				queue->number);
	nfq_nlmsg_verdict_put(message, id, verdict);
	if (verdict == NF_ACCEPT)
		nfq_nlmsg_verdict_put_mark(message, mark);
	if (len)
		nfq_nlmsg_verdict_put_pkt(message, data, len);
	queue->told += NLMSG_ALIGN(message->nlmsg_len);
}

/*
 * A packet on which another program has set a mark isn't held, so the mark is known here. One that
 * goes on goes at once: packets that the core makes after it may not overtake it.
 */
void queue_let(void *arg, uint32_t id, bool send)
{
	struct queue *queue = arg;

	tell(queue, id, send ? NF_ACCEPT : NF_DROP, MARK_PASSED, NULL, 0);
	if (send)
		send_verdicts(queue);
}

static enum split_verdict ask(struct delivery *delivery, uint8_t *data,
			      size_t len, uint32_t info, uint32_t id)
{
	struct packet packet;

	if (info & NFQA_SKB_CSUM_NOTVERIFIED &&
	    !(info & NFQA_SKB_CSUMNOTREADY) &&
	    packet_read(&packet, data, len) && !packet.cut && !packet_intact(&packet))
		return SPLIT_PASS;	/* wrong checksum: the packet's target drops it */
	return split_offer(delivery->split, delivery->now_us, data, len, id);
}

static uint32_t number_of(struct nlattr *attribute)
{
	return attribute ? ntohl(mnl_attr_get_u32(attribute)) : 0;
}

static int on_packet(const struct nlmsghdr *message, void *arg)
{
	struct nlattr *attributes[NFQA_MAX + 1] = { };
	const struct nfqnl_msg_packet_hdr *header;
	struct delivery *delivery = arg;
	struct queue *queue = delivery->queue;
	uint32_t id, info, mark;
	uint8_t *data = NULL;
	size_t len = 0;

	if (nfq_nlmsg_parse(message, attributes) < 0 ||
	    !attributes[NFQA_PACKET_HDR])
		return MNL_CB_OK;
	header = mnl_attr_get_payload(attributes[NFQA_PACKET_HDR]);
	id = ntohl(header->packet_id);
	mark = (number_of(attributes[NFQA_MARK]) & ~MARK_ALL) | MARK_PASSED;
	info = number_of(attributes[NFQA_SKB_INFO]);
	if (attributes[NFQA_PAYLOAD]) {
		data = mnl_attr_get_payload(attributes[NFQA_PAYLOAD]);
		len = mnl_attr_get_payload_len(attributes[NFQA_PAYLOAD]);
	}
	switch (ask(delivery, data, len, info, mark == MARK_PASSED ? id : 0)) {
	case SPLIT_TAKEN:
		tell(queue, id, NF_DROP, 0, NULL, 0);
		break;
	case SPLIT_HELD:
		break;
	case SPLIT_CHANGED:
		tell(queue, id, NF_ACCEPT, mark, data, len);
		break;
	case SPLIT_LEAVE:
		tell(queue, id, NF_ACCEPT, mark | MARK_LEFT, NULL, 0);
		break;
	case SPLIT_PASS:
		tell(queue, id, NF_ACCEPT, mark, NULL, 0);
		break;
	case SPLIT_REFUSED:
		/* the rules answer by a reset: only the kernel can translate its addresses */
		tell(queue, id, NF_ACCEPT, mark & ~MARK_PASSED, NULL, 0);
		break;
	}
	return MNL_CB_OK;
}

int queue_take(struct queue *queue, struct split *split)
{
	struct delivery delivery = {
		.queue = queue,
		.split = split,
		.now_us = now_us(),
	};
	struct mmsghdr messages[BURST];
	struct iovec parts[BURST];
	int count, i;

	memset(messages, 0, sizeof(messages));
	for (i = 0; i < BURST; i++) {
		parts[i].iov_base = queue->messages[i];
		parts[i].iov_len = MESSAGE_BYTES;
		messages[i].msg_hdr.msg_iov = &parts[i];
		messages[i].msg_hdr.msg_iovlen = 1;
	}
	count = recvmmsg(queue_fd(queue), messages, BURST, MSG_DONTWAIT, NULL);
	if (count < 0) {
		if (errno == EAGAIN || errno == EINTR)
			return 0;
		say("the queue failed: %s", strerror(errno));
		return -1;
	}
	for (i = 0; i < count; i++)
		mnl_cb_run(queue->messages[i], messages[i].msg_len, 0, 0,
			   on_packet, &delivery);
	split_flush(split, delivery.now_us);
	queue_flush(queue);
	return 0;
}
