// SPDX-License-Identifier: GPL-2.0
/*
 * pair - prints the configuration of pamsd for both ends, with a new key
 *
 * It writes no file: the text is for people to read and to paste, the JSON for
 * pair_read.c at both ends.
 */
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "pair.h"
#include "pamsctl.h"

#define LINKS_MAX	8

static void print_server(FILE *to, const char *name)
{
	fprintf(to, "server {\n\tpeer \"%s\" {\n"
		"\t\tkey-file = \"/etc/pamsd/%s.key\"\n\t}\n}\n", name, name);
}

static void print_reporter(FILE *to, const char *name, const char *server,
			   const char * const *links, int count)
{
	fprintf(to, "reporter {\n\tto \"server\" {\n\t\taddress = \"%s\"\n"
		"\t\tkey-file = \"/etc/pamsd/%s.key\"\n\t\tvia = {", server,
		name);
	for (int i = 0; i < count; i++)
		fprintf(to, "%s\"%s\"", i ? ", " : "", links[i]);
	fputs("}\n\t}\n", to);
	for (int i = 0; i < count; i++)
		fprintf(to, "\tinterface \"%s\" { }\n", links[i]);
	fputs("}\n", to);
}

/* Close the stream of open_memstream(). The text that was written to it, as JSON. */
static json_t *text_of(FILE *stream, char **text, size_t *length)
{
	json_t *value;

	fclose(stream);
	value = json_stringn(*text, *length);
	free(*text);
	return value;
}

static int print_as_json(const char *name, const char *server, const char *key,
			 const char * const *links, int count)
{
	json_t *object = json_pack("{s:s, s:s}", "name", name, "key", key);
	char *text;
	size_t length;
	FILE *stream;

	stream = open_memstream(&text, &length);
	print_server(stream, name);
	json_object_set_new(object, "server", text_of(stream, &text, &length));
	stream = open_memstream(&text, &length);
	print_reporter(stream, name, server, links, count);
	json_object_set_new(object, "reporter",
			    text_of(stream, &text, &length));
	return print_json(object);
}

static void print(const char *name, const char *server, const char *key,
		  const char * const *links, int count)
{
	/* the second line is the first one's input, so the key isn't in the shell's history */
	printf("# 1. On both machines, as root: the same key, which only root "
	       "can read. Both lines.\n"
	       "(umask 077; read -r key; echo \"$key\" >/etc/pamsd/%s.key)\n"
	       "%s\n\n"
	       "# 2. On the server (%s), in /etc/pamsd/pamsd.conf. A firewall "
	       "has to let\n# UDP port 5230 pass.\n", name, key, server);
	print_server(stdout, name);
	printf("\n# 3. On %s, in /etc/pamsd/pamsd.conf:\n", name);
	print_reporter(stdout, name, server, links, count);
	printf("\n# 4. On both, as root:\n%s\n", pamsd_enable);
	if (procd_is_here())
		printf("# on OpenWrt, as here, %s\n", pamsd_enable_uci);
}

int pair_command(struct words *words)
{
	static const char * const usual[] = { "eth0", "wlan0" };
	const char *name = next_word(words), *server = next_word(words);
	const char *links[LINKS_MAX];
	unsigned char bytes[PAIR_KEY_BYTES];
	char key[PAIR_KEY_TEXT];
	int count = 0, status = DONE;

	if (sodium_init() < 0)
		return refuse(FAILED, "libsodium can't be used here");
	if (options.given & OPT_READ) {
		if (no_more_words(words))
			return USAGE;
		return server ? refuse(USAGE, "unexpected argument '%s'",
				       server) :
				pair_read(options.read, name ?: "/etc/pamsd");
	}
	if (!name || !server)
		return refuse(USAGE, "pair needs a name for the machine that "
			      "reports, and the server's address");
	if (!is_name(name))
		return refuse(USAGE, "'%s' can't be a name: letters, digits, "
			      "'.', '_' and '-'", name);
	while (words->left && count < LINKS_MAX)
		links[count++] = next_word(words);
	if (no_more_words(words))
		return USAGE;
	randombytes_buf(bytes, sizeof(bytes));
	sodium_bin2base64(key, sizeof(key), bytes, sizeof(bytes),
			  sodium_base64_VARIANT_ORIGINAL);
	if (options.json)
		status = print_as_json(name, server, key,
				       count ? links : usual, count ?: 2);
	else
		print(name, server, key, count ? links : usual, count ?: 2);
	sodium_memzero(bytes, sizeof(bytes));
	sodium_memzero(key, sizeof(key));
	return status;
}
