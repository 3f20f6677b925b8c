// SPDX-License-Identifier: GPL-2.0
/*
 * ends - the core between two simulated ends, in virtual time
 *
 *	server --- HS-path --- core --- pipe --- client
 *
 * The server sends a pattern by the simplest of TCPs, the client checks every
 * byte. The server acknowledges all uploads up to the last one that came, and the client keeps to
 * the server's window. Each leg has a rate, a delay, a queue, and loses, reorders and doubles at
 * random, from fixed seeds. Of every packet that the core lets through or makes
 * it is checked what split.h promises:
 *
 *	no DATA_ACK that the client hasn't sent
 *	no right edge beyond the client's
 *	no acknowledgment of what hasn't come, nor of a FIN before the client's
 *	time stamps never run back, to either end, in the order in which packets are sent
 *	the bytes, and no more memory than allowed
 *	each packet that is held goes on, or is dropped, once; the pace has room for what goes on
 *	no flow stands still (live.h)
 *
 * Beside the scenes there are drawn ones, in which the client also drops what it has SACKed,
 * shrinks its window, and uploads.
 */
#include "../pamsd/tap.h"
#include "live.h"
#include "world.h"

#define SEEDS		6		/* of what is random */
#define LIMIT_US	(300 * 1000000ULL)

struct world world;

/* --- the core, and what passes it --- */

static void check_up(const struct packet *packet)
{
	uint32_t have = world.hs_came + world.scene->isn + 1;
	uint32_t data_ack;

	if (packet->flags & (TCP_RST | TCP_SYN))
		return;
	if (!packet_intact(packet))
		wrong("checksum, to the server");
	if (after(packet->ack, have + world.fin_came))
		wrong("an acknowledgment of what hasn't come");
	if (packet->sack_at && before(get32(packet->data + packet->sack_at + 2),
				      world.scene->isn))
		wrong("SACK of nothing");
	if (world.up_any && before(packet->tsval, world.tsval_up) && !is_passed())
		wrong("the time stamp runs back, to the server");
	/* of what passes the core the path itself changes the order */
	if (!world.left)
		world.tsval_up = world.up_any ? seq_max(world.tsval_up, packet->tsval) :
						packet->tsval;
	world.up_any = true;
	if (!packet->data_ack_len)
		return;
	data_ack = (uint32_t)packet->data_ack - 0xffff0000U;
	if (data_ack > world.data_ack_sent)
		wrong("an invented DATA_ACK");
	if (data_ack + ((uint64_t)packet->window << CLIENT_SCALE) >
	    world.right_edge)
		wrong("a right edge beyond the client's");
}

static bool is_too_large(size_t len)
{
	return world.scene->pipe_mtu && len > world.scene->pipe_mtu &&
	       world.now_us >= world.scene->pipe_narrow_us;
}

/*
 * What the core makes or lets through leaves it here. Of what is too large it knows
 * only if it was its own.
 */
static void leave_core(void *arg, enum split_side side, uint8_t *data,
		       size_t len)
{
	struct packet packet;

	if (side == TO_CLIENT && is_too_large(len)) {
		if (arg)
			split_too_large(world.split, data, len,
					world.scene->pipe_mtu);
		return;
	}
	if (!packet_read(&packet, data, len))
		return wrong("a packet that can't be read");
	if (side == TO_SERVER)
		check_up(&packet);
	else if (!(packet.flags & TCP_RST) && !packet_intact(&packet))
		wrong("checksum, to the client");
	transmit(side == TO_SERVER ? SERVER : CLIENT, data, len);
}

static void note_came(const struct packet *packet)
{
	uint32_t offset = packet->seq - world.scene->isn - 1;

	for (uint32_t i = 0; i < packet->payload_len; i++)
		if (offset + i < world.scene->bytes)
			world.came[offset + i] = 1;
	while (world.hs_came < world.scene->bytes &&
	       world.came[world.hs_came])
		world.hs_came++;
}

/* As the kernel does, which keeps a packet before the core has seen it. */
static uint32_t keep(const uint8_t *data, size_t len)
{
	struct flight *flight = malloc(sizeof(*flight) + len);

	flight->at_us = ++world.last_id;
	flight->len = len;
	memcpy(flight->data, data, len);
	flight->next = world.held;
	world.held = flight;
	return world.last_id;
}

static struct flight *take_held(uint32_t id)
{
	struct flight **at = &world.held, *found;

	while (*at && (*at)->at_us != id)
		at = &(*at)->next;
	found = *at;
	if (found)
		*at = found->next;
	return found;
}

static void let(void *arg, uint32_t id, bool send)
{
	const struct flow *flow = world.split->flows;
	struct flight *flight = take_held(id);

	(void)arg;
	if (!flight)
		return wrong("let go twice");
	if (send && flight->len * SECOND_US > flow->bbr.rate_byteps * 1100)
		wrong("more than a millisecond of the pace in one go");
	if (send)
		leave_core(NULL, TO_CLIENT, flight->data, flight->len);
	free(flight);
}

static void into_core(enum place to, uint8_t *data, size_t len)
{
	enum split_verdict verdict = SPLIT_LEAVE;
	uint32_t id = keep(data, len);
	struct packet packet;

	if (to == CORE_DOWN && packet_read(&packet, data, len))
		note_came(&packet);
	if (!world.left)
		verdict = split_offer(world.split, world.now_us, data, len, id);
	if (verdict == SPLIT_LEAVE)
		world.left = true;
	if (verdict != SPLIT_HELD)
		free(take_held(id));
	if (verdict != SPLIT_TAKEN && verdict != SPLIT_REFUSED && verdict != SPLIT_HELD)
		leave_core(NULL, to == CORE_UP ? TO_SERVER : TO_CLIENT, data,
			   len);
	split_flush(world.split, world.now_us);
}

static void arrive(struct flight *flight)
{
	switch (flight->to) {
	case SERVER:
		to_server(flight->data, flight->len);
		break;
	case CLIENT:
		to_client(flight);
		break;
	default:
		into_core(flight->to, flight->data, flight->len);
	}
}

/* --- a scene --- */

static uint64_t next_us(void)
{
	uint64_t at_us = world.flights ? world.flights->at_us : NEVER_US;

	if (split_next_us(world.split) < at_us)
		at_us = split_next_us(world.split);
	if (world.rto_at_us < at_us)
		at_us = world.rto_at_us;
	if (world.scene->reader_goes_on_us > world.now_us &&
	    world.scene->reader_goes_on_us < at_us)
		at_us = world.scene->reader_goes_on_us;
	if (world.scene->drain_us > world.now_us &&
	    world.scene->drain_us < at_us)
		at_us = world.scene->drain_us;
	return at_us > world.now_us ? at_us : world.now_us;
}

static void stranger_says(void)
{
	uint8_t data[256];

	schedule(CORE_UP, world.now_us, data,
		 make_handshake(data, true, world.scene->client_isn + 100000,
				0, stamp_now()));
}

static void step(void)
{
	const struct scene *scene = world.scene;
	uint64_t before_us = world.now_us;

	world.now_us = next_us();
	while (world.flights && world.flights->at_us <= world.now_us) {
		struct flight *flight = world.flights;

		world.flights = flight->next;
		arrive(flight);
		free(flight);
	}
	if (scene->reader_goes_on_us > before_us &&
	    scene->reader_goes_on_us <= world.now_us)
		client_says(false);
	if (scene->stranger_us > before_us &&
	    scene->stranger_us <= world.now_us)
		stranger_says();
	if (scene->drain_us > before_us && scene->drain_us <= world.now_us)
		split_drain(world.split, world.now_us);
	if (world.rto_at_us <= world.now_us) {
		world.rto_at_us = world.now_us + 400000;
		world.cwnd = MSS;
		world.recover = world.nxt;
		if (!world.server_reset)
			server_sends(world.una);
	}
	if (split_next_us(world.split) <= world.now_us) {
		split_timers(world.split, world.now_us);
		split_flush(world.split, world.now_us);
	}
	if (flows_wrong(world.split, world.now_us))
		wrong(flows_wrong(world.split, world.now_us));
	if (split_counters(world.split)->early_acks && !world.left && is_passed())
		world.rested = true;
	if (split_memory(world.split) > world.memory_max)
		world.memory_max = split_memory(world.split);
}

static bool is_over(void)
{
	if (world.scene->resets)
		return world.server_reset;
	return world.fin_acked && world.fin_came;
}

static void start(const struct scene *scene, unsigned int seed)
{
	struct split_options options = split_defaults;

	memset(&world, 0, sizeof(world));
	srand(seed);
	options.flow_bytes = scene->memory;
	options.lend_byteps = scene->lend_byteps;
	options.where_it_pays = scene->pays;
	world.scene = scene;
	world.now_us = 1000000;
	world.split = split_new(&options, leave_core, &world);
	split_may_hold(world.split, let, NULL);
	world.has = calloc(1, scene->bytes);
	world.came = calloc(1, scene->bytes);
	world.rcv_nxt = scene->isn + 1;
	world.cwnd = 10 * MSS;
	world.rto_at_us = NEVER_US;
	world.wnd_end = scene->window;
	world.right_edge = scene->window;
	world.ts_recent = stamp_now();
	handshake(true);
	world.now_us += scene->hs.delay_us;
	handshake(false);
	world.now_us += scene->pipe.delay_us;
}

static void stop(void)
{
	while (world.flights) {
		struct flight *flight = world.flights;

		world.flights = flight->next;
		free(flight);
	}
	split_free(world.split);
	check(!world.held);
	free(world.has);
	free(world.came);
}

static struct scene chosen;
static unsigned int chosen_seed;

static void play(void)
{
	const struct scene *scene = &chosen;
	const struct split_counters *counters;
	unsigned int seed = chosen_seed;

	start(scene, seed);
	client_says(true);
	schedule(CORE_UP, world.now_us, world.flights->data,
		 world.flights->len);	/* at least one of them comes */
	server_pushes();
	while (!is_over() && !*world.wrong &&
	       world.now_us < (scene->most_us ? scene->most_us : LIMIT_US))
		step();
	if (!is_over())
		wrong("it doesn't end");
	if (world.now_us < scene->least_us)
		wrong("it is done too soon");
	counters = split_counters(world.split);
	if (!counters->flows)
		wrong("nothing was split");
	if (scene->how == NEVER ? counters->early_acks : scene->how && !counters->early_acks)
		wrong("it is split where it should be passed, or not at all");
	if (scene->how == RESTS && !world.rested)
		wrong("it is split for ever");
	/* what a packet is cut into comes on top */
	if (world.memory_max > scene->memory + 4096)
		wrong("more memory than allowed");
	printf("# %.3f s, %llu early, %llu resent, %llu timeouts, "
	       "banked %llu, memory %llu\n", world.now_us / 1e6 - 1,
	       (unsigned long long)counters->early_acks,
	       (unsigned long long)counters->resent,
	       (unsigned long long)counters->timeouts,
	       (unsigned long long)counters->banked_max,
	       (unsigned long long)world.memory_max);
	if (*world.wrong)
		printf("# of %u bytes %u were sent, %u acknowledged, %u came to the core, "
		       "%u to the client\n", scene->bytes, world.nxt,
		       world.una, world.hs_came,
		       world.rcv_nxt - scene->isn - 1);
	check_at(!*world.wrong, world.wrong, __LINE__);
	stop();
}

/* So many drawn ones as one case; those that are wrong are named. */
static unsigned int drawn = 200, first_drawn = 1;

static void any_scene(void)
{
	unsigned int bad = 0;

	for (unsigned int seed = first_drawn; seed < first_drawn + drawn; seed++) {
		draw(&chosen, seed);
		chosen_seed = seed;
		start(&chosen, chosen_seed);
		while (!world.flights)
			client_says(true);
		schedule(CORE_UP, world.now_us, world.flights->data, world.flights->len);
		server_pushes();
		/* behind a router the server above sends a lost window a segment a round trip */
		while (!is_over() && !*world.wrong &&
		       world.now_us < (chosen.pays ? 10 : 1) * LIMIT_US)
			step();
		if (!is_over())
			wrong("it doesn't end");
		if (*world.wrong)
			printf("# seed %u: %s\n", seed, world.wrong);
		bad += !!*world.wrong;
		stop();
	}
	printf("# %u of %u\n", bad, drawn);
	check(!bad);
}

/* Usage: ends [COUNT [FIRST SEED]], only drawn scenes then */
int main(int argc, char **argv)
{
	char name[100];

	if (argc > 1) {
		drawn = atoi(argv[1]);
		first_drawn = argc > 2 ? atoi(argv[2]) : 1;
		run(any_scene);
		return tap_end();
	}
	run(any_scene);

	for (unsigned int i = 0; i < scenes_count; i++) {
		const struct leg *hs = &scenes[i].hs, *pipe = &scenes[i].pipe;
		bool random = hs->loss + hs->late + pipe->loss + pipe->late;

		for (chosen_seed = 1; chosen_seed <= (random ? SEEDS : 1);
		     chosen_seed++) {
			chosen = scenes[i];
			chosen.data_ack_len = chosen.data_ack_len ?: 8;
			chosen.window = chosen.window ?: 1 << 20;
			chosen.memory = chosen.memory ?: 2 << 20;
			snprintf(name, sizeof(name), "%s, seed %u",
				 chosen.name, chosen_seed);
			run_case(name, play);
		}
	}
	return tap_end();
}
