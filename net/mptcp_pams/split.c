// SPDX-License-Identifier: GPL-2.0
/* Helpers that end TCP (pamsplit): what is banked there counts in the models, without any
 * report; and what is told of a pipe is put together with it. bank.c reckons.
 *
 * A bank is looked for before it costs anything: at some look all that was sent is
 * marked, by the connection's number and by each subflow's. If each TCP has acknowledged
 * its part, and much of it has no DATA_ACK, something lies between. From then on, or where
 * a path is reported and so much is open that it may be worth time and memory, what
 * subflows are given is logged, and the first byte that is missing tells which of them
 * is split.
 *
 *   Bp = banked + max(0, F - Thp * m)
 *
 * What the helper has received and doesn't acknowledge yet (F, but for what fits a round
 * trip m of the HS-path) waits before the pipe, too.
 *
 * What waits before a pipe can't be taken back when it becomes slow, and holds up all
 * that came later on other subflows. So a split subflow is given no more than the pipe
 * brings in its round trip and 300 ms: that is banked for the time in which the HS-path
 * is slow.
 *
 * Called with the msk owned, or with its data lock held and no owner.
 */
#include <linux/time64.h>

#include "pams.h"

#define SPLIT_MARK_BYTES	8192
#define SPLIT_MARK_SHIFT	14
#define SPLIT_MARK_UNIT		BIT(SPLIT_MARK_SHIFT)
#define SPLIT_OPEN_BYTES	65536
#define SPLIT_AHEAD_US		(300 * USEC_PER_MSEC)
/* The head of a bank is sent again after so long without any DATA_ACK. */
#define SPLIT_HEAD_MIN_US	(200 * USEC_PER_MSEC)

/* In units of 16 KB, which wrap after 4 MB: with more outstanding a bank may be thought of
 * that there isn't, which the log then says.
 */
static u8 mark_of(u32 seq)
{
	return seq >> SPLIT_MARK_SHIFT;
}

static void mark(struct pams_conn *conn, const struct msk_look *look,
		 const struct pams_view *view)
{
	unsigned int i;

	conn->split_mark = look->snd_nxt;
	conn->split_nr = look->nr;
	for (i = 0; i < look->nr; i++)
		pams_subflow_of(view->sub[i])->split_mark =
			mark_of(READ_ONCE(tcp_sk(look->ssk[i])->write_seq) +
				SPLIT_MARK_UNIT - 1);
}

/* Has every subflow an acknowledgment for all that was marked, and is much missing? */
static bool mark_says_bank(const struct pams_conn *conn, const struct msk_look *look,
			   const struct pams_view *view)
{
	unsigned int i;

	if ((s32)(conn->split_mark - (u32)look->snd_una) < SPLIT_MARK_BYTES)
		return false;
	for (i = 0; i < look->nr; i++) {
		u8 acked = mark_of(READ_ONCE(tcp_sk(look->ssk[i])->snd_una));

		if ((s8)(acked - pams_subflow_of(view->sub[i])->split_mark) < 0)
			return false;
	}
	return true;
}

/* Has TCP acknowledged much without a DATA_ACK? Then the receiver may wait for a slower
 * subflow, or it is banked: the log will tell.
 */
static bool much_is_open(const struct msk_look *look)
{
	s64 open = look->snd_nxt - look->snd_una;
	unsigned int i;

	for (i = 0; i < look->nr; i++) {
		const struct tcp_sock *tp = tcp_sk(look->ssk[i]);

		open -= READ_ONCE(tp->write_seq) - READ_ONCE(tp->snd_una);
	}
	return open >= SPLIT_OPEN_BYTES;
}

static void split_find(struct pams_conn *conn, const struct msk_look *look,
		       const struct pams_view *view)
{
	if (conn->split_nr != look->nr ||
	    (s32)(conn->split_mark - (u32)look->snd_una) <= 0) {
		mark(conn, look, view);
		return;
	}
	if (!(conn->reported && much_is_open(look)) && !mark_says_bank(conn, look, view))
		return;
	if (pams_conn_open_bank(conn))
		bank_begin(conn->bank, look->snd_nxt, look->snd_una, (u32)tcp_clock_us());
	else
		mark(conn, look, view);
}

static void model_keep_bank(struct pams_model *model, u32 banked, u32 rate)
{
	u64 most = div_u64((u64)rate * (model->rtt_us + SPLIT_AHEAD_US), USEC_PER_SEC);
	u64 held = (u64)banked + model->flight_bytes + model->backlog_bytes;

	model->room_bytes = min_t(u64, model->room_bytes, most > held ? most - held : 0);
	model->idle &= model->room_bytes > 0;
}

/* Beside what was told of the pipe in this look. */
static void model_set_bank(struct pams_subflow *sub, const struct bank_path *path)
{
	struct pams_model *model = &sub->model;
	bool told = sub->reported && model->pipe_byteps && model->split;
	u32 rate = told ? model->pipe_byteps : path->rate_byteps;
	u32 passing, backlog = path->banked_bytes;

	if (!rate)
		return;
	passing = min_t(u64, div_u64((u64)rate * model->rtt_us, USEC_PER_SEC), U32_MAX);
	if (model->flight_bytes > passing)
		backlog += model->flight_bytes - passing;
	model->pipe_backlog_bytes = told ? max(model->pipe_backlog_bytes, backlog) : backlog;
	model->pipe_byteps = rate;
	if (!told)
		model->pipe_delay_us = 0;
	model->split = true;
	model->th_byteps = min_t(u64, model->th_byteps, rate);
	model_keep_bank(model, path->banked_bytes, rate);
	if (path->banked_bytes > path->spent_bytes) {
		model->outstanding = true;
		model->moving = true;
	}
	sub->pad_of_bytes = 0;
}

/**
 * pams_split_look - put what is banked at helpers into the models of a view
 * @conn:	the connection
 * @look:	at it
 * @view:	complete but for that, and for PADs
 */
void pams_split_look(struct pams_conn *conn, const struct msk_look *look,
		     struct pams_view *view)
{
	struct bank_seen seen[PAMS_SUBFLOWS_MAX] __uninitialized;
	unsigned int i;

	if (!conn->bank) {
		if (look->several && look->nr > 1 && !look->fallback)
			split_find(conn, look, view);
		return;
	}
	for (i = 0; i < look->nr; i++) {
		const struct tcp_sock *tp = tcp_sk(look->ssk[i]);

		seen[i] = (struct bank_seen){
			.id = look->id[i],
			.write_seq = READ_ONCE(tp->write_seq),
			.snd_una = READ_ONCE(tp->snd_una),
		};
	}
	bank_look(conn->bank, seen, look->nr, look->snd_nxt, look->snd_una,
		  (u32)tcp_clock_us());
	for (i = 0; i < view->nr; i++) {
		const struct bank_path *path = bank_path_of(conn->bank, view->sub[i]->id);

		if (path && path->split)
			model_set_bank(pams_subflow_of(view->sub[i]), path);
	}
}

static const struct bank_path *split_path(const struct pams_conn *conn, u32 id)
{
	const struct bank_path *path = conn->bank ? bank_path_of(conn->bank, id) : NULL;

	return path && path->split ? path : NULL;
}

/**
 * pams_split_once_bytes - how much a helper has banked that wasn't sent again elsewhere
 * @conn:	the connection
 * @id:		the subflow
 */
u32 pams_split_once_bytes(const struct pams_conn *conn, u32 id)
{
	const struct bank_path *path = split_path(conn, id);

	return path ? bank_once_bytes(conn->bank, path) : 0;
}

/**
 * pams_split_sent_again - what is pending again now isn't to be a second time
 * @conn:	the connection
 */
void pams_split_sent_again(struct pams_conn *conn)
{
	if (conn->bank)
		bank_sent_again(conn->bank, conn->resend.start,
				conn->resend.end - conn->resend.start);
}

/**
 * pams_split_resend - have the end of what a helper has banked sent again elsewhere
 * @conn:	the connection, owned in process context, nothing pending again
 * @look:	at it
 * @ssk:	the subflow
 * @max_bytes:	no more than that
 *
 * Return: bytes that will be sent again; 0 if there are none.
 */
u32 pams_split_resend(struct pams_conn *conn, const struct msk_look *look,
		      struct sock *ssk, u64 max_bytes)
{
	const struct bank_path *path = split_path(conn, msk_subflow_id(ssk));
	u32 start, bytes;

	while (path && bank_last_once(conn->bank, path, &start, &bytes)) {
		u64 first = look->snd_una + (s32)(start - (u32)look->snd_una);
		u32 done = msk_resend_data(conn->msk, ssk, first, first + bytes,
					   max_bytes, &conn->resend);

		if (done) {
			pams_split_sent_again(conn);
			return done;
		}
		bank_sent_again(conn->bank, start, bytes);
	}
	return 0;
}

/* How long the head of a bank is waited for: four packets' time more. */
static u32 head_limit_us(const struct bank_path *path)
{
	u32 limit_us = SPLIT_HEAD_MIN_US;

	if (path->rate_byteps)
		limit_us += min_t(u64, div_u64(6000ULL * USEC_PER_SEC, path->rate_byteps),
				  SPLIT_HEAD_MIN_US);
	return limit_us;
}

/* The subflow that has the first missing byte in its bank, or NULL. */
static const struct bank_path *head_path(const struct pams_conn *conn)
{
	const struct bank_path *path;

	if (!conn->bank || conn->bank->head < 0)
		return NULL;
	path = &conn->bank->path[conn->bank->head];
	return path->split ? path : NULL;
}

/**
 * pams_split_is_dead - does nothing come out of a subflow's bank any more?
 * @conn:	the connection
 * @id:		the subflow
 *
 * Else a receiver that waits for its first byte had got it.
 */
bool pams_split_is_dead(const struct pams_conn *conn, u32 id)
{
	const struct bank_path *path = head_path(conn);

	return path && path->id == id &&
	       bank_head_us(conn->bank, (u32)tcp_clock_us()) >= head_limit_us(path);
}

/**
 * pams_split_lost_left - is there something banked that is to be sent again if it is lost?
 * @conn:	the connection
 * @id:		the subflow
 */
bool pams_split_lost_left(const struct pams_conn *conn, u32 id)
{
	u32 start, bytes;

	return conn->bank && bank_next_lost(conn->bank, id, &start, &bytes);
}

/**
 * pams_split_resend_lost - have what a dead pipe's helper has banked sent again elsewhere
 * @conn:	the connection, owned in process context, nothing pending again
 * @look:	at it
 * @ssk:	the subflow
 *
 * In its order, a part of a fragment each time.
 *
 * Return: bytes that will be sent again; 0 if there are none.
 */
u32 pams_split_resend_lost(struct pams_conn *conn, const struct msk_look *look,
			   struct sock *ssk)
{
	u32 id = msk_subflow_id(ssk), start, bytes, done;

	while (conn->bank && bank_next_lost(conn->bank, id, &start, &bytes)) {
		u64 first = look->snd_una + (s32)(start - (u32)look->snd_una);

		done = msk_resend_first(conn->msk, ssk, first, first + bytes, &conn->resend);
		bank_lost_sent(conn->bank, id, done ?: bytes);
		if (done)
			return done;
	}
	return 0;
}

/**
 * pams_split_head_wait_us - is the first missing byte banked, and expected soon?
 * @conn:	the connection
 * @id:		set to the subflow that has it, or 0
 *
 * It is the next that the pipe delivers. What is sent again over the same subflow comes
 * behind all that is banked.
 *
 * Return: how long to wait for it; 0 if it isn't banked, or overdue.
 */
u32 pams_split_head_wait_us(const struct pams_conn *conn, u32 *id)
{
	const struct bank_path *path = head_path(conn);
	u32 since_us, limit_us;

	*id = 0;
	if (!path)
		return 0;
	*id = path->id;
	limit_us = head_limit_us(path);
	since_us = bank_head_us(conn->bank, (u32)tcp_clock_us());
	return since_us < limit_us ? limit_us - since_us : 0;
}
