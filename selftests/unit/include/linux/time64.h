/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _UNIT_LINUX_TIME64_H
#define _UNIT_LINUX_TIME64_H

#define NSEC_PER_USEC	1000L
#define NSEC_PER_SEC	1000000000L
#define USEC_PER_SEC	1000000L

#endif
