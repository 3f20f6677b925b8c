#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Load and unload: what is registered, what is refused, and what is left behind. No network.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

begin_unloaded()
{
	[ "$SCHEDS" != default ] || skip "without the module"
	! loaded || unload
}

# refused TEXT [PARAMETER...]: the module does not load, says TEXT in one line, and leaves nothing
refused()
{
	local text=$1 said mark
	shift

	refusals=$((${refusals-0} + 1)) mark="refused: $BASHPID, $refusals"
	echo "$mark" >/dev/kmsg
	! load "$@" || fail "loaded with: $*"
	! loaded || fail "is there although the load failed"
	said=$(dmesg | sed "1,/$mark\$/d" | grep -F 'mptcp_pams: ' | grep -v 'out-of-tree\|signature')
	say "the module says: $said"
	check "lines in the log" "$(echo "$said" | wc -l)" == 1
	[[ $said == *"$text"* ]] || fail "that does not mention: $text"
	[[ " $(schedulers_of_kernel) " != *" pams "* ]] || fail "registered although the load failed"
}

registered()
{
	local name

	begin_unloaded
	say "before: $(schedulers_of_kernel)"
	load
	say "after: $(schedulers_of_kernel)"
	for name in default $(schedulers_of_module); do
		[[ " $(schedulers_of_kernel) " == *" $name "* ]] || fail "no $name"
	done
	check "users" "$(users)" == 0
	unload
	for name in $(schedulers_of_module); do
		[[ " $(schedulers_of_kernel) " != *" $name "* ]] || fail "$name is still there"
	done
}

again_and_again()
{
	local i

	begin_unloaded
	for i in 1 2 3 4 5 6 7 8 9 10; do
		load || fail "load $i"
		unload || fail "unload $i"
	done
}

twice()
{
	begin_unloaded
	load
	! load || fail "loaded twice"
	loaded || fail "gone after the second attempt"
	unload
}

address_of_another_function()
{
	begin_unloaded
	if has_kprobes || is_linked; then
		# Not looked at: the module finds the function by itself.
		load "kallsyms_lookup_name=0x1234"
		unload
		return
	fi
	refused kallsyms_lookup_name "kallsyms_lookup_name=0x$(awk '$3 == "printk_timed_ratelimit" { print $1 }' /proc/kallsyms)"
}

address_missing()
{
	begin_unloaded
	if has_kprobes || is_linked; then
		load "kallsyms_lookup_name=0"
		unload
		return
	fi
	refused /proc/kallsyms "kallsyms_lookup_name=0"
}

address_inside_the_function()
{
	begin_unloaded
	if has_kprobes || is_linked; then
		load "kallsyms_lookup_name=$(printf '%#x' $(($(lookup_address) + 8)))"
		unload
		return
	fi
	refused kallsyms_lookup_name "kallsyms_lookup_name=$(printf '%#x' $(($(lookup_address) + 8)))"
}

parameter_is_no_number()
{
	begin_unloaded
	! is_linked || never "this module has no parameter"
	! load "kallsyms_lookup_name=here" || fail "loaded"
	! loaded || fail "is there although the load failed"
}

mptcp_switched_off()
{
	local status=0

	begin_unloaded
	sysctl -qw net.mptcp.enabled=0
	( refused net.mptcp.enabled ) || status=$?
	sysctl -qw net.mptcp.enabled=1
	return "$status"
}

# The module that takes this kernel for another one, as its parameters say; selftests/vm/run makes it.
begin_with_other()
{
	begin_unloaded
	[ -n "${MODULE_OTHER_LAYOUT-}" ] || skip "no MODULE_OTHER_LAYOUT"
	MODULE=$MODULE_OTHER_LAYOUT
}

# It is the module but for that.
built_for_this_kernel()
{
	begin_with_other
	load || fail "refused"
	unload
}

built_for_another_kernel()
{
	begin_with_other
	refused "struct mptcp_sock" other_bytes=8
}

# A field lies elsewhere, or what the module doesn't read has made it larger, in each of the structs: so if the kernel was built again
# with another option.
built_for_another_field()
{
	local field of

	begin_with_other
	[ -e /sys/kernel/btf/vmlinux ] || never "this kernel has no type information"
	! is_linked || never "linked with the kernel's functions, it has no way to the type information"
	while read -r of field; do
		say "$of ${field:-as a whole}"
		refused "struct $of with ${field:-its end} at bit" "other_field=${field:-$of}"
	done <<-END
		mptcp_pm_data server_side
		mptcp_sock write_seq
		mptcp_subflow_context stale
		mptcp_subflow_context scheduled
		mptcp_subflow_context tcp_sock
		mptcp_data_frag data_seq
		mptcp_data_frag already_sent
		mptcp_pm_data
		mptcp_sock
		mptcp_subflow_context
		mptcp_data_frag
	END
}

# Without type information only what the kernel writes into a new subflow tells.
no_type_information()
{
	begin_with_other
	load no_types=1 || fail "refused"
	unload
	refused "struct mptcp_subflow_context" no_types=1 other_place=1
	refused "struct mptcp_sock" no_types=1 other_bytes=8
}

# The push bit is another one: each that the kernel knows, and two that it doesn't. 4, a retransmission, is followed by a push.
another_push_bit()
{
	local bit

	begin_with_other
	for bit in 0 2 3 4 5 6 7 8 20; do
		say "bit $bit"
		refused cb_flags "push_bit=$bit"
	done
}

# A function that this kernel does not have: the module looks for one whose name was changed in its file.
function_missing()
{
	local file

	begin_unloaded
	! is_linked || never "linked with the kernel's functions"
	file=${MODULE:-$(modinfo -n mptcp_pams)}
	case $file in *.ko) ;; *) skip "$file is compressed" ;; esac
	LC_ALL=C sed 's/mptcp_subflow_get_retrans/mptcp_subflow_get_nothing/g' "$file" >"$work/missing.ko"
	MODULE=$work/missing.ko
	has_kprobes || set -- "kallsyms_lookup_name=$(lookup_address)"
	refused "function mptcp_subflow_get_nothing not found" "$@"
}

add registered
add again_and_again
add twice
add address_of_another_function
add address_missing
add address_inside_the_function
add parameter_is_no_number
add mptcp_switched_off
add built_for_this_kernel
add built_for_another_kernel
add built_for_another_field
add no_type_information
add another_push_bit
add function_missing
run_cases "$@"
