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
	on_client "$xfer" client --dir up "$@" "$address" $port >/dev/null &
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

add listeners
run_cases "$@"
