#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Eight MPTCP connections stand still for ever where net.ipv4.tcp_mem is small; eight of TCP go on.
# Usage: memory-deadlock.sh [SECONDS [tcp]]	as root; 30 seconds of MPTCP unless said otherwise
#
#	client 10.0.1.1 ---- 20 Mbit/s, 20 ms ---- 10.0.1.2 server	first subflow
#	       10.0.2.1 ---- 10 Mbit/s, 60 ms ---- 10.0.2.2		second subflow
#
# iperf3 sends eight streams at once. Nothing is lost; the scheduler, the buffers and the congestion control are the default ones.
# Only tcp_mem is 2 MB, as small routers have it (TCP_MEM="250 400 500" pages). It counts for all network namespaces of a kernel and
# is put back at the end. Memory that a run of MPTCP leaves held is missing to the next one: compare after a reboot. Needs ip, tc,
# ss, nstat (iproute2), iperf3, mptcpize. See memory-deadlock.md.
#
# Prints what arrived in each two seconds, how many pages TCP holds, the sender's connections and some counters, and one line, by
# the last third of the time: "stands still" (exit status 1) if nothing arrived in it, else "moves" (0).
set -eu

seconds=${1:-30}
streams=${STREAMS:-8}
client=memory-client-$$
server=memory-server-$$
out=$(mktemp)
before=$(cat /proc/sys/net/ipv4/tcp_mem)

case ${2-mptcp} in
mptcp) wrapper="mptcpize run" sockets=M ;;
*) wrapper='' sockets=t ;;
esac

end()
{
	for end in "$server" "$client"; do
		for pid in $(ip netns pids "$end"); do kill "$pid" || true; done
		ip netns delete "$end"
	done
	sysctl -qw net.ipv4.tcp_mem="$before"
	rm "$out"
}
trap end EXIT

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
	tc -n "$end" qdisc add dev path1 root netem rate 20mbit delay 20ms
	tc -n "$end" qdisc add dev path2 root netem rate 10mbit delay 60ms
done
ip -n "$client" mptcp endpoint add 10.0.2.1 dev path2 subflow
sysctl -qw net.ipv4.tcp_mem="${TCP_MEM:-250 400 500}"

# shellcheck disable=SC2086 # none or two words
ip netns exec "$server" $wrapper iperf3 -s -1 -i 2 -f k --forceflush >"$out" 2>&1 &
sleep 2
# shellcheck disable=SC2086
ip netns exec "$client" timeout $((seconds + 5)) $wrapper iperf3 -c 10.0.1.2 -P "$streams" -t "$seconds" >/dev/null 2>&1 &
sleep "$seconds"

echo "${2-mptcp}, kernel $(uname -r), $(nproc) CPUs, scheduler $(ip netns exec "$client" cat /proc/sys/net/mptcp/scheduler)"
grep SUM "$out"
grep TCP: /proc/net/sockstat
echo "connections of the sender (w: memory of what is queued):"
ip netns exec "$client" ss "-${sockets}nHmO" | awk '{ print $4, $5, $6 }'
echo "counters of the receiver:"
ip netns exec "$server" nstat -asz MPTcpExtRcvPruned TcpExtPruneCalled TcpExtTCPRcvQDrop | awk 'NR > 1 { print $1, $2 }'
echo "counters of the sender:"
ip netns exec "$client" nstat -asz MPTcpExtMPTCPRetrans TcpRetransSegs TcpExtTCPMemoryPressures | awk 'NR > 1 { print $1, $2 }'

grep SUM "$out" | tail -n $((seconds / 6)) | awk '{ for (i = 2; i <= NF; i++) if ($i == "Kbits/sec") kbit += $(i - 1) }
	END {
		printf "%s: %d kbit/s in the last third\n", kbit ? "moves" : "stands still", NR ? kbit / NR : 0
		exit !kbit
	}'
