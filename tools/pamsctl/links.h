/* SPDX-License-Identifier: GPL-2.0 */
/* links - this machine's links, and whether MPTCP can use them (links_look.c) */
#ifndef PAMSCTL_LINKS_H
#define PAMSCTL_LINKS_H

#include "first_hook.h"
#include "flows.h"
#include "interfaces.h"
#include "manager.h"

/* The lower, the better. */
enum link_state {
	LINK_READY,
	LINK_DEAD,		/* pamsd says so */
	LINK_LOST,		/* somebody reported so to the module */
	LINK_NO_SUBFLOWS,	/* the path manager's limit is 0 */
	LINK_NO_ENDPOINT,	/* nothing joins here, and nothing begins here */
	LINK_WRONG_ROUTE,	/* what is sent from here leaves through another link */
	LINK_NO_ROUTE,
	LINK_NO_ADDRESS,
	LINK_NO_CARRIER,
	LINK_DOWN,
};

#define FIXES_MAX	2
#define FIX_MAX		160

/* A state, in words, and the commands that change it, if any do. */
struct verdict {
	enum link_state state;
	char why[FIX_MAX];
	char fix[FIXES_MAX][FIX_MAX];
};

struct link_address {
	const struct own_address *own;
	const struct endpoint *endpoint; /* NULL: it has none, or endpoints can't be read */
	struct way way;		/* its gateway; ifindex 0: it has no way out */
	bool by_routes;		/* what the routes choose for a new connection */
	bool dead;		/* connections over it go unanswered, as pamsd says */
	struct verdict verdict;
};

struct link {
	const struct interface *interface;
	struct link_address *addresses;	/* as many as the interface has */
	struct verdict verdict;
	bool has_cost;		/* the module told it, or is there and was told none */
	uint8_t cost;
	bool has_loss;
	int32_t loss_ms;	/* time until the loss, < 0: it is in the past */
	unsigned int subflows;
	struct flow sum;	/* of its subflows; round trips: the lowest */
};

struct outlook {
	struct interfaces interfaces;
	struct manager manager;
	bool manages;		/* the kernel's path manager is in charge */
	bool endpoints_known;
	struct first *first;	/* entries of pamsctl first, and what pamsd has chosen */
	int first_count;	/* < 0: they can't be read */
	struct flows flows;
	int flows_error;	/* of libnl; 0: they were read */
	struct link *links;
	size_t count;
};

/*
 * Look at all links and, if it isn't NULL, at the interface of that name, whatever it is. The
 * rates of subflows are measured for so long, if there are any. Returns 0 or libnl's error; the
 * caller calls outlook_free() in any case.
 */
int outlook_take(struct outlook *outlook, const char *name, uint64_t interval_us);
void outlook_free(struct outlook *outlook);

/*
 * Add what pamsd knows of the links, if it runs: to the addresses which of them are dead, to
 * @first on which connections begin. Returns 0, or -1 if there is no memory.
 */
int links_ask_pamsd(struct outlook *outlook);

/* Find the interfaces over which the flows go: those that have their addresses, or the routes'. */
void flows_place(struct flows *flows, const struct interfaces *interfaces);

/* Does the entry of pamsctl first name this address of the link? */
bool names_address(const struct first *first, const struct link *link,
		   const struct link_address *address);

#endif /* PAMSCTL_LINKS_H */
