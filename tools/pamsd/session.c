// SPDX-License-Identifier: GPL-2.0
/*
 * session - the established sessions of a peer, and the age of a report
 *
 * A session is established once one of its reports has the cookie that this process
 * computed for the session and its source address. So nothing has to be stored across
 * a restart.
 *
 * The clocks of the two hosts aren't synchronised. For each report the difference of our
 * clock on reception and the sender's clock on sending is taken. The lowest one so far is
 * the clocks' offset plus the shortest transit time, and what a report's difference has
 * above it is the report's age. Clocks that drift or were stopped make reports look old.
 * But a report is no older than the stamp that it echoes, which is our clock's time of an
 * answer to its sender. This stamp has to prove the age of a report when a session begins,
 * and when a report looks too old.
 */
#include <stdlib.h>
#include <string.h>

#include "session.h"

#define HOUR_MS		3600000
/* Rate limits of answers to refused reports: per session, and per peer. */
#define ASKER_PS	20
#define ASKER_BURST	4
#define ASKERS_PS	500
/* After a reporter's restart, reports of its old session may still arrive for this long. */
#define TWO_MS		1000

struct session *session_find(const struct peer *peer, const uint8_t *id)
{
	for (unsigned int i = 0; i < SESSIONS_MAX; i++) {
		struct session *session = peer->sessions[i];

		if (session && !memcmp(session->id, id, REPORT_SESSION_BYTES))
			return session;
	}
	return NULL;
}

/* The secret of a session is derived from its id, so that a flood of new ids stores nothing. */
static void secret_of(const struct peer *peer, const uint8_t *id,
		      uint8_t secret[SECRET_BYTES])
{
	crypto_generichash(secret, SECRET_BYTES, id, REPORT_SESSION_BYTES,
			   peer->secret, SECRET_BYTES);
}

void session_cookie(const struct peer *peer, const struct session *session,
		    const uint8_t *id, const union address *from,
		    uint8_t cookie[REPORT_COOKIE_BYTES])
{
	uint8_t secret[SECRET_BYTES];
	struct prefix source;

	if (session)
		memcpy(secret, session->secret, SECRET_BYTES);
	else
		secret_of(peer, id, secret);
	prefix_of(&source, from);
	crypto_generichash(cookie, REPORT_COOKIE_BYTES, source.address,
			   source.len / 8, secret, SECRET_BYTES);
}

/* The index of a free place, or of the session from which no report came for the longest time. */
static unsigned int next_place(const struct peer *peer)
{
	unsigned int oldest = 0;

	for (unsigned int i = 0; i < SESSIONS_MAX; i++) {
		if (!peer->sessions[i])
			return i;
		if (peer->sessions[i]->heard_ms <
		    peer->sessions[oldest]->heard_ms)
			oldest = i;
	}
	return oldest;
}

struct session *session_replaced(const struct peer *peer)
{
	return peer->sessions[next_place(peer)];
}

/*
 * Also replaces the peer's secret. This invalidates the cookies of sessions that aren't
 * established, so that no recorded report can establish a session again.
 */
struct session *session_establish(struct peer *peer,
				  const struct report_header *header,
				  const struct report *report, uint64_t ms)
{
	struct session **place = &peer->sessions[next_place(peer)];
	struct session *session = *place ?: malloc(sizeof(*session));

	if (!session)
		return NULL;
	memset(session, 0, sizeof(*session));
	*place = session;
	memcpy(session->id, header->session, REPORT_SESSION_BYTES);
	secret_of(peer, header->session, session->secret);
	randombytes_buf(peer->secret, sizeof(peer->secret));
	session->window.top = header->counter;
	session->window.seen = ~0ULL;
	session->least_ms = (int64_t)(ms - report->sent_ms);
	session->established_ms = ms;
	peer->established++;
	return session;
}

bool session_echoes(const struct report *report, uint64_t ms)
{
	return report->echo && report->echo <= ms &&
	       ms - report->echo <= AGE_MAX_MS;
}

/*
 * The echoed stamp was made before the report was sent, so the clocks differ by at least
 * echo - sent_ms. A lower least_ms was measured before the clocks drifted: raise it.
 */
static void forget_drift(struct session *session, const struct report *report,
			 uint64_t ms)
{
	int64_t least_ms = (int64_t)(report->echo - report->sent_ms);

	if (report->echo && report->echo <= ms && least_ms > session->least_ms)
		session->least_ms = least_ms;
}

int64_t session_age(struct session *session, const struct report *report,
		    uint64_t ms)
{
	int64_t ahead_ms = (int64_t)(ms - report->sent_ms), age_ms;

	forget_drift(session, report, ms);
	/* Unsigned arithmetic, since a peer may send any sent_ms. */
	age_ms = (int64_t)(ms - report->sent_ms - (uint64_t)session->least_ms);
	if (age_ms >= 0 && age_ms <= AGE_MAX_MS)
		return age_ms;
	if (age_ms > 0 && !session_echoes(report, ms))
		return -1;
	session->least_ms = ahead_ms;
	return 0;
}

/* Find the asker of this session id, or replace the one that asked longest ago. */
static struct asker *asker_of(struct peer *peer, const uint8_t *id)
{
	struct asker *oldest = &peer->askers[0];

	for (unsigned int i = 0; i < ASKERS_MAX; i++) {
		struct asker *asker = &peer->askers[i];

		if (!memcmp(asker->session, id, REPORT_SESSION_BYTES))
			return asker;
		if (asker->asked_ms < oldest->asked_ms)
			oldest = asker;
	}
	memset(oldest, 0, sizeof(*oldest));
	memcpy(oldest->session, id, REPORT_SESSION_BYTES);
	return oldest;
}

bool session_may_ask(struct peer *peer, const uint8_t *id, uint64_t us)
{
	struct asker *asker = asker_of(peer, id);

	asker->asked_ms = us / 1000;
	return bucket_take(&asker->answers, ASKER_PS, ASKER_BURST, us) &&
	       bucket_take(&peer->answers, ASKERS_PS, ASKERS_PS, us);
}

void session_watch(struct peer *peer, const struct session *session,
		   int64_t age_ms, uint64_t ms)
{
	char one[ADDRESS_TEXT], two[ADDRESS_TEXT];

	for (unsigned int i = 0; i < SESSIONS_MAX; i++) {
		const struct session *other = peer->sessions[i];

		if (!other || other == session ||
		    other->established_ms < session->established_ms ||
		    ms - age_ms < other->established_ms + TWO_MS)
			continue;
		if (peer->two_said_ms && ms - peer->two_said_ms < HOUR_MS)
			return;
		peer->two_said_ms = ms;
		say("two reporters use the key of peer '%s', at %s and at %s: "
		    "each host needs a key of its own", peer->config->name,
		    address_text(one, &session->from),
		    address_text(two, &other->from));
		return;
	}
}
