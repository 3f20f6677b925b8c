// SPDX-License-Identifier: GPL-2.0
/*
 * conn - the connections, as the schedulers see them, and what went over each subflow
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <net/if.h>
#include <string.h>

#include "flows.h"
#include "pamsctl.h"
#include "sockdiag.h"

#define US_PER_MS	1000
#define NS_PER_US	1000

static void add_endpoint(json_t *object, const char *address_name,
			 const char *port_name, int family,
			 const uint8_t *address, uint16_t port)
{
	char text[INET6_ADDRSTRLEN];

	if (family == AF_UNSPEC)
		return;
	json_object_set_new(object, address_name,
			    json_string(show_address(text, family, address)));
	json_object_set_new(object, port_name, json_integer(port));
}

static void add_number(json_t *object, const char *name, uint64_t number)
{
	json_object_set_new(object, name, json_integer(number));
}

static void add_flag(json_t *object, const char *name, bool flag)
{
	json_object_set_new(object, name, json_boolean(flag));
}

/* The TCP connection that the subflow is; NULL: not known. */
static const struct flow *flow_of(const struct flows *flows, uint32_t token,
				  const struct pams_subflow *s)
{
	int family = s->family, remote_family = s->family;
	uint8_t local[16], remote[16];

	if (!flows || family == AF_UNSPEC)
		return NULL;
	memcpy(local, s->local, sizeof(local));
	memcpy(remote, s->remote, sizeof(remote));
	sockdiag_unmap(&family, local);
	sockdiag_unmap(&remote_family, remote);
	return flows_find(flows, token, family, local, s->local_port, remote, s->remote_port);
}

json_t *subflow_json(uint32_t token, const struct pams_subflow *s, const struct flows *flows)
{
	const struct flow *flow = flow_of(flows, token, s);
	json_t *object = json_object();
	char name[IF_NAMESIZE];

	add_number(object, "id", s->id);
	add_number(object, "local_id", s->local_id);
	add_number(object, "remote_id", s->remote_id);
	add_endpoint(object, "local_address", "local_port", s->family,
		     s->local, s->local_port);
	add_endpoint(object, "remote_address", "remote_port", s->family,
		     s->remote, s->remote_port);
	if (s->ifindex) {
		add_number(object, "ifindex", s->ifindex);
		json_object_set_new(object, "dev",
				    json_string(show_interface(name,
							       s->ifindex)));
	}
	add_number(object, "srtt_us", s->srtt_us);
	add_number(object, "min_rtt_us", s->min_rtt_us);
	add_number(object, "cwnd_packets", s->cwnd);
	add_number(object, "in_flight_packets", s->in_flight);
	add_number(object, "mss_bytes", s->mss_bytes);
	add_number(object, "unsent_bytes", s->unsent_bytes);
	add_number(object, "outstanding_bytes", s->outstanding_bytes);
	add_number(object, "rate_byteps", s->rate_byteps);
	add_number(object, "owd_us", s->owd_us);
	if (s->has_pad)
		add_number(object, "pad_ns", s->pad_ns);
	add_flag(object, "idle", s->idle);
	add_flag(object, "stopped", s->stopped);
	add_flag(object, "backup", s->backup);
	add_flag(object, "unusable", s->unusable);
	add_flag(object, "pipe", s->pipe);
	add_number(object, "cost", s->cost);
	if (s->has_loss)
		json_object_set_new(object, "loss_time_ms",
				    json_integer(s->loss_ms));
	add_number(object, "reinjected_bytes", s->reinjected_bytes);
	add_number(object, "stops", s->stops);
	if (flow)
		flow_add_json(object, flow);
	return object;
}

json_t *conn_json(const struct pams_conn *conn, const struct flows *flows)
{
	json_t *object = json_object(), *list = json_array();
	char token[TOKEN_TEXT_MAX];
	unsigned int i;

	json_object_set_new(object, "token",
			    json_string(show_token(token, conn->token)));
	json_object_set_new(object, "scheduler", json_string(conn->scheduler));
	if (conn->has_rule)
		add_number(object, "rule", conn->rule);
	if (conn->unscheduled_bytes == PAMS_UNSCHEDULED_FULL)
		json_object_set_new(object, "unscheduled_bytes", json_null());
	else
		add_number(object, "unscheduled_bytes",
			   conn->unscheduled_bytes);
	if (conn->unit_left_bytes)
		add_number(object, "unit_left_bytes", conn->unit_left_bytes);
	add_number(object, "decisions", conn->decisions);
	add_number(object, "deferrals", conn->deferrals);
	add_number(object, "kicks", conn->kicks);
	add_number(object, "stops", conn->stops);
	add_number(object, "reinjected_bytes", conn->reinjected_bytes);
	for (i = 0; i < conn->subflows; i++)
		json_array_append_new(list, subflow_json(conn->token, &conn->subflow[i], flows));
	json_object_set_new(object, "subflows", list);
	return object;
}

static void show_end(char *buffer, size_t room, int family,
		     const uint8_t *address, uint16_t port)
{
	char text[INET6_ADDRSTRLEN];

	if (family == AF_UNSPEC)
		snprintf(buffer, room, "?");
	else
		snprintf(buffer, room, family == AF_INET ? "%s:%u" : "[%s]:%u",
			 show_address(text, family, address), port);
}

/* A subflow's state besides idle or busy, each word after a comma. */
static void show_flags(char *buffer, size_t room, const struct pams_subflow *s)
{
	char loss[QUANTITY_MAX + 16] = "", time[QUANTITY_MAX], cost[16] = "";

	if (s->has_loss && s->loss_ms > 0)
		snprintf(loss, sizeof(loss), ", lost in %s",
			 show_time(time, (int64_t)s->loss_ms * US_PER_MS));
	else if (s->has_loss)
		snprintf(loss, sizeof(loss), ", lost %s ago",
			 show_time(time, -(int64_t)s->loss_ms * US_PER_MS));
	if (s->cost)
		snprintf(cost, sizeof(cost), ", cost %u", s->cost);
	snprintf(buffer, room, "%s%s%s%s%s", s->stopped ? ", stopped" : "",
		 s->backup ? ", backup" : "", s->pipe ? ", pipe" : "", cost,
		 loss);
}

void subflow_line(char *buffer, size_t room, const struct pams_subflow *s)
{
	char local[64], remote[64], srtt[QUANTITY_MAX], min[QUANTITY_MAX];
	char rate[QUANTITY_MAX], pad[QUANTITY_MAX] = "none";
	char flags[96], name[IF_NAMESIZE];

	show_end(local, sizeof(local), s->family, s->local, s->local_port);
	show_end(remote, sizeof(remote), s->family, s->remote, s->remote_port);
	if (s->has_pad)
		show_time(pad, s->pad_ns / NS_PER_US);
	show_flags(flags, sizeof(flags), s);
	snprintf(buffer, room,
		 "%" PRIu32 " %s > %s dev %s  ids %u %u  %s%s  srtt %s "
			    "min %s  cwnd %" PRIu32
		 " flight %" PRIu32 "  unsent %" PRIu64 " out %" PRIu64
		 "  Th %s PAD %s  reinjected %" PRIu64 " stops %" PRIu32,
		 s->id, local, remote,
		 s->ifindex ? show_interface(name, s->ifindex) : "?",
		 s->local_id, s->remote_id,
		 s->unusable ? "unusable" : s->idle ? "idle" : "busy",
		 flags, show_time(srtt, s->srtt_us), show_time(min, s->min_rtt_us),
		 s->cwnd, s->in_flight, s->unsent_bytes, s->outstanding_bytes,
		 show_rate(rate, s->rate_byteps), pad, s->reinjected_bytes,
		 s->stops);
}

static void add_notes(struct table *table, const struct pams_subflow *s,
		      int room)
{
	char local[64], remote[64], flags[96], line[256];

	show_end(local, sizeof(local), s->family, s->local, s->local_port);
	show_end(remote, sizeof(remote), s->family, s->remote, s->remote_port);
	show_flags(flags, sizeof(flags), s);
	snprintf(line, sizeof(line), "%s > %s", local, remote);
	if ((int)strlen(line) <= room) {
		table_note(table, line);
	} else {
		snprintf(line, sizeof(line), "%s >", local);
		table_note(table, line);
		table_note(table, remote);
	}
	snprintf(line, sizeof(line), "ids %u %u%s", s->local_id, s->remote_id,
		 flags);
	table_note(table, line);
}

/* Which columns a connection's table has. */
struct shown {
	bool carried;		/* the bytes of a subflow are known */
	bool measured;		/* and what went over it lately */
};

static struct shown look_at_flows(const struct pams_conn *conn, const struct flows *flows)
{
	struct shown shown = { };

	for (unsigned int i = 0; i < conn->subflows; i++) {
		const struct flow *flow = flow_of(flows, conn->token, &conn->subflow[i]);

		if (!flow)
			continue;
		shown.carried = true;
		shown.measured |= flow->measured;
	}
	return shown;
}

static void add_subflow(struct table *table, const struct pams_subflow *s,
			struct shown shown, const struct flow *flow, int room)
{
	char text[QUANTITY_MAX], name[IF_NAMESIZE];

	table_row(table);
	table_number(table, s->id);
	table_cell(table, s->ifindex ? show_interface(name, s->ifindex) : "?");
	table_cell(table, s->unusable ? "unusable" : s->idle ? "idle" : "busy");
	table_cell(table, show_time(text, s->srtt_us));
	table_cell(table, show_time(text, s->min_rtt_us));
	table_number(table, s->cwnd);
	table_number(table, s->in_flight);
	table_number(table, s->unsent_bytes);
	table_number(table, s->outstanding_bytes);
	table_cell(table, show_rate(text, s->rate_byteps));
	table_cell(table, s->has_pad ? show_time(text, s->pad_ns / NS_PER_US) :
		   "none");
	if (shown.measured)
		flow_rate_cells(table, flow);
	if (shown.carried)
		flow_byte_cells(table, flow);
	table_number(table, s->reinjected_bytes);
	table_number(table, s->stops);
	add_notes(table, s, room);
}

void conn_lines(const struct pams_conn *conn, const struct flows *flows, double decisions_ps,
		int width, line_fn emit, void *arg)
{
	struct shown shown = look_at_flows(conn, flows);
	struct table *table;
	char text[QUANTITY_MAX], headings[160];
	unsigned int i;

	snprintf(headings, sizeof(headings),
		 "TOKEN SCHEDULER %sUNSCHEDULED> %sDECISIONS> %sDEFERRALS>:1 "
		 "KICKS>:4 STOPS>:3 REINJECTED>:2",
		 conn->has_rule ? "RULE " : "",
		 conn->unit_left_bytes ? "UNIT> " : "",
		 decisions_ps < 0 ? "" : "PER-SECOND> ");
	table = table_new(headings);
	table_row(table);
	table_cell(table, show_token(text, conn->token));
	table_cell(table, conn->scheduler);
	if (conn->has_rule && conn->rule)
		table_number(table, conn->rule);
	else if (conn->has_rule)
		table_cell(table, "default");
	if (conn->unscheduled_bytes == PAMS_UNSCHEDULED_FULL)
		table_cell(table, "full");
	else
		table_number(table, conn->unscheduled_bytes);
	if (conn->unit_left_bytes)
		table_number(table, conn->unit_left_bytes);
	table_number(table, conn->decisions);
	snprintf(text, sizeof(text), "%.0f", decisions_ps);
	if (decisions_ps >= 0)
		table_cell(table, text);
	table_number(table, conn->deferrals);
	table_number(table, conn->kicks);
	table_number(table, conn->stops);
	table_number(table, conn->reinjected_bytes);
	table_print(table, 0, width, emit, arg);
	snprintf(headings, sizeof(headings),
		 "ID> DEV STATE SRTT> MIN>:6 CWND>:4 FLIGHT>:5 UNSENT>:3 OUT>:7 "
		 "RATE>:2 PAD>:1 %s%sREINJECTED>:8 STOPS>:9",
		 shown.measured ? "SENDING> RECEIVING> " : "",
		 shown.carried ? "SENT> RECEIVED> " : "");
	table = table_new(headings);
	for (i = 0; i < conn->subflows; i++)
		add_subflow(table, &conn->subflow[i], shown,
			    flow_of(flows, conn->token, &conn->subflow[i]), width - 8);
	table_print(table, 2, width, emit, arg);
	emit("", arg);
}

struct showing {
	json_t *list;
	struct flows flows;
};

static int collect(const struct pams_conn *conn, void *arg)
{
	struct showing *showing = arg;

	if (options.json)
		return append(showing->list, conn_json(conn, &showing->flows));
	conn_lines(conn, &showing->flows, -1, terminal_width(), line_to_stdout, NULL);
	return 0;
}

int conn_show(struct words *words)
{
	const char *text = next_word(words);
	struct showing showing;
	struct pams_nl *nl = NULL;
	uint32_t token = 0;
	int err, status;

	if ((text && parse_token(text, &token)) || no_more_words(words))
		return USAGE;
	flows_read(&showing.flows);	/* without them it shows less */
	showing.list = json_array();
	err = pams_nl_open(&nl);
	if (!err && text)
		err = pams_nl_conn_get(nl, token, collect, &showing);
	else if (!err)
		err = pams_nl_conn_dump(nl, collect, &showing);
	if (err < 0)
		status = refuse_kernel(nl, "conn show", err);
	else if (options.json)
		status = print_json(json_incref(text ? json_array_get(showing.list, 0) :
						       showing.list));
	else
		status = DONE;
	if (err > 0)
		fprintf(stderr, "pamsctl: the connections changed all the "
				"time: some may be missing\n");
	json_decref(showing.list);
	flows_free(&showing.flows);
	pams_nl_close(nl);
	return status;
}

int conn_command(struct words *words)
{
	static const char * const names[] = { "show", NULL };

	if (choose(words, "conn", names, 0) < 0)
		return USAGE;
	return conn_show(words);
}
