#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A helper between server and client splits the second subflow's TCP.
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
as_if=()
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

plain()
{
	helped "$1"
	start_server
	start_split
	transfer --bytes 3M --requests 2 --gap 100 --timeout 60000
	"$pamsplit" --control "$control" show
	check "flows that were split" "$(total split)" == 1
	check "bytes through the splitter" "$(total received)" ">" 1000000
	all_comes
	check "early acknowledgments" "$(total early_acks)" ">" 100
	no_resets
}

over_ipv6()
{
	family=-6
	plain "$1"
}

# The helper translates addresses: the server sees the helper's.
behind_nat()
{
	masquerade=1
	plain "$1"
	check "subflows from the client's own address" \
		"$(on_server ss -Htn state established "src = $address" "dst = 10.0.2.1" | wc -l)" == 0
}

# Its firewall, at that priority of nftables (0: most, 10: firewalld's), closes in mid transfer: nothing goes past it.
walled()
{
	helped "$1"
	on_helper nft -f - <<-EOF
		table inet fw {
			chain forward {
				type filter hook forward priority $2
			}
		}
	EOF
	start_server
	start_split --silence 300
	in_mid_transfer wall
	check "bytes to the client past the wall" "$(to_client) - $(<"$work/before")" "<" 100000
	check "resets" "$(total resets)" == 1
	check "subflows at the server" "$(on_server ss -Htn state established "dst = 10.0.2.1" | wc -l)" == 0
}
wall()
{
	on_helper nft -f - <<-EOF
		add rule inet fw forward iifname "h2" drop
		add rule inet fw forward oifname "h2" drop
	EOF
	to_client >"$work/before"
}
to_client() { on_helper cat /sys/class/net/h2/statistics/tx_bytes; }

# Uploads aren't banked; what is acknowledged meanwhile is as ever.
both_ways()
{
	helped "$1"
	start_server
	start_split
	transfer --bytes 2M --dir both --timeout 60000
	check "flows that were split" "$(total split)" == 1
	no_resets
}

# It splits only where that pays: SCHED [LOSS [EARLY ACKNOWLEDGMENTS, 0: none [HS-PATH'S LOSS]]]
passed()
{
	local least=${3:-0}

	pipe=20mbit,5ms,100,${2:-loss,0%} hs_path=10mbit,20ms,100,${4:-loss,0%}
	helped "$1"
	start_server
	start_pamsplit
	transfer --bytes 3M --requests 2 --gap 100 --timeout 60000
	"$pamsplit" --control "$control" show
	check "bytes through the splitter" "$(total received)" ">" 300000
	if [ "$least" -gt 0 ]; then
		check "early acknowledgments" "$(total early_acks)" ">" "$least"
	else
		check "early acknowledgments" "$(total early_acks)" == 0
	fi
	no_resets
}

# Loss, reordering and duplicates, on the pipe and before it.
rough()
{
	pipe=5mbit,5ms,100,$2 hs_path=10mbit,20ms,100,$3
	helped "$1"
	start_server
	start_split
	transfer --bytes 2M --requests 2 --timeout 60000
	"$pamsplit" --control "$control" show
	check "flows that were split" "$(total split)" ">=" 1
	check "bytes through the splitter" "$(total received)" ">" 300000
	all_comes
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

disturbed()
{
	helped "$1"
	start_server
	start_split
	in_mid_transfer "$2"
	# time is virtual in either guest; without resets the gap is 0.9 s
	check "longest gap in ms" "$(($(of gap_us) / 1000))" "<" "$3"
}

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

kill_worker() { kill -9 "$(worker_pid)"; }
stop_worker() { kill -STOP "$(worker_pid)"; }
kill_all_of_it() { kill -9 "$helper_pid" "$(worker_pid)"; }
terminate() { kill "$helper_pid"; within 50 gone || fail "pamsplit goes on"; }
gone() { [ ! -e "/proc/$helper_pid" ] && ! on_helper nft list table inet pamsplit >/dev/null 2>&1; }
collapse() { pipe=1mbit,5ms; reshape_pipe; }
pipe_dies() { pipe=5mbit,5ms,100,loss,100%; reshape_pipe; }
reshape_pipe()
{
	shape_segment "$client" c2 change "$pipe"
	shape_segment "$helper" h2 change "$pipe"
}

# It steps out of the flow, which goes on through a plain router.
stepped_out()
{
	local before

	helped "$1"
	start_server
	start_split
	before=$(sent "$server" 2)
	in_mid_transfer terminate
	check "bytes on path 2" "$(sent "$server" 2) - $before" ">" 1000000
	check "subflows" "$(of subflows)" == 2
}

# Started again after a bad end it resets what the earlier run left, and splits anew.
started_again()
{
	helped "$1"
	start_server
	start_split
	in_mid_transfer kill_all_of_it
	start_split
	transfer --bytes 2M --timeout 60000
	check "flows that were split" "$(total split)" == 1
}

# Worker and guard are stopped, so the kernel alone is left to reset anything; then they go on.
frozen()
{
	local frozen

	helped "$1"
	start_server
	start_split
	frozen=("$helper_pid" "$(worker_pid)")
	transfer --bytes 4M --timeout 60000 &
	within 100 is_banked || fail "nothing is banked"
	kill -STOP "${frozen[@]}"
	within 60 is_not_joined || fail "the server's subflow lives on"
	wait $! || fail "the transfer did not survive"
	# half a second, and the server's next packet: a retransmission timeout that was doubled
	check "longest gap in ms" "$(($(of gap_us) / 1000))" "<" 1400
	# who joins meanwhile isn't split
	transfer --bytes 2M --timeout 60000
	check "subflows" "$(of subflows)" == 2
	kill -CONT "${frozen[@]}"
	within 50 splits || fail "pamsplit doesn't go on"
	check "flows that were split" "$(total split)" == 1
	sleep 0.2
	transfer --bytes 2M --timeout 60000
	check "flows that were split" "$(total split)" == 2
}
is_not_joined() { ! on_server ss -Htn state established "dst = 10.0.2.1" | grep -q .; }

# Somebody flushes all rules in mid transfer, as a restart of nftables does: the flows are reset, and pamsplit ends with status 1.
# Rules of others may come and go. With @many the guard hears too late of so many that the kernel drops events.
flushed()
{
	local many=${2:-1} pamsplit_job status=0

	helped "$1"
	start_server
	start_split
	pamsplit_job=$!
	change_others_rules "$many"
	sleep 0.5
	splits || fail "pamsplit ended, and its rules are there"
	in_mid_transfer flush_rules "$many"
	check "longest gap in ms" "$(($(of gap_us) / 1000))" "<" 600
	wait "$pamsplit_job" || status=$?
	check "exit status" "$status" == 1
	start_split
	transfer --bytes 2M --timeout 60000
	check "flows that were split" "$(total split)" == 1
}
flush_rules()
{
	change_others_rules "$1" on_helper nft flush ruleset
	within 20 has_ended || fail "pamsplit goes on without its rules"
}
has_ended() { [ ! -e "/proc/$helper_pid" ]; }

# change_others_rules COUNT [COMMAND...]: another table gets so many rules and goes, then the command runs, while the guard is stopped
change_others_rules()
{
	local count=$1
	shift

	kill -STOP "$helper_pid"
	{
		echo "add table inet other"
		echo "add chain inet other some"
		yes "add rule inet other some counter" | head -n "$count"
		echo "delete table inet other"
	} >"$work/rules"
	on_helper nft -f "$work/rules"
	"$@"
	kill -CONT "$helper_pid"
}

# Where tracking looks at no numbers, as OpenWrt's, a stranger's packets do: one in each quarter of the sequence numbers, with a
# time stamp of each half, as from either end. The flow goes on.
guessed()
{
	helped "$1"
	start_server
	start_split
	on_helper sysctl -qw net.netfilter.nf_conntrack_tcp_be_liberal=1
	in_mid_transfer guess
	no_resets
	check "bytes through the splitter, then" "$(total delivered) - $(<"$work/before")" ">" 1000000
}
guess()
{
	local ports

	ports=$("$pamsplit" --control "$control" show | sed -n 's/^flow.* client_port=\([0-9]*\).* server_port=\([0-9]*\).*/\1 \2/p')
	# shellcheck disable=SC2086 # two words
	set -- $ports
	on_server python3 "$here/../pamsplit/stranger.py" s2 "$address" "$2" 10.0.2.1 "$1"
	on_client python3 "$here/../pamsplit/stranger.py" c2 10.0.2.1 "$1" "$address" "$2"
	sleep 0.1
	total delivered >"$work/before"
}

# More packets than its queue takes come to a worker that stands still, and it counts those that were dropped.
overrun()
{
	helped "$1"
	start_server
	start_split
	check "packets without room in the queue" "$(total overruns)" == 0
	on_helper sysctl -qw net.netfilter.nf_conntrack_tcp_be_liberal=1
	transfer --bytes 4M --timeout 60000 &
	within 100 is_banked || fail "nothing is banked"
	flood
	wait $! || fail "the transfer did not survive"
	check "packets without room in the queue" "$(total overruns)" ">" 1000
}
flood()
{
	local ports worker

	worker=$(worker_pid)
	ports=$("$pamsplit" --control "$control" show | sed -n 's/^flow.* client_port=\([0-9]*\).* server_port=\([0-9]*\).*/\1 \2/p')
	# shellcheck disable=SC2086 # two words
	set -- $ports
	tc -n "$server" qdisc del dev s2 root
	kill -STOP "$worker"
	on_server python3 "$here/../pamsplit/stranger.py" s2 "$address" "$2" 10.0.2.1 "$1" 2500
	kill -CONT "$worker"
}

# What passes at three points, looked at by selftests/pamsplit/capture.py.
captured()
{
	local point

	pipe=5mbit,5ms,100,$2 hs_path=10mbit,20ms,100,$3
	helped "$1"
	start_server
	"${4:-start_split}"
	capture "$client" c2 client
	capture "$helper" h1 helper
	capture "$server" s2 server
	for point in client helper server; do
		within 50 test -e "$work/$point.pcap" || fail "no capture at the $point"
	done
	sleep 0.5
	transfer --bytes 2M --timeout 60000
	sleep 0.5
	# the server's first, so that what it saw was seen before
	for point in server helper client; do
		pkill -INT -f "$work/$point.pcap"
		within 50 not_captured "$point" || fail "the capture at the $point goes on"
	done
	python3 "$here/../pamsplit/capture.py" "$work/client.pcap" "$work/helper.pcap" "$work/server.pcap"
}

capture() { ip netns exec "$1" tcpdump -Z root -qnU --immediate-mode -i "$2" -w "$work/$3.pcap" tcp & }
not_captured() { ! pgrep -f "$work/$1.pcap" >/dev/null; }

# pamsctl doctor asks it, at its usual place.
diagnosed()
{
	local worker

	need_tool "$pamsctl"
	helped "$1"
	start_server
	mkdir -p /run/pamsplit
	control=/run/pamsplit/socket
	start_split
	diagnose "no flow came that joins" || fail "doctor says nothing of a helper without flows"
	transfer --bytes 1M --timeout 60000
	diagnose "pamsplit runs: 1 flows go through it, 1 did" || fail "doctor doesn't know its flow"
	on_helper sysctl -qw net.ipv4.ip_forward=0 net.ipv6.conf.all.forwarding=0
	diagnose "this machine forwards nothing" || fail "doctor doesn't see that nothing is forwarded"
	worker=$(worker_pid)
	kill_all_of_it
	within 50 test ! -e "/proc/$worker/fd/0" || fail "the worker lives on"
	diagnose "pamsplit has ended without leaving its flows" || fail "doctor doesn't see that it has gone"
	rm -r /run/pamsplit
	! diagnose pamsplit || fail "doctor speaks of pamsplit where there is none"
}
diagnose() { on_helper "$pamsctl" doctor >"$work/doctor" 2>&1 || true; grep "$1" "$work/doctor" || { grep helper "$work/doctor"; false; }; }

# Nobody but the named clients is split.
only_clients()
{
	helped "$1"
	start_server
	on_helper "$pamsplit" --client 10.0.2.99 --from-the-start --user 65534 --control "$control" run &
	within 50 splits || fail "pamsplit does not come up"
	transfer --bytes 1M --timeout 60000
	check "flows that were split" "$(total split) + $(total refused)" == 0
}

# What clients get together has a cap, and it is kept; a subflow more waits meanwhile.
capped()
{
	helped "$1"
	start_server
	start_split --lend 100
	transfer --bytes 1500K --conns 2 --stagger 700 --timeout 60000
	"$pamsplit" --control "$control" show
	check "bytes a second through the helper" \
		"$(total delivered) * 1000000 / ($(of fct_us | sort -n | tail -n 1) + 700000)" "<" 110000
	check "bytes through the helper" "$(total delivered)" ">" 100000
	check "joins that were put off" "$(total put_off)" ">=" 1
	no_resets
}

# It is told to lend nothing, and later to lend again: what it had banked comes elsewhere, joins
# are refused with the reason, and an endpoint that is new afterwards joins.
lends_nothing()
{
	local before

	helped "$1"
	start_server
	start_split
	in_mid_transfer kill -USR1 "$helper_pid"
	check "resets" "$(total resets)" == 1
	check "longest gap in ms" "$(($(of gap_us) / 1000))" "<" 850
	before=$(counter "$client" TcpAttemptFails)
	transfer --bytes 500K --timeout 60000
	check "flows that were split" "$(total split)" == 1
	check "joins that were refused" "$(total refused)" ">=" 1
	check "joins that failed at once" "$(counter "$client" TcpAttemptFails) - $before" ">=" 1
	kill -USR2 "$helper_pid"
	sleep 0.1
	transfer --bytes 1M --timeout 60000
	check "flows that were split" "$(total split)" == 2
}

# The reset to the server is lost, behind a helper that translates addresses: what the server sends then is of no flow that is
# known, and the answer has the addresses that the server knows.
reset_again_behind_nat()
{
	masquerade=1
	helped "$1"
	start_server
	start_split
	in_mid_transfer lose_the_reset
	check "packets of flows that aren't known" "$(total unknown)" ">=" 1
}
lose_the_reset()
{
	on_server nft -f - <<-EOF
		table inet lost {
			chain in {
				type filter hook input priority 0
				iifname "s2" tcp flags & rst == rst drop
			}
		}
	EOF
	kill -USR1 "$helper_pid"
	sleep 0.1
	on_server nft delete table inet lost
	has_subflow || fail "the reset was not lost"
	within 30 has_no_subflow || fail "the server's subflow goes on"
}
has_subflow() { on_server ss -Htn state established "dst = 10.0.3.1" | grep -q .; }
has_no_subflow() { ! has_subflow; }

# The helper's own download goes first: it takes hardly longer than it does alone.
own_first()
{
	local alone_us beside_us client_pid

	hs_path=5mbit,20ms pipe=20mbit,5ms
	helped "$1"
	start_server
	own_download || fail "the helper's own download, alone"
	alone_us=$(of fct_us "$work/own")
	start_split "${@:2}"
	transfer --bytes 6M --timeout 60000 &
	client_pid=$!
	within 100 has_come 300000 || fail "nothing came through the helper"
	own_download || fail "the helper's own download"
	beside_us=$(of fct_us "$work/own")
	wait "$client_pid" || fail "the transfer"
	"$pamsplit" --control "$control" show
	say "alone $((alone_us / 1000)) ms, beside a client $((beside_us / 1000)) ms"
	# both alike would be twice as long
	check "its own download in us" "$beside_us" "<" "$((alone_us * 3 / 2))"
}
own_download()
{
	# shellcheck disable=SC2086 # an option or nothing
	on_helper "$xfer" client ${family/-4/} --tcp --json --bytes 2M --timeout 60000 "$address" $port >"$work/own"
}
has_come() { [ "$(total received)" -gt "$1" ]; }

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

# dual SCHED PERCENT [OPTION...]: two devices, each the helper of the other, download 1 MB
# now and then. Each chunk takes at most that part of the time without the other device.
dual()
{
	local device alone=() sched=$1 most=$2
	shift 2

	direct=5mbit,25ms hs_path=5mbit,25ms pipe=20mbit,3ms
	helped "$sched"
	start_server
	ip -n "$client" mptcp endpoint delete id 2
	chunks
	for device in client helper; do
		alone+=("$(mean_us "$device")")
	done
	ip -n "$client" mptcp endpoint add 10.0.2.1 dev c2 id 2 subflow
	ip -n "$helper" -batch - <<-EOF
		mptcp limits set subflow 8 add_addr_accepted 8
		mptcp endpoint add 10.0.2.2 dev h2 id 2 subflow
		route add $address via 10.0.2.1 dev h2 metric 2
	EOF
	ip -n "$server" route add 10.0.2.2 via 10.0.1.1
	on_client sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.c1.rp_filter=0 net.ipv4.conf.c2.rp_filter=0
	on_client "$pamsplit" --pipe c2 --from-the-start --user 65534 --control "$control.client" ${1:+--own c1} run &
	within 50 test -S "$control.client" || fail "pamsplit does not come up on the client"
	start_split ${1:+--own h1}
	chunks
	"$pamsplit" --control "$control" show
	"$pamsplit" --control "$control.client" show
	check "flows that the helper splits" "$(total split)" ">=" 1
	check "flows that the client splits" "$(control=$control.client total split)" ">=" 1
	for device in client helper; do
		say "a chunk at the $device: alone $((alone[0] / 1000)) ms, together $(($(mean_us "$device") / 1000)) ms"
		check "a chunk at the $device, % of alone" "$(mean_us "$device") * 100 / ${alone[0]}" "<=" "$most"
		alone=("${alone[@]:1}")
	done
}
chunks()
{
	local options=(--json --bytes 1M --requests 12 --gap 1000-5000 --timeout 60000) helper_chunks

	on_helper "$xfer" client "${options[@]}" --seed 2 "$address" "$port" >"$work/chunks.helper" &
	helper_chunks=$!
	on_client "$xfer" client "${options[@]}" "$address" "$port" >"$work/chunks.client" || fail "chunks at the client"
	wait "$helper_chunks" || fail "chunks at the helper"
}
mean_us() { of fct_us "$work/chunks.$1" | awk '{ s += $1 } END { printf "%.0f\n", s / NR }'; }

# pamsd on the helper asks pamsplit, and the server's kernel knows of the pipe.
told()
{
	local key name

	need_module
	need_tool "$pamsd"
	need_tool "$pamsctl"
	helped "$1"
	start_server
	start_split
	key=$("$pamsd" --genkey)
	cat >"$work/server.conf" <<-END
		control = "$work/server.socket"
		server { peer "helper" { key = "$key" prefixes = {"10.0.2.0/24"} } }
	END
	cat >"$work/reporter.conf" <<-END
		control = "$work/reporter.socket"
		reporter {
			to "server" { address = "$address" key = "$key" via = {"h1"} }
			interface "h2" { about = {"10.0.2.1"} measure = "pamsplit" socket = "$control" }
		}
	END
	chmod 600 "$work/server.conf" "$work/reporter.conf"
	on_server "$pamsd" -c "$work/server.conf" 2>>"$work/server.err" &
	on_helper "$pamsd" -c "$work/reporter.conf" 2>>"$work/reporter.err" &
	for name in server reporter; do
		within 50 test -S "$work/$name.socket" || fail "no pamsd: $(cat "$work/$name.err")"
	done
	in_mid_transfer within 50 knows_pipe
	say "$(cat "$work/pipe")"
	# 5 Mbit/s of frames are 0.6 MB/s of payload
	check "rate of the pipe" "$(pipe_word rate_byteps)" ">" 400000
	check "rate of the pipe" "$(pipe_word rate_byteps)" "<" 700000
	check "delay of the pipe in us" "$(pipe_word delay_us)" ">=" 5000
	check "bytes before it" "$(pipe_word backlog_bytes)" ">" 20000
}
knows_pipe()
{
	on_server "$pamsctl" --json path show 2>/dev/null | tr -d ' \n' | grep -o '"pipe":{[^}]*}' >"$work/pipe" &&
		[ "$(pipe_word rate_byteps)" -gt 400000 ]
}
pipe_word() { sed "s/.*\"$1\":\([0-9]*\).*/\1/; q" "$work/pipe"; }

# A cap of pamsd on the helper: what is lent in a day is used up, in mid transfer, and it is lent again when the cap is gone.
told_to_lend_nothing()
{
	local pamsd_pid

	need_tool "$pamsd"
	helped "$1"
	start_server
	start_split
	cat >"$work/caps.conf" <<-END
		control = "$work/caps.socket"
		state = "$work/caps.json"
		cap "lent" { socket = "$control" quota = "1M" per = "day" then = "lend nothing" }
	END
	chmod 600 "$work/caps.conf"
	rm -f "$work/caps.json" "$work/caps.socket"
	on_helper "$pamsd" -c "$work/caps.conf" 2>>"$work/caps.err" &
	pamsd_pid=$!
	within 50 test -S "$work/caps.socket" || fail "no pamsd: $(cat "$work/caps.err")"
	check "it lends" "$(total lends)" == 1
	in_mid_transfer within 100 lends_no_more
	check "bytes that were lent" "$(total lent)" ">=" 1000000
	check "bytes that were lent" "$(total lent)" "<" 2000000
	transfer --bytes 500K --timeout 60000
	check "joins that were refused" "$(total refused)" ">=" 1
	check "flows that were split" "$(total split)" == 1
	pkill -P "$pamsd_pid"
	within 50 lends_again || fail "nothing is lent: $(cat "$work/caps.err")"
	transfer --bytes 1M --timeout 60000
	check "flows that were split" "$(total split)" == 2
}
lends_no_more() { [ "$(total lends)" = 0 ]; }
lends_again() { [ "$(total lends)" = 1 ]; }

# Where nothing shapes the links the processor limits, here one for all three machines: the split takes at most two and a half
# times the router's time, and what it adds to an answer is less than 0.3 ms in 99 of 100. In a user-mode kernel's virtual time
# a processor costs nothing, 20 MB take some 0.2 ms: no times are compared there.
unshaped()
{
	hs_path=- pipe=-
	helped "$1"
	# all goes through the helper
	on_client ip mptcp endpoint add 10.0.1.1 dev c1 id 1 subflow backup
	start_server
	bulk_and_answers router
	start_split
	bulk_and_answers split
	check "flows that were split" "$(total split)" == 2
	check "bytes through the splitter" "$(total received)" ">" 50000000
	! grep -q "User Mode Linux" /proc/cpuinfo || return 0
	check "2.5 times the router's time in us" "$((5 * $(<"$work/router-bulk") / 2))" ">=" "$(<"$work/split-bulk")"
	check "99 of 100 answers in us" "$(<"$work/split-answer")" "<" "$(($(<"$work/router-answer") + 300))"
}
bulk_and_answers()
{
	transfer --bytes 20M --requests 3 --timeout 60000
	of fct_us | sort -n | head -n 1 >"$work/$1-bulk"
	transfer --bytes 500 --requests 300 --gap 2 --timeout 60000
	of fct_us | sort -n | sed -n 297p >"$work/$1-answer"
	say "$1: 20 MB in $(<"$work/$1-bulk") us, 99 of 100 answers within $(<"$work/$1-answer") us"
}

# The processor's time that a split takes, and a proxy that splices, in turns, over links that nothing shapes. Either's has in it what the
# kernel does for the ends while it sends a packet. The router's time is nobody's: that of its transfers is told instead.
costs()
{
	local rounds=3 whole=0 splice_pid round

	! grep -q "User Mode Linux" /proc/cpuinfo || never "in virtual time a processor costs nothing"
	hs_path=- pipe=-
	helped "$1"
	on_client ip mptcp endpoint add 10.0.1.1 dev c1 id 1 subflow backup
	start_server
	ip netns exec "$helper" "$XFER_DIR/splice" "$port" 10.0.3.2 &
	splice_pid=$!
	within 50 splices || fail "the proxy does not come up"
	for ((round = 0; round < rounds; round++)); do
		transfer --bytes 40M --timeout 60000
		of fct_us >>"$work/router-us"
		spliced --bytes 40M --timeout 60000
		start_split
		transfer --bytes 2M --timeout 60000
		costing split "$(worker_pid)" transfer --bytes 40M --timeout 60000
		check "bytes through the splitter" "$(total received)" ">" 40000000
		whole=$((whole + $(total whole)))
		kill "$helper_pid"
		within 50 gone || fail "pamsplit does not end"
	done
	say "40 MB: router $(median "$work/router-us") us; processor ms a GB: splice $(median "$work/splice-ms"), split $(median "$work/split-ms")"
	# 1 to 33 MB a round: as each round's rate lets packets of 64 KB go whole
	check "bytes in the packets in which they came, in three rounds" "$whole" ">" 1000000
}
splices() { [[ $(<"/proc/$splice_pid/net/tcp") == *$(printf '00000000:%04X' "$port")" "* ]]; }
spliced()
{
	costing splice "$splice_pid" on_client "$xfer" client --tcp --json "$@" 10.0.2.2 "$port" >"$work/json" || fail "a transfer through the proxy"
}
median() { sort -n "$1" | sed -n '2p'; }
# costing NAME PID COMMAND...: in ms a GB, of 40 MB
costing()
{
	local before after rest

	read -r before rest <"/proc/$2/schedstat"
	"${@:3}"
	read -r after rest <"/proc/$2/schedstat"
	echo "$(((after - before) / 40000))" >>"$work/$1-ms"
}

# Its first subflow through the helper is not split, and is left alone.
first_subflow_is_not_split()
{
	helped "$1"
	start_server
	start_split
	ip -n "$client" route del "$address" via 10.0.1.2
	on_client ip mptcp endpoint flush
	transfer --bytes 500K --timeout 60000
	check "flows that were split" "$(total split) + $(total refused) + $(total unknown)" == 0
}

# For ten minutes after the machine's start, here 15 s more, MPTCP in mid-stream is reset, since a run before it may have split that.
# Later an idle connection whose tracking the helper has forgotten goes on, though pamsplit has run from the start on.
just_started()
{
	helped "$1"
	start_server
	echo "585.00 0.00" >"$work/uptime"
	# in the mount namespace of its own that ip netns makes
	# shellcheck disable=SC2016 # the arguments of that shell
	as_if=(sh -c 'mount --bind "$0" /proc/uptime && exec "$@"' "$work/uptime")
	start_split
	on_helper sysctl -qw net.netfilter.nf_conntrack_tcp_timeout_established=3
	ip -n "$client" route del "$address" via 10.0.1.2
	on_client ip mptcp endpoint flush
	! (pauses) || fail "it was not reset"
	sleep 10
	pauses
}
pauses() { transfer --bytes 100K --requests 2 --gap 6000 --timeout 20000; }

# Who asks while the worker has no descriptor left is answered once it has one, and doesn't wake it all the time until then: in the
# user-mode kernel time would stand still.
short_of_descriptors()
{
	local worker asks

	type prlimit >/dev/null 2>&1 || skip "no prlimit here"
	helped "$1"
	start_server
	start_split
	worker=$(worker_pid)
	prlimit --pid "$worker" --nofile="$(find "/proc/$worker/fd" -type l | wc -l)":1024
	"$pamsplit" --control "$control" show >"$work/shown" &
	asks=$!
	sleep 1
	transfer --bytes 500K --timeout 60000
	[ ! -s "$work/shown" ] || fail "there was a descriptor"
	prlimit --pid "$worker" --nofile=1024:1024
	wait "$asks"
	grep -q ^totals "$work/shown" || fail "it was not answered"
}

for sched in $SCHEDS; do
	add plain "$sched"
	add over_ipv6 "$sched"
	add behind_nat "$sched"
	add walled "$sched" 0
	add walled "$sched" 10
	add both_ways "$sched"
	add passed "$sched"
	add passed "$sched" loss,0% 0 loss,2%
	add passed "$sched" loss,2% 50
	add rough "$sched" loss,2% loss,0%
	add rough "$sched" loss,1%,duplicate,2% loss,1%,duplicate,2%
	add rough "$sched" reorder,5% reorder,5%
	add disturbed "$sched" kill_worker 600
	add disturbed "$sched" stop_worker 850
	add disturbed "$sched" kill_all_of_it 850
	add disturbed "$sched" collapse 4000
	# until the server's kernel takes the subflow for stale, as behind a router, where that takes 2.0 to 2.3 s
	add disturbed "$sched" pipe_dies 2000
	add paused "$sched" pipe_pauses 0.3 400
	add paused "$sched" pipe_pauses 0.7 750
	add paused "$sched" pipe_pauses 2 2000
	add paused "$sched" worker_stalls 1 1100
	add stepped_out "$sched"
	add started_again "$sched"
	add frozen "$sched"
	add flushed "$sched"
	add flushed "$sched" 3000
	if ! type python3 >/dev/null 2>&1; then
		echo "# no python3 here: nobody guesses numbers of $sched, or floods it"
	else
		add guessed "$sched"
		add overrun "$sched"
	fi
	add only_clients "$sched"
	add diagnosed "$sched"
	if ! type tcpdump >/dev/null 2>&1; then
		echo "# no tcpdump here: captures of $sched aren't checked"
	else
		add captured "$sched" loss,0% loss,0%
		add captured "$sched" loss,1%,duplicate,1% loss,1%,duplicate,1%
		add captured "$sched" loss,3% loss,0% start_pamsplit
	fi
	add capped "$sched"
	add lends_nothing "$sched"
	add reset_again_behind_nat "$sched"
	add own_first "$sched" --own h1
	add came_back "$sched"
	add narrow_upload "$sched" -4
	add narrow_upload "$sched" -6
	add narrow_download "$sched" -4
	add narrow_download "$sched" -6
	# over seeds default took 578 to 1014 ms, pams 1168 to 1334, minfct 236 to 516, where a plain router takes 2.0 to 2.3 s
	add two_helpers "$sched" pipe_dies 1500
	add two_pipes_one_goes "$sched" leave_pipe 100
	add two_pipes_one_goes "$sched" unplug 300
	# the kernel's own was seen between 73 and 97 %
	most=75
	[ "$sched" != default ] || most=100
	add dual "$sched" "$most"
	# each chunk is a new connection, which begins knowing nothing of the paths: 73 to 78 % (pams) and 78 to 92 % (minfct) were seen
	add dual "$sched" $((most + 20)) own
	add told_to_lend_nothing "$sched"
	add unshaped "$sched"
	[ "$sched" != default ] || add costs default
	add first_subflow_is_not_split "$sched"
	add just_started "$sched"
	add short_of_descriptors "$sched"
	[ "$sched" = default ] || add told "$sched"
done
run_cases "$@"
