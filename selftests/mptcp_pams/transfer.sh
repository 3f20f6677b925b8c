#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Every byte arrives as it was sent: sizes, directions, address families, checksums, loss, many connections, many paths.
#
#	client                                     server
#	         c1 ---- 20 Mbit/s 10 ms ---- s1
#	         c2 ---- 10 Mbit/s 30 ms ---- s2   10.0.0.2 or fd00::2
#
# xfer checks each byte where it arrives; a transfer that is not complete and intact fails.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

fast=20mbit,10ms slow=10mbit,30ms

# single keeps to one.
both_paths_carried()
{
	[ "$1" != single ] || return 0
	check "bytes on path 1" "$(sent "$server" 1) + $(sent "$client" 1)" ">" 50000
	check "bytes on path 2" "$(sent "$server" 2) + $(sent "$client" 2)" ">" 50000
}

# both_ways SCHED [IP-VERSION]
both_ways()
{
	family=-${2-4}
	paths "$1" "$fast" "$slow"
	start_server
	transfer --bytes 1500K --dir down
	check "subflows" "$(of subflows)" == 2
	check "fallback to TCP" "$(of fallback | grep -c true)" == 0
	transfer --bytes 1500K --dir up
	check "subflows" "$(of subflows)" == 2
	both_paths_carried "$1"
}

# From 1 byte to 1 MB, half of them up, on one connection and then on 20 new ones.
sizes()
{
	paths "$1" "$fast" "$slow"
	start_server
	transfer --bytes 1-1M --requests 25 --dir both
	transfer --bytes 1-100K --requests 20 --dir both --cold --seed 2
	check "transfers intact" "$(of ok | grep -c true)" == 20
}

loss()
{
	paths "$1" "$fast,100,loss,1%" "$slow,100,loss,3%"
	start_server
	transfer --bytes 1M --requests 2 --dir both
}

# Every fifth packet of a path overtakes those that are under way.
reordering()
{
	paths "$1" 20mbit,10ms,200,reorder,20% "$slow"
	start_server
	transfer --bytes 1M --requests 2 --dir both
}

checksums()
{
	paths "$1" "$fast" "$slow"
	set_sysctl net.mptcp.checksum_enabled=1
	start_server
	transfer --bytes 1M --requests 2 --dir both
	check "subflows" "$(of subflows | tail -n1)" == 2
	check "checksum errors" "$(counter "$client" MPTcpExtDataCsumErr) + $(counter "$server" MPTcpExtDataCsumErr)" == 0
	both_paths_carried "$1"
}

# One end asks for them, so both use them.
checksums_of_one_end()
{
	paths "$1" "$fast" "$slow"
	on_client sysctl -qw net.mptcp.checksum_enabled=1
	start_server
	transfer --bytes 1M --requests 2 --dir both
	check "fallback to TCP" "$(of fallback | grep -c true)" == 0
}

hundred_at_once()
{
	paths "$1" "$fast,500" "$slow,500"
	start_server
	transfer --bytes 30000 --requests 2 --dir both --conns 100
	check "transfers intact" "$(of ok | grep -c true)" == 200
	both_paths_carried "$1"
}

# The kernel allows 8 paths' subflows: the first and those of up to 7 further endpoints.
eight_paths()
{
	local i

	paths "$1" 5mbit,10ms 5mbit,15ms 5mbit,20ms 5mbit,25ms 5mbit,10ms 5mbit,15ms 5mbit,20ms 5mbit,25ms
	start_server
	transfer --bytes 2M --requests 2
	check "subflows" "$(of subflows | tail -n1)" == 8
	[ "$1" != single ] && [ "$1" != redundant ] || return 0
	for i in 1 2 3 4 5 6 7 8; do
		check "bytes on path $i" "$(sent "$server" "$i")" ">" 50000
	done
}

# Buffers that hold less than the paths: the sender runs dry all the time.
small_buffers()
{
	paths "$1" "$fast" "$slow"
	start_server --sndbuf 20000 --rcvbuf 20000
	transfer --bytes 300K --requests 2 --dir both --sndbuf 20000 --rcvbuf 20000
}

# A receiver with room for less than two packets: the last acknowledgment opens the window, and nothing else comes.
tiny_window()
{
	local own_us

	for sched in default "$1"; do
		paths "$sched" "$fast" "$slow"
		start_server
		transfer --bytes 30K --rcvbuf "$2"
		own_us=${own_us:-$(duration_us)}
		stop_server
		remove_paths
	done
	check "us" "$(duration_us)" "<=" "$own_us * 11 / 10 + 30000"
}

# Large packets on one of two paths, and a window that is nearly always full: what of it is left for a small packet, but for no large
# one, doesn't hold up what the slow path has. Without the large packets it takes about as long.
large_packets_on_one_path()
{
	local own_us

	for mtu in 1500 9000; do
		paths "$1" 5mbit,60ms 100mbit,5ms
		set_mtu 2 "$mtu"
		start_server
		transfer --bytes 4M --rcvbuf 200000
		own_us=${own_us:-$(duration_us)}
		stop_server
		remove_paths
	done
	check "us" "$(duration_us)" "<=" "$own_us * 11 / 10"
}

# No netem: as many decisions as the machine can make. In virtual time such a link carries everything at once, so a scheduler that knows
# what a path carries may keep to one. The first part may be over before the second path has joined.
unshaped()
{
	paths "$1" - -
	start_server
	transfer --bytes 3M --requests 2 --gap 50 --dir down
	transfer --bytes 3M --requests 2 --gap 50 --dir up
	[[ $1 == @(minfct|rules) ]] || both_paths_carried "$1"
}

for sched in $SCHEDS; do
	add both_ways "$sched"
	add both_ways "$sched" 6
	add sizes "$sched"
	add loss "$sched"
	add reordering "$sched"
	add checksums "$sched"
	add checksums_of_one_end "$sched"
	add hundred_at_once "$sched"
	add eight_paths "$sched"
	add small_buffers "$sched"
	# a second copy waits for the same window: redundant takes 1.3 to 2.3 times as long
	for bytes in 2500 4000 6000; do
		[ "$sched" = redundant ] || add tiny_window "$sched" $bytes
	done
	[[ $sched != @(pams|minfct) ]] || add large_packets_on_one_path "$sched"
	add unshaped "$sched"
done
run_cases "$@"
