// SPDX-License-Identifier: GPL-2.0
/* flow_text - shows what went over a subflow, as cells of a table and as JSON */
#include "flows.h"
#include "pamsctl.h"

static void add_number(json_t *object, const char *name, uint64_t number)
{
	json_object_set_new(object, name, json_integer(number));
}

void flow_add_json(json_t *object, const struct flow *flow)
{
	add_number(object, "sent_bytes", flow->sent_bytes);
	add_number(object, "received_bytes", flow->received_bytes);
	add_number(object, "delivery_rate_byteps", flow->rate_byteps);
	if (!flow->measured)
		return;
	add_number(object, "sending_byteps", flow->sending_byteps);
	add_number(object, "receiving_byteps", flow->receiving_byteps);
}

static void rate_cell(struct table *table, bool known, uint64_t byteps)
{
	char text[QUANTITY_MAX];

	table_cell(table, known ? show_rate(text, byteps) : "-");
}

void flow_rate_cells(struct table *table, const struct flow *flow)
{
	bool known = flow && flow->measured;

	rate_cell(table, known, known ? flow->sending_byteps : 0);
	rate_cell(table, known, known ? flow->receiving_byteps : 0);
}

void flow_byte_cells(struct table *table, const struct flow *flow)
{
	char text[QUANTITY_MAX];

	table_cell(table, flow ? show_count(text, flow->sent_bytes) : "-");
	table_cell(table, flow ? show_count(text, flow->received_bytes) : "-");
}
