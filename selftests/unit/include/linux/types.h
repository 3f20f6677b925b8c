/* SPDX-License-Identifier: GPL-2.0 */
/* User-space stand-ins for what the plain-number files take from the kernel. */
#ifndef _UNIT_LINUX_TYPES_H
#define _UNIT_LINUX_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef unsigned long long u64;
typedef int32_t s32;
typedef long long s64;

#define U32_MAX ((u32)~0U)
#define U64_MAX ((u64)~0ULL)

#endif
