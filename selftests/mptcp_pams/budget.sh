#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What is sent twice, and how much: what is late, silent or lost goes again on another path, and both copies cost the network.
#
#	client                             server
#	         c1 ---- A ---- s1
#	         c2 ---- B ---- s2   10.0.0.2
#
# Promised (resend.c): late data goes again up to a part of what was written, and the rest of one fragment: pams a tenth; minfct a
# quarter, where the time saved pays for it four times. What silent and lost paths hold is not part of that: all of it goes again, as
# often as a path is lost.
# Measured: both together, of runs that lose little to silent and lost paths. The limits are for these runs only: minfct a ninth of what
# was written; pams, and both where each transfer is new and begins on the worse path, a fifth; pams a 25th in the mean of several.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

further=(pams-r-$$)	# a router of one case
packet_bytes=1500	# the last one of a resend may be whole

begin()
{
	need_module
	need_tool "$pamsctl"
}

reinjected() { in_ns "$1" "$pamsctl" --json stats >"$work/stats"; of reinjected_bytes "$work/stats"; }

# written: bytes of the last transfers
written() { of bytes | sum; }

# bounded SCHED: is what the server sent twice of the last transfers within the limits above?
bounded()
{
	local twice all

	twice=$(reinjected "$server") all=$(written)
	if [ "$1" = minfct ]; then
		check "bytes sent twice of $all" "$twice" "<=" "$all / 9 + $packet_bytes"
	else
		check "bytes sent twice of $all" "$twice" "<=" "$all / 5 + $packet_bytes"
	fi
}

# Small transfers over unlike paths: each has a tail, and each tail may be late.
unlike()
{
	begin
	paths "$1" "$2" "$3"
	start_server
	# shellcheck disable=SC2086 # an option or nothing
	transfer --bytes "$4" --requests 60 --timeout 20000 ${5-}
	bounded "$1"
}

# mean SCHED: over a set of small scenarios
mean()
{
	local scenario sum=0 number=0 share

	begin
	for scenario in "20mbit,5ms 5mbit,40ms 20-200K" "50mbit,5ms 10mbit,50ms 256K" "8mbit,10ms 5mbit,40ms 300K" \
		"5mbit,25ms 5mbit,25ms 100-500K" "20mbit,2ms 2mbit,200ms 10-100K" "30mbit,8ms 20mbit,30ms 50-300K" \
		"10mbit,50ms 50mbit,5ms 20-200K --cold" "2mbit,200ms 20mbit,2ms 5-50K --cold"; do
		# shellcheck disable=SC2086 # two paths, a size and an option
		set -- "$1" $scenario
		paths "$1" "$2" "$3"
		start_server
		# shellcheck disable=SC2086 # an option or nothing
		transfer --bytes "$4" --requests 20 --timeout 20000 ${5-}
		share=$(($(reinjected "$server") * 10000 / $(written)))
		say "$scenario: $share of 10000"
		sum=$((sum + share)) number=$((number + 1))
		stop_server
		remove_paths
	done
	check "mean of bytes sent twice, of 10000" "$sum / $number" "<=" 400
}

# stalled SCHED TIMES: nothing is lost, but path 1 stands still again and again until its subflow is taken for dead
stalled()
{
	local i

	begin
	paths "$1" 20mbit,30ms,300 20mbit,30ms,300
	tc -n "$client" qdisc del dev c1 root
	tc -n "$client" qdisc add dev c1 root netem delay 30ms limit 1000
	start_server
	transfer --bytes 25M --timeout 60000 &
	sleep 1
	for i in $(seq "$2"); do
		tc -n "$client" qdisc change dev c1 root netem delay 430ms limit 1000
		sleep 0.4
		tc -n "$client" qdisc change dev c1 root netem delay 30ms limit 1000
		sleep 0.3
	done
	wait $! || fail "the transfer did not survive"
	bounded "$1"
}

# falsely_lost SCHED TIMES: path 1 is announced lost, and isn't
falsely_lost()
{
	local i

	begin
	paths "$1" 20mbit,30ms,300 20mbit,30ms,300
	start_server
	transfer --bytes 25M --timeout 60000 &
	sleep 1
	for i in $(seq "$2"); do
		on_server "$pamsctl" path set 10.0.1.1 loss-time 0 ttl 1min
		sleep 0.05
		on_server "$pamsctl" path set 10.0.1.1 no-loss
		sleep 0.4
	done
	wait $! || fail "the transfer did not survive"
	bounded "$1"
}

# One socket for many connections: each begins with the budget of a new one, no more and no less. The client sends.
reused_socket()
{
	local fresh reused times=20 bytes=60000 i

	begin
	paths "$1" 2mbit,200ms 20mbit,2ms
	start_server
	for i in $(seq "$times"); do
		on_client "$XFER_DIR/reconnect" "$address" "$port" 1 "$bytes" up
	done
	fresh=$(reinjected "$client")
	stop_server
	remove_paths

	paths "$1" 2mbit,200ms 20mbit,2ms
	start_server
	on_client "$XFER_DIR/reconnect" "$address" "$port" "$times" "$bytes" up
	reused=$(reinjected "$client")
	check "bytes that new sockets sent twice" "$fresh" "<=" "$times * $bytes / 5"
	check "bytes that one socket sent twice" "$reused" "<=" "$times * $bytes / 5"
	check "bytes that one socket sent twice" "$reused" ">=" "$fresh / 2"
}

# What SACK tells of, behind a lost packet of a slow path, isn't delivered until that packet has come again: all of it goes again on
# the fast path, so that both paths take no longer than that one alone. A router with a short queue loses it: what a host's own queue
# refuses TCP knows at once.
hole()
{
	local alone_us router=${further[0]}

	begin
	paths "$1" 50mbit,4ms,70
	start_server
	transfer --bytes 3200K --requests 12 --cold
	alone_us=$(duration_us)

	helper_link "$router" r1 1gbit,1ms,1000
	helper_client "$router" r2
	tc -n "$router" qdisc add dev r2 root netem rate 1400kbit delay 7ms limit 12
	within 30 links_are_up || fail "the links do not come up"
	transfer --bytes 3200K --requests 12 --cold
	check "time by that over the fast path alone" "$(duration_us)" "<=" "$alone_us * 108 / 100"
	bounded "$1"
}

for sched in $SCHEDS; do
	[[ $sched = pams || $sched = minfct ]] || continue
	add unlike "$sched" 20mbit,2ms 2mbit,200ms 1-100K
	add unlike "$sched" 50mbit,5ms 10mbit,50ms 256K
	add unlike "$sched" 2mbit,200ms 20mbit,2ms 20-200K --cold
	add unlike "$sched" 1mbit,100ms 50mbit,5ms 5-50K --cold
	add unlike "$sched" 5mbit,100ms 5mbit,10ms 5-50K --cold
	[ "$sched" = minfct ] || add mean "$sched"
	add stalled "$sched" 10
	add falsely_lost "$sched" 20
	add reused_socket "$sched"
	add hole "$sched"
done
run_cases "$@"
