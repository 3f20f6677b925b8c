#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What a scheduler does wrong when it leaves out something that the kernel expects of it. Each case names the omission.
#
#	client                             server
#	         c1 ---- A ---- s1
#	         c2 ---- B ---- s2   10.0.0.2
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# timer_ival not set: MPTCP's retransmission timer fires each jiffy, and the head of the queue is sent again on whatever path has
# nothing to do. The kernel zeroes it when all is acknowledged, and sets it itself only in a burst of several fragments; so there
# are pauses that bring the windows back to 10 segments, less than a fragment. On links without loss nothing is sent twice, but for
# what pams reinjects, which is no retransmission to the kernel's counters.
no_spurious_retransmission()
{
	paths "$1" 20mbit,20ms,500 20mbit,50ms,500
	start_server
	transfer --bytes 400000 --requests 6 --gap 900
	transfer --bytes 30000 --requests 6 --gap 900
	check "MPTCP retransmissions" "$(counter "$server" MPTcpExtMPTCPRetrans)" "<=" 3
	[ "$1" = pams ] || check "duplicates received" "$(counter "$client" MPTcpExtDuplicateData)" "<=" 3
}

# Nothing marked as scheduled although a decision says so: the kernel asks again, for ever.
decisions_end()
{
	paths "$1" 20mbit,10ms 10mbit,30ms
	start_server
	transfer --bytes 300000 --requests 2 --dir both
}

# get_retrans left out: what a dead path holds is never sent again elsewhere. pams reinjects it before the kernel has to.
retransmits_elsewhere()
{
	paths "$1" 10mbit,10ms 10mbit,20ms
	start_server
	transfer --bytes 1500K --timeout 20000 &
	within 50 has_sent 2 100000
	reshape 2 10mbit,20ms,100,loss,100%
	wait $! || fail "nothing took over what path 2 held"
	[ "$1" = pams ] || check "MPTCP retransmissions" "$(counter "$server" MPTcpExtMPTCPRetrans)" ">" 0
}
has_sent() { [ "$(sent "$server" "$1")" -gt "$2" ]; }

# Waiting for a path that has nothing in flight: nothing wakes the connection. Small transfers over paths of very different
# delay wait most. Each takes at most the slow path's round trip (400 ms) and as much again for slow start and tails.
waiting_ends()
{
	paths "$1" 20mbit,2ms 2mbit,200ms
	start_server
	transfer --bytes 1-100K --requests 60 --dir both --timeout 10000
	check "the longest, in us" "$(of fct_us | sort -n | tail -n1)" "<" 1500000
}

# A path that died is the faster one by all that is known of it, and it is busy; but nothing comes back from it. Once it is known
# to be stuck, requests go by the other path as if that were alone.
dead_path_is_not_waited_for()
{
	local alone_us slow=20mbit,100ms

	paths "$1" "$slow"
	start_server
	transfer --bytes 60000 --requests 12 --gap 300
	alone_us=$(of fct_us | tail -n 8 | sum)
	stop_server
	remove_paths

	paths "$1" 20mbit,5ms "$slow"
	start_server
	transfer --bytes 60000 --requests 20 --gap 300 --timeout 20000 &
	sleep 1.5
	reshape 1 20mbit,5ms,100,loss,100%
	wait $!
	check "time by that over the other path alone" "$(of fct_us | tail -n 8 | sum)" "<" "$alone_us * 4 / 3"
}

# The same, with losses where the ACK that is waited for gets lost, too.
waiting_ends_under_loss()
{
	paths "$1" 20mbit,2ms,100,loss,3% 2mbit,100ms,100,loss,3%
	start_server
	transfer --bytes 1-100K --requests 40 --dir both --timeout 20000
}

# snd_burst larger than the window: a path is given more than it can carry and holds it. Beyond its window it may have the rest
# of a fragment (32 KB), and of another one that the kernel pushes in softirq without asking; sampled during a transfer.
burst_is_bounded()
{
	local most=0 now bound=65536

	# a burst of 64 KB ends with a whole fragment of up to 32 KB; where the processor is infinitely fast it has left before it adds up
	[[ $(</proc/cmdline) == *time-travel=* ]] || bound=$((65536 + 32768))

	paths "$1" 4mbit,20ms,200 4mbit,20ms,200
	start_server
	transfer --bytes 1500K &
	while kill -0 $! 2>/dev/null; do
		sleep 0.1
		now=$(on_server ss -Htin state established "sport = $port" | sed -n 's/.* notsent:\([0-9]*\).*/\1/p' | sort -n | tail -n1)
		[ "${now:-0}" -le "$most" ] || most=$now
	done
	wait $!
	check "most unsent bytes of a subflow" "$most" "<" "$bound"
}

for sched in $SCHEDS; do
	add decisions_end "$sched"
	# minfct, which rules choose, sends again before the kernel would, and not only what was lost; redundant all; single has nothing on path 2
	[[ $sched == @(minfct|redundant|rules) ]] || add no_spurious_retransmission "$sched"
	[[ $sched == @(minfct|single|redundant|rules) ]] || add retransmits_elsewhere "$sched"
	add waiting_ends "$sched"
	add dead_path_is_not_waited_for "$sched"
	add waiting_ends_under_loss "$sched"
	# the default scheduler has another policy
	[ "$sched" = default ] || add burst_is_bounded "$sched"
done
run_cases "$@"
