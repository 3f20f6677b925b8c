// SPDX-License-Identifier: GPL-2.0
/* Times decisions of MPTCP schedulers against each other, on the same live
 * connection at the same moment. For the laboratory only: it takes the kernel's
 * private functions as plain addresses and calls them through pointers.
 *
 * It registers a scheduler "bench". Each time the kernel asks it for a subflow
 * it asks the default and one scheduler under test BATCH times in a row each, reads
 * the clock around each batch (that of user mode ticks in 256 ns; an emulator's may
 * count instructions), then lets the default decide for real. Each connection has its
 * scheduler under test, in turn, since the module's state of a connection is one
 * scheduler's. The median of the batches counts, per number of subflows.
 *
 * Result: one line per scheduler and number of subflows in the kernel log when
 * the module is unloaded, "bench: SCHED SUBFLOWS TENTHS-OF-NS BATCHES QUARTILE"; the last is the
 * lower quartile, in tenths of ns, too.
 *
 * On a connection of "rules" two more things are timed: minfct, which the rules have to
 * leave it, as "minfct-by-rule", and "rules" where each decision looks the rules through
 * anew, as "rules-resolved". A timer's tick in every other batch may move one median and
 * not the other: the line "bench: rules-per-mille SUBFLOWS PERMILLE" has the median of
 * what "rules" took of minfct's time at the same moment.
 *
 * also=NAME times one more scheduler, one in BPF for instance.
 *
 * With count=1 nothing is timed: each connection, in turn, is left to one of the
 * schedulers, and how often it was asked is told once it ends: "bench: asked SCHED TIMES".
 */
#define pr_fmt(fmt) "bench: " fmt

#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/sort.h>
#include <net/mptcp.h>

#include "mptcp_layout.h"
#include "pams.h"

#define BATCH		1024
#define REQUIRED	4	/* the first ones */
#define SUBFLOWS	10
#define BATCHES		1024	/* remembered for each number of subflows */

/* addresses as in /proc/kallsyms */
static unsigned long mptcp_register_scheduler;
module_param(mptcp_register_scheduler, ulong, 0);
static unsigned long mptcp_unregister_scheduler;
module_param(mptcp_unregister_scheduler, ulong, 0);
static unsigned long mptcp_sched_find;
module_param(mptcp_sched_find, ulong, 0);

static bool count;
module_param(count, bool, 0);

static char *also;
module_param(also, charp, 0);

enum { DEFAULT, MINFCT = 4, RULES, ALSO, SCHEDS, BY_RULE = SCHEDS, RESOLVED, TIMED };

static const char *names[TIMED] = {
	"default", "minrtt", "minpad", "pams", "minfct", "rules", NULL,
	"minfct-by-rule", "rules-resolved",
};

static struct mptcp_sched_ops *scheds[SCHEDS];
static u32 batch_ns[TIMED][SUBFLOWS][BATCHES];
static unsigned int batches[TIMED][SUBFLOWS];
static const struct mptcp_sock *last_msk;
static unsigned int turn;
static unsigned int nr_scheds = ALSO;
static unsigned long asked; /* by the last connection */

static int ask(struct mptcp_sched_ops *ops, struct mptcp_sock *msk)
{
#ifdef PAMS_HAVE_GET_SUBFLOW
	struct mptcp_sched_data data = { .reinject = false };

	return ops->get_subflow(msk, &data);
#else
	/* the built-in default keeps its op to itself: same signature */
	return ops->get_send(msk);
#endif
}

/* A scheduler of the module learns from the socket which one it is. */
static struct mptcp_sched_ops *lend(struct mptcp_sock *msk, struct mptcp_sched_ops *ops)
{
	struct mptcp_sched_ops *own = msk->sched;

	msk->sched = ops;
	return own;
}

static unsigned int clear_scheduled(struct mptcp_sock *msk)
{
	struct mptcp_subflow_context *subflow;
	unsigned int nr = 0;

	list_for_each_entry(subflow, &msk->conn_list, node) {
		WRITE_ONCE(subflow->scheduled, false);
		nr++;
	}
	return nr;
}

/* As if the rules had been replaced. */
static void forget_rule(struct mptcp_sock *msk)
{
	struct pams_conn **slot = inet_csk_ca((struct sock *)msk);

	if (*slot)
		(*slot)->rules_generation = 0;
}

static u64 time_batch(struct mptcp_sched_ops *ops, struct mptcp_sock *msk, bool resolve)
{
	struct mptcp_sched_ops *own = lend(msk, ops);
	unsigned int i;
	u64 start;

	start = ktime_get_ns();
	for (i = 0; i < BATCH; i++) {
		if (resolve)
			forget_rule(msk);
		ask(ops, msk);
		clear_scheduled(msk);
	}
	start = ktime_get_ns() - start;
	lend(msk, own);

	return start;
}

static void time_one(unsigned int timed, unsigned int sched, unsigned int nr,
		     struct mptcp_sock *msk)
{
	if (!scheds[sched] || batches[timed][nr] == BATCHES)
		return;
	batch_ns[timed][nr][batches[timed][nr]++] =
		time_batch(scheds[sched], msk, timed == RESOLVED);
}

/* One connection sends at a time. */
static int bench_decide(struct mptcp_sock *msk)
{
	unsigned int nr = min_t(unsigned int, clear_scheduled(msk),
				SUBFLOWS - 1);
	struct mptcp_sched_ops *own;
	int err;

	/* the other end asks, too, while there is one subflow */
	if (nr < 2)
		return ask(scheds[DEFAULT], msk);
	if (msk != last_msk) {
		last_msk = msk;
		turn = count ? (turn + 1) % nr_scheds : turn % (nr_scheds - 1) + 1;
	}
	if (count) {
		asked++;
		own = lend(msk, scheds[turn]);
		err = ask(scheds[turn], msk);
		lend(msk, own);
		return err;
	}
	time_one(DEFAULT, DEFAULT, nr, msk);
	time_one(turn, turn, nr, msk);
	if (turn == RULES) {
		time_one(BY_RULE, MINFCT, nr, msk);
		time_one(RESOLVED, RULES, nr, msk);
	}
	return ask(scheds[DEFAULT], msk);
}

static void bench_init(struct mptcp_sock *msk)
{
	scheds[REQUIRED - 1]->init(msk);
}

static void bench_release(struct mptcp_sock *msk)
{
	/* the next connection's socket may have the same address */
	if (msk == last_msk) {
		last_msk = NULL;
		if (count)
			pr_info("asked %s %lu\n", names[turn], asked);
		asked = 0;
	}
	scheds[REQUIRED - 1]->release(msk);
}

#ifdef PAMS_HAVE_GET_SUBFLOW
static int bench_get_subflow(struct mptcp_sock *msk,
			     struct mptcp_sched_data *data)
{
	return data->reinject ? scheds[DEFAULT]->get_subflow(msk, data) :
				bench_decide(msk);
}
#else
static int bench_get_retrans(struct mptcp_sock *msk)
{
	struct mptcp_sched_ops *own = lend(msk, scheds[REQUIRED - 1]);
	int err = msk->sched->get_retrans(msk);

	lend(msk, own);
	return err;
}
#endif

static struct mptcp_sched_ops bench_ops = {
#ifdef PAMS_HAVE_GET_SUBFLOW
	.get_subflow	= bench_get_subflow,
#else
	.get_send	= bench_decide,
	.get_retrans	= bench_get_retrans,
#endif
	.init		= bench_init,
	.release	= bench_release,
	.name		= "bench",
	.owner		= THIS_MODULE,
};

static int compare_ns(const void *a, const void *b)
{
	u32 left = *(const u32 *)a, right = *(const u32 *)b;

	return left < right ? -1 : left > right;
}

static void print_median(unsigned int sched, unsigned int nr)
{
	unsigned int count = batches[sched][nr];
	u32 *ns = batch_ns[sched][nr];

	sort(ns, count, sizeof(*ns), compare_ns, NULL);
	pr_info("%s %u %u %u %u\n", names[sched], nr, 10 * ns[count / 2] / BATCH, count,
		10 * ns[count / 4] / BATCH);
}

/* Both were timed each time; before their batches are sorted. */
static void print_rules(unsigned int nr)
{
	unsigned int count = min(batches[RULES][nr], batches[BY_RULE][nr]);
	u32 *permille = batch_ns[RESOLVED][nr];
	unsigned int i;

	if (!count)
		return;
	for (i = 0; i < count; i++)
		permille[i] = div_u64(1000ULL * batch_ns[RULES][nr][i],
				      max(batch_ns[BY_RULE][nr][i], 1U));
	sort(permille, count, sizeof(*permille), compare_ns, NULL);
	pr_info("rules-per-mille %u %u\n", nr, permille[count / 2]);
}

static int __init bench_load(void)
{
	struct mptcp_sched_ops *(*find)(const char *name);
	int (*register_scheduler)(struct mptcp_sched_ops *ops);
	unsigned int i;

	if (!mptcp_register_scheduler || !mptcp_unregister_scheduler ||
	    !mptcp_sched_find) {
		pr_err("three addresses are needed, see modinfo\n");
		return -EINVAL;
	}

	names[ALSO] = also;
	nr_scheds += !!also;
	find = (void *)mptcp_sched_find;
	rcu_read_lock();
	for (i = 0; i < nr_scheds; i++)
		scheds[i] = find(names[i]);
	rcu_read_unlock();
	for (i = 0; i < nr_scheds; i++) {
		if (!scheds[i] && (i < REQUIRED || i == ALSO)) {
			pr_err("scheduler %s isn't loaded: load mptcp_pams first\n",
			       names[i]);
			return -ENOENT;
		}
	}
	/* they stay: nothing unloads mptcp_pams under the laboratory's feet */
	register_scheduler = (void *)mptcp_register_scheduler;
	return register_scheduler(&bench_ops);
}

static void __exit bench_unload(void)
{
	void (*unregister_scheduler)(struct mptcp_sched_ops *ops) =
		(void *)mptcp_unregister_scheduler;
	unsigned int i, nr;

	unregister_scheduler(&bench_ops);
	synchronize_rcu();
	for (nr = 0; nr < SUBFLOWS; nr++) {
		if (batches[RESOLVED][nr])
			print_median(RESOLVED, nr);
		print_rules(nr);
		for (i = 0; i < RESOLVED; i++)
			if (batches[i][nr])
				print_median(i, nr);
	}
}

module_init(bench_load);
module_exit(bench_unload);

MODULE_DESCRIPTION("Times decisions of MPTCP schedulers (laboratory)");
MODULE_LICENSE("GPL");
