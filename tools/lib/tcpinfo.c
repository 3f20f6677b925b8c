// SPDX-License-Identifier: GPL-2.0
/*
 * tcpinfo - parses struct tcp_info
 *
 * This isn't in a file that includes libnl's headers, since both these and the kernel's
 * header, which has newer fields, define struct tcp_info.
 */
#include <string.h>

#include <linux/tcp.h>

#include "tcpinfo.h"

/*
 * The timeout is twice as long each time that it passes: all that passed since the last answer are
 * together as long as the current one, but for the first.
 */
static uint32_t unanswered_ms(const struct tcp_info *info)
{
	uint32_t timeouts = info->tcpi_retransmits;
	uint32_t ms = info->tcpi_rto / 1000;

	if (!info->tcpi_unacked || !timeouts)
		return 0;
	ms -= timeouts < 32 ? ms >> timeouts : 0;
	return ms < info->tcpi_last_ack_recv ? ms : info->tcpi_last_ack_recv;
}

void tcpinfo_parse(struct tcpinfo *tcpinfo, const void *data, size_t len)
{
	struct tcp_info info = { };

	/* The struct of an older or newer kernel is shorter or longer. */
	memcpy(&info, data, len < sizeof(info) ? len : sizeof(info));
	tcpinfo->sent_bytes = info.tcpi_bytes_sent;
	tcpinfo->acked_bytes = info.tcpi_bytes_acked;
	tcpinfo->received_bytes = info.tcpi_bytes_received;
	tcpinfo->receive_rtt_us = info.tcpi_rcv_rtt;
	tcpinfo->acked_ms = info.tcpi_last_ack_recv;
	tcpinfo->received_ms = info.tcpi_last_data_recv;
	tcpinfo->retransmits = info.tcpi_total_retrans;
	tcpinfo->unanswered_ms = unanswered_ms(&info);
	tcpinfo->waiting_bytes = info.tcpi_notsent_bytes +
				 (uint64_t)info.tcpi_unacked *
				 info.tcpi_snd_mss;
	tcpinfo->rate_byteps = info.tcpi_delivery_rate;
	tcpinfo->limited = info.tcpi_delivery_rate_app_limited;
	tcpinfo->srtt_us = info.tcpi_rtt;
	tcpinfo->min_rtt_us = info.tcpi_min_rtt == UINT32_MAX ?
			      0 : info.tcpi_min_rtt;
}
