#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What a decision costs, in instructions, and how many a transfer takes.
#
# In a guest whose clock counts instructions (selftests/vm/run); elsewhere the clock says what else the machine does. The module that
# asks, tools/lab/mptcp_pams_bench.c, is there if vm/run built it. What lies above a limit has become dearer: the goals are in
# Documentation/figures.md. minfct halves what it gives, up to ten times, as the state of the paths wants it, which another build of
# the module meets at another moment: medians of 1,714 to 2,338 instructions were seen. The others look and choose. A decision is dearer
# while more is outstanding, or the other CPU works meanwhile; how many batches met that is chance, so lower quartiles are compared.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

paths_known=10000
rules_known=256
transfers=5

# begin SUBFLOWS [PARAMETER...]: over links that aren't shaped
begin()
{
	local links=() symbol

	[ -e "$XFER_DIR/mptcp_pams_bench.ko" ] || never "no mptcp_pams_bench.ko: what it needs of the kernel is private"
	for ((i = 0; i < $1; i++)); do links+=(-); done
	need_module
	bench=()
	for symbol in mptcp_register_scheduler mptcp_unregister_scheduler mptcp_sched_find; do
		bench+=("$symbol=$(awk -v name="$symbol" '$3 == name { print "0x" $1 }' /proc/kallsyms)")
	done
	insmod "$XFER_DIR/mptcp_pams_bench.ko" "${bench[@]}" "${@:2}"
	paths bench "${links[@]}"
	start_server
}

# ask BYTES [BYTES]: a connection for each scheduler in turn, the last of which follows rules of which none fits
ask()
{
	local i

	for ((i = 0; i < 4; i++)); do transfer --bytes "$1"; done
	need_tool "$pamsctl"
	{
		for ((i = 0; i < rules_known; i++)); do echo "peer 11.0.$i.0/24 use pams"; done
		echo "default minfct"
	} | on_server "$pamsctl" rule load -
	transfer --bytes "${2:-$1}"
}

# The results, one line each: SCHEDULER SUBFLOWS TENTHS-OF-NS BATCHES QUARTILE, or asked SCHEDULER TIMES.
finish()
{
	remove_paths
	sleep 1
	rmmod mptcp_pams_bench
	dmesg | sed -n 's/.*bench: //p' >"$work/results"
	cat "$work/results"
}

# The last that the module said: it says all of it anew each time.
# cost SCHEDULER SUBFLOWS: in tenths of an instruction, the lower quartile
cost() { awk -v name="$1" -v count="$2" '$1 == name && $2 == count { cost = $NF } END { print cost }' "$work/results"; }
# asked SCHEDULER: how often the median connection of it was
asked() { awk -v name="$1" '$1 == "asked" && $2 == name { print $3 }' "$work/results" | sort -n | sed -n "$((transfers / 2 + 1))p"; }

# at_most SUBFLOWS SCHEDULER PERCENT...: of the default's
at_most()
{
	local count=$1
	shift
	while [ $# -gt 0 ]; do
		check "$1: a decision over $count subflows, percent of the default's" \
			"100 * $(cost "$1" "$count") / $(cost default "$count")" "<=" "$2"
		shift 2
	done
}

two_subflows()
{
	begin 2
	ask 4M 1M
	finish
	at_most 2 minrtt 415 minpad 435 pams 450 minfct 950
	check "rules: a decision, permille of minfct's" "$(cost rules-per-mille 2)" "<=" 1010
	check "rules: to look $rules_known of them through, instructions" "($(cost rules-resolved 2) - $(cost rules 2)) / 10" "<=" 18000
}

eight_subflows()
{
	begin 8
	ask 4M 1M
	finish
	at_most 8 minrtt 400 minpad 430 pams 450 minfct 1000
}

# Much is known of other peers' paths.
paths_are_known()
{
	begin 2
	on_server "$XFER_DIR/netlink_paths" fill "$paths_known"
	ask 4M 1M
	finish
	at_most 2 minrtt 520 minpad 520 pams 570 minfct 1100
}

# How often connections are asked: not for each segment. One in 200 is asked for every other one, as the moments fall at which ACKs come.
decisions_of_a_transfer()
{
	local sched i scheds=(default minrtt minpad pams minfct rules) segments=$((5 * 1024 * 1024 / 1428))

	begin 2 count=1
	ask 5M
	transfer --bytes 5M
	for ((i = ${#scheds[@]}; i < ${#scheds[@]} * transfers; i++)); do transfer --bytes 5M; done
	finish
	for sched in "${scheds[@]}"; do
		check "$sched: decisions, percent of the segments" "100 * $(asked "$sched") / $segments" "<=" 25
	done
}

add two_subflows
add eight_subflows
add paths_are_known
add decisions_of_a_transfer
run_cases "$@"
