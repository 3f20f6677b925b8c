/* SPDX-License-Identifier: GPL-2.0 */
/*
 * tcpinfo - the parts of struct tcp_info that the programs use
 */
#ifndef PAMS_TCPINFO_H
#define PAMS_TCPINFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the kernel doesn't tell, or doesn't know yet, is 0. */
struct tcpinfo {
	uint64_t sent_bytes;	/* of data, with what was sent again */
	uint64_t acked_bytes;
	uint64_t received_bytes;
	uint64_t waiting_bytes;	/* not sent, or not acknowledged */
	uint64_t rate_byteps;	/* delivery rate */
	bool limited;		/* the application limited the delivery rate */
	uint32_t srtt_us;
	uint32_t min_rtt_us;	/* 0: unknown yet */
	uint32_t receive_rtt_us; /* of what was received, queues included; 0: unknown yet */
	uint32_t acked_ms;	/* since the last acknowledgment came */
	uint32_t received_ms;	/* since the last data came */
	uint32_t retransmits;	/* segments, ever */
	uint32_t unanswered_ms;	/* for so long at least nothing of what was sent is acknowledged */
};

void tcpinfo_parse(struct tcpinfo *tcpinfo, const void *data, size_t len);

#endif /* PAMS_TCPINFO_H */
