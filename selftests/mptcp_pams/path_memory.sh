#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What connections learn of a path is remembered for the next ones over it, and shown by pamsctl; it never costs.
#
#	client                                   server
#	         c1 ---- 20 Mbit/s  5 ms ---- s1
#	         c2 ---- 20 Mbit/s 15 ms ---- s2   10.0.0.2
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

paths_max=1024		# that a namespace remembers
further=(pams-h-$$)	# another host behind the client's first address

begin()
{
	need_module
	need_tool "$pamsctl"
}

# remembered: what the server remembers, a line of "LOCAL PEER {...}" for each path
remembered()
{
	{ on_server "$pamsctl" --json path show | tr -d ' \n'; echo; } | sed 's/{"local"/\n&/g' |
		sed -n 's/^{"local":"\([^"]*\)","peer":"\([^"]*\)","remembered":\({[^}]*}\).*/\1 \2 \3/p'
}

# known PEER NAME: that number of the one path to PEER, nothing if there is none
known() { remembered | awk -v peer="$1" '$2 == peer { print $3 }' >"$work/known"; of "$2" "$work/known"; }

# Capacity, round trip and join delay of both paths, as text and as JSON; and it ages.
learned()
{
	local age text

	begin
	paths "$1" 20mbit,5ms 20mbit,15ms
	start_server
	transfer --bytes 4M
	sleep 2		# the last of it is about the connection's end
	text=$(on_server "$pamsctl" path show)
	say "$text"
	grep -q '^10\.0\.0\.2 to 10\.0\.1\.1$' <<<"$text" || fail "the first path isn't shown"
	grep -qE ', joins after .*; [01] subflows? now, learned ' <<<"$text" || fail "no path joins"
	check "capacity of path 1, bytes/s" "$(known 10.0.1.1 rate_byteps)" ">" 2000000
	check "capacity of path 1, bytes/s" "$(known 10.0.1.1 rate_byteps)" "<" 3000000
	check "least round trip of path 1, us" "$(known 10.0.1.1 min_rtt_us)" ">=" 10000
	check "least round trip of path 1, us" "$(known 10.0.1.1 min_rtt_us)" "<" 13000
	check "least round trip of path 2, us" "$(known 10.0.2.1 min_rtt_us)" ">=" 30000
	check "join delay of path 2, us" "$(known 10.0.2.1 join_us)" "<" 100000
	[ -z "$(known 10.0.1.1 join_us)" ] || fail "the first path joins, too"
	age=$(known 10.0.1.1 age_ms)
	sleep 3
	check "age, ms" "$(known 10.0.1.1 age_ms)" ">=" "$age + 3000"
}

switched_off()
{
	begin
	paths "$1" 20mbit,5ms 20mbit,15ms
	on_server sysctl -qw net.mptcp_pams.path_memory=0
	start_server
	transfer --bytes 500K
	[ -z "$(remembered)" ] || fail "remembered: $(remembered)"
}

# The path slows down under NUMBER connections: what is remembered of it, which is what one of them gets, falls, too.
falls()
{
	local before

	begin
	paths "$1" 40mbit,10ms,200
	start_server
	transfer --bytes 100M --conns "$2" --timeout 100000 &
	sleep 4
	before=$(known 10.0.1.1 rate_byteps)
	reshape 1 8mbit,10ms,200
	sleep 8
	remembered
	check "of 40 Mbit/s, bytes/s" "$before" ">" "3500000 / $2"
	check "subflows" "$(known 10.0.1.1 subflows)" == "$2"
	check "of 8 Mbit/s, bytes/s" "$(known 10.0.1.1 rate_byteps)" "<" "$before / 2"
	check "of 8 Mbit/s, bytes/s" "$(known 10.0.1.1 rate_byteps)" ">" "500000 / $2"
	on_client true	# dump_state would show the transfer that is under way
}

# What goes on for long without a change doesn't age meanwhile.
stays_fresh()
{
	begin
	paths "$1" 20mbit,5ms
	start_server
	transfer --bytes 100M --timeout 100000 &
	sleep 30
	check "age, ms" "$(known 10.0.1.1 age_ms)" "<" 11000
}

# After ten minutes it is forgotten: a few packets that tell no capacity don't make the old one count again.
forgotten()
{
	begin
	paths "$1" 20mbit,5ms 20mbit,15ms
	start_server
	transfer --bytes 4M
	sleep 2
	[ -n "$(known 10.0.1.1 rate_byteps)" ] || fail "no capacity was learned"
	[ -n "$(known 10.0.2.1 join_us)" ] || fail "no join delay was learned"
	sleep 601
	transfer --bytes 3000
	sleep 2
	remembered
	check "age, ms" "$(known 10.0.1.1 age_ms)" "<" 10000
	[ -z "$(known 10.0.1.1 rate_byteps)" ] || fail "the old capacity is remembered"
}

# The first path has become faster: short connections alone find that out, too.
speeds_up()
{
	local i

	begin
	paths "$1" 300kbit,10ms 20mbit,40ms
	start_server
	transfer --bytes 100K
	transfer --bytes 30K
	reshape 1 20mbit,10ms
	for i in 1 2 3 4; do
		sleep 1
		transfer --bytes 30K
		say "new connection $i: $(duration_us) us"
	done
	check "us" "$(duration_us)" "<" 70000
}

# What is remembered is a hint: with it nothing is slower than without. The next cases compare both, in one run.

memory() { on_server sysctl -qw net.mptcp_pams.path_memory="$1"; }

# never_slower WHAT PERCENT US US: with memory, and without
never_slower() { check "us for $1 with memory" "$3" "<=" "$4 * (100 + $2) / 100"; }

# transfers_never_slower WHAT PERCENT OPTIONS...: the same transfers without memory, then with it
transfers_never_slower()
{
	local without what=$1 percent=$2
	shift 2

	memory 0
	transfer "$@"
	without=$(duration_us)
	memory 1
	transfer "$@"
	never_slower "$what" "$percent" "$(duration_us)" "$without"
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
	ip netns exec "$server" "$xfer" server -p 5001 &
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
	local without

	begin
	ip netns add "${further[0]}"
	paths "$1" 100mbit,1ms,200
	start_server
	other_host rate 20mbit delay 50ms limit 400
	beside_near 0
	without=$us
	beside_near 1
	never_slower "10 MB far away" 5 "$us" "$without"
}

# beside_near MEMORY: the far host's transfer while the near one's are under way
beside_near()
{
	local new kept

	memory "$1"
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
	begin
	paths "$1" 300kbit,10ms,60 5mbit,40ms,100
	start_server
	transfer --bytes 300K --timeout 100000
	sleep 3
	reshape 1 50mbit,10ms,200
	transfers_never_slower "40 times 30 KB" 5 --cold --conns 4 --stagger 20 --requests 10 --gap 20 --bytes 30K
}

# The path that joins had 300 kbit/s once and has 50 Mbit/s now: it is tried again without data on it.
second_has_become_fast()
{
	begin
	paths "$1" 5mbit,20ms,100 300kbit,10ms,60
	start_server
	transfer --bytes 2M --timeout 100000
	sleep 3
	reshape 2 50mbit,10ms,200
	transfers_never_slower "5 times 500 KB" 5 --cold --requests 5 --gap 20 --bytes 500K
}

# A client with two paths teaches that a second one joins; another one behind the same address has none.
stranger_has_one_path()
{
	local without two

	begin
	ip netns add "${further[0]}"
	paths "$1" 10mbit,40ms,200 50mbit,5ms,200
	start_server
	other_host rate 10mbit delay 40ms limit 200
	memory 0
	from_other --cold --requests 40 --gap 100 --bytes 100K
	without=$us
	memory 1
	ip netns exec "$client" "$xfer" client --quiet --cold --requests 2000 --gap 150 --bytes 60K --timeout 200000 "$address" "$port" &
	two=$!
	sleep 3
	from_other --cold --requests 40 --gap 100 --bytes 100K
	kill "$two"
	never_slower "40 times 100 KB" 5 "$us" "$without"
}

# Packets of two sizes: the second download finds what the first one taught.
unlike_mtus()
{
	begin
	paths "$1" 100mbit,5ms,400 50mbit,10ms,400
	set_mtu 1 9000
	start_server
	transfers_never_slower "2 times 20 MB" 5 --cold --bytes 20M --requests 2 --gap 1000
}

# A page of 40 small answers over new connections, six at a time, over a slow first path and a fast second one, and the other way
# round.
page_begins_on()
{
	local without

	begin
	paths "$1" "$2" "$3"
	start_server
	memory 0
	transfer --cold --conns 6 --requests 7 --bytes 400-400K --seed 5
	without=$(duration_us)
	memory 1
	transfer --cold --conns 6 --requests 7 --bytes 400-400K --seed 7
	transfer --cold --conns 6 --requests 7 --bytes 400-400K --seed 5
	never_slower "a page" 5 "$(duration_us)" "$without"
}

# The first path has become faster than what is remembered of it, and would have delivered all before the other one has joined:
# nothing is kept back for that. 28 packets leave in two rounds, 10 and 18; of the second no more than 14 where some are kept back.
not_kept_back()
{
	local without

	begin
	paths "$1" 2mbit,40ms 2mbit,80ms
	start_server
	transfer --bytes 500K
	sleep 2
	reshape 1 20mbit,40ms
	on_server sysctl -qw net.mptcp_pams.path_memory=0
	transfer --bytes 40K
	without=$(duration_us)
	sleep 2
	on_server sysctl -qw net.mptcp_pams.path_memory=1
	check "capacity of path 1 as it was, bytes/s" "$(known 10.0.1.1 rate_byteps)" "<" 300000
	check "join delay of path 2, us" "$(known 10.0.2.1 join_us)" "<" 500000
	transfer --bytes 40K
	check "time, without memory and 20 ms, us" "$(duration_us)" "<" "$without + 20000"
}

# Link-local addresses: the same on two links, and yet two paths.
link_local()
{
	local i

	begin
	family=-6
	paths "$1" 20mbit,5ms 5mbit,40ms
	for i in 1 2; do
		ip -n "$client" addr add fe80::c/64 dev "c$i" nodad
		ip -n "$server" addr add fe80::5/64 dev "s$i" nodad
	done
	on_client ip mptcp endpoint flush
	start_server
	for i in 1 2; do
		address=fe80::5%c$i
		transfer --bytes 500K
	done
	remembered
	check "paths" "$(remembered | grep -c 'fe80::c%')" == 2
	check "least round trip of link 1, us" "$(known fe80::c%s1 min_rtt_us)" "<" 15000
	check "least round trip of link 2, us" "$(known fe80::c%s2 min_rtt_us)" ">=" 80000
}

# The server has 10.9.0.0/16.
many_addresses()
{
	ip -n "$server" route add local 10.9.0.0/16 dev lo
	ip -n "$client" route add 10.9.0.0/16 via 10.0.1.2 dev c1
	ip netns exec "$server" "$xfer" server -p "$port" &
	server_pid=$!
	within 50 listening || fail "the server does not come up"
}

# many_transfers FROM TO: one from each address, TO excluded
many_transfers()
{
	# shellcheck disable=SC2016 # expanded by the shell in there
	on_client sh -c 'i='"$1"'; while [ $i -lt '"$2"' ]; do
		"$0" client --quiet --bytes 2000 10.9.$((i / 250)).$((i % 250 + 1)) '"$port"' || exit
		i=$((i + 1))
	done' "$xfer" || fail "a transfer did not survive"
}

# More peers than a namespace remembers: the one that was used longest ago goes first. A dump of many messages is whole.
bounded()
{
	local nr=$((paths_max + 76))

	begin
	paths "$1" -
	many_addresses
	many_transfers 0 "$nr"
	remembered >"$work/all"
	check "paths" "$(wc -l <"$work/all")" == "$paths_max"
	[ -z "$(cut -d' ' -f1,2 "$work/all" | sort | uniq -d)" ] || fail "a path comes twice"
	! grep -q '^10\.9\.0\.1 ' "$work/all" || fail "the oldest is still there"
	grep -q "^10\.9\.$(((nr - 1) / 250))\.$(((nr - 1) % 250 + 1)) " "$work/all" || fail "the newest isn't there"
	# KASAN keeps what was freed for a while: there they are no measure
	if grep -qw kasan_quarantine_put /proc/kallsyms; then
		say "KASAN is in this kernel: the paths' objects aren't counted"
		return
	fi
	[ ! -r /proc/slabinfo ] || check "paths' objects" "$(awk '$1 == "mptcp_pams_path" { print $2 }' /proc/slabinfo)" "<=" "$paths_max + 1100"
}

# A use ends when the subflow ends: a path that was in use for long, while as many others as there is room for began, isn't the
# one to drop after that.
last_use_counts()
{
	local stream

	begin
	paths "$1" -
	many_addresses
	ip netns exec "$client" "$xfer" client --quiet --bytes 50000 --rate 10000 10.9.200.1 "$port" &
	stream=$!
	within 50 remembers 10.9.200.1 || fail "the stream's path isn't remembered"
	many_transfers 0 $((paths_max - 2))
	kill -0 "$stream" || fail "the stream ended before that"
	wait "$stream" || fail "the stream did not survive"
	within 50 no_subflows 10.9.200.1 || fail "the stream doesn't end"
	many_transfers $((paths_max - 2)) $((paths_max + 2))
	check "paths" "$(remembered | wc -l)" == "$paths_max"
	remembers 10.9.200.1 || fail "the path of the stream was dropped"
	! remembers 10.9.0.1 || fail "the oldest is still there"
}
remembers() { remembered >"$work/all"; grep -q "^$1 " "$work/all"; }
no_subflows() { remembered >"$work/all"; grep -q "^$1 .*\"subflows\":0" "$work/all"; }

for sched in $SCHEDS; do
	[ "$sched" != default ] || continue
	add learned "$sched"
	add switched_off "$sched"
	for conns in 1 3; do
		add falls "$sched" $conns
	done
	add stays_fresh "$sched"
	add link_local "$sched"
	add bounded "$sched"
	add last_use_counts "$sched"
	[ "$sched" != minfct ] || add not_kept_back "$sched"
	[ "$sched" != minfct ] || add speeds_up "$sched"
	for pair in near_and_far has_become_fast second_has_become_fast stranger_has_one_path unlike_mtus; do
		[ "$sched" != minfct ] || add $pair "$sched"
	done
	for pair in "20mbit,30ms,300 30mbit,8ms,150" "30mbit,8ms,150 20mbit,30ms,300" "15mbit,40ms,300 100mbit,5ms,300"; do
		[ "$sched" != minfct ] || add page_begins_on "$sched" "$pair"
	done
	# ten minutes, for what no scheduler has a part in
	[ "$sched" != minfct ] || add forgotten "$sched"
done
run_cases "$@"
