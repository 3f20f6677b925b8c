/* SPDX-License-Identifier: GPL-2.0 */
/* What a sysctl's handler is given. */
#ifndef _PAMS_COMPAT_SYSCTL_H
#define _PAMS_COMPAT_SYSCTL_H

#include <linux/sysctl.h>

#ifdef PAMS_HAVE_CONST_CTL_TABLE
#define compat_ctl_table	const struct ctl_table
#else	/* goes when 6.10 does */
#define compat_ctl_table	struct ctl_table
#endif

#endif /* _PAMS_COMPAT_SYSCTL_H */
