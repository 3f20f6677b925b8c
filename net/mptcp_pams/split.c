// SPDX-License-Identifier: GPL-2.0
/* Finds helpers that end a subflow's TCP (pamsplit), and puts the data that they hold, their
 * bank, into the models. No report is needed; a pipe that was reported is combined with the
 * bank. bank.c computes the bank.
 *
 * A cheap test comes first: one look marks how far data was sent, as the connection's data
 * sequence number and as each subflow's TCP sequence number. If each TCP has acknowledged
 * up to its mark, but much data before the connection's mark has no DATA_ACK, a helper may hold
 * that data. From then on the data given to subflows is logged, and the first missing byte
 * shows which subflow is split. If a path was reported, the log begins without that test once
 * much data that TCP has acknowledged has no DATA_ACK.
 *
 *   Bp = max(0, banked - Thp * m/2)
 *
 * since an acknowledgment shows what the helper had half of the HS-path's round trip m ago. Data
 * that the helper has received and not acknowledged yet waits before the pipe, too: model.c adds
 * it, as part of F.
 *
 * Data that waits before a pipe can't be recalled when the pipe becomes slow, and then holds up
 * later data that arrived on other subflows. So a split subflow is given no more than its pipe
 * delivers in the HS-path's round trip plus 300 ms, which keeps the pipe busy while the HS-path
 * is slow.
 *
 * While the kernel processes an acknowledgment it may ask for a decision after TCP has taken the
 * acknowledgment and before MPTCP has taken the DATA_ACK in it. What came just then looks as if it
 * were banked, so nothing is found by such a look (msk_look's @behind).
 *
 * Called with the msk owned, or with its data lock held and no owner.
 */
#include <linux/time64.h>

#include "pams.h"

#define SPLIT_MARK_SHIFT	14
#define SPLIT_MARK_UNIT		BIT(SPLIT_MARK_SHIFT)
#define SPLIT_MARKS		BIT(11)	/* number of values of a subflow's split_mark */
#define SPLIT_MARK_MAX_BYTES	(SPLIT_MARK_UNIT * (SPLIT_MARKS / 2 - 1))
/* open on a reported path, before a log of it is worth its time and memory */
#define SPLIT_OPEN_BYTES	65536
/* What a pipe is given ahead stays banked while the path to the server is slow. */
#define SPLIT_AHEAD_US		(300 * USEC_PER_MSEC)
/* A first missing byte that is banked is sent again after this time without any DATA_ACK, or more
 * (head_limit_us()).
 */
#define SPLIT_HEAD_MIN_US	(200 * USEC_PER_MSEC)

/* A TCP sequence number in units of 16 KB. Such marks wrap after 32 MB, so they are compared only
 * while less than half of that is outstanding.
 */
static u16 mark_of(u32 seq)
{
	return (seq >> SPLIT_MARK_SHIFT) % SPLIT_MARKS;
}

static void set_marks(struct pams_conn *conn, const struct msk_look *look,
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

/* Has every TCP acknowledged up to its mark, while much before the connection's mark has no
 * DATA_ACK?
 */
static bool mark_says_bank(const struct pams_conn *conn, const struct msk_look *look,
			   const struct pams_view *view)
{
	unsigned int i;

	if ((s32)(conn->split_mark - (u32)look->snd_una) < (s32)BANK_SPLIT_BYTES)
		return false;
	for (i = 0; i < look->nr; i++) {
		const struct tcp_sock *tp = tcp_sk(look->ssk[i]);
		u32 snd_una = READ_ONCE(tp->snd_una);
		u16 ahead = mark_of(snd_una) - pams_subflow_of(view->sub[i])->split_mark;

		if (READ_ONCE(tp->write_seq) - snd_una >= SPLIT_MARK_MAX_BYTES)
			return false;
		/* is the mark still ahead? */
		if (ahead & (SPLIT_MARKS / 2))
			return false;
	}
	return true;
}

/* Has TCP acknowledged much data that has no DATA_ACK? Either the receiver waits for a slower
 * subflow, or a helper holds the data: the log will show which.
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

/* Set @conn's @banks if a helper seems to hold data: then pams_split_look() begins the log. */
void pams_split_find(struct pams_conn *conn, const struct msk_look *look,
		     const struct pams_view *view)
{
	if (look->behind || !look->several || look->nr < 2 || look->fallback)
		return;
	if (conn->split_nr != look->nr ||
	    (s32)(conn->split_mark - (u32)look->snd_una) <= 0) {
		set_marks(conn, look, view);
		return;
	}
	if ((conn->reported && much_is_open(look)) || mark_says_bank(conn, look, view))
		conn->banks = true;
}

static void model_keep_bank(struct pams_model *model, u32 banked, u32 rate)
{
	u64 most = div_u64((u64)rate * (model->rtt_us + SPLIT_AHEAD_US), USEC_PER_SEC);
	u64 held = (u64)banked + model->flight_bytes + model->backlog_bytes;

	model->room_bytes = min_t(u64, model->room_bytes, most > held ? most - held : 0);
	model->idle &= model->room_bytes > 0;
}

/* Put a bank into the subflow's model, combined with a pipe that was reported. */
static void model_set_bank(struct pams_subflow *sub, const struct bank_path *path)
{
	struct pams_model *model = &sub->model;
	bool told = model->pipe_byteps && model->split;
	u32 rate = told ? model->pipe_byteps : path->rate_byteps;
	u32 passed, backlog;

	if (!rate)
		return;
	passed = min_t(u64, div_u64((u64)rate * (model->rtt_us / 2), USEC_PER_SEC), U32_MAX);
	backlog = path->banked_bytes - min(path->banked_bytes, passed);
	model->pipe_backlog_bytes = told ? max(model->pipe_backlog_bytes, backlog) : backlog;
	model->pipe_byteps = rate;
	model->split = true;
	model->th_byteps = min_t(u64, model->th_byteps, rate);
	model_keep_bank(model, path->banked_bytes, rate);
	if (path->banked_bytes > path->spent_bytes) {
		model->outstanding = true;
		model->moving = true;
	}
	sub->pad_of_bytes = 0;
	pams_learn_anew(sub);
}

/**
 * pams_split_look - put the data that helpers hold into the models of a view
 * @conn:	the connection; its log is begun if it has none
 * @look:	the look that @view was made from
 * @view:	complete but for banks and PADs
 */
void pams_split_look(struct pams_conn *conn, const struct msk_look *look,
		     struct pams_view *view)
{
	struct bank_seen seen[PAMS_SUBFLOWS_MAX] __uninitialized;
	unsigned int i;

	if (!conn->bank) {
		conn->banks = pams_conn_open_bank(conn);
		if (conn->banks)
			bank_begin(conn->bank, look->snd_nxt, look->snd_una,
				   (u32)tcp_clock_us());
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
	bank_look(conn->bank, seen, look->nr, look->snd_nxt, look->snd_una, look->behind,
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
 * pams_split_once_bytes - how much of a helper's bank wasn't sent again elsewhere yet
 * @conn:	the connection
 * @id:		the subflow
 */
u32 pams_split_once_bytes(const struct pams_conn *conn, u32 id)
{
	const struct bank_path *path = split_path(conn, id);

	return path ? bank_once_bytes(conn->bank, path) : 0;
}

/**
 * pams_split_sent_again - note that the range in @resend is sent again
 * @conn:	the connection
 */
void pams_split_sent_again(struct pams_conn *conn)
{
	if (conn->bank)
		bank_sent_again(conn->bank, conn->resend.start,
				conn->resend.end - conn->resend.start);
}

/**
 * pams_split_resend - have the end of a helper's bank sent again elsewhere
 * @conn:	the connection, owned in process context, nothing pending again
 * @look:	a look at the connection
 * @ssk:	the subflow
 * @max_bytes:	the most to send again
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
					   max_bytes, false, &conn->resend);

		if (done) {
			pams_split_sent_again(conn);
			return done;
		}
		bank_sent_again(conn->bank, start, bytes);
	}
	return 0;
}

/* How long the receiver may wait for a first missing byte that is banked: SPLIT_HEAD_MIN_US plus
 * the time that the pipe takes for four packets, but at most twice SPLIT_HEAD_MIN_US.
 */
static u32 head_limit_us(const struct bank_path *path)
{
	u64 packets_us;

	if (!path->rate_byteps)
		return SPLIT_HEAD_MIN_US;
	packets_us = div_u64(4ULL * PICK_PACKET_BYTES * USEC_PER_SEC, path->rate_byteps);
	return SPLIT_HEAD_MIN_US + min_t(u64, packets_us, SPLIT_HEAD_MIN_US);
}

/* The split subflow whose bank holds the first missing byte, or NULL. */
static const struct bank_path *head_path(const struct pams_conn *conn)
{
	const struct bank_path *path;

	if (!conn->bank || conn->bank->head < 0)
		return NULL;
	path = &conn->bank->path[conn->bank->head];
	return path->split ? path : NULL;
}

/**
 * pams_split_is_dead - does the pipe deliver nothing more of a subflow's bank?
 * @conn:	the connection
 * @id:		the subflow
 *
 * Return: true if the bank holds the byte that the receiver waits for, and the receiver has
 * waited for head_limit_us().
 */
bool pams_split_is_dead(const struct pams_conn *conn, u32 id)
{
	const struct bank_path *path = head_path(conn);

	return path && path->id == id &&
	       bank_head_us(conn->bank, (u32)tcp_clock_us()) >= head_limit_us(path);
}

/**
 * pams_split_lost_left - would a subflow's bank have to be sent again if its path were lost?
 * @conn:	the connection
 * @id:		the subflow
 */
bool pams_split_lost_left(const struct pams_conn *conn, u32 id)
{
	u32 start, bytes;

	return conn->bank && bank_next_lost(conn->bank, id, &start, &bytes);
}

/**
 * pams_split_resend_lost - have the bank before a dead pipe sent again elsewhere
 * @conn:	the connection, owned in process context, nothing pending again
 * @look:	a look at the connection
 * @ssk:	the subflow
 *
 * Each call takes a range within one fragment, the oldest first.
 *
 * Return: bytes that will be sent again; 0 if there are none.
 */
u32 pams_split_resend_lost(struct pams_conn *conn, const struct msk_look *look,
			   struct sock *ssk)
{
	u32 id = msk_subflow_id(ssk), start, bytes, done;

	while (conn->bank && bank_next_lost(conn->bank, id, &start, &bytes)) {
		u64 first = look->snd_una + (s32)(start - (u32)look->snd_una);

		done = msk_resend_data(conn->msk, ssk, first, first + bytes, U64_MAX, true,
				       &conn->resend);
		bank_lost_sent(conn->bank, id, done ?: bytes);
		if (done)
			return done;
	}
	return 0;
}

/**
 * pams_split_head_wait_us - how long to wait for a first missing byte that is banked
 * @conn:	the connection
 * @id:		set to the subflow whose bank holds it, or 0
 *
 * The pipe delivers this byte next. If it were sent again over the same subflow, it would
 * arrive behind all that is banked.
 *
 * Return: microseconds; 0 if the byte isn't banked, or is overdue.
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
