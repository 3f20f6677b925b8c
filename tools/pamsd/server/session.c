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
/* Limit of answers to a peer's refused reports. */
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

bool session_overtook(int64_t other_ms, int64_t sent_ms)
{
	return other_ms > sent_ms && other_ms - sent_ms <= AGE_MAX_MS;
}

/* --- reports that were refused --- */

/* The places where this session may be. Its id is random, so it is its own hash. */
static struct asker *places_of(const struct askers *askers, const uint8_t *id)
{
	uint16_t hash;

	memcpy(&hash, id, sizeof(hash));
	return &askers->list[hash % askers->groups * ASKERS_PLACES];
}

static struct asker *asker_find(const struct askers *askers, const uint8_t *id)
{
	struct asker *places;

	if (!askers->groups)
		return NULL;
	places = places_of(askers, id);
	for (unsigned int i = 0; i < ASKERS_PLACES; i++)
		if (!memcmp(places[i].session, id, REPORT_SESSION_BYTES))
			return &places[i];
	return NULL;
}

/* A place for this session: one that is free, or else of the session that asked longest ago. */
static struct asker *place_for(const struct askers *askers, const uint8_t *id)
{
	struct asker *places = places_of(askers, id), *oldest = places;

	for (unsigned int i = 1; i < ASKERS_PLACES; i++)
		if (places[i].asked_ms < oldest->asked_ms)
			oldest = &places[i];
	return oldest;
}

/* Twice as many groups of places: each group's sessions go to two of them. */
static void grow(struct askers *askers)
{
	struct askers grown = { .groups = askers->groups * 2 ?: 1 };

	grown.list = calloc(grown.groups * ASKERS_PLACES, sizeof(*grown.list));
	if (!grown.list)
		return;
	for (unsigned int i = 0; i < askers->groups * ASKERS_PLACES; i++)
		if (askers->list[i].asked_ms)
			*place_for(&grown, askers->list[i].session) = askers->list[i];
	free(askers->list);
	*askers = grown;
}

static void asker_add(struct askers *askers, const struct report_header *header,
		      uint64_t ms)
{
	struct asker *place;

	while (askers->groups < ASKERS_GROUPS_MAX &&
	       (!askers->groups || place_for(askers, header->session)->asked_ms)) {
		unsigned int groups = askers->groups;

		grow(askers);
		if (askers->groups == groups)
			break;
	}
	if (!askers->groups)
		return;
	place = place_for(askers, header->session);
	memcpy(place->session, header->session, REPORT_SESSION_BYTES);
	place->window = (struct report_window){ .top = header->counter, .seen = 1 };
	place->asked_ms = ms ?: 1;
}

bool session_was_refused(const struct peer *peer, const struct report_header *header)
{
	const struct asker *asker = asker_find(&peer->askers, header->session);

	return asker && !report_window_fresh(&asker->window, header->counter);
}

bool session_may_ask(struct peer *peer, const struct report_header *header, uint64_t us)
{
	struct asker *asker = asker_find(&peer->askers, header->session);

	if (asker) {
		report_window_take(&asker->window, header->counter);
		asker->asked_ms = us / 1000;
	} else {
		asker_add(&peer->askers, header, us / 1000);
	}
	return bucket_take(&peer->answers, ASKERS_PS, ASKERS_PS, us);
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
