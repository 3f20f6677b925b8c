/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _UNIT_LINUX_MATH64_H
#define _UNIT_LINUX_MATH64_H

#include <linux/types.h>

static inline u64 div64_u64(u64 dividend, u64 divisor)
{
	return dividend / divisor;
}

static inline u64 div_u64(u64 dividend, u32 divisor)
{
	return dividend / divisor;
}

static inline u64 div_u64_rem(u64 dividend, u32 divisor, u32 *remainder)
{
	*remainder = dividend % divisor;
	return dividend / divisor;
}

/* 128 bits in between, as in the kernel */
static inline u64 mul_u64_u32_div(u64 value, u32 multiplier, u32 divisor)
{
	return (__uint128_t)value * multiplier / divisor;
}

#endif
