// SPDX-License-Identifier: GPL-2.0
/* path_text - shows what was reported of a path, as text and as JSON */
#include <inttypes.h>

#include "pamsctl.h"

#define US_PER_MS	1000

/* A report that stays until it is deleted has no "expires_ms". */
static void add_expiry(json_t *object, bool stays, uint32_t expires_ms)
{
	if (!stays)
		json_object_set_new(object, "expires_ms",
				    json_integer(expires_ms));
}

json_t *path_json(const struct pams_path *path)
{
	json_t *object = json_object();

	add_key(object, path);
	if (path->has_pipe) {
		json_t *pipe = json_pack("{s:I, s:I, s:I}", "rate_byteps",
					 (json_int_t)path->rate_byteps,
					 "backlog_bytes",
					 (json_int_t)path->backlog_bytes,
					 "age_ms",
					 (json_int_t)path->pipe_age_ms);

		add_expiry(pipe, path->pipe_stays, path->pipe_expires_ms);
		if (path->has_delay)
			json_object_set_new(pipe, "delay_us",
					    json_integer(path->delay_us));
		if (path->hs_rate_byteps)
			json_object_set_new(pipe, "hs_rate_byteps",
					    json_integer(path->hs_rate_byteps));
		json_object_set_new(object, "pipe", pipe);
	}
	if (path->has_loss) {
		json_t *loss = json_pack("{s:i}", "time_ms", path->loss_ms);

		if (path->loss_spread_ms)
			json_object_set_new(loss, "spread_ms",
					    json_integer(path->loss_spread_ms));
		add_expiry(loss, path->loss_stays, path->loss_expires_ms);
		json_object_set_new(object, "loss", loss);
	}
	if (path->has_cost) {
		json_t *cost = json_pack("{s:i}", "level", path->cost);

		add_expiry(cost, path->cost_stays, path->cost_expires_ms);
		json_object_set_new(object, "cost", cost);
	}
	if (path->origin[0])
		json_object_set_new(object, "origin",
				    json_string(path->origin));
	return object;
}

/* End a line with the time until the report on it expires. */
static void print_expiry(bool stays, uint32_t expires_ms)
{
	char text[QUANTITY_MAX];

	if (stays)
		puts("holds until deleted");
	else
		printf("expires in %s\n",
		       show_time(text, (int64_t)expires_ms * US_PER_MS));
}

static void print_pipe(const struct pams_path *path)
{
	char text[QUANTITY_MAX];

	printf("    pipe %s (%" PRIu64 " bytes/s), backlog %" PRIu32 " bytes",
	       show_rate(text, path->rate_byteps), path->rate_byteps,
	       path->backlog_bytes);
	if (path->has_delay)
		printf(", delay %s", show_time(text, path->delay_us));
	if (path->hs_rate_byteps)
		printf(", to the helper %s",
		       show_rate(text, path->hs_rate_byteps));
	printf("; reported %s ago, ",
	       show_time(text, (int64_t)path->pipe_age_ms * US_PER_MS));
	print_expiry(path->pipe_stays, path->pipe_expires_ms);
}

static void print_spread(const struct pams_path *path)
{
	char text[QUANTITY_MAX];

	if (path->loss_spread_ms)
		printf(", +- %s", show_time(text, (int64_t)US_PER_MS *
						  path->loss_spread_ms));
}

void path_print(const struct pams_path *path)
{
	char key[KEY_TEXT_MAX], text[QUANTITY_MAX];
	int64_t loss_us = (int64_t)path->loss_ms * US_PER_MS;

	puts(show_key(key, path));
	if (path->has_pipe)
		print_pipe(path);
	if (path->has_loss) {
		printf("    %s %s%s", path->loss_ms > 0 ? "lost in" : "lost",
		       show_time(text, loss_us > 0 ? loss_us : -loss_us),
		       path->loss_ms > 0 ? "" : " ago");
		print_spread(path);
		fputs("; ", stdout);
		print_expiry(path->loss_stays, path->loss_expires_ms);
	}
	if (path->has_cost) {
		printf("    cost %u; ", path->cost);
		print_expiry(path->cost_stays, path->cost_expires_ms);
	}
	if (path->origin[0])
		printf("    set by %s\n", path->origin);
}

void path_print_line(const struct pams_path *path)
{
	char key[KEY_TEXT_MAX], text[QUANTITY_MAX];

	printf(" %s", show_key(key, path));
	if (path->has_pipe)
		printf(", pipe %s, backlog %" PRIu32 " bytes",
		       show_rate(text, path->rate_byteps),
		       path->backlog_bytes);
	if (path->has_loss && path->loss_ms > 0)
		printf(", lost in %s",
		       show_time(text, (int64_t)path->loss_ms * US_PER_MS));
	else if (path->has_loss)
		fputs(", lost", stdout);
	print_spread(path);
	if (path->no_loss)
		fputs(", no loss", stdout);
	if (path->has_cost)
		printf(", cost %u", path->cost);
	if (path->origin[0])
		printf(", by %s", path->origin);
}
