# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What the topics of pamsplit have in common: a helper between server and client that splits the second subflow's TCP.
#
#	client                      helper                      server
#	c1 10.0.1.1 ---------- 5 Mbit/s 25 ms ----------- s1
#	c2 10.0.2.1 --- pipe --- h2   h1 --- HS-path ---- s2   10.0.0.2 (lo)
#	            5 Mbit/s          10 Mbit/s
#	              5 ms              20 ms
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

direct=5mbit,25ms hs_path=10mbit,20ms pipe=5mbit,5ms
helper=pams-h-$$
second_helper=pams-g-$$
further=("$helper" "$second_helper")
pamsplit=$PAMS_TOOLS/pamsplit
control=$work/pamsplit
helper_pid=
as_if=()	# words before its command
masquerade=

on_helper() { in_ns "$helper" "$@"; }

# helped SCHED: path 2 goes through a helper that runs pamsplit
helped()
{
	local net=10.0. host=. bits=24 all=32 nodad=

	need_tool "$pamsplit"
	paths "$1" "$direct"
	[ "$family" = -4 ] || net=fd00: host=:: bits=64 all=128 nodad=nodad
	ip netns add "$helper"
	ip link add c2 index 12 netns "$client" type veth peer name h2 index 32 netns "$helper"
	ip link add h1 index 31 netns "$helper" type veth peer name s2 index 22 netns "$server"
	ip -n "$client" -batch - <<-EOF
		addr add ${net}2${host}1/$bits dev c2 $nodad
		link set c2 up
		route add $address via ${net}2${host}2 dev c2 metric 2
		mptcp endpoint add ${net}2${host}1 dev c2 id 2 subflow
	EOF
	ip -n "$helper" -batch - <<-EOF
		link set lo up
		addr add ${net}2${host}2/$bits dev h2 $nodad
		addr add ${net}3${host}1/$bits dev h1 $nodad
		link set h2 up
		link set h1 up
		route add $address/$all via ${net}3${host}2
	EOF
	ip -n "$server" -batch - <<-EOF
		addr add ${net}3${host}2/$bits dev s2 $nodad
		link set s2 up
	EOF
	[ -n "$masquerade" ] || ip -n "$server" route add "${net}2${host}0/$bits" via "${net}3${host}1"
	on_helper sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.h1.rp_filter=0 net.ipv4.conf.h2.rp_filter=0
	[ -z "$masquerade" ] || on_helper nft -f - <<-EOF
		table inet nat {
			chain out {
				type nat hook postrouting priority 100
				oifname "h1" masquerade
			}
		}
	EOF
	shape_segment "$client" c2 add "$pipe"
	shape_segment "$helper" h2 add "$pipe"
	shape_segment "$helper" h1 add "$hs_path"
	shape_segment "$server" s2 add "$hs_path"
	within 30 links_are_up || fail "the links do not come up"
}

# shape_segment NS DEV add|change RATE,DELAY[,LIMIT[,OPTION...]]|-
shape_segment()
{
	local rate delay limit options

	[ "$4" != - ] || return 0
	IFS=, read -r rate delay limit options <<<"$4"
	# shellcheck disable=SC2086 # a list of words
	tc -n "$1" qdisc "$3" dev "$2" root netem rate "$rate" delay "$delay" limit "${limit:-100}" ${options//,/ }
}

# start_split [OPTION...]: run pamsplit on the helper, and wait until it splits, from the start
start_split() { start_pamsplit --from-the-start "$@"; }
start_pamsplit()
{
	# as a unit of Type=notify, though nobody listens
	NOTIFY_SOCKET=$work/notify on_helper "${as_if[@]}" "$pamsplit" --pipe h2 --user 65534 --control "$control" "$@" run &
	within 50 splits || fail "pamsplit does not come up"
	helper_pid=$(on_helper_pid)
}
on_helper_pid() { ip netns pids "$helper" | while read -r pid; do [ "$(cat "/proc/$pid/comm")" != pamsplit ] || echo "$pid"; done | sort -n | head -n 1; }
worker_pid() { pgrep -P "$helper_pid"; }
splits() { "$pamsplit" --control "$control" show >/dev/null 2>&1; }

# total NAME: of pamsplit's counters
total() { "$pamsplit" --control "$control" show | sed -n "/^totals/s/.* $1=\([0-9]*\).*/\1/p"; }

# A device that has all, as some of it was also sent elsewhere, closes, and resets what still comes: what the server sends then is unknown.
has_closed() { [ "$(counter "$client" TcpExtTCPAbortOnData)" -gt 0 ]; }
all_came() { [ "$(total delivered)" = "$(total received)" ] || has_closed; }
all_comes() { within 30 all_came || fail "of $(total received) bytes $(total delivered) came"; }
no_resets()
{
	check "resets" "$(total resets)" == 0
	has_closed || check "packets of flows that aren't known" "$(total unknown)" == 0
}

# in_mid_transfer COMMAND...: do that while data is banked; every byte still comes
in_mid_transfer()
{
	transfer --bytes 4M --timeout 60000 &
	within 100 is_banked || fail "nothing is banked"
	"$@"
	wait $! || fail "the transfer did not survive"
	say "took $(($(duration_us) / 1000)) ms, longest gap $(($(of gap_us) / 1000)) ms"
}
is_banked() { [ "$(banked)" -gt 50000 ]; }
banked() { "$pamsplit" --control "$control" show | sed -n '/^flow/s/.* banked=\([0-9]*\).*/\1/p' | sum; }

pipe_dies() { pipe=5mbit,5ms,100,loss,100%; reshape_pipe; }
reshape_pipe()
{
	shape_segment "$client" c2 change "$pipe"
	shape_segment "$helper" h2 change "$pipe"
}
