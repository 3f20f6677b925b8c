#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Several paths carry more than one: the time of a download over 2, 3 and 4 paths, as a share of that over the first alone.
#
#	client            8 Mbit/s 10 ms                server
#	         c1 ------------------------------ s1
#	         c2 ------------------------------ s2   10.0.0.2
#	         c3 ------------------------------ s3
#	         c4 ------------------------------ s4
#
# Both times are taken in one run, so a slow or busy machine stretches both.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

path=8mbit,10ms,60
bytes=1500000

# several SCHED N: N equal paths would take 1/N of the time. Slow start and the tail get what is missing to the limits:
# half of the gain of the second path and of each further one has to arrive.
several()
{
	local alone_us together_us n=$2 all=()

	paths "$1" "$path"
	start_server
	transfer --bytes "$bytes"
	alone_us=$(duration_us)
	stop_server
	remove_paths

	while [ ${#all[@]} -lt "$n" ]; do
		all+=("$path")
	done
	paths "$1" "${all[@]}"
	start_server
	transfer --bytes "$bytes"
	together_us=$(duration_us)
	check "subflows" "$(of subflows)" == "$n"
	check "time over $n paths by that over one" "$together_us" "<" "$alone_us * ($n + 1) / (2 * $n)"
}

for sched in $SCHEDS; do
	for n in 2 3 4; do
		add several "$sched" $n
	done
done
run_cases "$@"
