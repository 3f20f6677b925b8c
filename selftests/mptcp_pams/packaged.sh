#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# README's way from the installed packages to a download over two paths, and back: the module that DKMS has built and the programs
# of the packages, with the commands as README has them. `make package-check` runs it, in a guest that has the files which the
# packages left. The rules are those of choose.md.
#
#	client                                     server
#	         c1 ---- 10 Mbit/s 10 ms ---- s1
#	         c2 ---- 10 Mbit/s 15 ms ---- s2   10.0.0.2
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

readme=$here/../../README.md
choose=$here/../../Documentation/choose.md

# commands SECTION [PATTERN]: the commands in the blocks and tables of that section of README or choose.md, those that match
commands()
{
	# shellcheck disable=SC2016 # Markdown's quotes
	cat "$readme" "$choose" | sed -n "/^## $1/,/^## /p" |
		sed -n '/^```sh/,/^```$/ { /^```/d; s/ *#.*//; p }; s/^| .* | `\(.*\)`.* | .* |$/\1/p' | sed 's/\\|/|/g' | grep -e "${2-}"
}

# typed COMMANDS: on the server, by root
typed()
{
	[ -n "$1" ] || fail "README has no such command"
	echo "$1"
	on_server bash -euc "sudo() { \"\$@\"; }; $1"
}

in_use_over_two_paths()
{
	command -v pamsctl >/dev/null || skip "the packages aren't installed here"
	paths default 10mbit,10ms 10mbit,15ms
	on_client ip mptcp endpoint flush

	# `sudo apt install` of the packages was the first command
	typed "$(commands "Install it" "up --server")"
	on_client ip mptcp endpoint add 10.0.2.1 dev c2 subflow
	on_server mptcpize run iperf3 -s -1 >"$work/server" 2>&1 &
	within 50 iperf3_listens
	on_client mptcpize run iperf3 -c "$address" -R -t 3 >"$work/client" 2>&1 &
	within 20 two_paths || fail "$(cat "$work/doctor")"
	grep "^ok " "$work/doctor"
	typed "$(commands "Is it in use" "ss -Mni")" | grep "subflows:1" || fail "ss -M doesn't show it"
	typed "$(commands "Is it in use" lsmod)" | awk 'NR > 1 { users = $3 } END { exit !users }' || fail "lsmod shows no user"
	typed "$(commands "See that it works" "pamsctl links")" | grep s2 || fail "links doesn't show the second link"
	wait
	grep receiver "$work/client" || fail "$(cat "$work/client" "$work/server")"
	unused
	typed "$(commands "Go back" "pamsctl")"
	! lsmod | grep mptcp_pams || fail "the module is still there"
	[ "$(on_server sysctl -n net.mptcp.scheduler)" = default ] || fail "the scheduler is another one"
}
iperf3_listens() { [ -n "$(on_server ss -Hltn "sport = 5201")" ]; }
two_paths()
{
	on_server pamsctl doctor >"$work/doctor" || return 1
	grep -q "^ok .*new sockets use minfct" "$work/doctor" &&
		grep -q "^ok    connection .*iperf3.* 1 subflows besides the first" "$work/doctor" &&
		! grep "plain TCP" "$work/doctor"
}

# The rules that choose.md has in its text are taken, and shown; numbers in another unit.
rules_are_taken()
{
	local rule shown

	command -v pamsctl >/dev/null || skip "the packages aren't installed here"
	paths default 10mbit,10ms 10mbit,15ms
	typed "$(commands "Install it" "up --server")"
	# shellcheck disable=SC2016 # Markdown's quotes
	while read -r rule; do
		typed "$rule"
		on_server pamsctl rule show >"$work/shown"
		shown=${rule#sudo pamsctl rule add }
		shown=${shown%% first *}
		grep -F -- "${shown%% overflow *}" "$work/shown" || fail "not shown: $(cat "$work/shown")"
	done < <(grep -o '`sudo pamsctl rule add [^`]*`' "$choose" | tr -d '`')
	check "rules" "$(grep -c use "$work/shown")" == 3
	on_server pamsctl rule del all
	unused
	typed "$(commands "Go back" "pamsctl down")"
}

add in_use_over_two_paths
add rules_are_taken
run_cases "$@"
