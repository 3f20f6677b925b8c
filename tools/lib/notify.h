/* SPDX-License-Identifier: GPL-2.0 */
/*
 * notify - tells systemd how the service is, as sd_notify(3) documents it
 */
#ifndef PAMS_NOTIFY_H
#define PAMS_NOTIFY_H

void notify(const char *state);

#endif /* PAMS_NOTIFY_H */
