// SPDX-License-Identifier: GPL-2.0
/* At load: is the running kernel what this module was built for? */
#include "msk_private.h"

/* bits of snd_burst that push_bit_is_right() uses */
#define PROBE_SEND	BIT(0)
#define PROBE_RETRANS	BIT(1)

static int check_size(struct socket *sock)
{
	unsigned int size = sock->sk->sk_prot->obj_size;

	if (size == PAMS_SIZEOF_MPTCP_SOCK)
		return 0;
	pr_err("mptcp_pams: built for struct mptcp_sock of %u bytes (kernel %s), this kernel's has %u: build the module for the running kernel\n",
	       PAMS_SIZEOF_MPTCP_SOCK, PAMS_LAYOUT_RELEASE, size);
	return -ENOEXEC;
}

/* Does the kernel report a fallback once MSK_FLAG_FALLBACK_DONE is set, and only then? */
static bool fallback_bit_is_right(struct mptcp_sock *msk)
{
	struct mptcp_info before, after;

	mptcp_diag_fill_info(msk, &before);
	set_bit(ilog2(MSK_FLAG_FALLBACK_DONE), &msk->flags);
	mptcp_diag_fill_info(msk, &after);
	clear_bit(ilog2(MSK_FLAG_FALLBACK_DONE), &msk->flags);
	return !(before.mptcpi_flags & MPTCP_INFO_FLAG_FALLBACK) &&
	       after.mptcpi_flags & MPTCP_INFO_FLAG_FALLBACK;
}

/* probe_sched is a scheduler that notes in snd_burst what the kernel asks it for. */
static int probe_send(struct mptcp_sock *msk)
{
	msk->snd_burst |= PROBE_SEND;
	return -EAGAIN;
}

static int probe_retrans(struct mptcp_sock *msk)
{
	msk->snd_burst |= PROBE_RETRANS;
	return -EAGAIN;
}

#ifdef PAMS_HAVE_GET_SUBFLOW
static int probe_get_subflow(struct mptcp_sock *msk, struct mptcp_sched_data *data)
{
	return data->reinject ? probe_retrans(msk) : probe_send(msk);
}

static struct mptcp_sched_ops probe_sched = {
	.get_subflow	= probe_get_subflow,
};
#else
static struct mptcp_sched_ops probe_sched = {
	.get_send	= probe_send,
	.get_retrans	= probe_retrans,
};
#endif

/* Does MSK_CB_PUSH_PENDING make the kernel push when the socket is released? The kernel then
 * clears each bit that it knows, and does what the bit is for. A push with data pending asks the
 * scheduler for a decision. The bit for a retransmission leads to a push, too, but the scheduler
 * is asked for the retransmission's subflow first.
 */
static bool push_bit_is_right(struct mptcp_sock *msk)
{
	struct sock *sk = (struct sock *)msk;
	struct mptcp_sched_ops *sched;
	struct mptcp_data_frag dfrag = {};

	lock_sock(sk);
	sched = msk->sched;
	msk->sched = &probe_sched;
	msk->first_pending = &dfrag;
	msk->snd_burst = 0;
	msk_push(msk);
	release_sock(sk);

	msk->first_pending = NULL;
	msk->sched = sched;
	return msk->snd_burst == PROBE_SEND &&
	       !(READ_ONCE(msk->cb_flags) & MSK_CB_PUSH_PENDING);
}

/* Does the first subflow have the values that the kernel writes into a new one? The kernel makes
 * the first subflow when a socket option is set that only a subflow takes. The pointer to its TCP
 * socket lies behind all other fields that the module uses, so it is wrong if a field before it
 * was added or removed.
 */
static int check_subflow(struct socket *sock)
{
	struct mptcp_sock *msk = (struct mptcp_sock *)sock->sk;
	const struct mptcp_subflow_context *subflow;
	int seconds = 0;

	sock->ops->setsockopt(sock, SOL_TCP, TCP_DEFER_ACCEPT, KERNEL_SOCKPTR(&seconds),
			      sizeof(seconds));
	subflow = list_first_entry_or_null(&msk->conn_list, struct mptcp_subflow_context, node);
	if (subflow && subflow->tcp_sock && subflow->tcp_sock == msk->first &&
	    subflow->subflow_id == PAMS_FIRST_SUBFLOW)
		return 0;
	pr_err("mptcp_pams: built for another struct mptcp_subflow_context (kernel %s): build the module for the running kernel\n",
	       PAMS_LAYOUT_RELEASE);
	return -ENOEXEC;
}

/**
 * msk_check - is the running kernel what this module was built for?
 * @sock:	an MPTCP socket that was just made
 *
 * vermagic does not cover MPTCP's private structures, nor bits that are macros.
 *
 * Return: 0, or -ENOEXEC after a line in the log.
 */
int msk_check(struct socket *sock)
{
	struct mptcp_sock *msk = (struct mptcp_sock *)sock->sk;
	int err = check_size(sock);

	if (err)
		return err;
	if (!fallback_bit_is_right(msk) || !push_bit_is_right(msk)) {
		pr_err("mptcp_pams: bits of MPTCP's flags or cb_flags have another meaning in this kernel: please report it\n");
		return -ENOEXEC;
	}
	return check_subflow(sock);
}
