# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Completion of pamsctl's command line for bash.

# the words before the one to complete that are no options and no values of theirs
_pamsctl_words()
{
	local i

	words=()
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		--count | --timeout | --interval | --module | --control | --read) ((i++)) ;;
		-*) ;;
		*) words+=("${COMP_WORDS[i]}") ;;
		esac
	done
}

# of this network namespace
_pamsctl_interfaces() { sed -n 's/^ *\([^ :]*\):.*/\1/p' /proc/net/dev; }

_pamsctl_tokens() { pamsctl conn show 2>/dev/null | sed -n 's/^\(0x[0-9a-f]*\) .*/\1/p'; }

# the values of a path, as the help has them; with "taking" those that something follows
_pamsctl_values()
{
	pamsctl --help | sed -n '/^VALUE /,/^MATCH /{/^MATCH /d; s/^VALUE//; p}' |
		grep -oE "(^|[ [])[a-z]+(-[a-z]+)*${1:+ [A-Z0-9]}" | grep -oE '[a-z]+(-[a-z]+)*' | xargs
}

# what may follow the words of a path's key and values
_pamsctl_path()
{
	local last=${words[-1]}
	local count=$((${#words[@]} - 2))	# after "path COMMAND"

	if [ $count = 0 ]; then
		echo dev token
		return
	fi
	case $last in
	dev) _pamsctl_interfaces; return ;;
	token) _pamsctl_tokens; return ;;
	ids | port) return ;;
	esac
	[[ " $(_pamsctl_values taking) " != *" $last "* ]] || return
	case ${words[2]} in
	token)
		[ $count != 2 ] || echo ids
		[ $count -ge 5 ] || return ;;
	dev) ;;
	*) [ $count != 1 ] || echo port ;;
	esac
	[ "${words[1]}" != set ] || _pamsctl_values
}

# those that are there, and in a table "all"
_pamsctl_cgroups()
{
	local last=${COMP_WORDS[COMP_CWORD]}

	case ${words[1]} in
	enable)
		case $last in
		/*) compgen -d -- "$last" ;;
		*) systemctl list-units --type=service,socket,slice,scope --plain --no-legend 2>/dev/null | cut -d' ' -f1 ;;
		esac ;;
	disable)
		echo all
		pamsctl mptcp show 2>/dev/null | sed -n 's,^\(/[^ ]*\) .*,\1,p' ;;
	esac
}

# what may follow the words of a rule; the module says which schedulers there are, and which take "first"
_pamsctl_rule()
{
	case ${words[-1]} in
	cgroup | mark | uid | local | remote | peer | first | overflow) return ;;
	use | default) pamsctl sched list 2>/dev/null | sed '/; not in a rule$/d; s/ .*//'; return ;;
	esac
	case ${words[-2]} in
	use | default)
		! pamsctl sched list 2>/dev/null | grep -q "^${words[-1]} .*; takes first" || echo first
		echo overflow
		return ;;
	esac
	case " ${words[*]} " in
	*" overflow "*) echo costly-copies; return ;;
	*" first "*) echo overflow; return ;;
	esac
	[ ${#words[@]} != 2 ] || echo default
	echo cgroup mark uid local remote peer client server use
}

_pamsctl_options()
{
	echo --json --help
	case ${words[0]-} in
	'') echo --version ;;
	monitor | path) echo --count --timeout ;;
	links) echo --interval ;;
	top) echo --once --batch --count --interval ;;
	up) echo --dry-run --module --server --restart ;;
	down) echo --dry-run ;;
	load) echo --dry-run --module ;;
	doctor) echo --module --control ;;
	peers | caps | metrics | first) echo --control ;;
	pair) echo --read ;;
	esac
}

# what may stand where the cursor is
_pamsctl_choices()
{
	case ${words[0]-} in
	'') echo up down path conn links stats monitor top sched rule mptcp first load unload doctor peers caps metrics pair ;;
	path)
		case ${words[1]-} in
		'') echo show set del flush monitor ;;
		show | set | del) _pamsctl_path ;;
		esac ;;
	conn)
		case ${#words[@]} in
		1) echo show ;;
		2) _pamsctl_tokens ;;
		esac ;;
	links)
		case ${#words[@]},${words[1]-} in
		1,) echo show conn ;;
		2,show) _pamsctl_interfaces ;;
		2,conn) pamsctl links conn --interval 100ms 2>/dev/null | sed -n 's/^\(0x[0-9a-f]*\) .*/\1/p' ;;
		esac ;;
	rule)
		case ${words[1]-} in
		'') echo show add del load ;;
		add) _pamsctl_rule ;;
		del) [ ${#words[@]} != 2 ] || echo all ;;
		load) [ ${#words[@]} != 2 ] || compgen -f -- "${COMP_WORDS[COMP_CWORD]}" ;;
		esac ;;
	mptcp)
		case ${#words[@]} in
		1) echo show enable disable ;;
		2) _pamsctl_cgroups ;;
		esac ;;
	first)
		case ${#words[@]} in
		1) echo show set del ;;
		2)
			case ${words[1]} in
			set) echo default ;;
			del)
				pamsctl first show 2>/dev/null | sed -n '/^DESTINATION/!s/ .* [0-9]*$//p'
				echo all ;;
			esac ;;
		esac ;;
	pair) [ ${#words[@]} -lt 3 ] || _pamsctl_interfaces ;;
	sched)
		case ${#words[@]} in
		1) echo show set list ;;
		2) [ "${words[1]}" != set ] || cat /proc/sys/net/mptcp/available_schedulers 2>/dev/null ;;
		esac ;;
	esac
}

_pamsctl()
{
	local current=${COMP_WORDS[COMP_CWORD]} words choices

	_pamsctl_words
	case ${COMP_WORDS[COMP_CWORD - 1]} in
	--module | --control) mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;
	--count | --timeout | --interval) COMPREPLY=(); return ;;
	esac
	case $current in
	-*) choices=$(_pamsctl_options) ;;
	*) choices=$(_pamsctl_choices) ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$current")
}

complete -F _pamsctl pamsctl
