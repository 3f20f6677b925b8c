/* SPDX-License-Identifier: GPL-2.0 */
/* echo - how large a packet comes back from a peer (echo.c) */
#ifndef PAMSCTL_ECHO_H
#define PAMSCTL_ECHO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* From one of this machine's addresses to a peer's. */
struct echo {
	int family;
	uint8_t local[16];	/* the first 4 bytes for AF_INET */
	uint8_t remote[16];
	uint32_t bound;		/* the interface that it leaves by; 0: as the routes say */

	/* the answer: packets with their headers, in bytes */
	unsigned int mtu;	/* as large as one to there may be, as is known; 0: not asked */
	bool small;		/* small ones come back */
	unsigned int largest;	/* that comes back; 0: none does */
};

/* Ask all, within three seconds. What isn't permitted has mtu 0. */
void echo_ask(struct echo *all, size_t count);

#endif /* PAMSCTL_ECHO_H */
