#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What the administrator says reaches the decision: sysctls, loss times, and tracepoints to see it by.
#
#	client                                   server
#	         c1 ---- 20 Mbit/s  5 ms ---- s1
#	         c2 ----  5 Mbit/s 40 ms ---- s2   10.0.0.2
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

tracing=/sys/kernel/tracing

begin()
{
	need_module
	paths pams 20mbit,5ms 5mbit,40ms
}

# --- sysctls ---

defaults()
{
	begin
	check "eta" "$(sysctl_in "$client" net.mptcp_pams.reinject_eta_percent)" == 20
	check "queue ahead" "$(sysctl_in "$client" net.mptcp_pams.queue_ahead_us)" == 1000
	check "guard" "$(sysctl_in "$client" net.mptcp_pams.loss_guard_us)" == 5000
	check "weights" "$(sysctl_in "$client" net.mptcp_pams.owd_weights)" == 0
	check "paths" "$(sysctl_in "$client" net.mptcp_pams.paths_max)" == 40000
}

per_namespace()
{
	begin
	on_client sysctl -qw net.mptcp_pams.queue_ahead_us=0
	check "client's" "$(sysctl_in "$client" net.mptcp_pams.queue_ahead_us)" == 0
	check "server's" "$(sysctl_in "$server" net.mptcp_pams.queue_ahead_us)" == 1000
}

out_of_range()
{
	local before

	begin
	before=$(sysctl_in "$client" "$1")
	! on_client sysctl -qw "$1=$2" || fail "$1=$2 is accepted"
	check "$1" "$(sysctl_in "$client" "$1")" == "$before"
}

# A tail that is late is sent again unless PADs may differ by as much as they like.
eta_decides_on_reinjection()
{
	need_tool "$pamsctl"
	begin
	start_server
	transfer --bytes 256000 --requests 6
	check "reinjected" "$(reinjected)" ">" 0
	on_server sysctl -qw net.mptcp_pams.reinject_eta_percent=10000
	on_server "$pamsctl" --json stats >"$work/before"
	transfer --bytes 256000 --requests 6
	check "reinjected" "$(reinjected)" == "$(of reinjected_bytes "$work/before")"
}
reinjected() { on_server "$pamsctl" --json stats >"$work/stats"; of reinjected_bytes "$work/stats"; }

# With less, and none, transfers are as right as with the default.
queue_ahead()
{
	begin
	set_sysctl net.mptcp_pams.queue_ahead_us="$1"
	start_server
	transfer --bytes 500000 --requests 2 --dir both
}

# --- loss times ---

# bytes that left the server on its interface I
sent_on() { ip -n "$server" -s link show "s$1" | awk '/TX:/ { getline; print $1 }'; }

# A path that is lost carries nothing more, at once, and what was on its way comes by the other.
lost_path_is_left()
{
	local before

	need_tool "$pamsctl"
	begin
	start_server
	transfer --bytes 6000000 &
	within 50 both_carry || fail "the transfer uses one path"
	on_server "$pamsctl" path set 10.0.1.1 loss-time 0 ttl 1min
	sleep 0.3
	before=$(sent_on 1)
	sleep 0.5
	check "bytes on the lost path" "$(sent_on 1) - $before" "<" 20000
	on_server "$pamsctl" conn show | grep -i stopped || fail "no subflow is stopped"
	on_server "$pamsctl" path set 10.0.1.1 no-loss
	sleep 0.5
	check "bytes on the path that is back" "$(sent_on 1) - $before" ">" 100000
	wait $! || fail "the transfer did not survive"
}
both_carry() { [ "$(sent_on 1)" -gt 100000 ] && [ "$(sent_on 2)" -gt 20000 ]; }

# A time that was predicted counts from 7/4 of its standard deviation before: 40 s with one of 30 s is now.
spread_is_guarded_against()
{
	need_tool "$pamsctl"
	begin
	start_server
	transfer --bytes 6000000 &
	within 50 both_carry || fail "the transfer uses one path"
	on_server "$pamsctl" path set 10.0.1.1 loss-time 40s
	sleep 0.3
	! on_server "$pamsctl" conn show | grep -i stopped || fail "a subflow is stopped 40 s before its loss"
	on_server "$pamsctl" path set 10.0.1.1 loss-time 40s loss-spread 30s
	sleep 0.3
	on_server "$pamsctl" conn show | grep -i stopped || fail "no subflow is stopped"
	on_server "$pamsctl" path set 10.0.1.1 no-loss
	wait $! || fail "the transfer did not survive"
}

# 65,536 paths of one prefix length are as good as one: the count of them has room.
lost_path_among_many()
{
	need_tool "$pamsctl"
	begin
	on_server sysctl -qw net.mptcp_pams.paths_max=100000
	on_server "$XFER_DIR/netlink_paths" fill 65535
	start_server
	transfer --bytes 6000000 &
	within 50 both_carry || fail "the transfer uses one path"
	on_server "$pamsctl" path set 10.0.1.1 loss-time 0 ttl 1min
	sleep 0.3
	on_server "$pamsctl" conn show | grep -i stopped || fail "no subflow is stopped"
	wait $! || fail "the transfer did not survive"
}

# What is said of a path is withdrawn while its subflow is out of use, a backup for a moment: it isn't remembered.
withdrawn_meanwhile()
{
	local word=$1
	shift

	need_tool "$pamsctl"
	begin
	start_server
	transfer --bytes 8000000 &
	within 50 both_carry || fail "the transfer uses one path"
	on_server "$pamsctl" path set 10.0.2.1 "$@"
	within 10 shows "$word" || fail "no subflow has $word"
	ip -n "$client" mptcp endpoint change id 2 backup
	within 10 shows backup || fail "no subflow is a backup"
	on_server "$pamsctl" path flush
	sleep 0.3
	ip -n "$client" mptcp endpoint change id 2 nobackup
	sleep 0.3
	! shows backup || fail "the subflow is still a backup"
	! shows "$word" || fail "a subflow still has $word"
	wait $! || fail "the transfer did not survive"
}
shows() { on_server "$pamsctl" conn show | grep -w "$1"; }

# What was reported of an interface counts again once a route is back that was gone when something else was reported.
route_comes_back()
{
	need_tool "$pamsctl"
	begin
	start_server
	transfer --bytes 30M --rate 300000 --requests 1 --timeout 90000 &
	on_server "$pamsctl" path set dev s2 cost 7
	within 50 costs || fail "the report of the interface doesn't count"
	ip -n "$server" route del 10.0.2.0/24 dev s2
	sleep 1
	on_server "$pamsctl" path set 10.9.9.9 cost 1
	sleep 0.5
	ip -n "$server" route add 10.0.2.0/24 dev s2 src 10.0.2.2
	ip -n "$server" route get 10.0.2.1 | grep -q "dev s2" || fail "the route isn't back"
	sleep 2
	costs || { on_server "$pamsctl" conn show; fail "the report of the interface is forgotten"; }
	kill $!
}
costs() { shows "cost 7" >/dev/null; }

# A route that changes takes a subflow to another interface, and what was reported of that one counts.
moves_to_another_interface()
{
	need_tool "$pamsctl"
	begin
	# a subflow that takes packets from any interface
	ip -n "$client" mptcp endpoint del id 2
	ip -n "$client" mptcp endpoint add 10.0.2.1 id 2 subflow
	ip -n "$server" route replace 10.0.2.0/24 via 10.0.1.1 dev s1 src 10.0.2.2
	start_server
	# both subflows send: only then does TCP look for another route
	transfer --bytes 30M --timeout 90000 &
	on_server "$pamsctl" path set dev s2 cost 7
	within 50 two_subflows || fail "the second path doesn't join"
	sleep 1
	! costs || fail "the report is of another interface"
	ip -n "$server" route replace 10.0.2.0/24 dev s2 src 10.0.2.2
	within 50 costs || { on_server "$pamsctl" conn show; fail "the report of the new interface doesn't count"; }
	kill $!
}
two_subflows() { [ "$(on_server "$pamsctl" --json conn show | grep -c '"local_id"')" = 2 ]; }

# What was reported of an interface counts for its subflows also once it is down, and they have no route; whatever is reported then,
# and if it is reported only then. A path that is down is no loss by itself for minrtt.
lost_and_down()
{
	local down

	need_module
	need_tool "$pamsctl"
	paths minrtt 20mbit,5ms 5mbit,40ms
	start_server
	transfer --bytes 30M --rate 1000000 --requests 1 --timeout 90000 &
	within 50 two_subflows || fail "the second path doesn't join"
	for down in before after; do
		[ "$down" = before ] || will_be_lost
		ip -n "$server" link set s2 down
		sleep 1
		[ "$down" = after ] || will_be_lost
		within 50 shows stopped || fail "down $down the report: it isn't stopped"
		on_server "$pamsctl" path set 198.51.100.1 pipe-rate 1mbit
		sleep 1
		shows stopped || { on_server "$pamsctl" conn show; fail "down $down the report: the loss is forgotten"; }
		ip -n "$server" link set s2 up
		on_server "$pamsctl" path flush
		within 50 goes_on || fail "it stays stopped"
	done
	kill $!
}
will_be_lost() { on_server "$pamsctl" path set dev s2 loss-time 0 ttl 1min; }
goes_on() { ! shows stopped >/dev/null; }

# A loss that is over is no loss of a subflow that was accepted since, though nobody has taken the report back.
lost_and_back()
{
	local before

	need_tool "$pamsctl"
	begin
	start_server
	transfer --bytes 30M --timeout 90000 &
	within 50 two_subflows || fail "the second path doesn't join"
	ip -n "$client" mptcp endpoint del id 2
	on_server "$pamsctl" path set 10.0.2.1 loss-time 0 ttl 1min
	sleep 1
	ip -n "$client" mptcp endpoint add 10.0.2.1 id 2 dev c2 subflow
	within 50 two_subflows || fail "the second path doesn't join again"
	before=$(sent "$server" 2)
	sleep 2
	check "bytes on the path that is back" "$(sent "$server" 2) - $before" ">" 100000
	kill $!
}

# With every path lost the least bad is used: the transfer goes on.
all_lost()
{
	need_tool "$pamsctl"
	begin
	start_server
	on_server "$pamsctl" path set 10.0.0.0/8 loss-time 0 ttl 1min
	transfer --bytes 500000 --requests 2
}

# --- tracepoints ---

# Each tells of what it is for; in a kernel without tracing the module does without, too.
tracepoints()
{
	local event

	need_tool "$pamsctl"
	begin
	if ! grep -qw trace_event_reg /proc/kallsyms; then
		say "this kernel has no event tracing"
		start_server
		transfer --bytes 256000
		return
	fi
	mountpoint -q "$tracing" || mount -t tracefs tracefs "$tracing"
	[ -e "$tracing/events/mptcp_pams" ] || fail "none of the module's"
	echo 1 >"$tracing/events/mptcp_pams/enable"
	start_server
	transfer --bytes 3000000 &
	within 50 both_carry || fail "the transfer uses one path"
	on_server "$pamsctl" path set 10.0.2.1 pipe-rate 5mbit loss-time 0 ttl 1min
	wait $! || fail "the transfer did not survive"
	on_server "$pamsctl" path del 10.0.2.1
	transfer --bytes 256000 --requests 4
	echo 0 >"$tracing/events/mptcp_pams/enable"
	cp "$tracing/trace" "$work/trace"
	for event in report pad decision deferral stop; do
		grep -m1 "mptcp_pams_$event: " "$work/trace" || fail "no mptcp_pams_$event"
		grep -q "field:" "$tracing/events/mptcp_pams/mptcp_pams_$event/format" || fail "no format"
	done
}

# What the events of a candidate say under each scheduler is so, or they aren't there: minrtt works out no PAD.
pad_events()
{
	need_module
	grep -qw trace_event_reg /proc/kallsyms || never "this kernel has no event tracing"
	mountpoint -q "$tracing" || mount -t tracefs tracefs "$tracing"
	paths "$1" 20mbit,5ms 5mbit,40ms
	: >"$tracing/trace"
	echo 1 >"$tracing/events/mptcp_pams/mptcp_pams_pad/enable"
	start_server
	transfer --bytes 500000 --requests 2
	echo 0 >"$tracing/events/mptcp_pams/mptcp_pams_pad/enable"
	# a minute, and 10 Gbit/s, are more than these paths ever have
	awk '/mptcp_pams_pad: / {
		for (i = 1; i <= NF; i++) { split($i, f, "="); v[f[1]] = f[2] + 0 }
		n++
		if (v["pad_ns"] < 1 || v["pad_ns"] > 6e10 || v["rate_byteps"] < 1 || v["rate_byteps"] > 1.25e9 ||
		    v["srtt_us"] > 6e7 || v["owd_us"] > 6e7) { if (!bad++) print "the first wrong one: " $0 }
	} END { print n + 0, "events,", bad + 0, "wrong"; exit bad > 0 }' "$tracing/trace" || fail "events of candidates are wrong"
}

# A laptop is closed: reports age meanwhile, or a loss is believed for as long after waking as was left before.
uptime_ms() { awk '{print int($1 * 1000)}' /proc/uptime; }
until_loss() { on_server "$pamsctl" --json path show 10.0.1.1 >"$work/path" && of time_ms "$work/path"; }

reports_age_asleep()
{
	local alarm=/sys/class/rtc/rtc0/wakealarm before left slept

	need_tool "$pamsctl"
	[ -e /etc/mptcp-pams-guest ] || never "nothing but an emulated guest is put to sleep"
	if ! { [ -w "$alarm" ] && grep -q deep /sys/power/mem_sleep; } 2>/dev/null; then
		# Debian's for amd64 can, on the machine that is emulated
		[[ $(uname -r) != *+deb*-amd64 ]] || skip "this guest can't suspend to RAM any more"
		never "this guest can't suspend to RAM"
	fi
	begin
	on_server "$pamsctl" path set 10.0.1.1 loss-time 60s ttl 1h
	on_server "$pamsctl" path set 10.0.2.1 cost 5 ttl 1s
	before=$(until_loss)
	slept=$(uptime_ms)
	echo 0 >"$alarm"
	echo +6 >"$alarm"
	echo mem >/sys/power/state
	slept=$(($(uptime_ms) - slept))
	left=$(until_loss)
	check "ms asleep" "$slept" ">" 1000
	check "ms fewer until the loss" $((before - left)) ">=" "$slept"
	on_server "$pamsctl" path show 10.0.2.1 | grep cost && fail "a report outlives its ttl by the time asleep"
	true
}

add defaults
add per_namespace
add out_of_range net.mptcp_pams.reinject_eta_percent 10001
add out_of_range net.mptcp_pams.queue_ahead_us 1000001
add out_of_range net.mptcp_pams.loss_guard_us -1
add out_of_range net.mptcp_pams.owd_weights 2
add out_of_range net.mptcp_pams.paths_max 1000001
add out_of_range net.mptcp_pams.overflow_ms 3600001
add out_of_range net.mptcp_pams.overflow_percent 10001
add out_of_range net.mptcp_pams.overflow_percent 99
add eta_decides_on_reinjection
add queue_ahead 0
add queue_ahead 100000
add spread_is_guarded_against
add lost_path_is_left
add lost_path_among_many
add withdrawn_meanwhile pipe pipe-rate 1mbit
add withdrawn_meanwhile cost cost 1
add withdrawn_meanwhile stopped loss-time 0
add route_comes_back
add lost_and_back
add lost_and_down
add moves_to_another_interface
add all_lost
add reports_age_asleep
add tracepoints
for sched in minrtt minpad pams minfct; do
	add pad_events $sched
done
run_cases "$@"
