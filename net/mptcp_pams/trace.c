// SPDX-License-Identifier: GPL-2.0
/* The tracepoints' own code; include/trace/events/mptcp_pams.h describes them. */
#include <linux/kernel.h>

#include "path.h"
#include "pick.h"

#define CREATE_TRACE_POINTS
#include <trace/events/mptcp_pams.h>
