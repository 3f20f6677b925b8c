// SPDX-License-Identifier: GPL-2.0
/*
 * target - a server that is reported to: the session, and the way there
 *
 * The session is drawn at random when the target is made, and the counter only
 * goes up: no nonce comes twice. A challenge is taken only if it answers a
 * report that is newer than those of the challenges before, so a recorded one
 * is worth nothing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>
#include <jansson.h>
#include <sodium.h>

#include "pamsd.h"

struct target {
	const struct target_config *config;
	struct report_keys keys;
	struct link **via;	/* as configured */
	int fd;
	struct event *event;
	void (*challenged)(struct target *target, void *arg);
	void *arg;
	uint8_t session[REPORT_SESSION_BYTES];
	uint8_t cookie[REPORT_COOKIE_BYTES];
	uint64_t counter;	/* of the last report */
	uint64_t answered;	/* counter that the last challenge answered */
	struct unanswered *unanswered;
	int error;		/* of sending, the last one said */
	uint64_t sent, challenges, dropped, errors;
};

static void receive(evutil_socket_t fd, short what, void *arg)
{
	struct report_challenge challenge;
	struct report_header header;
	struct target *target = arg;
	uint8_t buf[REPORT_CHALLENGE_BYTES + 1];
	ssize_t len;

	(void)what;
	len = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);
	if (len < 0)
		return;
	if (report_peek(buf, len, &header) ||
	    header.type != REPORT_TYPE_CHALLENGE ||
	    memcmp(header.id, target->keys.id, REPORT_ID_BYTES) ||
	    report_open_challenge(buf, len, &target->keys, &challenge) ||
	    memcmp(challenge.session, target->session, REPORT_SESSION_BYTES) ||
	    challenge.counter <= target->answered ||
	    challenge.counter > target->counter) {
		target->dropped++;
		return;
	}
	target->challenges++;
	unanswered_heard(target->unanswered);
	target->answered = challenge.counter;
	/* A second answer to the same question changes nothing. */
	if (!memcmp(target->cookie, challenge.cookie, REPORT_COOKIE_BYTES))
		return;
	memcpy(target->cookie, challenge.cookie, REPORT_COOKIE_BYTES);
	target->challenged(target, target->arg);
}

/* The one that carried data last: no radio is woken for a report. */
static const struct link *best_of(const struct target *target)
{
	const struct link *best = NULL;

	for (unsigned int i = 0; i < target->config->via_count; i++) {
		const struct link *link = target->via[i];

		if (link->up && (!best || link->moved_us > best->moved_us))
			best = link;
	}
	return best;
}

bool target_reached(const struct target *target, const struct link *link)
{
	return target->config->address.sa.sa_family == AF_INET ?
	       link->has_address4 : link->has_address6;
}

/*
 * Leave through that link, with its address, which routing by source address
 * needs. Where it has none of the family: as routing will have it.
 */
static ssize_t send_through(const struct target *target, const uint8_t *buf,
			    size_t len, const struct link *link)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(struct in6_pktinfo))];
	} control = { };
	struct iovec iov = { .iov_base = (void *)buf, .iov_len = len };
	struct msghdr msg = {
		.msg_name = (void *)&target->config->address,
		.msg_namelen = address_len(&target->config->address),
		.msg_iov = &iov,
		.msg_iovlen = 1,
	};
	bool v4 = target->config->address.sa.sa_family == AF_INET;
	struct in_pktinfo info = { };
	struct in6_pktinfo info6 = { };
	struct cmsghdr *cmsg;

	if (link && target_reached(target, link)) {
		msg.msg_control = control.space;
		msg.msg_controllen = CMSG_SPACE(v4 ? sizeof(info) :
						     sizeof(info6));
		cmsg = CMSG_FIRSTHDR(&msg);
		cmsg->cmsg_level = v4 ? IPPROTO_IP : IPPROTO_IPV6;
		cmsg->cmsg_type = v4 ? IP_PKTINFO : IPV6_PKTINFO;
		cmsg->cmsg_len = CMSG_LEN(v4 ? sizeof(info) : sizeof(info6));
		info.ipi_ifindex = link->ifindex;
		info.ipi_spec_dst = link->address4;
		info6.ipi6_ifindex = link->ifindex;
		info6.ipi6_addr = link->address6;
		memcpy(CMSG_DATA(cmsg), v4 ? (void *)&info : (void *)&info6,
		       v4 ? sizeof(info) : sizeof(info6));
	}
	return sendmsg(target->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void target_send(struct target *target, struct report *report,
		 const struct link *through)
{
	uint8_t buf[REPORT_BYTES_MAX];
	char text[ADDRESS_TEXT];
	size_t len;

	memcpy(report->cookie, target->cookie, REPORT_COOKIE_BYTES);
	len = report_seal(buf, &target->keys, target->session,
			  ++target->counter, report);
	if (send_through(target, buf, len, through ?: best_of(target)) >= 0) {
		target->sent++;
		target->error = 0;
		if (!target->challenges)
			unanswered_sent(target->unanswered);
		return;
	}
	target->errors++;
	if (errno == target->error || errno == EAGAIN)
		return;
	target->error = errno;
	say("can't report to '%s' at %s: %s", target->config->name,
	    address_text(text, &target->config->address), strerror(errno));
}

struct target *target_new(struct event_base *base,
			  const struct target_config *config,
			  struct links *links,
			  void (*challenged)(struct target *target, void *arg),
			  void *arg)
{
	struct target *target = calloc(1, sizeof(*target));

	if (!target)
		return NULL;
	target->config = config;
	target->challenged = challenged;
	target->arg = arg;
	target->fd = socket(config->address.sa.sa_family,
			    SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	target->unanswered = unanswered_new(base, config->name,
					    &config->address);
	target->via = calloc(config->via_count + 1, sizeof(*target->via));
	if (target->fd < 0 || !target->via || !target->unanswered ||
	    report_keys_derive(&target->keys, config->key)) {
		say("can't report to '%s': %s", config->name, strerror(errno));
		goto fail;
	}
	randombytes_buf(target->session, sizeof(target->session));
	for (unsigned int i = 0; i < config->via_count; i++) {
		target->via[i] = links_watch(links, config->via[i]);
		if (!target->via[i])
			goto fail;
	}
	target->event = event_new(base, target->fd, EV_READ | EV_PERSIST,
				  receive, target);
	if (target->event && !event_add(target->event, NULL))
		return target;
fail:
	target_free(target);
	return NULL;
}

void target_free(struct target *target)
{
	if (!target)
		return;
	if (target->event)
		event_free(target->event);
	if (target->fd >= 0)
		close(target->fd);
	unanswered_free(target->unanswered);
	free(target->via);
	sodium_memzero(target, sizeof(*target));
	free(target);
}

json_t *target_status(const struct target *target)
{
	char text[ADDRESS_TEXT];

	return json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I}",
			 "name", target->config->name, "address",
			 address_text(text, &target->config->address),
			 "sent", (json_int_t)target->sent,
			 "challenges", (json_int_t)target->challenges,
			 "dropped", (json_int_t)target->dropped,
			 "errors", (json_int_t)target->errors,
			 "unanswered_ms",
			 (json_int_t)unanswered_ms(target->unanswered));
}
