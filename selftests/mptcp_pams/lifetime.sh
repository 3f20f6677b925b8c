#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Sockets, namespaces and the module come and go, in every order.
#
#	client                                     server
#	         c1 ---- 20 Mbit/s  5 ms ---- s1
#	         c2 ---- 20 Mbit/s 15 ms ---- s2   10.0.0.2
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

two_paths() { paths "$1" 20mbit,5ms 20mbit,15ms; }

refuse_unload()
{
	! rmmod mptcp_pams 2>"$work/rmmod" || fail "unloaded while $1"
	grep -q "in use" "$work/rmmod" || fail "rmmod says: $(cat "$work/rmmod")"
}

used() { [ "$(users)" -gt 0 ]; }

# A listener alone keeps the module; after the last socket it goes, and comes back.
unload_refused()
{
	two_paths "$1"
	start_server
	check "users with a listener" "$(users)" ">" 0
	refuse_unload "a socket listens"
	transfer --bytes 200000 --requests 2 --gap 2000 &
	within 20 connected
	refuse_unload "a connection is up"
	wait $!
	stop_server
	unload
	load
}
connected() { [ "$(subflows)" = 2 ]; }

# Until every attempt under traffic was refused, and one after it was not.
unload_under_traffic()
{
	local i

	two_paths "$1"
	start_server
	transfer --bytes 200000 --requests 10 --conns 3 --dir both &
	within 20 used
	for i in $(seq 20); do
		refuse_unload "there is traffic"
		sleep 0.05
	done
	wait $! || fail "the transfers did not survive"
	stop_server
	unload
	load
}

# The sysctl keeps a name that nobody has registered any more; sockets made then quietly use the default.
name_of_the_dead()
{
	two_paths "$1"
	unload
	[ "$(on_client sysctl -n net.mptcp.scheduler)" = "$1" ] || fail "the sysctl changed"
	start_server
	transfer --bytes 200000 --requests 2
	check "subflows" "$(of subflows | tail -n1)" == 2
	! loaded || fail "the module came back"
	stop_server
	load
	# and back at work, without a word to the sysctl
	start_server
	check "users" "$(users)" ">" 0
	transfer --bytes 200000 --requests 2
}

reload()
{
	local i

	two_paths "$1"
	for i in 1 2 3 4 5; do
		start_server
		transfer --bytes 100000 --requests 2 --dir both
		stop_server
		unload
		load
	done
}

# (A function in the background would be a shell of its own around the program to kill, so it is `ip` itself there.)

# Both ends die in mid transfer and their namespaces with them: what the sockets held is given back.
namespace_removed()
{
	two_paths "$1"
	start_server
	ip netns exec "$client" "$xfer" client --quiet --bytes 20M --conns 5 "$address" "$port" &
	within 20 has_sent 100000
	ip netns del "$client"
	ip netns del "$server"
	kill -9 $! "$server_pid"
	wait $! || say "ended with $?"
	wait "$server_pid" || say "ended with $?"
	[ "$1" = default ] || unload
}
has_sent() { [ "$(sent "$server" 1)" -gt "$1" ]; }

# The client is gone at once, the server with full buffers later.
client_killed()
{
	two_paths "$1"
	start_server
	ip netns exec "$client" "$xfer" client --quiet --bytes 20M --conns 5 "$address" "$port" &
	within 20 has_sent 100000
	kill -9 $!
	wait $! || say "ended with $?"
	transfer --bytes 200000
	stop_server
	[ "$1" = default ] || unload
}

# Connections that nobody accepts: the listener closes over them.
never_accepted()
{
	two_paths "$1"
	start_server
	kill -STOP "$server_pid"
	! on_client "$xfer" client --quiet --bytes 1000 --conns 5 --timeout 500 "$address" "$port" || fail "answered by nobody"
	kill -9 "$server_pid"
	wait "$server_pid" || say "ended with $?"
	[ "$1" = default ] || unload
}

# Nobody listens, the far end is not there: sockets that never connect.
never_connected()
{
	two_paths "$1"
	! on_client "$xfer" client --quiet --bytes 1000 --conns 5 --timeout 500 "$address" "$port" || fail "answered by nobody"
	! on_client "$xfer" client --quiet --bytes 1000 --conns 5 --timeout 500 10.0.1.77 "$port" || fail "answered by nobody"
	[ "$1" = default ] || unload
}

# connect(AF_UNSPEC) keeps the socket and the scheduler's hold on it: what is remembered has to start anew.
socket_reused()
{
	two_paths "$1"
	start_server
	on_client "$XFER_DIR/reconnect" "$address" "$port" 8 300000
	transfer --bytes 200000
	stop_server
	[ "$1" = default ] || unload
}

# The first subflow of each connection of one socket has its number, which the kernel clears with disconnect(); 0 would mean none.
socket_reused_has_a_first()
{
	need_module
	need_tool "$pamsctl"
	two_paths "$1"
	start_server
	ip netns exec "$client" "$XFER_DIR/reconnect" "$address" "$port" 8 600000 up >"$work/again" &
	while kill -0 $! 2>/dev/null; do
		on_client "$pamsctl" --json conn show | tr -d ' \n' | tr ',{' '\n' | sed -n '/^"id":/p' >>"$work/ids"
		sleep 0.05
	done
	wait $! || fail "a connection failed"
	! grep -x '"id":0' "$work/ids" || fail "a subflow has no number"
	# half of the eight connections; where the machine is slow pamsctl sees each once or not at all
	check "times seen" "$(grep -cx '"id":1' "$work/ids")" ">" 3
	stop_server
	unload
}

# Then the socket is connected to a peer without MPTCP, and nothing is sent. It still bears the key of the connection before; what is
# remembered of that is nobody's any more: not shown, and not looked at when something is reported.
socket_falls_back()
{
	local kicks first_pid=

	need_module
	need_tool "$pamsctl"
	two_paths "$1"
	start_server
	first_pid=$server_pid
	port=$((port + 1))
	start_server --tcp
	ip netns exec "$client" "$XFER_DIR/reconnect" "$address" $((port - 1)) 1 300000 again "$port" >"$work/again" &
	within 50 grep -q once "$work/again" || fail "the socket isn't connected again"
	kicks=$(kicked)
	on_client "$pamsctl" path set 10.0.0.0/8 loss-time 50s ttl 1min
	sleep 1
	check "connections shown" "$(on_client "$pamsctl" --json conn show | grep -o '"token"' | wc -l)" == 0
	check "kicks of the connection before" "$(kicked)" == "$kicks"
	kill $!
	wait $! || say "ended with $?"
	stop_server
	server_pid=$first_pid
	stop_server
	unload
}
kicked() { on_client "$pamsctl" --json stats >"$work/stats"; of kicks "$work/stats"; }

# The scheduler changes under connections that go on.
scheduler_changed()
{
	local other

	two_paths "$1"
	start_server
	transfer --bytes 300000 --requests 8 &
	within 20 connected
	for other in $SCHEDS default "$1"; do
		set_sysctl net.mptcp.scheduler="$other"
		on_client "$xfer" client --quiet --bytes 50000 "$address" "$port" || fail "with $other on the client"
	done
	wait $!
}

for sched in $SCHEDS; do
	if [ "$sched" != default ]; then
		add unload_refused "$sched"
		add unload_under_traffic "$sched"
		add name_of_the_dead "$sched"
		add reload "$sched"
		add socket_falls_back "$sched"
		add socket_reused_has_a_first "$sched"
	fi
	add namespace_removed "$sched"
	add client_killed "$sched"
	add never_accepted "$sched"
	add never_connected "$sched"
	add socket_reused "$sched"
	add scheduler_changed "$sched"
done
run_cases "$@"
