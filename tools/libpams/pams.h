/* SPDX-License-Identifier: GPL-2.0 */
/*
 * libpams - for applications: what they know of their own connections, said to the
 * packet schedulers of mptcp_pams
 *
 * See pams_unit(3). A handle is for one thread at a time.
 */
#ifndef PAMS_H
#define PAMS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pams;

/*
 * A handle, for connections of the network namespace that the caller is in and of the
 * user that it is now. NULL and errno: ENOENT, the module isn't loaded.
 */
struct pams *pams_open(void);

/*
 * The next bytes that are written to the MPTCP socket fd are one unit; 0: they are none.
 * 0, or -1 and errno, with a text in pams_error(). Nothing but the schedule depends on
 * it: who can't mark a unit may write it all the same.
 */
int pams_unit(struct pams *pams, int fd, uint64_t bytes);

/* The same of a connection that has this token (MPTCP_INFO). */
int pams_unit_by_token(struct pams *pams, uint32_t token, uint64_t bytes);

/* Why the last call failed, one line; "" if it didn't. */
const char *pams_error(const struct pams *pams);

/* NULL is fine. */
void pams_close(struct pams *pams);

#ifdef __cplusplus
}
#endif

#endif
