#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Paths that cost something are used only for what the cheaper ones can't deliver in time.
#
#	client                                               server
#	         c1 ---- 10 Mbit/s 10 ms, costs nothing ---- s1
#	         c2 ---- 20 Mbit/s 30 ms, costs 1 ---------- s2   10.0.0.2
#
# The server has the data and decides; it is told the costs by the client's addresses.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

wifi=10mbit,10ms lte=20mbit,30ms
# handshakes and bare acknowledgments stay well below
nothing=20000
video_byteps=500000		# 4 Mbit/s
held_us=2000000			# by a player
# of payload, where a frame of 1514 bytes carries 1448 at most
wifi_byteps=$((10000000 * 1448 / 1514 / 8))

# begin SCHED OVERFLOW...: with the overflow as a rule says it
begin()
{
	need_tool "$pamsctl"
	paths rules "$wifi" "$lte"
	echo "use $*" | on_server "$pamsctl" rule load -
	start_server
	on_server "$pamsctl" path set 10.0.2.1 cost 1
}

# --- as far as nothing depends on time ---

never_while_the_cheap_one_lives()
{
	begin "$1" overflow 0
	transfer --bytes 2M
	check "bytes on path 2" "$(sent "$server" 2)" "<" "$nothing"
}

# By no rule, and by no word: the sysctls, 0 both.
default_is_never()
{
	begin minfct
	transfer --bytes 2M
	check "bytes on path 2" "$(sent "$server" 2)" "<" "$nothing"
	set_sysctl net.mptcp_pams.overflow_ms=50
	transfer --bytes 2M
	check "bytes on path 2" "$(sent "$server" 2)" ">" 200000
}

# The same cost everywhere is none; and the more specific key counts.
only_differences_count()
{
	begin minfct overflow 0
	on_server "$pamsctl" path set 10.0.1.1 cost 1
	transfer --bytes 2M
	check "bytes on path 2" "$(sent "$server" 2)" ">" 200000
	on_server "$pamsctl" path set 10.0.0.0/8 cost 3
	on_server "$pamsctl" path set 10.0.1.1 cost 4
	on_server "$pamsctl" path set 10.0.2.1 cost 4 ttl 1s
	transfer --bytes 2M
	check "bytes on path 2" "$(sent "$server" 2)" ">" 400000
}

# What the cheap path was given when it goes silent, or is said to be lost, goes over the other one; and the rest does.
cheap_one_dies()
{
	begin "$1" overflow 0
	transfer --bytes 4M --timeout 30000 &
	sleep 1
	check "bytes on path 2" "$(sent "$server" 2)" "<" "$nothing"
	reshape 1 "$wifi,100,loss,100%"
	[ "$2" = silent ] || on_server "$pamsctl" path set 10.0.1.1 loss-time 0
	wait $! || fail "the transfer did not survive"
	check "bytes on path 2" "$(sent "$server" 2)" ">" 2000000
}

# Of three paths the second in price comes before the third.
levels()
{
	need_tool "$pamsctl"
	paths rules "$wifi" "$lte" "$lte"
	echo "use minfct overflow 0" | on_server "$pamsctl" rule load -
	start_server
	on_server "$pamsctl" path set 10.0.2.1 cost 2
	on_server "$pamsctl" path set 10.0.3.1 cost 1
	on_server "$pamsctl" path set 10.0.1.1 cost 3
	transfer --bytes 2M
	check "bytes on path 2" "$(sent "$server" 2)" "<" "$nothing"
	check "bytes on path 3" "$(sent "$server" 3)" ">" 1500000
	echo "use minfct overflow 50ms" | on_server "$pamsctl" rule load -
	transfer --bytes 4M
	check "bytes on path 2" "$(sent "$server" 2)" ">" 400000
}

# Duplicates only if the rule says so.
copies()
{
	begin redundant overflow 0
	transfer --bytes 1M
	check "bytes on path 2" "$(sent "$server" 2)" "<" "$nothing"
	echo "use redundant overflow 0 costly-copies" | on_server "$pamsctl" rule load -
	transfer --bytes 1M
	check "bytes on path 2" "$(sent "$server" 2)" ">" 500000
}

# A path at risk is left to others that deliver in time, and carries its part of what they don't.
risk()
{
	local before

	begin "$1"
	on_server "$pamsctl" path flush
	on_server "$pamsctl" path set 10.0.1.1 loss-time 40s loss-spread 15s
	transfer --bytes $((4 * video_byteps)) --rate "$video_byteps"
	check "bytes on path 1, a stream" "$(sent "$server" 1)" "<" "4 * $video_byteps * 3 / 10"
	before=$(sent "$server" 1)
	transfer --bytes 4M
	check "bytes on path 1, a file" "$(sent "$server" 1) - $before" ">" 1000000
}

# --- figures ---

# 4 Mbit/s of video, no byte later than 500 ms and what a path takes besides.
video()
{
	begin "$1" overflow 500ms
	transfer --bytes $((30 * video_byteps)) --rate "$video_byteps"
	check "bytes on path 2" "$(sent "$server" 2)" "<=" "30 * $video_byteps / 100"
	check "latest byte, us" "$(of late_us)" "<" 700000
}

# Wi-Fi gives 1 Mbit/s for 30 s. LTE carries what is missing; a player that holds 2 s of video doesn't stall.
video_fades()
{
	local before back

	begin "$1" overflow 500ms
	transfer --bytes $((45 * video_byteps)) --rate "$video_byteps" --timeout 90000 &
	sleep 5
	before=$(sent "$server" 2)
	check "bytes on path 2" "$before" "<" "5 * $video_byteps / 100 + $nothing"
	reshape 1 1mbit,10ms
	sleep 30
	reshape 1 "$wifi"
	sleep 1
	back=$(sent "$server" 2)
	# frames, not payload
	check "bytes on path 2" "$back - $before" "<=" "30 * ($video_byteps - $wifi_byteps / 10) * 11 / 10 * 1514 / 1448"
	check "bytes on path 2" "$back - $before" ">=" "30 * ($video_byteps - $wifi_byteps / 10) * 8 / 10"
	wait $! || fail "the transfer did not survive"
	check "bytes on path 2 once it is back" "$(sent "$server" 2) - $back" "<" "$nothing"
	check "latest byte, us" "$(of late_us)" "<" "$held_us"
}

# 20 MB in 1.5 times what they take over both paths. The least that path 2 has to carry for that is what path 1 doesn't by then.
bulk()
{
	local bytes=20000000 free_us limit_us least carried

	begin "$1"
	on_server "$pamsctl" path flush
	transfer --bytes "$bytes"
	free_us=$(of fct_us)
	on_server "$pamsctl" path set 10.0.2.1 cost 1
	echo "use $1 overflow 1.5x" | on_server "$pamsctl" rule load -
	carried=$(sent "$server" 2)
	transfer --bytes "$bytes"
	carried=$((($(sent "$server" 2) - carried) * 1448 / 1514))
	limit_us=$((free_us * 3 / 2 + 60000))
	least=$((bytes - wifi_byteps * (limit_us / 1000 - 20) / 1000))
	say "freely in $free_us us"
	check "time, us" "$(of fct_us)" "<=" "$limit_us"
	check "bytes on path 2" "$carried" "<=" "$least * 11 / 10"
}

[[ " $SCHEDS " != *" rules "* ]] || {
	for sched in $(schedulers_for_rules); do
		add never_while_the_cheap_one_lives "$sched"
		add cheap_one_dies "$sched" silent
	done
	add cheap_one_dies minfct told
	add cheap_one_dies pams told
	add default_is_never
	add only_differences_count
	add levels
	add copies
	for sched in pams minfct; do
		add risk $sched
		add video $sched
		add video_fades $sched
	done
	add bulk minfct
}
run_cases "$@"
