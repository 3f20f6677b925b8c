// SPDX-License-Identifier: GPL-2.0
/*
 * csv - reads access points from CSV files
 *
 * The first line names the columns, with the names in aps.c. Empty lines and lines
 * that begin with # are ignored, and so is a byte order mark.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "aps.h"
#include "predict.h"

#define COLUMNS_MAX	32

/*
 * Split a line at its commas, in place. A field in quotes may contain commas, and
 * quotes that are doubled. The number of fields; 0 if the line is malformed.
 */
static unsigned int split(char *line, char *fields[COLUMNS_MAX])
{
	unsigned int count = 0;
	char *to = line;

	for (;;) {
		bool quoted = *line == '"';

		if (count == COLUMNS_MAX)
			return 0;
		fields[count++] = to;
		line += quoted;
		while (*line && (quoted || *line != ',')) {
			if (quoted && *line == '"' && *++line != '"') {
				quoted = false;
				continue;
			}
			*to++ = *line++;
		}
		if (quoted)
			return 0;
		if (!*line) {
			*to = '\0';
			return count;
		}
		line++;
		*to++ = '\0';
	}
}

struct csv {
	char *header;		/* the first line, into which names[] points */
	char *names[COLUMNS_MAX];
	unsigned int columns;	/* 0 until the first line is read */
};

static bool has_column(const struct csv *csv, const char *name)
{
	for (unsigned int i = 0; i < csv->columns; i++)
		if (!strcasecmp(csv->names[i], name))
			return true;
	return false;
}

/* WiGLE's app writes its own name into the first line, which others leave out. */
#define WIGLE	"WigleWifi-"

static const char *csv_header(struct csv *csv, const char *line)
{
	static const char wigle[] =
		"this is WiGLE's log of where networks were heard, not of where they are";

	if (!strncmp(line, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)))
		line += strlen(BYTE_ORDER_MARK);
	if (!strncmp(line, WIGLE, strlen(WIGLE)))
		return wigle;
	csv->header = strdup(line);
	if (csv->header)
		csv->columns = split(csv->header, csv->names);
	if (!csv->columns)
		return "the names of the columns can't be read";
	if (has_column(csv, "CurrentLatitude"))
		return wigle;
	if (!has_column(csv, "latitude") || !has_column(csv, "longitude"))
		return "no column is called latitude, or none longitude";
	return NULL;
}

static const char *csv_line(struct csv *csv, char *line, struct aps *aps,
			    const struct pathloss *model)
{
	struct ap_text text = { };
	char *fields[COLUMNS_MAX];
	unsigned int count;
	const char *fault;

	line[strcspn(line, "\r\n")] = '\0';
	if (!*line || *line == '#')
		return NULL;
	if (!csv->columns)
		return csv_header(csv, line);
	count = split(line, fields);
	if (count != csv->columns)
		return "the line hasn't as many fields as the first one";
	for (unsigned int i = 0; i < count; i++) {
		fault = ap_text_set(&text, csv->names[i], fields[i]);
		if (fault)
			return fault;
	}
	return aps_add(aps, &text, model);
}

int csv_aps_read(struct aps *aps, const char *name,
		 const struct pathloss *model)
{
	FILE *file = fopen(name, "re");
	const char *fault = NULL;
	struct csv csv = { };
	size_t number = 0, room = 0;
	char *line = NULL;

	if (!file) {
		perror(name);
		return -1;
	}
	while (!fault && getline(&line, &room, file) >= 0) {
		number++;
		fault = csv_line(&csv, line, aps, model);
	}
	if (fault)
		fprintf(stderr, "pams-predict: %s:%zu: %s\n", name, number,
			fault);
	free(csv.header);
	free(line);
	fclose(file);
	return fault ? -1 : 0;
}
