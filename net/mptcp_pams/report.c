// SPDX-License-Identifier: GPL-2.0
/* Puts the reports of paths into the models of subflows, where every scheduler sees them.
 *
 * A pipe (MPBond, section 4; model.c has the equations) has a capacity, a
 * backlog that waits before it, and, if the helper ends TCP, a delay. Between two reports
 * the backlog drains: Bp(t) = Bp - Thp * t. Th and the capacity of the path are at most
 * those of the pipe.
 *
 * A path that will be lost (PLAMA) has a horizon. A subflow is stopped, so that nothing is
 * scheduled on it, if data that it is given now would arrive after the horizon:
 *
 *   horizon = T_L - now - guard - 4 * RTT variance - 7/4 * spread of T_L
 *   stopped:  OWD + queue drain >= horizon
 *
 * The subflow stays stopped until data that TCP sent later than T_L + RTT is acknowledged, which
 * proves the path alive, or until the loss time is renewed, removed, or expires. (Data that was
 * under way at T_L, or in the subflow's queue, proves nothing.) The variance, four times
 * as in TCP's timeout, is for a path that fades: OWD is as old as the last acknowledgment,
 * and grows while the rate falls. The spread is the standard deviation of a T_L that was
 * predicted: with normal errors 1 loss in 25 comes more than 7/4 of the spread early. This OWD
 * is smoothed separately from the model's, from TCP's latest round trip, with RFC 6298's
 * weights or as PLAMA prints them:
 *
 *   OWD' = a * OWD + (1 - a) * sample,  a = 7/8 (RFC 6298) or 1/8 (PLAMA)
 *
 * From three times the spread before T_L on the path is at risk: a stream avoids it (cost.c). So a
 * T_L that is put off again and again, always between the two, keeps it avoided and in use. A file
 * isn't touched: it would gain nothing, and wait at its end for a slower path.
 *
 * A silent subflow (alive.c) is stopped, too. If every subflow is stopped, the one whose
 * path is lost last is used.
 *
 * Ignored: that a pipe is shared by several connections; clocks that drift.
 */
#include <linux/ktime.h>

#include "pams.h"
#include "trace.h"

#define RISK_SPREADS	3
#define OWD_GAIN_SHIFT	3	/* the weights are 1/8 and 7/8 */
/* struct pams_model keeps an interface as a mark of 13 bits. A mark below this is the index
 * itself. From a higher mark the index isn't known, so while such a subflow has no route, no
 * report of its interface applies.
 */
#define INTERFACE_MARKS	4096

/* The mark of an interface index; 0, for no route, stays 0. */
static u16 interface_mark(int ifindex)
{
	return ifindex < INTERFACE_MARKS ? ifindex :
	       INTERFACE_MARKS + ifindex % INTERFACE_MARKS;
}

/**
 * pams_report_new - note which interface a new subflow's packets leave through
 * @sub:	its state
 * @ssk:	its TCP socket
 *
 * Reports of that interface apply also while the subflow has no route.
 */
void pams_report_new(struct pams_subflow *sub, const struct sock *ssk)
{
	rcu_read_lock();
	sub->model.interface = interface_mark(pams_path_ifindex(ssk));
	rcu_read_unlock();
}

/* Do the subflow's packets leave through another interface than when reports were looked up?
 * TCP may change the route by itself. That matters only if interfaces were reported.
 */
static bool has_moved(const struct pams_conn *conn, const struct pams_subflow *sub,
		      const struct sock *ssk)
{
	u16 interface;

	if (likely(!READ_ONCE(conn->net->paths.nr_of[PAMS_PATH_INTERFACE])))
		return false;
	interface = interface_mark(pams_path_ifindex(ssk));
	return interface && interface != sub->model.interface;
}

static void report_find(struct pams_conn *conn, const struct msk_look *look,
			unsigned int i, struct pams_subflow *sub, u32 generation)
{
	struct sock *ssk = look->ssk[i];
	int ifindex = pams_path_ifindex(ssk);
	struct pams_path_found found;

	if (ifindex)
		sub->model.interface = interface_mark(ifindex);
	else if (sub->model.interface < INTERFACE_MARKS)
		ifindex = sub->model.interface;	/* the last route's */
	pams_path_lookup(conn->net, look->token, ssk, ifindex, ktime_get_boottime_ns(), &found);
	sub->pipe = found.pipe;
	sub->loss = found.loss;
	/* when the cost expires the table changes, so the cost is looked up again */
	sub->model.cost = found.cost ? found.cost->report.cost.level : 0;
	sub->generation = generation;
	sub->reported = sub->pipe || sub->loss || sub->model.cost || sub->stopped;
}

/* Have all subflows look up again: the paths' generation has wrapped in its low half, and a
 * subflow keeps only that half.
 */
static noinline void forget_all(struct pams_conn *conn, u64 generation)
{
	unsigned int i;

	for (i = 0; i < conn->nr; i++)
		conn->sub[i]->generation = (u32)generation - 1;
	conn->paths_high = generation >> 32;
}

static u32 rate_clamped(u64 byteps)
{
	return clamp_t(u64, byteps, MODEL_RATE_MIN_BYTEPS, MODEL_RATE_UNKNOWN - 1);
}

static void model_set_pipe(struct pams_model *model, const struct pams_report *report,
			   u64 now_ns)
{
	u64 gone = pad_carried_bytes(now_ns - report->pipe.ns,
				     report->pipe.rate_byteps);
	u32 backlog = report->pipe.backlog_bytes;

	model->split = report->pipe.split;
	model->pipe_byteps = rate_clamped(report->pipe.rate_byteps);
	model->pipe_delay_us = report->pipe.split ? report->pipe.delay_us : 0;
	model->pipe_backlog_bytes = backlog > gone ? backlog - gone : 0;
	if (report->pipe.hs_rate_byteps)
		model->th_byteps = report->pipe.hs_rate_byteps;
	model->th_byteps = min(model->th_byteps, report->pipe.rate_byteps);

	/* unless the helper ends TCP, TCP's window goes through the pipe, too */
	if (!report->pipe.split && model->limit_byteps > model->pipe_byteps) {
		model->limit_byteps = model->pipe_byteps;
		model->proven_byteps = min(model->proven_byteps, model->pipe_byteps);
		model_set_window(model);
		model->growing &= model->rate_byteps < model->limit_byteps;
	}
}

/* Smooth the one-way delay. Each look takes one sample, however many acknowledgments came. */
static u32 smoothed_owd_us(const struct pams_net *net, struct pams_subflow *sub,
			   const struct tcp_sock *tp)
{
	u32 rtt_us = READ_ONCE(tp->rack.rtt_us);
	u32 sample = peek_owd_us(tp, rtt_us);
	s32 step;

	if (!rtt_us)
		return sub->owd_us;

	step = sample - sub->owd_us;
	if (READ_ONCE(net->owd_weights) == PAMS_OWD_PLAMA)
		step -= step / (1 << OWD_GAIN_SHIFT);
	else
		step /= 1 << OWD_GAIN_SHIFT;
	sub->owd_us = sub->owd_us ? sub->owd_us + step : sample;
	return sub->owd_us;
}

/* Was data acknowledged that TCP sent later than T_L + RTT? rack.mstamp is when the packet
 * that was acknowledged last was sent. It is 0 before the first acknowledgment, as on a subflow
 * that was accepted since T_L; then any packet received so late shows that the path is back.
 * TCP's clocks stand still while the machine is suspended, so only ages are compared, and a
 * packet sent before a suspend seems to be sent later. If the path is lost all the same, the
 * subflow will be silent.
 */
static bool loss_is_over(const struct pams_model *model, u64 loss_ns,
			 const struct tcp_sock *tp, u64 now_ns)
{
	u64 sent_ns = msk_read_u64(&tp->rack.mstamp) * NSEC_PER_USEC;
	u32 received = tcp_jiffies32 - READ_ONCE(tp->rcv_tstamp);
	u64 age_ns = sent_ns ? tcp_clock_ns() - sent_ns : (received + 1ULL) * TICK_NSEC;

	return now_ns - min(now_ns, age_ns) > loss_ns + (u64)model->srtt_us * NSEC_PER_USEC;
}

/* Set the model's horizon. Returns true if data that is given now wouldn't arrive in time. Else
 * limits the room to what arrives in time, since a decision's data is sent without a further one.
 */
static bool model_set_loss(struct pams_subflow *sub,
			   const struct pams_report *report,
			   const struct pams_net *net, const struct tcp_sock *tp,
			   u32 bytes, u64 now_ns)
{
	struct pams_model *model = &sub->model;
	u32 owd_us = max(smoothed_owd_us(net, sub, tp), model->owd_us);
	u64 spread_us = report->loss.spread_ms * (u64)USEC_PER_MSEC;
	u64 guard_us = READ_ONCE(net->loss_guard_us) + READ_ONCE(tp->mdev_us) +
		       7 * spread_us / 4;
	u64 late_ns = (owd_us - model->owd_us + guard_us) * NSEC_PER_USEC;
	u64 arrival_ns = now_ns + late_ns + model_pad_ns(model, bytes);
	u64 loss_ns = report->loss.ns;

	if (loss_is_over(model, loss_ns, tp, now_ns))
		return false;
	model->horizon_us = loss_ns <= now_ns + late_ns ? 0 :
			    min_t(u64, div_u64(loss_ns - now_ns - late_ns,
					       NSEC_PER_USEC),
				  MODEL_HORIZON_NONE - 1);
	model->at_risk = loss_ns <= now_ns + RISK_SPREADS * spread_us * NSEC_PER_USEC;
	if (arrival_ns >= loss_ns)
		return true;

	model->room_bytes = min_t(u64, model->room_bytes,
				  pad_carried_bytes(loss_ns - arrival_ns,
						    model->th_byteps));
	return false;
}

static void subflow_stop(struct pams_conn *conn, const struct msk_look *look,
			 struct pams_subflow *sub, u64 loss_ns, u64 now_ns)
{
	struct pams_model *model = &sub->model;

	model_stop(model);
	if (sub->stopped)
		return;

	sub->stopped = true;
	if (sub->stops < PAMS_STOPS_MAX)
		sub->stops++;
	sub->events |= PAMS_EVENT_STOPPED;
	pams_count(conn, &conn->counts.stops, 1);
	conn->events = true;	/* the kick tells listeners, and sends queued data again */
	trace_mptcp_pams_stop(look->token, model->id, (s64)(loss_ns - now_ns),
			      model_pad_ns(model, 0));
}

/* Use the stopped subflow whose path is lost last; of several with the same loss time, as silent
 * subflows have, the one with the lowest PAD.
 */
static void use_least_bad(struct pams_view *view, const u64 *loss_ns)
{
	unsigned int i, best = 0;

	for (i = 1; i < view->nr; i++) {
		if (loss_ns[i] > loss_ns[best] ||
		    (loss_ns[i] == loss_ns[best] &&
		     model_pad_ns(view->sub[i], 0) <
		     model_pad_ns(view->sub[best], 0)))
			best = i;
	}
	view->sub[best]->idle = view->sub[best]->room_bytes > 0;
}

/* Put the reports into one subflow's model. Returns when the subflow's path is lost: 0 if the
 * subflow is silent, U64_MAX if no loss is known.
 */
static u64 report_put_in(struct pams_conn *conn, const struct msk_look *look,
			 struct pams_view *view, unsigned int i, u64 now_ns)
{
	struct pams_subflow *sub = pams_subflow_of(view->sub[i]);
	const struct tcp_sock *tp = tcp_sk(look->ssk[i]);
	struct pams_model *model = &sub->model;
	const struct pams_report *report;
	u64 loss_ns = U64_MAX;
	bool stop = false;

	model->horizon_us = MODEL_HORIZON_NONE;
	model->at_risk = false;
	report = sub->pipe ? &sub->pipe->report : NULL;
	if (report && pams_report_has_pipe(report, now_ns))
		model_set_pipe(model, report, now_ns);

	report = sub->loss ? &sub->loss->report : NULL;
	if (sub->silent) {
		loss_ns = 0;
		stop = true;
		conn->silent = true;
	} else if (report && pams_report_has_loss(report, now_ns)) {
		loss_ns = report->loss.ns;
		stop = model_set_loss(sub, report, conn->net, tp,
				      view->fragment_bytes, now_ns);
		model->at_risk &= conn->stream.bounds;	/* as the last look saw it */
	}

	if (stop)
		subflow_stop(conn, look, sub, loss_ns, now_ns);
	else
		sub->stopped = false;
	return loss_ns;
}

static void report_put_in_all(struct pams_conn *conn, const struct msk_look *look,
			      struct pams_view *view)
{
	u64 loss_ns[PAMS_SUBFLOWS_MAX];
	unsigned int i, stopped = 0;
	u64 now_ns = ktime_get_boottime_ns();

	conn->silent = false;
	for (i = 0; i < view->nr; i++) {
		loss_ns[i] = report_put_in(conn, look, view, i, now_ns);
		stopped += view->sub[i]->stopped;
	}
	if (stopped && stopped == view->nr)
		use_least_bad(view, loss_ns);
}

/**
 * pams_report_apply - put what was reported into the models of a view
 * @conn:	the connection, owned or with its data lock held
 * @look:	the look that @view was made from
 * @view:	complete but for reports, banks and PADs
 */
void pams_report_apply(struct pams_conn *conn, const struct msk_look *look,
		       struct pams_view *view)
{
	bool known = conn->silent, reported = false;
	unsigned int i;
	u64 generation;

	rcu_read_lock();
	generation = pams_paths_generation(&conn->net->paths);
	if (unlikely(conn->paths_high != (u16)(generation >> 32)))
		forget_all(conn, generation);
	for (i = 0; i < view->nr; i++) {
		struct pams_subflow *sub = pams_subflow_of(view->sub[i]);

		known |= sub->reported;
		if (sub->generation != (u32)generation || has_moved(conn, sub, look->ssk[i]))
			report_find(conn, look, i, sub, (u32)generation);
		known |= sub->reported;
		reported |= sub->reported;
	}
	/* Unusable subflows count, too: their reports may be removed before they are usable. */
	for (; i < conn->nr; i++)
		reported |= conn->sub[i]->reported;
	conn->reported = reported;
	if (known)
		report_put_in_all(conn, look, view);
	rcu_read_unlock();
}

/**
 * pams_report_is_lost - is a stopped subflow's outstanding data lost?
 * @conn:	the connection; its socket is owned
 * @sub:	the subflow, stopped
 *
 * The data is lost once the loss time has come, or if the subflow is silent. Before the loss time,
 * data under way may still arrive; if it was sent again, it would wait in another path's queue
 * for nothing.
 */
bool pams_report_is_lost(struct pams_conn *conn, const struct pams_subflow *sub)
{
	bool lost = sub->silent;

	rcu_read_lock();
	if (!lost && pams_report_is_current(conn, sub))
		lost = !sub->loss || sub->loss->report.loss.ns <= ktime_get_boottime_ns();
	rcu_read_unlock();
	return lost;
}
