#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The choice of a scheduler by sysctl: per network namespace, for sockets made from then on.
#
#	client                                   server
#	         c1 ---- 20 Mbit/s  5 ms ---- s1
#	         c2 ---- 20 Mbit/s  5 ms ---- s2   10.0.0.2
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

two_paths() { paths "$1" 20mbit,5ms 20mbit,5ms; }
chosen_in() { in_ns "$1" sysctl -n net.mptcp.scheduler; }

per_namespace()
{
	local before

	before=$(sysctl -n net.mptcp.scheduler)
	two_paths default
	[ "$1" = default ] || need_module
	on_client sysctl -qw net.mptcp.scheduler="$1"
	[ "$(chosen_in "$client")" = "$1" ] || fail "client has $(chosen_in "$client")"
	[ "$(chosen_in "$server")" = default ] || fail "server has $(chosen_in "$server")"
	[ "$(sysctl -n net.mptcp.scheduler)" = "$before" ] || fail "the initial namespace changed"
	start_server
	transfer --bytes 200000 --requests 2 --dir both
}

refused_name()
{
	two_paths default
	! on_client sysctl -qw net.mptcp.scheduler="$1" || fail "accepted $1"
	[ "$(chosen_in "$client")" = default ] || fail "client has $(chosen_in "$client")"
}

# A socket keeps the scheduler that it was made with. The transfer holds a listener and a connection at each end.
kept_by_a_socket()
{
	need_module
	two_paths "$1"
	start_server
	transfer --bytes 200000 --requests 2 --gap 3000 &
	within 20 used || fail "nobody uses the module"
	set_sysctl net.mptcp.scheduler=default
	check "users" "$(users)" ">" 0
	wait $!
	stop_server
	within 50 no_users || fail "the module is still used $(users) times"
	# Sockets made now have the other one.
	start_server
	transfer --bytes 200000
	check "users" "$(users)" == 0
}
used() { [ "$(subflows)" = 2 ] && [ "$(users)" -ge 3 ]; }

for sched in $SCHEDS; do
	add per_namespace "$sched"
done
add refused_name nosuchname
add refused_name a_name_that_is_longer_than_any_scheduler
for sched in $SCHEDS; do
	[ "$sched" = default ] || add kept_by_a_socket "$sched"
done
run_cases "$@"
