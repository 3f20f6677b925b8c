#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# pamsd keeps the host's paths (section "paths"): endpoints, rules and tables, and where connections begin.
#
#	client                                     server
#	10.0.1.1 c1 ---- 10 Mbit/s 20 ms ---- s1   default routes by both, over c1 with the lower metric
#	10.0.2.1 c2 ---- 10 Mbit/s  5 ms ---- s2   10.0.0.2 or fd00::2
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

begin()
{
	family=${1--4}
	need_tool "$pamsd"
	trap 'clean_up; end_case' EXIT
	paths default 10mbit,20ms 10mbit,5ms
	ip -n "$client" mptcp endpoint flush
	ip -n "$client" mptcp limits set subflow 0 add_addr_accepted 0
	net=10.0. host=. bits=24
	[ "$family" = -4 ] || net=fd00: host=:: bits=64
	near=${net}1${host}1 far=${net}2${host}1
	way 1
	way 2
	start_server
	config 'paths { first = false }'
}

# way I: link I has a default route, none for the server alone
way()
{
	ip -n "$client" "$family" route del "$address" dev "c$1"
	ip -n "$client" "$family" route add default via "$net$1${host}2" dev "c$1" metric "$1"
}

config() { printf '%s\n' "control = \"$work/socket\"" "state = \"$work/caps.json\"" "$@" >"$work/pamsd.conf"; }

clean_up()
{
	local status=$?

	set +e
	[ -z "$daemon" ] || kill -9 "$daemon"
	[ -z "$other" ] || kill -9 "$other"
	wait "$daemon"
	sed 's/^/# pamsd: /' "$work/err"
	[ -z "$cgroups" ] || umount "$cgroups"
	return "$status"
}
daemon=
other=
cgroups=

keep()
{
	ip netns exec "$client" "$pamsd" -c "$work/pamsd.conf" 2>>"$work/err" &
	daemon=$!
	within 50 answers || fail "pamsd does not come up"
}

# In the test's mounts, where there are cgroups; it begins in the client's namespace.
need_cgroups()
{
	need_cgroup_bpf
	! mountpoint -q /sys/fs/cgroup || return 0
	cgroups=/sys/fs/cgroup
	mount -t cgroup2 none "$cgroups"
}

# As systemd starts it.
start()
{
	local caps=+net_admin,+net_raw,+bpf,+perfmon

	chown 65534 "$work" "$work/pamsd.conf"
	nsenter --net="/run/netns/$client" setpriv --reuid 65534 --clear-groups --inh-caps "$caps" --ambient-caps "$caps" \
		"$pamsd" -c "$work/pamsd.conf" 2>>"$work/err" &
	daemon=$!
	within 50 answers || fail "pamsd does not come up"
}

keep_first() { need_cgroups; config 'paths { }'; start; }

answers() { "$pamsd" -c "$work/pamsd.conf" --tell '{"command": "status"}' >"$work/status" 2>&1; }
# what open connections need would stay
end() { within 50 all_closed; kill "$daemon"; wait "$daemon" || say "pamsd ended with $?"; daemon=; }
all_closed() { [ -z "$(on_client ss -Htn state established)" ]; }
endpoints() { ip -n "$client" mptcp endpoint show | sed 's/ id [0-9]*//; s/ *$//' | sort | tr '\n' ';'; }
ours() { { ip -n "$client" "$family" rule show; ip -n "$client" "$family" route show table all; } | grep -c 'proto 173'; }
has_ours() { [ "$(ours)" = "$1" ]; }
has_endpoints() { [ "$(endpoints)" = "$1" ]; }
await() { within 60 has_endpoints "$1" || fail "the endpoints are: $(endpoints)"; }
both() { echo "$near subflow dev c1;$far subflow dev c2;"; }
# leaves_by ADDRESS DEVICE: what comes from there
leaves_by()
{
	local got
	got=$(ip -n "$client" "$family" route get "$address" from "$1" | grep -o "dev [a-z0-9]*")
	[ "$got" = "dev $2" ] || fail "from $1: $got"
}

two_links()
{
	begin "$1"
	keep
	await "$(both)"
	leaves_by "$near" c1
	leaves_by "$far" c2
	transfer --bytes 3000000
	check "further subflows" "$(counter "$server" MPTcpExtMPJoinAckRx)" == 1
	check "bytes over the other path" "$(bytes c2 rx)" ">" 300000
	end
	await ""
	check "rules and routes left" "$(ours)" == 0
	check "the limit" "$(ip -n "$client" mptcp limits show | sed 's/.*subflows \([0-9]*\).*/\1/')" == 0
}

# A strict filter of sources lets what comes over the second link pass, by its rules.
strict()
{
	begin
	on_client sysctl -qw net.ipv4.conf.all.rp_filter=1
	keep
	await "$(both)"
	transfer --bytes 3000000
	check "bytes over the other path" "$(bytes c2 rx)" ">" 300000
}

# Two homes of the same make: the same subnet and the same gateway on both links.
same_subnet()
{
	begin
	ip -n "$client" -batch - <<-END
		addr flush dev c2
		addr add 10.0.1.3/24 dev c2
		route add default via 10.0.1.2 dev c2 metric 2
	END
	ip -n "$server" -batch - <<-END
		addr flush dev s2
		addr add 10.0.1.2/32 dev s2
		route add 10.0.1.3/32 dev s2
	END
	far=10.0.1.3
	keep
	await "$(both)"
	leaves_by "$far" c2
	transfer --bytes 3000000
	check "further subflows" "$(counter "$server" MPTcpExtMPJoinAckRx)" == 1
	check "bytes over the other path" "$(bytes c2 rx)" ">" 300000
}

# As after DHCP's renewal: another address; and a link that goes and comes.
changes()
{
	begin
	keep
	await "$(both)"
	ip -n "$client" addr del 10.0.2.1/24 dev c2
	ip -n "$client" addr add 10.0.2.77/24 dev c2
	ip -n "$client" route add default via 10.0.2.2 dev c2 metric 2
	await "10.0.1.1 subflow dev c1;10.0.2.77 subflow dev c2;"
	leaves_by 10.0.2.77 c2
	ip -n "$client" link set c2 down
	await "10.0.1.1 subflow dev c1;"
	within 20 has_ours 5 || fail "rules and routes: $(ours)"
	ip -n "$client" link set c2 up
	ip -n "$client" route add default via 10.0.2.2 dev c2 metric 2
	await "10.0.1.1 subflow dev c1;10.0.2.77 subflow dev c2;"
}

# A carrier that is gone for a moment costs no subflow; for longer, the endpoint.
carrier()
{
	begin
	keep
	await "$(both)"
	ip -n "$server" link set s2 down
	sleep 1
	has_endpoints "$(both)" || fail "the endpoints are: $(endpoints)"
	ip -n "$server" link set s2 up
	sleep 3
	has_endpoints "$(both)" || fail "the endpoints are: $(endpoints)"
	ip -n "$server" link set s2 down
	await "10.0.1.1 subflow dev c1;"
	ip -n "$server" link set s2 up
	await "$(both)"
}

killed()
{
	begin
	keep
	await "$(both)"
	kill -9 "$daemon"
	wait "$daemon" || say "pamsd was killed"
	ip -n "$client" route del default dev c2
	keep
	await "10.0.1.1 subflow dev c1;"
	within 20 has_ours 5 || fail "rules and routes: $(ours)"
	end
	await ""
	check "rules and routes left" "$(ours)" == 0
	check "the limit" "$(ip -n "$client" mptcp limits show | sed 's/.*subflows \([0-9]*\).*/\1/')" == 0
}

# In mid transfer: it goes on over the same subflows.
restarted()
{
	local pid
	begin
	keep
	await "$(both)"
	transfer --bytes 8M --timeout 60000 &
	pid=$!
	within 50 has_joined || fail "there is no second subflow"
	kill "$daemon"
	wait "$daemon" || say "pamsd ended with $?"
	has_endpoints "$(both)" || fail "the endpoints are: $(endpoints)"
	keep
	wait "$pid" || fail "the transfer failed"
	check "further subflows" "$(counter "$server" MPTcpExtMPJoinAckRx)" == 1
	check "subflows that the server was told to close" "$(counter "$server" MPTcpExtRmSubflow)" == 0
	end
	await ""
	check "rules and routes left" "$(ours)" == 0
}
has_joined() { [ "$(counter "$server" MPTcpExtMPJoinAckRx)" = 1 ]; }

others_stay()
{
	begin
	ip -n "$client" -batch - <<-END
		mptcp endpoint add 10.0.2.1 dev c2 id 9 subflow backup
		mptcp endpoint add 10.9.9.9 id 10 signal
		rule add from 10.0.2.1 table 77 priority 77
		route add default via 10.0.2.2 dev c2 table 77
	END
	before=$(endpoints)
	keep
	await "10.0.1.1 subflow dev c1;$before"
	end
	await "$before"
	check "rules and routes of others" "$({ ip -n "$client" rule show; ip -n "$client" route show table 77; } | grep -c '77\|10.0.2.2')" == 2
}

# All goes through a tunnel: paths would lead around it.
tunnel()
{
	begin
	ip -n "$client" link add wg0 type dummy
	ip -n "$client" -batch - <<-END
		addr add 10.8.0.2/24 dev wg0
		link set wg0 up
		route add default dev wg0 metric 0
	END
	keep
	sleep 1
	await ""
	ip -n "$client" link del wg0
	await "$(both)"
	ip -n "$client" -batch - <<-END
		link add wg1 type dummy
		addr add 10.7.0.2/24 dev wg1
		link set wg1 up
		route add default via 10.7.0.1 dev wg1 metric 9
	END
	sleep 1
	await "$(both)"
	sed -i 's/first = false/& also = {"wg1"}/' "$work/pamsd.conf"
	kill -HUP "$daemon"
	await "$(both)10.7.0.2 subflow dev wg1;"
}

# A cap forbids the default route's link: the other one stays, and connections begin there; it comes back as it was.
forbidden()
{
	begin
	need_cgroups
	config 'paths { }' 'cap "c1" { interface = "c1" then = "forbid" }'
	start
	await "$far subflow dev c2;"
	within 50 begins_on c2 || fail "the first connections: $(cat "$work/status")"
	config 'paths { }'
	kill -HUP "$daemon"
	await "$(both)"
	end
	await ""
}
begins_on() { answers && grep -q "\"interface\": *\"$1\"[^}]*\"first\": *true" "$work/status"; }

# A predicted loss holds connections off for as long as it was said to; somebody else's unanswered connection doesn't.
predicted()
{
	begin
	keep_first
	await "$(both)"
	within 20 begins_on c1 || fail "$(cat "$work/status")"
	"$pamsd" -c "$work/pamsd.conf" --tell '{"interface": "c1", "loss_ms": 500, "ttl_ms": 1000}'
	begins_on c2 || fail "$(cat "$work/status")"
	sleep 2
	"$pamsd" -c "$work/pamsd.conf" --tell '{"interface": "c2", "loss_ms": 500}'
	begins_on c1 || fail "it is lost for ever: $(cat "$work/status")"
}

# A server that is down, and nothing else is going on: only connections to it begin elsewhere, each path has its turn.
down()
{
	local begins=10.0.1 other=10.0.2
	begin
	keep_first
	await "$(both)"
	transfer --bytes 10000 --cold
	within 20 begins_on c1 || { begins=10.0.2 other=10.0.1; }
	ip -n "$server" route add blackhole 10.0.0.99
	sleep 3
	in_vain "$begins"
	in_vain "$other"
	in_vain "$begins"
	answers
	! grep '"dead"' "$work/status" || fail "a path counts as dead"
	begins_on "$([ "$begins" = 10.0.1 ] && echo c1 || echo c2)" || fail "all connections begin elsewhere: $(cat "$work/status")"
}
# in_vain NET: for a second somebody wants to connect, from there
in_vain()
{
	local pid
	on_client timeout 1 "$xfer" client --quiet --bytes 1000 10.0.0.99 "$port" >"$work/none" 2>&1 &
	pid=$!
	sleep 0.1
	on_client ss -Htn state syn-sent dst 10.0.0.99 | tee "$work/tries" | grep -q "$1.1[:%]" || fail "not from $1: $(cat "$work/tries")"
	! wait "$pid" || fail "something answered"
}

# What comes from a neighbour isn't what the way out carries.
neighbour()
{
	local pid
	begin
	keep_first
	await "$(both)"
	on_client "$xfer" client --quiet --bytes 3M 10.0.1.2 "$port" &
	pid=$!
	transfer --bytes 100 --cold
	wait "$pid" || fail "no transfer"
	answers
	! grep '"rate_byteps"' "$work/status" || fail "a neighbour's rate counts"
	transfer --bytes 3M
	answers
	grep '"rate_byteps"' "$work/status" || fail "no rate counts"
}

# Nothing answers at that address, but the path carries a transfer: it isn't dead.
unanswered()
{
	local pid
	begin
	keep_first
	await "$(both)"
	ip -n "$server" route add blackhole 10.0.0.99
	on_client "$xfer" client --quiet --tcp --bytes 1000 10.0.0.99 "$port" >"$work/none" 2>&1 &
	pid=$!
	transfer --bytes 2000000
	kill "$pid"
	wait "$pid" || say "nothing answered"
	! grep "nothing is answered" "$work/err" || fail "a path counts as dead"
}

privacy()
{
	begin -6
	keep
	await "$(both)"
	ip -n "$client" addr add fd00:2::99/64 dev c2 nodad
	ip -n "$client" addr change fd00:2::1/64 dev c2 preferred_lft 0
	await "fd00:1::1 subflow dev c1;fd00:2::99 subflow dev c2;"
	ip -n "$client" addr change fd00:2::1/64 dev c2 preferred_lft forever
	sleep 1
	await "fd00:1::1 subflow dev c1;fd00:2::99 subflow dev c2;"
}

# Two who choose: the command that has no effect says so.
two_choose()
{
	begin
	keep_first
	! nsenter --net="/run/netns/$client" "$pamsctl" --control "$work/socket" first set default "$far" 2>"$work/why" || fail "accepted"
	grep -q "pamsd chooses where connections begin: write first = false" "$work/why" || fail "$(cat "$work/why")"
}

alone()
{
	begin
	keep
	await "$(both)"
	sed -i "s|$work/socket|$work/other|" "$work/pamsd.conf"
	! ip netns exec "$client" "$pamsd" -c "$work/pamsd.conf" 2>"$work/second" || fail "a second one runs"
	grep -q "another pamsd keeps paths with" "$work/second" || fail "$(cat "$work/second")"
	has_endpoints "$(both)" || fail "the endpoints are: $(endpoints)"
}

# Connections begin on the path that answers sooner, as soon as both are known.
sooner()
{
	local slow_us
	begin "$1"
	transfer --bytes 10000 --requests 5 --cold
	slow_us=$(of fct_us | sum)
	keep_first
	await "$(both)"
	transfer --bytes 300000
	sleep 1
	transfer --bytes 10000 --requests 5 --cold
	answers
	cat "$work/status"
	in_ns "$client" "$pamsctl" --control "$work/socket" links | tee "$work/links"
	grep -A1 "^ *c2" "$work/links" | grep "first for" || fail "links doesn't say that connections begin on c2"
	check "us for five answers" "$(of fct_us | sum)" "<" "$slow_us * 6 / 10"
	end
	transfer --bytes 10000 --requests 5 --cold
	check "us without it" "$(of fct_us | sum)" ">" "$slow_us * 8 / 10"
}

# The default route is dead though its interface is up: the first connection notices that, the next one begins elsewhere.
dead()
{
	begin
	keep_first
	await "$(both)"
	ip -n "$server" link set s1 down
	ip -n "$server" link set s1 up
	tc -n "$client" qdisc change dev c1 root netem loss 100%
	! on_client timeout 1 "$xfer" client --quiet --bytes 10000 "$address" "$port" || fail "the path is not dead"
	transfer --bytes 10000 --requests 3 --cold
	check "us for three answers" "$(duration_us)" "<" 500000
	within 20 links_has "^ *c1 .*dead" || fail "links doesn't say that c1 is dead: $(<"$work/links")"
}
links_has() { in_ns "$client" "$pamsctl" --control "$work/socket" links >"$work/links"; grep -q "$1" "$work/links"; }

# Plain TCP and UDP leave the dead default route, too, if the setting says so; else they are left alone.
others_begin()
{
	local six=()
	begin "$1"
	[ "$1" = -4 ] || six=(-6)
	keep_first
	await "$(both)"
	# its neighbour answers: IPv6 leaves a gateway that doesn't
	ip -n "$server" "$family" route add blackhole "$near"
	meet_death
	! on_client timeout 2 "$xfer" client --quiet --tcp "${six[@]}" --bytes 1000 "$address" "$port" || fail "plain TCP is moved unasked"
	udp_from "$near -" 0 "$address" 443
	take 'first-also = {"udp", "tcp"}'
	meet_death
	transfer --tcp --bytes 10000 --requests 3 --cold
	check "us for three answers" "$(duration_us)" "<" 500000
	udp_from "$far c2" 0 "$address" 443
	links_has "$far.*, first for default (MPTCP, TCP, UDP)" || fail "links doesn't say so: $(<"$work/links")"
	# bound to a port; DNS; a neighbour
	udp_from "$near -" 7000 "$address" 443
	udp_from "$near -" 0 "$address" 53
	udp_from "$near -" 0 "${near%1}2" 443
	ip -n "$client" "$family" route del default dev c2
	ip -n "$client" "$family" route add default via "${far%1}2" dev c2 table 77
	within 20 links_has "$far.*, first for default (MPTCP, TCP)" || fail "UDP sockets follow a route that they don't find: $(<"$work/links")"
	udp_from "$near -" 0 "$address" 443
	transfer --tcp --bytes 10000
	ip -n "$client" "$family" route add default via "${far%1}2" dev c2 metric 2
	take 'first-also = {"tcp"}'
	udp_from "$near -" 0 "$address" 443
}
# the first connection notices it, the second one is answered elsewhere
meet_death()
{
	on_client timeout 1 "$xfer" client --quiet "${six[@]}" --bytes 1000 "$address" "$port" || say "a connection in vain"
	transfer --bytes 1000
	within 20 begins_on c2 || fail "$(cat "$work/status")"
}
take() { config "paths { $1 }"; kill -HUP "$daemon"; sleep 1; }
# udp_from WHERE ARGUMENT...
udp_from()
{
	local want=$1 got
	shift
	got=$(on_client "$XFER_DIR/udp" "$@")
	[ "$got" = "$want" ] || fail "udp $*: not from $want, but $got"
}

# One UDP socket is connected to all addresses of a name, IPv6 and IPv4, by getaddrinfo(): nothing of the last one is left.
by_name()
{
	begin -6
	ip -n "$client" addr add 10.0.1.1/24 dev c1
	need_cgroups
	config 'paths { first-also = {"udp"} }' 'cap "c1" { interface = "c1" then = "cost 1" }'
	start
	within 20 begins_on c2 || fail "$(cat "$work/status")"
	udp_from "$far c2
::ffff:10.0.1.1 -
$near -
$far c2" 0 "$address" 443 10.0.1.2 443 "${near%1}2" 443 "$address" 443
}

# Connections to learn from, and then nothing: the daemon sleeps.
idle()
{
	local before
	begin
	keep_first
	await "$(both)"
	transfer --bytes 10000 --requests 5 --cold
	sleep 15
	before=$(wakeups)
	sleep 30
	check "wake-ups in 30 s" $(($(wakeups) - before)) == 0
}
wakeups() { awk '/ctxt_switches/ { count += $2 } END { print count }' "/proc/$daemon/status"; }

# A new connection each 0.4 s, shorter than any look: the next ones begin where it is faster.
short()
{
	begin
	keep_first
	await "$(both)"
	transfer --bytes 40000 --requests 2 --cold --gap 400
	within 20 begins_on c2 || fail "$(cat "$work/status")"
}

# The path that answers sooner carries 1 Mbit/s: connections stay away from it, or go back.
slow()
{
	begin
	reshape 2 1mbit,5ms
	keep_first
	await "$(both)"
	transfer --bytes 300000 --requests 3 --cold
	within 20 begins_on c1 || fail "$(cat "$work/status")"
	transfer --bytes 10000 --cold
	begins_on c1 || fail "$(cat "$work/status")"
}

# What a download carried before anybody looked is no rate of the moment in which a new connection begins.
running()
{
	begin
	transfer --bytes 10M --timeout 60000 &
	sleep 4
	keep_first
	on_client "$xfer" client --quiet --bytes 10000 --requests 3 --cold --gap 400 "$address" "$port"
	sleep 1
	answers
	check "bytes/s that c1 carries" "$(rate c1 rate_byteps)" ">" 900000
	check "bytes/s that c1 carries" "$(rate c1 rate_byteps)" "<" 1500000
}
# rate LINK NAME: that value of its status
rate() { tr -d ' \n' <"$work/status" | tr '{' '\n' | sed -n '/"interface":"'"$1"'"/s/.*"'"$2"'":\([0-9]*\).*/\1/p'; }

# A pamsd that was just started knows no rate. The server's says what its module measured of the connection that runs, and the
# next one begins where that is more, though the route and the round trip say the other path.
told()
{
	local key slow_us fast_us
	need_module
	begin
	reshape 1 1mbit,5ms
	reshape 2 20mbit,20ms
	ip -n "$client" mptcp endpoint add "$far" dev c2 subflow
	ip -n "$client" mptcp limits set subflow 1
	stop_server
	on_server sysctl -qw net.mptcp.scheduler=minfct
	start_server
	need_cgroups
	key=$("$pamsd" --genkey)
	config "control = \"$work/server.socket\"" "server { listen = {\"0.0.0.0\"} peer \"client\" { key = \"$key\" } }"
	sed 1d "$work/pamsd.conf" >"$work/server.conf"
	config "reporter { to \"server\" { address = \"$address\" key = \"$key\" via = {\"c1\", \"c2\"} }" \
		'interface "c1" { measure = "none" }' 'interface "c2" { measure = "none" } }' 'paths { }'
	chmod 600 "$work"/*.conf
	ip netns exec "$server" "$pamsd" -c "$work/server.conf" 2>>"$work/err" &
	other=$!
	# of one flight: what another path carries of a longer one differs from answer to answer
	transfer --bytes 13000 --requests 9 --cold
	slow_us=$(of fct_us | sort -n | sed -n 5p)
	# the server looks once a second, and a path counts only while it is full
	transfer --bytes 24M --timeout 60000 &
	transfer_pid=$!
	sleep 3
	start
	within 60 begins_on c2 || fail "$(cat "$work/status")"
	check "bytes/s that c1 is said to carry" "$(rate c1 told_byteps)" ">" 80000
	check "bytes/s that c1 is said to carry" "$(rate c1 told_byteps)" "<" 200000
	check "bytes/s that c2 is said to carry" "$(rate c2 told_byteps)" ">" 1800000
	check "bytes/s that c2 is said to carry" "$(rate c2 told_byteps)" "<" 4000000
	! grep -q rate_byteps "$work/status" || fail "the client has measured by itself"
	wait "$transfer_pid" || fail "the download failed"
	sleep 2	# what it left in the first path's queue goes first
	transfer --bytes 13000 --requests 9 --cold
	fast_us=$(of fct_us | sort -n | sed -n 5p)
	say "us of the median answer: $slow_us before, $fast_us after"
	check "us of the median answer" "$fast_us" "<" "$slow_us / 2"
}

# Where no BPF program can run, a default route of pamsd's lets all begin on the other link, which answers sooner.
by_metric()
{
	local before slow_us
	begin "$1"
	metrics 100 200
	before=$(others_routes)
	transfer --bytes 10000 --requests 5 --cold
	slow_us=$(of fct_us | sum)
	config 'paths { first-by-metric = true }'
	keep
	await "$(both)"
	leads_by_ours "" || fail "the default routes: $(ip -n "$client" "$family" route show default)"
	transfer --bytes 300000
	within 20 leads_by_ours c2 || fail "the default routes: $(ip -n "$client" "$family" route show default)"
	check "their metric" "$(ip -n "$client" "$family" route show default proto 173 | sed 's/.* metric \([0-9]*\).*/\1/')" == 87
	transfer --bytes 10000 --requests 5 --cold
	check "us for five answers" "$(of fct_us | sum)" "<" "$slow_us * 6 / 10"
	links_has "$far.*, first for default" || fail "links doesn't say so: $(<"$work/links")"
	timeout 3 ip -n "$client" monitor route >"$work/news" || say "3 s are over"
	check "changes of default routes in 3 s" "$(grep -c default "$work/news")" == 0
	# somebody's, lower than ours
	ip -n "$client" "$family" route add default via "${near%1}2" dev c1 metric 60
	within 20 leads_below 60 || fail "the default routes: $(ip -n "$client" "$family" route show default)"
	ip -n "$client" "$family" route del default dev c1 metric 60
	ip -n "$client" link set c2 down
	within 20 leads_by_ours "" || fail "a route is left"
	[ "$(others_routes)" = "$(grep -v c2 <<<"$before")" ] || fail "the routes of others: $(others_routes)"
	ip -n "$client" link set c2 up
	[ "$family" = -4 ] || ip -n "$client" addr add "$far/64" dev c2 nodad
	ip -n "$client" "$family" route add default via "${far%1}2" dev c2 metric 200
	await "$(both)"
	transfer --bytes 300000
	within 20 leads_by_ours c2 || fail "the default routes: $(ip -n "$client" "$family" route show default)"
	end
	check "rules and routes left" "$(ours)" == 0
}
# metrics OF1 OF2: the default routes'
metrics()
{
	local i
	for i in 1 2; do
		ip -n "$client" "$family" route del default dev "c$i"
		ip -n "$client" "$family" route add default via "$net$i${host}2" dev "c$i" metric "${!i}"
	done
}
by_ours() { ip -n "$client" "$family" route show default proto 173 | sed 's/.* dev \([a-z0-9]*\) .*/\1/'; }
leads_by_ours() { [ "$(by_ours)" = "$1" ]; }
leads_below() { [ "$(ip -n "$client" "$family" route show default proto 173 | sed 's/.* metric \([0-9]*\).*/\1/')" -lt "$1" ]; }
others_routes() { ip -n "$client" "$family" route show table main | grep -v "proto 173" || say "none"; }

# The same, if the default route is dead though its interface is up; a pamsd that is killed leaves it, the next one takes it away.
by_metric_dead()
{
	local before
	begin
	metrics 100 200
	before=$(others_routes)
	config 'paths { first-by-metric = true }'
	keep
	await "$(both)"
	tc -n "$client" qdisc change dev c1 root netem loss 100%
	! on_client timeout 3 "$xfer" client --quiet --bytes 10000 "$address" "$port" || fail "the path is not dead"
	transfer --bytes 10000 --requests 3 --cold
	check "us for three answers" "$(duration_us)" "<" 500000
	leads_by_ours c2 || fail "the default routes: $(ip -n "$client" route show default)"
	within 20 links_has "^ *c1 .*dead" || fail "links doesn't say that c1 is dead: $(<"$work/links")"
	kill -9 "$daemon"
	wait "$daemon" || say "pamsd was killed"
	leads_by_ours c2 || fail "a killed one takes its route away"
	config 'paths { }'
	keep
	within 20 leads_by_ours "" || fail "the route of one that was killed is left"
	# and without the option none is made
	! on_client timeout 3 "$xfer" client --quiet --bytes 10000 "$address" "$port" || fail "the path is not dead"
	sleep 1
	leads_by_ours "" || fail "the default routes: $(ip -n "$client" "$family" route show default)"
	grep "connections begin where the routes say: .*; first-by-metric" "$work/err" || fail "it doesn't name the option"
	[ "$(others_routes)" = "$before" ] || fail "the routes of others: $(others_routes)"
}

# A VPN's default route comes, lower than those of the links, but not than ours: it isn't hidden.
by_metric_tunnel()
{
	begin
	metrics 100 200
	config 'paths { first-by-metric = true }'
	keep
	await "$(both)"
	transfer --bytes 300000
	within 20 leads_by_ours c2 || fail "the default routes: $(ip -n "$client" route show default)"
	ip -n "$client" -batch - <<-END
		link add wg0 type dummy
		addr add 10.8.0.2/24 dev wg0
		link set wg0 up
		route add default dev wg0 metric 90
	END
	await ""
	check "rules and routes left" "$(ours)" == 0
	ip -n "$client" link del wg0
	await "$(both)"
}

# No metric is lower than 0, or than 1 for IPv6: nothing is done, and that is said once.
by_metric_refused()
{
	begin "$1"
	metrics "$2" 200
	config 'paths { first-by-metric = true }'
	keep
	await "$(both)"
	transfer --bytes 300000
	sleep 5
	leads_by_ours "" || fail "the default routes: $(ip -n "$client" "$family" route show default)"
	check "lines" "$(grep -c "connections begin where the routes say: a default route has the lowest metric" "$work/err")" == 1
	! links_has "first for default" || fail "links says what isn't so: $(<"$work/links")"
}

add two_links -4
add two_links -6
add strict
add same_subnet
add changes
add carrier
add killed
add restarted
add others_stay
add tunnel
add forbidden
add predicted
add down
add neighbour
add unanswered
add privacy
add two_choose
add alone
add sooner -4
add sooner -6
add dead
add others_begin -4
add others_begin -6
add by_name
add idle
add short
add slow
add running
add told
add by_metric -4
add by_metric -6
add by_metric_dead
add by_metric_tunnel
add by_metric_refused -4 0
add by_metric_refused -6 1
run_cases "$@"
