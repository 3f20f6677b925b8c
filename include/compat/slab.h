/* SPDX-License-Identifier: GPL-2.0 */
/* kzalloc_obj(), for kernels before 7.0, which don't have it. */
#ifndef _PAMS_COMPAT_SLAB_H
#define _PAMS_COMPAT_SLAB_H

#include <linux/slab.h>

#ifndef kzalloc_obj	/* goes when 6.12 does */
#define kzalloc_obj(_var, _gfp)	kzalloc(sizeof(_var), _gfp)
#endif

#endif /* _PAMS_COMPAT_SLAB_H */
