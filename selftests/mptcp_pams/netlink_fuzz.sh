#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Bad messages for the netlink family: each has to be refused, with a reason; what is stored stays in range and bounded; the
# kernel's log stays clean, which run_tests.sh looks after. One namespace, no network.
#
# Environment:
#	FUZZ_ROUNDS	random messages (20000)
#	FUZZ_SEED	of them (1)
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

: "${FUZZ_ROUNDS:=20000}" "${FUZZ_SEED:=1}"
fuzz=$XFER_DIR/netlink_fuzz

begin()
{
	need_module
	[ -x "$fuzz" ] || skip "no netlink_fuzz here: make -C selftests/mptcp_pams"
	ip netns add "$client"
}

every_wrong_attribute()
{
	begin
	local logged

	logged=$(cut_texts)
	on_client "$XFER_DIR/netlink_table"
	# a text that is too long for the answer is cut, and the kernel logs that
	check "texts that are too long" "$(cut_texts) - $logged" == 0
}
cut_texts() { dmesg | grep -c "truncated extack" || true; }

connected() { on_client ss -HMtn state established | grep -q .; }

random_messages()
{
	begin
	ip -n "$client" link set lo up
	on_client sysctl -qw net.mptcp.scheduler=pams
	ip netns exec "$client" "$xfer" server -p "$port" &
	server_pid=$!
	within 50 listening || fail "the server does not come up"
	on_client sysctl -qw net.mptcp_pams.paths_max="$2"
	# what the messages say of paths and units is about this one's, too
	on_client "$xfer" client --quiet --bytes 1-300K --dir both --requests 300 --gap 3 127.0.0.1 "$port" &
	within 50 connected || fail "there is no connection"
	on_client "$fuzz" "$1" "$FUZZ_ROUNDS" alone
	wait $! || fail "the transfers meanwhile did not survive"
	stop_server
}

without_privilege()
{
	begin
	on_client "$XFER_DIR/netlink_table" unprivileged
}

# Two at once, in a namespace that has lost its name and goes with the last of them.
at_once()
{
	local seed

	begin
	for seed in 11 12; do
		on_client sh -c "touch $work/inside.$seed; sleep 0.5; exec $fuzz $seed $((FUZZ_ROUNDS / 4))" &
	done
	within 50 both_started || fail "they do not start"
	ip netns del "$client"
	wait -n || fail "the first to end failed: $?"
	wait -n || fail "the second to end failed: $?"
}
both_started() { [ -e "$work/inside.11" ] && [ -e "$work/inside.12" ]; }

add every_wrong_attribute
add random_messages "$FUZZ_SEED" 50
add random_messages "$((FUZZ_SEED + 1))" 10000
add without_privilege
add at_once
run_cases "$@"
