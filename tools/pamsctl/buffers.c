// SPDX-License-Identifier: GPL-2.0
/*
 * buffers - compares TCP's maximum buffers, and its memory, with what all paths together need
 *
 * MPTCP puts the data of all paths in order, so its buffers have to hold the sum
 * of the paths' rates times the longest round-trip time. Half of a receive buffer
 * is for the kernel's own bookkeeping.
 *
 * A connection whose buffer is too small is as fast as that lets it be: it needs no more than there
 * is. So one that takes most of its buffer is told, too.
 */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "flows.h"
#include "pamsctl.h"

#define PER_MS		1000
#define MEASURE_US	500000
/* parts of the buffer in hundred, from which on it may be what limits */
#define MOST_PERCENT	70

/* The maximum, which is the last number of tcp_wmem or tcp_rmem; 0 if it can't be read. */
static uint64_t largest(const char *file)
{
	uint64_t least, usual, most = 0;
	FILE *f = fopen(file, "r");

	if (f && fscanf(f, "%" SCNu64 " %" SCNu64 " %" SCNu64, &least, &usual,
			&most) != 3)
		most = 0;
	if (f)
		fclose(f);
	return most;
}

struct need {
	uint64_t bytes;
	uint64_t rate_byteps;
	uint32_t rtt_us;
	uint32_t token;
};

static void add_flow(struct need *own, const struct flow *flow, bool receiving)
{
	own->token = flow->token;
	own->rate_byteps += receiving ? flow->receiving_byteps : flow->rate_byteps;
	if (flow->srtt_us > own->rtt_us)
		own->rtt_us = flow->srtt_us;
}

/* The connection that needs most. A connection's flows stand one after the other. */
static struct need most_needed(const struct flows *flows, bool receiving)
{
	struct need most = { }, own = { };

	for (size_t i = 0; i < flows->count; i++) {
		if (i && flows->at[i].token != flows->at[i - 1].token)
			own = (struct need){ };
		add_flow(&own, &flows->at[i], receiving);
		own.bytes = own.rate_byteps / PER_MS * own.rtt_us / PER_MS;
		if (own.bytes > most.bytes)
			most = own;
	}
	return most;
}

static void judge(json_t *list, const char *name, uint64_t room,
		  const struct need *need)
{
	char rate[QUANTITY_MAX], rtt[QUANTITY_MAX], advice[128];

	if (!room || !need->bytes)
		return;
	if (need->bytes * 100 < room * MOST_PERCENT) {
		finding(list, FINE, "buffers", NULL,
			"net.ipv4.%s: %" PRIu64 " bytes of data at most, the "
			"largest connection's paths hold %" PRIu64, name, room,
			need->bytes);
		return;
	}
	snprintf(advice, sizeof(advice),
		 "sysctl -w net.ipv4.%s=\"4096 131072 %" PRIu64 "\"", name,
		 need->bytes * 4);
	finding(list, NOTE, "buffers", advice,
		"net.ipv4.%s: %" PRIu64 " bytes of data at most, but the paths "
		"of connection 0x%08" PRIx32 " hold %" PRIu64 " (%s times %s)",
		name, room, need->token, need->bytes,
		show_rate(rate, need->rate_byteps),
		show_time(rtt, need->rtt_us));
}

/* --- memory --- */

/* In bytes. The limits are the whole machine's, and shown in its first network namespace alone. */
struct memory {
	uint64_t held;
	uint64_t limits[3];	/* net.ipv4.tcp_mem; 0: not shown here */
	uint64_t shortages;	/* in this network namespace */
	uint64_t short_ms;
};

static void memory_read(struct memory *memory)
{
	uint64_t page = sysconf(_SC_PAGESIZE), pages = 0;
	FILE *f = fopen("/proc/sys/net/ipv4/tcp_mem", "r");
	char line[256];

	memset(memory, 0, sizeof(*memory));
	for (int i = 0; f && i < 3; i++)
		if (fscanf(f, "%" SCNu64, &pages) == 1)
			memory->limits[i] = pages * page;
	if (f)
		fclose(f);
	f = fopen("/proc/net/sockstat", "r");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "TCP:", 4) && strstr(line, " mem ") &&
		    sscanf(strstr(line, " mem "), " mem %" SCNu64, &pages) == 1)
			memory->held = pages * page;
	if (f)
		fclose(f);
	memory->shortages = mib_tcp_counter("TCPMemoryPressures");
	memory->short_ms = mib_tcp_counter("TCPMemoryPressuresChrono");
}

/* Three numbers of pages, so that the least at which it becomes short is what is needed. */
static void advise(char *advice, size_t room, uint64_t bytes)
{
	uint64_t pages = bytes / sysconf(_SC_PAGESIZE) + 1;

	snprintf(advice, room,
		 "sysctl -w net.ipv4.tcp_mem=\"%" PRIu64 " %" PRIu64 " %" PRIu64
		 "\", if the machine has that memory", pages * 3 / 4, pages, pages * 3 / 2);
}

static void look_at_memory(json_t *list, uint64_t needed)
{
	char held[QUANTITY_MAX], limit[QUANTITY_MAX], want[QUANTITY_MAX], time[QUANTITY_MAX];
	uint64_t needed_or_twice = needed;
	struct memory memory;
	char advice[160];

	memory_read(&memory);
	show_count(held, memory.held);
	show_count(limit, memory.limits[1]);
	if (needed < memory.limits[1] * 2)
		needed_or_twice = memory.limits[1] * 2;
	advise(advice, sizeof(advice), needed_or_twice);
	if (memory.limits[1] && memory.held >= memory.limits[1])
		finding(list, BAD, "memory", advice,
			"TCP is short of memory: its sockets hold %s bytes, at most %s "
			"(net.ipv4.tcp_mem)", held, limit);
	else if (memory.limits[1] && needed > memory.limits[1])
		finding(list, NOTE, "memory", advice,
			"net.ipv4.tcp_mem: TCP is short of memory from %s bytes on, but the largest "
			"connection's buffers may need %s", limit, show_count(want, needed));
	else if (memory.limits[1])
		finding(list, FINE, "memory", NULL,
			"TCP's sockets hold %s bytes, and are short of memory from %s on", held,
			limit);
	if (memory.shortages)
		finding(list, NOTE, "memory", memory.limits[1] ? advice :
			"sysctl net.ipv4.tcp_mem, in the machine's first network namespace",
			"TCP ran short of memory %" PRIu64 " times here, for %s together",
			memory.shortages, show_time(time, memory.short_ms * 1000));
}

void look_at_buffers(json_t *list)
{
	uint64_t send = largest("/proc/sys/net/ipv4/tcp_wmem");
	uint64_t receive = largest("/proc/sys/net/ipv4/tcp_rmem");
	struct need sending, receiving;
	char rate[QUANTITY_MAX];
	struct flows flows;

	if (send && receive)
		finding(list, FINE, "buffers", NULL,
			"at a round trip of 50ms enough to receive %s over all "
			"paths together",
			show_rate(rate, receive / 2 * 20));
	if (flows_measure(&flows, MEASURE_US))
		memset(&flows, 0, sizeof(flows));
	sending = most_needed(&flows, false);
	receiving = most_needed(&flows, true);
	flows_free(&flows);
	judge(list, "tcp_wmem", send, &sending);
	judge(list, "tcp_rmem", receive / 2, &receiving);
	/* half of a buffer's memory is the kernel's bookkeeping */
	look_at_memory(list, 2 * (sending.bytes + receiving.bytes));
}
