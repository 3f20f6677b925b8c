/* SPDX-License-Identifier: GPL-2.0 */
/* The tracepoints, and the structures of the module that they read. */
#ifndef _MPTCP_PAMS_TRACE_H
#define _MPTCP_PAMS_TRACE_H

#include "path.h"
#include "pick.h"

#include <trace/events/mptcp_pams.h>

#endif /* _MPTCP_PAMS_TRACE_H */
