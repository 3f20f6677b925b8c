// SPDX-License-Identifier: GPL-2.0
/*
 * key - a path's key, parsed from words and shown as text
 *
 *	ADDRESS[/LENGTH] [port PORT]
 *	dev INTERFACE
 *	token TOKEN ids LOCAL REMOTE
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <inttypes.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "pamsctl.h"

#define KEYS	"ADDRESS[/LENGTH] [port PORT], dev INTERFACE or " \
		"token TOKEN ids LOCAL REMOTE"

/* Has it a letter that no address has, and no colon or prefix length, as addresses may have? */
static bool is_host_name(const char *text)
{
	return !strpbrk(text, ":/") &&
	       strpbrk(text, "ghijklmnopqrstuvwxyzGHIJKLMNOPQRSTUVWXYZ");
}

static bool is_same(const struct addrinfo *a, const struct addrinfo *b)
{
	return a->ai_addrlen == b->ai_addrlen &&
	       !memcmp(a->ai_addr, b->ai_addr, a->ai_addrlen);
}

/* Look up a host name. It must have a single address, as a path's key is one address. */
static int look_up(const char *name, int *family, uint8_t bytes[16])
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	char one[NI_MAXHOST], all[1024] = "";
	struct addrinfo *found, *at;
	size_t length = 0;
	bool several = false;
	int err;

	err = getaddrinfo(name, NULL, &hints, &found);
	if (err)
		return refuse(USAGE, "'%s' is not an address, and the host "
			      "can't be looked up: %s", name,
			      gai_strerror(err));
	for (at = found; at && length < sizeof(all); at = at->ai_next) {
		several |= !is_same(found, at);
		getnameinfo(at->ai_addr, at->ai_addrlen, one, sizeof(one),
			    NULL, 0, NI_NUMERICHOST);
		length += snprintf(all + length, sizeof(all) - length, "%s%s",
				   length ? ", " : "", one);
	}
	*family = found->ai_family;
	if (*family == AF_INET)
		memcpy(bytes, &((struct sockaddr_in *)found->ai_addr)->sin_addr,
		       4);
	else
		memcpy(bytes,
		       &((struct sockaddr_in6 *)found->ai_addr)->sin6_addr, 16);
	freeaddrinfo(found);
	return several ? refuse(USAGE, "'%s' has several addresses, name one "
				"of them: %s", name, all) : DONE;
}

static int parse_address(const char *text, struct words *words,
			 struct pams_path *path)
{
	const char *length = NULL;
	uint64_t number;
	uint8_t bytes[16];
	int family;

	if (is_host_name(text)) {
		if (look_up(text, &family, bytes))
			return USAGE;
	} else if (!inet_parse(text, &family, bytes, &length)) {
		return refuse(USAGE, "'%s' is not an address: a path is %s",
			      text, KEYS);
	}
	pams_path_key_address(path, family, bytes, 0);
	if (length) {
		if (parse_number("prefix length", length, 0,
				 path->prefix_len, &number))
			return USAGE;
		path->prefix_len = number;
	}
	if (next_is(words, "port")) {
		text = next_word(words);
		if (!text)
			return refuse(USAGE, "'port' lacks its value");
		if (parse_number("port", text, 1, 65535, &number))
			return USAGE;
		path->port = number;
	}
	return DONE;
}

/* Parse a token as ss -M shows it: hexadecimal, with or without 0x. */
int parse_token(const char *text, uint32_t *token)
{
	const char *digits = text;
	char *end;

	if (!strncmp(text, "0x", 2))
		digits += 2;
	*token = strtoul(digits, &end, 16);
	if (!isxdigit((unsigned char)*digits) || *end || strlen(digits) > 8)
		return refuse(USAGE, "'%s' is not a token: write it in "
				     "hexadecimal as ss -M does, e.g. "
				     "0x1a2b3c4d",
			      text);
	return DONE;
}

static int parse_subflow(struct words *words, struct pams_path *path)
{
	const char *text = next_word(words);
	uint64_t ids[2] = { };
	uint32_t token;
	int i;

	if (!text)
		return refuse(USAGE, "'token' lacks its value");
	if (parse_token(text, &token))
		return USAGE;
	if (!next_is(words, "ids"))
		return refuse(USAGE, "token %s: 'ids LOCAL REMOTE' is missing, "
				     "the address ids of its subflow",
			      text);
	for (i = 0; i < 2; i++) {
		text = next_word(words);
		if (!text)
			return refuse(USAGE, "ids takes two numbers, LOCAL "
					     "REMOTE");
		if (parse_number("address id", text, 0, 255, &ids[i]))
			return USAGE;
	}
	pams_path_key_token(path, token, ids[0], ids[1]);
	return DONE;
}

/* Parse an interface's name, or the index of one that no longer exists. */
static int parse_interface(struct words *words, struct pams_path *path)
{
	const char *text = next_word(words);
	uint64_t number;

	if (!text)
		return refuse(USAGE, "'dev' lacks its value");
	number = if_nametoindex(text);
	if (!number && text[strspn(text, "0123456789")])
		return refuse(USAGE, "dev '%s': there is no such interface "
			      "here", text);
	if (!number && parse_number("dev", text, 1, INT32_MAX, &number))
		return USAGE;
	pams_path_key_ifindex(path, number);
	return DONE;
}

int parse_key(struct words *words, struct pams_path *path)
{
	const char *text;

	if (next_is(words, "token"))
		return parse_subflow(words, path);
	if (next_is(words, "dev"))
		return parse_interface(words, path);
	text = next_word(words);
	if (!text)
		return refuse(USAGE, "the path's key is missing: " KEYS);
	return parse_address(text, words, path);
}

const char *show_address(char *buffer, int family, const void *address)
{
	if (!inet_ntop(family, address, buffer, INET6_ADDRSTRLEN))
		snprintf(buffer, 2, "?");
	return buffer;
}

const char *show_token(char *buffer, uint32_t token)
{
	snprintf(buffer, TOKEN_TEXT_MAX, "0x%08" PRIx32, token);
	return buffer;
}

/* Control characters, which a terminal obeys, are also U+0080 to U+009F, which have two bytes. */
char *show_utf8(char *text)
{
	json_t *string = json_string(text);

	for (char *at = text; *at; at++) {
		bool two = string && (uint8_t)at[0] == 0xc2 && (uint8_t)at[1] < 0xa0;

		if (two)
			*at++ = '?';
		if (two || iscntrl((unsigned char)*at) || (!string && *at & 0x80))
			*at = '?';
	}
	json_decref(string);
	return text;
}

const char *show_interface(char *buffer, uint32_t ifindex)
{
	if (!if_indextoname(ifindex, buffer))
		snprintf(buffer, IF_NAMESIZE, "%" PRIu32, ifindex);
	return show_utf8(buffer);
}

/* Show the key as the words that parse_key() takes. */
const char *show_key(char *buffer, const struct pams_path *path)
{
	int whole = path->family == AF_INET ? 32 : 128;
	char name[INET6_ADDRSTRLEN], prefix[8] = "", port[16] = "";

	switch (path->key) {
	case PAMS_KEY_ADDRESS:
		if (path->prefix_len != whole)
			snprintf(prefix, sizeof(prefix), "/%u",
				 path->prefix_len);
		if (path->port)
			snprintf(port, sizeof(port), " port %u", path->port);
		snprintf(buffer, KEY_TEXT_MAX, "%s%s%s",
			 show_address(name, path->family, path->address),
			 prefix, port);
		break;
	case PAMS_KEY_TOKEN:
		snprintf(buffer, KEY_TEXT_MAX,
			 "token 0x%08" PRIx32 " ids %u %u", path->token,
			 path->local_id, path->remote_id);
		break;
	case PAMS_KEY_IFINDEX:
		snprintf(buffer, KEY_TEXT_MAX, "dev %s",
			 show_interface(name, path->ifindex));
		break;
	}
	return buffer;
}

void add_key(json_t *object, const struct pams_path *path)
{
	char name[INET6_ADDRSTRLEN], token[TOKEN_TEXT_MAX];
	json_t *key = NULL;

	switch (path->key) {
	case PAMS_KEY_ADDRESS:
		key = json_pack("{s:s, s:i}", "address",
				show_address(name, path->family, path->address),
				"prefix_len", path->prefix_len);
		if (path->port)
			json_object_set_new(key, "port",
					    json_integer(path->port));
		break;
	case PAMS_KEY_TOKEN:
		key = json_pack("{s:s, s:i, s:i}", "token",
				show_token(token, path->token), "local_id",
				path->local_id, "remote_id", path->remote_id);
		break;
	case PAMS_KEY_IFINDEX:
		key = json_pack("{s:s, s:I}", "dev",
				show_interface(name, path->ifindex), "ifindex",
				(json_int_t)path->ifindex);
		break;
	}
	json_object_update(object, key);
	json_decref(key);
}
