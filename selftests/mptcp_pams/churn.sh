#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Disorder: the module, namespaces and connections come and go many times, under traffic; run_tests.sh looks for reports of the kernel.
#
#	client                                     server
#	         c1 ---- 20 Mbit/s  5 ms ---- s1
#	         c2 ---- 20 Mbit/s 15 ms ---- s2   10.0.0.2
#
# Environment:
#	RELOADS		of the module (20; for a long run 1000)
#	NETNS_CHURN	namespaces with connections in them (20; 200)
#	CONNECTS	connections over one socket (500; 10000)
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

: "${RELOADS:=20}" "${NETNS_CHURN:=20}" "${CONNECTS:=500}"
# what a kernel without CONFIG_DEBUG_KMEMLEAK lacks
kmemleak=/sys/kernel/debug/kmemleak

two_paths() { paths "$1" 20mbit,5ms 20mbit,15ms; }

# no_leaks: scan twice, since what was freed lately may still be referred to
no_leaks()
{
	[ -e "$kmemleak" ] || { say "no kmemleak in this kernel"; return 0; }
	sleep 6		# younger objects aren't told
	echo scan >"$kmemleak"
	sleep 6
	echo scan >"$kmemleak"
	grep -B3 -A20 mptcp_pams "$kmemleak" >"$work/leaks" || return 0
	cat "$work/leaks"
	echo clear >"$kmemleak"
	fail "memory leaked"
}

# Wait 3 ms, without a program for it, as no_users() does.
nap() { read -r -t 0.003 -u "$silent" || [ $? -gt 128 ]; }

# While short connections come and go all the time the module is taken out whenever nothing uses it, and put back at once; those that
# are made meanwhile use the kernel's own scheduler. Only the client's end has ours: a listener would keep it.
reload_under_traffic()
{
	local i tries=0 silent

	need_module
	exec {silent}<> <(:)
	unused		# sockets of the cases before would hold the module
	two_paths default
	on_client sysctl -qw net.mptcp.scheduler="$1"
	start_server
	ip netns exec "$client" "$xfer" client --quiet --cold --conns 2 --requests 1000000 --gap 5-100 --bytes 1-40K --dir both --timeout 60000 \
		"$address" "$port" &
	local traffic=$!
	for i in $(seq "${2%-*}" "${2#*-}"); do
		# each time while a connection has our scheduler
		until ! no_users; do nap; done
		tries=0
		until no_users && rmmod mptcp_pams 2>/dev/null; do
			tries=$((tries + 1))
			[ "$tries" -lt 20000 ] || fail "reload $i: the module is always in use"
			nap
		done
		load || fail "reload $i: the module does not load"
		kill -0 "$traffic" || fail "reload $i: the traffic ended"
	done
	kill "$traffic"
	wait "$traffic" || [ $? = 143 ]
	transfer --bytes 200000
	no_leaks
}

# A path's report expires while the module goes.
unload_while_reports_expire()
{
	local i

	need_module
	need_tool "$pamsctl"
	unused		# sockets of the cases before would hold the module
	for i in $(seq "${1%-*}" "${1#*-}"); do
		"$pamsctl" path set 192.0.2.1 pipe-rate 5mbit ttl 10ms
		"$pamsctl" path set 192.0.2.2 pipe-rate 5mbit ttl $((1 + i % 20))ms
		sleep "0.0$((i % 3))"
		rmmod mptcp_pams
		load
	done
	no_leaks
}

# Namespaces go with connections and reports in them.
netns_churn()
{
	local i

	need_module
	need_tool "$pamsctl"
	for i in $(seq "${2%-*}" "${2#*-}"); do
		two_paths "$1"
		start_server
		ip netns exec "$client" "$xfer" client --quiet --bytes 5M --conns 2 "$address" "$port" 2>/dev/null &
		on_server "$pamsctl" path set 10.0.1.1 pipe-rate 5mbit loss-time "$((i % 3))s" ttl 1s
		sleep "0.$((100 + i * 7 % 200))"
		kill -9 $! "$server_pid"
		ip netns del "$client"
		ip netns del "$server"
		wait $! || [ $? = 137 ]
		wait "$server_pid" || [ $? = 137 ]
	done
	unload
	load
	no_leaks
}

# One socket, connected and disconnected again and again: half of the downloads are given up in the middle, uploads end.
reconnects()
{
	two_paths "$1"
	start_server
	on_client "$XFER_DIR/reconnect" "$address" "$port" "$(((${2#*-} - ${2%-*} + 1) / 2))" 20000
	on_client "$XFER_DIR/reconnect" "$address" "$port" "$(((${2#*-} - ${2%-*} + 1) / 2))" 20000 up
	transfer --bytes 200000
	stop_server
	[ "$1" = default ] || unload
	[ "$1" = default ] || load
	no_leaks
}

# Connections go while their counts are summed up: none is left out. Forty at a time end as one.
totals_never_fall()
{
	local i now before=0

	need_module
	need_tool "$pamsctl"
	two_paths "$1"
	start_server
	for i in {1..3}; do
		ip netns exec "$client" "$xfer" client --quiet --conns 40 --bytes 100K --seed "$i" "$address" "$port" &
		while kill -0 $! 2>/dev/null; do
			on_server "$pamsctl" --json stats >"$work/stats"
			now=$(of decisions "$work/stats")
			[ "$now" -ge "$before" ] || fail "$now decisions after $before"
			before=$now
			sleep 0.1	# in virtual time nothing else takes any
		done
		wait $! || fail "the transfers failed"
	done
	check "decisions" "$now" ">" 1000
}

# While connections come, transfer and go, both ends are asked for all that they show and told all that they may be told.
asked_and_told()
{
	local ns monitors=() traffic i conns=0

	need_module
	need_tool "$pamsctl"
	two_paths "$1"
	start_server --unit
	for ns in "$client" "$server"; do
		ip netns exec "$ns" "$pamsctl" monitor --timeout 10min >/dev/null &
		monitors+=($!)
	done
	ip netns exec "$client" "$xfer" client --quiet --cold --unit --conns 4 --requests 1000000 --bytes 30-300K --dir both --timeout 60000 \
		"$address" "$port" &
	traffic=$!
	for ((i = 1; i <= 200 && (i <= 8 || conns <= 5); i++)); do
		kill -0 "$traffic" || fail "the traffic ended"
		for ns in "$client" "$server"; do
			in_ns "$ns" "$pamsctl" --json conn show >"$work/conns"
			conns=$((conns + $(of token "$work/conns" | wc -l)))
			in_ns "$ns" "$pamsctl" --json path show >"$work/paths"
			in_ns "$ns" "$pamsctl" --json stats >"$work/stats"
			in_ns "$ns" "$pamsctl" path set "10.0.$((1 + i % 2)).1" pipe-rate "$((1 + i % 20))mbit" delay "$((i % 7))ms" \
				cost $((i % 3 / 2)) loss-time "$((i % 5 * 20))ms" ttl 100ms
			in_ns "$ns" sysctl -qw net.mptcp_pams.overflow_ms=$((i % 2 * 50))
			in_ns "$ns" "$pamsctl" rule add remote 1-65535 use pams
			in_ns "$ns" "$pamsctl" rule del all
		done
		sleep 0.05	# in virtual time nothing else takes any
	done
	kill "${monitors[@]}" "$traffic"
	wait "$traffic" || [ $? = 143 ]
	check "connections shown" "$conns" ">" 5
	transfer --bytes 200000
	no_leaks
}

# parts CASE COUNT MOST [ARGUMENT...]: cases of at most MOST times each, so that a long run is seen to get on
parts()
{
	local from

	for ((from = 1; from <= $2; from += $3)); do
		add "$1" "${@:4}" "$from-$((from + $3 - 1 < $2 ? from + $3 - 1 : $2))"
	done
}

[ "$SCHEDS" = default ] || parts unload_while_reports_expire "$RELOADS" 50
for sched in $SCHEDS; do
	[ "$sched" = default ] || parts reload_under_traffic "$RELOADS" 50 "$sched"
	[ "$sched" = default ] || parts netns_churn "$NETNS_CHURN" 20 "$sched"
	parts reconnects "$CONNECTS" 1000 "$sched"
	[ "$sched" = default ] || add totals_never_fall "$sched"
	[ "$sched" = default ] || add asked_and_told "$sched"
done
run_cases "$@"
