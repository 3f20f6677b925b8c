/* SPDX-License-Identifier: GPL-2.0 */
/* The target kernel's features (PAMS_HAVE_*), without the layout of MPTCP's private structures. */
#ifndef _MPTCP_PAMS_FEATURES_H
#define _MPTCP_PAMS_FEATURES_H

#ifndef PAMS_LAYOUT_H
#define PAMS_LAYOUT_FEATURES_ONLY
#include "mptcp_layout.h"
#endif

#endif /* _MPTCP_PAMS_FEATURES_H */
