#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The schedulers that keep to a policy: single, everything on one path; redundant, everything on two.
#
#	client                                     server
#	         c1 ---- netem both ways ---- s1
#	         c2 ---- netem both ways ---- s2   10.0.0.2
#
# Each case says what its paths are like.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# handshakes and bare acknowledgments stay well below
nothing=20000
stream_byteps=2000000		# 16 Mbit/s
gap_us=200000 gap_told_us=50000

blackhole() { reshape "$1" "$2,1000,loss,100%"; }

# --- single ---

# Both directions, with a queue of a second before path 1, which the connection fills itself.
single_keeps_to_one()
{
	paths single 10mbit,10ms,1000 10mbit,30ms
	start_server
	transfer --bytes 5M
	transfer --bytes 2M --dir up
	check "bytes on path 2" "$(sent "$server" 2) + $(sent "$client" 2)" "<" "$nothing"
}

# moves DELAY DELAY: a stream of 6 s; leaves what path 2 has carried of its last 3 s
moves()
{
	local before

	paths single "20mbit,$1,1000" "20mbit,$2,1000"
	start_server
	transfer --bytes $((6 * stream_byteps)) --rate "$stream_byteps" &
	sleep 3
	before=$(sent "$server" 2)
	wait $! || fail "the transfer did not survive"
	bytes=$(($(sent "$server" 2) - before))
}

single_moves_to_the_better_one()
{
	moves 40ms 10ms
	check "bytes on path 2 in the last 3 s" "$bytes" ">" "3 * $stream_byteps"
}

# A path that answers a fifth sooner isn't worth a change.
single_stays()
{
	moves 40ms 32ms
	check "bytes on path 2 in the last 3 s" "$bytes" "<" "$nothing"
}

# stream_loses SCHED PATH DELAY NOTICE_MS: a stream of 7 s over two paths of 20 Mbit/s, one way 10 ms on the one that dies after 4 s,
# for good, and DELAY on the other; the server is told that much later, or never ("-"). By then single has moved to the path that
# answers soonest. Leaves the longest gap.
stream_loses()
{
	local delays=("$3" "$3")

	delays[$2 - 1]=10ms
	paths "$1" "20mbit,${delays[0]},1000" "20mbit,${delays[1]},1000"
	start_server
	transfer --bytes $((7 * stream_byteps)) --rate "$stream_byteps" --timeout 30000 &
	sleep 4
	blackhole "$2" 20mbit,10ms
	if [ "$4" != - ]; then
		sleep "0.0$4"
		on_server "$pamsctl" path set "10.0.$2.1" loss-time 0 ttl 1min
	fi
	wait $! || fail "the transfer did not survive"
	gap=$(of gap_us)
}

single_loses()
{
	stream_loses single "$1" 25ms -
	check "longest gap, us" "$gap" "<=" "$gap_us"
}

# 10 ms of notice, and a way of 10 ms
single_is_told()
{
	need_tool "$pamsctl"
	stream_loses single "$1" 10ms 10
	check "longest gap, us" "$gap" "<=" "$gap_told_us"
}

# What is silent for a while is left, and not taken again just because it answers.
single_has_both_die_for_a_while()
{
	paths single 10mbit,10ms 10mbit,20ms
	start_server
	transfer --bytes 1500K --timeout 30000 &
	sleep 0.5
	blackhole 1 10mbit,10ms
	blackhole 2 10mbit,20ms
	sleep 1
	reshape 1 10mbit,10ms
	reshape 2 10mbit,20ms
	wait $! || fail "the transfer did not survive"
}

# --- redundant ---

fast=20mbit,10ms,100,loss,2% slow=20mbit,20ms,100,loss,2%
answers=3000	# of which the 30 slowest are beyond the 99th percentile

# answer_times SCHED FILE PATH...: 2 KB answers, one after the other on one connection
answer_times()
{
	local sched=$1 file=$2
	shift 2

	paths "$sched" "$@"
	start_server
	transfer --bytes 2000 --requests "$answers" --gap 50
	of fct_us | sort -n >"$file"
	stop_server
	remove_paths
}

percentile() { sed -n "$(($(wc -l <"$2") * $1 / 100))p" "$2"; }

# ideal PERCENT FILE FILE: of the earlier one of two answers, each drawn from a file
ideal()
{
	awk -v percent="$1" '
		FNR == 1 { file++ }
		{ times[file, ++n[file]] = $1 }
		END {
			i = j = 0
			for (;;) {
				late = (n[1] - i) / n[1] * (n[2] - j) / n[2]
				if (late <= 1 - percent / 100)
					break
				if (j >= n[2] || (i < n[1] && times[1, i + 1] <= times[2, j + 1]))
					t = times[1, ++i]
				else
					t = times[2, ++j]
			}
			print t
		}' "$2" "$3"
}

redundant_answers()
{
	answer_times default "$work/fast" "$fast"
	answer_times default "$work/slow" "$slow"
	answer_times redundant "$work/both" "$fast" "$slow"
	say "p50 $(percentile 50 "$work/fast") and $(percentile 50 "$work/slow"), p99 $(percentile 99 "$work/fast") and $(percentile 99 "$work/slow") us alone"
	check "p50, us" "$(percentile 50 "$work/both")" "<=" "$(percentile 50 "$work/fast") + 10"
	check "p99, us" "$(percentile 99 "$work/both")" "<=" "$(ideal 99 "$work/fast" "$work/slow") + 1000"
}

# The second path is a hundredth of the first: it holds nobody, and copies what it can.
redundant_leaves_a_slow_path_behind()
{
	local alone_us

	paths default 50mbit,10ms
	start_server
	transfer --bytes 5M --requests 2
	alone_us=$(of fct_us | tail -n 1)
	stop_server
	remove_paths
	paths redundant 50mbit,10ms 500kbit,50ms
	start_server
	transfer --bytes 5M --requests 2
	check "time, us" "$(of fct_us | tail -n 1)" "<=" "$alone_us * 103 / 100"
	check "bytes on path 2" "$(sent "$server" 2)" ">" "$nothing"
}

copied() { on_server "$pamsctl" --json stats | sed -n 's/.*"reinjected_bytes": *\([0-9]*\).*/\1/p'; }

# What is copied of 2 MB: all but what the receiver has acknowledged before, or of the first bytes only.
redundant_copies_all()
{
	need_tool "$pamsctl"
	paths redundant 20mbit,10ms 20mbit,12ms
	start_server
	transfer --bytes 2M
	check "bytes copied" "$(copied)" ">" 1800000
	check "bytes copied" "$(copied)" "<=" 2000000
}

redundant_copies_the_first()
{
	need_tool "$pamsctl"
	paths redundant 20mbit,10ms 20mbit,12ms
	set_sysctl net.mptcp_pams.redundant_bytes=400000
	start_server
	transfer --bytes 2M
	# what pams sends again of the rest for being late is at most a tenth
	check "bytes copied" "$(copied)" ">" 250000
	check "bytes copied" "$(copied)" "<" "400000 + 200000"
}

# A path dies under a stream that is on both: nobody notices.
redundant_loses_one()
{
	stream_loses redundant "$1" 25ms -
	check "longest gap, us" "$gap" "<=" 100000
}

# Both paths that answers are sent on die, one of two links with two addresses of the server each: the third one goes on, though
# everything was sent twice. Of 100 answers, one after the other.
redundant_loses_both()
{
	paths redundant 20mbit,10ms 20mbit,12ms 20mbit,40ms
	start_server
	transfer --bytes 2000 --requests 100 --gap 50 --timeout 30000 &
	sleep 3
	blackhole 1 20mbit,10ms
	blackhole 2 20mbit,12ms
	wait $! || fail "the transfers did not survive"
	check "longest answer, us" "$(of fct_us | sort -n | tail -n 1)" "<" 350000
}

redundant_never_stalls()
{
	paths redundant "$fast" "$slow"
	start_server
	transfer --bytes 1-200K --cold --requests 100 --conns 10 --dir both --timeout 20000
	check "transfers intact" "$(of ok | grep -c true)" == 1000
	check "longest gap, us" "$(of gap_us | sort -n | tail -n 1)" "<" 3000000
}

[[ " $SCHEDS " != *" single "* ]] || {
	add single_keeps_to_one
	add single_moves_to_the_better_one
	add single_stays
	add single_loses 1
	add single_loses 2
	add single_is_told 1
	add single_has_both_die_for_a_while
}
[[ " $SCHEDS " != *" redundant "* ]] || {
	add redundant_answers
	add redundant_leaves_a_slow_path_behind
	add redundant_copies_all
	add redundant_copies_the_first
	add redundant_loses_one 1
	add redundant_loses_one 2
	add redundant_loses_both
	add redundant_never_stalls
}
run_cases "$@"
