#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# pamsctl with the module: reports of paths go in and come out again, connections and events are shown, and what it says of the
# machine is so. Its command line alone is tested in selftests/pamsctl.
#
#	client                                   server
#	         c1 ---- 20 Mbit/s  5 ms ---- s1
#	         c2 ---- 20 Mbit/s 15 ms ---- s2   10.0.0.2
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

begin()
{
	need_module
	need_tool "$pamsctl"
	paths pams 20mbit,5ms 20mbit,15ms
}

ctl() { on_client "$pamsctl" "$@"; }

# exits STATUS TEXT WORD...: pamsctl ends with that status and says TEXT on standard error
exits()
{
	local expected=$1 text=$2 status=0
	shift 2

	ctl "$@" >"$work/out" 2>"$work/err" || status=$?
	say "pamsctl $*: exit $status, $(cat "$work/err")"
	check "exit status" "$status" == "$expected"
	[[ $(<"$work/err") == *"$text"* ]] || fail "that does not say: $text"
}

# shows TEXT WORD...: it succeeds and prints TEXT
shows()
{
	local text=$1 out
	shift

	out=$(ctl "$@") || fail "pamsctl $*: exit $?: $out"
	say "pamsctl $*: $out"
	[[ $out == *"$text"* ]] || fail "that does not show: $text"
}

number_of_paths() { ctl --json path show | grep -c '"\(address\|token\|ifindex\)":'; }

# --- paths ---

# comes_back KEY VALUES SHOWN: what is set under a key is shown, alone and among all, as text and as JSON, and can be deleted
comes_back()
{
	local key=$1 values=$2 shown=$3

	# shellcheck disable=SC2086 # lists of words
	ctl path set $key $values
	# shellcheck disable=SC2086
	shows "$shown" path show $key
	shows "$shown" path show
	shows "${key%% port*}" path show
	check "paths" "$(number_of_paths)" == 1
	# shellcheck disable=SC2086
	ctl path del $key
	check "paths" "$(number_of_paths)" == 0
	# shellcheck disable=SC2086
	exits 1 "path show: no such path" path show $key
	# shellcheck disable=SC2086
	exits 1 "path del: no such path" path del $key
}

every_key()
{
	begin
	comes_back "192.0.2.7" "pipe-rate 5mbit backlog 120k delay 8ms ttl 2s" \
		"pipe 5mbit (625000 bytes/s), backlog 120000 bytes, delay 8ms; reported"
	comes_back "192.0.2.0/24" "pipe-rate 625000 ttl 1min" "pipe 5mbit (625000 bytes/s), backlog 0 bytes; reported"
	comes_back "2001:db8::/48 port 443" "pipe-rate 50gbit hs-rate 1.5mbit ttl 1d" \
		"pipe 50gbit (6250000000 bytes/s), backlog 0 bytes, to the helper 1.5mbit; reported"
	comes_back "0.0.0.0/0" "loss-time 5s" "lost in "
	comes_back "192.0.2.1" "loss-time 800ms loss-spread 90ms" ", +- 90ms"
	comes_back "dev c1" "loss-time 800ms ttl 5s" "lost in "
	comes_back "dev c2" "cost 15 ttl 5s" "cost 15; expires in "
	comes_back "192.0.2.8" "cost 0" "cost 0; holds until deleted"
	comes_back "token 0x00001234 ids 0 255" "pipe-rate 1kbit backlog 2Gi" "pipe 1kbit (125 bytes/s), backlog 2147483648 bytes"
}

# Each part expires at its own time.
parts_expire_apart()
{
	begin
	ctl path set 192.0.2.7 cost 1 ttl 200ms
	ctl path set 192.0.2.7 pipe-rate 5mbit ttl 1min
	ctl path set 192.0.2.7 loss-time 1s ttl 1min
	ctl path set 192.0.2.8 pipe-rate 5mbit ttl 200ms
	ctl path set 192.0.2.8 cost 3
	sleep 1
	! ctl path show 192.0.2.7 | grep cost || fail "the cost has not expired"
	shows "pipe 5mbit" path show 192.0.2.7
	shows "lost " path show 192.0.2.7
	! ctl path show 192.0.2.8 | grep pipe || fail "the pipe has not expired"
	shows "cost 3" path show 192.0.2.8
}

address_without_prefix()
{
	begin
	ctl path set 192.0.2.77/24 pipe-rate 5mbit ttl 1min
	shows "192.0.2.0/24" path show
	shows "192.0.2.0/24" path show 192.0.2.1/24
	exits 1 "no such path" path show 192.0.2.77
}

parts_are_renewed_apart()
{
	begin
	ctl path set 192.0.2.7 pipe-rate 5mbit ttl 1min
	ctl path set 192.0.2.7 loss-time 10s
	shows "pipe 5mbit" path show 192.0.2.7
	shows "lost in " path show 192.0.2.7
	ctl path set 192.0.2.7 pipe-rate 8mbit backlog 10k ttl 1min
	shows "pipe 8mbit (1000000 bytes/s), backlog 10000 bytes" path show 192.0.2.7
	shows "lost in " path show 192.0.2.7
	ctl path set 192.0.2.7 no-loss
	! ctl path show 192.0.2.7 | grep lost || fail "the loss time is still there"
	ctl path set 192.0.2.7 cost 2
	shows "pipe 8mbit" path show 192.0.2.7
	ctl path set 192.0.2.7 pipe-rate 8mbit ttl 1min
	shows "cost 2; holds until deleted" path show 192.0.2.7
	check "paths" "$(number_of_paths)" == 1
}

as_json()
{
	begin
	ctl path set 192.0.2.7 port 443 pipe-rate 5mbit backlog 120k delay 8ms loss-time 0 ttl 1min
	ctl --json path show 192.0.2.7 port 443 | tr -d ' \n' >"$work/path"
	cat "$work/path"
	check "rate" "$(of rate_byteps "$work/path")" == 625000
	check "backlog" "$(of backlog_bytes "$work/path")" == 120000
	check "delay" "$(of delay_us "$work/path")" == 8000
	check "port" "$(of port "$work/path")" == 443
	check "prefix" "$(of prefix_len "$work/path")" == 32
	check "lost" "$(of time_ms "$work/path")" "<=" 0
	check "age" "$(of age_ms "$work/path")" "<" 10000
	check "expiry" "$(of expires_ms "$work/path")" "<=" 60000
	ctl path set 192.0.2.8 cost 7
	ctl --json path show 192.0.2.8 | tr -d ' \n' >"$work/path"
	check "cost" "$(of level "$work/path")" == 7
}

flush()
{
	local i

	begin
	for i in 1 2 3 4 5; do
		ctl path set "192.0.2.$i" pipe-rate 5mbit ttl 1min
	done
	check "paths" "$(number_of_paths)" == 5
	ctl path flush
	check "paths" "$(number_of_paths)" == 0
	shows "paths          0 of at most 40000" stats
	shows "reports        5, 0 refused, 0 expired" stats
}

# More than fit into one message of a dump, each of them once.
many()
{
	local i

	begin
	for i in {1..300}; do
		echo "192.0.$((i / 100)).$((i % 100))"
	done >"$work/keys"
	while read -r i; do
		echo "$pamsctl path set $i pipe-rate 5mbit ttl 1h"
	done <"$work/keys" | on_client sh -e
	check "paths" "$(number_of_paths)" == 300
	ctl path show | grep -v '^ ' | sort >"$work/shown"
	sort "$work/keys" | cmp - "$work/shown" || fail "others than were set"
}

as_many_as_may_be()
{
	begin
	on_client sysctl -qw net.mptcp_pams.paths_max=2
	ctl path set 192.0.2.1 pipe-rate 5mbit
	ctl path set 192.0.2.2 pipe-rate 5mbit
	exits 1 "path set: " path set 192.0.2.3 pipe-rate 5mbit
	ctl path set 192.0.2.2 pipe-rate 6mbit
	check "paths" "$(number_of_paths)" == 2
	shows ", 1 refused," stats
}

# A dump that a report interrupts is taken again: no path comes twice, and none that stays is missing.
shown_while_it_changes()
{
	local i changes

	begin
	: >"$work/changing"
	for i in {1..60}; do
		echo "$pamsctl path set dev $i pipe-rate 5mbit ttl 1h"
	done | on_client sh -e
	(
		while [ -e "$work/changing" ]; do
			ctl path set 192.0.2.1 pipe-rate 5mbit
			ctl path del 192.0.2.1
		done
	) &
	changes=$!
	for i in {1..30}; do
		ctl path show >"$work/shown"
		[ -z "$(grep -v '^ ' "$work/shown" | sort | uniq -d)" ] || fail "a path comes twice"
		check "interfaces" "$(grep -c '^dev ' "$work/shown")" == 60
	done
	# not killed: what it has started would go on, in the namespace of the next case
	rm "$work/changing"
	wait "$changes"
	shows "reports        " stats
}

per_namespace()
{
	begin
	ctl path set 192.0.2.1 pipe-rate 5mbit ttl 1min
	check "paths of the server" "$(on_server "$pamsctl" --json path show | grep -c address)" == 0
}

# What has expired is told once, and is not kept by what hasn't: no report is left once that is taken back.
parts_are_told_once()
{
	begin
	ctl --json monitor --timeout 3s >"$work/events" &
	sleep 0.5
	ctl path set 192.0.2.7 cost 1 ttl 200ms
	ctl path set 192.0.2.7 pipe-rate 5mbit ttl 700ms
	ctl path set 192.0.2.7 loss-time 1min
	sleep 1.5
	! ctl path show 192.0.2.7 | grep -e cost -e pipe || fail "what has expired is shown"
	ctl path set 192.0.2.7 no-loss
	check "paths" "$(number_of_paths)" == 0
	wait $! || fail "the monitor ended with $?"
	grep path-expired "$work/events" >"$work/expired"
	cat "$work/expired"
	check "events" "$(wc -l <"$work/expired")" == 2
	check "events of the cost" "$(grep -c '"cost"' "$work/expired")" == 1
	check "events of the pipe" "$(grep -c 'pipe' "$work/expired")" == 1
}

expires()
{
	begin
	ctl path set 192.0.2.1 pipe-rate 5mbit ttl 200ms
	check "paths" "$(number_of_paths)" == 1
	within 50 gone || fail "it is still there"
	shows " 1 expired" stats
}
# Without a ttl a path outlives what the kernel would give it, and is shown so; a ttl given later counts.
until_deleted()
{
	begin
	ctl path set 192.0.2.1 pipe-rate 5mbit loss-time 0
	ctl path set 192.0.2.2 pipe-rate 5mbit ttl 200ms
	sleep 1.5
	check "paths" "$(number_of_paths)" == 1
	shows "set by pamsctl" path show
	shows "holds until deleted" path show 192.0.2.1
	! ctl --json path show 192.0.2.1 | grep expires_ms || fail "an expiry is shown"
	ctl path set 192.0.2.1 no-loss
	ctl path set 192.0.2.1 pipe-rate 5mbit ttl 200ms
	within 50 gone || fail "it is still there"
}

# Whoever lacks CAP_NET_ADMIN is told so.
without_privilege()
{
	local words status

	begin
	for words in "path flush" "conn show" "monitor --timeout 1s" "top --once"; do
		status=0
		# shellcheck disable=SC2086 # a list of words
		on_client setpriv --bounding-set=-net_admin --inh-caps=-net_admin "$pamsctl" $words >"$work/out" 2>&1 || status=$?
		cat "$work/out"
		check "exit code of $words" "$status" == 4
		grep -q "^pamsctl: ${words%% --*}: needs CAP_NET_ADMIN: run it as root" "$work/out" || fail "it doesn't say why"
	done
}

gone() { [ "$(number_of_paths)" = 0 ]; }

# --- what happens ---

monitor()
{
	begin
	ctl --json monitor --count 1 --timeout 20s >"$work/events" &
	sleep 0.5
	ctl path set 192.0.2.9 pipe-rate 5mbit ttl 100ms
	wait $! || fail "the monitor ended with $?"
	cat "$work/events"
	grep -q '"event":"path-expired"' "$work/events" || fail "no event"
	grep -q '"address":"192.0.2.9"' "$work/events" || fail "not of that path"
}

# Who sets and deletes paths, and which.
path_monitor()
{
	begin
	ctl path monitor --count 3 --timeout 20s >"$work/events" &
	sleep 0.5
	ctl path set 192.0.2.9 pipe-rate 5mbit
	ctl path del 192.0.2.9
	ctl path flush
	wait $! || fail "the monitor ended with $?"
	cat "$work/events"
	grep -q ' path-set 192.0.2.9, pipe 5mbit, backlog 0 bytes, by pamsctl$' "$work/events" || fail "no report"
	grep -q ' path-del 192.0.2.9$' "$work/events" || fail "no deleted path"
	grep -q ' path-del all$' "$work/events" || fail "not all"
}

monitor_ends_in_time()
{
	local start

	begin
	start=$(now_ms)
	ctl monitor --timeout 1s >"$work/events"
	check "time" "$(now_ms) - $start" ">=" 1000
	check "events" "$(wc -l <"$work/events")" == 0
}

# The family's number changes, the monitor goes on.
module_goes_and_comes()
{
	begin
	# sockets of earlier cases may take their last timers' time
	unused
	ctl monitor --count 3 --timeout 60s >"$work/events" &
	sleep 0.5
	unload
	exits 3 "the module mptcp_pams is not loaded" path show
	exits 3 "the module mptcp_pams is not loaded" --json stats
	grep -q '"status": 3' "$work/out" || fail "no JSON for the error"
	load
	ctl path set 192.0.2.9 pipe-rate 5mbit ttl 100ms
	wait $! || fail "the monitor ended with $?"
	cat "$work/events"
	check "unloaded" "$(grep -c ' unloaded$' "$work/events")" == 1
	check "loaded" "$(grep -c ' loaded$' "$work/events")" == 1
	check "expired" "$(grep -c ' path-expired 192.0.2.9, pipe 5mbit' "$work/events")" == 1
}

# --- connections ---

connections()
{
	begin
	start_server
	transfer --bytes 10M --dir up &
	within 50 two_subflows || fail "no two subflows are shown"
	ctl conn show
	ctl --json conn show | tr -d ' \n' | sed 's/{"id"/\n&/g' >"$work/conn"
	check "srtt" "$(of srtt_us "$work/conn" | head -n 1)" ">" 0
	check "rate" "$(of rate_byteps "$work/conn" | head -n 1)" ">" 0
	shows "  pams  " conn show "$(ctl conn show | sed -n 's/^\(0x[^ ]*\) .*/\1/p' | head -n 1)"
	shows " 1 connections, " top --once
	shows '"scheduler":"pams"' --json top --once
	check "pictures" "$(ctl top --batch --count 3 --interval 200ms | grep -c '^mptcp_pams: ')" == 3
	ctl top --batch --count 3 --interval 200ms | grep -q ' PER-SECOND  DEFERRALS' || fail "no rates"
	shows "connections    1" stats
	exits 1 "conn show: " conn show 0x0badbad
	# what ss tells of the MPTCP socket it tells alone, but for the connection's name; subflows is a number there, a list here
	on_client ss -MinOH state established | grep -oE '[a-z_]+:' | tr -d : | sort -u >"$work/ss"
	check "what ss tells" "$(wc -l <"$work/ss")" ">" 3
	on_client "$pamsctl" --json conn show | grep -oE '"[a-z_]+":' | tr -d '":' | sort -u >"$work/keys"
	grep -vx "token\|subflows" "$work/keys" >"$work/keys.own"
	check "what is shown again" "$(grep -cxFf "$work/ss" "$work/keys.own")" == 0
	wait $!
}
two_subflows() { [ "$(ctl --json conn show | grep -c '"srtt_us"')" = 2 ]; }

# A report of a subflow changes what its decision sees.
report_reaches_subflow()
{
	begin
	start_server
	transfer --bytes 20M --dir up &
	within 50 two_subflows || fail "no two subflows are shown"
	ctl path set dev c1 pipe-rate 1mbit backlog 100k delay 5ms ttl 1min
	within 20 piped || fail "no subflow has a pipe"
	ctl path set dev c1 cost 3
	shows "pipe, cost 3" conn show
	ctl path flush
	within 20 not_piped || fail "the pipe is still there"
	! ctl conn show | grep cost || fail "the cost is still there"
	wait $!
}
# subflows NAME: conn show's lines of the subflows on that interface, with what is below, each as one line
subflows() { ctl conn show | awk -v name="$1" '
	/^ *[0-9]+  / { on = $2 == name } on { printf "%s%s", /^ *[0-9]+  / ? "\n" : " ", $0 } /^$/ { on = 0 } END { print "" }'; }
piped() { subflows c1 | grep ", pipe"; }
not_piped() { ! piped; }

# A loss time stops the subflow, which is told and shown.
loss_stops_subflow()
{
	local monitor transfer

	begin
	start_server
	transfer --bytes 20M --dir up &
	transfer=$!
	within 50 two_subflows || fail "no two subflows are shown"
	# other events may come first: of reinjection
	ctl --json monitor --timeout 20s >"$work/events" &
	monitor=$!
	sleep 0.2
	ctl path set dev c1 loss-time 300ms
	within 50 grep -q '"event":"path-stopped".*"dev":"c1"' "$work/events" || fail "no event: $(cat "$work/events")"
	! grep '"unusable": *true' "$work/events" || fail "an event calls its subflow unusable"
	subflows c1 | grep ', stopped.*, lost' || fail "it is not shown: $(ctl conn show)"
	ctl stats
	ctl path set dev c1 no-loss
	within 20 not_stopped || fail "it is still stopped"
	wait "$transfer"
	kill "$monitor"
}
not_stopped() { ! subflows c1 | grep ', stopped'; }

# --- schedulers ---

schedulers()
{
	begin
	ctl sched set minrtt
	shows "minrtt: new sockets" sched show
	[ "$(on_client sysctl -n net.mptcp.scheduler)" = minrtt ] || fail "the sysctl has another"
	exits 1 "scheduler 'nonesuch' is not there: available: default" sched set nonesuch
	shows '"chosen": "minrtt"' --json sched show
	unload
	shows "'minrtt' is chosen but NOT LOADED: the kernel quietly uses default instead" sched show
	shows '"in_use": "default"' --json sched show
	exits 3 "scheduler 'pams' is part of the module mptcp_pams, which is not loaded" sched set pams
	load
	shows "minrtt: new sockets" sched show
}

# The module's own list, for everybody, is what the kernel has of it; a rule may name each but rules, and nothing else.
lists_schedulers()
{
	local name names none="is none for rules: see pamsctl sched list"

	begin
	[ "$(schedulers_of_kernel)" = "default $(listed)" ] || fail "sched list: $(listed)"
	names=$(on_client setpriv --bounding-set=-net_admin --inh-caps=-net_admin "$pamsctl" sched list | cut -d' ' -f1 | in_line)
	[ "$names" = "$(listed)" ] || fail "without privilege: $names"
	shows "redundant   everything, or the first bytes, on two paths; takes first" sched list
	shows "rules       for each connection the one that the rules name; not in a rule" sched list
	shows '"by_rules": true' --json sched list
	shows '"first_bytes": true' --json sched list
	for name in $names; do
		[ "$name" = rules ] || ctl rule add server use "$name"
	done
	[ "$(ctl rule show | wc -l)" = $(($(wc -w <<<"$names"))) ] || fail "$(ctl rule show)"
	ctl rule del all
	ctl rule add use single
	exits 1 "rule: rule 2: the scheduler $none" rule add server use blest
	exits 1 "rule: rule 2: the scheduler $none" rule add use rules
	exits 1 "rule: the default: the scheduler $none" rule add default nonesuch
	exits 1 "rule: rule 2: pams takes no first-bytes: see pamsctl sched list" rule add use pams first 16k
	exits 1 "rule: the default: minrtt takes no first-bytes: see pamsctl sched list" rule add default minrtt first 16k
	[ "$(ctl rule show | wc -l)" = 2 ] || fail "$(ctl rule show)"
	unload
	exits 3 "the module mptcp_pams is not loaded" sched list
	load
}
listed() { ctl sched list | cut -d' ' -f1 | in_line; }
in_line() { local lines; mapfile -t lines; echo "${lines[*]}"; }

# --- load, doctor ---

loads()
{
	local file=$MODULE status

	begin
	unload
	shows "would load:" load --dry-run ${file:+--module "$file"}
	! loaded || fail "it is loaded after --dry-run"
	exits 1 "" load --module /nonexistent.ko
	grep -q 'the file given with --module does not exist' "$work/out" || fail "it is not said why"
	echo "no module" >"$work/bad.ko"
	exits 1 "$work/bad.ko can't be loaded: " load --module "$work/bad.ko"
	status=0
	on_client setpriv --bounding-set=-sys_module "$pamsctl" load ${file:+--module "$file"} >"$work/out" || status=$?
	check "exit status without CAP_SYS_MODULE" "$status" == 4
	grep -q '^first: loading needs CAP_SYS_MODULE: run it as root$' "$work/out" || fail "it is not said why"
	on_client sysctl -qw net.mptcp.enabled=0
	exits 1 "" load ${file:+--module "$file"}
	grep -q '^first: MPTCP is switched off: sysctl -w net.mptcp.enabled=1$' "$work/out" || fail "it is not said why"
	on_client sysctl -qw net.mptcp.enabled=1
	exits 0 "" load ${file:+--module "$file"}
	loaded || fail "it is not loaded"
	shows "is loaded" load
	shows '"loaded": true' --json load
	check "times loaded" "$(grep -c '^mptcp_pams ' /proc/modules)" == 1
}

# What depmod knows is found and loaded by its name, with the options of modprobe.d: here one that the module doesn't have, of which
# the kernel's log tells.
loads_what_is_installed()
{
	[ -n "$MODULE" ] || skip "the module was installed before"
	[ -d /lib/modules ] || never "no /lib/modules here, as a user-mode guest has this machine's files"
	begin
	unload
	# "ip netns exec" mounts apart from the rest
	# shellcheck disable=SC2016 # expanded there
	on_client bash -euc '
		mount -t tmpfs none /lib/modules
		mkdir -p /run/modprobe.d
		mount -t tmpfs none /run/modprobe.d
		mkdir -p "/lib/modules/$(uname -r)/updates"
		cp "$1" "/lib/modules/$(uname -r)/updates/mptcp_pams.ko"
		depmod
		echo "options mptcp_pams no_such_option=1" >/run/modprobe.d/mptcp-pams.conf
		"$2" --json load
		"$2" load' installed "$MODULE" "$pamsctl" >"$work/out"
	cat "$work/out"
	grep -q '"installed": true' "$work/out" || fail "it isn't found where depmod knows it"
	grep -q "\"file\": \"/lib/modules/$(uname -r)/updates/mptcp_pams.ko\"" "$work/out" || fail "another file is found"
	loaded || fail "it is not loaded"
	dmesg | tail -n 20 | grep -q "unknown parameter 'no_such_option'" || fail "the options of modprobe.d were not used"
}

# Unloading is refused to who may not, and while a socket has one of the module's schedulers.
unloads()
{
	local status=0

	begin
	on_client setpriv --bounding-set=-sys_module "$pamsctl" unload 2>"$work/err" || status=$?
	check "exit status without CAP_SYS_MODULE" "$status" == 4
	grep -q 'unloading needs CAP_SYS_MODULE: run it as root' "$work/err" || fail "it is not said why"
	start_server
	exits 1 "the module mptcp_pams is in use: sockets have one of its schedulers" unload
	loaded || fail "it is unloaded although it is in use"
	stop_server
	unused
	shows "net.mptcp.scheduler is still pams: until the module is loaded again new sockets use default" unload
	! loaded || fail "it is still loaded"
	shows "is not loaded" unload
	shows '"loaded": false' --json unload
	load
}

# The diagnosis of a server: its last word.
verdict() { ctl doctor "$address:$port" >"$work/doctor"; }

server_speaks_mptcp()
{
	begin
	start_server
	transfer --bytes 5M --dir up &
	within 50 two_subflows || fail "no two subflows are shown"
	verdict || fail "the doctor finds something bad: $(cat "$work/doctor")"
	cat "$work/doctor"
	grep -q '^ok    peer .* speaks MPTCP$' "$work/doctor" || fail "does not say that it speaks MPTCP"
	grep -q '^ok    connection .*xfer.* subflows besides the first' "$work/doctor" || fail "does not show the connection"
	grep -q '^ok    endpoint .*10.0.2.1 dev c2 subflow' "$work/doctor" || fail "does not show the endpoint"
	grep -q '^ok    limits .*8 subflows' "$work/doctor" || fail "does not show the limits"
	grep -q '^ok    scheduler .*pams' "$work/doctor" || fail "does not show the scheduler"
	on_server "$pamsctl" doctor >"$work/doctor"
	grep -q "^ok    listens .*xfer.* port $port" "$work/doctor" || fail "does not show who listens"
	grep -q "^ok    connection .*xfer" "$work/doctor" || fail "does not show the server's connection"
	! grep "plain TCP" "$work/doctor" || fail "takes MPTCP's own subflows for plain TCP"
	wait $!
}

server_speaks_tcp()
{
	begin
	start_server --tcp
	! verdict || fail "the doctor finds nothing bad"
	grep '^bad   peer .* answers without MPTCP' "$work/doctor" || fail "$(cat "$work/doctor")"
}

middlebox_strips()
{
	local rules="table ip middlebox { chain prerouting { type filter hook prerouting priority -300; iifname s1 reset tcp option mptcp; }; }"

	begin
	on_server nft "$rules" 2>"$work/nft" || skip "no netfilter rule that resets an option: $(head -n1 "$work/nft")"
	start_server
	! verdict || fail "the doctor finds nothing bad"
	grep '^bad   peer .* answers without MPTCP' "$work/doctor" || fail "$(cat "$work/doctor")"
	# The server's end of a connection that fell back, while it lasts.
	transfer --bytes 20M --dir up &
	within 50 plain_at_server || fail "$(cat "$work/doctor")"
	within 50 plain_at_client || fail "$(cat "$work/doctor")"
	wait $!
}
plain_at_server() { on_server "$pamsctl" doctor >"$work/doctor"; grep '^note  plain TCP .*xfer.*of a client that' "$work/doctor"; }
plain_at_client() { ctl doctor >"$work/doctor"; grep '^note  plain TCP .*xfer.* asked for MPTCP and fell back' "$work/doctor"; }

nobody_listens()
{
	begin
	! verdict || fail "the doctor finds nothing bad"
	grep '^bad   peer .*Connection refused' "$work/doctor" || fail "$(cat "$work/doctor")"
	grep -q "^\(ok   \|note \) release .*this kernel is $(uname -r)" "$work/doctor" || fail "does not name the kernel"
}

mptcp_is_off()
{
	begin
	on_client sysctl -qw net.mptcp.enabled=0
	! verdict || fail "the doctor finds nothing bad"
	grep '^bad   kernel .*switched off' "$work/doctor" || fail "$(cat "$work/doctor")"
}

for topic in every_key address_without_prefix parts_are_renewed_apart parts_expire_apart parts_are_told_once as_json flush many shown_while_it_changes as_many_as_may_be per_namespace \
		expires until_deleted without_privilege monitor path_monitor monitor_ends_in_time module_goes_and_comes connections report_reaches_subflow loss_stops_subflow schedulers lists_schedulers loads \
		loads_what_is_installed unloads server_speaks_mptcp server_speaks_tcp middlebox_strips nobody_listens mptcp_is_off; do
	add $topic
done
run_cases "$@"
