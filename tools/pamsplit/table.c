// SPDX-License-Identifier: GPL-2.0
/*
 * table - finds, makes and frees flows and their clients
 */
#include <stdlib.h>
#include <string.h>

#include "flow.h"

#define BUCKETS		4096	/* a power of two */

struct flow **table_new(void)
{
	return calloc(BUCKETS, sizeof(struct flow *));
}

static struct flow **bucket_of(const struct split *split,
			       const struct flow_key *key)
{
	uint64_t words[4], hash = split->options.seed;

	memcpy(words, key->client.bytes, 16);
	memcpy(words + 2, key->server.bytes, 16);
	for (unsigned int i = 0; i < ARRAY_SIZE(words); i++)
		hash = mix(hash ^ words[i]);
	hash = mix(hash ^ ((uint32_t)key->client_port << 16 |
			   key->server_port));
	return &split->buckets[hash % BUCKETS];
}

static bool same_key(const struct flow_key *a, const struct flow_key *b)
{
	return a->client_port == b->client_port &&
	       a->server_port == b->server_port &&
	       !memcmp(&a->client, &b->client, sizeof(a->client)) &&
	       !memcmp(&a->server, &b->server, sizeof(a->server));
}

struct flow *flow_find(const struct split *split, const struct flow_key *key,
		       bool v6)
{
	struct flow *flow = *bucket_of(split, key);

	while (flow && (flow->v6 != v6 || !same_key(&flow->key, key)))
		flow = flow->next_in_bucket;
	return flow;
}

static struct client *client_of(struct split *split,
				const struct address *address)
{
	struct client *client;

	for (client = split->clients; client; client = client->next)
		if (!memcmp(&client->address, address, sizeof(*address)))
			return client;
	client = calloc(1, sizeof(*client));
	if (!client)
		return NULL;
	client->address = *address;
	client->next = split->clients;
	split->clients = client;
	return client;
}

static void client_put(struct split *split, struct client *client)
{
	struct client **at = &split->clients;

	if (--client->flows)
		return;
	while (*at != client)
		at = &(*at)->next;
	*at = client->next;
	free(client);
}

void flow_stop_timers(struct flow *flow)
{
	flow->ack_by_us = NEVER_US;
	flow->rto_at_us = NEVER_US;
	flow->probe_at_us = NEVER_US;
	flow->reorder_at_us = NEVER_US;
	flow->persist_at_us = NEVER_US;
	flow->closed_us = NEVER_US;
}

struct flow *flow_new(struct split *split, const struct flow_key *key, bool v6)
{
	struct flow **bucket = bucket_of(split, key);
	struct client *owner;
	struct flow *flow;

	if (split->count >= split->options.flows_max)
		return NULL;
	flow = calloc(1, sizeof(*flow));
	owner = flow ? client_of(split, &key->client) : NULL;
	if (!owner) {
		free(flow);
		return NULL;
	}
	owner->flows++;
	flow->owner = owner;
	flow->split = split;
	flow->key = *key;
	flow->v6 = v6;
	flow_stop_timers(flow);
	flow->next_in_bucket = *bucket;
	*bucket = flow;
	flow->next = split->flows;
	if (split->flows)
		split->flows->prev = flow;
	split->flows = flow;
	split->count++;
	return flow;
}

void flow_forget_to_ack(struct flow *flow)
{
	struct flow **at = &flow->split->to_ack;

	if (!flow->to_ack)
		return;
	while (*at != flow)
		at = &(*at)->next_to_ack;
	*at = flow->next_to_ack;
	flow->to_ack = false;
}

void flow_free(struct flow *flow)
{
	struct split *split = flow->split;
	struct flow **at = bucket_of(split, &flow->key);

	store_empty(flow);
	flow_forget_to_ack(flow);
	lend_forget(flow);
	heap_remove(flow);
	while (*at != flow)
		at = &(*at)->next_in_bucket;
	*at = flow->next_in_bucket;
	if (flow->prev)
		flow->prev->next = flow->next;
	else
		split->flows = flow->next;
	if (flow->next)
		flow->next->prev = flow->prev;
	client_put(split, flow->owner);
	split->count--;
	free(flow);
}
