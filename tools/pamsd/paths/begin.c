// SPDX-License-Identifier: GPL-2.0
/*
 * begin - puts the path on which connections begin into the kernel
 *
 * BPF programs carry the choice out (tools/lib/first.c). They run while
 * the daemon lives: their links are held open and are pinned nowhere, so that nothing of them is
 * left after a crash. They are loaded before privileges are dropped; to change their tables takes
 * none.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "path.h"

#ifndef HAVE_BPF

void begin_open(void)
{
}

const char *begin_why_not(void)
{
	return "this pamsd was built without libbpf";
}

void begin_close(void)
{
}

struct begin *begin_new(struct event_base *base, void (*woken)(void *arg), void *arg)
{
	(void)base;
	(void)woken;
	(void)arg;
	return NULL;
}

void begin_free(struct begin *begin)
{
	(void)begin;
}

int begin_tell(struct begin *begin, int family, const struct path *path)
{
	(void)begin;
	(void)family;
	(void)path;
	return 0;
}

int begin_leave(const struct list *prefixes)
{
	(void)prefixes;
	return 0;
}

int begin_lead(const struct prefix *to, const struct path *path)
{
	(void)to;
	(void)path;
	return 0;
}

#else

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "cgroup.h"

#define RING_BYTES	4096

static const int families[] = { AF_INET, AF_INET6 };

static struct {
	int cgroup, ring;
	int table[2], program[2];
	bool open;
	char why_not[128];
} kernel = { .why_not = "pamsd has to be restarted for it" };

struct begin {
	struct ring_buffer *ring;
	struct event *event;
	int link[2];		/* -1: no program runs */
	void (*woken)(void *arg);
	void *arg;
};

/* --- programs --- */

static int load_all(void)
{
	int link;

	kernel.ring = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "pams_begin", 0, 0,
				     (uint32_t)sysconf(_SC_PAGESIZE), NULL);
	if (kernel.ring < 0)
		return kernel.ring;
	for (unsigned int i = 0; i < ARRAY_SIZE(families); i++) {
		kernel.table[i] = first_table(families[i]);
		if (kernel.table[i] < 0)
			return kernel.table[i];
		kernel.program[i] = first_program(families[i], kernel.table[i], kernel.ring);
		if (kernel.program[i] < 0)
			return kernel.program[i];
		/* it runs while there is a choice; here this only has to work */
		link = first_attach(families[i], kernel.program[i], kernel.cgroup);
		if (link < 0)
			return link;
		close(link);
	}
	return 0;
}

static void close_one(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void begin_close(void)
{
	if (!kernel.open)
		return;
	for (unsigned int i = 0; i < ARRAY_SIZE(families); i++) {
		close_one(&kernel.program[i]);
		close_one(&kernel.table[i]);
	}
	close_one(&kernel.ring);
	close_one(&kernel.cgroup);
	kernel.open = false;
}

void begin_open(void)
{
	int err;

	libbpf_set_print(NULL);
	kernel.cgroup = -1;
	kernel.ring = -1;
	memset(kernel.table, -1, sizeof(kernel.table));
	memset(kernel.program, -1, sizeof(kernel.program));
	kernel.open = true;
	kernel.cgroup = cgroup_root();
	if (kernel.cgroup < 0) {
		begin_close();
		snprintf(kernel.why_not, sizeof(kernel.why_not), "cgroup v2 isn't mounted here");
		return;
	}
	err = load_all();
	if (!err)
		return;
	begin_close();
	snprintf(kernel.why_not, sizeof(kernel.why_not), "BPF programs can't be used: %s",
		 strerror(-err));
}

const char *begin_why_not(void)
{
	return kernel.why_not;
}

static unsigned int index_of(int family)
{
	return family == AF_INET6;
}

/* Run the program, after others at the same place. */
static int attach(struct begin *begin, int family)
{
	unsigned int i = index_of(family);

	if (begin->link[i] >= 0)
		return 0;
	begin->link[i] = first_attach(family, kernel.program[i], kernel.cgroup);
	return begin->link[i] < 0 ? begin->link[i] : 0;
}

/* --- the table --- */

static int on_record(void *arg, void *data, size_t len)
{
	(void)arg;
	(void)data;
	(void)len;
	return 0;
}

static void on_ring(evutil_socket_t fd, short what, void *arg)
{
	struct begin *begin = arg;

	(void)fd;
	(void)what;
	ring_buffer__consume(begin->ring);
	begin->woken(begin->arg);
}

struct begin *begin_new(struct event_base *base, void (*woken)(void *arg), void *arg)
{
	struct begin *begin = kernel.open ? calloc(1, sizeof(*begin)) : NULL;

	if (!begin)
		return NULL;
	begin->link[0] = -1;
	begin->link[1] = -1;
	begin->woken = woken;
	begin->arg = arg;
	begin->ring = ring_buffer__new(kernel.ring, on_record, NULL, NULL);
	if (begin->ring)
		begin->event = event_new(base, ring_buffer__epoll_fd(begin->ring),
					 EV_READ | EV_PERSIST, on_ring, begin);
	if (begin->event && !event_add(begin->event, NULL))
		return begin;
	snprintf(kernel.why_not, sizeof(kernel.why_not), "the ring buffer can't be used");
	begin_free(begin);
	return NULL;
}

static bool is_in(const struct list *prefixes, const struct first *first)
{
	for_each(const struct prefix, prefix, prefixes)
		if (prefix->family == first->family && prefix->len == first->length &&
		    !memcmp(prefix->address, first->prefix, sizeof(first->prefix)))
			return true;
	return false;
}

/* Remove the entries but the default and those of the list; "all": every one. */
static int remove_others(unsigned int which, const struct list *but, bool all)
{
	static struct first entries[FIRST_MAX];
	int count = first_table_read(kernel.table[which], families[which], entries, 0,
				     FIRST_MAX);

	for (int i = 0; i < count; i++)
		if (all || (entries[i].length && !is_in(but, &entries[i])))
			first_table_del(kernel.table[which], &entries[i]);
	return count < 0 ? count : 0;
}

void begin_free(struct begin *begin)
{
	if (!begin)
		return;
	for (unsigned int i = 0; i < ARRAY_SIZE(families); i++) {
		close_one(&begin->link[i]);
		remove_others(i, NULL, true);
	}
	if (begin->event)
		event_free(begin->event);
	ring_buffer__free(begin->ring);
	free(begin);
}

static int set_path(struct first *first, const struct path *path)
{
	memcpy(first->source, path->address.address, sizeof(first->source));
	memcpy(first->device, path->interface, sizeof(first->device));
	first->also = path->also;
	return first_table_set(kernel.table[index_of(first->family)], first);
}

int begin_lead(const struct prefix *to, const struct path *path)
{
	struct first first = { .family = to->family, .length = to->len };

	memcpy(first.prefix, to->address, sizeof(first.prefix));
	return path ? set_path(&first, path) :
	       first_table_del(kernel.table[index_of(to->family)], &first);
}

int begin_tell(struct begin *begin, int family, const struct path *path)
{
	unsigned int i = index_of(family);
	struct first first = { .family = family };
	int err;

	if (!path) {
		err = first_table_del(kernel.table[i], &first);
		close_one(&begin->link[i]);
		return err == -ENOENT ? 0 : err;
	}
	err = set_path(&first, path);
	return err ?: attach(begin, family);
}

static int add_all(const struct list *prefixes)
{
	int err = 0;

	for_each(const struct prefix, prefix, prefixes) {
		struct first first = { .family = prefix->family, .length = prefix->len };

		memcpy(first.prefix, prefix->address, sizeof(first.prefix));
		err = err ?: first_table_set(kernel.table[index_of(prefix->family)], &first);
	}
	return err;
}

int begin_leave(const struct list *prefixes)
{
	int err = 0;

	for (unsigned int i = 0; i < ARRAY_SIZE(families); i++)
		err = remove_others(i, prefixes, false) ?: err;
	return err ?: add_all(prefixes);
}

#endif
