// SPDX-License-Identifier: GPL-2.0
/*
 * confine - drops privileges and system calls that the worker doesn't need
 *
 * After it has opened all files, the worker becomes another user. It keeps only
 * CAP_NET_ADMIN, without which the kernel accepts no verdict from it, and the few
 * system calls of its loop.
 */
#include <ctype.h>
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>
#include <seccomp.h>

#include "pamsplit.h"

static int keep_only(uint32_t caps)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2] = {
		{ .permitted = caps, .effective = caps },
	};

	return syscall(SYS_capset, &header, data);
}

/* 0 is root, which isn't confined, and -1 tells setresuid() to change nothing. */
static bool is_confined(uint64_t id)
{
	return id && id < UINT32_MAX;
}

/* Find a user by name or, where there is no such name, by number. 0, or -1 after a message. */
int confine_find(const char *user, uid_t *uid, gid_t *gid)
{
	const struct passwd *entry = getpwnam(user);
	unsigned long long number = 0;
	char *end;

	errno = 0;
	if (!entry)
		number = strtoull(user, &end, 10);
	if (!entry && (!isdigit((unsigned char)*user) || *end)) {
		say("--user: there is no user '%s'", user);
		return -1;
	}
	*uid = entry ? entry->pw_uid : number;
	*gid = entry ? entry->pw_gid : number;
	if (!errno && is_confined(entry ? *uid : number) && is_confined(*gid))
		return 0;
	say("--user '%s': neither 0, which is root, nor beyond %u, for the user and its group",
	    user, UINT32_MAX - 1);
	return -1;
}

int confine_user(const char *user)
{
	uid_t uid;
	gid_t gid;

	if (confine_find(user, &uid, &gid))
		return -1;
	for (int cap = 0; !prctl(PR_CAPBSET_DROP, cap, 0, 0, 0); cap++)
		;
	if (!prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) && !setgroups(0, NULL) &&
	    !setresgid(gid, gid, gid) && !setresuid(uid, uid, uid) &&
	    !keep_only(1 << CAP_NET_ADMIN) &&
	    !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	    !prctl(PR_SET_PDEATHSIG, SIGKILL))	/* setresuid() has cleared it */
		return 0;
	say("--user: can't become '%s': %s", user, strerror(errno));
	return -1;
}

/* The system calls of the worker's loop and exit, of malloc() and of libevent. */
static const int allowed[] = {
	SCMP_SYS(recvmmsg), SCMP_SYS(sendmmsg), SCMP_SYS(sendto),
	SCMP_SYS(sendmsg), SCMP_SYS(recvfrom), SCMP_SYS(recvmsg),
	SCMP_SYS(read), SCMP_SYS(write), SCMP_SYS(writev), SCMP_SYS(close),
	SCMP_SYS(accept), SCMP_SYS(accept4), SCMP_SYS(fcntl),
	SCMP_SYS(epoll_wait), SCMP_SYS(epoll_pwait), SCMP_SYS(epoll_pwait2),
	SCMP_SYS(epoll_ctl), SCMP_SYS(timerfd_settime),
	SCMP_SYS(clock_gettime), SCMP_SYS(gettimeofday),
	SCMP_SYS(brk), SCMP_SYS(mmap), SCMP_SYS(munmap), SCMP_SYS(mremap),
	SCMP_SYS(madvise), SCMP_SYS(futex), SCMP_SYS(getrandom),
	SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn), SCMP_SYS(restart_syscall),
	SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(tgkill),
	SCMP_SYS(exit), SCMP_SYS(exit_group), SCMP_SYS(fstat),
	SCMP_SYS(newfstatat), SCMP_SYS(shutdown),
	SCMP_SYS(pread64),	/* link.c, queue.c */
	/* the same on 32-bit machines, and what musl calls first on them */
	SCMP_SYS(recvmmsg_time64), SCMP_SYS(clock_gettime64),
	SCMP_SYS(timerfd_settime64), SCMP_SYS(futex_time64), SCMP_SYS(mmap2),
	SCMP_SYS(send), SCMP_SYS(recv), SCMP_SYS(fcntl64), SCMP_SYS(fstat64),
	SCMP_SYS(mprotect),	/* musl's malloc where brk() finds no room */
};

int confine_calls(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int error = filter ? 0 : -ENOMEM;

	for (unsigned int i = 0; !error && i < ARRAY_LEN(allowed); i++) {
		error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[i], 0);
		if (error == -EDOM || error == -EFAULT)
			error = 0;	/* no such system call on this architecture */
	}
	/* notify() opens a Unix socket for each message */
	if (!error)
		error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(socket), 1,
					 SCMP_A0(SCMP_CMP_EQ, AF_UNIX));
	/* control.c enlarges the socket's buffer for a long answer */
	if (!error)
		error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(setsockopt), 2,
					 SCMP_A1(SCMP_CMP_EQ, SOL_SOCKET),
					 SCMP_A2(SCMP_CMP_EQ, SO_SNDBUFFORCE));
	if (!error)
		error = seccomp_load(filter);
	if (filter)
		seccomp_release(filter);
	if (!error)
		return 0;
	say("the system calls can't be limited: %s", strerror(-error));
	return -1;
}
