#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What the module does besides deciding: its timers and work items take the connection's lock, and have to be rare.
#
#	client                                    server
#	         c1 ---- 20 Mbit/s 10 ms ---- s1
#	         c2 ---- 20 Mbit/s 30 ms ---- s2   10.0.0.2
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

tracing=/sys/kernel/tracing
# goal: 20 kicks a second while data flows, and some at the beginning and the end. A kick is a work item, which takes the socket's
# lock; a look by the timer takes a spinlock, and comes once in 10 ms at most while no tail is at stake.
kicks_per_s=20
kicks_more=40
# Linux up to 6.15 runs 256 work items of an unbound workqueue at once
stuck=1000
# until a report has made a kick and pamsctl has told it: 35, or 257 if each of the 1,000 holds a worker for a tenth of a second at a time
kick_ms=120
looks_per_s=100
looks_more=100

begin()
{
	paths "$1" 20mbit,10ms 20mbit,30ms
	start_server
	on_client sysctl -qw net.ipv4.tcp_rmem="4096 131072 16000000"
}

# Where events can be traced every work item, timer and hrtimer whose function is the module's counts.
can_trace()
{
	grep -qw trace_event_reg /proc/kallsyms || return 1
	mountpoint -q "$tracing" || mount -t tracefs tracefs "$tracing"
	[ -e "$tracing/events/workqueue/workqueue_execute_start" ]
}

trace_on()
{
	local event

	echo 16384 >"$tracing/buffer_size_kb"
	: >"$tracing/trace"
	for event in workqueue/workqueue_execute_start timer/timer_expire_entry timer/hrtimer_expire_entry; do
		echo 1 >"$tracing/events/$event/enable"
	done
}

# Leaves kicks, and looks by timers.
trace_off()
{
	echo 0 >"$tracing/events/enable"
	grep -q "^# entries-in-buffer/entries-written: \([0-9]*\)/\1 " "$tracing/trace" || echo "the trace is not complete" >&2
	kicks=$(grep -c 'workqueue_execute_start: .*\[mptcp_pams\]' "$tracing/trace") || [ $? = 1 ]
	looks=$(grep -c 'timer_expire_entry: .*\[mptcp_pams\]' "$tracing/trace") || [ $? = 1 ]
}

# Elsewhere: how often kernel threads that work for unbound queues fell asleep.
switches() { cat /proc/[0-9]*/status | awk '/^Name:/ { w = $2 ~ /^kworker\/u/ } w && /^voluntary_ctxt/ { s += $2 } END { print s + 0 }'; }

# kicks_of OPTION...: of a transfer; leaves kicks, looks, us, and traced: empty where looks can't be counted
kicks_of()
{
	local before

	sleep 1
	traced=
	if can_trace; then
		traced=yes
		trace_on
	fi
	before=$(switches)
	transfer "$@"
	kicks=$(($(switches) - before))
	[ -z "$traced" ] || trace_off
	us=$(duration_us)
	say "$* took $us us: $kicks kicks, traced: ${traced:-no, context switches}"
}

# few LOOKS_PER_S - of both in the last transfer, the kernel's own scheduler's taken off
few()
{
	check "kicks in $((us / 1000)) ms" "$kicks - $own" "<=" "$kicks_per_s * $us / 1000000 + $kicks_more"
	[ -z "$traced" ] || check "looks in $((us / 1000)) ms" "$looks" "<=" "$1 * $us / 1000000 + $looks_more"
}

# What the kernel's own scheduler makes of it is not the module's.
own_kicks_of()
{
	paths default 20mbit,10ms 20mbit,30ms
	start_server
	on_client sysctl -qw net.ipv4.tcp_rmem="4096 131072 16000000"
	kicks_of "$@"
	own=$kicks
	stop_server
	remove_paths
}

# The application writes 100 KB a second: there is always a tail, and it is hardly ever at stake.
steady_stream()
{
	need_module
	own_kicks_of --bytes 1M --rate 100000 --timeout 30000
	begin "$1"
	kicks_of --bytes 1M --rate 100000 --timeout 30000
	few "$kicks_per_s"
}

bulk()
{
	need_module
	own_kicks_of --bytes 20M
	begin "$1"
	kicks_of --bytes 20M
	few "$looks_per_s"
}

# A connection that has nothing to send costs nothing.
idle()
{
	need_module
	begin "$1"
	transfer --bytes 100K --requests 2 --gap 20000 &
	sleep 5
	can_trace || skip "this kernel has no event tracing"
	trace_on
	sleep 10
	trace_off
	check "kicks and looks in 10 s without data" "$kicks + $looks" "<=" 1
	wait $! || fail "the transfer did not survive"
}

# A report is nothing to connections that have nothing to send.
report_at_rest()
{
	local i before

	need_tool "$pamsctl"
	begin "$1"
	transfer --conns 20 --bytes 20K --requests 2 --gap 6000 &
	sleep 3
	before=$(told_kicks)
	for i in 1 2 3 4 5; do
		on_server "$pamsctl" path set 192.0.2.1 cost "$i" ttl 10s
	done
	sleep 1
	check "kicks by 5 reports" "$(told_kicks) - $before" "<=" 5
	# their timers are not to be counted by what follows
	on_server "$pamsctl" path flush
	wait $! || fail "the transfers did not survive"
}

# Reports of paths that no connection has are nothing to connections that transfer, whatever kind of key names them. One of a path that
# they have has them act. 10 reports of one kind that is taken for theirs would be 400 kicks in a tenth of a second.
report_of_others()
{
	local before own own_ms start i key

	need_tool "$pamsctl"
	begin "$1"
	transfer --conns 40 --bytes 600K --rate 80000 --timeout 60000 &
	sleep 2
	before=$(told_kicks) start=$(now_ms)
	sleep 1
	own=$(($(told_kicks) - before)) own_ms=$(($(now_ms) - start))
	for key in 192.0.2.1 10.0.1.0/32 "10.0.1.1 port 9" 2001:db8::1 "dev lo"; do
		before=$(told_kicks) start=$(now_ms)
		for i in {1..10}; do
			# shellcheck disable=SC2086 # of several words
			on_server "$pamsctl" path set $key cost "$i"
		done
		sleep 0.1
		check "kicks by 10 reports of $key" "$(told_kicks) - $before" "<=" \
			"$own * ($(now_ms) - $start) / $own_ms * 3 / 2 + 40"
	done
	on_server "$pamsctl" path flush
	for key in 10.0.1.1 10.0.0.0/8 "dev s2"; do
		before=$(told_kicks)
		# shellcheck disable=SC2086 # of several words
		on_server "$pamsctl" path set $key loss-time 1h
		sleep 0.1
		check "kicks by a report of $key" "$(told_kicks) - $before" ">=" 35
	done
	kill $!
}
told_kicks() { on_server "$pamsctl" --json stats >"$work/stats" && of kicks "$work/stats"; }

# few_kicks - since the server came, by the same measure, as netlink tells
few_kicks()
{
	check "kicks in $(($(duration_us) / 1000)) ms, as told" "$(told_kicks)" "<=" \
		"$kicks_per_s * $(duration_us) / 1000000 + $kicks_more"
}

# Threads own more sockets than kicks run at once, and send from memory that doesn't come. All have data pending, so that a report
# kicks all. That is no reason for others' kicks to wait.
stuck_senders()
{
	local before start transfer

	need_module
	need_tool "$pamsctl"
	paths "$1" 20mbit,2ms 20mbit,3ms
	start_server
	ulimit -n $((stuck + 100))
	on_server sysctl -qw net.ipv4.tcp_rmem="4096 8192 8192"
	ip netns exec "$server" "$XFER_DIR/listen" 6000 1 >"$work/listen" &
	within 50 grep -q listeners "$work/listen" || fail "nobody listens"
	start_stuck 6000 "$stuck" 20000
	stuck_connected 400 grep -q connected "$work/stuck"
	stick
	sleep 1
	transfer --bytes 5M --rate 500000 --timeout 60000 &
	transfer=$!
	sleep 2
	on_client "$pamsctl" path set 10.0.0.2 cost 1
	sleep 1
	before=$(told_kicks)
	start=$(now_ms)
	on_server "$pamsctl" path set 10.0.1.1 cost 1
	until kicked_since "$before"; do [ $(($(now_ms) - start)) -lt 3000 ] || fail "no kick comes within 3 s"; done
	check "ms until the kick" "$(($(now_ms) - start))" "<=" "$kick_ms"
	kill -9 "$stuck_pid"
	wait "$transfer" || fail "the transfer did not survive"
}
kicked_since() { [ "$(told_kicks)" -gt "$1" ]; }

# A path dies, and for a while somebody owns the socket: the timer can't look meanwhile. That is made up for once the socket is
# released, although the one who had it sends nothing.
released_socket()
{
	need_module
	paths "$1" 20mbit,10ms 20mbit,20ms
	ip netns exec "$server" "$XFER_DIR/listen" 6000 1 >"$work/listen" &
	within 50 grep -q listeners "$work/listen" || fail "nobody listens"
	start_stuck 6000 1 20000 150
	stuck_connected 100 grep -q connected "$work/stuck"
	sleep 1
	reshape 1 20mbit,10ms,100,loss,100%
	stick
	within 50 grep -q acknowledged "$work/stuck" || fail "it is never acknowledged"
	check "ms until all is acknowledged" "$(sed -n 's/^acknowledged after \(.*\) ms/\1/p' "$work/stuck")" "<=" 100
	kill "$stuck_pid"
}

# And so the totals that netlink tells.
totals()
{
	need_module
	need_tool "$pamsctl"
	begin "$1"
	transfer --bytes 1M --rate 100000 --timeout 30000
	few_kicks
}

# A path that was called silent falsely dies: what is longer doubtful then isn't asked more often.
dies_after_alarms()
{
	local i

	need_module
	need_tool "$pamsctl"
	begin "$1"
	transfer --bytes 5M --rate 500000 --timeout 60000 &
	sleep 1
	for i in 1 2 3; do
		reshape 1 20mbit,10ms,100,loss,100%
		sleep 0.$((i * 2))
		reshape 1 20mbit,10ms
		sleep 1
	done
	reshape 1 20mbit,10ms,100,loss,100%
	wait $! || fail "the transfer did not survive"
	few_kicks
}

# A path is silent when a rule gives the connection a scheduler that doesn't look for silence.
rule_changes()
{
	need_module
	need_tool "$pamsctl"
	begin rules
	echo "use $1" | on_server "$pamsctl" rule load -
	transfer --bytes 5M --rate 500000 --timeout 60000 &
	sleep 1
	reshape 1 20mbit,10ms,100,loss,100%
	sleep 1
	echo "use minrtt" | on_server "$pamsctl" rule load -
	wait $! || fail "the transfer did not survive"
	few_kicks
}

for sched in $SCHEDS; do
	[ "$sched" != default ] || continue
	add steady_stream "$sched"
	add bulk "$sched"
	add totals "$sched"
	add report_at_rest "$sched"
	add report_of_others "$sched"
	add stuck_senders "$sched"
	! can_trace || add idle "$sched"
	[[ " pams minfct " == *" $sched "* ]] || continue
	add released_socket "$sched"
	add dies_after_alarms "$sched"
	add rule_changes "$sched"
done
run_cases "$@"
