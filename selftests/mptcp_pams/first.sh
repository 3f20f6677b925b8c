#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# On which address new MPTCP connections begin: pamsctl first.
#
#	client                                     server
#	10.0.1.1 c1 ---- 10 Mbit/s 10 ms ---- s1   the route's choice
#	10.0.2.1 c2 ---- 10 Mbit/s 15 ms ---- s2   10.0.0.2 or fd00::2
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

bpf=/sys/fs/bpf
pins=$bpf/mptcp_pams_first
cgroups=$work/cgroups

first() { nsenter --net="/run/netns/$client" "$pamsctl" first "$@"; }

begin()
{
	need_tool "$pamsctl"
	need_cgroup_bpf
	[ ! -e "$pins" ] || skip "first paths are set on this machine"
	family=${1--4}
	mkdir -p "$cgroups"
	mount -t cgroup2 none "$cgroups"
	mountpoint -q "$bpf" || mount -t bpf bpf "$bpf"
	trap 'clean_up; end_case' EXIT
	paths default 10mbit,10ms 10mbit,15ms
	near=10.0.1.1 far=10.0.2.1
	[ "$family" = -4 ] || { near=fd00:1::1 far=fd00:2::1; }
	ip -n "$client" mptcp endpoint add "$near" dev c1 id 1 subflow
	start_server
}

clean_up()
{
	local status=$?

	set +e
	[ ! -e "/run/netns/$client" ] || first del all
	umount "$cgroups"
	return "$status"
}

# only_over DEVICE XFER-OPTION...: a download goes, all of it
only_over()
{
	local device=$1 other=c1 before one out
	shift

	[ "$device" = c2 ] || other=c2
	within 50 nothing_under_way || fail "the former connection doesn't end"
	before=$(bytes "$other" rx)
	one=$(bytes "$device" rx)
	out=$(bytes "$other" tx)
	transfer --bytes 200000 "$@"
	check "bytes over $device" $(($(bytes "$device" rx) - one)) ">" 200000
	check "bytes over $other" $(($(bytes "$other" rx) - before)) "<" 2000
	check "bytes sent over $other" $(($(bytes "$other" tx) - out)) "<" 2000
}

# The last acknowledgments of the connection before, up to 2,100 bytes, would count for this one.
nothing_under_way() { [ -z "$(on_client ss -Htn exclude time-wait exclude listening)" ]; }

# names DEVICE LINE: pamsctl links says so of the link
names() { nsenter --net="/run/netns/$client" "$pamsctl" links show "$1" | grep -q "^ *$2$" || fail "links doesn't say so of $1: $2"; }

# Without endpoints no other path joins: all goes where the connection begins.
by_destination()
{
	begin "$1"
	ip -n "$client" mptcp endpoint flush
	only_over c1
	first set default "$far"
	only_over c2
	first set "$address" "$near"
	names c2 "$far.*, first for default" && names c1 "$near.*, first for $address"
	only_over c1
	first del "$address"
	only_over c2
	first show
	[ "$(first show | sed -n '2s/  */ /gp')" = "default $far c2 2" ] || fail "$(first show)"
	first del all
	only_over c1
	[ ! -e "$pins" ] || fail "this is left: $(ls "$pins")"
}

others_join()
{
	begin "$1"
	first set default "$far"
	transfer --bytes 3000000
	check "further subflows" "$(counter "$server" MPTcpExtMPJoinAckRx)" == 1
	check "bytes over the other path" "$(bytes c1 rx)" ">" 300000
}

# A subflow that joins an address that the server announces goes as the routes say.
joins_are_left()
{
	begin
	ip -n "$client" mptcp endpoint flush
	ip -n "$server" mptcp endpoint add 10.0.1.2 dev s1 signal
	first set default "$far"
	transfer --bytes 3000000
	check "further subflows" "$(counter "$server" MPTcpExtMPJoinAckRx)" == 1
	check "bytes over the other path" "$(bytes c1 rx)" ">" 300000
	check "connections by the entry" "$(begun)" == 1
}

begun() { first --json show >"$work/entries" && of connections "$work/entries"; }

# What has chosen for itself keeps that: an address, a device, a mark; and plain TCP.
leaves_alone()
{
	begin
	ip -n "$client" mptcp endpoint flush
	first set default "$far"
	only_over c1 --mark 7
	only_over c1 --devices c1
	stop_server
	start_server --tcp
	only_over c1 --tcp
	check "connections by the entry" "$(begun)" == 0
}

client_listens() { [ -n "$(on_client ss -Hltn "sport = $port")" ]; }

# The server's namespace has no entry, though the program sees its connections, too.
other_namespaces()
{
	begin
	first set default "$far"
	stop_server
	ip netns exec "$client" "$xfer" server -p "$port" &
	server_pid=$!
	within 50 client_listens || fail "the server does not come up"
	on_server "$xfer" client --quiet --bytes 100000 10.0.1.1 "$port" || fail "another namespace can't connect"
	[ -z "$(nsenter --net="/run/netns/$server" "$pamsctl" --json first show | tr -d '[] \n')" ] || fail "entries are seen elsewhere"
}

# Connections to this host are no business of an entry for everything else.
this_host()
{
	local to here=127.0.0.1 any=0.0.0.0 six=()
	begin "$1"
	[ "$1" = -4 ] || here=::1 any=:: six=(-6)
	stop_server
	ip -n "$client" link set lo up
	first set default "$far"
	ip netns exec "$client" "$xfer" server -p "$port" "${six[@]}" &
	server_pid=$!
	within 50 client_listens || fail "the server does not come up"
	first set "$near" none
	first set "$far" none
	for to in "$here" "$any" "$near" "$far"; do
		on_client "$xfer" client --quiet "${six[@]}" --bytes 100000 "$to" "$port" || fail "$to can't be reached"
	done
	check "connections by the entries" "$(begun | sort -u)" == 0
}

refused()
{
	local why=$1
	shift

	! first "$@" 2>"$work/err" || fail "accepted: $*"
	grep -qF "$why" "$work/err" || fail "$(cat "$work/err")"
}

refuses()
{
	begin
	refused "192.0.2.1 is no address of this machine" set default 192.0.2.1
	refused "of different families" set 2001:db8::/32 "$far"
	refused "out of range: 0 to 32" set 10.0.0.0/33 "$far"
	refused "'nowhere' is no address, prefix or" set nowhere "$far"
	refused "there is no entry for 10.9.0.0/16" del 10.9.0.0/16
	first set default "$far"
	refused "there is no entry for ::/0" del ::/0
	first del 0.0.0.0/0
	refused "which destination?" set
	refused "on which address?" set default
	first set 10.9.0.0/16 "$far"
	! nsenter --net="/run/netns/$client" setpriv --reuid 65534 --clear-groups "$pamsctl" first show 2>"$work/err" || fail "shown to anybody"
	grep -q "Permission denied: run it as root" "$work/err" || fail "$(cat "$work/err")"
	first del all
	[ ! -e "$pins" ] || fail "this is left: $(ls "$pins")"
}

# New connections over an unlike pair: short answers take what the path takes that they begin on.
sooner()
{
	local far_us

	begin
	reshape 1 10mbit,60ms
	transfer --bytes 10000 --requests 5 --cold
	far_us=$(of fct_us | sum)
	first set default "$far"
	transfer --bytes 10000 --requests 5 --cold
	check "us for five answers" "$(of fct_us | sum)" "<" "$far_us / 2"
}

# An address that goes away: the kernel can't bind to it, and the route's choice stays.
address_goes()
{
	begin
	ip -n "$client" mptcp endpoint flush
	first set default "$far"
	ip -n "$client" addr del "$far"/24 dev c2
	only_over c1
}

# connect() with an entry and without, by the clock of a guest that counts instructions, 1 ns each: 6,000 take 2 us at 3 GHz.
connect_cost()
{
	local with=0 without=0
	begin
	! grep -q "User Mode Linux" /proc/cpuinfo || never "nothing takes time in virtual time"
	ip -n "$client" mptcp endpoint flush
	tc -n "$client" qdisc del dev c1 root
	tc -n "$server" qdisc del dev s1 root
	connects >/dev/null
	for _ in 1 2 3; do
		without=$((without + $(connects)))
		first set default "$near"
		with=$((with + $(connects) + $(connects)))
		first del all
		without=$((without + $(connects)))
	done
	say "connect(): $((without * 1000 / 600)) instructions without, $((with * 1000 / 600)) with an entry"
	check "instructions more" "$(((with - without) * 1000 / 600))" "<=" 6000
}
connects() { transfer --bytes 1 --requests 100 --cold >&2 && of connect_us | sum; }

add by_destination -4
add by_destination -6
add others_join -4
add others_join -6
add joins_are_left
add leaves_alone
add other_namespaces
add this_host -4
add this_host -6
add refuses
add sooner
add address_goes
add connect_cost
run_cases "$@"
