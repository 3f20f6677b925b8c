// SPDX-License-Identifier: GPL-2.0
/*
 * tcpinfo - what the kernel tells of a TCP socket
 *
 * Apart from source_tcp, since libnl's headers and the kernel's own, which has
 * the fields of today, each define struct tcp_info.
 */
#include <string.h>

#include <linux/tcp.h>

#include "tcpinfo.h"

void tcpinfo_parse(struct tcpinfo *tcpinfo, const void *data, size_t len)
{
	struct tcp_info info = { };

	/* An older or newer kernel's is shorter or longer. */
	memcpy(&info, data, len < sizeof(info) ? len : sizeof(info));
	tcpinfo->acked_bytes = info.tcpi_bytes_acked;
	tcpinfo->waiting_bytes = info.tcpi_notsent_bytes +
				 (uint64_t)info.tcpi_unacked *
				 info.tcpi_snd_mss;
	tcpinfo->rate_byteps = info.tcpi_delivery_rate;
	tcpinfo->limited = info.tcpi_delivery_rate_app_limited;
	tcpinfo->min_rtt_us = info.tcpi_min_rtt == UINT32_MAX ?
			      0 : info.tcpi_min_rtt;
}
