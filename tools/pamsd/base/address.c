// SPDX-License-Identifier: GPL-2.0
/*
 * address - addresses with ports, and prefixes
 *
 * All are numeric, except that a server to report to may be given by name.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base.h"

/* Parse a text that is a decimal number up to max and nothing else. Returns -1 if it isn't. */
static long number(const char *text, long max)
{
	char *end;
	long value;

	if (*text < '0' || *text > '9')
		return -1;
	value = strtol(text, &end, 10);
	return *end || value > max ? -1 : value;
}

const char *prefix_parse(struct prefix *prefix, const char *text)
{
	char address[INET6_ADDRSTRLEN];
	const char *slash = strchr(text, '/');
	size_t len = slash ? (size_t)(slash - text) : strlen(text);
	long bits, max;

	memset(prefix, 0, sizeof(*prefix));
	if (len >= sizeof(address))
		return "is not an address or prefix";
	memcpy(address, text, len);
	address[len] = '\0';
	if (inet_pton(AF_INET, address, prefix->address) == 1)
		prefix->family = AF_INET;
	else if (inet_pton(AF_INET6, address, prefix->address) == 1)
		prefix->family = AF_INET6;
	else
		return "is not an address or prefix";
	max = prefix->family == AF_INET ? 32 : 128;
	bits = slash ? number(slash + 1, max) : max;
	if (bits < 0)
		return prefix->family == AF_INET ?
		       "has a prefix length that is not 0 to 32" :
		       "has a prefix length that is not 0 to 128";
	prefix->len = bits;
	return NULL;
}

const char *address_parse(union address *address, const char *text,
			  uint16_t port)
{
	static const char wrong[] =
		"is not ADDRESS, ADDRESS:PORT or [ADDRESS]:PORT in numbers";
	char host[INET6_ADDRSTRLEN];
	const char *start = text, *end, *port_text = NULL;

	memset(address, 0, sizeof(*address));
	if (*text == '[') {
		start = text + 1;
		end = strchr(start, ']');
		if (!end || (end[1] && end[1] != ':'))
			return wrong;
		if (end[1])
			port_text = end + 2;
	} else {
		end = strchr(text, ':');
		if (end && !strchr(end + 1, ':'))
			port_text = end + 1;
		else
			end = text + strlen(text);
	}
	if ((size_t)(end - start) >= sizeof(host))
		return wrong;
	memcpy(host, start, end - start);
	host[end - start] = '\0';
	if (port_text) {
		long value = number(port_text, UINT16_MAX);

		if (value <= 0)
			return "has a port that is not 1 to 65535";
		port = value;
	}
	if (*text != '[' && inet_pton(AF_INET, host, &address->in.sin_addr)) {
		address->in.sin_family = AF_INET;
		address->in.sin_port = htons(port);
	} else if (inet_pton(AF_INET6, host, &address->in6.sin6_addr)) {
		address->in6.sin6_family = AF_INET6;
		address->in6.sin6_port = htons(port);
	} else {
		return wrong;
	}
	return NULL;
}

/* Is it letters, digits, '-' and '_' between dots, and the last label not a number? */
static bool is_name(const char *name)
{
	const char *label = name;

	for (const char *at = name; ; at++) {
		if (*at && *at != '.') {
			if (!isalnum((unsigned char)*at) && *at != '-' &&
			    *at != '_')
				return false;
			continue;
		}
		if (at == label || at - label > 63)
			return false;
		if (!*at)
			return strspn(label, "0123456789") <
			       (size_t)(at - label);
		label = at + 1;
	}
}

const char *server_parse(union address *address, struct host *host,
			 const char *text, uint16_t port)
{
	static const char neither[] = "is not ADDRESS, ADDRESS:PORT or "
				      "[ADDRESS]:PORT in numbers, nor a name";
	const char *wrong = address_parse(address, text, port);
	const char *colon = strchr(text, ':');
	size_t len = colon ? (size_t)(colon - text) : strlen(text);
	long value = port;

	memset(host, 0, sizeof(*host));
	if (!wrong)
		return NULL;
	memset(address, 0, sizeof(*address));
	if (len >= sizeof(host->name))
		return neither;
	memcpy(host->name, text, len);
	if (!is_name(host->name)) {
		host->name[0] = '\0';
		return neither;
	}
	if (colon)
		value = number(colon + 1, UINT16_MAX);
	if (value <= 0)
		return "has a port that is not 1 to 65535";
	snprintf(host->port, sizeof(host->port), "%u", (uint16_t)value);
	return NULL;
}

bool prefix_contains(const struct prefix *outer, const struct prefix *inner)
{
	unsigned int bytes = outer->len / 8, bits = outer->len % 8;

	if (outer->family != inner->family || outer->len > inner->len ||
	    memcmp(outer->address, inner->address, bytes))
		return false;
	return !bits ||
	       !((outer->address[bytes] ^ inner->address[bytes]) >> (8 - bits));
}

void prefix_cut(struct prefix *prefix)
{
	unsigned int bytes = prefix->len / 8, bits = prefix->len % 8;

	if (bits)
		prefix->address[bytes++] &= 0xff << (8 - bits);
	memset(prefix->address + bytes, 0, sizeof(prefix->address) - bytes);
}

bool prefix_is_multicast(const struct prefix *prefix)
{
	if (prefix->family == AF_INET)
		return prefix->len >= 4 && prefix->address[0] >> 4 == 14;
	return prefix->len >= 8 && prefix->address[0] == 0xff;
}

void prefix_of(struct prefix *prefix, const union address *address)
{
	memset(prefix, 0, sizeof(*prefix));
	prefix->family = address->sa.sa_family;
	if (prefix->family == AF_INET) {
		memcpy(prefix->address, &address->in.sin_addr, 4);
		prefix->len = 32;
	} else {
		memcpy(prefix->address, &address->in6.sin6_addr, 16);
		prefix->len = 128;
	}
}

/* A label begins with the name; no name has a colon. */
int addresses_read(struct ifaddrs **all)
{
	if (getifaddrs(all))
		return -1;
	for (struct ifaddrs *one = *all; one; one = one->ifa_next)
		one->ifa_name[strcspn(one->ifa_name, ":")] = '\0';
	return 0;
}

bool address_is_loopback(const union address *address)
{
	if (address->sa.sa_family == AF_INET)
		return ntohl(address->in.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	return IN6_IS_ADDR_LOOPBACK(&address->in6.sin6_addr);
}

socklen_t address_len(const union address *address)
{
	return address->sa.sa_family == AF_INET ? sizeof(address->in) :
						  sizeof(address->in6);
}

const char *address_text(char text[ADDRESS_TEXT], const union address *address)
{
	char host[INET6_ADDRSTRLEN] = "?";

	if (address->sa.sa_family == AF_INET) {
		inet_ntop(AF_INET, &address->in.sin_addr, host, sizeof(host));
		snprintf(text, ADDRESS_TEXT, "%s:%u", host,
			 ntohs(address->in.sin_port));
	} else {
		inet_ntop(AF_INET6, &address->in6.sin6_addr, host,
			  sizeof(host));
		snprintf(text, ADDRESS_TEXT, "[%s]:%u", host,
			 ntohs(address->in6.sin6_port));
	}
	return text;
}

const char *prefix_text(char text[ADDRESS_TEXT], const struct prefix *prefix)
{
	char host[INET6_ADDRSTRLEN] = "?";

	inet_ntop(prefix->family, prefix->address, host, sizeof(host));
	snprintf(text, ADDRESS_TEXT, "%s/%u", host, prefix->len);
	return text;
}

bool link_prefers_temporary(const char *name)
{
	char path[64 + IF_NAMESIZE];
	int value = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/sys/net/ipv6/conf/%s/use_tempaddr",
		 name);
	file = fopen(path, "re");
	if (file && fscanf(file, "%d", &value) != 1)
		value = 0;
	if (file)
		fclose(file);
	return value > 1;
}
