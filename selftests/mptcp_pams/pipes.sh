#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A helper that splits TCP, whose pipe pauses, dies, comes back, takes smaller packets, or is one of two.
# shellcheck source=split_lib.sh
. "$(dirname "$0")/split_lib.sh"

# The pipe is silent for a while, as when a radio roams, or the worker gets no processor: the flow stays, is used again, and
# nothing is received for no longer than the pause, or than a router's pause of 1 s takes (1.5 s).
paused()
{
	local before

	helped "$1"
	start_server
	start_split
	in_mid_transfer "$2" "$3"
	before=$(<"$work/before")
	no_resets
	check "bytes through the splitter, then" "$(total delivered) - $before" ">" 800000
	check "longest gap in ms" "$(($(of gap_us) / 1000))" "<" "$4"
}
pipe_pauses()
{
	pipe=5mbit,5ms,100,loss,100% reshape_pipe
	sleep "$1"
	pipe=5mbit,5ms,100,loss,0% reshape_pipe
	total delivered >"$work/before"
}
# not by SIGSTOP, of which its parent hears
worker_stalls()
{
	local group=$work/cgroups/stalled

	mkdir -p "$work/cgroups"
	mount -t cgroup2 cgroup2 "$work/cgroups" || fail "no cgroups"
	mkdir "$group"
	worker_pid >"$group/cgroup.procs"
	echo 1 >"$group/cgroup.freeze"
	sleep "$1"
	echo 0 >"$group/cgroup.freeze"
	total delivered >"$work/before"
	worker_pid >"$work/cgroups/cgroup.procs"
	rmdir "$group"
	umount "$work/cgroups"
}

# What the devices' link manager does when a link comes back: the endpoint is new, and the
# client joins again. Its subflow, which was reset, is used within two round trips.
came_back()
{
	local transfer_pid before begin_ms

	helped "$1"
	start_server
	start_split --silence 300
	transfer --bytes 6M --timeout 60000 &
	transfer_pid=$!
	within 100 is_banked || fail "nothing is banked"
	pipe_dies
	within 100 has_resets || fail "the flow is not reset"
	pipe=5mbit,5ms,100,loss,0%
	reshape_pipe
	ip -n "$client" mptcp endpoint delete id 2
	before=$(sent "$server" 2)
	begin_ms=$(uptime_ms)
	ip -n "$client" mptcp endpoint add 10.0.2.1 dev c2 id 2 subflow
	# the join, and ten segments
	until [ "$(sent "$server" 2)" -gt $((before + 5000)) ]; do
		[ $(($(uptime_ms) - begin_ms)) -lt 5000 ] || fail "the path is not used again"
		sleep 0.01
	done
	# a round trip is 50 ms; the clock that is read counts in 10 ms
	check "ms until it was used again" "$(uptime_ms) - $begin_ms" "<=" 120
	wait "$transfer_pid" || fail "the transfer did not survive"
	check "flows that were split" "$(total split)" == 2
}
has_resets() { [ "$(total resets)" -gt 0 ]; }
uptime_ms() { awk '{ printf "%.0f\n", $1 * 1000 }' /proc/uptime; }

# Behind the helper, on the way to the server, a router's next hop takes packets up to 1400 bytes only. The client learns that;
# what offload puts together of its segments must not become larger ones.
narrow_upload()
{
	family=$2 direct=300kbit,25ms
	helped "$1"
	router_before "$server" s2 "$(host_of 3 2)" s3
	ip -n "$second_helper" route add "$address" via "$(host_of 6 2)" mtu lock 1400
	ip -n "$second_helper" route add "$(host_of 2 0)/$([ "$family" = -4 ] && echo 24 || echo 64)" via "$(host_of 3 1)"
	shape_segment "$second_helper" s2 add "$hs_path"
	start_server
	start_split
	transfer --bytes 1500K --dir up --timeout 60000 &
	# 2 s of the pipe's. The first flight, which is too large, may cost 3 s more, and then the kernel's scheduler takes the pipe for
	# slow: how long all takes says more of how much goes over the slow direct path meanwhile.
	within 120 helper_has 1000000 || fail "the helper has $(helper_received) bytes after 12 s"
	wait $! || fail "the transfer did not survive"
	check "flows that were split" "$(total split)" == 1
	no_resets
}

helper_received() { on_helper cat /sys/class/net/h2/statistics/rx_bytes; }
helper_has() { [ "$(helper_received)" -gt "$1" ]; }

# The same on the way to the client, where the server has an acknowledgment for what is too large.
narrow_download()
{
	family=$2
	helped "$1"
	router_before "$helper" h2 "$(host_of 2 2)" h3
	ip -n "$second_helper" route add "$(host_of 2 1)" dev h2 mtu lock 1400
	ip -n "$second_helper" route add default via "$(host_of 6 2)"
	shape_segment "$second_helper" h2 add "$pipe"
	start_server
	start_split --pipe h3
	transfer --bytes 3M --timeout 60000
	"$pamsplit" --control "$control" show
	check "flows that were split" "$(total split)" == 1
	check "bytes through the splitter" "$(total delivered)" ">" 500000
	no_resets
}

# host_of NET HOST: an address
host_of() { [ "$family" = -4 ] && echo "10.0.$1.$2" || echo "fd00:$1::$2"; }

# router_before NS DEV ADDRESS NEW: the link that ended in NS as DEV ends in a router, to which NS has the link NEW
router_before()
{
	local bits=24 nodad=

	[ "$family" = -4 ] || bits=64 nodad=nodad
	ip netns add "$second_helper"
	ip link add r1 index 41 netns "$second_helper" type veth peer name "$4" index 42 netns "$1"
	ip -n "$1" link set "$2" netns "$second_helper"
	ip -n "$second_helper" -batch - <<-EOF
		link set lo up
		addr add $3/$bits dev $2 $nodad
		addr add $(host_of 6 1)/$bits dev r1 $nodad
		link set $2 up
		link set r1 up
	EOF
	ip -n "$1" -batch - <<-EOF
		addr add $(host_of 6 2)/$bits dev $4 $nodad
		link set $4 up
		route add $(host_of 2 0)/$bits via $(host_of 6 1)
	EOF
	in_ns "$second_helper" sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 net.ipv4.conf.all.rp_filter=0 \
		"net.ipv4.conf.$2.rp_filter=0" net.ipv4.conf.r1.rp_filter=0
	within 30 links_are_up || fail "the links do not come up"
}

# two_pipes SCHED: the client reaches the helper over h2 and h3, too, from an address that is on neither
two_pipes()
{
	helped "$1"
	ip link add c3 index 13 netns "$client" type veth peer name h3 index 33 netns "$helper"
	ip -n "$client" -batch - <<-EOF
		addr add 10.0.4.1/24 dev c3
		link set c3 up
		addr add 10.0.9.1/32 dev lo
		rule add from 10.0.9.1 table 9
		route add default via 10.0.2.2 dev c2 metric 1 table 9
		route add default via 10.0.4.2 dev c3 metric 2 table 9
		mptcp endpoint delete id 2
		mptcp endpoint add 10.0.9.1 id 2 subflow
	EOF
	ip -n "$helper" -batch - <<-EOF
		addr add 10.0.4.2/24 dev h3
		link set h3 up
		route add 10.0.9.1 via 10.0.2.1 dev h2 metric 1
		route add 10.0.9.1 via 10.0.4.1 dev h3 metric 2
	EOF
	ip -n "$server" route add 10.0.9.1 via 10.0.3.1
	on_helper sysctl -qw net.ipv4.conf.h3.rp_filter=0
	on_client sysctl -qw net.ipv4.conf.c2.rp_filter=0 net.ipv4.conf.c3.rp_filter=0 \
		net.ipv4.conf.all.ignore_routes_with_linkdown=1
	shape_segment "$client" c3 add "$pipe"
	shape_segment "$helper" h3 add "$pipe"
	start_server
	start_split --pipe h3
}

# Two helpers, and the pipe to one of them dies: what it had banked comes over the others.
two_helpers()
{
	helped "$1"
	ip netns add "$second_helper"
	ip link add c3 index 13 netns "$client" type veth peer name h5 index 35 netns "$second_helper"
	ip link add h4 index 34 netns "$second_helper" type veth peer name s3 index 23 netns "$server"
	ip -n "$client" -batch - <<-EOF
		addr add 10.0.4.1/24 dev c3
		link set c3 up
		route add $address via 10.0.4.2 dev c3 metric 3
		mptcp endpoint add 10.0.4.1 dev c3 id 3 subflow
	EOF
	ip -n "$second_helper" -batch - <<-EOF
		link set lo up
		addr add 10.0.4.2/24 dev h5
		addr add 10.0.5.1/24 dev h4
		link set h5 up
		link set h4 up
		route add $address via 10.0.5.2
	EOF
	ip -n "$server" -batch - <<-EOF
		addr add 10.0.5.2/24 dev s3
		link set s3 up
		route add 10.0.4.0/24 via 10.0.5.1
	EOF
	in_ns "$second_helper" sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.h4.rp_filter=0 net.ipv4.conf.h5.rp_filter=0
	shape_segment "$client" c3 add "$pipe"
	shape_segment "$second_helper" h5 add "$pipe"
	shape_segment "$second_helper" h4 add "$hs_path"
	shape_segment "$server" s3 add "$hs_path"
	start_server
	start_split
	in_ns "$second_helper" "$pamsplit" --pipe h5 --from-the-start --user 65534 --control "$control.2" run &
	within 50 test -S "$control.2" || fail "pamsplit does not come up on the second helper"
	in_mid_transfer "$2"
	"$pamsplit" --control "$control.2" show
	check "flows that the second helper split" "$(control=$control.2 total split)" == 1
	check "bytes through the second helper" "$(control=$control.2 total delivered)" ">" 800000
	check "resets" "$(total resets)" == 0
	check "longest gap in ms" "$(($(of gap_us) / 1000))" "<" "$3"
}

# A pipe goes away, or is left while it still stands: the flow goes on over the other one. Then
# it is back, and used again.
two_pipes_one_goes()
{
	two_pipes "$1"
	transfer --bytes 6M --timeout 60000 &
	transfer_pid=$!
	within 100 is_banked || fail "nothing is banked"
	"$2"
	within 20 grows "$helper" h3 || fail "nothing goes over the second pipe"
	sleep 0.5
	pipe_returns
	within 5 grows "$helper" h2 || fail "nothing goes over the first pipe, which is back"
	wait "$transfer_pid" || fail "the transfer did not survive"
	say "longest gap $(($(of gap_us) / 1000)) ms"
	check "longest gap in ms" "$(($(of gap_us) / 1000))" "<" "$3"
	check "flows that were split" "$(total split)" == 1
	no_resets
	check "subflows" "$(of subflows)" == 2
}
unplug() { ip -n "$helper" link set h2 down; }
leave_pipe()
{
	ip -n "$helper" route del 10.0.9.1 via 10.0.2.1
	ip -n "$client" route del default via 10.0.2.2 table 9
}
pipe_returns()
{
	ip -n "$helper" link set h2 up
	ip -n "$helper" route replace 10.0.9.1 via 10.0.2.1 dev h2 metric 1
	ip -n "$client" route replace default via 10.0.2.2 dev c2 metric 1 table 9
}

# grows NS DEV: 20 packets are sent over it in 100 ms
grows()
{
	local before

	before=$(packets "$@")
	sleep 0.1
	[ $(($(packets "$@") - before)) -ge 20 ]
}
packets() { ip -n "$1" -s -j link show "$2" | sed 's/.*"tx":{[^}]*"packets":\([0-9]*\).*/\1/'; }

for sched in $SCHEDS; do
	add paused "$sched" pipe_pauses 0.3 400
	add paused "$sched" pipe_pauses 0.7 750
	add paused "$sched" pipe_pauses 2 2000
	add paused "$sched" worker_stalls 1 1100
	add came_back "$sched"
	add narrow_upload "$sched" -4
	add narrow_upload "$sched" -6
	add narrow_download "$sched" -4
	add narrow_download "$sched" -6
	# over seeds default took 578 to 1014 ms, pams 1168 to 1334, minfct 236 to 516, where a plain router takes 2.0 to 2.3 s
	case $sched in
	default) most_ms=1200 ;;
	minfct) most_ms=800 ;;
	*) most_ms=1500 ;;
	esac
	add two_helpers "$sched" pipe_dies $most_ms
	add two_pipes_one_goes "$sched" leave_pipe 100
	add two_pipes_one_goes "$sched" unplug 300
done
run_cases "$@"
