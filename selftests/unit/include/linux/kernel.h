/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _UNIT_LINUX_KERNEL_H
#define _UNIT_LINUX_KERNEL_H

#include <linux/minmax.h>
#include <linux/types.h>

#endif
