// SPDX-License-Identifier: GPL-2.0
/*
 * table - columns under their headings, as wide as the terminal
 *
 * A column may have a rank. Where the columns are wider than the terminal, the
 * one with the highest rank is left out, then the next; a column without a rank
 * is always shown. A row's notes are printed behind it if all rows have room for
 * theirs, else below it.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "pamsctl.h"

#define COLUMNS_MAX	20
#define GAP		2
#define NOTE_INDENT	6
#define WIDTH_DEFAULT	80

struct column {
	char name[16];
	bool right;		/* right-aligned */
	int rank;		/* 0: always shown */
	int width;
	bool hidden;
};

struct row {
	char *cell[COLUMNS_MAX];
	char *note;		/* lines, or NULL */
};

struct table {
	struct column column[COLUMNS_MAX];
	int columns;
	struct row *row;
	int rows;
	int cells;		/* filled so far in the last row */
};

int terminal_width(void)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	int width = columns ? atoi(columns) : 0;

	if (width <= 0 && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
		width = size.ws_col;
	return width > 0 ? width : WIDTH_DEFAULT;
}

static void *checked(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

struct table *table_new(const char *headings)
{
	struct table *table = checked(calloc(1, sizeof(*table)));

	while (*headings && table->columns < COLUMNS_MAX) {
		struct column *column = &table->column[table->columns++];
		size_t length = strcspn(headings, " >:");

		snprintf(column->name, sizeof(column->name), "%.*s",
			 (int)length, headings);
		column->width = strlen(column->name);
		headings += length;
		column->right = *headings == '>';
		headings += column->right;
		if (*headings == ':')
			column->rank = strtol(headings + 1, (char **)&headings,
					      10);
		headings += strspn(headings, " ");
	}
	return table;
}

void table_row(struct table *table)
{
	table->row = checked(reallocarray(table->row, table->rows + 1,
					  sizeof(*table->row)));
	memset(&table->row[table->rows++], 0, sizeof(*table->row));
	table->cells = 0;
}

void table_cell(struct table *table, const char *text)
{
	struct column *column = &table->column[table->cells];
	int width = strlen(text);

	table->row[table->rows - 1].cell[table->cells++] =
		checked(strdup(text));
	if (width > column->width)
		column->width = width;
}

void table_number(struct table *table, uint64_t number)
{
	char text[QUANTITY_MAX];

	table_cell(table, show_count(text, number));
}

/* Add a note to the last row; it gets its own line where notes are below their rows. */
void table_note(struct table *table, const char *text)
{
	struct row *row = &table->row[table->rows - 1];
	char *note;

	if (asprintf(&note, "%s%s%s", row->note ?: "", row->note ? "\n" : "",
		     text) < 0)
		abort();
	free(row->note);
	row->note = note;
}

static int width_of(const struct table *table)
{
	int width = -GAP;

	for (int i = 0; i < table->columns; i++)
		if (!table->column[i].hidden)
			width += table->column[i].width + GAP;
	return width;
}

static void hide_what_has_no_room(struct table *table, int room)
{
	while (width_of(table) > room) {
		struct column *highest = NULL;

		for (int i = 0; i < table->columns; i++) {
			struct column *column = &table->column[i];

			if (!column->hidden && column->rank &&
			    (!highest || column->rank > highest->rank))
				highest = column;
		}
		if (!highest)
			return;
		highest->hidden = true;
	}
}

/* The longest notes of a row, printed in one line. */
static int note_width(const struct table *table)
{
	int width = 0, length;

	for (int i = 0; i < table->rows; i++) {
		length = table->row[i].note ? strlen(table->row[i].note) : 0;
		if (length > width)
			width = length;
	}
	return width;
}

static void emit_row(const struct table *table, const struct row *row,
		     int indent, bool beside, line_fn emit, void *arg)
{
	char line[TABLE_LINE_MAX];
	int length = snprintf(line, sizeof(line), "%*s", indent, "");
	int end;

	for (int i = 0; i < table->columns; i++) {
		const struct column *column = &table->column[i];
		const char *text = row ? row->cell[i] ?: "" : column->name;

		if (column->hidden || length >= (int)sizeof(line) - 1)
			continue;
		length += snprintf(line + length, sizeof(line) - length,
				   "%*s%*s", i ? GAP : 0, "",
				   column->right ? column->width :
						   -column->width, text);
	}
	if (length >= (int)sizeof(line))
		length = sizeof(line) - 1;
	if (beside && row && row->note) {
		end = length;
		snprintf(line + end, sizeof(line) - end, "%*s%s", GAP, "",
			 row->note);
		for (char *at = line + end; *at; at++)
			if (*at == '\n')
				*at = ' ';
		length = strlen(line);
	}
	while (length && line[length - 1] == ' ')
		line[--length] = 0;
	emit(line, arg);
}

static void emit_notes(const char *notes, int indent, line_fn emit, void *arg)
{
	char line[TABLE_LINE_MAX];

	while (*notes) {
		int length = strcspn(notes, "\n");

		snprintf(line, sizeof(line), "%*s%.*s", indent + NOTE_INDENT,
			 "", length, notes);
		emit(line, arg);
		notes += length + (notes[length] == '\n');
	}
}

void table_print(struct table *table, int indent, int width, line_fn emit,
		 void *arg)
{
	bool beside;

	hide_what_has_no_room(table, width - indent);
	beside = indent + width_of(table) + GAP + note_width(table) <= width;
	emit_row(table, NULL, indent, false, emit, arg);
	for (int i = 0; i < table->rows; i++) {
		struct row *row = &table->row[i];

		emit_row(table, row, indent, beside, emit, arg);
		if (!beside && row->note)
			emit_notes(row->note, indent, emit, arg);
		for (int j = 0; j < table->columns; j++)
			free(row->cell[j]);
		free(row->note);
	}
	free(table->row);
	free(table);
}

void line_to_stdout(const char *line, void *arg)
{
	(void)arg;
	puts(line);
}
