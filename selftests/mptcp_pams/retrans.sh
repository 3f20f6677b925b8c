#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# MPTCP's own retransmission asks the scheduler for a subflow: whatever is lost has to come again about as soon as with the kernel's
# own scheduler under the same script, at most a tenth later.
#
#	client                                    server
#	         c1 ---- 20 Mbit/s 10 ms ---- s1
#	         c2 ---- 20 Mbit/s 20 ms ---- s2   10.0.0.2
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# of the longest transfer, in percent of that with the kernel's own scheduler; and a tick or two
limit_percent=110
limit_more_us=30000

# timed SCRIPT SCHED [ARGUMENT...]: the script of one case with that scheduler; leaves us
timed()
{
	local script=$1
	shift

	"$script" "$@"
	us=$(of fct_us | sort -n | tail -n 1)
	say "$*: $us us, the longest of $(of fct_us | wc -l)"
	stop_server
	remove_paths
}

# not_slower SCRIPT SCHED [ARGUMENT...]: than the kernel's own
not_slower()
{
	local script=$1 sched=$2 own_us
	shift 2

	need_module
	need_tool "$pamsctl"
	timed "$script" default "$@"
	own_us=$us
	timed "$script" "$sched" "$@"
	check "us" "$us" "<=" "$own_us * $limit_percent / 100 + $limit_more_us"
}

swallow() { reshape "$1" "$2,100,loss,100%"; }
has_sent() { [ "$(sent "$server" "$1")" -gt "$2" ]; }
has_finished() { [ "$(wc -l <"$work/json")" -ge "$1" ]; }

# The path that carried the head dies; the other one is far and busy with what comes behind it, for longer than any timeout.
script_head_missing()
{
	paths "$1" 20mbit,10ms "20mbit,${2}ms,500"
	start_server
	transfer --bytes 2M --rcvbuf 16000000 --timeout 30000 &
	within 50 has_sent 1 600000 || fail "path 1 carries nothing"
	swallow 1 20mbit,10ms
	wait $! || fail "the transfer did not survive"
}
head_missing() { not_slower script_head_missing "$@"; }

# A trickle over the far path goes on while the near one is dead: at each moment something there is on its way and not overdue.
script_trickle()
{
	paths "$1" 20mbit,10ms "20mbit,${2}ms,500"
	start_server
	transfer --bytes 600K --rate 200000 --rcvbuf 16000000 --timeout 30000 &
	sleep 1
	swallow 1 20mbit,10ms
	wait $! || fail "the transfer did not survive"
}
trickle() { not_slower script_trickle "$@"; }

# swallow_down I PATH: what the server sends there
swallow_down() { tc -n "$server" qdisc change dev "s$1" root netem rate 20mbit delay "$2" limit 100 loss 100%; }

# Between two requests path I dies on the way to the client, and both are announced lost: of all that is lost, or said to be, one
# still carries. What the second answer put on the dead path has to come by the other one.
script_both_announced()
{
	paths "$1" 20mbit,10ms 20mbit,20ms
	start_server
	transfer --bytes "$2" --requests 2 --gap 2000 --timeout 30000 &
	within 50 has_finished 1 || fail "the first transfer does not end"
	sleep 1
	on_server "$pamsctl" path set 10.0.0.0/8 loss-time 0 ttl 1min
	swallow_down "$3" "$((10 * $3))ms"
	wait $! || fail "the transfer did not survive"
}
both_announced() { not_slower script_both_announced "$@"; }

# The same without a word: the head is missing on path 1 while what went to the far path is on its way and not overdue. A third
# path, a backup, has nothing to do.
script_head_elsewhere()
{
	paths "$1" 20mbit,10ms "20mbit,${3}ms,500" 20mbit,30ms
	ip -n "$client" mptcp endpoint change id 3 backup
	start_server
	transfer --bytes "$2" --requests 2 --gap 4000 --rcvbuf 8000000 --timeout 30000 &
	within 80 has_finished 1 || fail "the first transfer does not end"
	sleep 2
	swallow_down 1 10ms
	wait $! || fail "the transfer did not survive"
}
head_elsewhere() { not_slower script_head_elsewhere "$@"; }

# Path 1 loses some packets, so that SACK tells of those behind them, and then dies with all that; it may be announced before.
script_sacked_and_dead()
{
	paths "$1" 20mbit,40ms,200 20mbit,20ms,200
	start_server
	transfer --bytes 3M --rcvbuf 16000000 --timeout 30000 &
	within 50 has_sent 1 "$2" || fail "path 1 carries nothing"
	[ -z "${3-}" ] || [ "$1" = default ] || on_server "$pamsctl" path set 10.0.1.1 loss-time 40ms
	on_client nft "table ip loss { chain in { type filter hook prerouting priority -300; iifname c1 meta length > 1000 drop; }; }"
	sleep 0.01
	on_client nft "flush table ip loss"
	sleep 0.08
	on_client nft "add rule ip loss in iifname c1 drop"
	wait $! || fail "the transfer did not survive"
	say "longest stall $(of gap_us)"
}
sacked_and_dead() { not_slower script_sacked_and_dead "$@"; }

# Path 1 is announced lost and has nothing on its way, so it is the one that the kernel chooses for what path 2 doesn't deliver for a
# while. Nothing may go there.
one_announced()
{
	local before

	need_module
	need_tool "$pamsctl"
	paths "$1" 20mbit,10ms 20mbit,20ms
	start_server
	transfer --bytes 20K --requests 2 --gap 2000 --timeout 30000 &
	within 50 has_finished 1 || fail "the first transfer does not end"
	sleep 1
	on_server "$pamsctl" path set 10.0.1.1 loss-time 0 ttl 1min
	before=$(sent "$server" 1)
	swallow_down 2 20ms
	sleep 1.5	# half a second of the second answer: before the kernel gives up on path 2
	reshape 2 20mbit,20ms
	wait $! || fail "the transfer did not survive"
	check "bytes on the path that is lost" "$(sent "$server" 1) - $before" "<" 1500
}

for sched in $SCHEDS; do
	[ "$sched" != default ] || continue
	[[ $sched != min[rp]* ]] || add one_announced "$sched"	# the others take path 2 for silent, and have no better one
	add head_missing "$sched" 200
	add head_missing "$sched" 20
	add trickle "$sched" 200
	add trickle "$sched" 20
	add sacked_and_dead "$sched" 300000
	add sacked_and_dead "$sched" 300000 announced
	for size in 5K 20K 100K; do
		add both_announced "$sched" $size 1
		add head_elsewhere "$sched" $size 200
		add head_elsewhere "$sched" $size 400
	done
done
run_cases "$@"
