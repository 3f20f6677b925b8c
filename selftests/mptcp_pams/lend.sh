#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A helper that splits TCP: what it lends, its own traffic first, two that help each other, what pamsd tells of it.
# shellcheck source=split_lib.sh
. "$(dirname "$0")/split_lib.sh"

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

for sched in $SCHEDS; do
	add capped "$sched"
	add lends_nothing "$sched"
	add reset_again_behind_nat "$sched"
	add own_first "$sched" --own h1
	# the kernel's own was seen between 73 and 97 %
	most=75
	[ "$sched" != default ] || most=100
	add dual "$sched" "$most"
	# each chunk is a new connection, which begins knowing nothing of the paths: 73 to 78 % (pams) and 78 to 92 % (minfct) were seen
	add dual "$sched" $((most + 20)) own
	add told_to_lend_nothing "$sched"
	[ "$sched" = default ] || add told "$sched"
done
run_cases "$@"
