#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Live video over modems with deep queues whose rates change all the time.
#
#	client                                     server
#	         c1 ---- netem both ways ---- s1
#	         ..                           ..   10.0.0.2
#	         c4 ---- netem both ways ---- s4
#
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

delays=(25ms 35ms 45ms 55ms)
queue=400	# packets: 16 s at 300 kbit/s
stream_byteps=750000
step_s=1.5

# Mbit/s of the four, one line each step_s. All together carry 1.3 times the stream at least: the worst is 8 Mbit/s.
rates="4 4 4 4
6 1 2 1
0.3 6 3 2
2 0.3 6 0.6
6 0.6 0.3 4
0.3 2 6 0.6
3 6 0.3 1
0.6 0.3 4 6
6 3 0.3 0.6
0.3 4 3 2
6 0.6 0.6 2
1 0.3 6 4
4 3 0.6 0.3
0.3 6 0.3 4
6 0.3 2 1
0.6 4 6 0.3"

# vary: the paths have these rates, one after the other; the last ones stay
vary()
{
	local line number rate

	while read -ra line; do
		for number in "${!line[@]}"; do
			rate=${line[number]}mbit
			reshape $((number + 1)) "$rate,${delays[number]},$queue"
		done
		sleep "$step_s"
	done <<<"$rates"
}

# The rates are enough at any time, so nothing has to be late but what a path held when it became slow. A path stays slow
# for two steps at most, 3 s; pams, which leaves more in queues than minfct, needs up to that and a bit.
video_over_modems()
{
	local options=()

	for number in 0 1 2 3; do
		options+=("4mbit,${delays[number]},$queue")
	done
	paths "$1" "${options[@]}"
	start_server
	transfer --bytes $((24 * stream_byteps)) --rate "$stream_byteps" --timeout 100000 &
	vary
	wait $! || fail "the transfer did not survive"
	check "latest byte, us" "$(of late_us)" "<=" "$2"
}

[[ " $SCHEDS " != *" minfct "* ]] || add video_over_modems minfct 1500000
[[ " $SCHEDS " != *" pams "* ]] || add video_over_modems pams 3500000
run_cases "$@"
