// SPDX-License-Identifier: GPL-2.0
/* Transfers of xfer marked as units. */
#include <errno.h>

#include <pams.h>

#include "xfer.h"

/* Before the first byte is written. Without the module, under another scheduler and after
 * a fallback nothing can be marked, and the transfer is what it would be.
 */
void mark_unit(const struct conn *c)
{
	static struct pams *pams;

	if (!opt.unit)
		return;
	if (!pams)
		pams = pams_open();
	if (!pams || !pams_unit(pams, c->fd, c->bytes))
		return;
	if (errno != EOPNOTSUPP)
		die(1, "a unit of %lld bytes: %s", c->bytes, pams_error(pams));
}
