/* SPDX-License-Identifier: GPL-2.0 */
/*
 * notify - tells systemd the service's state, as sd_notify(3) documents
 */
#ifndef PAMS_NOTIFY_H
#define PAMS_NOTIFY_H

void notify(const char *state);

#endif /* PAMS_NOTIFY_H */
