// SPDX-License-Identifier: GPL-2.0
/*
 * links - the links of this machine: if MPTCP can use them, and what goes over them
 *
 * It only looks, and needs neither the module nor pamsd.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <netlink/errno.h>

#include <linux/if_addr.h>
#include <linux/mptcp.h>

#include "links.h"
#include "pamsctl.h"

#define MEASURE_US	500000	/* for how long, if --interval doesn't say */
#define NOTE_INDENT	6
#define FIRST_SHOWN	4	/* destinations that an address's line names */

static const char * const states[] = {
	[LINK_READY] = "ready",
	[LINK_DEAD] = "dead",
	[LINK_LOST] = "lost",
	[LINK_NO_SUBFLOWS] = "no subflows",
	[LINK_NO_ENDPOINT] = "no endpoint",
	[LINK_WRONG_ROUTE] = "wrong route",
	[LINK_NO_ROUTE] = "no default route",
	[LINK_NO_ADDRESS] = "no address",
	[LINK_NO_CARRIER] = "no carrier",
	[LINK_DOWN] = "down",
};

static uint64_t interval_us(void)
{
	return options.given & OPT_INTERVAL ? options.interval_us : MEASURE_US;
}

/* --- as JSON --- */

static void add_number(json_t *object, const char *name, uint64_t number)
{
	json_object_set_new(object, name, json_integer(number));
}

static void add_verdict(json_t *object, const struct verdict *verdict)
{
	json_t *list = json_array();

	json_object_set_new(object, "state", json_string(states[verdict->state]));
	if (verdict->why[0])
		json_object_set_new(object, "why", json_string(verdict->why));
	for (int i = 0; i < FIXES_MAX; i++)
		if (verdict->fix[i][0])
			append(list, json_string(verdict->fix[i]));
	if (json_array_size(list))
		json_object_set(object, "fix", list);
	json_decref(list);
}

static void add_round_trips(json_t *object, const struct flow *flow)
{
	add_number(object, "srtt_us", flow->srtt_us);
	if (flow->min_rtt_us)
		add_number(object, "min_rtt_us", flow->min_rtt_us);
}

static json_t *first_json(const struct outlook *outlook, const struct link *link,
			  const struct link_address *address)
{
	char text[DESTINATION_MAX];
	json_t *list = json_array();

	for (int i = 0; i < outlook->first_count; i++)
		if (names_address(&outlook->first[i], link, address))
			append(list, json_string(show_destination(text, &outlook->first[i])));
	return list;
}

/* Of what besides MPTCP. */
static json_t *first_also_json(const struct outlook *outlook, const struct link *link,
			       const struct link_address *address)
{
	json_t *list = json_array();
	unsigned int also = 0;

	for (int i = 0; i < outlook->first_count; i++)
		if (names_address(&outlook->first[i], link, address))
			also |= outlook->first[i].also;
	if (also & FIRST_TCP)
		append(list, json_string("tcp"));
	if (also & FIRST_UDP)
		append(list, json_string("udp"));
	return list;
}

static json_t *address_json(const struct outlook *outlook, const struct link *link,
			    const struct link_address *address)
{
	char text[INET6_ADDRSTRLEN];
	json_t *object = json_object();

	json_object_set_new(object, "address", json_string(show_address(text, address->own->family,
									address->own->bytes)));
	if (address->way.gateway_family)
		json_object_set_new(object, "gateway",
				    json_string(show_address(text, address->way.gateway_family,
							     address->way.gateway)));
	if (link->verdict.state <= LINK_NO_ADDRESS)
		add_verdict(object, &address->verdict);
	if (outlook->endpoints_known)
		json_object_set_new(object, "endpoint", json_boolean(address->endpoint));
	if (address->endpoint)
		json_object_set_new(object, "backup", json_boolean(address->endpoint->flags &
								   MPTCP_PM_ADDR_FLAG_BACKUP));
	if (outlook->first_count >= 0)
		json_object_set_new(object, "first", first_json(outlook, link, address));
	if (outlook->first_count >= 0)
		json_object_set_new(object, "first_also", first_also_json(outlook, link, address));
	json_object_set_new(object, "first_by_routes", json_boolean(address->by_routes));
	if (address->own->flags & IFA_F_DEPRECATED)
		json_object_set_new(object, "deprecated", json_true());
	return object;
}

static bool sees_flows(const struct outlook *outlook)
{
	return !outlook->flows_error && !outlook->flows.hidden;
}

static json_t *link_json(const struct outlook *outlook, const struct link *link)
{
	json_t *object = json_object(), *list = json_array();
	char name[IF_NAMESIZE];

	memcpy(name, link->interface->name, sizeof(name));
	json_object_set_new(object, "dev", json_string(show_utf8(name)));
	add_number(object, "ifindex", link->interface->ifindex);
	add_verdict(object, &link->verdict);
	for (size_t i = 0; i < link->interface->count; i++)
		append(list, address_json(outlook, link, &link->addresses[i]));
	json_object_set_new(object, "addresses", list);
	if (link->has_cost)
		add_number(object, "cost", link->cost);
	if (link->has_loss)
		json_object_set_new(object, "loss_time_ms", json_integer(link->loss_ms));
	if (!sees_flows(outlook))
		return object;
	add_number(object, "subflows", link->subflows);
	if (link->subflows)
		add_round_trips(object, &link->sum);
	flow_add_json(object, &link->sum);
	return object;
}

/* --- as text --- */

static void note(const char *text)
{
	printf("%*s%s\n", NOTE_INDENT, "", text);
}

/* Add to a line, behind a comma. */
static void also(char line[TABLE_LINE_MAX], const char *text)
{
	size_t length = strlen(line);

	snprintf(line + length, TABLE_LINE_MAX - length, ", %s", text);
}

static void add_first(char line[TABLE_LINE_MAX], const struct outlook *outlook,
		      const struct link *link, const struct link_address *address)
{
	static const char * const also_texts[] = {
		[FIRST_TCP] = " (MPTCP, TCP)", [FIRST_UDP] = " (MPTCP, UDP)",
		[FIRST_TCP | FIRST_UDP] = " (MPTCP, TCP, UDP)", [0] = "",
	};
	char text[DESTINATION_MAX], words[DESTINATION_MAX + 40];
	int count = 0;
	bool all = false;

	for (int i = 0; i < outlook->first_count; i++) {
		const struct first *first = &outlook->first[i];

		all |= !first->length && first->family == address->own->family;
		if (!names_address(first, link, address) || count++ >= FIRST_SHOWN)
			continue;
		snprintf(words, sizeof(words), "%s%s%s", count == 1 ? "first for " : "",
			 show_destination(text, first), also_texts[first->also & 3]);
		also(line, words);
	}
	if (count > FIRST_SHOWN) {
		snprintf(words, sizeof(words), "%d more", count - FIRST_SHOWN);
		also(line, words);
	}
	if (address->by_routes && !all)
		also(line, "first by the routes");
}

static void print_address(const struct outlook *outlook, const struct link *link,
			  const struct link_address *address)
{
	char line[TABLE_LINE_MAX], text[INET6_ADDRSTRLEN];

	if (address->own->link_local || address->own->flags & IFA_F_DEPRECATED)
		return;
	snprintf(line, sizeof(line), "%s", show_address(text, address->own->family,
							address->own->bytes));
	if (address->way.gateway_family) {
		size_t length = strlen(line);

		snprintf(line + length, sizeof(line) - length, " via %s",
			 show_address(text, address->way.gateway_family, address->way.gateway));
	}
	if (link->verdict.state < LINK_NO_ADDRESS &&
	    address->verdict.state != LINK_READY && address->verdict.state != link->verdict.state)
		also(line, states[address->verdict.state]);
	if (address->endpoint && address->endpoint->flags & MPTCP_PM_ADDR_FLAG_BACKUP)
		also(line, "backup");
	add_first(line, outlook, link, address);
	note(line);
}

static void print_notes(const struct outlook *outlook, const struct link *link)
{
	char line[FIX_MAX + 8];

	for (size_t i = 0; i < link->interface->count; i++)
		print_address(outlook, link, &link->addresses[i]);
	if (link->verdict.why[0])
		note(link->verdict.why);
	for (int i = 0; i < FIXES_MAX; i++) {
		snprintf(line, sizeof(line), "-> %s", link->verdict.fix[i]);
		if (link->verdict.fix[i][0])
			note(line);
	}
}

struct printing {
	const struct outlook *outlook;
	size_t lines;
};

/* The table's lines are its heading, and one for each link: what else is said goes below that. */
static void on_line(const char *line, void *arg)
{
	struct printing *printing = arg;

	puts(line);
	if (printing->lines)
		print_notes(printing->outlook, &printing->outlook->links[printing->lines - 1]);
	printing->lines++;
}

static void rtt_cell(struct table *table, const struct flow *flow)
{
	char text[QUANTITY_MAX];

	table_cell(table, flow && flow->srtt_us ? show_time(text, flow->srtt_us) : "-");
}

static void delivery_cell(struct table *table, const struct flow *flow)
{
	char text[QUANTITY_MAX];

	table_cell(table, flow && flow->rate_byteps ? show_rate(text, flow->rate_byteps) : "-");
}

static void print_links(const struct outlook *outlook)
{
	struct printing printing = { .outlook = outlook };
	struct table *table = table_new("LINK STATE COST>:2 RTT> RATE>:3 SENDING> RECEIVING> SENT> "
					"RECEIVED> SUBFLOWS>:1");

	for (size_t i = 0; i < outlook->count; i++) {
		const struct link *link = &outlook->links[i];
		const struct flow *sum = sees_flows(outlook) ? &link->sum : NULL;
		const struct flow *used = link->subflows ? sum : NULL;

		table_row(table);
		table_cell(table, link->interface->name);
		table_cell(table, states[link->verdict.state]);
		if (link->has_cost)
			table_number(table, link->cost);
		else
			table_cell(table, "-");
		rtt_cell(table, used);
		delivery_cell(table, used);
		flow_rate_cells(table, used);
		flow_byte_cells(table, sum);
		if (sum)
			table_number(table, link->subflows);
		else
			table_cell(table, "-");
	}
	table_print(table, 0, terminal_width(), on_line, &printing);
}

/* --- the commands --- */

static void say_what_is_missing(const struct outlook *outlook)
{
	FILE *f = fopen("/proc/sys/net/mptcp/enabled", "re");
	int on = 1;

	if (f && fscanf(f, "%d", &on) != 1)
		on = 1;
	if (f)
		fclose(f);
	if (!on)
		fprintf(stderr, "pamsctl: MPTCP is switched off here: "
				"sysctl -w net.mptcp.enabled=1\n");
	if (outlook->flows_error)
		fprintf(stderr, "pamsctl: the sockets can't be listed: %s: "
				"modprobe -a mptcp_diag tcp_diag\n",
			nl_geterror(outlook->flows_error));
	if (outlook->flows.hidden || outlook->first_count < 0 || !outlook->endpoints_known)
		fprintf(stderr, "pamsctl: not all is shown: run it as root\n");
}

static int show(const char *name)
{
	struct outlook outlook;
	int err = outlook_take(&outlook, name, interval_us()), status = DONE;
	json_t *list;

	if (err) {
		status = refuse(FAILED, "links: the interfaces can't be read: %s",
				nl_geterror(err));
	} else if (name && !outlook.count) {
		status = refuse(FAILED, "links show: there is no interface '%s' here", name);
	} else if (options.json) {
		list = json_array();
		for (size_t i = 0; i < outlook.count; i++)
			append(list, link_json(&outlook, &outlook.links[i]));
		status = print_json(list);
	} else {
		if (outlook.count)
			print_links(&outlook);
		else
			puts("there is no link: no interface but the loopback");
		fflush(stdout);
		say_what_is_missing(&outlook);
	}
	outlook_free(&outlook);
	return status;
}

static const char *interface_name(char name[IF_NAMESIZE], const struct flow *flow)
{
	return flow->ifindex ? show_interface(name, flow->ifindex) : "?";
}

static json_t *flow_json(const struct flow *flow)
{
	char local[INET6_ADDRSTRLEN], remote[INET6_ADDRSTRLEN], name[IF_NAMESIZE];
	json_t *object = json_pack("{s:i, s:i, s:s, s:i, s:s, s:i, s:s, s:b}",
				   "local_id", flow->local_id, "remote_id", flow->remote_id,
				   "local_address", show_address(local, flow->family, flow->local),
				   "local_port", flow->local_port,
				   "remote_address", show_address(remote, flow->family,
								  flow->remote),
				   "remote_port", flow->remote_port,
				   "dev", interface_name(name, flow),
				   "backup", flow->backup);

	add_round_trips(object, flow);
	flow_add_json(object, flow);
	return object;
}

static void print_flow(struct table *table, const struct flow *flow, int room)
{
	const char *format = flow->family == AF_INET ? "%s:%u > %s:%u%s" : "[%s]:%u > [%s]:%u%s";
	char local[INET6_ADDRSTRLEN], remote[INET6_ADDRSTRLEN], name[IF_NAMESIZE];
	char line[2 * INET6_ADDRSTRLEN + 64];
	char *remainder;

	table_row(table);
	table_cell(table, interface_name(name, flow));
	rtt_cell(table, flow);
	delivery_cell(table, flow);
	flow_rate_cells(table, flow);
	flow_byte_cells(table, flow);
	snprintf(line, sizeof(line), format, show_address(local, flow->family, flow->local),
		 flow->local_port, show_address(remote, flow->family, flow->remote),
		 flow->remote_port, flow->backup ? ", backup" : "");
	remainder = (int)strlen(line) > room ? strstr(line, "> ") : NULL;
	if (remainder)
		remainder[1] = 0;
	table_note(table, line);
	if (remainder)
		table_note(table, remainder + 2);
}

/* The number of flows from the first of a connection on. */
static size_t length_of(const struct flows *flows, size_t begin)
{
	size_t end = begin;

	while (end < flows->count && flows->at[end].token == flows->at[begin].token)
		end++;
	return end - begin;
}

static json_t *print_conn(const struct flow *flows, size_t count)
{
	json_t *list = json_array();
	int width = terminal_width();
	char token[TOKEN_TEXT_MAX];
	struct table *table;

	if (!options.json) {
		printf("%s  %zu subflow%s\n", show_token(token, flows->token), count,
		       count == 1 ? "" : "s");
		table = table_new("LINK RTT> RATE>:1 SENDING> RECEIVING> SENT> RECEIVED>");
		for (size_t i = 0; i < count; i++)
			print_flow(table, &flows[i], width - 8);
		table_print(table, 2, width, line_to_stdout, NULL);
		putchar('\n');
	}
	for (size_t i = 0; i < count; i++)
		append(list, flow_json(&flows[i]));
	return json_pack("{s:s, s:o}", "token", show_token(token, flows->token), "subflows", list);
}

static int print_conns(const struct flows *flows, const uint32_t *token)
{
	json_t *list = json_array();
	char text[TOKEN_TEXT_MAX];
	int status = DONE;

	for (size_t i = 0; i < flows->count; i += length_of(flows, i))
		if (!token || flows->at[i].token == *token)
			append(list, print_conn(&flows->at[i], length_of(flows, i)));
	if (token && !json_array_size(list))
		status = refuse(FAILED, "links conn: no MPTCP connection has the token %s",
				show_token(text, *token));
	else if (options.json)
		status = print_json(json_incref(token ? json_array_get(list, 0) : list));
	else if (!json_array_size(list))
		puts("no MPTCP connection is open");
	json_decref(list);
	return status;
}

static int show_conns(const char *text)
{
	struct interfaces interfaces;
	struct flows flows;
	uint32_t token = 0;
	int err, status;

	if (text && parse_token(text, &token))
		return USAGE;
	err = interfaces_read(&interfaces);
	if (err) {
		interfaces_free(&interfaces);
		return refuse(FAILED, "links: the interfaces can't be read: %s", nl_geterror(err));
	}
	err = flows_measure(&flows, interval_us());
	flows_place(&flows, &interfaces);
	if (err)
		status = refuse(FAILED, "the sockets can't be listed: %s: "
				"modprobe -a mptcp_diag tcp_diag", nl_geterror(err));
	else if (flows.hidden)
		status = refuse(NOT_PERMITTED, "links conn: needs CAP_NET_ADMIN: run it as root");
	else
		status = print_conns(&flows, text ? &token : NULL);
	interfaces_free(&interfaces);
	flows_free(&flows);
	return status;
}

int links_command(struct words *words)
{
	static const char * const names[] = { "show", "conn", NULL };
	int which = choose(words, "links", names, 0);
	const char *what;

	if (which < 0)
		return USAGE;
	what = next_word(words);
	if (no_more_words(words))
		return USAGE;
	if (!mptcp_is_there())
		return refuse(FAILED, "this kernel has no MPTCP");
	return which ? show_conns(what) : show(what);
}
