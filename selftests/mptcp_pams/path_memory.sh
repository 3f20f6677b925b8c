#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What connections learn of a path is remembered for the next ones between the same addresses, and shown by pamsctl.
#
#	client                                   server
#	         c1 ---- 20 Mbit/s  5 ms ---- s1
#	         c2 ---- 20 Mbit/s 15 ms ---- s2   10.0.0.2
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

paths_max=1024		# that a namespace remembers

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

# The path slows down under NUMBER connections: what is remembered of it falls, too.
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
	check "capacity of 40 Mbit/s, bytes/s" "$before" ">" 3500000
	check "subflows" "$(known 10.0.1.1 subflows)" == "$2"
	check "capacity of 8 Mbit/s, bytes/s" "$(known 10.0.1.1 rate_byteps)" "<" 2000000
	check "capacity of 8 Mbit/s, bytes/s" "$(known 10.0.1.1 rate_byteps)" ">" 500000
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

# Connections of the same peer that only stay open take nothing of the path.
idle_ones_do_not_count()
{
	begin
	paths "$1" 20mbit,10ms 20mbit,40ms
	start_server
	transfer --bytes 4M
	mkdir "$work/idle"
	on_client "$xfer" client --bytes 1K --conns 50 --requests 2 --gap 20000 "$address" "$port" >"$work/idle/out" &
	sleep 3
	check "subflows" "$(known 10.0.1.1 subflows)" ">=" 50
	transfer --bytes 30K
	kill $!
	check "us" "$(duration_us)" "<" 70000
}

# One after another learns the whole path, and stays open at rest: their capacities are no sum.
resting_ones_are_not_added()
{
	begin
	paths "$1" 20mbit,10ms
	start_server
	on_client "$xfer" client --bytes 2M --conns 4 --stagger 4000 --requests 2 --gap 60000 "$address" "$port" >"$work/resting" &
	sleep 18
	check "subflows" "$(known 10.0.1.1 subflows)" == 4
	check "capacity of 20 Mbit/s, bytes/s" "$(known 10.0.1.1 rate_byteps)" "<" 3500000
	kill $!
	transfer --bytes 3K
	check "capacity of 20 Mbit/s, bytes/s" "$(known 10.0.1.1 rate_byteps)" "<" 3500000
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
	[ "$sched" != minfct ] || add idle_ones_do_not_count "$sched"
	[ "$sched" != minfct ] || add resting_ones_are_not_added "$sched"
	# ten minutes, for what no scheduler has a part in
	[ "$sched" != minfct ] || add forgotten "$sched"
done
run_cases "$@"
