/* SPDX-License-Identifier: GPL-2.0 */
/*
 * world - a reporter and a server in virtual time, with a network between them
 *
 * Both are the daemon's own cores, announce.c and peer.c; the sockets, clocks
 * and kernels around them are made here. Way i of the reporter has the address
 * 10.9.i.1, and path i is named by that address. The two clocks differ.
 */
#ifndef PAMSD_WORLD_H
#define PAMSD_WORLD_H

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include <linux/mptcp_pams.h>

#include "reporter/announce.h"
#include "server/session.h"

#define WAYS		2
#define PACKETS_MAX	4096
#define KERNEL_MAX	256

/* How a way treats a datagram now. */
struct network {
	double loss, duplication, long_delay;	/* probabilities */
	uint32_t delay_ms, long_delay_ms;	/* at most */
	uint32_t held_ms;	/* somebody holds what goes up back that long */
	bool dead;
};

struct packet {
	uint64_t at_us;
	bool up;		/* to the server */
	union address from;
	size_t len;
	uint8_t buf[REPORT_BYTES_MAX];
};

/* What the server's kernel was told of a name. */
struct known {
	struct pams_path key;
	uint64_t loss_at_ms, loss_until_ms, pipe_until_ms;
	uint32_t loss_spread_ms;
	uint64_t cost_until_ms;
	uint8_t cost;
	bool cost_stays;	/* as what people set by hand does */
};

struct world {
	uint64_t us;		/* the reporter's clock */
	uint64_t ahead_us;	/* by that the server's is ahead of it */
	struct config config;
	struct peer_config peer_config;
	struct prefix prefix;
	struct peers_env env;
	struct peers *peers;
	struct announcer announcer;
	struct network network[WAYS];
	uint8_t host[WAYS];	/* last byte of each way's address; a NAT may give another one */
	struct packet *packets[PACKETS_MAX];
	unsigned int packet_count;
	struct known kernel[KERNEL_MAX];
	unsigned int known_count, sets, dels, finds, flushes;
	uint32_t token;		/* the only one that the kernel has; ids 1, 2 */
	uint32_t peer_token;	/* what that connection's peer proves itself by */
	bool old;		/* one end is from before there were connections in reports */
	bool no_module;		/* the kernel can't be asked, and takes nothing */
	uint64_t rate_byteps;	/* of that connection's subflow; 0: its path isn't full */
	unsigned int measures;	/* how often the kernel was asked for it */
	uint64_t random;
	unsigned int sent;
};

static inline uint64_t world_random(struct world *world)
{
	world->random ^= world->random << 13;
	world->random ^= world->random >> 7;
	world->random ^= world->random << 17;
	return world->random * 0x2545f4914f6cdd1dULL >> 11;
}

static inline double world_chance(struct world *world)
{
	return world_random(world) / (double)(1ULL << 53);
}

static inline uint64_t server_us(const struct world *world)
{
	return world->us + world->ahead_us;
}

/* --- the server's kernel --- */

static inline struct known *known_of(struct world *world,
				     const struct pams_path *path, bool make)
{
	struct pams_path key;
	struct known *known;

	memset(&key, 0, sizeof(key));
	key.key = path->key;
	key.family = path->family;
	memcpy(key.address, path->address, sizeof(key.address));
	key.prefix_len = path->prefix_len;
	key.port = path->port;
	key.token = path->token;
	key.local_id = path->local_id;
	key.remote_id = path->remote_id;
	for (unsigned int i = 0; i < world->known_count; i++)
		if (!memcmp(&world->kernel[i].key, &key, sizeof(key)))
			return &world->kernel[i];
	if (!make)
		return NULL;
	if (world->known_count == KERNEL_MAX)
		abort();
	known = &world->kernel[world->known_count++];
	memset(known, 0, sizeof(*known));
	known->key = key;
	return known;
}

static inline int world_set(const struct pams_path *path, void *arg)
{
	struct world *world = arg;
	struct known *known = known_of(world, path, true);
	uint64_t ms = server_us(world) / 1000;

	world->sets++;
	if (path->has_pipe)
		known->pipe_until_ms = ms + path->ttl_ms;
	if (path->has_loss) {
		known->loss_at_ms = ms + path->loss_ms;
		known->loss_until_ms = known->loss_at_ms +
				       (path->ttl_ms ?: MPTCP_PAMS_LOSS_TTL_DEFAULT_MS);
		known->loss_spread_ms = path->loss_spread_ms;
	} else if (path->no_loss) {
		known->loss_until_ms = 0;
	}
	if (path->has_cost) {
		known->cost_until_ms = ms + path->ttl_ms;
		known->cost = path->cost;
		known->cost_stays = false;
	}
	return 0;
}

static inline int world_del(const struct pams_path *path, void *arg)
{
	struct world *world = arg;
	struct known *known = known_of(world, path, false);

	world->dels++;
	if (known) {
		known->loss_until_ms = 0;
		known->pipe_until_ms = 0;
		known->cost_until_ms = 0;
	}
	return 0;
}

/* What was told is known at once here. */
static inline unsigned int world_flush(void *arg)
{
	struct world *world = arg;

	world->flushes++;
	return 0;
}

static inline int world_find(const struct pams_path *key, uint32_t proof,
			     void *arg)
{
	struct world *world = arg;

	world->finds++;
	if (world->no_module)
		return -EAGAIN;
	if (key->token == world->token && proof != world->peer_token)
		return -EACCES;
	return key->token == world->token && key->local_id == 1 &&
	       key->remote_id == 2 ? 0 : -ENOENT;
}

static inline int world_find_conn(uint32_t token, uint32_t proof, void *arg)
{
	const struct pams_path key = { .token = token, .local_id = 1, .remote_id = 2 };

	return world_find(&key, proof, arg);
}

static inline bool world_has_cost(const struct pams_path *key, void *arg)
{
	struct world *world = arg;
	const struct known *known = known_of(world, key, false);

	return known && !known->cost_stays && known->cost_until_ms > server_us(world) / 1000;
}

static inline unsigned int world_rates(uint32_t token, uint32_t proof,
				       struct flow_rate rates[FLOW_RATES_MAX], void *arg)
{
	struct world *world = arg;

	world->measures++;
	if (token != world->token || proof != world->peer_token || !world->rate_byteps)
		return 0;
	rates[0] = (struct flow_rate){ 1, 2, world->rate_byteps };
	return 1;
}

/* --- the two ends --- */

static inline union address world_address(unsigned int a, unsigned int b)
{
	union address address = { };

	address.in.sin_family = AF_INET;
	address.in.sin_port = htons(4000);
	address.in.sin_addr.s_addr = htonl(10 << 24 | 9 << 16 | a << 8 | b);
	return address;
}

static inline void world_restart_server(struct world *world)
{
	peers_free(world->peers);
	world->peers = peers_new(&world->config, &world->env);
}

static inline void world_restart_reporter(struct world *world)
{
	uint8_t session[REPORT_SESSION_BYTES];
	struct report_keys keys;

	for (unsigned int i = 0; i < sizeof(session); i++)
		session[i] = world_random(world);
	report_keys_derive(&keys, world->peer_config.key);
	announce_end(&world->announcer);
	announce_init(&world->announcer, &keys, session);
	world->announcer.way_count = WAYS;
	world->announcer.wants_rates = true;
	for (unsigned int i = 0; i < WAYS; i++)
		world->announcer.ways[i].up = true;
}

/* The memory is the caller's, zeroed or used before. */
static inline void world_begin(struct world *world, uint64_t seed)
{
	for (unsigned int i = 0; i < world->packet_count; i++)
		free(world->packets[i]);
	peers_free(world->peers);
	announce_end(&world->announcer);
	memset(world, 0, sizeof(*world));
	world->random = seed * 0x9e3779b97f4a7c15ULL + 1;
	world->us = 1000000 + world_random(world) % 1000000000000ULL;
	world->ahead_us = world_random(world) % 1000000000000ULL;
	world->prefix = (struct prefix){ .family = AF_INET, .len = 16,
					 .address = { 10, 9 } };
	memset(world->peer_config.key, 7, REPORT_KEY_BYTES);
	world->peer_config.name = "a";
	world->peer_config.prefixes = &world->prefix;
	world->peer_config.prefix_count = 1;
	world->peer_config.rate_ps = 200;
	world->peer_config.loss_max_s = 60;
	memset(world->host, 1, sizeof(world->host));
	world->config.peers = &world->peer_config;
	world->config.peer_count = 1;
	world->env = (struct peers_env){ world_set, world_del, world_flush, world_find,
					 world_find_conn, world_has_cost, world_rates, world };
	world_restart_server(world);
	world_restart_reporter(world);
}

static inline void world_end(struct world *world)
{
	for (unsigned int i = 0; i < world->packet_count; i++)
		free(world->packets[i]);
	world->packet_count = 0;
	announce_end(&world->announcer);
	peers_free(world->peers);
	world->peers = NULL;
}

/* --- the network --- */

static inline void world_put(struct world *world, uint64_t at_us, bool up,
			     const union address *from, const uint8_t *buf,
			     size_t len)
{
	struct packet *packet;

	if (world->packet_count == PACKETS_MAX)
		return;
	packet = malloc(sizeof(*packet));
	packet->at_us = at_us;
	packet->up = up;
	packet->from = *from;
	packet->len = len;
	memcpy(packet->buf, buf, len);
	world->packets[world->packet_count++] = packet;
}

static inline void world_pass(struct world *world, unsigned int way, bool up,
			      const union address *from, const uint8_t *buf,
			      size_t len)
{
	const struct network *network = &world->network[way];
	unsigned int copies = 1;
	uint64_t delay_us;

	if (network->dead || world_chance(world) < network->loss)
		return;
	copies += world_chance(world) < network->duplication;
	while (copies--) {
		delay_us = 1000 + world_random(world) %
			   (1000ULL * network->delay_ms + 1);
		if (world_chance(world) < network->long_delay)
			delay_us = world_random(world) %
				   (1000ULL * network->long_delay_ms + 1);
		if (up)
			delay_us += 1000ULL * network->held_ms;
		world_put(world, world->us + delay_us, up, from, buf, len);
	}
}

static inline void world_send(unsigned int way, const uint8_t *buf, size_t len,
			      void *arg)
{
	struct world *world = arg;
	union address from = world_address(way, world->host[way]);

	world->sent++;
	world_pass(world, way, true, &from, buf, len);
}

static inline void world_arrive(struct world *world, struct packet *packet)
{
	uint8_t answer[REPORT_ANSWER_MAX];
	unsigned int way;
	size_t len;

	if (!packet->up) {
		announce_answer(&world->announcer, packet->buf, packet->len,
				world->us / 1000);
		if (world->old)
			world->announcer.takes_conns = false;
		return;
	}
	len = peers_receive(world->peers, packet->buf, packet->len,
			    &packet->from, server_us(world), answer);
	if (len > packet->len)
		abort();
	way = ntohl(packet->from.in.sin_addr.s_addr) >> 8 & 255;
	/* a NAT has forgotten the address that it gave before */
	if (len && way < WAYS &&
	    (ntohl(packet->from.in.sin_addr.s_addr) & 255) == world->host[way])
		world_pass(world, way, false, &packet->from, answer, len);
}

/* Run until then: what is sent arrives, and what is due is sent. */
static inline void world_run(struct world *world, uint64_t until_us)
{
	for (;;) {
		uint64_t next_us = until_us;
		int first = -1;

		announce_run(&world->announcer, world->us / 1000, world_send,
			     world);
		for (unsigned int i = 0; i < world->packet_count; i++) {
			if (world->packets[i]->at_us >= next_us)
				continue;
			next_us = world->packets[i]->at_us;
			first = i;
		}
		if (world->announcer.next_ms != ANNOUNCE_NEVER &&
		    world->announcer.next_ms * 1000 < next_us) {
			next_us = world->announcer.next_ms * 1000;
			first = -1;
		}
		if (next_us > world->us)
			world->us = next_us;
		if (first >= 0) {
			struct packet *packet = world->packets[first];

			world->packets[first] =
				world->packets[--world->packet_count];
			world_arrive(world, packet);
			free(packet);
		} else if (world->us >= until_us) {
			return;
		}
	}
}

static inline void world_for(struct world *world, uint64_t ms)
{
	world_run(world, world->us + ms * 1000);
}

/* --- what is said, and what is known of it --- */

/* loss_ms < 0: the path isn't lost. */
static inline void world_predict(struct world *world, unsigned int id,
				 int64_t loss_ms, uint32_t spread_ms,
				 bool lasting)
{
	static struct announce_path path;
	struct report_name *name = path.names;

	memset(&path, 0, sizeof(path));
	path.loss = loss_ms >= 0;
	path.lasting = path.loss && lasting;
	path.loss_at_ms = path.loss ? world->us / 1000 + loss_ms : 0;
	path.loss_spread_ms = spread_ms;
	path.loss_sets = world->announcer.paths[id].loss_sets + 1;
	path.name_count = 1;
	name->kind = REPORT_NAME_PREFIX;
	name->prefix_len = 32;
	memcpy(name->address, (uint8_t[]){ 10, 9, id, 1 }, 4);
	announce_set(&world->announcer, id, &path, world->us / 1000);
}

static inline void world_cost(struct world *world, unsigned int id,
			      uint8_t cost)
{
	static struct announce_path path;

	path = world->announcer.paths[id];
	path.cost = cost;
	announce_set(&world->announcer, id, &path, world->us / 1000);
}

/* The connection that the kernel has, over path 0, whose way asks for answers by its address. */
static inline void world_connect(struct world *world, uint32_t proof)
{
	const struct report_conn conn = { .token = 7, .proof = proof, .count = 1,
					  .flows = { { .id = 0, .local_id = 1, .remote_id = 2 } } };
	static struct announce_path path;

	world->token = 7;
	world->peer_token = 8;
	world->peer_config.source = true;
	path = world->announcer.paths[0];
	path.by_source = true;
	announce_set(&world->announcer, 0, &path, world->us / 1000);
	announce_conn(&world->announcer, &conn, world->us / 1000);
}

static inline void world_say(struct world *world, unsigned int id,
			     int64_t loss_ms, bool lasting)
{
	world_predict(world, id, loss_ms, 0, lasting);
}

static inline struct known *world_known(struct world *world, unsigned int a,
					unsigned int b)
{
	union address address = world_address(a, b);
	struct pams_path key = { };

	pams_path_key_address(&key, AF_INET, &address.in.sin_addr, 0);
	return known_of(world, &key, false);
}

static inline bool world_is_lost(struct world *world, unsigned int id)
{
	const struct known *known = world_known(world, id, 1);

	return known && known->loss_until_ms > server_us(world) / 1000;
}

#endif /* PAMSD_WORLD_H */
