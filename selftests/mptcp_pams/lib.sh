# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Library of the mptcp_pams selftests: cases and TAP, a network of paths in two namespaces, transfers, module, assertions.
#
# A topic script draws its topology, defines one function per case, lists the cases with `add FUNCTION [ARGUMENT...]` and
# ends with `run_cases "$@"`. A case runs in a subshell under `set -e`; it passes by returning, fails by `fail TEXT` or any
# failing command, and is skipped by `skip REASON`. `SCRIPT -l` lists cases, `SCRIPT PATTERN...` runs those that match.
#
# Environment:
#	SCHEDS		schedulers to test ("default minrtt minpad pams"); those that the kernel has need no module
#	MODULE		path of mptcp_pams.ko; empty: modprobe mptcp_pams
#	EXPECT_ALL	1: a skip is a failure
#	VERBOSE		1: show the log of cases that pass, too
#	PAMS_TOOLS	the folder of pamsctl and pamsd (build/tools)
#
# Units: times in ms unless named _us, sizes in bytes, rates as tc(8) takes them.

: "${SCHEDS:=default minrtt minpad pams}" "${MODULE:=}" "${EXPECT_ALL:=0}"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
: "${XFER_DIR:=$here}" "${PAMS_TOOLS:=$here/../../build/tools}"
xfer=$XFER_DIR/xfer
# shellcheck disable=SC2034 # for the topics that need them
pamsctl=$PAMS_TOOLS/pamsctl pamsd=$PAMS_TOOLS/pamsd
port=5000
client=pams-c-$$ server=pams-s-$$	# the namespaces
further=()				# and those that a topic makes beside them
family=-4				# of addresses; a case may choose -6 before it calls paths
flags=					# further ones of the endpoints on c2 to cN, "backup" for one
address=				# the server's, reached by every path
work=$(mktemp -d "${TMPDIR:-/tmp}/pams.XXXXXX")
cases=()

# --- cases and TAP ---

add() { cases+=("$*"); }

# The lines of a case's log are its TAP diagnostics.
say() { echo "$*"; }
fail() { echo "FAIL: $*"; exit 1; }
skip() { echo "$*" >"$work/skip"; exit 4; }

# MPTCP has no IPv6 where that is a module, as on Raspberry Pi OS. A kernel without kallsyms is taken to have it.
has_ipv6() { ! grep -qsw mptcp_poll /proc/kallsyms || grep -qw mptcpv6_handle_mapped /proc/kallsyms; }
# never TEXT: skips also where nothing else may be skipped: the kernel or the module can't have it
never() { touch "$work/never"; skip "$*"; }
need_ipv6() { has_ipv6 || never "MPTCP has no IPv6 in this kernel"; }

# In 1970, where a guest has no clock, it begins with a 0.
now_ms() { local t=${EPOCHREALTIME/./}; echo $((10#$t / 1000)); }

matches()
{
	local name=$1 pattern
	shift
	[ $# -gt 0 ] || return 0
	for pattern; do
		# shellcheck disable=SC2053 # a pattern is meant
		[[ $name != $pattern ]] || return 0
	done
	return 1
}

run_cases()
{
	local chosen=() name status start number=0 failed=0

	for name in "${cases[@]}"; do
		case ${1-} in
		-l) echo "$name" ;;
		*) ! matches "$name" "$@" || chosen+=("$name") ;;
		esac
	done
	[ "${1-}" != -l ] || { rm -r "$work"; exit 0; }

	missing=$(probe)
	echo "TAP version 13"
	echo "1..${#chosen[@]}"
	for name in "${chosen[@]}"; do
		number=$((number + 1))
		start=$(now_ms)
		# each case begins with an empty folder
		rm -r "$work"
		mkdir -m 700 "$work"
		# shellcheck disable=SC2086 # a function and its arguments
		( begin_case; $name ) >"$work/log" 2>&1 </dev/null
		status=$?
		[ $status != 4 ] || [ "$EXPECT_ALL" != 1 ] || [ -e "$work/never" ] || status=5
		[ -z "${VERBOSE-}" ] || [ $status != 0 ] || sed 's/^/# /' "$work/log"
		case $status in
		0) echo "ok $number - $name # time=$(($(now_ms) - start))ms" ;;
		4) echo "ok $number - $name # SKIP $(cat "$work/skip")" ;;
		*)
			failed=1
			sed 's/^/# /' "$work/log"
			# even a case that says nothing leaves its state there: was there room, or was it killed?
			[ -s "$work/log" ] || echo "# an empty log, exit status $status; $(df -k "$work" 2>&1 | tail -n 1)"
			[ $status != 5 ] || sed 's/^/# would be skipped: /' "$work/skip"
			echo "not ok $number - $name # time=$(($(now_ms) - start))ms" ;;
		esac
	done
	rm -r "$work"
	exit $failed
}

begin_case()
{
	set -e
	trap end_case EXIT
	[ -z "$missing" ] || skip "$missing"
}

end_case()
{
	local status=$?

	set +e
	trap '' EXIT
	[ $status = 0 ] || [ $status = 4 ] || dump_state
	remove_paths
	wait
	exit $status
}

dump_state()
{
	local ns

	for ns in "$client" "$server" "${further[@]}"; do
		[ -e "/run/netns/$ns" ] || continue
		say "--- $ns: $(in_ns "$ns" sysctl net.mptcp.scheduler)"
		in_ns "$ns" ss -Mtain | sed 's/ \{2,\}/ /g' | cut -c1-300 | head -n 60
		in_ns "$ns" nstat -as | grep -E 'MPTcp|TcpRetrans|TCPTimeouts|TCPLostRetransmit'
		tc -n "$ns" -s qdisc show | grep -A2 netem
		ip -n "$ns" mptcp endpoint show
	done
	say "--- kernel log"
	dmesg | tail -n 20
}

# --- what this machine offers ---

# probe: what is missing here for any case at all, if anything
probe()
{
	if [ "$EUID" != 0 ]; then
		echo "needs root"
	elif [ ! -e /proc/sys/net/mptcp/enabled ]; then
		echo "this kernel has no MPTCP"
	elif [ ! -e /proc/sys/net/mptcp/scheduler ]; then
		echo "this kernel has no choice of MPTCP schedulers"
	elif ! ip mptcp limits show >/dev/null 2>&1; then
		echo "this iproute2 does not know MPTCP"
	elif [ ! -x "$xfer" ]; then
		echo "no xfer here: make -C selftests/mptcp_pams"
	fi
}

# --- the module ---

loaded() { [ -d /sys/module/mptcp_pams ]; }
users() { cat /sys/module/mptcp_pams/refcnt; }

has_kprobes() { grep -qsw register_kprobe /proc/kallsyms; }
# Against a kernel that exports what the module needs.
is_linked() { ! modinfo -p "${MODULE:-mptcp_pams}" | grep -q kallsyms_lookup_name; }

# All that the module brings: its description lists them. Where they are part of the kernel, it does.
schedulers_of_module()
{
	local text

	text=$(modinfo -F description "${MODULE:-mptcp_pams}" 2>/dev/null) ||
		text=$(sysctl -n net.mptcp.available_schedulers | sed 's/^/: /; s/\<default\> *//')
	echo "${text##*: }"
}
schedulers_for_rules() { schedulers_of_module | sed 's/ *\<rules\>//'; }

# load [PARAMETER...]: load the module; without kprobes it is told where kallsyms_lookup_name is
load()
{
	if [[ "$*" != *kallsyms_lookup_name=* ]] && ! has_kprobes && ! is_linked; then
		set -- "$@" "kallsyms_lookup_name=$(lookup_address)"
	fi
	if [ -n "$MODULE" ]; then
		insmod "$MODULE" "$@"
	else
		modprobe mptcp_pams "$@"
	fi
}

lookup_address() { awk '$3 == "kallsyms_lookup_name" { print "0x" $1; exit }' /proc/kallsyms; }

# A socket lets go of the module when it is gone, which for one that lost its peer in mid transfer is after a minute.
unload()
{
	unused
	rmmod mptcp_pams
}
unused()
{
	within 10 no_users || sleep 5
	within 10 no_users || sleep 60
	within 100 no_users || fail "the module is still used $(users) times"
}
# starts no program, which takes 30 ms in a debug kernel, since it is asked thousands of times
no_users()
{
	local users

	read -r users </sys/module/mptcp_pams/refcnt
	[ "$users" = 0 ]
}

# schedulers_of_kernel: those that the kernel lists. An older one has no list, but refuses a name that it doesn't know.
schedulers_of_kernel()
{
	local name names=()

	[ ! -e /proc/sys/net/mptcp/available_schedulers ] || { cat /proc/sys/net/mptcp/available_schedulers; return; }
	for name in default $(schedulers_of_module); do
		! unshare -n sysctl -qw "net.mptcp.scheduler=$name" 2>/dev/null || names+=("$name")
	done
	echo "${names[*]}"
}
# has_sched NAME: the kernel has it, or the module brought it
has_sched() { schedulers_of_kernel | grep -qw "$1"; }

need_module()
{
	[ "$SCHEDS" != default ] || skip "without the module"
	loaded || load || fail "the module does not load"
}

need_btf() { [ -e /sys/kernel/btf/vmlinux ] || never "this kernel has no BTF"; }
need_cgroup_bpf()
{
	need_btf
	grep -q " __cgroup_bpf_run_filter_sock_addr$" /proc/kallsyms || never "this kernel has no BPF for cgroups"
}
need_tool() { [ -x "$1" ] || skip "no ${1##*/} here: make tools"; }

# --- the network: N paths between client and server ---
#
#	client                                   server
#	10.0.1.1 c1 ---- netem both ways ---- s1
#	10.0.2.1 c2 ---- netem both ways ---- s2   10.0.0.2 (lo)
#	10.0.N.1 cN ---- netem both ways ---- sN
#
# The client is multihomed: subflow endpoints on c2 to cN. The server has one address. fd00:N::1 and fd00::2 likewise.

in_ns() { local ns=$1; shift; ip netns exec "$ns" "$@"; }
on_client() { in_ns "$client" "$@"; }
on_server() { in_ns "$server" "$@"; }
sysctl_in() { local ns=$1; shift; in_ns "$ns" sysctl -n "$@"; }
set_sysctl() { on_client sysctl -qw "$@" && on_server sysctl -qw "$@"; }

# paths SCHED PATH...: make the network. PATH is RATE,DELAY[,LIMIT[,OPTION...]]: netem's rate, delay one way, limit in packets
# and further options, the same both ways; or "-": a link that is not shaped.
paths()
{
	local sched=$1 i=0 path side ns net host bits all nodad=
	shift

	has_sched "$sched" || need_module
	[ "$family" = -4 ] || need_ipv6
	address=10.0.0.2 net=10.0. host=. bits=24 all=32
	[ "$family" = -4 ] || address=fd00::2 net=fd00: host=:: bits=64 all=128 nodad=" nodad"
	local common="mptcp limits set subflow 8 add_addr_accepted 8"$'\n'"link set lo up"

	echo "$common" >"$work/c"
	echo "$common"$'\n'"addr add $address/$all dev lo" >"$work/s"
	echo "netns add $client"$'\n'"netns add $server" >"$work/links"
	for path; do
		i=$((i + 1))
		# With the same index at both ends the kernel would take up to a second to notice that the link is up.
		echo "link add c$i index $((10 + i)) netns $client type veth peer name s$i index $((20 + i)) netns $server" >>"$work/links"
		echo "addr add $net$i${host}1/$bits dev c$i$nodad" >>"$work/c"
		echo "addr add $net$i${host}2/$bits dev s$i$nodad" >>"$work/s"
		# A queue's limit counts frames, and a path's frames are 1514 bytes: no larger ones.
		echo "link set c$i gso_max_segs 1 up" >>"$work/c"
		echo "link set s$i gso_max_segs 1 up" >>"$work/s"
		echo "route add $address via $net$i${host}2 dev c$i metric $i" >>"$work/c"
		[ $i = 1 ] || echo "mptcp endpoint add $net$i${host}1 dev c$i id $i subflow $flags" >>"$work/c"
		shape "$i" add "$path"
	done
	ip -batch "$work/links"
	set_sysctl net.mptcp.scheduler="$sched" net.ipv4.tcp_no_metrics_save=1 net.ipv4.conf.all.rp_filter=0
	for side in c s; do
		ns=$client
		[ $side = c ] || ns=$server
		ip -n "$ns" -batch "$work/$side"
		[ ! -s "$work/tc-$side" ] || tc -n "$ns" -batch "$work/tc-$side"
		rm -f "$work/tc-$side"
	done
	within 30 links_are_up || fail "the links do not come up"
}

links_are_up() { ! { ip -n "$client" -o link show type veth; ip -n "$server" -o link show type veth; } | grep -qv 'state UP'; }

# helper_link NS DEV RATE,DELAY,LIMIT: a new namespace that forwards between its clients, 10.0.2.0/24, and the server, which it
# reaches over its link DEV and s2. After paths, which makes the first path only.
helper_link()
{
	local rate delay limit

	IFS=, read -r rate delay limit <<<"$3"
	ip -batch - <<-END
		netns add $1
		link add $2 index 33 netns $1 type veth peer name s2 index 22 netns $server
	END
	ip -n "$1" -batch - <<-END
		addr add 10.0.3.1/24 dev $2
		link set lo up
		link set $2 gso_max_segs 1 up
		route add $address via 10.0.3.2
	END
	ip -n "$server" -batch - <<-END
		addr add 10.0.3.2/24 dev s2
		link set s2 gso_max_segs 1 up
		route add 10.0.2.0/24 via 10.0.3.1
	END
	in_ns "$1" sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0
	tc -n "$1" qdisc add dev "$2" root netem rate "$rate" delay "$delay" limit "$limit"
	tc -n "$server" qdisc add dev s2 root netem rate "$rate" delay "$delay" limit "$limit"
}

# helper_client NS DEV: the client's second path, over c2 to DEV in the namespace that helper_link made
helper_client()
{
	ip link add c2 index 12 netns "$client" type veth peer name "$2" index 32 netns "$1"
	ip -n "$client" -batch - <<-END
		addr add 10.0.2.1/24 dev c2
		link set c2 gso_max_segs 1 up
		route add $address via 10.0.2.2 dev c2 metric 2
		mptcp endpoint add 10.0.2.1 dev c2 id 2 subflow
	END
	ip -n "$1" -batch - <<-END
		addr add 10.0.2.2/24 dev $2
		link set $2 gso_max_segs 1 up
	END
}

# shape I add|change PATH: the lines that shape path I, for both sides
shape()
{
	local rate delay limit options

	[ "$3" != - ] || return 0
	IFS=, read -r rate delay limit options <<<"$3"
	options="$2 root netem rate $rate delay $delay limit ${limit:-100} ${options//,/ }"
	echo "qdisc ${options/root/dev c$1 root}" >>"$work/tc-c"
	echo "qdisc ${options/root/dev s$1 root}" >>"$work/tc-s"
}

# reshape I PATH: from now on path I is like that
reshape()
{
	shape "$1" change "$2"
	tc -n "$client" -batch "$work/tc-c"
	tc -n "$server" -batch "$work/tc-s"
	rm "$work/tc-c" "$work/tc-s"
}

# set_mtu I MTU: of path I, at both ends, as behind a tunnel, on a mobile link or with jumbo frames
set_mtu()
{
	ip -n "$client" link set "c$1" mtu "$2"
	ip -n "$server" link set "s$1" mtu "$2"
}

remove_paths()
{
	local ns

	for ns in "$client" "$server" "${further[@]}"; do
		[ -e "/run/netns/$ns" ] || continue
		kill_all "$(ip netns pids "$ns")"
		ip netns del "$ns"
	done
}

# shellcheck disable=SC2086 # a list of numbers
kill_all() { [ -z "$1" ] || kill -9 $1; }

# --- transfers ---

start_server()
{
	# shellcheck disable=SC2086 # an option or nothing
	ip netns exec "$server" "$xfer" server -p $port ${family/-4/} "$@" &
	server_pid=$!
	within 50 listening || fail "the server does not come up"
}

stop_server() { kill "$server_pid"; wait "$server_pid" || say "the server ended with $?"; }

# Looked up in the server's /proc, which is its namespace's: no program has to run in there. A listener's peer is port 0 and its
# state 0A; a connection of an earlier server may still be there.
listening()
{
	local table=tcp

	[ "$family" = -4 ] || table=tcp6
	[[ $(<"/proc/$server_pid/net/$table") == *$(printf ':%04X' $port)" "+([0-9A-F])":0000 0A "* ]]
}

# transfer OPTION...: transfers of which each must arrive intact; see `xfer --help` for the options
transfer()
{
	# shellcheck disable=SC2086 # an option or nothing
	if ! on_client "$xfer" client ${family/-4/} --json "$@" "$address" $port >"$work/json"; then
		grep -v '"ok":true' "$work/json" | head -n 5
		fail "transfer $*"
	fi
}

# of NAME [FILE]: the numbers of that name, one per transfer
of() { sed -n "s/.*\"$1\":\([^,}]*\).*/\1/p" "${2:-$work/json}"; }

# duration_us: of the last transfers, together
duration_us() { of fct_us | sum; }

# start_stuck PORT [COUNT BYTES]: senders (stuck.c), as $stuck_pid, that own their sockets for ever once stick is called. Not by
# on_client: its process, not a shell, gets the signal.
start_stuck()
{
	ip netns exec "$client" "$XFER_DIR/stuck" "$address" "$@" >"$work/stuck" &
	stuck_pid=$!
}

# stuck_connected N COMMAND...: tries it N times, 100 ms apart, until it says that they are connected
stuck_connected()
{
	local status=0

	! within "$@" || return 0
	[ ! -e "/proc/$stuck_pid" ] || kill "$stuck_pid"
	wait "$stuck_pid" || status=$?
	[ "$status" != 3 ] || never "this kernel has no userfaultfd"
	fail "the stuck senders don't connect"
}

stick()
{
	kill -USR1 "$stuck_pid"
	within 50 grep -q stuck "$work/stuck" || fail "they don't begin to be stuck"
}

# --- looking at it ---

# bytes DEVICE tx|rx: that the client has sent or received there
bytes() { ip -n "$client" -s -j link show dev "$1" | sed -n "s/.*\"$2\":{\"bytes\":\([0-9]*\).*/\1/p"; }

sum() { awk '{ s += $1 } END { print s + 0 }'; }

# within N COMMAND...: try it N times, 100 ms apart
within()
{
	local times=$1
	shift

	while ! "$@"; do
		times=$((times - 1))
		[ $times -gt 0 ] || return 1
		sleep 0.1
	done
}

# sent NS I: bytes that came through path I from that side, as the server's end counts them
sent()
{
	local field=2

	[ "$1" = "$client" ] || field=10
	awk -v dev="s$2:" -v field=$field '$1 == dev { print $field }' "/proc/$server_pid/net/dev"
}

# counter NS NAME: of nstat
counter() { in_ns "$1" nstat -asz "$2" | awk -v name="$2" '$1 == name { print $2 }'; }

# subflows: the established TCP connections to the server's port
subflows() { on_client ss -Htn state established "dport = $port" | wc -l; }

# check TEXT NUMBER OPERATOR NUMBER: assert it; numbers may be arithmetic. Says the figures in any case.
check()
{
	local condition="($2) $3 ($4)"

	say "$1: $2 = $(($2)), expected $3 $4 = $(($4))"
	((condition)) || fail "$1"
}
