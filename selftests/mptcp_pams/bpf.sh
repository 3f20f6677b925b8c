#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Schedulers in BPF: loaded, used by sockets and rules, detached in use, refused; and one that answers anything.
#
#	client                                   server
#	         c1 ---- 20 Mbit/s  5 ms ---- s1
#	         c2 ---- 20 Mbit/s 20 ms ---- s2   10.0.0.2
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

begin()
{
	[ -e "$XFER_DIR/roundrobin.bpf.o" ] || skip "no schedulers in BPF were compiled"
	need_module
	need_btf
	[ -e /sys/kernel/btf/mptcp_pams ] || fail "the module has no BTF"
	trap 'detach_all; end_case' EXIT
	sysctl -qw kernel.bpf_stats_enabled=1
	[ $# != 0 ] || set -- 20mbit,5ms 20mbit,20ms
	paths default "$@"
}

# attach FILE [NAME]
attach() { "$XFER_DIR/load" "$XFER_DIR/$1.bpf.o" "${@:2}"; }
detach() { "$XFER_DIR/load" -d "$1"; }
# What a case that failed leaves attached would fail the next ones.
detach_all()
{
	local status=$? name

	set +e
	for name in $("$pamsctl" sched list | sed -n 's/^\([^ ]*\) *a program in BPF: .*/\1/p'); do
		detach "$name"
	done
	return "$status"
}
asked() { "$XFER_DIR/load" -n | sed -n "s/^\(.*_\)\?$1 \([0-9]*\) times.*/\2/p" | sum; }
told() { "$pamsctl" sched list | sed -n "s/^$1 *//p"; }
# how_many NAME refused|slow|ended|without: pamsctl's counter of answers, waits or decisions
how_many() { told "$1" | sed -n "s/.* \([0-9]*\) \([a-z]* \)\?$2\b.*/\1/p"; }
is_not_there() { ! has_sched "$1"; }

# The commands of Documentation/write-a-scheduler.md, as typed; vm/run compiles by those of it.
as_the_page_says()
{
	begin
	PATH=$(dirname "$pamsctl"):$PATH
	type_lines '^\./load [^-]|^pamsctl sched set'
	[ "$(sysctl -n net.mptcp.scheduler)" = roundrobin ] || fail "new sockets don't get it"
	set_sysctl net.mptcp.scheduler=roundrobin
	start_server
	transfer --bytes 400000 --requests 3
	check "questions" "$(asked pick)" ">" 20
	stop_server
	sysctl -qw net.mptcp.scheduler=default
	type_lines '^\./load -d'
	is_not_there roundrobin || fail "roundrobin is still there"
}
type_lines()
{
	local line

	grep -E "$1" "$XFER_DIR/write-a-scheduler.md" >"$work/lines" || fail "the page has no line $1"
	while read -r line; do
		say "$line"
		(cd "$XFER_DIR" && eval "$line")
	done <"$work/lines"
}

# The program is asked, every byte arrives, and nothing is left of it in the end.
used()
{
	begin
	attach "$1"
	has_sched "$1" || fail "the kernel doesn't list $1"
	[[ $(told "$1") == "a program in BPF: "* ]] || fail "pamsctl tells of it: $(told "$1")"
	set_sysctl net.mptcp.scheduler="$1"
	start_server
	transfer --bytes 400000 --requests 3 --dir both
	check "questions" "$(asked pick)" ">" 20
	[[ $(told "$1") == *": 0 answers refused, "*" 0 decisions without it" ]] || fail "$(told "$1")"
	stop_server
	detach "$1"
	is_not_there "$1" || fail "$1 is still there"
	within 50 no_users || fail "the module is still used $(users) times"
}

# Round robin gives both paths as much as they take, though one is four times as far.
takes_turns()
{
	begin
	attach roundrobin
	on_server sysctl -qw net.mptcp.scheduler=roundrobin
	start_server
	transfer --bytes 200000 --requests 8 --dir down
	check "bytes of path 2" "$(bytes c2 rx)" ">" 400000
	stop_server
	detach roundrobin
}

# A map says how many packets each subflow gets, and is changed while the program runs. The first subflow has the id 1.
follows_a_map()
{
	local even less

	begin
	attach weighted
	on_server sysctl -qw net.mptcp.scheduler=weighted
	start_server
	even=$(share_of_path_2)
	"$XFER_DIR/load" -m weights 1 8
	less=$(share_of_path_2)
	check "bytes of path 2 when path 1 has the weight 8" "$less" "<" "$even * 2 / 3"
	stop_server
	detach weighted
}
share_of_path_2()
{
	local before

	before=$(bytes c2 rx)
	transfer --bytes 15000 --requests 40 --dir down --gap 50
	echo $(($(bytes c2 rx) - before))
}

answers_anything()
{
	begin
	attach random random
	set_sysctl net.mptcp.scheduler=random
	start_server
	transfer --bytes 100000 --requests 20 --dir both
	transfer --bytes 300000 --conns 10 --dir both
	check "questions" "$(asked pick)" ">" 200
	say "$(told random)"
	check "refused answers" "$(how_many random refused)" ">" 50
	stop_server
	detach random
}

# Two processors, many connections, answers at random; meanwhile the program comes, goes and is replaced by another one.
# in_order WHERE DEVICE: what arrives over a path is for one processor, as a network card has it, else packets overtake each other
in_order() { "$1" sh -c "for i in 1 2; do echo \$i >/sys/class/net/$2\$i/queues/rx-0/rps_cpus; done"; }
many_at_once()
{
	local i

	# A handshake that loses packets or is overtaken makes plain TCP, and that the kernel now and then resets, with any scheduler.
	begin 20mbit,5ms,1000 20mbit,20ms,1000
	in_order on_client c
	in_order on_server s
	attach random random
	set_sysctl net.mptcp.scheduler=random
	start_server
	transfer --bytes 20000 --requests 10 --conns 100 --dir both --stagger 10 &
	for i in $(seq 10); do
		detach random
		attach random never_late
		sleep 0.1
		detach never_late
		attach random random
		sleep 0.1
	done
	wait $! || fail "the transfers did not survive"
	check "transfers" "$(of ok | wc -l)" == 1000
	check "transfers that the program had a part in" "$(of fallback | grep -c false)" == 1000
	say "$(told random)"
	stop_server
	detach random
}

# The kernel warns who reads the names of more than its buffer holds, which run_tests.sh sees.
has_room()
{
	local i status=0

	begin
	for i in {101..300}; do
		# the shortest: a verifier in an emulator takes seconds for what newer compilers make of others
		sed "s/lowrtt/low$i/g" "$XFER_DIR/lowrtt.bpf.o" >"$work/one.bpf.o"
		"$XFER_DIR/load" "$work/one.bpf.o" >/dev/null 2>"$work/refused" || break
	done
	sysctl -n net.mptcp.available_schedulers | wc -w
	detach_all || status=$?
	check "programs at once" "$i - 101" == 64
	grep "No space" "$work/refused" || fail "refused for another reason"
	return "$status"
}

# What has a scheduler that was detached goes on, and another program of that name takes its place.
detached_in_use()
{
	begin
	attach "$1"
	set_sysctl net.mptcp.scheduler="$1"
	start_server
	# in a debug kernel to attach a program takes seconds
	transfer --bytes 200000 --requests 40 --gap 300 &
	within 50 is_asked || fail "the program isn't asked"
	detach "$1"
	is_not_there "$1" || fail "$1 is still there"
	within 50 goes_on_without "$1" || fail "no decision without it: $(told "$1")"
	! rmmod mptcp_pams || fail "the module went while sockets use it"
	attach "$1"
	within 50 is_asked || fail "the new program isn't asked"
	detach "$1"
	wait $!
	stop_server
	within 50 no_users || fail "the module is still used $(users) times"
	unload
}
is_asked() { [ "$(asked pick)" -gt 10 ]; }
goes_on_without() { [ "$(how_many "$1" without)" -gt 20 ]; }

# A module goes only once no program is loaded.
holds_the_module()
{
	begin
	attach lowrtt
	! rmmod mptcp_pams || fail "the module went, and with it the program's scheduler"
	detach lowrtt
	within 50 no_users || fail "the module is still used $(users) times"
	unload
	load
	attach lowrtt
	detach lowrtt
}

# One scheduler has a name, and the one that is there stays.
name_is_taken()
{
	begin
	attach lowrtt
	! attach lowrtt || fail "two have one name"
	has_sched lowrtt || fail "the first one went"
	set_sysctl net.mptcp.scheduler=lowrtt
	start_server
	transfer --bytes 200000
	check "questions" "$(asked pick)" ">" 5
	check "decisions without it" "$(how_many lowrtt without)" == 0
	stop_server
	detach lowrtt
}

# Names that others have, and that sysctls or rules can't say; and a scheduler without a choice.
name_is_refused()
{
	local before after name

	begin
	before=$(schedulers_of_kernel)
	for name in of_ours of_kernel capital spaced control nameless endless no_pick; do
		! attach faults "$name" || fail "it takes $name"
	done
	after=$(schedulers_of_kernel)
	[ "$before" = "$after" ] || fail "$before; now $after"
}

# A decision runs under locks. libbpf shows the verifier's word, the kernel's log the module's.
sleep_is_refused()
{
	begin
	! attach sleepy 2>"$work/said" || fail "it takes a program that may sleep"
	say "$(tail -n 3 "$work/said")"
	is_not_there sleepy || fail "sleepy is there"
	dmesg | grep -q "mptcp_pams: a scheduler in BPF may not sleep" || fail "nobody says why"
}

# The kernel asks for CAP_BPF and CAP_PERFMON, which are part of CAP_SYS_ADMIN, and the module for CAP_NET_ADMIN.
is_for_admins()
{
	local missed

	begin
	for missed in net_admin sys_admin,-bpf sys_admin,-perfmon; do
		! attach_with "-$missed" || fail "it is attached without $missed"
		is_not_there lowrtt || fail "lowrtt is there, attached without $missed"
	done
	attach_with -all,+net_admin,+sys_admin
	detach lowrtt
}
attach_with() { setpriv --bounding-set "$1" "$XFER_DIR/load" "$XFER_DIR/lowrtt.bpf.o"; }

# faulty NAME COUNTER MIN: a scheduler of faults.bpf.c; at least MIN are counted, and every byte arrives
faulty()
{
	begin
	attach faults "$1"
	set_sysctl net.mptcp.scheduler="$1"
	start_server
	transfer --bytes 150000 --requests 3 --dir both
	check "questions" "$(asked pick)" ">" 20
	say "$(told "$1")"
	check "$2" "$(how_many "$1" "$2")" ">=" "$3"
	stop_server
	detach "$1"
}

# Late is the data of the path that has room; the other one, which is slow and full, has none. What counts as sent again arrives.
counts_what_is_sent()
{
	local again

	begin 20mbit,5ms 500kbit,20ms
	attach faults eager
	on_server sysctl -qw net.mptcp.scheduler=eager
	start_server
	transfer --bytes 100000 --requests 10 --dir down
	on_server "$pamsctl" --json stats >"$work/stats"
	again=$(of reinjected_bytes "$work/stats")
	say "counted as sent again: $again"
	# the transfer has ended, and the slow path goes on delivering; headers are 6 % and more of it
	within 50 arrived_with_headers $((105 * (1000000 + again) / 100)) ||
		fail "only $(bytes c1 rx) and $(bytes c2 rx) bytes arrived"
	stop_server
	detach eager
}
arrived_with_headers() { [ $(($(bytes c1 rx) + $(bytes c2 rx))) -gt "$1" ]; }

# A namespace has the scheduler, another one not; the one that has it goes while its sockets are open.
of_a_namespace()
{
	begin
	attach roundrobin
	on_server sysctl -qw net.mptcp.scheduler=roundrobin
	[ "$(on_client sysctl -n net.mptcp.scheduler)" = default ] || fail "the other namespace has it, too"
	start_server
	transfer --bytes 200000 --dir up
	check "questions of the server, which answers little" "$(asked pick)" "<" 20
	transfer --bytes 400000 --dir down
	check "questions" "$(asked pick)" ">=" 20
	on_client "$xfer" client --json --bytes 4M --dir down "$address" "$port" >/dev/null &
	within 50 grows "$(asked pick)" || fail "the program isn't asked"
	remove_paths
	! wait $! || fail "the transfer came to an end without a network"
	detach roundrobin
	unload
}
grows() { [ "$(asked pick)" -gt "$1" ]; }

chosen_by_a_rule()
{
	begin
	attach roundrobin
	set_sysctl net.mptcp.scheduler=pams
	on_client "$pamsctl" rule add default roundrobin
	start_server
	transfer --bytes 400000 --requests 2 --dir up
	check "questions" "$(asked pick)" ">" 5
	detach roundrobin
	transfer --bytes 400000 --requests 2 --dir up
	on_client "$pamsctl" rule del all
	stop_server
}

# addresses_of [PARAMETER=]FUNCTION...: a module's parameters, each the address of the kernel's function
addresses_of()
{
	local word

	for word; do
		awk -v name="${word#*=}" -v parameter="${word%=*}" \
			'$3 == name { print parameter "=0x" $1; exit }' /proc/kallsyms
	done
}

# The program, and the same source compiled to a module as the laboratory has it, about 100,000 views of random numbers.
answers_alike()
{
	local name=$1 addresses

	begin
	attach "$name"
	addresses=$(addresses_of named=pams_sched_find arrival=model_arrival_us carried=model_carried_bytes)
	# shellcheck disable=SC2086 # a list of words
	! insmod "$XFER_DIR/${name}_bpf.ko" $addresses views=100000 2>"$work/said" ||
		fail "the module stays"
	say "$(dmesg | grep "views," | tail -n 1)"
	grep -q "temporarily unavailable" "$work/said" || fail "they differ: $(cat "$work/said")"
	detach "$name"
}

# A decision of minpad in C and in BPF, by the laboratory's module, which asks each a thousand times in a row on connections of
# two subflows. The emulator's clock counts instructions: this says nothing of caches and branches.
cost_of_an_answer()
{
	local i addresses in_c in_bpf

	begin
	attach lowpad
	addresses=$(addresses_of mptcp_{register_scheduler,unregister_scheduler,sched_find})
	# shellcheck disable=SC2086 # a list of words
	insmod "$XFER_DIR/mptcp_pams_bench.ko" $addresses also=lowpad
	set_sysctl net.mptcp.scheduler=bench
	start_server
	# twice each of minrtt, minpad, pams, minfct, rules and lowpad, which take turns
	for i in {1..12}; do
		transfer --bytes 300000 --dir down
	done
	stop_server
	unused_bench
	rmmod mptcp_pams_bench
	in_c=$(tenths_of_ns minpad) in_bpf=$(tenths_of_ns lowpad)
	[[ $in_c && $in_bpf ]] || fail "one wasn't timed: $(dmesg | grep bench:)"
	# the processor of QEMU 7.2 has 141, that of 10.0 156 (8590 and 13396 tenths of ns)
	check "hundredths of what a decision takes in C" "100 * $in_bpf / $in_c" "<=" 165
	detach lowpad
}
tenths_of_ns() { dmesg | sed -n "s/.*bench: $1 2 \([0-9]*\) .*/\1/p" | tail -n 1; }
unused_bench() { within 100 bench_is_unused || fail "sockets have the bench's scheduler"; }
bench_is_unused() { [ "$(cat /sys/module/mptcp_pams_bench/refcnt)" = 0 ]; }

add as_the_page_says
add used roundrobin
add used lowrtt
add used weighted
add used ecf
add used soonest
add follows_a_map
add takes_turns
add faulty beyond refused 20
add faulty below refused 20
add faulty busy refused 1
add faulty nothing refused 1
add faulty waiting ended 1
add faulty crumbs refused 0
add faulty late refused 1
add faulty slow slow 1
add counts_what_is_sent
add answers_anything
add many_at_once
add has_room
add detached_in_use roundrobin
add holds_the_module
add name_is_taken
add name_is_refused
add sleep_is_refused
add is_for_admins
add of_a_namespace
add chosen_by_a_rule
add answers_alike ecf
add answers_alike weighted
add answers_alike soonest
add cost_of_an_answer
run_cases "$@"
