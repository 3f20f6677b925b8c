# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Completion of pamsctl's command line for bash; the commands and options are those of its help.

# of one command, or all; not everyone has sbin in the PATH
_pamsctl_help() { PATH=$PATH:/usr/local/sbin:/usr/sbin pamsctl help "$@" 2>/dev/null; }

# the words before the one to complete that are no options and no values of theirs
_pamsctl_words()
{
	local i with_value

	with_value=" $(_pamsctl_help | sed -n 's/^    \(--[a-z-]*\) [A-Z].*/\1/p' | xargs) "
	words=()
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		-*) [[ $with_value != *" ${COMP_WORDS[i]} "* ]] || ((i++)) ;;
		*) words+=("${COMP_WORDS[i]}") ;;
		esac
	done
}

# all commands, or those of a command
_pamsctl_commands() { _pamsctl_help "$@" | sed -n "s/^    pamsctl ${1:+[a-z]* }\([a-z]\+\)\( .*\)\?$/\1/p" | uniq; }

# of this network namespace
_pamsctl_interfaces() { sed -n 's/^ *\([^ :]*\):.*/\1/p' /proc/net/dev; }

_pamsctl_tokens() { pamsctl conn show 2>/dev/null | sed -n 's/^\(0x[0-9a-f]*\) .*/\1/p'; }

# the values of a path, as the help has them; with "taking" those that something follows
_pamsctl_values()
{
	_pamsctl_help | sed -n '/^VALUE /,/^MATCH /{/^MATCH /d; s/^VALUE//; p}' |
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
	if [ ${#words[@]} = 0 ]; then
		echo --json --help --version
	else
		_pamsctl_help "${words[0]}" | grep -oE '^(-[a-z],|   ) --[a-z-]+(, --[a-z-]+)?' | grep -oE -- '--[a-z-]+'
	fi
}

# what may stand where the cursor is
_pamsctl_choices()
{
	case ${words[0]-} in
	'')
		_pamsctl_commands
		echo help ;;
	help)
		[ ${#words[@]} != 1 ] || _pamsctl_commands ;;
	path)
		case ${words[1]-} in
		'') _pamsctl_commands path ;;
		show | set | del) _pamsctl_path ;;
		esac ;;
	conn)
		case ${#words[@]} in
		1) _pamsctl_commands conn ;;
		2) _pamsctl_tokens ;;
		esac ;;
	links)
		case ${#words[@]},${words[1]-} in
		1,) _pamsctl_commands links ;;
		2,show) _pamsctl_interfaces ;;
		2,conn) pamsctl links conn --interval 100ms 2>/dev/null | sed -n 's/^\(0x[0-9a-f]*\) .*/\1/p' ;;
		esac ;;
	rule)
		case ${words[1]-} in
		'') _pamsctl_commands rule ;;
		add) _pamsctl_rule ;;
		del) [ ${#words[@]} != 2 ] || echo all ;;
		load) [ ${#words[@]} != 2 ] || compgen -f -- "${COMP_WORDS[COMP_CWORD]}" ;;
		esac ;;
	mptcp)
		case ${#words[@]} in
		1) _pamsctl_commands mptcp ;;
		2) _pamsctl_cgroups ;;
		esac ;;
	first)
		case ${#words[@]} in
		1) _pamsctl_commands first ;;
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
		1) _pamsctl_commands sched ;;
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
	--gateway) mapfile -t COMPREPLY < <(compgen -W "$(_pamsctl_interfaces)" -- "$current"); return ;;
	--read) mapfile -t COMPREPLY < <(compgen -W 'server reporter' -- "$current"); return ;;
	esac
	case $current in
	-*) choices=$(_pamsctl_options) ;;
	*) choices=$(_pamsctl_choices) ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$current")
}

complete -F _pamsctl pamsctl
