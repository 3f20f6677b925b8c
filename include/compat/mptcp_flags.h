/* SPDX-License-Identifier: GPL-2.0 */
/* A bit of mptcp_sock.flags, which the kernel has in a header private to net/mptcp. It moved when
 * mptcp_sock got notsent_lowat.
 */
#ifndef _PAMS_COMPAT_MPTCP_FLAGS_H
#define _PAMS_COMPAT_MPTCP_FLAGS_H

#include <linux/bits.h>

#ifdef PAMS_HAVE_NOTSENT_LOWAT
#define COMPAT_MPTCP_FALLBACK_DONE	BIT(2)
#else	/* goes when 6.8 does */
#define COMPAT_MPTCP_FALLBACK_DONE	BIT(4)
#endif

#endif /* _PAMS_COMPAT_MPTCP_FLAGS_H */
