#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# README's way from the installed packages to a download over two paths: the module that DKMS has built and the programs of the
# packages, by the names that a user types. `make package-check` runs it, in a guest that has the files which the packages left.
#
#	client                                     server
#	         c1 ---- 10 Mbit/s 10 ms ---- s1
#	         c2 ---- 10 Mbit/s 15 ms ---- s2   10.0.0.2
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

in_use_over_two_paths()
{
	command -v pamsctl >/dev/null || skip "the packages aren't installed here"
	paths default 10mbit,10ms 10mbit,15ms
	on_client ip mptcp endpoint flush

	# `sudo apt install` of the packages was the first command
	modprobe mptcp_pams
	on_server pamsctl sched set minfct
	on_client ip mptcp endpoint add 10.0.2.1 dev c2 subflow
	on_server mptcpize run iperf3 -s -1 >"$work/server" 2>&1 &
	within 50 iperf3_listens
	on_client mptcpize run iperf3 -c "$address" -R -t 3 >"$work/client" 2>&1 &
	within 20 two_paths || fail "$(cat "$work/doctor")"
	grep "^ok " "$work/doctor"
	wait
	grep receiver "$work/client" || fail "$(cat "$work/client" "$work/server")"
	on_server pamsctl sched set default
	unload
}
iperf3_listens() { [ -n "$(on_server ss -Hltn "sport = 5201")" ]; }
two_paths()
{
	on_server pamsctl doctor >"$work/doctor" || return 1
	grep -q "^ok .*new sockets use minfct" "$work/doctor" &&
		grep -q "^ok    connection .*iperf3.* 1 subflows besides the first" "$work/doctor" &&
		! grep "plain TCP" "$work/doctor"
}

add in_use_over_two_paths
run_cases "$@"
