#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A helper that splits TCP (split_lib.sh): transfers, however it ends, what captures show, what it costs.
# shellcheck source=split_lib.sh
. "$(dirname "$0")/split_lib.sh"

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

disturbed()
{
	helped "$1"
	start_server
	start_split
	in_mid_transfer "$2"
	# time is virtual in either guest; without resets the gap is 0.9 s
	check "longest gap in ms" "$(($(of gap_us) / 1000))" "<" "$3"
}

kill_worker() { kill -9 "$(worker_pid)"; }
stop_worker() { kill -STOP "$(worker_pid)"; }
# its name in the network namespace is free then
kill_all_of_it() { kill -9 "$helper_pid" "$(worker_pid)"; within 50 ended || fail "it doesn't end"; }
ended() { [ ! -e "/proc/$helper_pid" ] || grep -q '^State:.*zombie' "/proc/$helper_pid/status"; }
terminate() { kill "$helper_pid"; within 50 gone || fail "pamsplit goes on"; }
gone() { [ ! -e "/proc/$helper_pid" ] && ! on_helper nft list table inet pamsplit >/dev/null 2>&1; }
collapse() { pipe=1mbit,5ms; reshape_pipe; }
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
	# the kernel's timer sends again what was banked, sooner than the rules reset the subflow: three seconds after the last beat
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

	pipe=$2 hs_path=$3
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
		add captured "$sched" 5mbit,5ms,100 10mbit,20ms,100
		add captured "$sched" 5mbit,5ms,100,loss,1%,duplicate,1% 10mbit,20ms,100,loss,1%,duplicate,1%
		# no queue at the pipe: the first loss begins the split
		add captured "$sched" 20mbit,5ms,100,loss,3% 10mbit,20ms,100 start_pamsplit
	fi
	add unshaped "$sched"
	[ "$sched" != default ] || add costs default
	add first_subflow_is_not_split "$sched"
	add just_started "$sched"
	add short_of_descriptors "$sched"
done
run_cases "$@"
