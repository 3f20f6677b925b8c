/* SPDX-License-Identifier: GPL-2.0 */
/*
 * tcpinfo - of struct tcp_info, what is used here
 */
#ifndef PAMSD_TCPINFO_H
#define PAMSD_TCPINFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tcpinfo {
	uint64_t acked_bytes;
	uint64_t waiting_bytes;	/* not sent, or not acknowledged */
	uint64_t rate_byteps;	/* of delivery */
	bool limited;		/* that rate, by the application */
	uint32_t min_rtt_us;	/* 0: none yet */
};

void tcpinfo_parse(struct tcpinfo *tcpinfo, const void *data, size_t len);

#endif /* PAMSD_TCPINFO_H */
