// SPDX-License-Identifier: GPL-2.0
/*
 * link - what pamsplit reads of an interface, here the loopback of a network
 * namespace of its own
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/userfaultfd.h>

#include "../pamsd/tap.h"
#include "own_network.h"
#include "pamsplit.h"

#define DATAGRAMS	10
#define PAYLOAD		1000

void say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
}

static bool name_loopback(const char *name, const char *new_name)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	struct ifreq request = { };
	bool done;

	snprintf(request.ifr_name, IFNAMSIZ, "%s", name);
	snprintf(request.ifr_newname, IFNAMSIZ, "%s", new_name);
	done = !ioctl(fd, SIOCSIFNAME, &request);
	close(fd);
	return done;
}

/* To a port where nobody listens. */
static void send_some(const char *interface, uint32_t address)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9) };
	int fd = socket(AF_INET, SOCK_DGRAM, 0), one = 1;
	char payload[PAYLOAD] = { };

	to.sin_addr.s_addr = htonl(address);
	setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, interface,
		   strlen(interface) + 1);
	for (unsigned int i = 0; i < DATAGRAMS; i++)
		sendto(fd, payload, sizeof(payload), 0, (struct sockaddr *)&to,
		       sizeof(to));
	close(fd);
}

static void what_came_is_counted(void)
{
	struct link *link = link_new("lo");
	uint64_t before = link_received_bytes(link);

	send_some("lo", INADDR_LOOPBACK);
	check(link_received_bytes(link) >= before + DATAGRAMS * PAYLOAD);
	link_free(link);
}

static void an_interface_goes_and_comes_back(void)
{
	struct link *link = link_new("lo");
	uint64_t before;

	send_some("lo", INADDR_LOOPBACK);
	before = link_received_bytes(link);
	check(before);
	check(set_loopback(false) && name_loopback("lo", "lo2"));
	check(!link_received_bytes(link));
	check(name_loopback("lo2", "lo") && set_loopback(true));
	check(link_received_bytes(link) >= before);
	link_free(link);
}

/* Of the network namespace in which it was opened. */
static void another_namespace_changes_nothing(void)
{
	struct link *link = link_new("lo");
	int own = open("/proc/self/ns/net", O_RDONLY);

	send_some("lo", INADDR_LOOPBACK);
	check(link_received_bytes(link));
	check(!unshare(CLONE_NEWNET));
	check(link_received_bytes(link));
	check(!setns(own, CLONE_NEWNET));
	close(own);
	link_free(link);
}

/* More than one page of lines; counted is the last. */
static void the_last_of_many_is_found(void)
{
	struct link *link = link_new("last");

	check(!system("for i in $(seq 60); do echo link add v$i type veth; done | ip -batch -"));
	check(!system("ip link add from type veth peer last"));
	check(!link_received_bytes(link));
	check(!system("ip link set from up && ip link set last up"));
	/* the kernel may take up to a second to notice that both ends are up */
	for (unsigned int tries = 30;
	     tries && link_received_bytes(link) < DATAGRAMS * PAYLOAD; tries--) {
		usleep(100 * 1000);
		send_some("from", INADDR_BROADCAST);
	}
	check(link_received_bytes(link) >= DATAGRAMS * PAYLOAD);
	link_free(link);
}

/*
 * SIOCGIFCONF holds RTNL while it writes to memory that nobody provides: until
 * the process is killed, by its timer after 10 s.
 */
static void hold_rtnl(void)
{
	const struct itimerval timer = { .it_value.tv_sec = 10 };
	int size = getpagesize(), fd = socket(AF_INET, SOCK_DGRAM, 0);
	int faults = syscall(SYS_userfaultfd, O_CLOEXEC);
	char *missing = mmap(NULL, size, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_register wanted = {
		.range = { (uintptr_t)missing, size },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	struct uffdio_api api = { .api = UFFD_API };
	struct ifconf request = { .ifc_len = size, .ifc_buf = missing };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGALRM, SIG_DFL);
	if (faults < 0 || ioctl(faults, UFFDIO_API, &api) ||
	    ioctl(faults, UFFDIO_REGISTER, &wanted))
		_exit(1);
	setitimer(ITIMER_REAL, &timer, NULL);
	ioctl(fd, SIOCGIFCONF, &request);
	_exit(1);
}

static void nobody_who_holds_rtnl_is_waited_for(void)
{
	struct link *link = link_new("lo");
	int status = 0, pid;

	send_some("lo", INADDR_LOOPBACK);
	pid = fork();
	if (!pid)
		hold_rtnl();
	usleep(200000);
	check(link_received_bytes(link));
	check(!waitpid(pid, &status, WNOHANG));	/* it holds it still */
	kill(pid, SIGTERM);
	waitpid(pid, &status, 0);
	check(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	link_free(link);
}

/* It takes a privilege, or the system's leave. */
static bool may_hold_rtnl(void)
{
	int faults = syscall(SYS_userfaultfd, O_CLOEXEC);

	if (faults >= 0)
		close(faults);
	return faults >= 0;
}

int main(void)
{
	if (!own_network()) {
		skip(link, "no network namespace of one's own");
		return tap_end();
	}
	run(what_came_is_counted);
	run(an_interface_goes_and_comes_back);
	run(another_namespace_changes_nothing);
	run(the_last_of_many_is_found);
	if (may_hold_rtnl())
		run(nobody_who_holds_rtnl_is_waited_for);
	else
		skip(nobody_who_holds_rtnl_is_waited_for, "without userfaultfd");
	return tap_end();
}
