#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Days on which what earlier connections taught made later ones slower than the kernel's own scheduler: no more, as both in one run show.
#
#	client                                   server
#	         c1 ---- first path  ---- s1
#	         c2 ---- second path ---- s2   10.0.0.2
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

further=(pams-h-$$)	# another host behind the client's first address

# serve SCHED [OPTION...]: what the server's new connections use; the listener of before had another
serve()
{
	[ -z "$server_pid" ] || stop_server
	server_pid=
	set_sysctl net.mptcp.scheduler="$1"
	shift
	start_server "$@"
}

# never_slower WHAT US US: ours, and the kernel's own
never_slower() { check "us for $1" "$2" "<=" "$3 * 105 / 100"; }

# transfers_never_slower SCHED WHAT OPTIONS...: once with the kernel's own scheduler, twice with ours: the first ones teach
transfers_never_slower()
{
	local own sched=$1 what=$2
	shift 2

	serve default
	transfer "$@"
	own=$(duration_us)
	serve "$sched"
	transfer "$@"
	transfer "$@"
	never_slower "$what" "$(duration_us)" "$own"
}

# other_host SHAPE: another host behind 10.0.1.1, as behind a NAT: by a link of its own. The server reaches it by its port, 5001.
other_host()
{
	local other=${further[0]}

	ip link add f1 index 41 netns "$other" type veth peer name s9 index 49 netns "$server"
	ip -n "$other" -batch - <<-END
		link set lo up
		addr add 10.0.1.1/32 dev f1
		link set f1 gso_max_segs 1 up
		route add 10.0.9.2 dev f1
		route add 10.0.0.2 via 10.0.9.2 src 10.0.1.1
	END
	ip -n "$server" -batch - <<-END
		addr add 10.0.9.2/32 dev s9
		link set s9 gso_max_segs 1 up
		route add 10.0.1.1 dev s9 table 100
		rule add pref 10 sport 5001 lookup 100
	END
	in_ns "$other" sysctl -qw net.ipv4.tcp_no_metrics_save=1 net.ipv4.conf.all.rp_filter=0
	on_server sysctl -qw net.ipv4.conf.all.rp_filter=0
	tc -n "$other" qdisc add dev f1 root netem "${@}"
	tc -n "$server" qdisc add dev s9 root netem "${@}"
}

# serve_both SCHED: the other host's server, too
serve_both()
{
	if [ -n "$other_pid" ]; then
		kill "$other_pid"
		wait "$other_pid" || say "the other server ended with $?"
	fi
	serve "$1"
	ip netns exec "$server" "$xfer" server -p 5001 &
	other_pid=$!
	within 50 other_listens || fail "the other server does not come up"
}
other_listens() { on_server ss -Hltn 'sport = 5001' | grep -q .; }

# from_other OPTIONS...: a transfer of that host, as transfer; sets $us
from_other()
{
	in_ns "${further[0]}" "$xfer" client --json "$@" "$address" 5001 >"$work/other" || fail "the other host's transfer"
	us=$(of fct_us "$work/other" | sum)
}

# A host 2 ms away, with new connections and kept ones, and one 100 ms away behind the same address.
near_and_far()
{
	local own

	begin "$1"
	ip netns add "${further[0]}"
	paths "$1" 100mbit,1ms,200
	other_host rate 20mbit delay 50ms limit 400
	beside_near default
	own=$us
	beside_near "$1"
	never_slower "10 MB far away" "$us" "$own"
}

# beside_near SCHED: the far host's transfer while the near one's are under way
beside_near()
{
	local new kept

	serve_both "$1"
	ip netns exec "$client" "$xfer" client --quiet --cold --requests 2000 --gap 100 --bytes 20K --timeout 200000 "$address" "$port" &
	new=$!
	ip netns exec "$client" "$xfer" client --quiet --conns 3 --stagger 50 --requests 2000 --gap 300 --bytes 20K --timeout 200000 "$address" "$port" &
	kept=$!
	sleep 1
	from_other --bytes 10M --timeout 200000
	kill "$new" "$kept"
}

# A path that had 300 kbit/s once and has 50 Mbit/s now: a page's connections over it.
has_become_fast()
{
	begin "$1"
	paths "$1" 300kbit,10ms,60 5mbit,40ms,100
	serve "$1"
	transfer --bytes 300K --timeout 100000
	sleep 3
	reshape 1 50mbit,10ms,200
	transfers_never_slower "$1" "40 times 30 KB" --cold --conns 4 --stagger 20 --requests 10 --gap 20 --bytes 30K
}

# A client with two paths, and another one with one path behind the same address.
stranger_has_one_path()
{
	local own two

	begin "$1"
	ip netns add "${further[0]}"
	paths "$1" 10mbit,40ms,200 50mbit,5ms,200
	other_host rate 10mbit delay 40ms limit 200
	serve_both default
	from_other --cold --requests 40 --gap 100 --bytes 100K
	own=$us
	serve_both "$1"
	ip netns exec "$client" "$xfer" client --quiet --cold --requests 2000 --gap 150 --bytes 60K --timeout 200000 "$address" "$port" &
	two=$!
	sleep 3
	from_other --cold --requests 40 --gap 100 --bytes 100K
	kill "$two"
	never_slower "40 times 100 KB" "$us" "$own"
}

# Packets of two sizes: the later downloads after the first.
unlike_mtus()
{
	begin "$1"
	paths "$1" 100mbit,2ms,60 50mbit,8ms,200
	set_mtu 1 9000
	transfers_never_slower "$1" "3 times 20 MB" --cold --bytes 20M --requests 3 --gap 1000
}

# A page of 40 small answers over new connections, six at a time, over a slow first path and a fast second one, and the other way
# round.
page_begins_on()
{
	local own

	begin "$1"
	paths "$1" "$2" "$3"
	serve default
	transfer --cold --conns 6 --requests 7 --bytes 400-400K --seed 5
	own=$(duration_us)
	serve "$1"
	transfer --cold --conns 6 --requests 7 --bytes 400-400K --seed 7
	transfer --cold --conns 6 --requests 7 --bytes 400-400K --seed 5
	never_slower "a page" "$(duration_us)" "$own"
}

begin() { need_module; has_sched "$1" || skip "no scheduler $1 here"; other_pid=; }

for sched in $SCHEDS; do
	[ "$sched" != default ] || continue
	for day in near_and_far has_become_fast stranger_has_one_path unlike_mtus; do
		add $day "$sched"
	done
	for pair in "20mbit,30ms,300 30mbit,8ms,150" "30mbit,8ms,150 20mbit,30ms,300" "15mbit,40ms,300 100mbit,5ms,300"; do
		add page_begins_on "$sched" "$pair"
	done
done
run_cases "$@"
