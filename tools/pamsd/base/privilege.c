// SPDX-License-Identifier: GPL-2.0
/*
 * privilege - drops privileges of the daemon and of its plugins, see capabilities(7)
 *
 * Only the module's path table and the tokens of subflows need a privilege,
 * CAP_NET_ADMIN. The daemon keeps it if its configuration needs one of the two; a
 * plugin never has it. CAP_NET_RAW is needed only at the start, see traffic.c, as are CAP_BPF and
 * CAP_PERFMON, see begin.c.
 */
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base.h"

#define NET_ADMIN	CAP_TO_MASK(CAP_NET_ADMIN)
#define NET_RAW		CAP_TO_MASK(CAP_NET_RAW)
/* of the second part */
#define BPF		(CAP_TO_MASK(CAP_BPF) | CAP_TO_MASK(CAP_PERFMON))

/* Capabilities 0 to 31, and 32 to 63. */
struct capabilities {
	struct __user_cap_data_struct part[_LINUX_CAPABILITY_U32S_3];
};

static int get(struct capabilities *caps)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};

	memset(caps, 0, sizeof(*caps));
	return syscall(SYS_capget, &header, caps->part);
}

static int set(const struct capabilities *caps)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};

	return syscall(SYS_capset, &header, caps->part);
}

/* Keep programs that are executed later from gaining capabilities, if this process may do that. */
static void empty_bounding_set(void)
{
	for (int cap = 0; !prctl(PR_CAPBSET_DROP, cap, 0, 0, 0); cap++)
		;
}

static int become(const char *user, bool to_tell)
{
	const struct passwd *entry = getpwnam(user);
	struct capabilities caps = { };

	if (!entry) {
		say("--user: there is no user '%s'", user);
		return -1;
	}
	caps.part[0].permitted = to_tell ? NET_ADMIN : 0;
	caps.part[0].effective = caps.part[0].permitted;
	empty_bounding_set();
	if (!prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) && !setgroups(0, NULL) &&
	    !setresgid(entry->pw_gid, entry->pw_gid, entry->pw_gid) &&
	    !setresuid(entry->pw_uid, entry->pw_uid, entry->pw_uid) &&
	    !set(&caps) && !prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0))
		return 0;
	say("--user: can't become '%s': %s", user, strerror(errno));
	return -1;
}

int privilege_drop(const char *user, bool to_tell)
{
	__u32 rest = ~(to_tell ? NET_RAW : NET_RAW | NET_ADMIN);
	struct capabilities caps;

	if (user)
		return become(user, to_tell);
	if (!get(&caps)) {
		caps.part[0].effective &= rest;
		caps.part[0].permitted &= rest;
		caps.part[0].inheritable &= rest;
		caps.part[1].effective &= ~BPF;
		caps.part[1].permitted &= ~BPF;
		caps.part[1].inheritable &= ~BPF;
		if (!set(&caps))
			return 0;
	}
	say("can't give up capabilities: %s", strerror(errno));
	return -1;
}

/* Clearing the inheritable capabilities clears the ambient ones, too. */
int privilege_drop_all(void)
{
	const struct capabilities none = { };

	empty_bounding_set();
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ?: set(&none);
}
