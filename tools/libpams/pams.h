/* SPDX-License-Identifier: GPL-2.0 */
/*
 * libpams - lets applications tell the packet schedulers of mptcp_pams what they know about
 * their own connections
 *
 * See pams_unit(3). Only one thread at a time may use a handle.
 */
#ifndef PAMS_H
#define PAMS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pams;

/*
 * Open a handle, for connections of the caller's current network namespace and user. Returns
 * NULL and sets errno on an error; ENOENT: the module isn't loaded.
 */
struct pams *pams_open(void);

/*
 * Mark the next bytes written to the MPTCP socket fd as one unit; 0: withdraw the last mark.
 * Returns 0, or -1 with errno set and a text in pams_error(). This only affects the schedule:
 * after an error the application may write the unit all the same. Waits for the socket like any
 * call on it, while another thread is within one.
 */
int pams_unit(struct pams *pams, int fd, uint64_t bytes);

/* Like pams_unit(), for the connection with this token (MPTCP_INFO); waits 0.1 s, then EBUSY. */
int pams_unit_by_token(struct pams *pams, uint32_t token, uint64_t bytes);

/* Why the last call failed, as one line; "" if it succeeded. */
const char *pams_error(const struct pams *pams);

/* Close the handle. pams may be NULL. */
void pams_close(struct pams *pams);

#ifdef __cplusplus
}
#endif

#endif
