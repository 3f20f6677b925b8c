#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What the module keeps in memory: for a connection, for each of its subflows, and nothing for a listener.
#
#	client                                    server
#	         c1 ---- 50 Mbit/s  5 ms ---- s1
#	         c2 ---- 50 Mbit/s 10 ms ---- s2   10.0.0.2
#
# From /proc/slabinfo, where slab_nomerge on the kernel's command line keeps caches apart (selftests/vm/run does it). It counts
# whole slabs, so some objects more than there are.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

nr=200				# connections, and listeners
conn_bytes=1024 subflow_bytes=128

# slab CACHE FIELD: 3 the number of objects for which there is room, 4 their bytes, 5 how many there are to a slab
slab() { awk -v cache="$1" -v field="$2" '$1 == cache { print $field }' /proc/slabinfo; }

# bytes that all caches take which the module may use: its own, and kmalloc's
slab_bytes() { awk '$1 ~ /^(kmalloc|mptcp_pams)/ { s += $2 * $4 } END { print s }' /proc/slabinfo; }

begin()
{
	need_module
	[ -r /proc/slabinfo ] || skip "this kernel has no /proc/slabinfo"
	grep -qw slab_nomerge /proc/cmdline || skip "slab_nomerge is not on the kernel's command line"
}
need_caches()
{
	[ -n "$(slab mptcp_pams_conn 4)" ] || fail "no cache mptcp_pams_conn"
	[ -n "$(slab mptcp_pams_subflow 4)" ] || fail "no cache mptcp_pams_subflow"
}

settle() { sleep 2; [ ! -e /sys/kernel/slab ] || shrink; }
# Namespaces of cases before go with the last of their sockets, some of which wait for minutes for an answer that can't come.
stands_still()
{
	local before

	settle
	before=$(slab_bytes)
	sleep 20
	settle
	[ $((before - $(slab_bytes))) -lt 4096 ]
}
# gives back the slabs that are empty, so that what is left is in use
shrink()
{
	local cache

	for cache in /sys/kernel/slab/kmalloc* /sys/kernel/slab/mptcp_pams*; do
		[ ! -e "$cache/shrink" ] || echo 1 >"$cache/shrink"
	done
}

object_sizes()
{
	local n

	begin
	need_caches
	[ ! -e /proc/lockdep ] || never "lockdep's locks are larger than others"
	check "bytes of a connection" "$(slab mptcp_pams_conn 4)" "<=" "$conn_bytes"
	# together up to that many subflows: more than five are rare
	for n in 1 2 5; do
		check "bytes of a connection of $n subflows" "$(slab mptcp_pams_conn 4) + $n * $(slab mptcp_pams_subflow 4)" "<=" \
			"$conn_bytes + $n * $subflow_bytes"
	done
}

listeners()
{
	local before

	begin
	paths "$1" 50mbit,5ms
	settle
	before=$(slab_bytes)
	ip netns exec "$server" "$XFER_DIR/listen" 6000 "$nr" >"$work/listen" &
	within 50 grep -q listeners "$work/listen" || fail "they do not listen"
	settle
	say "bytes that $nr listeners take, all of the kernel's kmalloc included: $(($(slab_bytes) - before))"
	need_caches
	check "connections' objects" "$(slab mptcp_pams_conn 3)" == 0
	check "subflows' objects" "$(slab mptcp_pams_subflow 3)" == 0
}

# of_connections SCHED: bytes that $nr connections of two subflows take at both ends; leaves bytes, conns, subs
of_connections()
{
	local before

	paths "$1" 50mbit,5ms,1000 50mbit,10ms,1000
	start_server
	transfer --bytes 20000	# what is made once is there
	within 15 stands_still || fail "memory of earlier cases is given back all the time"
	before=$(slab_bytes)
	transfer --bytes 20000 --conns "$nr" --requests 2 --gap 15000 --stagger 5 &
	within 100 all_there || fail "not all connections have both subflows"
	settle
	bytes=$(($(slab_bytes) - before)) conns=$(slab mptcp_pams_conn 3) subs=$(slab mptcp_pams_subflow 3)
	wait $! || fail "the transfers did not survive"
	stop_server
	remove_paths
}
all_there() { [ "$(subflows)" -ge $((2 * nr)) ]; }

# Both ends are in this kernel: 400 connections, 800 subflows.
connections()
{
	local own_bytes

	begin
	unused
	of_connections default
	own_bytes=$bytes
	unused
	of_connections "$1"
	say "$((2 * nr)) connections: $bytes bytes, with default $own_bytes; room for $conns connections and $subs subflows"
	# in a debug kernel locks are larger, and KASAN keeps what was freed for a while
	[ -e /proc/lockdep ] || check "bytes for each connection, more than with default" "($bytes - $own_bytes) / (2 * $nr)" "<=" \
		"($conn_bytes + 2 * $subflow_bytes) * 11 / 10"
	need_caches
	check "connections' objects" "$conns" "<=" "2 * $nr + 4 * $(slab mptcp_pams_conn 5)"
	check "connections' objects" "$conns" ">=" "2 * $nr"
	check "subflows' objects" "$subs" "<=" "4 * $nr + 4 * $(slab mptcp_pams_subflow 5)"
	# a subflow has a state once a decision meets it: that of an end that sends a short request may never
	check "subflows' objects" "$subs" ">=" "2 * $nr"
}

# What connections had is given back with them.
given_back()
{
	begin
	paths "$1" 50mbit,5ms 50mbit,10ms
	start_server
	transfer --bytes 20000 --conns 50 --requests 2
	stop_server
	remove_paths
	unused
	settle
	need_caches
	check "connections' objects" "$(slab mptcp_pams_conn 2)" == 0
	check "subflows' objects" "$(slab mptcp_pams_subflow 2)" == 0
}

# No helper is taken to be where there is none: no log of what it may hold is begun. Links with losses, where acknowledgments are of
# much.
no_bank()
{
	begin
	settle
	paths "$1" 200mbit,5ms,1000,loss,0.2% 100mbit,10ms,1000,loss,0.2%
	start_server
	transfer --bytes 30M --requests 3
	check "logs" "$(slab mptcp_pams_bank 3)" == 0
}

add object_sizes
for sched in $SCHEDS; do
	[ "$sched" != default ] || continue
	add listeners "$sched"
	add connections "$sched"
	add given_back "$sched"
	add no_bank "$sched"
done
run_cases "$@"
