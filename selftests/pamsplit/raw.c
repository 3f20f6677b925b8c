// SPDX-License-Identifier: GPL-2.0
/*
 * raw - that a packet too large for its interface is told of, with its MTU
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../pamsd/tap.h"
#include "own_network.h"
#include "packet.h"
#include "pamsplit.h"

#define MTU	1300

static unsigned int told;
static uint32_t told_mtu;
static size_t told_len;

void say(const char *format, ...)
{
	(void)format;
}

static void on_large(void *arg, uint8_t *data, size_t len, uint32_t mtu)
{
	(void)arg;
	(void)data;
	told++;
	told_len = len;
	told_mtu = mtu;
}

static bool set_mtu(void)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_mtu = MTU };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	bool done = !ioctl(fd, SIOCSIFMTU, &request);

	close(fd);
	return done;
}

static void put(struct raw *raw, bool v6, uint16_t len)
{
	uint8_t packet[2000] = { };

	if (v6) {
		packet[0] = 0x60;
		packet[6] = 6;
		packet[7] = 64;
		packet[23] = 1;		/* ::1 */
		packet[39] = 1;
	} else {
		packet[0] = 0x45;
		packet[6] = 0x40;
		packet[8] = 64;
		packet[9] = 6;
		put32(packet + 12, 0x7f000001);
		put32(packet + 16, 0x7f000001);
	}
	packet[(v6 ? 40 : 20) + 12] = 5 << 4;
	packet_set_len(packet, len);
	packet_seal(packet, len);
	raw_put(raw, TO_CLIENT, packet, len);
}

static void largest(bool v6)
{
	struct raw *raw = raw_new();

	if (!check(raw))
		return;
	told = 0;
	raw_on_large(raw, on_large, NULL);
	put(raw, v6, MTU);
	put(raw, v6, MTU + 50);
	put(raw, v6, MTU);
	put(raw, v6, MTU + 51);
	raw_flush(raw);
	check(told == 2 && told_mtu == MTU && told_len == MTU + 51);
	check(raw_failed(raw) == 2);
	raw_free(raw);
}

static void too_large_for_ipv4(void)
{
	largest(false);
}

static void too_large_for_ipv6(void)
{
	largest(true);
}

int main(void)
{
	if (!own_network() || !set_mtu()) {
		skip(too_large_for_ipv4, "no namespace of its own here");
		skip(too_large_for_ipv6, "no namespace of its own here");
		return tap_end();
	}
	run(too_large_for_ipv4);
	if (access("/proc/net/if_inet6", F_OK))
		skip(too_large_for_ipv6, "no IPv6 here");
	else
		run(too_large_for_ipv6);
	return tap_end();
}
