/* SPDX-License-Identifier: GPL-2.0 */
/* Reads a subflow's TCP without the subflow's lock. On another CPU an acknowledgment may be
 * changing one count after the other meanwhile. So each count is read once, and a
 * difference between counts is never below 0.
 */
#ifndef _MPTCP_PAMS_PEEK_H
#define _MPTCP_PAMS_PEEK_H

#include <net/tcp.h>

/* tcp_packets_in_flight() */
static inline u32 peek_in_flight(const struct tcp_sock *tp)
{
	u32 sent = READ_ONCE(tp->packets_out) + READ_ONCE(tp->retrans_out);
	u32 left = READ_ONCE(tp->sacked_out) + READ_ONCE(tp->lost_out);

	return sent > left ? sent - left : 0;
}

/* tcp_min_rtt() */
static inline u32 peek_min_rtt_us(const struct tcp_sock *tp)
{
	return READ_ONCE(tp->rtt_min.s[0].v);
}

/* The one-way delay of a round trip of @rtt_us: all of its queueing, which is what it
 * takes longer than the least round trip, is in the direction of the data; without queueing
 * each direction takes half.
 */
static inline u32 peek_owd_us(const struct tcp_sock *tp, u32 rtt_us)
{
	return rtt_us - min(peek_min_rtt_us(tp), rtt_us) / 2;
}

/* Is the subflow recovering since its retransmission timer fired? */
static inline bool peek_in_loss(const struct sock *ssk)
{
	/* READ_ONCE() can't read a bit field; a value from a moment ago is right, too */
	return data_race(inet_csk(ssk)->icsk_ca_state >= TCP_CA_Loss);
}

/* Does data wait that TCP couldn't send for want of a route, since the interface is down or has
 * lost the address? No packet is under way then, so neither an acknowledgment nor a timeout shows
 * it. While TCP is sending, this may be true for a moment.
 */
static inline bool peek_is_cut_off(const struct sock *ssk)
{
	const struct tcp_sock *tp = tcp_sk(ssk);

	return !READ_ONCE(tp->packets_out) &&
	       READ_ONCE(tp->snd_nxt) != READ_ONCE(tp->write_seq) &&
	       !rcu_access_pointer(ssk->sk_dst_cache);
}

/* Has the subflow's retransmission timer backed off? */
static inline bool peek_has_backed_off(const struct sock *ssk)
{
	/* a value from a moment ago is right, too */
	return READ_ONCE(tcp_sk(ssk)->packets_out) && data_race(inet_csk(ssk)->icsk_backoff);
}

/* Has an acknowledgment arrived since TCP sent last, which acknowledged nothing but told of an
 * open window? It didn't shorten the timer, which still runs for its backed-off time.
 */
static inline bool peek_is_let_in(const struct sock *ssk)
{
	const struct tcp_sock *tp = tcp_sk(ssk);

	return peek_has_backed_off(ssk) && READ_ONCE(tp->snd_wnd) &&
	       (s32)(READ_ONCE(tp->rcv_tstamp) - READ_ONCE(tp->lsndtime)) > 0;
}

/* The peer's address; an IPv4 address as IPv6 maps it. */
static inline void peek_peer(const struct sock *sk, struct in6_addr *peer)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6) {
		*peer = sk->sk_v6_daddr;
		return;
	}
#endif
	ipv6_addr_set_v4mapped(sk->sk_daddr, peer);
}

#endif /* _MPTCP_PAMS_PEEK_H */
