// SPDX-License-Identifier: GPL-2.0
/* Asks a scheduler in BPF (bpf.c), and checks what it answers, so that no answer can hold up or
 * break a connection:
 *
 *   a subflow that isn't in the view, or has no room   minpad's choice, and counted
 *   none, though a subflow has room                    the same, unless an acknowledgment will
 *                                                      come and lead to another decision
 *   wait                                               for as long as for other schedulers
 *                                                      (sched.c); each end of a wait is counted
 *   little data, or more than there is room for        a packet at least, what there is room for
 *                                                      at most
 *   late data that no other subflow has room for       none is late
 *   late, by over a tick                               taken, and counted
 *
 * While no program is attached, decisions are minpad's.
 */
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/rcupdate.h>

#include "pams.h"

static struct pams_program *program_of(const struct pams_sched *sched)
{
	return container_of(sched, struct pams_program, sched);
}

static bool any_in_flight(const struct pams_view *view)
{
	unsigned int i;

	for (i = 0; i < view->nr; i++) {
		if (view->sub[i]->in_flight)
			return true;
	}
	return false;
}

/* Can the answer to "which subflow is given new data" be carried out? */
static bool pick_is_valid(const struct pams_view *view, int target)
{
	if (target >= 0)
		return target < (int)view->nr && view->sub[target]->idle;
	if (target == PAMS_PICK_NONE)
		return pams_lowest_pad(view) < 0 || any_in_flight(view);
	return target == PAMS_PICK_DEFER && pams_lowest_pad(view) >= 0;
}

/* Can the answer to "which subflow's data is late" be carried out? */
static bool late_is_valid(const struct pams_view *view, int from)
{
	if (from < 0)
		return from == PAMS_PICK_NONE;
	return from < (int)view->nr && view->sub[from]->once_bytes;
}

/* A clock that costs next to nothing; what interrupts the program counts, too. */
static int answer_of(struct pams_program *program,
		     int (*ask)(const struct pams_view *view, struct pams_answer *answer),
		     const struct pams_view *view, struct pams_answer *answer)
{
	unsigned long begin = jiffies;
	int index = ask(view, answer);

	/* the first tick may have been due anyway */
	if (unlikely(jiffies - begin > 1))
		atomic64_inc(&program->slow);
	return index;
}

/* Have a program choose the subflow that is given new data. */
int pams_program_pick(const struct pams_sched *sched, const struct pams_view *view, u32 *bytes)
{
	struct pams_program *program = program_of(sched);
	struct pick_state *state = view->state;
	struct pams_answer answer = {
		.bytes = *bytes,
		.memory = { state->memory[0], state->memory[1] },
	};
	const struct pams_sched_ops *ops;
	int target = PAMS_PICK_NONE;

	rcu_read_lock();
	ops = rcu_dereference(program->ops);
	if (ops)
		target = answer_of(program, ops->pick, view, &answer);
	rcu_read_unlock();
	memcpy(state->memory, answer.memory, sizeof(state->memory));

	if (!ops || !pick_is_valid(view, target)) {
		atomic64_inc(ops ? &program->refused : &program->alone);
		return pams_sched_minpad.pick(&pams_sched_minpad, view, bytes);
	}
	*bytes = answer.bytes;	/* msk_hand_over() makes at least a packet of it */
	return target;
}

/* Have a program choose the subflow whose data is late. */
int pams_program_late(const struct pams_sched *sched, const struct pams_view *view,
		      u32 eta_percent, u64 *bytes)
{
	struct pams_program *program = program_of(sched);
	struct pick_state *state = view->state;
	struct pams_answer answer = {
		.bytes = U32_MAX,
		.memory = { state->memory[0], state->memory[1] },
	};
	const struct pams_sched_ops *ops;
	int from = PAMS_PICK_NONE;

	rcu_read_lock();
	ops = rcu_dereference(program->ops);
	if (ops && ops->late)
		from = answer_of(program, ops->late, view, &answer);
	rcu_read_unlock();

	if (!late_is_valid(view, from)) {
		atomic64_inc(&program->refused);
		return PAMS_PICK_NONE;
	}
	*bytes = max(answer.bytes, PICK_PACKET_BYTES);
	/* where no other has room the push takes nothing, but the data would count as sent again */
	return pick_any_idle_but(view, from) ? from : PAMS_PICK_NONE;
}

/* Count a wait that a program asked for and that was ended. */
void pams_program_overdue(const struct pams_sched *sched)
{
	atomic64_inc(&program_of(sched)->overdue);
}

/* Tell what went otherwise than a program said. */
void pams_program_tell(const struct pams_sched *sched, char *text, size_t size)
{
	const struct pams_program *program = program_of(sched);

	scnprintf(text, size,
		  "%s: %lld answers refused, %lld slow, %lld waits ended, %lld decisions without it",
		  rcu_access_pointer(program->ops) ? sched->text :
						     "a program in BPF that was detached",
		  atomic64_read(&program->refused), atomic64_read(&program->slow),
		  atomic64_read(&program->overdue), atomic64_read(&program->alone));
}
