// SPDX-License-Identifier: GPL-2.0
/*
 * privilege - what the daemon and its plugins may do
 *
 * Only the kernel's path table needs a privilege, CAP_NET_ADMIN. The daemon
 * keeps it if it has something to tell the kernel, and a plugin never has it.
 */
#include <cap-ng.h>
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "pamsd.h"

bool privilege_to_tell(void)
{
	capng_get_caps_process();
	return capng_have_capability(CAPNG_EFFECTIVE, CAP_NET_ADMIN);
}

static int become(const char *user, bool to_tell)
{
	const struct passwd *entry = getpwnam(user);

	if (!entry) {
		say("--user: there is no user '%s'", user);
		return -1;
	}
	capng_clear(CAPNG_SELECT_BOTH);
	if (to_tell)
		capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED,
			     CAP_NET_ADMIN);
	if (!capng_change_id(entry->pw_uid, entry->pw_gid,
			     CAPNG_DROP_SUPP_GRP | CAPNG_CLEAR_BOUNDING))
		return 0;
	say("--user: can't become '%s': it needs root", user);
	return -1;
}

int privilege_drop(const char *user, bool to_tell)
{
	if (user)
		return become(user, to_tell);
	if (to_tell || !privilege_to_tell())
		return 0;
	capng_update(CAPNG_DROP, CAPNG_EFFECTIVE | CAPNG_PERMITTED |
		     CAPNG_INHERITABLE, CAP_NET_ADMIN);
	if (!capng_apply(CAPNG_SELECT_CAPS))
		return 0;
	say("can't give up CAP_NET_ADMIN");
	return -1;
}

/*
 * Root's programs get all that the bounding set leaves them. It is emptied
 * where that is allowed, which is where there would be something to get.
 */
void privilege_drop_all(void)
{
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	capng_get_caps_process();
	capng_clear(CAPNG_SELECT_BOTH);
	if (capng_apply(CAPNG_SELECT_BOTH))
		capng_apply(CAPNG_SELECT_CAPS);
}
