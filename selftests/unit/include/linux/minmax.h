/* SPDX-License-Identifier: GPL-2.0 */
/* As strict as the kernel's: both operands have to have one type. */
#ifndef _UNIT_LINUX_MINMAX_H
#define _UNIT_LINUX_MINMAX_H

#define __unit_pick(a, op, b) ({					\
	__auto_type __a = (a);						\
	__auto_type __b = (b);						\
	_Static_assert(__builtin_types_compatible_p(typeof(__a), typeof(__b)), \
		       "operands of different types");			\
	__a op __b ? __a : __b; })

#define min(a, b) __unit_pick(a, <, b)
#define max(a, b) __unit_pick(a, >, b)
#define min_t(type, a, b) min((type)(a), (type)(b))
#define max_t(type, a, b) max((type)(a), (type)(b))
#define clamp(value, low, high) min(max(value, low), high)
#define clamp_t(type, value, low, high) \
	clamp((type)(value), (type)(low), (type)(high))

#endif
