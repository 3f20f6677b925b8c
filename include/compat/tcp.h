/* SPDX-License-Identifier: GPL-2.0 */
/* TCP timers under the names of every supported kernel. The switches come from
 * tools/layout, which probes the target kernel for the feature itself.
 */
#ifndef _PAMS_COMPAT_TCP_H
#define _PAMS_COMPAT_TCP_H

#include <net/tcp.h>

/* Jiffies until the subflow's pending TCP timer fires, 0 if none is pending. Read without
 * the subflow's lock, so the answer may be old.
 */
static inline long compat_tcp_timeout_left(const struct sock *ssk)
{
	if (!READ_ONCE(inet_csk(ssk)->icsk_pending))
		return 0;
#ifdef PAMS_HAVE_TCP_TIMEOUT_EXPIRES
	return tcp_timeout_expires(ssk) - jiffies;
#elif defined(PAMS_HAVE_ICSK_TIMEOUT)	/* 6.18 */
	return icsk_timeout(inet_csk(ssk)) - jiffies;
#else	/* goes when 6.12 does */
	return READ_ONCE(inet_csk(ssk)->icsk_timeout) - jiffies;
#endif
}

#endif /* _PAMS_COMPAT_TCP_H */
