#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC3043 # ash has local
# Short stand-ins for what OpenWrt's init scripts call, with the same arguments: of /lib/functions.sh, /lib/functions/network.sh and
# procd.sh. Sections are numbered; what a section's option NAME has is in the variable o_SECTION_NAME, a list's values each on a line.

# config_load NAME: read $CONFIG/NAME; as OpenWrt's, which leaves the message to nobody, nothing of a file with an open quote
config_load()
{
	local word type name rest

	sections=
	! grep -qvE "^[[:space:]]*#|^[^']*('[^']*'[^']*)*\$" "$CONFIG/$1" || return 1
	while read -r word type rest; do
		name=${rest#\'} name=${name%\'}
		case $word in
		config)
			sections="$sections $((${#sections} + 1))"
			last=${sections##* }
			eval "type_$last=\$type name_$last=\$name" ;;
		option | list)
			[ "$word" = option ] || eval "o_${last}_${type}_LENGTH=some name=\"\${o_${last}_$type-}\${o_${last}_$type+
}\$name\""
			eval "o_${last}_$type=\$name" ;;
		esac
	done <"$CONFIG/$1"
}

# number NAME: of the section of that name
number()
{
	local i name

	for i in $sections; do
		eval "name=\$name_$i"
		[ "$name" != "$1" ] || { echo "$i"; return; }
	done
}

config_get() { eval "$1=\"\${o_$(number "$2")_$3:-\${4-}}\""; }

config_get_bool()
{
	config_get "$@"
	eval "case \$$1 in 1 | on | true | yes | enabled) $1=1 ;; *) $1=0 ;; esac"
}

config_foreach()
{
	local i type name

	for i in $sections; do
		eval "type=\$type_$i name=\$name_$i"
		[ "$type" != "$2" ] || "$1" "$name"
	done
}

config_list_foreach()
{
	local length values value

	config_get length "$1" "$2_LENGTH"
	config_get values "$1" "$2"
	[ -n "$length" ] || return 0
	while read -r value; do
		"$3" "$value"
	done <<-EOF
	$values
	EOF
}

# With $SAME wan6 has wan's device. $DOWN names the interfaces that aren't up, each with a colon and the device below it, if it has
# one: "wan:eth1 wwan:". As OpenWrt's, these unset the variable where there is nothing to tell.
network_get_device()
{
	case " ${DOWN-} " in
	*" $2:"*)
		unset "$1"
		return 1 ;;
	esac
	eval "$1=dev-${2%"${SAME:+6}"}"
}

network_get_physdev()
{
	local word

	unset "$1"
	for word in ${DOWN-}; do
		case $word in
		"$2":?*) eval "$1=\${word#*:}"; return ;;
		esac
	done
	return 1
}

# no log, but what logger -s repeats
logger() { cat >&2; }

procd_add_reload_trigger() { echo "config $*"; }
procd_add_reload_interface_trigger() { echo "interface $1"; }

# An instance is printed as its command line and, where procd is to start it anew when files have changed, these.
procd_open_instance() { command_line='' watched=; }
procd_append_param()
{
	case $1 in
	command) shift; command_line="$command_line $*" ;;
	file) shift; watched="$watched $*" ;;
	esac
}
procd_set_param()
{
	case $1 in
	command) shift; command_line=$* ;;
	file) shift; watched=$* ;;
	esac
}
procd_close_instance() { echo "$command_line${watched:+, file $watched}"; }
