#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Subflows that seem silent: a false alarm ends, and what is known of one subflow is not mixed with what is known of another.
#
#	client                                    server
#	         c1 ---- 20 Mbit/s  20 ms ---- s1
#	         c2 ---- 20 Mbit/s 800 ms ---- s2   10.0.0.2
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

near_ms=20
rate_byteps=200000
use_limit_ms=2000

# hold_acks MS: what the client sends on path 1 during the next MS arrives at their end, all at once
hold_acks()
{
	tc -n "$client" qdisc change dev c1 root netem delay $((near_ms + $1))ms limit 1000
	sleep "$(printf '0.%03d' "$1")"
	tc -n "$client" qdisc change dev c1 root netem delay "${near_ms}ms" limit 1000
}

# Acknowledgments of path 1 are late: the server takes the path for dead, and they arrive in the very jiffy of that alarm. Before
# use_limit_ms the path has to carry the stream again. Ten times, each a millisecond later within a jiffy.
late_acks()
{
	local before phase_ms late_ms=$2

	paths "$1" "20mbit,${near_ms}ms" 20mbit,800ms,500
	# without a rate netem lets packets with a shorter delay overtake, so a held acknowledgment delays no later one
	tc -n "$client" qdisc del dev c1 root
	tc -n "$client" qdisc add dev c1 root netem delay "${near_ms}ms" limit 1000
	start_server
	# 800 ms of small packets out of order take more memory than the kernel gives a new connection
	transfer --bytes $((20 * rate_byteps)) --rate "$rate_byteps" --rcvbuf 8000000 &
	sleep 4
	for phase_ms in 1 2 3 4 5 6 7 8 9 10; do
		hold_acks "$late_ms"
		sleep "$(printf '0.%03d' $((1000 - late_ms + phase_ms)))"
	done
	sleep $((use_limit_ms / 1000 - 1))
	before=$(sent "$server" 1)
	sleep 1
	check "bytes on path 1 in 1 s, ${use_limit_ms} ms after its acknowledgments were ${late_ms} ms late" \
		"$(sent "$server" 1) - $before" ">" $((rate_byteps / 2))
	wait $! || fail "the transfer did not survive"
}

# collapse FLAPS: a request, then the second path goes and comes back FLAPS times, then a request whose second path collapses to
# a fifth of its rate. Leaves us and bytes.
collapse()
{
	local flaps=$2 before i

	paths "$1" 5mbit,25ms 5mbit,25ms
	start_server
	transfer --bytes 4M --requests 2 --gap 20000 --timeout 60000 &
	within 200 has_finished || fail "the first transfer does not end"
	for i in $(seq "$flaps"); do
		ip -n "$client" mptcp endpoint del id 2
		within 50 has_subflows 1 || fail "the subflow stays"
		ip -n "$client" mptcp endpoint add 10.0.2.1 dev c2 id 2 subflow
		within 50 has_subflows 2 || fail "the subflow does not come back"
	done
	on_server "$pamsctl" --json conn show | tr -d ' \n' >"$work/conn"
	ids=$(grep -o '"id":[0-9]*' "$work/conn" | cut -d: -f2 | tr '\n' ' ')
	before=$(reinjected)
	on_server ip -s link >/dev/null
	base=$(sent "$server" 2)
	within 300 has_sent 2 "$((base + 100000))" || fail "path 2 carries nothing"
	sleep 1.5
	reshape 2 1mbit,25ms
	wait $! || fail "the transfer did not survive"
	bytes=$(($(reinjected) - before))
	us=$(of fct_us | tail -n 1)
	say "subflows $ids: $us us, $bytes bytes reinjected"
	stop_server
	remove_paths
}
has_finished() { [ "$(wc -l <"$work/json")" -ge 1 ]; }
has_subflows() { [ "$(subflows)" = "$1" ]; }
has_sent() { [ "$(sent "$server" "$1")" -gt "$2" ]; }
reinjected() { on_server "$pamsctl" --json stats >"$work/stats"; of reinjected_bytes "$work/stats"; }

# Subflow ids only grow. After 15 re-joins the second path's is 17, and 1 is still there: a table of 16 places that takes an id's
# remainder for its place has both in one.
ids_wrap()
{
	local fresh_us fresh_bytes

	need_module
	need_tool "$pamsctl"
	collapse "$1" 0
	fresh_us=$us fresh_bytes=$bytes
	collapse "$1" 15
	[[ " $ids" == " 1 17 " ]] || fail "the subflows have other ids: $ids"
	check "time, in us" "$us" "<" "$fresh_us * 108 / 100"
	check "bytes reinjected" "$bytes" "<" "$fresh_bytes * 2 + 30000"
	check "bytes reinjected" "$bytes" ">" "$fresh_bytes / 3 - 30000"
}

# stops: how often the server took a subflow for lost
stops() { on_server "$pamsctl" --json stats >"$work/stats"; of stops "$work/stats"; }
stopped_again() { [ "$(stops)" -gt "$alarms" ]; }

# Three false alarms each double the time that path 1 may be quiet. After two minutes without one a path that dies is noticed as soon
# as it was at first.
alarms_decay()
{
	local i start alarms

	need_module
	need_tool "$pamsctl"
	paths "$1" "20mbit,${near_ms}ms" 20mbit,800ms,500
	tc -n "$client" qdisc del dev c1 root
	tc -n "$client" qdisc add dev c1 root netem delay "${near_ms}ms" limit 1000
	start_server
	transfer --bytes $((150 * rate_byteps)) --rate "$rate_byteps" --rcvbuf 8000000 --timeout 200000 &
	sleep 4
	for i in 150 350 700 900; do
		hold_acks "$i"
		sleep 2
	done
	sleep "${ALARM_PAUSE_S:-120}"
	alarms=$(stops)
	check "false alarms" "$alarms" ">=" 3
	start=$(now_ms)
	tc -n "$client" qdisc change dev c1 root netem delay "${near_ms}ms" limit 1000 loss 100%
	tc -n "$server" qdisc change dev s1 root netem rate 20mbit delay "${near_ms}ms" limit 1000 loss 100%
	within 100 stopped_again || fail "path 1 is used for ever"
	check "time until path 1 was taken for dead, ms" "$(now_ms) - $start" "<" 350
}

for sched in $SCHEDS; do
	for ms in 115 118 121; do
		add late_acks "$sched" $ms
	done
	[[ $sched != pams && $sched != minfct ]] || add ids_wrap "$sched"
	[ "$sched" != pams ] || add alarms_decay "$sched"
done
run_cases "$@"
