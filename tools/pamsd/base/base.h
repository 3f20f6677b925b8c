/* SPDX-License-Identifier: GPL-2.0 */
/*
 * base - what all folders share: the machine, its kernel, and the module
 *
 *	kernel.c		sends paths and rules to the module
 *	endpoint.c		the path manager's endpoints
 *	diag.c			TCP sockets, read by sock_diag (diag.h)
 *	source.c		a netlink socket
 *	pamsplit.c		speaks with pamsplit
 *	address.c		addresses and prefixes
 *	keep.c			state that outlives the daemon
 *	key.c			keys
 *	file.c			reads whole files
 *	privilege.c		drops privileges of the daemon and of its plugins
 *	log.c			messages
 *	clock.c			the time since boot
 *
 * Units: times in ms or us since boot, rates in bytes per second. The configuration, as config.c
 * fills it in, is in config.h.
 */
#ifndef PAMSD_BASE_H
#define PAMSD_BASE_H

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <time.h>

#include "../../lib/netlink.h"
#include "../../lib/report.h"

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
struct ifaddrs;
/* As getifaddrs(), but with the interface's name also where an address has a label ("eth0:1"). */
int addresses_read(struct ifaddrs **all);
bool address_is_loopback(const union address *address);
socklen_t address_len(const union address *address);
#define ADDRESS_TEXT	64
const char *address_text(char text[ADDRESS_TEXT], const union address *address);
const char *prefix_text(char text[ADDRESS_TEXT], const struct prefix *prefix);

void prefix_cut(struct prefix *prefix);	/* clear the bits after the prefix length */
bool prefix_is_multicast(const struct prefix *prefix);

/* Do connections over IPv6 prefer temporary addresses on this interface (use_tempaddr 2)? */
bool link_prefers_temporary(const char *name);

/* --- clock.c: times, and how often --- */

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

/* --- log.c: messages --- */

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

/* --- keep.c: state that outlives the daemon --- */

/*
 * Read the file. Returns NULL with *why NULL if it doesn't exist. On an error returns NULL,
 * renames the file to FILE.corrupt or FILE.unreadable, and sets *why to the reason, which is
 * valid until the next call.
 */
struct json_t *keep_read(const char *file, const char **why);
/* Rename the file to FILE.SUFFIX. Returns whether that succeeded. */
bool keep_put_aside(const char *file, const char *suffix);
/* Replace the file atomically; it is on the disk on return. Returns 0 or -errno. */
int keep_write(const char *file, const struct json_t *state);

/* --- privilege.c: drops privileges --- */

/*
 * Change to this user (NULL: keep the user) and drop CAP_NET_RAW. Also drop CAP_NET_ADMIN
 * unless to_tell, which says that the module is to be told something. Returns 0, or -1 after
 * logging the reason.
 */
int privilege_drop(const char *user, bool to_tell);
/* Drop all privileges in the child process that becomes a plugin. Returns 0 or -1. */
int privilege_drop_all(void);

/* --- source.c: a netlink socket --- */

struct nl_sock;

/* Open a netlink socket unless it is open already. Returns 0 or -errno. */
int source_open(struct nl_sock **sock, int protocol);
/*
 * Receive the answer to a request, and close the socket after a failure, so that what comes late
 * isn't taken for the answer to the next request. Returns libnl's code.
 */
int source_receive(struct nl_sock **sock);
void source_close(struct nl_sock **sock);

/* --- endpoint.c: the kernel's path manager --- */

#define ENDPOINTS_MAX	64

struct endpoint {
	int family;
	uint8_t address[16];
	uint8_t id;
	uint16_t port;
	uint32_t flags;		/* MPTCP_PM_ADDR_FLAG_ */
	uint32_t ifindex;	/* 0: none */
	char interface[IF_NAMESIZE];	/* that the endpoint belongs to, or "" */
	bool local;			/* the interface has the address */
	bool up;			/* the interface is up */
};

/* Does an endpoint's interface have the endpoint's address? */
enum presence {
	ADDRESS_AWAY,		/* no, and none of the same family but link-local ones */
	ADDRESS_REPLACED,	/* no, but others of the same family */
	ADDRESS_THERE,
};

enum presence endpoint_presence(const struct endpoint *endpoint);
/* Returns how many endpoints there are, or -errno. */
int endpoints_read(struct endpoint endpoints[ENDPOINTS_MAX]);
int endpoint_set_backup(const struct endpoint *endpoint, bool backup);
/* Returns 0 or -errno; -EBUSY: another endpoint has the id. For id 0 the kernel picks one. */
int endpoint_add(const struct endpoint *endpoint);
int endpoint_remove(const struct endpoint *endpoint);
/* Has MPTCP this family in this kernel? Raspberry Pi OS's has no IPv6. */
bool endpoint_has(int family);
/* How many subflows a connection may have besides the first. Return 0 or -errno. */
int endpoint_limit(uint32_t *subflows);
int endpoint_set_limit(uint32_t subflows);
void endpoints_close(void);

/* --- pamsplit.c: its control socket; functions that return int return 0 or -errno --- */

/*
 * Read pamsplit's status. *answer is valid until the next call; *pid is the process that
 * listens on the socket.
 */
int pamsplit_ask(const char *path, char **answer, unsigned int *pid);
/* The number after " NAME=" in the line, 0 if NAME isn't in it. */
uint64_t pamsplit_number(const char *line, const char *name);
/* Make pamsplit lend nothing for this time; 0: make it lend again. */
int pamsplit_lend_nothing(const char *path, unsigned int ms);

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
 * Set or delete a path with others, of which kernel_flush() tells the module at the latest. Return
 * 0; -ENOENT: the module isn't loaded. kernel_flush() returns how many the module refused.
 */
int kernel_queue(struct kernel *kernel, const struct pams_path *path, bool del);
unsigned int kernel_flush(struct kernel *kernel);
/*
 * Read what the module has under path's key into path. Returns 0, -ENOENT if it has nothing
 * there, -EAGAIN if the module can't be asked.
 */
int kernel_get(struct kernel *kernel, struct pams_path *path);
/*
 * The cost of sending through this interface, as the module has it, or, while it isn't loaded,
 * as pamsd asked for; 0 if there is none.
 */
uint8_t kernel_cost(struct kernel *kernel, unsigned int ifindex);
/* Does the module have a cost under this key that pamsd set? */
bool kernel_has_cost(struct kernel *kernel, const struct pams_path *key);
/* Call costs() whenever a cost may have changed; NULL: call nothing. */
void kernel_on_costs(struct kernel *kernel, void (*costs)(void *arg), void *arg);
/* Returns 0 or -errno; -ENOENT: the module isn't loaded. */
int kernel_stats(struct kernel *kernel, struct pams_stats *stats);
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

/* What a subflow carries that fills its path. */
struct flow_rate {
	uint8_t local_id, remote_id;
	uint64_t byteps;
};

#define FLOW_RATES_MAX	REPORT_FLOWS_MAX

/*
 * Measure the subflows of a connection whose peer has the token proof. Returns how many of them
 * fill their paths now: rates are theirs.
 */
unsigned int kernel_rates(struct kernel *kernel, uint32_t token, uint32_t proof,
			  struct flow_rate rates[FLOW_RATES_MAX]);
struct json_t *kernel_status(const struct kernel *kernel);

/* A prediction, by a plugin or a person, of when a path will be lost; lines.c passes it on. */
struct prediction {
	bool loss;		/* false: the path won't be lost */
	uint32_t loss_ms;	/* time from now until the loss */
	uint32_t spread_ms;	/* standard deviation of loss_ms */
	uint32_t ttl_ms;	/* 0: the default */
};

#endif /* PAMSD_BASE_H */
