#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Units: who may mark one, what is refused and how, what is shown of it, what it gives where other data follows.
#
#	client                                      server
#	         c1 ---- 16 Mbit/s 10 ms ----- s1
#	         c2 ----  4 Mbit/s 100 ms ---- s2   10.0.0.2
#
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

unit=$XFER_DIR/unit
first=16mbit,10ms,60 second=4mbit,100ms,100
owner=12345 other=54321

# begin SCHED [COMMAND...]: an upload that begins anew each second, with the client's token
begin()
{
	local sched=$1
	shift
	paths "$sched" "$first" "$second"
	start_server
	on_client "$@" "$xfer" client --bytes 20K --dir up --requests 60 --gap 1000 "$address" "$port" >/dev/null &
	within 50 token_of "$server" || fail "there is no connection"
	server_token=$token
	within 50 token_of "$client" || fail "the client has no connection"
}

# token_of NS: of its connection, in $token
token_of()
{
	token=$(in_ns "$1" ss -Main | sed -n 's/.*token:\([0-9a-f]*\).*/\1/p' | head -n 1)
	[ -n "$token" ]
}

# refused "ERROR: TEXT" COMMAND...: it is, and says that
refused()
{
	local text=$1 said
	shift
	! said=$("$@") || fail "taken: $*"
	say "$said"
	[ "$said" = "$text" ] || fail "expected: $text"
}

# left NS: of the unit of its connection; nothing if there is none
left() { in_ns "$1" "$pamsctl" --json conn show | sed -n 's/.*"unit_left_bytes": *\([0-9]*\).*/\1/p'; }

is_left() { [ "$(left "$client")" = "$1" ]; }

# What can't be, each with a text of its own.
is_refused()
{
	begin pams
	refused "No such file or directory: no connection of this network namespace has this token" on_client "$unit" 1 1000
	refused "No such file or directory: no connection of this network namespace has this token" on_client "$unit" "$server_token" 1000
	on_client "$unit" "$token" 1073741824
	refused "Numerical result out of range: a unit has at most 1073741824 bytes" on_client "$unit" "$token" 1073741825
	refused "Numerical result out of range: a unit has at most 1073741824 bytes" on_client "$unit" "$token" 18446744073709551615
}

# The kernel's own scheduler reckons with no unit.
needs_our_scheduler()
{
	need_module
	begin default
	refused "Operation not supported: the connection doesn't use one of the module's schedulers" on_client "$unit" "$token" 1000
	refused "Operation not supported: the connection doesn't use one of the module's schedulers" on_client "$unit" "$token" 0
}

# Not before the handshake is over: the server doesn't answer.
needs_a_connection()
{
	paths pams "$first,loss,100%"
	on_client "$xfer" client --timeout 20000 "$address" "$port" >/dev/null &
	within 50 token_of "$client" || fail "there is no connection"
	refused "Transport endpoint is not connected: the connection isn't established, or writes nothing any more" on_client "$unit" "$token" 1000
}

# A connection whose peer speaks TCP only: the library finds out.
fallback_has_none()
{
	paths pams "$first"
	start_server --tcp
	on_client "$xfer" client --json --bytes 20K --dir up --requests 4 --gap 500 --unit "$address" "$port" >"$work/json" &
	within 50 token_of "$client" || fail "there is no connection"
	sleep 0.5
	refused "Operation not supported: the connection fell back to TCP" on_client "$unit" "$token" 1000
	wait $! || fail "the uploads did not survive"
	check "all fell back" "$(of fallback | grep -c true)" == 4
}

# Its owner may, and CAP_NET_ADMIN; nobody else.
owner_may()
{
	begin pams setpriv --reuid "$owner"
	on_client setpriv --reuid "$owner" "$unit" "$token" 1000
	refused "Operation not permitted: the connection belongs to another user" on_client setpriv --reuid "$other" "$unit" "$token" 1000
	on_client "$unit" "$token" 1000
	refused "Operation not permitted: the connection belongs to another user" \
		on_client setpriv --bounding-set -net_admin --inh-caps -net_admin "$unit" "$token" 1000
}

# A privileged program that is handed a netlink socket of somebody else.
descriptor_is_no_privilege()
{
	begin pams
	on_client "$unit" "$token" 1000 0
	refused "Operation not permitted: the connection belongs to another user" on_client "$unit" "$token" 1000 "$other"
}

# stuck_sender: a connection that a thread of its owner keeps busy for ever, with its token
stuck_sender()
{
	paths pams "$first"
	start_server
	start_stuck "$port"
	stuck_connected 50 token_of "$client"
	sleep 0.5
	stick
	sleep 0.5
}

# A thread that sends from memory that doesn't come owns the socket for as long. No request waits for it: until it is answered generic
# netlink takes in no new family, nor then anybody's request.
waits_for_no_sender()
{
	need_tool "$pamsctl"
	stuck_sender
	refused "Device or resource busy: the connection's socket is in use by another thread: try again" \
		on_client timeout 5 "$unit" "$token" 1000
	on_client timeout 5 "$pamsctl" conn show >"$work/conn" || fail "the connections aren't shown"
	kill -9 "$stuck_pid"
}

# Before anything is written, after some of it, anew, and taken back.
is_shown()
{
	need_tool "$pamsctl"
	begin pams
	within 20 is_left "" || fail "there is a unit"
	on_client "$unit" "$token" 500000
	check "all of it is left" "$(left "$client")" == 500000
	on_client "$pamsctl" conn show | grep UNIT || fail "pamsctl shows no unit"
	on_client "$unit" "$token" 300000
	check "said anew" "$(left "$client")" == 300000
	within 30 is_less || fail "nothing of it was sent"
	on_client "$unit" "$token" 0
	check "none" "0$(left "$client")" == 0
	on_client "$pamsctl" conn show | grep UNIT && fail "pamsctl shows a unit"
	on_client "$unit" "$token" 10000
	within 30 is_left "" || fail "it is never over"
}
is_less() { [ "$(left "$client")" -lt 300000 ]; }

# times SCHED [OPTION...]: of three sizes each of 12 downloads, of which the next is written behind it, us
times()
{
	local sched=$1 size
	shift
	for size in 180K 200K 220K; do
		paths "$sched" "$first" "$second"
		start_server "$@"
		transfer --bytes "$size" --requests 12 --ahead
		of fct_us >"$work/times-$size"
		say "$size: $(tr '\n' ' ' <"$work/times-$size")"
		stop_server
		remove_paths
	done
}

# until_each: the time until each of them is there, in the mean
until_each() { awk 'FNR == 1 { t = 0 } { t += $1; s += t } END { printf "%d\n", s / NR }' "$work"/times-*; }

# Where other data follows, each unit is there sooner, by 1 % at least in the mean, and all of them not later: without marks the slow
# path is given the end of a unit, since there is enough to do behind it. (It isn't always, so that some downloads gain nothing.)
comes_sooner()
{
	local plain plain_all marked all

	times "$1"
	plain=$(until_each) plain_all=$(cat "$work"/times-* | sum)
	times "$1" --unit
	marked=$(until_each) all=$(cat "$work"/times-* | sum)
	check "each is there sooner" "$marked * 101" "<=" "$plain * 100"
	check "all are there not later" "$all * 100" "<=" "$plain_all * 101"
}

# What is marked arrives intact, whatever its size, and from both sides.
arrives()
{
	paths "$1" "$first" "$second"
	start_server --unit
	transfer --bytes 1-300K --requests 40 --dir both --unit
	transfer --bytes 1-100K --requests 40 --ahead
}

for sched in $SCHEDS; do
	[ "$sched" = default ] || add arrives "$sched"
done
add is_refused
add needs_our_scheduler
add needs_a_connection
add fallback_has_none
add owner_may
add descriptor_is_no_privilege
add is_shown
add waits_for_no_sender
add comes_sooner pams
add comes_sooner minfct

run_cases "$@"
