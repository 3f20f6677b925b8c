#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The commands of Documentation/recipes/trace.md, as they stand there, on the sender of a transfer over two paths.
#
#	client                                     server
#	         c1 ---- 20 Mbit/s  5 ms ---- s1
#	         c2 ---- 10 Mbit/s 20 ms ---- s2
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
page=../../Documentation/recipes/trace.md
tracing=/sys/kernel/tracing

# commands: those of the page behind "$ ", one a line
# shellcheck disable=SC2016 # the back quotes of a page
commands() { sed -n '/^```console/,/^```$/s/^\$ //p' "$page"; }

# printed COMMAND: the lines that it is to print, as patterns
printed() { awk -v command="\$ $1" '$0 == command { on = 1; next } /^(\$ |```)/ { on = 0 } on' "$page"; }

# as_user COMMAND: who types here is root already. No pipefail: a shell has none by itself, and head ends a program early.
as_user() { bash -euc "sudo() { \"\$@\"; }; $1"; }

# has: what was printed has each of these lines, in any order, since bpftrace sorts by value; "..." stands for anything
has()
{
	local wanted

	while IFS= read -r wanted; do
		wanted=$(sed 's/[][\.*^$]/\\&/g; s/\\.\\.\\./.*/g' <<<"$wanted")
		grep -q "^ *$wanted" "$work/printed" || { say "not printed: $wanted"; return 1; }
	done
}

type_it()
{
	local command

	command=$(commands | sed -n "$1p")
	as_user "$command" >"$work/printed" 2>&1 || fail "exit status $? of: $command
$(tail -n 20 "$work/printed")"
	has < <(printed "$command") || fail "of: $command
$(head -n 40 "$work/printed")"
}

typed()
{
	local nr

	need_module
	command -v perf >/dev/null || skip "no perf"
	command -v bpftrace >/dev/null || skip "no bpftrace"
	mountpoint -q "$tracing" || mount -t tracefs tracefs "$tracing"
	paths "$1" 20mbit,5ms 10mbit,20ms
	start_server
	# longer than everything that is typed, since perf and bpftrace take their time to start; it ends with its network
	transfer --bytes 300000000 &
	for nr in $(seq "$(commands | wc -l)"); do
		type_it "$nr"
	done
}

[ "$(commands | wc -l)" -gt 3 ] || { echo "trace.sh: no commands in $page" >&2; exit 1; }
for sched in $SCHEDS; do
	add typed "$sched"
done
run_cases "$@"
