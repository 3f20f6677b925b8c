/* SPDX-License-Identifier: GPL-2.0 */
/*
 * pamsd - what its files share, grouped by the file that has it
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
	char name[254];		/* "": there is none */
	char port[6];
};

/* Parsing gives NULL, or what is wrong with the text. */
const char *prefix_parse(struct prefix *prefix, const char *text);
const char *address_parse(union address *address, const char *text,
			  uint16_t port);

/* An address, or a name; one of both is empty then: no family, no text. */
const char *server_parse(union address *address, struct host *host,
			 const char *text, uint16_t port);

bool prefix_contains(const struct prefix *outer, const struct prefix *inner);
void prefix_of(struct prefix *prefix, const union address *address);
socklen_t address_len(const union address *address);
#define ADDRESS_TEXT	64
const char *address_text(char text[ADDRESS_TEXT], const union address *address);
const char *prefix_text(char text[ADDRESS_TEXT], const struct prefix *prefix);

void prefix_cut(struct prefix *prefix);	/* no bits after its length */
bool prefix_is_multicast(const struct prefix *prefix);

/* --- file.c: files that only root may read --- */

/*
 * The file's text, of at most max bytes and with more bytes free behind it, and
 * its mode; or NULL and *why, which is good until the next call.
 */
#define FILE_SPARE	64
char *file_read(const char *file, size_t max, mode_t *mode, const char **why);
/* Wipe it, too. */
void file_free(char *content);

/* --- key.c: keys and files of them --- */

#define KEY_TEXT	45	/* base64, and the zero */

const char *key_parse(uint8_t key[REPORT_KEY_BYTES], const char *text);
/* The answer is good until the next call. */
const char *key_read(uint8_t key[REPORT_KEY_BYTES], const char *file);
void key_generate(char text[KEY_TEXT]);

/* --- config.c: the configuration --- */

struct peer_config {
	char *name;
	uint8_t key[REPORT_KEY_BYTES];
	struct prefix *prefixes;
	unsigned int prefix_count;
	unsigned int rate_ps;	/* reports a second that are taken */
	bool source;		/* its source address is its own */
	unsigned int loss_max_s; /* the server's: how long a loss may hold */
};

/* Of one server. */
#define ADDRESSES_MAX	4

struct target_config {
	char *name;
	uint8_t key[REPORT_KEY_BYTES];
	union address *addresses;	/* of the one server, */
	unsigned int address_count;
	struct host host;		/* or its name */
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
	bool source;		/* where the report comes from; or: */
	struct prefix prefix;
	uint16_t port;		/* TCP's, 0 for any */
};

struct interface_config {
	char name[IF_NAMESIZE];
	struct about *abouts;
	unsigned int about_count;
	enum measure measure;
	char *socket;		/* pamsplit's */
	bool carrier;		/* report link down and up */
	bool local;		/* tell this machine's kernel, too */
	uint32_t delay_us;	/* of the pipe; UINT32_MAX: not given */
	char **plugin;		/* words, the last one NULL; or NULL */
};

/* What a path is while a cap holds. */
struct effect {
	uint8_t cost;		/* at least that */
	bool backup;
	bool forbid;
	bool lend_nothing;	/* pamsplit; the others are of interfaces */
};

enum period {
	PERIOD_DAY,
	PERIOD_MONTH,
};

/* Minutes since midnight; from after to: over midnight. */
struct hours {
	uint16_t from_min, to_min;
};

struct cap_config {
	char *name;
	char interface[IF_NAMESIZE];	/* or "", and */
	char *socket;		/* pamsplit's, for what it lends */
	uint64_t quota_bytes;	/* 0: none */
	enum period period;
	unsigned int from_day;	/* of the month */
	unsigned int battery_below; /* percent, 0: doesn't count */
	bool metered;		/* while NetworkManager says so */
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
	char *state;		/* the caps' file */
	bool costs_as_backup;	/* tell peers of costs by MP_PRIO */
	struct cap_config *caps;
	unsigned int cap_count;
};

/*
 * NULL if the file is refused; then each fault was handed to say, one line with
 * the file's name and the line's number.
 */
struct config *config_read(const char *file, void (*say)(const char *line));
/* Wipes its keys. */
void config_free(struct config *config);
/*
 * Only the control socket's path, which needs no key: "" for none. NULL if the
 * file is refused. The caller frees it.
 */
char *config_read_control(const char *file, void (*say)(const char *line));

/* --- log.c --- */

__attribute__((__format__(__printf__, 1, 2)))
void say(const char *format, ...);
void say_line(const char *line);

/* A line that is logged at most once a minute, with how often it was not. */
struct seldom {
	uint64_t logged_ms;	/* 0: never */
	uint64_t left_out;
};

__attribute__((__format__(__printf__, 2, 3)))
void say_seldom(struct seldom *seldom, const char *format, ...);

/* --- privilege.c --- */

/* May this process tell the kernel of paths? */
bool privilege_to_tell(void);
/*
 * Become that user, NULL to stay who it is. CAP_NET_RAW is given up, and
 * CAP_NET_ADMIN unless the kernel is to be told. 0, or -1 if it can't, said why.
 */
int privilege_drop(const char *user, bool to_tell);
/* In the child that becomes a plugin; 0 or -1. */
int privilege_drop_all(void);

/* --- clock.c --- */

/* Since boot, with the time asleep. */
uint64_t now_us(void);
uint64_t now_ms(void);
/* Has NTP or the like told the kernel the date? If that can't be known: no. */
bool clock_is_synced(void);

/* Tokens for what happens at most rate_ps times a second on average. */
struct bucket {
	uint64_t filled_us;
	uint64_t tokens_us;	/* each event costs 1 s / rate_ps of them */
};

bool bucket_take(struct bucket *bucket, unsigned int rate_ps,
		 unsigned int burst, uint64_t us);

/* --- kernel.c: feeds the module --- */

struct kernel;

/*
 * again() is called when the module is there after it was not: it then knows
 * nothing of what was set before. NULL if there is no memory.
 */
struct kernel *kernel_new(struct event_base *base, void (*again)(void *arg),
			  void *arg);
void kernel_free(struct kernel *kernel);
/* From now on there is something to tell it: say if it isn't there. */
void kernel_wanted(struct kernel *kernel);
/* 0 or -errno. -ENOENT: there is no module, which has been said. */
int kernel_set(struct kernel *kernel, const struct pams_path *path);
int kernel_del(struct kernel *kernel, const struct pams_path *path);
/* What is sent through that interface costs; 0 if nobody says. */
uint8_t kernel_cost(struct kernel *kernel, unsigned int ifindex);
/* Call costs when one may have changed; NULL: don't. */
void kernel_on_costs(struct kernel *kernel, void (*costs)(void *arg), void *arg);
int kernel_set_rules(struct kernel *kernel, const struct pams_rules *rules);
/* Why it refused the last one. */
const char *kernel_error(const struct kernel *kernel);
/* Has it a subflow of that key? 0, -ENOENT, or -EAGAIN: there is no module. */
int kernel_find_subflow(struct kernel *kernel, const struct pams_path *key);
struct json_t *kernel_status(const struct kernel *kernel);

/* --- rules.c: the kernel's table of rules --- */

struct rules;

/* NULL: there is no memory. */
struct rules *rules_new(struct event_base *base, const struct config *config,
			struct kernel *kernel);
void rules_free(struct rules *rules);
/* Tell the kernel all of it. */
void rules_feed(struct rules *rules);
struct json_t *rules_status(const struct rules *rules);

/* --- metered.c: what NetworkManager says --- */

/* Was this pamsd built with what it takes? */
bool metered_can_be_had(void);

/* --- caps.c: interfaces that are to be used less --- */

struct caps;

/* NULL: there is no memory. */
struct caps *caps_new(struct event_base *base, const struct config *config,
		      struct kernel *kernel);
/* What it has changed stays, for the next one to go on. */
void caps_free(struct caps *caps);
/* Give everything back. */
void caps_release(struct caps *caps);
/* Tell the kernel all of it. */
void caps_feed(struct caps *caps);
struct json_t *caps_status(const struct caps *caps);

/* --- peer.c, session.c, held.c: who reports to us, and what --- */

struct peers;

/* What the server's core needs of the outside; tests have their own. */
struct peers_env {
	/* 0 or -errno, -ENOENT: there is no module */
	int (*path_set)(const struct pams_path *path, void *arg);
	int (*path_del)(const struct pams_path *path, void *arg);
	/* Has the kernel that subflow? 0, -ENOENT, or -EAGAIN: can't tell */
	int (*subflow_find)(const struct pams_path *key, void *arg);
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
	DROP_NOT_ITS_PATH,	/* the name only, not the report */
	DROP_UNVERIFIED,	/* likewise, as all that follow */
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
 * Take a datagram that came at that time, of now_us(). If it calls for an
 * answer that is in answer, and its length is returned; else 0.
 */
size_t peers_receive(struct peers *peers, const uint8_t *buf, size_t len,
		     const union address *from, uint64_t us,
		     uint8_t answer[REPORT_ANSWER_BYTES]);
/* Take back what was told for those who may no longer say all of it then. */
void peers_revoke(struct peers *peers, const struct config *next, uint64_t ms);
/* Tell the kernel all that still holds. */
void peers_feed(struct peers *peers, uint64_t ms);
unsigned int peers_count(const struct peers *peers);
const uint8_t *peers_id(const struct peers *peers, unsigned int index);
/* What was dropped since it can't be of a peer. */
uint64_t peers_junk(const struct peers *peers);
struct json_t *peers_status(const struct peers *peers, uint64_t ms);

/* --- filter.c: what the kernel drops before a socket of the server --- */

/* Let only datagrams with the key ids of these peers come. */
void filter_attach(int fd, const struct peers *peers);
void filter_detach(int fd);
/* Datagrams that the kernel dropped at this socket, filtered or for room. */
uint32_t filter_drops(int fd);

/* --- server.c: the sockets of the server --- */

struct server;

/* NULL if it can't be set up; it has been said why. */
struct server *server_new(struct event_base *base, const struct config *config,
			  struct kernel *kernel);
void server_free(struct server *server);
void server_feed(struct server *server);
/* Before that configuration takes the place of this one. */
void server_revoke(struct server *server, const struct config *next);
struct json_t *server_status(const struct server *server);

/* --- estimate.c: what is known of a pipe, from numbers --- */

struct estimate_window {
	uint64_t begin_us;
	unsigned int looks, busy_looks;
	uint64_t best_byteps;	/* of the samples that ended in it; 0: none */
};

struct estimate {
	bool sampled;		/* the next three are of a sample */
	uint64_t sample_us;
	uint64_t bytes;		/* counter: sent through the pipe */
	uint32_t backlog_bytes;
	uint64_t busy_bytes;	/* sent while there was a backlog, */
	uint64_t busy_us;	/* and how long that took; */
	bool busy_unsure;	/* perhaps it was gone in between */
	struct estimate_window window;
	bool drained;		/* the rate is what a queue drained at */
	const char *from;	/* what the rate is, for people; or NULL */
	uint64_t rate_byteps;	/* 0: none known */
	uint64_t rate_us;	/* when it was last learnt */
	uint64_t waited_us;	/* when there last was a backlog; 0: never */
	bool has_delay;
	uint32_t delay_us;
};

void estimate_reset(struct estimate *estimate);
/* A source that counts: the rate is what drains while there is a backlog. */
void estimate_count(struct estimate *estimate, uint64_t us, uint64_t bytes,
		    uint32_t backlog_bytes);
/* A source that knows the rate; 0: not now. */
void estimate_rate(struct estimate *estimate, uint64_t us, uint64_t bytes,
		   uint32_t backlog_bytes, uint64_t rate_byteps);
/* A source that averages the rate itself; 0: not now. */
void estimate_exact(struct estimate *estimate, uint64_t us, uint64_t bytes,
		    uint32_t backlog_bytes, uint64_t rate_byteps);
/* The rate is that unless a queue has told a better one; 0: not known. */
void estimate_suppose(struct estimate *estimate, uint64_t us,
		      uint64_t rate_byteps, const char *from);
/* The rate, or 0 if none is known that is younger than that. */
uint64_t estimate_known(const struct estimate *estimate, uint64_t us,
			uint64_t age_us);

/* --- links.c: interfaces, as rtnetlink tells of them --- */

struct link {
	char name[IF_NAMESIZE];
	unsigned int ifindex;	/* 0: there is none */
	bool known, up;		/* up: with carrier */
	bool listed;		/* by the dump under way */
	bool lost;		/* its path is or will be soon: reporter.c */
	uint64_t counted_us;	/* when the next was read; 0: never */
	uint64_t bytes;		/* counter: sent and received */
	uint64_t window_us;	/* begin of the window, */
	uint64_t window_bytes;	/* and what moved in it */
	uint64_t moved_us;	/* when it last carried data; 0: never seen */
	/* what to send from, of the addresses below: of each family one */
	bool has_address4, has_address6;
	struct in_addr address4;
	struct in6_addr address6;
	struct link_address *addresses;
	unsigned int address_count;
};

struct links;

/* changed() is called when up changed, at once. */
struct links *links_new(struct event_base *base,
			void (*changed)(struct link *link, void *arg),
			void *arg);
void links_free(struct links *links);
/* The link of that name, which is watched from now on; it stays. */
struct link *links_watch(struct links *links, const char *name);
/* Ask for everything, after all are watched; what isn't named then is gone. */
int links_refresh(struct links *links);
/* Look which ones carried data. */
int links_sample(struct links *links, uint64_t us);
struct subflows;

/* Send from addresses that these use, where there are several. */
void links_use(struct links *links, const struct subflows *subflows);
#define LINKS_MAX	64
/* The indices of those that are there, and how many these are. */
unsigned int links_indices(const struct links *links,
			   unsigned int indices[LINKS_MAX]);

/* --- traffic.c: the first packet after a silence --- */

#define TRAFFIC_MAX	64

/* Before privileges are given up; without CAP_NET_RAW it stays closed. */
void traffic_open(void);
void traffic_close(void);
/*
 * Call seen() once, when a packet that is as large as data passes one of at most
 * TRAFFIC_MAX interfaces. false: that can't be had, the caller has to look.
 */
bool traffic_await(struct event_base *base, const unsigned int *ifindexes,
		   unsigned int count, void (*seen)(void *arg), void *arg);
void traffic_ignore(void);

/* --- source*.c: where a pipe's numbers come from --- */

struct interface;
struct nl_sock;

/* pamsplit.c: 0 or -errno */

/* Its lines, good until the next call; pid: of who listens there. */
int pamsplit_ask(const char *path, char **answer, unsigned int *pid);
/* The number behind " NAME=" in the line, 0 if it isn't there. */
uint64_t pamsplit_number(const char *line, const char *name);
/* For so long; 0: it lends again. */
int pamsplit_lend_nothing(const char *path, unsigned int ms);

struct source {
	const char *name;
	/* 0 or -errno; what was measured goes into the estimate. */
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
/* Before their sum goes into the estimate; it takes half the round trip as delay. */
void flows_settle(struct flows *flows, struct estimate *estimate);

extern const struct source source_qdisc, source_station, source_tcp,
			   source_pamsplit;
/* A source's socket, opened unless it is open: 0 or -errno. */
int source_open(struct nl_sock **sock, int protocol);
void source_close(struct nl_sock **sock);
/* Is it wireless? */
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
	bool loss;		/* else it won't */
	uint32_t loss_ms;	/* from now on */
	uint32_t spread_ms;	/* its standard deviation */
	uint32_t ttl_ms;	/* 0: the usual */
};

/* NULL, or why not. */
const char *reporter_predict(struct reporter *reporter, const char *interface,
			     const struct prediction *prediction);
struct json_t *reporter_status(const struct reporter *reporter);

/* --- subflows.c: this machine's subflows of MPTCP connections --- */

#define SUBFLOWS_MAX	256

struct subflow {
	struct prefix local, peer;
	uint16_t peer_port;
	uint32_t own_token;	/* by which this kernel knows its connection, */
	uint32_t token;		/* and by which the peer's does */
	uint8_t local_id;	/* of this machine's side */
	uint8_t remote_id;
	char interface[IF_NAMESIZE];	/* that has the local address, or "" */
};

struct subflows {
	unsigned int count;
	struct subflow list[SUBFLOWS_MAX];
};

/* 0 or -errno. Without CAP_NET_ADMIN there are none. */
int subflows_read(struct subflows *subflows);
void subflows_close(void);

/* --- announce.c: a change is reported until the server acknowledges it --- */

struct announce_path;

/* --- resolve.c: the addresses of a server that is given by name --- */

struct resolver;

/*
 * found() is called with each answer, of one to ADDRESSES_MAX addresses. The host
 * stays. NULL: there is no memory.
 */
struct resolver *resolver_new(struct event_base *base, const struct host *host,
			      void (*found)(const union address *addresses,
					    unsigned int count, void *arg),
			      void *arg);
/* found() isn't called any more; its memory goes when the event loop has turned. */
void resolver_free(struct resolver *resolver);
/* Turn the loop until what was let go is gone; after everything else has ended. */
void resolvers_end(struct event_base *base);
/* Look it up now: nobody answers at what was found. */
void resolver_hurry(struct resolver *resolver);

/* --- target.c: a server that is reported to --- */

struct target;

struct target *target_new(struct event_base *base,
			  const struct target_config *config,
			  struct links *links);
void target_free(struct target *target);
/* Path id is about the address of that link. */
void target_add_source(struct target *target, const struct link *link,
		       unsigned int id);
/* Is that one of the server's addresses? */
bool target_is_at(const struct target *target, const struct prefix *address);
/* That is what is known of path id: sent by the next two. */
void target_set(struct target *target, unsigned int id,
		const struct announce_path *path);
/* Send what changed, as often as it takes. */
void target_run(struct target *target);
/* Send everything, once. */
void target_periodic(struct target *target);
struct json_t *target_status(const struct target *target);

/* --- lines.c: what is said in lines of JSON --- */

/*
 * Obey a line; interface is meant if it names none, NULL for none. The answer
 * is the caller's.
 */
struct lines {
	struct kernel *kernel;
	struct server *server;		/* or NULL */
	struct reporter *reporter;	/* or NULL */
	struct rules *rules;		/* or NULL */
	struct caps *caps;		/* or NULL */
};

struct json_t *lines_obey(const struct lines *lines, const char *line,
			  size_t len, const char *interface);

/* --- control.c: the control socket --- */

struct control;

struct control *control_new(struct event_base *base, const char *path,
			    const struct lines *lines);
void control_free(struct control *control);
/* Say a line to the daemon at that socket and print its answer; exit status. */
int control_tell(const char *path, const char *line);

/* --- plugin.c: programs that predict losses --- */

struct plugins;

struct plugins *plugins_new(struct event_base *base,
			    const struct config *config,
			    const struct lines *lines);
void plugins_free(struct plugins *plugins);

#endif /* PAMSD_H */
