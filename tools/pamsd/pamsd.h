/* SPDX-License-Identifier: GPL-2.0 */
/*
 * pamsd - declarations that its files share, grouped by the file that defines them
 *
 *	server:   udp -> server.c -> peer.c -> session.c
 *	                             peer.c -> held.c -> kernel.c -> module
 *	reporter: source_*.c (flows.c) -> estimate.c -\
 *	          links.c (carrier) ---------> reporter.c -> target.c -> udp
 *	          control.c, plugin.c -------/      \------> kernel.c
 *	                  (lines.c)
 *
 *	paths:    scene.c, seen.c -> paths.c -> scene.c, endpoint.c, begin.c
 *	                  (plan.c, choice.c, lead.c)
 *	rules:    config.c -> rules.c -> kernel.c
 *	caps:     counter.c, battery.c, metered.c, pamsplit.c -> caps.c (quota.c)
 *	                  caps.c -> caps_apply.c -> kernel.c, endpoint.c, exits.c,
 *	                                            pamsplit.c
 *	                  caps.c -> caps_keep.c -> keep.c
 *
 * Files call downward only (selftests/downward):
 *
 *	main.c			init and exit
 *	config.c		parses the configuration file
 *	config_check.c		checks each value of the configuration
 *	control.c plugin.c	the control socket, and the programs that predict losses
 *	lines.c			carries out their commands, which are lines of JSON
 *	server.c		the UDP sockets that receive reports
 *	filter.c		a BPF filter for these sockets, against floods
 *	peer.c			authenticates reports and answers them
 *	held.c			the paths that peers have reported
 *	conns.c			the connections over these paths
 *	told.c			what the module was told of both
 *	session.c		sessions of peers, and the age of their reports
 *	paths.c			keeps the host's paths
 *	plan.c			what should be there for them
 *	lead.c			where those begin whose destination is silent
 *	begin.c			puts where connections begin into the kernel
 *	seen.c			what TCP sockets tell of the paths
 *	choice.c		chooses on which of them connections begin
 *	silent.c		destinations that don't answer over a path
 *	scene.c			interfaces, addresses, routes and rules
 *	reporter.c		decides when to report which state of a path
 *	source_*.c		measure an interface's throughput and backlog
 *	flows.c estimate.c	sum up TCP flows, and estimate a rate from samples
 *	target.c		sends reports to a server
 *	announce.c		repeats a report until the server acknowledges it
 *	resolve.c		looks up the addresses of a server's name
 *	links.c			the state of the interfaces, from rtnetlink
 *	subflows.c		the subflows of MPTCP connections, by interface
 *	diag.c			TCP sockets, read by sock_diag
 *	traffic.c		notices the first packet after a silence
 *	caps.c			limits on the use of interfaces
 *	caps_apply.c		tells the kernel what a cap asks for
 *	endpoint.c exits.c pamsplit.c
 *				the path manager's endpoints, default routes, pamsplit
 *	caps_keep.c keep.c	the state file of the caps
 *	battery.c counter.c metered.c quota.c
 *				reasons for which a cap is active
 *	rules.c			the kernel's table of rules
 *	kernel.c		sends paths and rules to the module
 *	source.c		a netlink socket
 *	address.c		addresses and prefixes
 *	key.c			keys
 *	file.c			reads whole files
 *	privilege.c		drops privileges of the daemon and of its plugins
 *	log.c			messages
 *	clock.c			the time since boot
 *
 * One thread, one event loop. Units: times in ms or us since boot, rates in
 * bytes per second.
 */
#ifndef PAMSD_H
#define PAMSD_H

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "../lib/netlink.h"
#include "../lib/report.h"

#define PAMSD_CONFIG	"/etc/pamsd/pamsd.conf"
#define PAMSD_CONTROL	"/run/pamsd/control"
#define PAMSD_STATE	"/var/lib/pamsd/caps.json"
#define PAMSPLIT_CONTROL "/run/pamsplit/socket"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

struct event_base;
struct json_t;

/* --- address.c: addresses and prefixes --- */

struct prefix {
	int family;		/* AF_INET, AF_INET6 */
	unsigned int len;
	uint8_t address[16];	/* IPv4: the first four bytes */
};

union address {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

/* A server that the configuration gives by name; resolve.c looks up its addresses. */
struct host {
	char name[254];		/* "": the configuration gives addresses */
	char port[6];
};

/* Parsers return NULL, or a text that says what is wrong. */
const char *prefix_parse(struct prefix *prefix, const char *text);
const char *address_parse(union address *address, const char *text,
			  uint16_t port);

/*
 * Parse an address or a name. A name leaves address->sa.sa_family 0, an address leaves
 * host->name empty.
 */
const char *server_parse(union address *address, struct host *host,
			 const char *text, uint16_t port);

bool prefix_contains(const struct prefix *outer, const struct prefix *inner);
void prefix_of(struct prefix *prefix, const union address *address);
socklen_t address_len(const union address *address);
#define ADDRESS_TEXT	64
const char *address_text(char text[ADDRESS_TEXT], const union address *address);
const char *prefix_text(char text[ADDRESS_TEXT], const struct prefix *prefix);

void prefix_cut(struct prefix *prefix);	/* clear the bits after the prefix length */
bool prefix_is_multicast(const struct prefix *prefix);

/* --- file.c: files that only root may read --- */

/*
 * Read a text file of at most max bytes and set *mode. The returned buffer has FILE_SPARE
 * unused bytes after the text. On an error returns NULL and sets *why, which is valid until
 * the next call.
 */
#define FILE_SPARE	64
char *file_read(const char *file, size_t max, mode_t *mode, const char **why);
/* Overwrite the text with zeros and free it. */
void file_free(char *content);

/* --- key.c: keys and files of them --- */

#define KEY_TEXT	45	/* a key in base64, with the terminating zero */

const char *key_parse(uint8_t key[REPORT_KEY_BYTES], const char *text);
/* Returns NULL, or a text that says what is wrong, valid until the next call. */
const char *key_read(uint8_t key[REPORT_KEY_BYTES], const char *file);
void key_generate(char text[KEY_TEXT]);

/* --- config.c: the configuration --- */

struct peer_config {
	char *name;
	uint8_t key[REPORT_KEY_BYTES];
	struct prefix *prefixes;
	unsigned int prefix_count;
	unsigned int rate_ps;	/* limit of reports per second */
	bool source;		/* the peer may report about its source address */
	unsigned int loss_max_s; /* the server's loss-max-s: longest time a loss may hold */
};

/* A server has at most this many addresses. */
#define ADDRESSES_MAX	4

struct target_config {
	char *name;
	uint8_t key[REPORT_KEY_BYTES];
	union address *addresses;	/* the server's; none if host has its name */
	unsigned int address_count;
	struct host host;		/* the server's name, if the configuration gives one */
	char (*via)[IF_NAMESIZE];
	unsigned int via_count;
};

enum measure {
	MEASURE_AUTO,
	MEASURE_QDISC,
	MEASURE_STATION,
	MEASURE_TCP,
	MEASURE_PAMSPLIT,
	MEASURE_NONE,
};

struct about {
	bool source;		/* about the source address of the report, not about prefix */
	struct prefix prefix;
	uint16_t port;		/* TCP port, 0 for any */
};

struct interface_config {
	char name[IF_NAMESIZE];
	struct about *abouts;
	unsigned int about_count;
	enum measure measure;
	char *socket;		/* path of pamsplit's control socket */
	bool carrier;		/* report link down and up */
	bool local;		/* tell the module on this machine, too */
	uint32_t delay_us;	/* delay of the pipe; UINT32_MAX: not given */
	char **plugin;		/* argv of the command, ends with NULL; NULL: no plugin */
};

/* What a cap does while it is active. */
struct effect {
	uint8_t cost;		/* the interface costs at least this */
	bool backup;
	bool forbid;
	bool lend_nothing;	/* for pamsplit; the other fields are for interfaces */
};

enum period {
	PERIOD_DAY,
	PERIOD_MONTH,
};

/* Minutes since midnight. If from_min is after to_min, the interval spans midnight. */
struct hours {
	uint16_t from_min, to_min;
};

struct cap_config {
	char *name;
	char interface[IF_NAMESIZE];	/* "": the cap limits what pamsplit lends */
	char *socket;		/* path of pamsplit's control socket, or NULL */
	uint64_t quota_bytes;	/* 0: none */
	enum period period;
	unsigned int from_day;	/* of the month */
	unsigned int battery_below; /* active below this percentage; 0: the battery is no reason */
	bool metered;		/* active while NetworkManager calls the interface metered */
	struct hours *hours;
	unsigned int hours_count;
	struct effect then;
};

/* Section "paths": pamsd keeps the host's paths. */
struct paths_config {
	bool kept;		/* the section is there */
	bool first;		/* choose where connections begin */
	char (*also)[IF_NAMESIZE]; /* bridges and tunnels that are paths */
	unsigned int also_count;
	char (*without)[IF_NAMESIZE]; /* interfaces that are none */
	unsigned int without_count;
	struct prefix *not_first; /* destinations that begin where the routes say */
	unsigned int not_first_count;
};

struct config {
	char *control;		/* path of the socket, NULL for none */
	bool server, reporter;
	union address *listens;
	unsigned int listen_count;
	struct peer_config *peers;
	unsigned int peer_count;
	unsigned int interval_ms;
	unsigned int rate_age_ms;
	struct target_config *targets;
	unsigned int target_count;
	struct interface_config *interfaces;
	unsigned int interface_count;
	char *rules_file;	/* NULL: the kernel's table isn't touched */
	struct pams_rules rules;
	struct paths_config paths;
	char *state;		/* path of the caps' state file */
	bool costs_as_backup;	/* costly endpoints become backups, so peers see MP_PRIO */
	struct cap_config *caps;
	unsigned int cap_count;
};

/*
 * Read the configuration. Calls say() for each fault, with a line that has the file's name
 * and the line number. Returns NULL if there is a fault.
 */
struct config *config_read(const char *file, void (*say)(const char *line));
/* Overwrite the keys with zeros and free the configuration. */
void config_free(struct config *config);
/*
 * Read only the control socket's path, without reading files of keys. Returns "" if no path is
 * configured, NULL if the file has a fault. The caller frees the path.
 */
char *config_read_control(const char *file, void (*say)(const char *line));

/* --- log.c --- */

__attribute__((__format__(__printf__, 1, 2)))
void say(const char *format, ...);
void say_line(const char *line);

/*
 * State of a message that is logged at most once a minute, together with how often it was
 * suppressed since.
 */
struct seldom {
	uint64_t logged_ms;	/* 0: never */
	uint64_t left_out;
};

__attribute__((__format__(__printf__, 2, 3)))
void say_seldom(struct seldom *seldom, const char *format, ...);

/* --- privilege.c --- */

/*
 * Change to this user (NULL: keep the user) and drop CAP_NET_RAW. Also drop CAP_NET_ADMIN
 * unless to_tell, which says that the module is to be told something. Returns 0, or -1 after
 * logging the reason.
 */
int privilege_drop(const char *user, bool to_tell);
/* Drop all privileges in the child process that becomes a plugin. Returns 0 or -1. */
int privilege_drop_all(void);

/* --- clock.c --- */

/* Time since boot, including time in suspend (CLOCK_BOOTTIME). */
uint64_t now_us(void);
uint64_t now_ms(void);
/*
 * Read the wall clock. Returns whether the kernel calls it synchronised, as by NTP; false if
 * that is unknown. One system call reads both, so that nobody sets the clock in between.
 */
bool clock_read(time_t *seconds);

/* A token bucket, for events that are allowed rate_ps times a second on average. */
struct bucket {
	uint64_t filled_us;
	uint64_t tokens_us;	/* each event costs 1 s / rate_ps of them */
};

bool bucket_take(struct bucket *bucket, unsigned int rate_ps,
		 unsigned int burst, uint64_t us);

/* --- kernel.c: feeds the module --- */

struct kernel;

/*
 * Calls again() when the module has been loaded or reloaded: a new module has no paths and
 * rules, so the caller has to set them again. Returns NULL if there is no memory.
 */
struct kernel *kernel_new(struct event_base *base, void (*again)(void *arg),
			  void *arg);
void kernel_free(struct kernel *kernel);
/* From now on log if the module isn't loaded: somebody has something to tell it. */
void kernel_wanted(struct kernel *kernel);
/* Return 0 or -errno. -ENOENT: the module isn't loaded, which was logged. */
int kernel_set(struct kernel *kernel, const struct pams_path *path);
int kernel_del(struct kernel *kernel, const struct pams_path *path);
/*
 * Read what the module has under path's key into path. Returns 0, -ENOENT if it has nothing
 * there, -EAGAIN if the module can't be asked.
 */
int kernel_get(struct kernel *kernel, struct pams_path *path);
/* The cost of sending through this interface, as the module has it; 0 if it has none. */
uint8_t kernel_cost(struct kernel *kernel, unsigned int ifindex);
/* Does the module have a cost under this key that pamsd set? */
bool kernel_has_cost(struct kernel *kernel, const struct pams_path *key);
/* Call costs() whenever a cost may have changed; NULL: call nothing. */
void kernel_on_costs(struct kernel *kernel, void (*costs)(void *arg), void *arg);
int kernel_set_rules(struct kernel *kernel, const struct pams_rules *rules);
/* Why the module refused the last request. */
const char *kernel_error(const struct kernel *kernel);
/*
 * Look for a subflow of this key, of a connection whose peer has the token proof. Returns 0;
 * -EACCES: the peer has another token; -ENOENT; -EAGAIN: the module isn't loaded.
 */
int kernel_find_subflow(struct kernel *kernel, const struct pams_path *key,
			uint32_t proof);
/* The same for a connection of this token, whatever subflows it has. */
int kernel_find_conn(struct kernel *kernel, uint32_t token, uint32_t proof);
struct json_t *kernel_status(const struct kernel *kernel);

/* --- rules.c: the kernel's table of rules --- */

struct rules;

/* Returns NULL if there is no memory. */
struct rules *rules_new(struct event_base *base, const struct config *config,
			struct kernel *kernel);
void rules_free(struct rules *rules);
/* Set the whole table in the module. */
void rules_feed(struct rules *rules);
struct json_t *rules_status(const struct rules *rules);

/* --- metered.c: asks NetworkManager whether an interface is metered --- */

/* Was this pamsd built with D-Bus? */
bool metered_can_be_had(void);

/* --- caps.c: limits on the use of interfaces --- */

struct caps;

/* Returns NULL if there is no memory. */
struct caps *caps_new(struct event_base *base, const struct config *config,
		      struct kernel *kernel);
/* Keeps all changes that the caps have made; the next caps_new() continues from them. */
void caps_free(struct caps *caps);
/* Undo all changes that the caps have made. */
void caps_release(struct caps *caps);
/* Tell the module and pamsplit the effects of all caps. */
void caps_feed(struct caps *caps);
struct json_t *caps_status(const struct caps *caps);
/* Does a cap forbid this interface now, and what do its caps make it cost? */
bool caps_forbid(const struct caps *caps, const char *interface);
uint8_t caps_cost(const struct caps *caps, const char *interface);
/* Call news() whenever that may have changed; NULL: call nothing. */
void caps_on_change(struct caps *caps, void (*news)(void *arg), void *arg);

/* --- peer.c, session.c, held.c: peers that report to this server, and their reports --- */

struct peers;

/* The calls of the server's core to the module. Tests replace them. */
struct peers_env {
	/* return 0 or -errno; -ENOENT: the module isn't loaded */
	int (*path_set)(const struct pams_path *path, void *arg);
	int (*path_del)(const struct pams_path *path, void *arg);
	/* Does the kernel have that subflow, of a connection whose peer has the token proof? */
	int (*subflow_find)(const struct pams_path *key, uint32_t proof, void *arg);
	/* Does it have that connection, whose peer has the token proof? */
	int (*conn_find)(uint32_t token, uint32_t proof, void *arg);
	/* Does the module have a cost under this key that pamsd set? */
	bool (*has_cost)(const struct pams_path *key, void *arg);
	void *arg;
};

/* Why the server dropped a report, or a part of it. */
enum drop {
	DROP_REPORT_ERRORS = REPORT_MALFORMED,	/* up to here the values of enum report_error */
	DROP_UNKNOWN_PEER,
	DROP_NOT_FOR_US,	/* an answer came to a server, which takes only reports */
	DROP_REPLAY,
	DROP_COOKIE,
	DROP_OLD,
	DROP_RATE,
	DROP_CHALLENGE_RATE,
	/* the following drop one path of a report, not the whole report */
	DROP_NOT_ITS_PATH,
	DROP_UNVERIFIED,
	DROP_NO_CONNECTION,
	DROP_UNPROVEN,		/* a connection that the peer doesn't prove to be its own */
	DROP_GUESSES,
	DROP_TOO_MANY_PATHS,
	DROP_KERNEL,		/* the module refused the path */
	DROPS,
};

struct peers *peers_new(const struct config *config,
			const struct peers_env *env);
void peers_free(struct peers *peers);
/*
 * Process a datagram that was received at us (as now_us()). Returns the length of the answer
 * that it wrote to answer, or 0 if there is nothing to send.
 */
size_t peers_receive(struct peers *peers, const uint8_t *buf, size_t len,
		     const union address *from, uint64_t us,
		     uint8_t answer[REPORT_ANSWER_BYTES]);
/* Delete from the module what peers reported that lose their rights with configuration next. */
void peers_revoke(struct peers *peers, const struct config *next, uint64_t ms);
/* Tell the module all reports that still hold. */
void peers_feed(struct peers *peers, uint64_t ms);
unsigned int peers_count(const struct peers *peers);
const uint8_t *peers_id(const struct peers *peers, unsigned int index);
/* How many datagrams were dropped because no configured peer can have sent them. */
uint64_t peers_junk(const struct peers *peers);
struct json_t *peers_status(const struct peers *peers, uint64_t ms);

/* --- filter.c: a BPF filter for the server's sockets --- */

/* Make the kernel drop datagrams that don't have a key id of one of these peers. */
void filter_attach(int fd, const struct peers *peers);
void filter_detach(int fd);
/* How many datagrams the kernel dropped at this socket, by the filter or as its buffer was full. */
uint32_t filter_drops(int fd);

/* --- server.c: the sockets of the server --- */

struct server;

/* Opens the sockets. Returns NULL after logging the reason if it fails. */
struct server *server_new(struct event_base *base, const struct config *config,
			  struct kernel *kernel);
void server_free(struct server *server);
void server_feed(struct server *server);
/* Call this before switching to configuration next: see peers_revoke(). */
void server_revoke(struct server *server, const struct config *next);
struct json_t *server_status(const struct server *server);

/* --- estimate.c: estimates a pipe's rate from samples of counters --- */

struct estimate_window {
	uint64_t begin_us;
	unsigned int looks, busy_looks;
	uint64_t best_byteps;	/* highest rate of the samples that ended in the window; 0: none */
};

struct estimate {
	bool sampled;		/* the next three fields are from the last sample */
	uint64_t sample_us;
	uint64_t bytes;		/* counter: sent through the pipe */
	uint32_t backlog_bytes;
	uint64_t busy_bytes;	/* sent while there was a backlog */
	uint64_t busy_us;	/* how long that backlog lasted */
	bool busy_unsure;	/* the backlog may have been gone between two samples */
	struct estimate_window window;
	bool drained;		/* the rate was measured while a queue drained */
	const char *from;	/* how the rate was found, for the status; or NULL */
	uint64_t rate_byteps;	/* 0: unknown */
	uint64_t rate_us;	/* when the rate was last found */
	uint64_t waited_us;	/* when there last was a backlog; 0: never */
	bool has_delay;
	uint32_t delay_us;
};

void estimate_reset(struct estimate *estimate);
/* Take a sample of a source that only counts bytes; the rate is measured during a backlog. */
void estimate_count(struct estimate *estimate, uint64_t us, uint64_t bytes,
		    uint32_t backlog_bytes);
/* Take a sample of a source that knows the rate; rate_byteps 0: unknown now. */
void estimate_rate(struct estimate *estimate, uint64_t us, uint64_t bytes,
		   uint32_t backlog_bytes, uint64_t rate_byteps);
/* Take a sample of a source that averages the rate itself; rate_byteps 0: unknown now. */
void estimate_exact(struct estimate *estimate, uint64_t us, uint64_t bytes,
		    uint32_t backlog_bytes, uint64_t rate_byteps);
/* Set the rate unless one was measured while a queue drained; rate_byteps 0: unknown. */
void estimate_suppose(struct estimate *estimate, uint64_t us,
		      uint64_t rate_byteps, const char *from);
/* The rate, or 0 if it is unknown or was found more than age_us ago. */
uint64_t estimate_known(const struct estimate *estimate, uint64_t us,
			uint64_t age_us);

/* --- links.c: the state of interfaces, from rtnetlink --- */

struct link {
	char name[IF_NAMESIZE];
	unsigned int ifindex;	/* 0: no such interface */
	bool known, up;		/* up: with carrier */
	bool listed;		/* the current dump contains this link */
	bool lost;		/* set by reporter.c: the path is lost, or will be soon */
	uint64_t counted_us;	/* when bytes was read; 0: never */
	uint64_t bytes;		/* counter: sent and received */
	uint64_t window_us;	/* when the window began */
	uint64_t window_bytes;	/* bytes sent and received in the window */
	uint64_t moved_us;	/* when the link last carried data; 0: never seen */
	/* source addresses for reports, one of each family, chosen from addresses */
	bool has_address4, has_address6;
	struct in_addr address4;
	struct in6_addr address6;
	struct link_address *addresses;
	unsigned int address_count;
};

struct links;

/* Do connections over IPv6 prefer temporary addresses on this interface (use_tempaddr 2)? */
bool link_prefers_temporary(const char *name);
/*
 * Calls changed() at once when a link's up has changed, and addressed() when a link gets its
 * first address of a family.
 */
struct links *links_new(struct event_base *base,
			void (*changed)(struct link *link, void *arg),
			void (*addressed)(void *arg), void *arg);
void links_free(struct links *links);
/* Watch the link of this name from now on. The returned link is valid as long as links. */
struct link *links_watch(struct links *links, const char *name);
/*
 * Request a dump of all links; call this after the last links_watch(). Links that the dump
 * doesn't contain don't exist any more.
 */
int links_refresh(struct links *links);
/* Read the counters of all links, to see which of them carry data. */
int links_sample(struct links *links, uint64_t us);
/* If a link has several addresses, choose one that subflows use as source address. */
void links_use(struct links *links);
#define LINKS_MAX	64
/* Fill in the indices of the existing links; returns how many there are. */
unsigned int links_indices(const struct links *links,
			   unsigned int indices[LINKS_MAX]);

/* --- traffic.c: the first packet after a silence --- */

#define TRAFFIC_MAX	64

/* Needs CAP_NET_RAW, so call this before privilege_drop(). Without it the socket stays closed. */
void traffic_open(void);
void traffic_close(void);
/*
 * Call seen() once, when a packet large enough to carry data passes one of these interfaces,
 * of which there are at most TRAFFIC_MAX. Returns false if the caller has to poll instead.
 */
bool traffic_await(struct event_base *base, const unsigned int *ifindexes,
		   unsigned int count, void (*seen)(void *arg), void *arg);
void traffic_ignore(void);

/* --- source*.c: measure an interface's throughput and backlog --- */

struct interface;
struct nl_sock;

/* pamsplit.c: the functions that return int return 0 or -errno */

/*
 * Read pamsplit's status. *answer is valid until the next call; *pid is the process that
 * listens on the socket.
 */
int pamsplit_ask(const char *path, char **answer, unsigned int *pid);
/* The number after " NAME=" in the line, 0 if NAME isn't in it. */
uint64_t pamsplit_number(const char *line, const char *name);
/* Make pamsplit lend nothing for this time; 0: make it lend again. */
int pamsplit_lend_nothing(const char *path, unsigned int ms);

struct source {
	const char *name;
	/* Measure the link and update the estimate. Returns 0 or -errno. */
	int (*sample)(const struct link *link,
		      const struct interface_config *config,
		      struct estimate *estimate, uint64_t us);
	void (*close)(void);
};

/* flows.c: the TCP flows through a pipe, added up */
struct flows {
	uint64_t bytes;		/* acknowledged so far */
	uint64_t backlog_bytes;
	uint32_t min_rtt_us;	/* lowest of all flows; 0: unknown */
};

/* Is peer, with this port, in one of the prefixes that the interface is about? */
bool flows_mean(const struct interface_config *config,
		const struct prefix *peer, uint16_t port);
void flows_add(struct flows *flows, uint64_t bytes, uint64_t backlog_bytes,
	       uint32_t min_rtt_us);
/*
 * Set the estimate's delay to half of the flows' lowest round-trip time. Call this before
 * passing the sum of the flows to the estimate.
 */
void flows_settle(struct flows *flows, struct estimate *estimate);

extern const struct source source_qdisc, source_station, source_tcp,
			   source_pamsplit;
/* Open a source's netlink socket unless it is open already. Returns 0 or -errno. */
int source_open(struct nl_sock **sock, int protocol);
void source_close(struct nl_sock **sock);
/* Is the link wireless? */
bool source_station_suits(const struct link *link);

/* --- reporter.c: decides when to report which state of a path --- */

struct reporter;

struct reporter *reporter_new(struct event_base *base,
			      const struct config *config,
			      struct kernel *kernel);
void reporter_free(struct reporter *reporter);
void reporter_feed(struct reporter *reporter);
/* A prediction, by a plugin or a person, of when a path will be lost. */
struct prediction {
	bool loss;		/* false: the path won't be lost */
	uint32_t loss_ms;	/* time from now until the loss */
	uint32_t spread_ms;	/* standard deviation of loss_ms */
	uint32_t ttl_ms;	/* 0: the default */
};

/* Apply a prediction to an interface. Returns NULL, or why it is refused. */
const char *reporter_predict(struct reporter *reporter, const char *interface,
			     const struct prediction *prediction);
struct json_t *reporter_status(const struct reporter *reporter);

/* --- paths.c: keeps the host's paths --- */

struct paths;

/*
 * Continues from what an earlier pamsd has made. caps: those that forbid paths, or NULL. Returns
 * NULL after logging the reason.
 */
struct paths *paths_new(struct event_base *base, const struct config *config,
			struct kernel *kernel, struct caps *caps);
/* Keeps what was made; the next paths_new() continues from it. */
void paths_free(struct paths *paths);
/* Undo what was made. */
void paths_release(struct paths *paths);
/* What the paths depend on may have changed. */
void paths_feed(struct paths *paths);
/* No connection begins on a path that is about to be lost. Returns NULL, or why not. */
const char *paths_predict(struct paths *paths, const char *interface,
			  const struct prediction *prediction);
struct json_t *paths_status(struct paths *paths);

/* --- begin.c: on which path connections begin --- */

/* Load the BPF programs, which privilege_drop() makes impossible. */
void begin_open(void);
void begin_close(void);

/* --- subflows.c: this machine's subflows of MPTCP connections --- */

#define CONNECTIONS_MAX	32768

struct subflow {
	struct prefix local, peer;
	uint16_t peer_port;
	uint8_t local_id;	/* address id of this machine's address */
	uint8_t remote_id;
};

struct mptcp_conn {
	LIST_ENTRY(mptcp_conn) in_table;
	uint32_t own_token;	/* this machine's token */
	uint32_t token;		/* the peer's; 0: the kernel doesn't tell it yet */
	bool seen;		/* the current dump has it */
	unsigned int count;	/* 0: it is closed */
	struct subflow subflows[REPORT_FLOWS_MAX];
};

typedef void (*connection_fn)(const struct mptcp_conn *connection, void *arg);

/*
 * Call changed for each connection that begins, changes or ends, from subflows_read() on. Ready is
 * called when the kernel has told something, which subflows_read() reads.
 */
void subflows_open(struct event_base *base, void (*ready)(void *arg), connection_fn changed,
		   void *arg);
void subflows_close(void);
/*
 * Learn by the kernel's events what has changed since. all: call changed for all connections, and
 * if events were lost, or there are none, read them all by a dump. Returns 0 or -errno. Without
 * CAP_NET_ADMIN it finds none.
 */
int subflows_read(bool all);
void subflows_each(connection_fn each, void *arg);
/* The name of the interface that has this address, or had it last; NULL if none is known. */
const char *subflows_interface(const struct prefix *local);
/* Does a subflow use this address of this machine? */
bool subflows_use(const struct prefix *local);

/* --- announce.c: repeats a report until the server acknowledges it --- */

struct announce_path;

/* --- resolve.c: the addresses of a server that is given by name --- */

struct resolver;

/*
 * Calls found() after each successful lookup, with 1 to ADDRESSES_MAX addresses. The caller
 * keeps host valid. Returns NULL if there is no memory.
 */
struct resolver *resolver_new(struct event_base *base, const struct host *host,
			      void (*found)(const union address *addresses,
					    unsigned int count, void *arg),
			      void *arg);
/* Stops the calls of found(). The event loop frees the memory in its next iteration. */
void resolver_free(struct resolver *resolver);
/* Run the event loop until all freed resolvers are gone; call this last at exit. */
void resolvers_end(struct event_base *base);
/*
 * Look the name up now, and retry soon if that fails. For when nobody answers at the known
 * addresses, or when the network comes up.
 */
void resolver_hurry(struct resolver *resolver);

/* --- target.c: sends reports to a server --- */

struct target;

struct target *target_new(struct event_base *base,
			  const struct target_config *config,
			  struct links *links);
void target_free(struct target *target);
/* From now on path id of the reports names the address of this link, and is sent from it. */
void target_add_source(struct target *target, const struct link *link,
		       unsigned int id);
/* Is this address one of the server's? */
bool target_is_at(const struct target *target, const struct prefix *address);
/* Set the state of path id, which target_run() and target_periodic() send. */
void target_set(struct target *target, unsigned int id,
		const struct announce_path *path);
/* Set which paths the subflows of a connection take, as announce_conn(). */
void target_conn(struct target *target, const struct report_conn *conn);
/* Has the server said that it takes connections? */
bool target_takes_conns(const struct target *target);
/* Send the paths that have changed, again and again until the server acknowledges them. */
void target_run(struct target *target);
/* Retry a failed lookup of the server's name, as a link has come up or has got an address. */
void target_look_up(struct target *target);
/* Send all paths once. */
void target_periodic(struct target *target);
struct json_t *target_status(const struct target *target);

/* --- lines.c: commands, as lines of JSON --- */

/* The parts of the daemon that commands are for. */
struct lines {
	struct kernel *kernel;
	struct server *server;		/* or NULL */
	struct reporter *reporter;	/* or NULL */
	struct rules *rules;		/* or NULL */
	struct caps *caps;		/* or NULL */
	struct paths *paths;		/* or NULL */
};

/*
 * Carry out the command in a line. The interface (or NULL) is for commands that name none.
 * Returns the answer, which the caller frees.
 */
struct json_t *lines_obey(const struct lines *lines, const char *line,
			  size_t len, const char *interface);

/* --- control.c: the control socket --- */

struct control;

struct control *control_new(struct event_base *base, const char *path,
			    const struct lines *lines);
void control_free(struct control *control);
/* Send a line to the daemon at this socket and print its answer. Returns the exit status. */
int control_tell(const char *path, const char *line);

/* --- plugin.c: programs that predict losses --- */

struct plugins;

struct plugins *plugins_new(struct event_base *base,
			    const struct config *config,
			    const struct lines *lines);
void plugins_free(struct plugins *plugins);

#endif /* PAMSD_H */
