#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# As a user would run it: an unmodified program through mptcpize, the scheduler chosen by sysctl.
#
#	client                                     server
#	         c1 ---- 10 Mbit/s 10 ms ---- s1
#	         c2 ---- 10 Mbit/s 15 ms ---- s2   10.0.0.2
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# bits_per_s: at the receiver
bits_per_s() { awk '/"sum_received"/ { on = 1 } on && /"bits_per_second"/ { gsub(/[^0-9.e+]/, "", $2); printf "%d", $2; exit }' "$work/iperf3"; }

# One path carries 9.57 Mbit/s of payload at most (1448 of 1514 bytes). 4 s of both, slow start included, is half as much again.
faster_than_one_path()
{
	local sched=$1 ns only=
	shift

	command -v iperf3 >/dev/null || skip "no iperf3"
	command -v mptcpize >/dev/null || skip "no mptcpize"
	paths "$sched" 10mbit,10ms 10mbit,15ms
	# A receive window that one path fills leaves nothing for the other to a scheduler that prefers the nearer one. How
	# fast the window grows is the kernel's: it begins wide enough here.
	for ns in "$client" "$server"; do
		in_ns "$ns" sysctl -qw net.ipv4.tcp_rmem="4096 2000000 6000000"
	done
	# it listens on ::, which no MPTCP socket can where MPTCP has no IPv6
	has_ipv6 || only=-4
	# shellcheck disable=SC2086 # or nothing
	ip netns exec "$server" mptcpize run iperf3 -s -1 $only >"$work/server" 2>&1 &
	within 50 iperf3_listens
	on_client mptcpize run iperf3 -c "$address" -t 4 -J "$@" >"$work/iperf3" || fail "$(cat "$work/iperf3" "$work/server")"
	check "MPTCP connections (control, data)" "$(counter "$server" MPTcpExtMPCapableACKRX)" == 2
	check "further subflows" "$(counter "$server" MPTcpExtMPJoinAckRx)" ">=" 2
	check "bit/s" "$(bits_per_s)" ">" 14000000
}
iperf3_listens() { [ -n "$(on_server ss -Hltn "sport = 5201")" ]; }

for sched in $SCHEDS; do
	add faster_than_one_path "$sched"
	add faster_than_one_path "$sched" -R
done
run_cases "$@"
