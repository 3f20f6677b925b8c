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
 *
 * While no program is attached, decisions are minpad's.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/rcupdate.h>

#include "pams.h"

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

/**
 * pams_program_pick - have a program choose the subflow that is given new data
 * @program:	the scheduler
 * @view:	the connection's view
 * @bytes:	lowered to the most that is handed over
 *
 * Return: as for @pick of struct pams_sched.
 */
int pams_program_pick(struct pams_program *program, const struct pams_view *view, u32 *bytes)
{
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
		target = ops->pick(view, &answer);
	rcu_read_unlock();
	memcpy(state->memory, answer.memory, sizeof(state->memory));

	if (!ops || !pick_is_valid(view, target)) {
		atomic64_inc(ops ? &program->refused : &program->alone);
		return program->sched.pick(view, bytes);
	}
	*bytes = answer.bytes;	/* msk_hand_over() makes at least a packet of it */
	return target;
}

/**
 * pams_program_late - have a program choose the subflow whose data is late
 * @program:	the scheduler
 * @view:	the connection's view
 * @bytes:	set to the most that is sent again
 *
 * Return: as for @late of struct pams_sched.
 */
int pams_program_late(struct pams_program *program, const struct pams_view *view, u64 *bytes)
{
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
		from = ops->late(view, &answer);
	rcu_read_unlock();

	if (!late_is_valid(view, from)) {
		atomic64_inc(&program->refused);
		return PAMS_PICK_NONE;
	}
	*bytes = max(answer.bytes, PICK_PACKET_BYTES);
	return from;
}

/**
 * pams_program_tell - what went otherwise than a program said, for people
 * @program:	the scheduler
 * @text:	set to one line
 * @size:	its size
 */
void pams_program_tell(const struct pams_program *program, char *text, size_t size)
{
	scnprintf(text, size,
		  "%s: %lld answers refused, %lld waits ended, %lld decisions without it",
		  rcu_access_pointer(program->ops) ? program->sched.text :
						     "a program in BPF that was detached",
		  atomic64_read(&program->refused), atomic64_read(&program->overdue),
		  atomic64_read(&program->alone));
}
