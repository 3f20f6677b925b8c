// SPDX-License-Identifier: GPL-2.0
/*
 * xml - reads an XML file, element by element
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <expat.h>

#include "xml.h"

#define TEXT_BYTES	256

struct parsing {
	struct xml *xml;
	char text[TEXT_BYTES];	/* of the element that began last */
	size_t len;
};

/* An element's name without its namespace prefix. */
static const char *local(const char *name)
{
	const char *colon = strrchr(name, ':');

	return colon ? colon + 1 : name;
}

static void on_start(void *arg, const char *name, const char **attributes)
{
	struct parsing *parsing = arg;

	parsing->len = 0;
	if (!parsing->xml->fault)
		parsing->xml->begins(parsing->xml, local(name), attributes);
}

static void on_text(void *arg, const char *text, int len)
{
	struct parsing *parsing = arg;

	for (int i = 0; i < len && parsing->len < TEXT_BYTES - 1; i++)
		if (parsing->len || !isspace((unsigned char)text[i]))
			parsing->text[parsing->len++] = text[i];
}

static void on_end(void *arg, const char *name)
{
	struct parsing *parsing = arg;

	while (parsing->len && isspace((unsigned char)parsing->text[parsing->len - 1]))
		parsing->len--;
	parsing->text[parsing->len] = '\0';
	parsing->len = 0;
	if (!parsing->xml->fault)
		parsing->xml->ends(parsing->xml, local(name), parsing->text);
}

/* Parse the file line by line, so that a fault's line is known. */
static void parse(XML_Parser parser, struct xml *xml, FILE *file)
{
	enum XML_Status status = XML_STATUS_OK;
	char *line = NULL;
	size_t room = 0;
	ssize_t len = 0;

	while (len >= 0 && status == XML_STATUS_OK && !xml->fault) {
		xml->line++;
		len = getline(&line, &room, file);
		status = XML_Parse(parser, line, len > 0 ? len : 0, len < 0);
	}
	if (status != XML_STATUS_OK && !xml->fault)
		xml->fault = XML_ErrorString(XML_GetErrorCode(parser));
	free(line);
}

int xml_complain(const struct xml *xml, const char *name)
{
	if (!xml->fault)
		return 0;
	fprintf(stderr, "pams-predict: %s:%u: %s\n", name, xml->line, xml->fault);
	return -1;
}

int xml_read(struct xml *xml, const char *name)
{
	XML_Parser parser = XML_ParserCreate(NULL);
	struct parsing parsing = { .xml = xml };
	FILE *file = fopen(name, "re");

	xml->line = 0;
	xml->fault = NULL;
	if (!file) {
		perror(name);
	} else if (parser) {
		XML_SetUserData(parser, &parsing);
		XML_SetElementHandler(parser, on_start, on_end);
		XML_SetCharacterDataHandler(parser, on_text);
		parse(parser, xml, file);
	}
	if (file)
		fclose(file);
	if (parser)
		XML_ParserFree(parser);
	return file && parser ? xml_complain(xml, name) : -1;
}
