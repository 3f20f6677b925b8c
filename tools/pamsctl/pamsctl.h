/* SPDX-License-Identifier: GPL-2.0 */
/*
 * pamsctl - configures and queries the module mptcp_pams
 *
 * main.c finds the command and its options; each command has a file that carries
 * it out. The map of the files; a file calls only files below it (selftests/downward):
 *
 *	main.c			the table of commands, options, exit status
 *	up.c			up and down: what is to be changed, and the order
 *	up_gateway.c		this machine as the gateway of a LAN
 *	up_listen.c		services whose listening sockets are to be made anew
 *	up_service.c		pamsd as systemd's or procd's service
 *	up_unit.c		systemd's other units
 *	up_conf.c		the section "paths" in pamsd.conf
 *	up_kernel.c		the module, and the scheduler
 *	up_line.c		a line more in a file of the system's
 *	up_record.c		what up has changed
 *	up_file.c		files, each whole or not at all
 *	overview.c doctor.c top.c path.c monitor.c conn.c links.c stats.c sched.c
 *	rule.c mptcp.c first.c load.c peers.c caps.c metrics.c pair.c
 *				the commands
 *	rules_look.c		finds rules that count for nothing
 *	subflows_look.c		finds data that nobody answers, and large packets that vanish
 *	links_look.c		judges the links, and sums up what goes over them
 *	links_pamsd.c		what pamsd knows of the links
 *	pair_read.c		sets up one end from what pair printed
 *	path_text.c		shows what was reported of a path, as text and as JSON
 *	buffers.c		TCP's maximum buffers and memory against what the paths need
 *	endpoints.c		the path manager's endpoints and limits
 *	manager.c		reads these
 *	interfaces.c		interfaces, their addresses and default routes
 *	route.c			through which interface an address's packets leave
 *	flow_text.c		shows what went over a subflow
 *	flows.c			MPTCP's subflows, as TCP has them
 *	diag.c			MPTCP, TCP and UDP sockets, and their processes
 *	echo.c			how large a packet comes back from a peer
 *	probe.c			checks if a server speaks MPTCP
 *	mib.c			the kernel's MPTCP counters
 *	helper.c		pamsplit, if this machine is a helper
 *	finding.c		doctor's findings, as text or as JSON
 *	first_hook.c		where connections begin: pinned BPF
 *	hook.c			MPTCP for the programs of a cgroup, by BPF
 *	pins.c			what pinned BPF programs need
 *	cgroup.c		cgroups by path, number and systemd's unit
 *	program.c		runs another program
 *	module.c		the module's file, and what loading it needs
 *	pamsd.c			asks the daemon for its status
 *	scheduler.c		the kernel's MPTCP schedulers
 *	loader.c		loads and unloads the module
 *	key.c			a path's key, from words and as text
 *	table.c			columns under their headings
 *	quantity.c		rates, sizes and times as people write them
 *	words.c			matches words with the names of commands
 *	refuse.c		errors, as text or as JSON
 *	options.c		the values of the command line's options
 */
#ifndef PAMSCTL_H
#define PAMSCTL_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "netlink.h"
#include "parse.h"
#include "rule.h"

struct first;
struct flows;

/* The exit status; see pamsctl(8). */
enum {
	DONE = 0,
	FAILED = 1,
	USAGE = 2,
	NOT_LOADED = 3,
	NOT_PERMITTED = 4,
};

/* Bits for options: which were given, and which a command accepts. */
enum {
	OPT_ONCE = 1,
	OPT_BATCH = 2,
	OPT_COUNT = 4,
	OPT_INTERVAL = 8,
	OPT_TIMEOUT = 16,
	OPT_DRY_RUN = 32,
	OPT_MODULE = 64,
	OPT_CONTROL = 128,
	OPT_READ = 256,
	OPT_SERVER = 512,
	OPT_RESTART = 1024,
	OPT_GATEWAY = 2048,
	OPT_NO_DHCP = 4096,
};

struct options {
	unsigned int given;
	bool json;
	uint64_t count;		/* of events or pictures; 0: no limit */
	uint64_t interval_us;
	uint64_t timeout_us;	/* 0: none */
	const char *module;	/* the module's file */
	const char *control;	/* pamsd's control socket */
	const char *gateway;	/* up --gateway: INTERFACE[=ADDRESS/LENGTH] */
	const char *read;	/* pair --read: "server" or "reporter" */
};

/* options.c */
extern struct options options;

/* refuse.c: print the error and return the exit status */
int refuse(int status, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
int refuse_kernel(struct pams_nl *nl, const char *what, int err);
int refuse_not_loaded(void);
int print_json(json_t *value);		/* frees the value; the exit status */
int append(json_t *list, json_t *value);	/* 0 or -ENOMEM */
void print_json_line(json_t *value);	/* frees the value, flushes stdout */

/* words.c, and lib/parse.c */
int no_more_words(const struct words *words);	/* DONE, or USAGE when refused */
/*
 * The index of the name that the next word is, or that alone begins with it; "otherwise"
 * if there is no word. -1 when refused; the error begins with "where", the command.
 */
int choose(struct words *words, const char *where, const char * const names[],
	   int otherwise);

/* quantity.c: DONE, or USAGE when refused; "what" names the value in the error */
int parse_rate(const char *what, const char *text, uint64_t *byteps);
int parse_size(const char *what, const char *text, uint32_t *bytes);
int parse_time(const char *what, const char *text, uint64_t min_us,
	       uint64_t max_us, uint64_t *us);
int parse_number(const char *what, const char *text, uint64_t min,
		 uint64_t max, uint64_t *number);
const char *show_count(char *buffer, uint64_t number);
const char *show_rate(char *buffer, uint64_t byteps);

/* route.c: the index of an interface that has the address, "bound" if that has it; 0: none has */
unsigned int interface_of(int family, const void *address, unsigned int bound);

/* key.c */
#define KEY_TEXT_MAX		128
#define TOKEN_TEXT_MAX		16
int parse_key(struct words *words, struct pams_path *path);
int parse_token(const char *text, uint32_t *token);
const char *show_key(char *buffer, const struct pams_path *path);
const char *show_address(char *buffer, int family, const void *address);
/* '?' for control characters; where it isn't UTF-8, as JSON has to be, for all but ASCII */
char *show_utf8(char *text);
const char *show_interface(char *buffer, uint32_t ifindex);
const char *show_token(char *buffer, uint32_t token);
void add_key(json_t *object, const struct pams_path *path);

/* table.c */
#define TABLE_LINE_MAX		1024
struct table;
typedef void (*line_fn)(const char *line, void *arg);

int terminal_width(void);	/* in characters; COLUMNS, or 80 */
/* Headings separated by spaces; "NAME>" aligns to the right; "NAME:3" has rank 3. */
struct table *table_new(const char *headings);
void table_row(struct table *table);	/* the caller then adds a cell for each column */
void table_cell(struct table *table, const char *text);
void table_number(struct table *table, uint64_t number);
void table_note(struct table *table, const char *text);
void table_print(struct table *table, int indent, int width, line_fn emit,
		 void *arg);		/* frees the table */
void line_to_stdout(const char *line, void *arg);

/* pamsd.c: the status of the daemon at that control socket; NULL: *err is set */
json_t *pamsd_status(const char *path, int *err);
/* Refuse further words, and get the status of pamsd; DONE: *status is set. */
int pamsd_ask(struct words *words, json_t **status);
bool procd_is_here(void);		/* OpenWrt's, in place of systemd */
const char *pamsd_start(void);		/* the command for it, by that */
extern const char pamsd_enable[];	/* what to do once it has a configuration */
extern const char pamsd_enable_uci[];	/* on OpenWrt */
int unix_connect(const char *path);	/* a file descriptor or -errno */
#define PAMSD_CONTROL	"/run/pamsd/control"

/*
 * program.c: run a program of PATH; what it prints, with or without its errors. Its exit status,
 * or PROGRAM_KILLED and the signal's number; -errno: it couldn't be run.
 */
#define PROGRAM_KILLED	256
int program_run(const char * const words[], bool errors, char *output, size_t room);

/*
 * cgroup.c: a cgroup's (v2) id by its path from the hierarchy's root on, and the path by the
 * id; 0 or -errno. -EOPNOTSUPP: cgroup v2 isn't mounted; -ESTALE: the cgroup was removed.
 */
int cgroup_find(const char *path, uint64_t *id);
int cgroup_path(uint64_t id, char path[PATH_MAX]);
/* Get a property of a unit from systemd; false if systemctl fails or isn't there. */
bool unit_property(const char *unit, const char *name, char *value,
		   size_t room);

/* the commands, called with the words that follow the command's name */
int path_command(struct words *words);
extern const char path_values[];	/* for the help, which completion reads */
int conn_command(struct words *words);
int links_command(struct words *words);
int stats_command(struct words *words);
int monitor_command(struct words *words);
int top_command(struct words *words);
int sched_command(struct words *words);
int rule_command(struct words *words);
int mptcp_command(struct words *words);
int first_command(struct words *words);
int load_command(struct words *words);
int unload_command(struct words *words);
int doctor_command(struct words *words);
int peers_command(struct words *words);
int caps_command(struct words *words);
int metrics_command(struct words *words);
int pair_command(struct words *words);
int up_command(struct words *words);
int down_command(struct words *words);
int overview(void);			/* pamsctl without a command */

/* path_text.c, conn.c, stats.c: shown by other commands, too */
json_t *path_json(const struct pams_path *path);
/* Print the rest of an event's line: the path's key and what was reported. */
void path_print_line(const struct pams_path *path);
int path_monitor(struct words *words);	/* monitor.c */
void path_print(const struct pams_path *path);
/* flows: NULL, or without those of the connection: what its subflows carried isn't shown */
json_t *conn_json(const struct pams_conn *conn, const struct flows *flows);
json_t *subflow_json(uint32_t token, const struct pams_subflow *subflow,
		     const struct flows *flows);
int path_show(struct words *words);
int conn_show(struct words *words);
/* decisions_ps: decisions per second; below 0: not known, and no column */
void conn_lines(const struct pams_conn *conn, const struct flows *flows, double decisions_ps,
		int width, line_fn emit, void *arg);
void subflow_line(char *buffer, size_t room, const struct pams_subflow *s);
#define SUBFLOW_LINE_MAX	512
json_t *stats_json(const struct pams_stats *stats);

/* first.c: DESTINATION as it is written */
#define DESTINATION_MAX	64
const char *show_destination(char text[DESTINATION_MAX], const struct first *first);

/* scheduler.c */
#define SCHEDULERS_MAX	512
bool mptcp_is_there(void);
bool scheduler_chosen(char *name, size_t room);
/* False: this kernel has no list of its own, and may have more than these. */
bool scheduler_list(char *names, size_t room);
bool scheduler_is_there(const char *name);
int scheduler_choose(const char *name);	/* 0 or -errno; -ENOENT: there is none of that name */
/* Is it one of the module's schedulers that this pamsctl was built with? */
bool is_ours(const char *name);
bool in_list(const char *names, const char *name);

/* module.c */
struct module {
	bool loaded;
	char release[128];	/* the running kernel's */
	char file[4096];	/* "" if there is none for this kernel */
	bool installed;		/* depmod knows the module */
	bool signed_;
	bool kprobes;		/* the kernel has kprobes; valid if symbols_known */
	bool symbols_known;	/* /proc/kallsyms was read; not if the module is loaded */
	uint64_t lookup;	/* kallsyms_lookup_name's address; 0: absent or hidden */
	bool secure_boot;
	bool lockdown;
	bool must_be_signed;
	bool may_load;		/* CAP_SYS_MODULE */
};

bool has_capability(unsigned int number);
void module_look(struct module *module, const char *file);
void module_advice(const struct module *module, json_t *advice);
/*
 * dkms's key, if its owner has not enrolled it where it's needed. The firmware's own list may have
 * it.
 */
const char *module_key_waits(const struct module *module);

/* load.c: load that file, or the module's own with NULL; DONE, or FAILED and why */
int module_load(const char *file, char *why, size_t room);

/* loader.c: true if found; 0 or a negative errno, above 0: modprobe.d prevents loading */
bool loader_find(char *file, size_t room);
int loader_insert(const struct module *module, const char *parameters);
int loader_remove(void);
bool module_is_loaded(void);

/* finding.c */
enum grade { FINE, NOTE, BAD };

void finding(json_t *list, enum grade grade, const char *what,
	     const char *advice, const char *format, ...)
	__attribute__((format(printf, 5, 6)));
int print_findings(json_t *list);
/* Before an advice: "pamsctl up" sees to all of it. */
#define OR_UP	"pamsctl up, or "
/* Take those out that are fine, and the advice to call what has just been called. */
void only_wrong(json_t *list);
/* doctor.c: all that doctor finds but what it finds of a peer */
void look_at_all(json_t *list);

/* doctor's checks: each adds its findings to the list */
void look_at_endpoints(json_t *list);
void look_at_sockets(json_t *list);
/* diag.c: a socket that listens, with the first process that has it */
struct listener {
	bool mptcp;
	int family;
	uint8_t address[16];
	uint16_t port;
	int pid;
	char name[64];
	char scheduler[PAMS_SCHEDULER_MAX];	/* that it has; "": not known */
};

typedef void (*listener_fn)(const struct listener *listener, void *arg);
int each_listener(listener_fn fn, void *arg);	/* 0, or libnl's error */
void look_at_counters(json_t *list);
void look_at_pamsd(json_t *list);
void look_at_pamsplit(json_t *list);
void look_at_hook(json_t *list);
void look_at_rules(json_t *list);
void look_at_subflows(json_t *list);
void look_at_datagrams(json_t *list);
void look_at_buffers(json_t *list);
/* Check an endpoint's address: its route, and if announcing it is of use. */
void look_at_address(json_t *list, int family, const void *address,
		     uint32_t ifindex, bool announced);
int look_at_peer(json_t *list, const char *peer);

/* mib.c: the value of an MPTcpExt or a TcpExt counter, 0 if the kernel has no such counter */
uint64_t mib_counter(const char *name);
uint64_t mib_tcp_counter(const char *name);

#endif
