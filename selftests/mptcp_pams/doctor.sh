#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What pamsctl doctor sees: sockets that listen with another scheduler than new ones get, rules that count for nothing, links whose
# large packets vanish, data that nobody answers, buffers and memory that are too small, traffic that goes past MPTCP, unlike MTUs.
#
#	client                                     server
#	         c1 ---- 20 Mbit/s 10 ms ---- s1
#	         c2 ---- 10 Mbit/s 20 ms ---- s2   10.0.0.2
#
# Each is looked for before the fault is made, too.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

first=20mbit,10ms second=10mbit,20ms

begin()
{
	need_tool "$pamsctl"
	paths "${1:-minfct}" "$first" "$second"
}

# doctor NS [WORD...]: what it says, in $work/doctor; $status
doctor()
{
	local ns=$1
	shift
	status=0
	in_ns "$ns" "$pamsctl" doctor "$@" >"$work/doctor" 2>&1 || status=$?
	cat "$work/doctor"
}

# finds NS GRADE WHAT TEXT: a line of that grade that has the text, an extended regular expression
finds() { doctor "$1"; grep -qE "^$2 +$3 .*$4" "$work/doctor" || fail "no '$2' of '$3' says '$4'"; }
# finds_no NS WHAT TEXT
finds_no() { doctor "$1"; ! grep -E "^[a-z]+ +$2 .*$3" "$work/doctor" || fail "'$2' says '$3'"; }
# advises TEXT: as the line before it asks for
advises() { grep -qF -- "-> $1" "$work/doctor" || fail "it doesn't advise '$1'"; }

# upload [OPTION...]: in the background, as $transfer
upload()
{
	# not on_client, a shell of which would be ended in the client's place
	ip netns exec "$client" "$xfer" client --dir up "$@" "$address" "$port" >/dev/null &
	transfer=$!
	sleep 2
}
end_upload() { kill -9 "$transfer"; wait "$transfer" || true; }

# A socket keeps the scheduler that it was made with, as nginx keeps its sockets over a reload.
listeners()
{
	begin default
	need_module
	start_server
	finds "$server" ok listens "xfer.* port $port, with default"
	set_sysctl net.mptcp.scheduler=minfct
	finds "$server" note listens "xfer.* port $port, with default, .* older than the choice of minfct"
	advises "restart it, a reload won't do: pamsctl up --server --restart"
	stop_server
	start_server
	finds "$server" ok listens "xfer.* port $port, with minfct"
}

# Rules that nobody follows, that never come to be asked, or that are about what there is none of.
rules()
{
	begin
	finds_no "$client" rules ""
	on_client "$pamsctl" rule add remote 443 use single
	finds "$client" ok rules "connections follow 1 rules"
	set_sysctl net.mptcp.scheduler=default
	finds "$client" note rules "1 rules count for nothing: new sockets use default"
	advises "pamsctl sched set minfct"
	set_sysctl net.mptcp.scheduler=minfct
	on_client "$pamsctl" rule add peer 10.0.0.0/8 client use pams
	on_client "$pamsctl" rule add local 1-1000 use pams
	finds_no "$client" rules "never counts"
	on_client "$pamsctl" rule add peer 10.0.1.0/24 remote 80 client use single
	finds "$client" note rules "rule 4 never counts: rule 2 before it fits all"
	advises "pamsctl rule del 4, and rule add 2 ..."
	on_client "$pamsctl" rule del 4
	on_client "$pamsctl" rule add peer 10.0.0.0/8 use minfct overflow 500ms
	finds "$client" note rules "an overflow, but no path costs anything"
	on_client "$pamsctl" path set dev c2 cost 1
	finds_no "$client" rules "overflow"
	finds_no "$client" rules "never counts"
}

# Small packets pass, and nobody says why large ones don't. Uploads wait, while downloads may do well.
large_packets()
{
	begin
	start_server
	upload --bytes 1G --timeout 100000
	finds "$client" ok "large packet" "2 of 2 paths"
	finds_no "$client" "large packet" vanish
	finds_no "$client" unanswered ""
	in_ns "$server" nft 'table inet hole { chain in { type filter hook input priority 0; iifname s2 meta length > 1400 drop; }; }' \
		2>"$work/said" || never "no nftables in this guest: $(head -n 1 "$work/said")"
	sleep 6
	finds "$client" bad "large packet" "c2: packets of 1500 bytes to 10.0.0.2 and back vanish, those of 1400 pass; .* waits"
	advises "ip link set c2 mtu 1400, at both ends sysctl -w net.ipv4.tcp_mtu_probing=1"
	[ "$status" = 1 ] || fail "exit $status"
	finds "$client" note unanswered "c2: nothing was acknowledged for [0-9.]+s of what 10.0.2.1"
	# a router that says so is no hole
	in_ns "$server" nft delete table inet hole
	end_upload
	set_mtu 2 1400
	upload --bytes 1G --timeout 100000
	finds "$client" ok "large packet" "2 of 2 paths"
}

# A path that is dead beside one that carries on.
unanswered()
{
	begin
	start_server
	upload --bytes 1G --timeout 100000
	finds_no "$client" unanswered ""
	reshape 2 "$second,100,loss,100%"
	sleep 6
	finds "$client" note unanswered "c2: nothing was acknowledged for [0-9.]+s of what 10.0.2.1 port .*, connection 0x"
	advises "pamsctl links: is the link alive?"
	finds_no "$client" unanswered "c1: "
	finds_no "$client" "large packet" vanish
	end_upload
}

# Two paths of 30 Mbit/s together and 40 ms take 150 KB.
buffers()
{
	begin default
	start_server
	upload --bytes 1G --timeout 100000
	finds "$client" ok buffers "net.ipv4.tcp_wmem: .* the largest connection's paths hold"
	finds_no "$client" buffers "but the paths"
	end_upload
	set_sysctl net.ipv4.tcp_wmem="4096 16384 65536"
	upload --bytes 1G --timeout 100000
	finds "$client" note buffers "net.ipv4.tcp_wmem: 65536 bytes of data at most, but the paths of connection"
	end_upload
	set_sysctl net.ipv4.tcp_wmem="4096 16384 4194304"
	upload --bytes 1G --timeout 100000
	finds_no "$server" buffers "tcp_rmem: .* but the paths"
	end_upload
	set_sysctl net.ipv4.tcp_rmem="4096 131072 131072"
	stop_server
	start_server
	upload --bytes 1G --timeout 100000
	finds "$server" note buffers "net.ipv4.tcp_rmem: 65536 bytes of data at most, but the paths of connection"
	end_upload
}

# The whole machine's, told where it is set and where it ran short.
memory()
{
	local before

	begin default
	before=$(sysctl -n net.ipv4.tcp_mem)
	start_server
	finds_no "$server" memory "ran short"
	"$pamsctl" doctor | grep "^ok *memory .*TCP's sockets hold" || fail "nothing is said of memory"
	upload --bytes 1G --timeout 100000
	# a page is enough to be short
	sysctl -qw net.ipv4.tcp_mem="1 1 100000"
	sleep 1
	! "$pamsctl" doctor >"$work/doctor" || say "it finds nothing bad"
	sysctl -qw net.ipv4.tcp_mem="$before"
	grep "^bad *memory .*TCP is short of memory" "$work/doctor" || fail "$(grep memory "$work/doctor")"
	advises 'sysctl -w net.ipv4.tcp_mem='
	# counted where the socket is that finds it first
	doctor "$client"
	in_ns "$server" "$pamsctl" doctor >>"$work/doctor" || say "it finds other faults, too"
	grep -qE "^note +memory +TCP ran short of memory [0-9]+ times here" "$work/doctor" || fail "it isn't told afterwards"
	end_upload
}

# QUIC: from here, and beside a server of MPTCP's.
datagrams()
{
	local pids

	[ -x /usr/bin/python3 ] || never "no python3 in this guest"
	begin default
	start_server
	finds_no "$client" "past MPTCP" ""
	on_client bash -c 'exec 3<>/dev/udp/10.0.0.2/443; sleep 100; true' &
	pids=$!
	on_server /usr/bin/python3 -c "import socket, time
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
s.bind(('::', $port))
time.sleep(100)" &
	pids="$pids $!"
	within 50 finds_quic || fail "it isn't told"
	finds "$client" note "past MPTCP" "1 UDP sockets go to port 443, .*bash.* > 10.0.0.2 port 443"
	advises "switch QUIC (HTTP/3) off in the program"
	# shellcheck disable=SC2086 # a list of numbers
	kill $pids
}
finds_quic() { doctor "$server" >/dev/null; grep -E "^note +past MPTCP +python3.* listens with UDP on port $port, too" "$work/doctor"; }

mtus()
{
	begin default
	start_server
	upload --bytes 1G --timeout 100000
	finds "$client" ok mtu "c1 1500, c2 1500"
	set_mtu 2 1400
	finds "$client" ok mtu "links of unlike MTU: c1 1500, c2 1400; each subflow"
	set_mtu 1 9000
	finds "$client" note mtu "links of unlike MTU: c1 9000, c2 1400"
	advises "more than 1500 bytes pass few networks: ip link set DEVICE mtu 1500"
	end_upload
}

# Who only downloads needs no module: that is noted, and nothing is bad; unless one of its schedulers was chosen.
without_module()
{
	begin default
	! loaded || unload
	finds "$client" note module "mptcp_pams is not loaded: .* who only downloads needs no module"
	[ "$status" = 0 ] || fail "exit $status"
	load
	set_sysctl net.mptcp.scheduler=minfct
	unload
	finds "$client" bad module "mptcp_pams is not loaded"
	[ "$status" = 1 ] || fail "exit $status"
	load
}

add listeners
add rules
add large_packets
add unanswered
add buffers
add memory
add datagrams
add mtus
add without_module
run_cases "$@"
