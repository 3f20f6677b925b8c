#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Run topic scripts one after the other and print one TAP stream, which ends with the totals.
# Usage: run_tests.sh [-c PATTERN] [SCRIPT...]; without a SCRIPT those that the file `topics` lists
#
#	-c PATTERN	only the cases that match, as in "two_paths pams" or "two_*"
#
# After each script the kernel's log is looked through; a warning, an oops, a lockdep or a reference count report is a
# failure of its own. So is a script that ends before its plan is fulfilled, or that takes longer than `settings` allows, or
# SCRIPT_S seconds if that is set. The exit code is 0 when nothing failed.
cd "$(dirname "$0")" || exit 1

patterns=()
if [ "${1-}" = -c ]; then
	patterns=("$2")
	shift 2
fi
if [ $# = 0 ]; then
	mapfile -t topics < <(grep '[.]sh$' topics)
	set -- "${topics[@]}"
fi
shopt -s extglob lastpipe	# loops over a command's lines count in this shell
timeout_s=${SCRIPT_S:-$(sed -n 's/^timeout=//p' settings)}
trouble='WARNING:|BUG:|Oops|refcount_t|possible .* (deadlock|recursion|dependency)|suspicious RCU|blocked for more than'
trouble+='|soft lockup|rcu_.*stall|general protection|KASAN|UBSAN|memory leak|unregister_netdevice: waiting'
nr=0 nr_passed=0 nr_failed=0 nr_skipped=0

refuse() { echo "run_tests: $*" >&2; exit 1; }

was_loaded=$([ -d /sys/module/mptcp_pams ] && echo 1)

# What would fail in every case is said once. (lib.sh in a shell of its own: it keeps files until that ends.)
why=$(
	. ./lib.sh
	missing=$(probe)
	for sched in $SCHEDS; do
		if [ -n "$missing" ] || has_sched "$sched" || loaded; then
			continue
		fi
		missing=$(load 2>&1) && missing= || missing="the module does not load (${missing//$'\n'/ }): see dmesg, or build it first"
	done
	rm -r "$work"
	echo "$missing"
)
[ -z "$why" ] || refuse "$why"

since_start() { dmesg | sed "1,/mptcp_pams selftest $1 $$/d"; }
kernel_log() { { since_start "$1" | ./races rest | grep -E -A12 "$trouble"; since_start "$1" | ./races ours; } | sed 's/^/# /'; }

# leaks: what kmemleak, where the kernel has it, knows of the module; twice, since what was freed lately may still be referred to
kmemleak=/sys/kernel/debug/kmemleak
leaks()
{
	[ -e $kmemleak ] || return 1
	sleep 6		# younger objects aren't told
	echo scan >$kmemleak
	sleep 6
	echo scan >$kmemleak
	grep -B3 -A20 mptcp_pams $kmemleak | sed 's/^/# /'
	echo clear >$kmemleak
}

# result LINE: a case's line, without its number
result()
{
	nr=$((nr + 1))
	case $1 in
	not*) nr_failed=$((nr_failed + 1)) ;;
	*" # SKIP "*) nr_skipped=$((nr_skipped + 1)) ;;
	*) nr_passed=$((nr_passed + 1)) ;;
	esac
	echo "${1%% - *} $nr - ${1#* - }"
}

# run SCRIPT: its cases, numbered on and named after it
run()
{
	local script=$1 line plan=none seen=0 why=

	echo "mptcp_pams selftest $script $$" >/dev/kmsg
	timeout -k 5 "$timeout_s" "./$script" "${patterns[@]}" | while IFS= read -r line; do
		case $line in
		"TAP version"*) ;;
		1..*) plan=${line#1..} ;;
		"ok "[0-9]* | "not ok "[0-9]*)
			seen=$((seen + 1))
			line=${line/ [0-9]*([0-9]) - / - $script: }
			result "$line" ;;
		*) echo "$line" ;;
		esac
	done
	[ "${PIPESTATUS[0]}" != 124 ] || why=", after its $timeout_s s"
	[ "$seen" = "$plan" ] || result "not ok - $script: ended after $seen of $plan cases$why"
	since_start "$script" | ./races others | sed 's/^/# the kernel alone: /'
	! leaks | grep . || result "not ok - $script: memory leaked"
	! kernel_log "$script" | grep . || result "not ok - $script: the kernel complained"
}

echo "TAP version 13"
for script; do
	run "$script"
done
echo "1..$nr"
echo "# $nr_passed passed, $nr_failed failed, $nr_skipped skipped"

# Leave the machine as it was.
[ -n "$was_loaded" ] || [ ! -d /sys/module/mptcp_pams ] || rmmod mptcp_pams
[ $nr_failed = 0 ]
