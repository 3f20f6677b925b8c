# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Completion of pamsd's command line for bash.

_pamsd()
{
	local current=${COMP_WORDS[COMP_CWORD]} options="--config --user --check --tell --clean --genkey --help --version"

	case ${COMP_WORDS[COMP_CWORD - 1]} in
	-c | --config | --check)
		if [[ $current != -* ]]; then
			mapfile -t COMPREPLY < <(compgen -f -- "$current")
			return
		fi ;;
	-u | --user) mapfile -t COMPREPLY < <(compgen -u -- "$current"); return ;;
	--tell)
		COMPREPLY=()
		[ -n "$current" ] || COMPREPLY=("'{\"command\": \"status\"}'")
		return ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
}

complete -F _pamsd pamsd
