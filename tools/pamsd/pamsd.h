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
 *	rules:    config.c -> rules.c -> kernel.c
 *	caps:     counter.c, battery.c, metered.c, pamsplit.c -> caps.c (quota.c)
 *	                  caps.c -> caps_apply.c -> kernel.c, endpoint.c, exits.c,
 *	                                            pamsplit.c
 *	                  caps.c -> caps_keep.c -> keep.c
 *
 * Files call downward only (selftests/downward):
 *
 *	main.c			init and exit
 *	config.c		the configuration's file,
 *	config_check.c		and what is asked of each value in it
 *	control.c plugin.c	who tells the daemon of losses, and asks it,
 *	lines.c			by lines of JSON
 *	server.c		the sockets on which reports come in,
 *	filter.c		what the kernel drops there,
 *	peer.c			who has sent them,
 *	held.c			the paths that they reported,
 *	session.c		and how old they are
 *	reporter.c		when to report what,
 *	source_*.c		of what is measured:
 *	flows.c estimate.c	a pipe's flows and its throughput
 *	subflows.c		the subflows of MPTCP connections, by interface
 *	diag.c tcpinfo.c	TCP sockets
 *	target.c		a server that is reported to,
 *	announce.c		until it acknowledges,
 *	resolve.c		and its addresses
 *	links.c			the interfaces
 *	traffic.c		the first packet after a silence
 *	caps.c			interfaces that are to be used less,
 *	caps_apply.c		what the kernel is told for that,
 *	endpoint.c exits.c pamsplit.c
 *				and who else,
 *	caps_keep.c keep.c	what a file keeps of it,
 *	battery.c counter.c metered.c quota.c
 *				and the reasons
 *	rules.c			the kernel's table of rules
 *	kernel.c		feeds the module
 *	source.c		a netlink socket
 *	address.c		addresses and prefixes
 *	key.c			keys
 *	file.c			files that are read whole
 *	privilege.c		what the daemon and its plugins may do
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

/* A server that is given by name: its addresses are looked up (resolve.c). */
struct host {
	char name[254];		/* "": the server isn't given by name */
	char port[6];
};

/* Parsers return NULL, or a text that says what is wrong. */
const char *prefix_parse(struct prefix *prefix, const char *text);
const char *address_parse(union address *address, const char *text,
			  uint16_t port);

/* Parse an address or a name. The other one is set to empty: no family, or no text. */
const char *server_parse(union address *address, struct host *host,
			 const char *text, uint16_t port);

bool prefix_contains(const struct prefix *outer, const struct prefix *inner);
void prefix_of(struct prefix *prefix, const union address *address);
socklen_t address_len(const union address *address);
#define ADDRESS_TEXT	64
const char *address_text(char text[ADDRESS_TEXT], const union address *address);
const char *prefix_text(char text[ADDRESS_TEXT], const struct prefix *prefix);

void prefix_cut(struct prefix *prefix);	/* clear the bits behind its length */
bool prefix_is_multicast(const struct prefix *prefix);

/* --- file.c: files that only root may read --- */

/*
 * Read a file of at most max bytes, with FILE_SPARE more bytes free behind its text, and
 * set *mode. On an error returns NULL and sets *why, which is valid until the next call.
 */
#define FILE_SPARE	64
char *file_read(const char *file, size_t max, mode_t *mode, const char **why);
/* Wipe the text, and free it. */
void file_free(char *content);

/* --- key.c: keys and files of them --- */

#define KEY_TEXT	45	/* base64, and the zero */

const char *key_parse(uint8_t key[REPORT_KEY_BYTES], const char *text);
/* What it returns is valid until the next call. */
const char *key_read(uint8_t key[REPORT_KEY_BYTES], const char *file);
void key_generate(char text[KEY_TEXT]);

/* --- config.c: the configuration --- */

struct peer_config {
	char *name;
	uint8_t key[REPORT_KEY_BYTES];
	struct prefix *prefixes;
	unsigned int prefix_count;
	unsigned int rate_ps;	/* at most this many reports a second are taken */
	bool source;		/* it may report about its source address */
	unsigned int loss_max_s; /* the server's: how long a loss may hold */
};

/* A server has at most this many addresses. */
#define ADDRESSES_MAX	4

struct target_config {
	char *name;
	uint8_t key[REPORT_KEY_BYTES];
	union address *addresses;	/* the server's, unless it is given by name */
	unsigned int address_count;
	struct host host;		/* the server's name */
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
	bool source;		/* the address that the report comes from; else prefix */
	struct prefix prefix;
	uint16_t port;		/* TCP's, 0 for any */
};

struct interface_config {
	char name[IF_NAMESIZE];
	struct about *abouts;
	unsigned int about_count;
	enum measure measure;
	char *socket;		/* path of pamsplit's control socket */
	bool carrier;		/* report link down and up */
	bool local;		/* tell this machine's kernel, too */
	uint32_t delay_us;	/* delay of the pipe; UINT32_MAX: not given */
	char **plugin;		/* command, its words and NULL; NULL: none */
};

/* What a cap does to a path while it holds. */
struct effect {
	uint8_t cost;		/* the path costs at least this */
	bool backup;
	bool forbid;
	bool lend_nothing;	/* for pamsplit; the others are for interfaces */
};

enum period {
	PERIOD_DAY,
	PERIOD_MONTH,
};

/* Minutes since midnight; if from is after to the hours go over midnight. */
struct hours {
	uint16_t from_min, to_min;
};

struct cap_config {
	char *name;
	char interface[IF_NAMESIZE];	/* ""; then the cap is on what pamsplit lends */
	char *socket;		/* path of that pamsplit's control socket */
	uint64_t quota_bytes;	/* 0: none */
	enum period period;
	unsigned int from_day;	/* of the month */
	unsigned int battery_below; /* percent, 0: doesn't count */
	bool metered;		/* while NetworkManager says that it is metered */
	struct hours *hours;
	unsigned int hours_count;
	struct effect then;
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
	char *state;		/* path of the file that keeps the caps' counts */
	bool costs_as_backup;	/* tell peers of costs by MP_PRIO */
	struct cap_config *caps;
	unsigned int cap_count;
};

/*
 * Read the configuration. Returns NULL if the file is refused; then say() was called for
 * each fault, with a line that has the file's name and the line's number.
 */
struct config *config_read(const char *file, void (*say)(const char *line));
/* Wipes its keys. */
void config_free(struct config *config);
/*
 * Read only the control socket's path, which needs no key: "" for none. Returns NULL if the
 * file is refused. The caller frees it.
 */
char *config_read_control(const char *file, void (*say)(const char *line));

/* --- log.c --- */

__attribute__((__format__(__printf__, 1, 2)))
void say(const char *format, ...);
void say_line(const char *line);

/* State of a line that is logged at most once a minute, and tells how often it was left out. */
struct seldom {
	uint64_t logged_ms;	/* 0: never */
	uint64_t left_out;
};

__attribute__((__format__(__printf__, 2, 3)))
void say_seldom(struct seldom *seldom, const char *format, ...);

/* --- privilege.c --- */

/*
 * Become this user (NULL: stay the same one), and give up CAP_NET_RAW, and CAP_NET_ADMIN
 * unless to_tell. Returns 0, or -1 if that fails; the reason was logged.
 */
int privilege_drop(const char *user, bool to_tell);
/* Give up all privileges, in the child that becomes a plugin. Returns 0 or -1. */
int privilege_drop_all(void);

/* --- clock.c --- */

/* Time since boot, including the time asleep. */
uint64_t now_us(void);
uint64_t now_ms(void);
/*
 * The date, and whether NTP or the like told it to the kernel (false if that can't be
 * known). Both in one reading: the date may be set between two.
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
 * again() is called when the module has been loaded (again): it then knows
 * nothing of what was set before. Returns NULL if there is no memory.
 */
struct kernel *kernel_new(struct event_base *base, void (*again)(void *arg),
			  void *arg);
void kernel_free(struct kernel *kernel);
/* From now on there is something to tell the module: log if it isn't loaded. */
void kernel_wanted(struct kernel *kernel);
/* Return 0 or -errno. -ENOENT: the module isn't loaded, which was logged. */
int kernel_set(struct kernel *kernel, const struct pams_path *path);
int kernel_del(struct kernel *kernel, const struct pams_path *path);
/* What it knows under path's key: 0, -ENOENT: nothing, -EAGAIN: it can't be asked. */
int kernel_get(struct kernel *kernel, struct pams_path *path);
/* The cost of sending through this interface, as the module knows it; 0 if nobody says. */
uint8_t kernel_cost(struct kernel *kernel, unsigned int ifindex);
/* Has it a cost under this key that pamsd told it? */
bool kernel_has_cost(struct kernel *kernel, const struct pams_path *key);
/* Have costs() called when a cost may have changed; NULL: don't. */
void kernel_on_costs(struct kernel *kernel, void (*costs)(void *arg), void *arg);
int kernel_set_rules(struct kernel *kernel, const struct pams_rules *rules);
/* Why the module refused the last request. */
const char *kernel_error(const struct kernel *kernel);
/* Has the module a subflow of this key? 0, -ENOENT, or -EAGAIN: it isn't loaded. */
int kernel_find_subflow(struct kernel *kernel, const struct pams_path *key);
struct json_t *kernel_status(const struct kernel *kernel);

/* --- rules.c: the kernel's table of rules --- */

struct rules;

/* Returns NULL if there is no memory. */
struct rules *rules_new(struct event_base *base, const struct config *config,
			struct kernel *kernel);
void rules_free(struct rules *rules);
/* Tell the kernel the whole table. */
void rules_feed(struct rules *rules);
struct json_t *rules_status(const struct rules *rules);

/* --- metered.c: what NetworkManager says --- */

/* Was this pamsd built with support for it? */
bool metered_can_be_had(void);

/* --- caps.c: interfaces that are to be used less --- */

struct caps;

/* Returns NULL if there is no memory. */
struct caps *caps_new(struct event_base *base, const struct config *config,
		      struct kernel *kernel);
/* Leaves all that the caps have changed, for the next caps_new() to go on with. */
void caps_free(struct caps *caps);
/* Undo all that the caps have changed. */
void caps_release(struct caps *caps);
/* Tell the kernel the effects of all caps. */
void caps_feed(struct caps *caps);
struct json_t *caps_status(const struct caps *caps);

/* --- peer.c, session.c, held.c: who reports to us, and what --- */

struct peers;

/* Functions outside that the server's core calls; tests have their own. */
struct peers_env {
	/* 0 or -errno; -ENOENT: the module isn't loaded */
	int (*path_set)(const struct pams_path *path, void *arg);
	int (*path_del)(const struct pams_path *path, void *arg);
	/* Has the kernel that subflow? 0, -ENOENT, or -EAGAIN: can't tell */
	int (*subflow_find)(const struct pams_path *key, void *arg);
	/* Has the kernel a cost under this key that pamsd told it? */
	bool (*has_cost)(const struct pams_path *key, void *arg);
	void *arg;
};

/* Why a report, or a part of it, was not taken. */
enum drop {
	DROP_REPORT_ERRORS = REPORT_MALFORMED,	/* as enum report_error */
	DROP_UNKNOWN_PEER,
	DROP_NOT_FOR_US,	/* an answer, at a server */
	DROP_REPLAY,
	DROP_COOKIE,
	DROP_OLD,
	DROP_RATE,
	DROP_CHALLENGE_RATE,
	/* these drop a path of a report only, not the report */
	DROP_NOT_ITS_PATH,
	DROP_UNVERIFIED,
	DROP_NO_CONNECTION,
	DROP_GUESSES,
	DROP_TOO_MANY_PATHS,
	DROP_KERNEL,		/* the kernel refused it */
	DROPS,
};

struct peers *peers_new(const struct config *config,
			const struct peers_env *env);
void peers_free(struct peers *peers);
/*
 * Take a datagram that came at us, by now_us(). Returns the length of the answer that
 * was put into answer, or 0 if none is to be sent.
 */
size_t peers_receive(struct peers *peers, const uint8_t *buf, size_t len,
		     const union address *from, uint64_t us,
		     uint8_t answer[REPORT_ANSWER_BYTES]);
/* Take back from the kernel the reports of peers that may not make them under next. */
void peers_revoke(struct peers *peers, const struct config *next, uint64_t ms);
/* Tell the kernel all reports that still hold. */
void peers_feed(struct peers *peers, uint64_t ms);
unsigned int peers_count(const struct peers *peers);
const uint8_t *peers_id(const struct peers *peers, unsigned int index);
/* How many datagrams were dropped since they can't be of a peer. */
uint64_t peers_junk(const struct peers *peers);
struct json_t *peers_status(const struct peers *peers, uint64_t ms);

/* --- filter.c: what the kernel drops before a socket of the server --- */

/* Have the kernel let through only datagrams with the key ids of these peers. */
void filter_attach(int fd, const struct peers *peers);
void filter_detach(int fd);
/* How many datagrams the kernel dropped at this socket, by the filter or for lack of room. */
uint32_t filter_drops(int fd);

/* --- server.c: the sockets of the server --- */

struct server;

/* Returns NULL if it can't be set up; the reason was logged. */
struct server *server_new(struct event_base *base, const struct config *config,
			  struct kernel *kernel);
void server_free(struct server *server);
void server_feed(struct server *server);
/* Call it before the configuration next takes the place of this one: see peers_revoke(). */
void server_revoke(struct server *server, const struct config *next);
struct json_t *server_status(const struct server *server);

/* --- estimate.c: what is known of a pipe, from numbers --- */

struct estimate_window {
	uint64_t begin_us;
	unsigned int looks, busy_looks;
	uint64_t best_byteps;	/* highest rate of the samples that ended in it; 0: none */
};

struct estimate {
	bool sampled;		/* the next three are of the last sample */
	uint64_t sample_us;
	uint64_t bytes;		/* counter: sent through the pipe */
	uint32_t backlog_bytes;
	uint64_t busy_bytes;	/* sent while there was a backlog */
	uint64_t busy_us;	/* how long there was that backlog */
	bool busy_unsure;	/* the backlog may have been gone in between */
	struct estimate_window window;
	bool drained;		/* the rate was measured while a queue drained */
	const char *from;	/* where the rate is from, for people; or NULL */
	uint64_t rate_byteps;	/* 0: none known */
	uint64_t rate_us;	/* when it was last learnt */
	uint64_t waited_us;	/* when there last was a backlog; 0: never */
	bool has_delay;
	uint32_t delay_us;
};

void estimate_reset(struct estimate *estimate);
/* Sample of a source that only counts: the rate is measured while there is a backlog. */
void estimate_count(struct estimate *estimate, uint64_t us, uint64_t bytes,
		    uint32_t backlog_bytes);
/* Sample of a source that knows the rate; 0: not now. */
void estimate_rate(struct estimate *estimate, uint64_t us, uint64_t bytes,
		   uint32_t backlog_bytes, uint64_t rate_byteps);
/* Sample of a source that averages the rate itself; 0: not now. */
void estimate_exact(struct estimate *estimate, uint64_t us, uint64_t bytes,
		    uint32_t backlog_bytes, uint64_t rate_byteps);
/* Take this rate unless one was measured while a queue drained; 0: not known. */
void estimate_suppose(struct estimate *estimate, uint64_t us,
		      uint64_t rate_byteps, const char *from);
/* The rate, or 0 if none is known that is younger than age_us. */
uint64_t estimate_known(const struct estimate *estimate, uint64_t us,
			uint64_t age_us);

/* --- links.c: interfaces, as rtnetlink tells of them --- */

struct link {
	char name[IF_NAMESIZE];
	unsigned int ifindex;	/* 0: there is none */
	bool known, up;		/* up: with carrier */
	bool listed;		/* the dump under way has named it */
	bool lost;		/* its path is lost, or will be soon: reporter.c */
	uint64_t counted_us;	/* when bytes was read; 0: never */
	uint64_t bytes;		/* counter: sent and received */
	uint64_t window_us;	/* when the window began */
	uint64_t window_bytes;	/* how much moved in the window */
	uint64_t moved_us;	/* when it last carried data; 0: never seen */
	/* the address to send from, of those below: one of each family */
	bool has_address4, has_address6;
	struct in_addr address4;
	struct in6_addr address6;
	struct link_address *addresses;
	unsigned int address_count;
};

struct links;

/*
 * changed() is called at once when a link's up has changed, addressed() when a link
 * that had no address of a family has got one.
 */
struct links *links_new(struct event_base *base,
			void (*changed)(struct link *link, void *arg),
			void (*addressed)(void *arg), void *arg);
void links_free(struct links *links);
/* The link of this name, which is watched from now on; valid as long as links. */
struct link *links_watch(struct links *links, const char *name);
/* Ask for a dump of all links, once all are watched; a link that it doesn't name is gone. */
int links_refresh(struct links *links);
/* Look which links have carried data. */
int links_sample(struct links *links, uint64_t us);
struct subflows;

/* If a link has several addresses, send from one that these subflows use. */
void links_use(struct links *links, const struct subflows *subflows);
#define LINKS_MAX	64
/* Fill in the indices of the existing links; returns how many there are. */
unsigned int links_indices(const struct links *links,
			   unsigned int indices[LINKS_MAX]);

/* --- traffic.c: the first packet after a silence --- */

#define TRAFFIC_MAX	64

/* Call it before privileges are given up; without CAP_NET_RAW it stays closed. */
void traffic_open(void);
void traffic_close(void);
/*
 * Call seen() once, when a packet as large as one with data passes one of at most
 * TRAFFIC_MAX interfaces. Returns false if that isn't possible: the caller has to poll.
 */
bool traffic_await(struct event_base *base, const unsigned int *ifindexes,
		   unsigned int count, void (*seen)(void *arg), void *arg);
void traffic_ignore(void);

/* --- source*.c: where a pipe's numbers come from --- */

struct interface;
struct nl_sock;

/* pamsplit.c: 0 or -errno */

/* Ask pamsplit for its lines, valid until the next call; pid is that of the listener. */
int pamsplit_ask(const char *path, char **answer, unsigned int *pid);
/* The number behind " NAME=" in the line, 0 if it isn't there. */
uint64_t pamsplit_number(const char *line, const char *name);
/* Have pamsplit lend nothing for this time; 0: it lends again. */
int pamsplit_lend_nothing(const char *path, unsigned int ms);

struct source {
	const char *name;
	/* Measure, and put it into the estimate. Returns 0 or -errno. */
	int (*sample)(const struct link *link,
		      const struct interface_config *config,
		      struct estimate *estimate, uint64_t us);
	void (*close)(void);
};

/* flows.c: the TCP flows through a pipe, added up */
struct flows {
	uint64_t bytes;		/* acknowledged so far */
	uint64_t backlog_bytes;
	uint32_t min_rtt_us;	/* the lowest; 0: not known */
};

/* Is a flow to that peer one that the interface is about? */
bool flows_mean(const struct interface_config *config,
		const struct prefix *peer, uint16_t port);
void flows_add(struct flows *flows, uint64_t bytes, uint64_t backlog_bytes,
	       uint32_t min_rtt_us);
/* Put the flows' delay, half of the round trip, into the estimate; call it before their sum. */
void flows_settle(struct flows *flows, struct estimate *estimate);

extern const struct source source_qdisc, source_station, source_tcp,
			   source_pamsplit;
/* A source's socket, opened unless it is open: 0 or -errno. */
int source_open(struct nl_sock **sock, int protocol);
void source_close(struct nl_sock **sock);
/* Is the link wireless? */
bool source_station_suits(const struct link *link);

/* --- reporter.c: when to report what --- */

struct reporter;

struct reporter *reporter_new(struct event_base *base,
			      const struct config *config,
			      struct kernel *kernel);
void reporter_free(struct reporter *reporter);
void reporter_feed(struct reporter *reporter);
/* When a path will be lost, as a plugin or a person predicts it. */
struct prediction {
	bool loss;		/* false: the path won't be lost */
	uint32_t loss_ms;	/* time until the loss, from now on */
	uint32_t spread_ms;	/* standard deviation of loss_ms */
	uint32_t ttl_ms;	/* 0: the default */
};

/* Take a prediction. Returns NULL, or why it is refused. */
const char *reporter_predict(struct reporter *reporter, const char *interface,
			     const struct prediction *prediction);
struct json_t *reporter_status(const struct reporter *reporter);

/* --- subflows.c: this machine's subflows of MPTCP connections --- */

#define SUBFLOWS_MAX	256

struct subflow {
	struct prefix local, peer;
	uint16_t peer_port;
	uint32_t own_token;	/* this kernel's token of the connection */
	uint32_t token;		/* the peer's token of it */
	uint8_t local_id;	/* id of this machine's address */
	uint8_t remote_id;
	char interface[IF_NAMESIZE];	/* interface with the local address, or "" */
};

struct subflows {
	unsigned int count;
	struct subflow list[SUBFLOWS_MAX];
};

/* Returns 0 or -errno. Without CAP_NET_ADMIN it finds none. */
int subflows_read(struct subflows *subflows);
void subflows_close(void);

/* --- announce.c: a change is reported until the server acknowledges it --- */

struct announce_path;

/* --- resolve.c: the addresses of a server that is given by name --- */

struct resolver;

/*
 * found() is called with each answer, of one to ADDRESSES_MAX addresses. The caller keeps
 * host valid. Returns NULL if there is no memory.
 */
struct resolver *resolver_new(struct event_base *base, const struct host *host,
			      void (*found)(const union address *addresses,
					    unsigned int count, void *arg),
			      void *arg);
/* found() isn't called any more; the memory is freed by the next turn of the event loop. */
void resolver_free(struct resolver *resolver);
/* Turn the loop until all freed resolvers are gone; call it after all else has ended. */
void resolvers_end(struct event_base *base);
/*
 * Look the name up now, and soon again if that fails: nobody answers at the addresses that
 * were found, or the network has come.
 */
void resolver_hurry(struct resolver *resolver);

/* --- target.c: a server that is reported to --- */

struct target;

struct target *target_new(struct event_base *base,
			  const struct target_config *config,
			  struct links *links);
void target_free(struct target *target);
/* From now on path id of the reports is about the address of this link. */
void target_add_source(struct target *target, const struct link *link,
		       unsigned int id);
/* Is it one of the server's addresses? */
bool target_is_at(const struct target *target, const struct prefix *address);
/* Set what is known of path id, for target_run() and target_periodic() to send. */
void target_set(struct target *target, unsigned int id,
		const struct announce_path *path);
/* Send the paths that have changed, until the server acknowledges them. */
void target_run(struct target *target);
/* A link is up, or has an address: a name that couldn't be resolved may be now. */
void target_look_up(struct target *target);
/* Send all paths once. */
void target_periodic(struct target *target);
struct json_t *target_status(const struct target *target);

/* --- lines.c: commands, as lines of JSON --- */

/* The parts of the daemon that a line may be for. */
struct lines {
	struct kernel *kernel;
	struct server *server;		/* or NULL */
	struct reporter *reporter;	/* or NULL */
	struct rules *rules;		/* or NULL */
	struct caps *caps;		/* or NULL */
};

/*
 * Carry out a line. If the line names no interface it is about the one given here, which may
 * be NULL. The caller frees the answer.
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
