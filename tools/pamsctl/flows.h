/* SPDX-License-Identifier: GPL-2.0 */
/* flows - the TCP connections that MPTCP's subflows are, and what went over them */
#ifndef PAMSCTL_FLOWS_H
#define PAMSCTL_FLOWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

struct table;

/* An open subflow. IPv4-mapped addresses are of AF_INET. */
struct flow {
	int family;
	uint8_t local[16];	/* the first 4 bytes for AF_INET */
	uint8_t remote[16];
	uint16_t local_port;
	uint16_t remote_port;
	uint32_t bound;		/* the interface that it is bound to; 0: none */
	uint32_t token;		/* of the connection, as ss -M has it */
	uint8_t local_id;
	uint8_t remote_id;
	bool backup;
	bool busy;		/* data waits to be sent or acknowledged */
	uint32_t srtt_us;
	uint32_t min_rtt_us;	/* 0: unknown yet */
	uint64_t rate_byteps;	/* at which the peer acknowledged, lately */
	uint64_t sent_bytes;	/* with what was sent again */
	uint64_t received_bytes;
	uint32_t unanswered_ms;	/* for so long at least nothing of what was sent is acknowledged */

	/* flows_rates(), if measured */
	bool measured;
	uint64_t sending_byteps;
	uint64_t receiving_byteps;

	unsigned int ifindex;	/* flows_place(): over which it goes; 0: not known */
};

struct flows {
	struct flow *at;	/* those of a connection one after the other */
	size_t count;
	bool hidden;		/* there are connections, but the caller may not see more */
	uint64_t at_us;		/* when they were read */
};

/* Replaces *flows, which the caller frees. Returns 0, or libnl's error and no flows. */
int flows_read(struct flows *flows);
void flows_free(struct flows *flows);

/* The connection's flow with those addresses and ports, or NULL. */
const struct flow *flows_find(const struct flows *flows, uint32_t token, int family,
			      const uint8_t *local, uint16_t local_port,
			      const uint8_t *remote, uint16_t remote_port);

/* Set the rates from what went over each flow since "before" was read. */
void flows_rates(struct flows *flows, const struct flows *before);

/* Read the open subflows, and measure their rates for so long if there are any. */
int flows_measure(struct flows *flows, uint64_t interval_us);

/* flow_text.c: two cells each, with "-" for what isn't known; flow: may be NULL */
void flow_rate_cells(struct table *table, const struct flow *flow);
void flow_byte_cells(struct table *table, const struct flow *flow);
void flow_add_json(json_t *object, const struct flow *flow);

#endif /* PAMSCTL_FLOWS_H */
