#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Where one end or the way between does not speak MPTCP, a connection goes on as TCP.
#
#	client                                                 server
#	         c1 ---- 20 Mbit/s  5 ms ---- [middlebox] s1
#	         c2 ---- 20 Mbit/s 15 ms ---- [middlebox] s2   10.0.0.2
#
# The middlebox takes MPTCP's option out of what arrives: a netfilter rule at the server's end.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

two_paths() { paths "$1" 20mbit,5ms 20mbit,15ms; }

# strip_at NAMESPACE MATCH: no MPTCP in what arrives there, and matches
strip_at()
{
	local rules="table ip middlebox { chain prerouting { type filter hook prerouting priority -300; $2 reset tcp option mptcp; }; }"

	in_ns "$1" nft "$rules" 2>"$work/nft" || skip "no netfilter rule that resets an option: $(head -n1 "$work/nft")"
}

# strip I: no MPTCP through path I
strip() { strip_at "$server" "iifname s$1"; }

is_tcp() { check "transfers over TCP" "$(of fallback | grep -c true)" == "$(of fallback | wc -l)"; }
is_mptcp() { check "transfers over TCP" "$(of fallback | grep -c true)" == 0; }

server_speaks_tcp()
{
	two_paths "$1"
	start_server --tcp
	transfer --bytes 500000 --requests 4 --dir both
	is_tcp
	check "subflows" "$(of subflows | tail -n1)" == 1
}

client_speaks_tcp()
{
	two_paths "$1"
	start_server
	transfer --tcp --bytes 500000 --requests 4 --dir both
	check "MPTCP connections" "$(counter "$server" MPTcpExtMPCapableSYNRX)" == 0
}

server_switched_off()
{
	two_paths "$1"
	on_server sysctl -qw net.mptcp.enabled=0
	start_server --tcp
	transfer --bytes 500000 --requests 4 --dir both
	is_tcp
}

first_path_strips()
{
	two_paths "$1"
	strip 1
	start_server
	transfer --bytes 500000 --requests 4 --dir both
	is_tcp
}

# The option is lost on the second path only: no join, one subflow, still MPTCP.
second_path_strips()
{
	two_paths "$1"
	strip 2
	start_server
	transfer --bytes 500000 --requests 4 --dir both
	is_mptcp
	check "subflows" "$(of subflows | tail -n1)" == 1
}

# The first path starts to strip in mid connection.
strips_in_between()
{
	start_server
	transfer --bytes 1M --requests 4 --gap 200 --dir both --timeout 30000 &
	sleep 0.3
	strip 1
	wait $!
}

strips_later()
{
	two_paths "$1"
	strips_in_between
}

# What TCP acknowledges on the first path gets no DATA_ACK there, and nothing else is in use. The kernel's own stands still.
strips_later_beside_a_backup()
{
	two_paths "$1"
	ip -n "$client" mptcp endpoint change id 2 backup
	strips_in_between
}

# The same where the second path isn't a backup, but costs.
strips_later_beside_a_costly_path()
{
	need_tool "$pamsctl"
	two_paths "$1"
	on_client "$pamsctl" path set dev c2 cost 1
	on_server "$pamsctl" path set 10.0.2.1 cost 1
	strips_in_between
}

hundred_fall_back()
{
	two_paths "$1"
	start_server --tcp
	transfer --bytes 10000 --requests 2 --conns 100
	is_tcp
}

for sched in $SCHEDS; do
	add server_speaks_tcp "$sched"
	add client_speaks_tcp "$sched"
	add server_switched_off "$sched"
	add first_path_strips "$sched"
	add second_path_strips "$sched"
	add strips_later "$sched"
	[ "$sched" = default ] || add strips_later_beside_a_backup "$sched"
	[ "$sched" = default ] || add strips_later_beside_a_costly_path "$sched"
	add hundred_fall_back "$sched"
done
run_cases "$@"
