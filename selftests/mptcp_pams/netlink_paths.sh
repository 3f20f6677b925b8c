#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The table of paths: dumps, ages and lookups are right with few and with many paths, and who may see what. One namespace, no
# network.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

paths=$XFER_DIR/netlink_paths

begin()
{
	need_module
	[ -x "$paths" ] || skip "no netlink_paths here: make -C selftests/mptcp_pams"
	ip netns add "$client"
	on_client sysctl -qw net.mptcp_pams.paths_max=1000000
}

# in_table WORD...: netlink_paths WORD... finds nothing wrong
in_table()
{
	begin
	on_client "$paths" "$@"
}

add in_table changes
add in_table large 20000
add in_table collisions 6000
add in_table ages 100
run_cases "$@"
