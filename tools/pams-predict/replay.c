// SPDX-License-Identifier: GPL-2.0
/*
 * replay - runs recorded levels through the predictor
 *
 * From lines "MS DBM" in order of time it makes the lines that pamsd would have
 * got, each with the time "at_ms" of the sample that caused it.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predict.h"

static int print_act(enum warning_act act, const struct estimate *estimate,
		     int64_t ms, FILE *out)
{
	if (act == WARNING_LOSS)
		return line_loss(out, estimate, ms, ms);
	if (act == WARNING_NO_LOSS)
		return line_no_loss(out, ms);
	return 0;
}

static int replay(FILE *in, const char *name, struct trend *trend,
		  struct walk *walk, struct warning *warning, FILE *out)
{
	unsigned int number = 0;
	size_t room = 0;
	char *line = NULL;
	int err = 0;

	while (!err && getline(&line, &room, in) >= 0) {
		struct estimate estimate;
		struct trend_fit fit;
		enum warning_act act;
		char more[2];
		int64_t ms;
		double dbm;

		number++;
		if (line[strspn(line, " \t\r\n")] == '\0' || *line == '#')
			continue;
		if (sscanf(line, "%" SCNd64 " %lf %1s", &ms, &dbm, more) != 2 ||
		    ms < 0 || !isfinite(dbm)) {
			fprintf(stderr, "pams-predict: %s:%u: this is not 'MS DBM'\n",
				name, number);
			err = -1;
			break;
		}
		trend_add(trend, ms, dbm);
		walk_add(walk, ms, dbm);
		if (!trend_estimate(trend, ms, &estimate, &fit))
			continue;
		walk_correct(walk, ms, &estimate);
		act = warning_update(warning, &estimate, walk_above_db(walk), ms);
		warning_told(warning, &estimate);
		err = print_act(act, &estimate, ms, out);
	}
	free(line);
	return err;
}

int replay_print(const char *file, const struct settings *settings, FILE *out)
{
	FILE *in = strcmp(file, "-") ? fopen(file, "re") : stdin;
	struct warning warning = settings->warning;
	struct trend trend;
	struct walk walk;
	int err;

	if (!in) {
		perror(file);
		return -1;
	}
	trend_init(&trend, &settings->model, settings->window_ms);
	walk_init(&walk, settings->model.threshold_dbm);
	walk.avoids = settings->avoids;
	err = replay(in, file, &trend, &walk, &warning, out);
	if (in != stdin)
		fclose(in);
	return err;
}
