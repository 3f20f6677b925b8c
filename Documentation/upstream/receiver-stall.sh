#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# An MPTCP receiver stands still for ever, full of small packets that came out of order.
# Usage: receiver-stall.sh [SECONDS]		as root; 30 seconds unless said otherwise
#
#	client 10.0.1.1 ----  10 Mbit/s, 100 ms ---- 10.0.1.2 server	first subflow
#	       10.0.2.1 ---- 100 Mbit/s,   1 ms ---- 10.0.2.2		second subflow
#
# iperf3 writes 100 bytes at a time, 5,000 times a second, with TCP_NODELAY, to a server that reads all the time. Nothing is lost,
# everything has its default: scheduler, buffers, congestion control. Needs ip, tc, ss, nstat (iproute2), iperf3, mptcpize. See receiver-stall.md.
#
# Prints what arrived in each second, the sockets and counters of the server, and one line, by the last third of the time:
# "stands still" (exit status 1) if nothing arrived in it, "crawls" (1) if less than 100 kbit/s did, else "moves" (0).
set -eu

seconds=${1:-30}
length=${LENGTH:-100} rate=${RATE:-4M}	# what iperf3 writes at a time, and bits a second
client=stall-client-$$
server=stall-server-$$
out=$(mktemp)

trap 'ip netns pids "$server" | xargs -r kill; ip netns delete "$client"; ip netns delete "$server"; rm "$out"' EXIT
ip netns add "$client"
ip netns add "$server"
for nr in 1 2; do
	ip link add "path$nr" netns "$client" type veth peer name "path$nr" netns "$server"
	ip -n "$client" address add "10.0.$nr.1/24" dev "path$nr"
	ip -n "$server" address add "10.0.$nr.2/24" dev "path$nr"
	ip -n "$client" link set "path$nr" up
	ip -n "$server" link set "path$nr" up
done
for end in "$client" "$server"; do
	tc -n "$end" qdisc add dev path1 root netem rate 10mbit delay 100ms
	tc -n "$end" qdisc add dev path2 root netem rate 100mbit delay 1ms
done
ip -n "$client" mptcp endpoint add 10.0.2.1 dev path2 subflow

ip netns exec "$server" mptcpize run iperf3 -s -1 -i 1 -f k --forceflush >"$out" 2>&1 &
sleep 2
ip netns exec "$client" timeout $((seconds + 5)) mptcpize run iperf3 -c 10.0.1.2 -N -l "$length" -b "$rate" -t "$seconds" >/dev/null 2>&1 &
sleep "$seconds"

echo "kernel $(uname -r), scheduler $(ip netns exec "$client" cat /proc/sys/net/mptcp/scheduler)"
grep bits/sec "$out"
echo "connections on the server (r: receive memory in use, rb: its limit):"
ip netns exec "$server" ss -MnHmO
echo "subflows on the server:"
ip netns exec "$server" ss -tnHmO
echo "counters of the server:"
ip netns exec "$server" nstat -asz MPTcpExtOFOQueue MPTcpExtOFOMerge MPTcpExtOFOPruned MPTcpExtRcvPruned MPTcpExtDuplicateData |
	grep Ext
echo "counters of the client:"
ip netns exec "$client" nstat -asz MPTcpExtMPTCPRetrans TcpRetransSegs | grep -E 'Ext|Tcp'

grep bits/sec "$out" | tail -n $((seconds / 3)) | awk '{ for (i = 2; i <= NF; i++) if ($i == "Kbits/sec") kbit += $(i - 1) }
	END {
		if (!NR || !kbit) verdict = "stands still"
		else verdict = kbit / NR < 100 ? "crawls" : "moves"
		printf "%s: %.1f kbit/s in the last third\n", verdict, NR ? kbit / NR : 0
		exit verdict != "moves"
	}'
