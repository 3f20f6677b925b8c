#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Caps of pamsd: a quota that is reached under a transfer is kept, paths become backups, dearer or forbidden, and are given back.
# Counting alone is tested in selftests/pamsd.
#
#	client                                     server
#	         c1 ---- 10 Mbit/s 10 ms ---- s1
#	         c2 ---- 20 Mbit/s 20 ms ---- s2   10.0.0.2
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

endpoint="10.0.2.1 id 2 subflow dev c2"

begin()
{
	need_tool "$pamsd"
	need_tool "$pamsctl"
	need_module
	paths pams 10mbit,10ms 20mbit,20ms
	start_server
	: >"$work/pamsd.err"
}

# start_daemon LINE...: pamsd with a cap of the second path that says so; its clock is UTC
start_daemon() { start_with 'cap "lte" {' 'interface = "c2"' "$@" '}'; }
# start_with LINE...: pamsd with that configuration
start_with()
{
	printf '%s\n' "control = \"$work/socket\"" "state = \"$work/state\"" "$@" >"$work/pamsd.conf"
	chmod 600 "$work/pamsd.conf"	# there may be a key in it
	again
}
# again [COMMAND]: pamsd by that, or as root with all privileges
again()
{
	TZ=UTC ip netns exec "$client" "$@" "$pamsd" -c "$work/pamsd.conf" 2>>"$work/pamsd.err" &
	daemon=$!
	within 50 answers || fail "pamsd does not come up: $(cat "$work/pamsd.err")"
}
answers() { caps >/dev/null 2>&1; }
caps() { "$pamsctl" --control "$(sed -n 's/^control = //p' "$work/pamsd.conf" | tr -d '"')" caps; }
end_daemon() { kill "$1" "$daemon"; wait "$daemon" || say "pamsd ended"; }
tell_all() { sed 's/^/# pamsd: /' "$work/pamsd.err"; caps | sed 's/^/# /'; }

# as the kernel counts: received and sent
counted() { in_ns "$client" cat /proc/net/dev | awk '$1 == "c2:" { print $2 + $10 }'; }
endpoints() { ip -n "$client" mptcp endpoint show | sed 's/ *$//'; }
has_endpoint() { endpoints | grep -qx "$1"; }
has_no_endpoint() { ! endpoints | grep -q "10.0.2.1"; }
becomes() { within 30 has_endpoint "$1" || { tell_all; fail "the endpoint is '$(endpoints)' and not '$1'"; }; }
costs() { in_ns "$client" "$pamsctl" path show dev c2 2>/dev/null | grep -qw "cost $1"; }
costs_nothing() { ! in_ns "$client" "$pamsctl" path show dev c2 2>/dev/null | grep -qw cost; }

# quota THEN BYTES OPTION...: 5 MB a day, and a transfer that would take more; at most 1 MB more passes
quota()
{
	local then=$1 size=$2 from
	shift 2

	begin
	start_daemon 'quota = "5M"' 'per = "day"' "then = \"$then\""
	from=$(counted)
	transfer --bytes "$size" --timeout 60000 "$@"
	tell_all
	check "bytes over path 2" "$(counted) - $from" ">" "5000000"
	check "bytes over path 2" "$(counted) - $from" "<=" "6000000"
}

upload_keeps_the_quota() { quota backup 24M --dir up; end_daemon -TERM; }
download_keeps_the_quota() { quota backup 24M; end_daemon -TERM; }
forbidden_path_keeps_the_quota() { quota forbid 24M; end_daemon -TERM; }

# A cost reaches the server in a report: it decides over the download.
dearer_path_keeps_the_quota()
{
	local key from

	begin
	set_sysctl net.mptcp.scheduler=minfct
	key=$("$pamsd" --genkey)
	printf '%s\n' 'control = ""' 'server {' 'listen = {"0.0.0.0"}' "peer \"client\" { key = \"$key\" }" '}' >"$work/server.conf"
	chmod 600 "$work/server.conf"
	ip netns exec "$server" "$pamsd" -c "$work/server.conf" 2>>"$work/pamsd.err" &
	local far=$!
	start_daemon 'quota = "5M"' 'then = "cost 2"' '}' 'reporter {' "to \"server\" { address = \"$address\" key = \"$key\" }" \
		'interface "c1" { measure = "none" }' 'interface "c2" { measure = "none" }'
	from=$(counted)
	transfer --bytes 24M --timeout 60000
	tell_all
	check "bytes over path 2" "$(counted) - $from" ">" 5000000
	check "bytes over path 2" "$(counted) - $from" "<=" 6000000
	end_daemon -TERM
	kill "$far"
	wait "$far" || say "the server's pamsd ended"
}

# Killed again and again while data flows: the same limit.
killed_daemons_keep_the_quota()
{
	local from i

	begin
	start_daemon 'quota = "8M"' 'per = "day"' 'then = "backup"'
	from=$(counted)
	transfer --bytes 32M --timeout 90000 &
	transfer_pid=$!
	for i in 1 2 3 4 5 6; do
		sleep 0.6
		end_daemon -9
		again
	done
	wait "$transfer_pid" || fail "the transfer did not survive"
	tell_all
	check "bytes over path 2" "$(counted) - $from" ">" "8000000"
	check "bytes over path 2" "$(counted) - $from" "<=" "9000000"
	becomes "10.0.2.1 id 2 subflow backup dev c2"
	end_daemon -TERM
	becomes "$endpoint"
}

# Root's pamsd, started once by hand, leaves a file that the service can read. One that it can't read is kept, and makes no quota free.
state_of_another_user()
{
	begin
	chmod 755 "$work"
	mkdir "$work/var"
	chown "$service" "$work/var"
	printf '%s\n' "control = \"$work/var/socket\"" "state = \"$work/var/state\"" \
		'cap "lte" { interface = "c2" quota = "5M" then = "forbid" }' >"$work/pamsd.conf"
	chmod 600 "$work/pamsd.conf"
	again
	transfer --bytes 4M
	end_daemon -TERM
	chown "$service" "$work/pamsd.conf"
	again "${by_service[@]}"
	tell_all
	grep "used up" "$work/pamsd.err" && fail "the quota is used up"
	end_daemon -TERM
	chown 0 "$work/var/state"
	cp "$work/var/state" "$work/copy"
	again "${by_service[@]}"
	within 20 has_no_endpoint || fail "the path isn't forbidden"
	has_said "$work/var/state: can't be read: Permission denied" || { tell_all; fail "it isn't said"; }
	cmp "$work/copy" "$work/var/state.unreadable" || fail "what was counted isn't kept"
	end_daemon -TERM
}
# by number: a guest has no list of users
service=65534
by_service=(setpriv --reuid "$service" --regid "$service" --clear-groups --inh-caps +net_admin --ambient-caps +net_admin)

# At midnight another day begins.
quota_is_given_back_at_midnight()
{
	local now

	begin
	now=$(date +%s)
	date -u -s "2026-11-30 23:59:30" >/dev/null
	start_daemon 'quota = "1M"' 'then = "forbid"'
	transfer --bytes 6M --timeout 60000
	within 20 has_no_endpoint || fail "the path isn't forbidden"
	date -u -s "2026-11-30 23:59:58" >/dev/null
	has_no_endpoint || fail "it is given back too early"
	sleep 4
	becomes "$endpoint"
	caps | grep "left: 1M of 1M bytes until 2027-01-01" || { tell_all; fail "it isn't a new month"; }
	end_daemon -TERM
	date -u -s "@$((now + 60))" >/dev/null
}

# What was removed comes back, the same, when the daemon ends; also if it was killed before.
forbidden_endpoint_comes_back()
{
	begin
	start_daemon 'then = "forbid"'
	within 20 has_no_endpoint || fail "the path isn't forbidden"
	end_daemon -9
	sleep 1
	has_no_endpoint || fail "a killed daemon gives it back"
	again
	ip -n "$client" mptcp endpoint add 10.0.2.1 dev c2 id 2 subflow
	within 20 has_no_endpoint || fail "a new endpoint isn't forbidden"
	end_daemon -TERM
	becomes "$endpoint"
}

# Whatever address it has: none that is gone comes back, as a link that dials in gets a new one each time. The kernel's list has room
# for eight.
addresses_of_a_forbidden_path_come_and_go()
{
	local i

	begin
	start_daemon 'then = "forbid"'
	for ((i = 11; i <= 22; i++)); do
		move_to "10.0.2.$i"
		ip -n "$client" mptcp endpoint add "10.0.2.$i" dev c2 subflow
		within 30 is_forbidden || fail "the path isn't forbidden after $((i - 10)) addresses"
		[ "$i" != 15 ] || { end_daemon -9; again; }
	done
	end_daemon -TERM
	tell_endpoints
	endpoints | grep "^10.0.2.22 .*dev c2" || fail "its address isn't given back"
	[ "$(endpoints_of_path)" = 1 ] || fail "an address that is gone is given back"
}
# move_to ADDRESS...: path 2 has these, and none of before
move_to()
{
	local one

	ip -n "$client" addr flush dev c2
	for one; do ip -n "$client" addr add "$one/24" dev c2; done
}
endpoints_of_path() { endpoints | grep -c "dev c2"; }
is_forbidden() { ! endpoints | grep -q "dev c2"; }
tell_endpoints() { endpoints | sed 's/^/# endpoint: /'; }

# Without an address at the end of the cap it may get the one that it had: its endpoint waits for that, not for another one. One
# whose address was never the interface's, as behind NAT, is given back as it was.
address_of_a_forbidden_path_is_away()
{
	local next public="198.51.100.1 id 9 signal dev c2"

	begin
	for next in 10.0.2.1 10.0.2.9; do
		ip -n "$client" mptcp endpoint flush
		ip -n "$client" mptcp endpoint add 10.0.2.1 dev c2 id 2 subflow
		ip -n "$client" mptcp endpoint add 198.51.100.1 dev c2 id 9 signal
		move_to 10.0.2.1
		start_daemon 'then = "forbid"'
		within 20 is_forbidden || fail "the path isn't forbidden"
		move_to 169.254.7.7
		sed -i 's/forbid/cost 1/' "$work/pamsd.conf"
		kill -HUP "$daemon"
		becomes "$public"
		sleep 2
		has_no_endpoint || fail "it doesn't wait for the address"
		move_to "$next"
		sleep 2
		if [ "$next" = 10.0.2.1 ]; then
			becomes "$endpoint"
		else
			has_no_endpoint || fail "an address that is gone is given back"
		fi
		end_daemon -TERM
	done
	[ "$(endpoints_of_path)" = 1 ] || { tell_endpoints; fail "an address that is gone is given back"; }
}

# Another address, which the interface keeps all the time, is no replacement.
address_beside_another_is_away()
{
	begin
	move_to 10.0.2.50 10.0.2.1
	start_daemon 'then = "forbid"'
	within 20 is_forbidden || fail "the path isn't forbidden"
	ip -n "$client" addr del 10.0.2.1/24 dev c2
	sed -i 's/forbid/cost 1/' "$work/pamsd.conf"
	kill -HUP "$daemon"
	sleep 2
	has_no_endpoint || fail "an address that is gone is given back"
	ip -n "$client" addr add 10.0.2.1/24 dev c2
	becomes "$endpoint"
	end_daemon -TERM
}

# More addresses, all of which the interface has, than pamsd can give back: all are forbidden all the same.
more_addresses_than_are_remembered()
{
	local i

	begin
	start_daemon 'then = "forbid"'
	within 20 is_forbidden || fail "the path isn't forbidden"
	for ((i = 11; i <= 78; i++)); do
		ip -n "$client" addr add "10.0.2.$i/24" dev c2
		ip -n "$client" mptcp endpoint add "10.0.2.$i" dev c2 subflow
		[ $((i % 4)) != 2 ] || within 30 is_forbidden || fail "the path isn't forbidden with $((i - 10)) addresses"
	done
	tell_all
	grep "more than 64 endpoints" "$work/pamsd.err" || fail "it isn't said"
	end_daemon -TERM
}

# A backup that was one before stays one.
own_backup_is_left_alone()
{
	begin
	ip -n "$client" mptcp endpoint change id 2 backup
	start_daemon 'then = "backup"'
	sleep 2
	becomes "10.0.2.1 id 2 subflow backup dev c2"
	end_daemon -TERM
	sleep 1
	becomes "10.0.2.1 id 2 subflow backup dev c2"
}

# A reload that says less gives back, one that says more takes.
reload_changes_the_effect()
{
	begin
	start_daemon 'then = "forbid"'
	within 20 has_no_endpoint || fail "the path isn't forbidden"
	sed -i 's/forbid/backup/' "$work/pamsd.conf"
	kill -HUP "$daemon"
	becomes "10.0.2.1 id 2 subflow backup dev c2"
	sed -i 's/backup/cost 3/' "$work/pamsd.conf"
	kill -HUP "$daemon"
	becomes "$endpoint"
	within 20 costs 3 || fail "it costs nothing: $(in_ns "$client" "$pamsctl" path show)"
	sed -i '/^cap/,$d' "$work/pamsd.conf"
	printf 'rules = "%s"\n' "$work/rules" >>"$work/pamsd.conf"
	: >"$work/rules"
	kill -HUP "$daemon"
	within 20 costs_nothing || fail "it still costs: $(in_ns "$client" "$pamsctl" path show)"
	end_daemon -TERM
}

# Pamsd that can't be started, or whose new configuration doesn't work, forbids nothing, and one that ends since neither works
# gives everything back.
failure_forbids_nothing()
{
	local status=0

	begin
	printf '%s\n' "control = \"$work/none/socket\"" "state = \"$work/state\"" 'cap "lte" { interface = "c2" then = "forbid" }' \
		>"$work/wrong.conf"
	chmod 600 "$work/wrong.conf"
	ip netns exec "$client" "$pamsd" -c "$work/wrong.conf" 2>>"$work/pamsd.err" || status=$?
	[ "$status" = 1 ] || fail "pamsd ended with $status"
	becomes "$endpoint"
	: >"$work/rules"
	start_with "rules = \"$work/rules\""
	cp "$work/pamsd.conf" "$work/good.conf"
	cp "$work/wrong.conf" "$work/pamsd.conf"
	kill -HUP "$daemon"
	within 20 has_said "the old configuration is kept" || fail "the new configuration is taken"
	becomes "$endpoint"
	cp "$work/good.conf" "$work/pamsd.conf"
	end_daemon -TERM

	start_with 'cap "lte" { interface = "c2" then = "forbid" }'
	within 20 has_no_endpoint || fail "the path isn't forbidden"
	cp "$work/wrong.conf" "$work/pamsd.conf"
	kill -HUP "$daemon"
	within 20 has_said "the old configuration is kept" 2 || fail "the new configuration is taken"
	sleep 2
	has_no_endpoint || fail "a configuration that is refused gives it back"
	# where the old one's socket was there is a folder now
	rm "$work/socket"
	mkdir "$work/socket"
	kill -HUP "$daemon"
	wait "$daemon" || status=$?
	[ "$status" = 1 ] || fail "pamsd ended with $status"
	has_said "neither the new nor the old configuration works" || fail "it isn't said"
	becomes "$endpoint"
}
# has_said TEXT [TIMES]
has_said() { [ "$(grep -c "$1" "$work/pamsd.err")" -ge "${2:-1}" ]; }

# Told again and again: it goes with the daemon, and comes back with the module.
cost_is_told_and_ends()
{
	begin
	start_daemon 'then = "cost 2"'
	within 20 costs 2 || fail "it costs nothing: $(in_ns "$client" "$pamsctl" path show)"
	sleep 15
	costs 2 || fail "it costs nothing after 15 s"
	end_daemon -9
	within 150 costs_nothing || fail "it still costs after the daemon's death"
	again
	within 20 costs 2 || fail "it costs nothing"
	end_daemon -TERM
	within 5 costs_nothing || fail "it still costs after the daemon's end"
}

# What somebody has set until it is deleted is there again when the cap ends: with the daemon, after a kill, by a reload. Meanwhile
# the larger one of both holds, and it may be set anew and deleted.
cost_of_an_admin_is_given_back()
{
	begin
	set_cost 1
	start_daemon 'then = "cost 2"'
	becomes_cost 2
	end_daemon -TERM
	sleep 15
	becomes_cost 1
	again
	becomes_cost 2
	end_daemon -9
	within 150 costs_nothing || fail "it still costs after the daemon's death"
	again
	becomes_cost 2
	set_cost 5
	sleep 15
	becomes_cost 5
	sed -i 's/"c2"/"c1"/' "$work/pamsd.conf"
	kill -HUP "$daemon"
	sleep 15
	becomes_cost 5
	sed -i 's/"c1"/"c2"/' "$work/pamsd.conf"
	kill -HUP "$daemon"
	sleep 5
	in_ns "$client" "$pamsctl" path del dev c2
	becomes_cost 2
	end_daemon -TERM
	within 5 costs_nothing || fail "what was deleted is given back"
}
set_cost() { in_ns "$client" "$pamsctl" path set dev c2 cost "$1"; }
becomes_cost() { within 50 costs "$1" || { tell_all; fail "it doesn't cost $1: $(in_ns "$client" "$pamsctl" path show)"; }; }

# For a server that knows nothing of costs: the default scheduler sends nothing over the costlier path while the cheaper lives, whether
# the cost was there before the connection or came meanwhile; everything over it when the cheaper one dies; and over both again.
cost_becomes_a_backup()
{
	local from

	begin
	set_sysctl net.mptcp.scheduler=default
	ip -n "$client" route add default via 10.0.1.2 dev c1
	start_with "costs-as-backup = true"
	from=$(counted)
	transfer --bytes 4M
	check "bytes over path 2, without a cost" "$(counted) - $from" ">" 1000000
	transfer --bytes 24M --timeout 60000 &
	transfer_pid=$!
	sleep 2
	in_ns "$client" "$pamsctl" path set dev c2 cost 1
	becomes "10.0.2.1 id 2 subflow backup dev c2"
	sleep 1
	from=$(counted)
	sleep 2
	check "bytes over path 2 in 2 s" "$(counted) - $from" "<" 20000
	wait "$transfer_pid" || fail "the transfer did not survive"
	from=$(counted)
	transfer --bytes 4M
	check "bytes over path 2" "$(counted) - $from" "<" 20000
	from=$(counted)
	transfer --bytes 6M --timeout 60000 &
	transfer_pid=$!
	sleep 1
	ip -n "$client" link set c1 down
	wait "$transfer_pid" || fail "the transfer did not survive"
	check "bytes over path 2, the other is dead" "$(counted) - $from" ">" 4000000
	ip -n "$client" link set c1 up
	ip -n "$client" route add "$address" via 10.0.1.2 dev c1 metric 1
	ip -n "$client" route add default via 10.0.1.2 dev c1
	becomes "10.0.2.1 id 2 subflow backup dev c2"
	in_ns "$client" "$pamsctl" path del dev c2
	becomes "$endpoint"
	within 30 links_are_up || fail "the links do not come up"
	from=$(counted)
	transfer --bytes 4M
	check "bytes over path 2, the cost is gone" "$(counted) - $from" ">" 1000000
	tell_all
	end_daemon -TERM
}

# The path of the first subflow, if its address is an endpoint, too; the cost is a cap's. The cheapest stays none, whatever it costs.
cost_of_the_first_path_becomes_a_backup()
{
	local first="10.0.1.1 id 1 subflow"

	begin
	set_sysctl net.mptcp.scheduler=default
	ip -n "$client" mptcp endpoint add 10.0.1.1 dev c1 id 1 subflow
	start_with "costs-as-backup = true" 'cap "one" { interface = "c1" then = "cost 2" }' 'cap "two" { interface = "c2" then = "cost 1" }'
	becomes "$first backup dev c1"
	has_endpoint "$endpoint" || fail "the cheapest is a backup"
	transfer --bytes 4M
	check "bytes over path 1" "$(sent "$server" 1)" "<" 400000
	sed -i 's/cost 2/cost 1/' "$work/pamsd.conf"
	kill -HUP "$daemon"
	becomes "$first dev c1"
	sed -i 's/"cost 1" }$/"cost 3" }/' "$work/pamsd.conf"
	sed -i '/"one"/s/cost 3/cost 1/' "$work/pamsd.conf"
	kill -HUP "$daemon"
	becomes "10.0.2.1 id 2 subflow backup dev c2"
	end_daemon -9
	sleep 1
	has_endpoint "10.0.2.1 id 2 subflow backup dev c2" || fail "a killed daemon gives it back"
	again
	end_daemon -TERM
	becomes "$endpoint"
	has_endpoint "$first dev c1" || fail "the first path is a backup"
}

add upload_keeps_the_quota
add download_keeps_the_quota
add forbidden_path_keeps_the_quota
add dearer_path_keeps_the_quota
add killed_daemons_keep_the_quota
add state_of_another_user
add quota_is_given_back_at_midnight
add forbidden_endpoint_comes_back
add addresses_of_a_forbidden_path_come_and_go
add address_of_a_forbidden_path_is_away
add address_beside_another_is_away
add more_addresses_than_are_remembered
add own_backup_is_left_alone
add reload_changes_the_effect
add failure_forbids_nothing
add cost_is_told_and_ends
add cost_of_an_admin_is_given_back
add cost_becomes_a_backup
add cost_of_the_first_path_becomes_a_backup
run_cases "$@"
