#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What pamsctl says of links: what is in the way, and how much MPTCP sent and received over each.
#
#	client                                   server
#	10.0.1.1 c1 ---- 10 Mbit/s 10 ms ---- s1
#	10.0.2.1 c2 ---- 10 Mbit/s 15 ms ---- s2   10.0.0.2
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

begin()
{
	need_tool "$pamsctl"
	paths "${1-default}" 10mbit,10ms 10mbit,15ms
	ip -n "$client" route add default via 10.0.1.2 dev c1 metric 1
	ip -n "$client" route add default via 10.0.2.2 dev c2 metric 2
	ip -n "$server" route add default via 10.0.1.1 dev s1
	start_server
}

ctl() { on_client "$pamsctl" "$@"; }

# links NS [WORD...]: as JSON, in $work/links, for what follows
links() { local ns=$1; shift; in_ns "$ns" "$pamsctl" --json links "$@" >"$work/links"; }

# link DEV NAME: a value of that link, as links found it; "none" if it has none
link()
{
	awk -v dev="\"$1\"," -v name="\"$2\":" '$1 == "\"dev\":" { here = $2 == dev }
		here && /^    "/ && $1 == name { sub(/^ *"[^"]*": "?/, ""); sub(/"?,?$/, ""); value = $0 }
		END { print value == "" ? "none" : value }' "$work/links"
}

# all NAME: the sum of it over all links, or all subflows
all() { sed -n "s/^ *\"$1\": \([0-9]*\),*$/\1/p" "$work/links" | sum; }

# hold DIRECTION BYTES: a transfer whose connection then stays open
hold()
{
	ip netns exec "$client" "$xfer" client --quiet --dir "$1" --bytes "$2" --requests 2 --gap 60000 "$address" "$port" &
	held=$!
	within 100 is_over "$2" || fail "the transfer doesn't end"
	# the last acknowledgments
	sleep 1
}
is_over() { links "$client" && [ $(($(all sent_bytes) + $(all received_bytes))) -ge "$1" ]; }

# counted NS DEV tx|rx: bytes of the interface
counted() { ip -n "$1" -s -j link show dev "$2" | sed -n "s/.*\"$3\":{\"bytes\":\([0-9]*\).*/\1/p"; }

# agrees NS DEV NAME tx|rx: what a link carried is what its interface counted, but for headers, a tenth at most, and acknowledgments
agrees()
{
	local bytes counted

	links "$1"
	bytes=$(link "$2" "$3")
	counted=$(counted "$1" "$2" "$4")
	check "$2: $3, of the interface's $counted" "$bytes" "<" "$counted"
	check "$2: $3" "$bytes * 11 / 10 + 10000" ">" "$counted"
	check "$2: $3" "$bytes" ">" 300000
}

# what is sent, as the interfaces of both ends count it
carries()
{
	local sender=$server receiver=$client i own=s other=c

	[ "$1" = down ] || sender=$client receiver=$server own=c other=s
	begin
	hold "$1" 2000000
	for i in 1 2; do
		agrees "$sender" "$own$i" sent_bytes tx
		agrees "$receiver" "$other$i" received_bytes rx
		check "subflows" "$(link "$other$i" subflows)" == 1
	done
	links "$client"
	check "received and sent over all" "$(all received_bytes) + $(all sent_bytes)" "<" 2200000
	check "round trip of c1 in us" "$(link c1 min_rtt_us)" ">" 19000
	check "round trip of c1 in us" "$(link c1 min_rtt_us)" "<" 29000
	check "round trip of c2 in us" "$(link c2 min_rtt_us)" ">" 29000
}

# Per connection it is the same.
per_connection()
{
	local received token

	begin
	hold down 2000000
	links "$client"
	received=$(all received_bytes)
	links "$client" conn
	check "connections" "$(grep -c '"token"' "$work/links")" == 1
	check "paths" "$(grep -c '"dev"' "$work/links")" == 2
	check "received" "$(all received_bytes)" == "$received"
	token=$(sed -n 's/.*"token": "\(.*\)".*/\1/p' "$work/links")
	[[ $(on_client ss -Mni) == *"token:$(printf %x "$token") "* ]] || fail "ss knows no $token"
	ctl links conn "$token" >"$work/out"
	grep -q "^$token  2 subflows$" "$work/out" || fail "$(<"$work/out")"
	grep -q "10.0.1.1:.* > 10.0.0.2:$port" "$work/out" || fail "$(<"$work/out")"
}

# What is measured while data flow: 10 Mbit/s over each.
measures()
{
	begin
	ip netns exec "$client" "$xfer" client --quiet --bytes 20000000 "$address" "$port" &
	sleep 3
	links "$client" --interval 2s
	check "received in bytes a second over c1" "$(link c1 receiving_byteps)" ">" 1000000
	check "received in bytes a second over c1" "$(link c1 receiving_byteps)" "<" 1260000
	check "received in bytes a second over c2" "$(link c2 receiving_byteps)" "<" 1260000
	links "$server"
	check "sent in bytes a second over s1" "$(link s1 sending_byteps)" ">" 900000
	check "delivered in bytes a second over s1" "$(link s1 delivery_rate_byteps)" ">" 900000
}

# state DEV STATE: and why, if it isn't ready
state()
{
	say "$1: $(link "$1" state), $(link "$1" why)"
	[ "$(link "$1" state)" = "$2" ] || fail "$1 isn't: $2"
	[ "$2" = ready ] || [ "$(link "$1" why)" != none ] || fail "and why?"
}

says_why()
{
	need_tool "$pamsctl"
	paths default - - - -
	ip -n "$client" route add default via 10.0.1.2 dev c1 metric 1
	ip -n "$client" route add default via 10.0.2.2 dev c2 metric 2
	ip -n "$server" link set s4 down
	links "$client"
	state c1 ready
	state c2 ready
	state c3 "no default route"
	state c4 "no carrier"
	ip -n "$client" mptcp endpoint flush
	ip -n "$client" link set c4 down
	links "$client"
	state c1 ready
	state c2 "no endpoint"
	state c4 down
	ctl links >"$work/out"
	say "$(<"$work/out")"
	grep -q "^ *10.0.1.1 via 10.0.1.2, first by the routes$" "$work/out" || fail "where connections begin"
	grep -q "^ *-> ip mptcp endpoint add 10.0.2.1 dev c2 subflow$" "$work/out" || fail "what to do"
	[[ $(<"$work/links") != *'"cost"'* ]] || loaded || fail "costs without the module"
}

# What it says to do is what makes the link ready.
heals()
{
	need_tool "$pamsctl"
	paths default - -
	ip -n "$client" route add default via 10.0.1.2 dev c1 metric 1
	ip -n "$client" mptcp endpoint flush
	for reason in "no default route" "no endpoint"; do
		ctl links show c2 >"$work/out"
		grep -q "^c2 *$reason " "$work/out" || fail "$(<"$work/out")"
		sed -n 's/^ *-> ip \(.*\)/\1/p' "$work/out" | sed 's/GATEWAY/10.0.2.2/' >"$work/batch"
		[ -s "$work/batch" ] || fail "nothing to do: $(<"$work/out")"
		ip -n "$client" -batch "$work/batch"
	done
	links "$client"
	state c2 ready
}

# Without privilege it shows what the kernel tells: all, or no bytes, and says so.
unprivileged()
{
	local status=0

	begin
	hold down 500000
	nobody=(setpriv --reuid 65534 --clear-groups)
	on_client "${nobody[@]}" "$pamsctl" links >"$work/out" 2>"$work/err"
	say "$(cat "$work/out" "$work/err")"
	grep -q "^c1 *ready" "$work/out" || fail "no link"
	on_client "${nobody[@]}" "$pamsctl" links conn >"$work/conns" 2>"$work/why" || status=$?
	case $status in
	0) grep -q "2 subflows" "$work/conns" || fail "$(<"$work/conns")" ;;
	4)
		grep -q "needs CAP_NET_ADMIN: run it as root" "$work/why" || fail "$(<"$work/why")"
		grep -q "^c1 .* - *- *- *-$" "$work/out" || fail "bytes that nobody knows"
		grep -q "not all is shown: run it as root" "$work/err" || fail "it isn't said" ;;
	*) fail "exit status $status" ;;
	esac
}

# With the module: costs, losses, and bytes and rates in what conn and top show of its connections.
with_module()
{
	need_module
	begin pams
	hold down 2000000
	ctl path set dev c2 cost 3
	links "$client"
	check "cost of c2" "$(link c2 cost)" == 3
	check "cost of c1" "$(link c1 cost)" == 0
	ctl path set dev c2 loss-time 0
	links "$client"
	state c2 lost
	on_server "$pamsctl" --json conn show >"$work/links"
	check "sent by the connection's subflows" "$(all sent_bytes)" ">" 1999999
	check "sent by the connection's subflows" "$(all sent_bytes)" "<" 2600000
	on_server "$pamsctl" conn show >"$work/out"
	grep -q "SENT  RECEIVED" "$work/out" || fail "$(<"$work/out")"
	ip netns exec "$client" "$xfer" client --quiet --bytes 20000000 "$address" "$port" &
	sleep 2
	on_server "$pamsctl" --json top --batch --count 2 --interval 2s | tail -n 1 >"$work/picture"
	check "bytes a second in the second picture" "$(grep -o '"sending_byteps":[0-9]*' "$work/picture" | cut -d: -f2 | sum)" ">" 1000000
	check "bytes a second in the second picture" "$(grep -o '"sending_byteps":[0-9]*' "$work/picture" | cut -d: -f2 | sum)" "<" 2520000
	[[ $(on_server "$pamsctl" top --batch --count 2) == *"SENDING  RECEIVING"* ]] || fail "top has no rates"
	kill "$held" $!
	stop_server
	unused
}

add carries down
add carries up
add per_connection
add measures
add says_why
add heals
add unprivileged
add with_module
run_cases "$@"
