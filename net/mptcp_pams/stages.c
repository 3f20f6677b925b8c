// SPDX-License-Identifier: GPL-2.0
/* What only some connections need of a look: units, copies, reports and silent subflows, banks of
 * helpers, costs. Other connections pass all of it by with one test. A decision's stages before
 * and after the look are in sched.c.
 *
 * Called with the msk owned, or with its data lock held and no owner.
 */
#include "pams.h"

/* End the silence of backups outside the view that have answered. Backups that are still silent
 * keep @conn's @silent set; stale or closed ones don't.
 */
static void look_beyond(struct pams_conn *conn, unsigned int nr)
{
	unsigned int i;

	for (i = nr; i < conn->nr; i++) {
		struct pams_subflow *sub = conn->sub[i];
		const struct sock *ssk = sub->silent ?
			msk_backup_find(conn->msk, sub->model.id) : NULL;

		if (ssk)
			pams_learn_answer(sub, ssk);
		conn->silent |= ssk && sub->silent;
	}
}

/* Take costlier paths out of the view, by the rule for this kind of data: new data, data
 * that is sent again (@again), or data that is sent on two subflows. Risks count for new data only.
 */
static void view_spare(struct pams_conn *conn, const struct msk_look *look,
		       struct pams_view *view, bool again)
{
	struct cost_overflow overflow = conn->overflow;

	if (!overflow.said) {
		overflow.delay_ms = READ_ONCE(conn->net->overflow_ms);
		overflow.percent = READ_ONCE(conn->net->overflow_percent);
	}
	conn->costly = cost_differs(view);
	if (!conn->costly && !cost_risks(view))
		return;
	if ((overflow.copies || !conn->costly) && (again || view->sent_bytes < view->first_bytes))
		return;
	if (again)
		cost_spare(view);
	else
		cost_spare_but(view, &overflow, &conn->cost,
			       look->write_seq - look->snd_nxt);
}

/* Add to a view what the connection's stages know; PADs and a stream's bound come after that. */
void pams_stages_view(struct pams_conn *conn, const struct msk_look *look,
		      struct pams_view *view, bool again)
{
	if (conn->units) {
		unit_follow(&conn->unit, look->snd_nxt);
		conn->units = !!conn->unit.end;
		view->left_bytes = unit_unscheduled_bytes(&conn->unit, look->write_seq,
							  look->snd_nxt,
							  look->unscheduled_bytes);
	}
	if (conn->copies)
		view->first_bytes = conn->first_bytes ?:
				    READ_ONCE(conn->net->redundant_bytes) ?: U64_MAX;
	/* A subflow was closed, so the kernel sends all unacknowledged data again. That data
	 * needs no copies any more, and new data doesn't wait for them.
	 */
	if (conn->copies && look->pending_again && !again)
		conn->state.copied = look->snd_nxt;
	if (READ_ONCE(conn->net->paths.nr) || conn->silent || conn->reported)
		pams_report_apply(conn, look, view);
	look_beyond(conn, view->nr);
	if (conn->banks)
		pams_split_look(conn, look, view);
	if (conn->reported || conn->costly)
		view_spare(conn, look, view, again);
}
