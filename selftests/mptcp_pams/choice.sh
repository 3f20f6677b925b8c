#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Which path a scheduler chooses, under known delays and rates, counted in bytes on the wire.
#
#	client                             server
#	         c1 ---- A ---- s1
#	         c2 ---- B ---- s2   10.0.0.2
#
# A and B are given at each case. Shares of the bytes depend on no clock.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# share I: what path I carried of the server's bytes since `count`, in percent
count() { base=("$(sent "$server" 1)" "$(sent "$server" 2)"); }
share()
{
	local bytes=($(($(sent "$server" 1) - base[0])) $(($(sent "$server" 2) - base[1])))

	echo $((100 * bytes[$1 - 1] / (bytes[0] + bytes[1])))
}

# Requests of 10,000 bytes fit into the first window (10 segments) of any path, so nothing has to go to the slower one.
short_goes_to_the_faster()
{
	local fast=$2 least=95

	if [ "$fast" = 1 ]; then
		paths "$1" 20mbit,5ms 20mbit,50ms
	else
		# handshakes and the first window of each connection are on path 1
		least=85
		paths "$1" 20mbit,50ms 20mbit,5ms
	fi
	start_server
	# The first request of a connection may come before its second subflow.
	transfer --bytes 10000 --requests 2 --gap 400 --seed 2 &
	within 20 two_subflows
	wait $!
	count
	transfer --bytes 10000 --requests 20 --gap 400
	check "percent on the faster path" "$(share "$fast")" ">=" "$least"
}
two_subflows() { [ "$(subflows)" = 2 ]; }

# In bulk both paths fill: 20 and 5 Mbit/s of 25. Slow start and the tail blur the shares of 80 and 20 percent.
bulk_by_rate()
{
	paths "$1" 20mbit,10ms,80 5mbit,10ms,40
	start_server
	count
	transfer --bytes 5M
	check "percent on the slower path, 20 by rate" "$(share 2)" ">=" 10
	check "percent on the slower path, 20 by rate" "$(share 2)" "<=" 30
}

# The rates change places a second into a transfer: its rest goes by the new ones.
bulk_follows_the_rate()
{
	paths "$1" 16mbit,10ms,60 4mbit,10ms,60
	start_server
	count
	transfer --bytes 8M &
	sleep 1
	check "percent on path 1, 80 by rate" "$(share 1)" ">=" 60
	reshape 1 4mbit,10ms,60
	reshape 2 16mbit,10ms,60
	sleep 0.5
	count
	wait $!
	check "percent on path 2, 80 by rate" "$(share 2)" ">=" 60
}

# Two paths with room for all of a request, where a packet arrives nearly as soon on either: nobody has to wait. A fragment of the
# kernel's, 32 KB, ends in the middle of a request, with less than a packet left.
never_waits_for_an_idle_path()
{
	need_tool "$pamsctl"
	paths "$1" 100mbit,10ms,400 60mbit,10ms,400
	ip -n "$server" route change 10.0.1.0/24 dev s1 initcwnd 100
	ip -n "$server" route change 10.0.2.0/24 dev s2 initcwnd 100
	start_server
	transfer --bytes 30000-90000 --requests 60 --gap 300
	on_server "$pamsctl" --json stats >"$work/stats"
	check "decisions" "$(of decisions "$work/stats")" ">=" 120
	check "waits" "$(of deferrals "$work/stats")" "==" 0
}

# Where the route says how large a first window is, TCP makes the window of an idle connection no smaller: all of an answer leaves
# at once, as with the kernel's scheduler.
keeps_the_window_of_the_route()
{
	paths "$1" 100mbit,20ms,400
	ip -n "$server" route change 10.0.1.0/24 dev s1 initcwnd 60
	start_server
	transfer --bytes 60000 --requests 8 --gap 1500
	check "us of the slowest answer, 46000 in one round trip" "$(of fct_us | sort -n | tail -n 1)" "<" 60000
}

for sched in $SCHEDS; do
	add keeps_the_window_of_the_route "$sched"
	if [ "$sched" != default ]; then
		add short_goes_to_the_faster "$sched" 1
		add short_goes_to_the_faster "$sched" 2
	fi
	[[ "$sched" != @(pams|minfct) ]] || add never_waits_for_an_idle_path "$sched"
	add bulk_by_rate "$sched"
	add bulk_follows_the_rate "$sched"
done
run_cases "$@"
