// SPDX-License-Identifier: GPL-2.0
/*
 * top - connections, live
 *
 * A picture is the list of lines of one refresh. It goes to the terminal or, with
 * --once and --batch, to standard output. Rates are averages since the previous
 * picture; the first picture has none.
 */
#include <errno.h>
#include <inttypes.h>
#include <ncurses.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "flows.h"
#include "pamsctl.h"

#define LINE_MAX_BYTES	TABLE_LINE_MAX

/* A connection in the previous picture, for its rate in this one. */
struct seen {
	uint32_t token;
	uint64_t decisions;
};

struct picture {
	char **line;
	size_t lines;
	struct seen *seen;
	size_t conns;
	struct flows flows;
	json_t *list;		/* of connections, with --json */
	uint64_t at_us;
	const struct picture *before;
};

static uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int add_line(struct picture *picture, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static int add_line(struct picture *picture, const char *format, ...)
{
	char **more = reallocarray(picture->line, picture->lines + 1,
				   sizeof(*more));
	char text[LINE_MAX_BYTES];
	va_list args;

	if (!more)
		return -ENOMEM;
	picture->line = more;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	more[picture->lines] = strdup(text);
	if (!more[picture->lines])
		return -ENOMEM;
	picture->lines++;
	return 0;
}

static void wipe(struct picture *picture)
{
	while (picture->lines)
		free(picture->line[--picture->lines]);
	free(picture->line);
	free(picture->seen);
	flows_free(&picture->flows);
	json_decref(picture->list);
	memset(picture, 0, sizeof(*picture));
}

/* Decisions per second since the previous picture, or less than 0 if not known. */
static double decision_rate(const struct picture *picture,
			    const struct pams_conn *conn)
{
	const struct picture *before = picture->before;
	size_t i;

	for (i = 0; before && i < before->conns; i++)
		if (before->seen[i].token == conn->token)
			return (conn->decisions - before->seen[i].decisions) *
			       1e6 / (picture->at_us - before->at_us);
	return -1;
}

static void on_line(const char *line, void *arg)
{
	add_line(arg, "%s", line);
}

static int add_conn(const struct pams_conn *conn, void *arg)
{
	struct picture *picture = arg;
	struct seen *more = reallocarray(picture->seen, picture->conns + 1,
					 sizeof(*more));
	double rate = decision_rate(picture, conn);

	if (!more)
		return -ENOMEM;
	picture->seen = more;
	more[picture->conns].token = conn->token;
	more[picture->conns++].decisions = conn->decisions;
	json_array_append_new(picture->list, conn_json(conn, &picture->flows));
	conn_lines(conn, &picture->flows, rate, terminal_width(), on_line, picture);
	return 0;
}

/* 0, or a negative errno; the picture then has the lines from before the error. */
static int take_picture(struct pams_nl *nl, struct picture *picture,
			struct pams_stats *stats)
{
	char decisions[QUANTITY_MAX], deferrals[QUANTITY_MAX];
	char stops[QUANTITY_MAX];
	int err = pams_nl_stats(nl, stats);

	picture->at_us = now_us();
	picture->list = json_array();
	flows_read(&picture->flows);	/* without them it shows less */
	if (picture->before)
		flows_rates(&picture->flows, &picture->before->flows);
	if (!err)
		err = add_line(picture, "mptcp_pams: %" PRIu32
			       " connections, %" PRIu32 " paths, %s decisions, "
			       "%s deferrals, %s stops", stats->conns,
			       stats->paths,
			       show_count(decisions, stats->decisions),
			       show_count(deferrals, stats->deferrals),
			       show_count(stops, stats->stops));
	if (!err)
		err = add_line(picture, "%s", "");
	if (!err)
		err = pams_nl_conn_dump(nl, add_conn, picture);
	return err < 0 ? err : 0;
}

static void put_text(const struct picture *picture)
{
	size_t i;

	for (i = 0; i < picture->lines; i++)
		puts(picture->line[i]);
	fflush(stdout);
}

static void put_json(const struct picture *picture,
		     const struct pams_stats *stats)
{
	print_json_line(json_pack("{s:o, s:O}", "stats", stats_json(stats),
				  "conns", picture->list));
}

/* Print pictures to standard output, without end if the count is 0. The exit status. */
static int batch(struct pams_nl *nl, uint64_t count)
{
	struct picture before = { }, picture = { };
	struct pams_stats stats;
	uint64_t i;
	int err;

	for (i = 0; !count || i < count; i++) {
		if (i)
			usleep(options.interval_us);
		picture.before = i ? &before : NULL;
		err = take_picture(nl, &picture, &stats);
		if (err) {
			wipe(&before);
			wipe(&picture);
			return refuse_kernel(nl, "top", err);
		}
		if (options.json)
			put_json(&picture, &stats);
		else
			put_text(&picture);
		wipe(&before);
		before = picture;
		memset(&picture, 0, sizeof(picture));
		if (ferror(stdout))
			break;
	}
	wipe(&before);
	return DONE;
}

static void draw(const struct picture *picture, const char *trouble)
{
	size_t i;

	erase();
	for (i = 0; i < picture->lines && (int)i < LINES - 1; i++) {
		if (!i)
			attron(A_BOLD);
		mvaddnstr(i, 0, picture->line[i], COLS);
		attroff(A_BOLD);
	}
	attron(A_REVERSE);
	mvprintw(LINES - 1, 0, "%s", trouble ?: "q: quit");
	attroff(A_REVERSE);
	refresh();
}

/* Draw pictures on the terminal until q is pressed, also while the module isn't loaded. */
static int live(struct pams_nl *nl)
{
	struct picture before = { }, picture = { };
	struct pams_stats stats;
	SCREEN *screen = newterm(NULL, stdout, stdin);
	uint64_t pictures = 0;
	int err, key;

	if (!screen)
		return refuse(FAILED, "top: terminal '%s' is not known: use "
			      "--batch", getenv("TERM") ?: "");
	cbreak();
	noecho();
	curs_set(0);
	timeout(options.interval_us / 1000);
	do {
		picture.before = before.conns ? &before : NULL;
		err = take_picture(nl, &picture, &stats);
		draw(&picture, err ? pams_nl_error(nl) : NULL);
		wipe(&before);
		before = picture;
		memset(&picture, 0, sizeof(picture));
		key = getch();
	} while (key != 'q' && key != 'Q' &&
		 (!options.count || ++pictures < options.count));
	endwin();
	delscreen(screen);
	wipe(&before);
	return DONE;
}

int top_command(struct words *words)
{
	bool plain = options.given & (OPT_ONCE | OPT_BATCH) || options.json;
	struct pams_nl *nl = NULL;
	int err, status;

	if (no_more_words(words))
		return USAGE;
	if (!plain && !isatty(STDOUT_FILENO))
		return refuse(USAGE, "top: standard output is not a terminal: "
				     "use --once or --batch");
	err = pams_nl_open(&nl);
	if (err)
		status = refuse_kernel(nl, "top", err);
	else if (options.given & OPT_ONCE)
		status = batch(nl, 1);
	else if (plain)
		status = batch(nl, options.count);
	else
		status = live(nl);
	pams_nl_close(nl);
	return status;
}
