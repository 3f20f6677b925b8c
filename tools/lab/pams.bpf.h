/* SPDX-License-Identifier: GPL-2.0 */
/* Compiles a scheduler in BPF to a module: stands in for examples/bpf/pams.bpf.h in kernels that
 * have no JIT, which struct_ops needs, as the laboratory's user-mode kernels. For tests only. The
 * module gets functions of mptcp_pams as plain addresses, as /proc/kallsyms has them, and
 * mptcp_pams doesn't know of it: it has to be unloaded first.
 *
 * With views=N it attaches nothing. It asks itself, and the program in BPF that is attached under
 * the same name, N times about random views, and fails to load with EAGAIN after both have always
 * answered the same, otherwise with EBADMSG; how often is in the kernel's log.
 *
 * Maps are arrays whose values stay 0, one for each place in the source that looks into them.
 */
#ifndef _PAMS_BPF_H
#define _PAMS_BPF_H

#include <linux/bpf.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/prandom.h>
#include <linux/random.h>

#include "pams.h"

/* a scheduler's functions aren't static */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wmissing-declarations"

static unsigned long attach;	/* pams_sched_attach() */
module_param(attach, ulong, 0);
static unsigned long detach;	/* pams_sched_detach() */
module_param(detach, ulong, 0);
static unsigned long arrival;	/* model_arrival_us() */
module_param(arrival, ulong, 0);
static unsigned long carried;	/* model_carried_bytes() */
module_param(carried, ulong, 0);
static unsigned long named;	/* pams_sched_find(), for @views */
module_param(named, ulong, 0);
static unsigned int views;
module_param(views, uint, 0);

/* --- what examples/bpf/pams.bpf.h has --- */

#define SEC(_name)
#define BPF_PROG(_name, ...)		_name(__VA_ARGS__)
#define __uint(_name, _value)		int (*_name)[_value]
#define __type(_name, _value)		typeof(_value) *_name
#define bpf_get_prandom_u32()		get_random_u32()
#define bpf_ktime_get_ns()		ktime_get_ns()
#define bpf_printk(...)			no_printk(__VA_ARGS__)

#define bpf_map_lookup_elem(_map, _key) ({					\
	static typeof(*(_map)->value) _values[sizeof(*(_map)->max_entries) /	\
					      sizeof(int)];			\
										\
	*(_key) < ARRAY_SIZE(_values) ? &_values[*(_key)] : NULL;		\
})

static inline const struct pams_model *program_sub(const struct pams_view *view, u32 i)
{
	return i < view->nr ? view->sub[i] : NULL;
}

static inline u32 program_arrival_us(const struct pams_view *view, u32 i, u32 bytes)
{
	u32 (*at)(const struct pams_model *model, u32 bytes) = (void *)arrival;

	return i < view->nr ? at(view->sub[i], bytes) : U32_MAX;
}

static inline u64 program_carried_bytes(const struct pams_view *view, u32 i, u32 span_us)
{
	u64 (*at)(const struct pams_model *model, u64 span_us) = (void *)carried;

	return i < view->nr ? at(view->sub[i], span_us) : 0;
}

#define pams_is(_sub, _flag)		((bool)(_sub)->_flag)
#define pams_sub			program_sub
#define pams_arrival_us			program_arrival_us
#define pams_carried_bytes		program_carried_bytes
#define pams_nth(_view, _i)		pams_sub(_view, _i)

/* --- the same answers --- */

static struct rnd_state random_state;

/* of any size, small ones as often as large ones */
static u32 any_size(void)
{
	u32 bits = prandom_u32_state(&random_state);

	return bits >> (prandom_u32_state(&random_state) & 31);
}

static void any_model(struct pams_model *model, u32 id)
{
	prandom_bytes_state(&random_state, model, sizeof(*model));
	model->pad_ns = (u64)any_size() * any_size();
	model->id = id;
	model->srtt_us = any_size();
	model->rtt_us = max(any_size(), 1U);
	model->rate_byteps = max(any_size(), MODEL_RATE_MIN_BYTEPS);
	model->limit_byteps = max(any_size(), model->rate_byteps);
	model->proven_byteps = max(any_size(), MODEL_RATE_MIN_BYTEPS);
	model->cwnd_bytes = any_size();
	model->window_bytes = any_size();
	model->flight_bytes = any_size();
	model->backlog_bytes = any_size();
}

static void any_view(struct pams_view *view, struct pams_model *models)
{
	u32 first = prandom_u32_state(&random_state) & 3;
	unsigned int i;

	view->unscheduled_bytes = (u64)any_size() * any_size();
	view->left_bytes = any_size();
	view->fragment_bytes = any_size();
	view->now_ms = any_size();
	view->nr = prandom_u32_state(&random_state) % (PAMS_SUBFLOWS_MAX + 1);
	for (i = 0; i < view->nr; i++) {
		any_model(&models[i], first + i);
		view->sub[i] = &models[i];
	}
	view->state->lead = first + prandom_u32_state(&random_state) % PAMS_SUBFLOWS_MAX;
}

static int program_compare(const struct pams_sched_ops *own)
{
	const struct pams_sched *(*find)(const char *name) = (void *)named;
	const struct pams_sched *sched = find(own->name);
	struct pams_model *models = kcalloc(PAMS_SUBFLOWS_MAX, sizeof(*models), GFP_KERNEL);
	struct pick_state state = {};
	struct pams_view view = { .state = &state };
	const struct pams_sched_ops *other;
	unsigned int i, answered = 0, differ = 0;

	if (!sched || !models) {
		kfree(models);
		return -ENOENT;
	}
	prandom_seed_state(&random_state, 1);
	rcu_read_lock();
	other = rcu_dereference(container_of(sched, struct pams_program, sched)->ops);
	for (i = 0; other && i < views; i++) {
		struct pams_answer a = { .bytes = any_size(), .memory = { any_size() & 1 } }, b = a;
		int one, two;

		any_view(&view, models);
		one = own->pick(&view, &a);
		two = other->pick(&view, &b);
		answered += one >= 0;
		differ += one != two || memcmp(&a, &b, sizeof(a));
		if (!own->late || !other->late)
			continue;
		one = own->late(&view, &a);
		two = other->late(&view, &b);
		differ += one != two || memcmp(&a, &b, sizeof(a));
	}
	rcu_read_unlock();
	kfree(models);
	pr_info("%s: %u views, %u answers name a subflow, %u differ\n", own->name, i, answered,
		differ);
	return differ || i < views || !answered ? -EBADMSG : -EAGAIN;
}

static int program_load(const struct pams_sched_ops *own)
{
	int (*to)(const struct pams_sched_ops *ops) = (void *)attach;

	return views ? program_compare(own) : to(own);
}

static void program_unload(const struct pams_sched_ops *own)
{
	void (*from)(const struct pams_sched_ops *ops) = (void *)detach;

	from(own);
}

#define PAMS_SCHEDULER(_name, ...)					\
static struct pams_sched_ops _name = {					\
	.name = #_name,							\
	__VA_ARGS__							\
};									\
static int __init program_init(void) { return program_load(&_name); }	\
static void __exit program_exit(void) { program_unload(&_name); }	\
module_init(program_init);						\
module_exit(program_exit);						\
MODULE_DESCRIPTION("A scheduler in BPF, compiled to a module (laboratory)"); \
MODULE_LICENSE("GPL")

#endif /* _PAMS_BPF_H */
