#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Rules, which any scheduler of the module follows: which rule fits which connection, connections that follow a changed table, what is refused.
#
#	client                                     server
#	         c1 ---- 20 Mbit/s 10 ms ---- s1
#	         c2 ---- 10 Mbit/s 20 ms ---- s2   10.0.0.2 or fd00::2

if [ "${1-}" = enter ]; then	# CGROUP COMMAND...: a process of this script's own that is in that cgroup
	echo $$ >"$2/cgroup.procs"
	shift 2
	exec "$@"
fi
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

first=20mbit,10ms second=10mbit,20ms
user=12345
none="# no default: other connections keep the scheduler of their socket"	# of rule show
cgroups=

begin()
{
	need_tool "$pamsctl"
	paths rules "$first" "$second"
	start_server
}

# rules NS LINE...: the table there
rules() { local ns=$1; shift; printf '%s\n' "$@" | in_ns "$ns" "$pamsctl" rule load -; }

# chosen NS: "SCHEDULER RULE" of its only connection
chosen()
{
	local said

	in_ns "$1" "$pamsctl" --json conn show >"$work/conn"
	said=$(sed -n 's/.*"\(scheduler\|rule\)": *"\{0,1\}\([^",]*\).*/\2/p' "$work/conn")
	echo "${said//$'\n'/ }"
}

# expect NS "SCHEDULER RULE"
expect()
{
	local got

	got=$(chosen "$1")
	say "$got, expected $2"
	[ "$got" = "$2" ] || fail "another rule fits"
}

# upload EXPECTED [COMMAND...]: an upload by xfer with $options, run by the command; while it lasts the client has the expected choice
upload()
{
	local expected=$1
	shift
	# shellcheck disable=SC2086 # a list of options
	on_client "$@" "$xfer" client ${family/-4/} $options --bytes 1M --dir up --requests 2 --gap 300 "$address" $port >/dev/null &
	local pid=$!
	sleep 0.3
	expect "$client" "$expected"
	wait "$pid" || fail "the upload did not survive"
	within 50 is_gone || fail "the connection stays"
}
is_gone() { [ -z "$(chosen "$client")" ]; }

# Without a table, and without a rule that fits: the default, on both ends.
default_counts()
{
	begin
	options=
	upload "minfct 0"
	rules "$client" "default single" "remote 1-4999 use pams"
	upload "single 0"
	rules "$client" "default redundant first 16k"
	upload "redundant 0"
}

# fits WRONG RIGHT [COMMAND...]: what each kind of match says, beside a rule before it that just doesn't fit, and one behind it that does.
fits()
{
	local wrong=$1 right=$2
	shift 2
	rules "$client" "$wrong use minrtt" "$right use single" "use pams"
	upload "single 2" "$@"
}

matches_ports()
{
	begin
	options=
	fits "remote 5001-65535" "remote 5000"
	fits "remote 1-4999" "remote 4999-5001"
	fits "local 1-1023" "local 1024-65535"
}

matches_peers()
{
	begin
	options=
	fits "peer 10.0.0.3" "peer 10.0.0.2"
	fits "peer 10.0.0.0/31" "peer 10.0.0.2/31"
	fits "peer fd00::/8" "peer 0.0.0.0/0"
	fits "peer ::/0" "peer 0.0.0.0/0"
	rules "$client" "peer ::/0 use single"
	on_client "$pamsctl" rule show | grep -q "peer ::/0" || fail "the rule is shown without its peer"
}

matches_peers_6()
{
	need_tool "$pamsctl"
	family=-6
	paths rules "$first" "$second"
	start_server
	options=
	fits "peer fd00::3/128" "peer fd00::2"
	fits "peer 10.0.0.0/8" "peer fd00::/16"
}

matches_sides()
{
	begin
	options=
	fits server client
	rules "$server" "client use minrtt" "server local 5000 use single"
	transfer --bytes 1M --requests 2 --gap 500 &
	sleep 1
	expect "$server" "single 2"
	wait $!
}

# Whose connection it is doesn't change when its first subflow is reset before the server has sent anything.
side_stays()
{
	begin
	rules "$server" "server use single" "use pams"
	on_client "$xfer" client --bytes 4M --dir up --requests 2 --gap 2000 "$address" "$port" >/dev/null &
	sleep 0.5
	on_client nft "table ip resets { chain in { type filter hook input priority 0; iifname c1 tcp sport $port reject with tcp reset; }; }" \
		2>"$work/said" || never "no nft_reject in this guest: $(head -n 1 "$work/said")"
	within 100 is_chosen || fail "the server never decides"
	expect "$server" "single 1"
	wait $! || fail "the uploads did not survive"
}
is_chosen() { [ -n "$(chosen "$server")" ]; }

matches_users()
{
	begin
	options=
	fits "uid 0" "uid $user" setpriv --reuid "$user"
	fits "uid $user" "uid 0"
}

matches_marks()
{
	begin
	options="--mark 18"
	fits "mark 0x11" "mark 0x12"
	fits "mark 0x1/0xf" "mark 0x10/0xf0"
}

# The socket's cgroup, and one above it.
matches_cgroups()
{
	[ -e /sys/fs/cgroup ] || skip "this kernel has no cgroups"
	begin
	if ! rules "$client" "cgroup / use single" >"$work/said" 2>&1; then
		grep -q "sockets know no cgroup" "$work/said" || fail "$(cat "$work/said")"
		say "this kernel's sockets know no cgroup, and it says so"
		return
	fi
	cgroups=$work/cgroups
	mkdir "$cgroups"
	mount -t cgroup2 none "$cgroups"
	mkdir -p "$cgroups/pams-$$/inner" "$cgroups/pams-$$-other"
	options=
	fits "cgroup /pams-$$-other" "cgroup /pams-$$/inner" "$here/rules.sh" enter "$cgroups/pams-$$/inner"
	fits "cgroup /pams-$$-other" "cgroup /pams-$$" "$here/rules.sh" enter "$cgroups/pams-$$/inner"
	fits "cgroup /pams-$$/inner" "cgroup /pams-$$" "$here/rules.sh" enter "$cgroups/pams-$$"
	# one that was removed fits nothing, and is no trouble
	rmdir "$cgroups/pams-$$-other"
	rules "$client" "use pams"
	rmdir "$cgroups/pams-$$/inner" "$cgroups/pams-$$"
	umount "$cgroups"
}

# A stream on one path spreads as soon as its rule says so, and keeps to one again. What was sent arrives intact.
follows_a_change()
{
	local before

	begin
	rules "$server" "server use single"
	transfer --bytes 12M --rate 3000000 &
	sleep 1.5
	check "bytes on path 2" "$(sent "$server" 2)" "<" 20000
	rules "$server" "server use pams"
	sleep 1
	expect "$server" "pams 1"
	check "bytes on path 2" "$(sent "$server" 2)" ">" 100000
	rules "$server" "local 1 use pams" "use redundant"
	sleep 0.5
	expect "$server" "redundant 2"
	rules "$server" "use single"
	sleep 0.5
	before=$(sent "$server" 2)
	sleep 0.5
	check "bytes on path 2" "$(sent "$server" 2) - $before" "<" 20000
	wait $! || fail "the transfer did not survive"
}

lesser() { echo $(($1 < $2 ? $1 : $2)); }

# Whatever scheduler of the module a socket has: it follows a table that comes while it sends, and goes back when that goes.
others_follow()
{
	local before=()

	need_tool "$pamsctl"
	paths "$1" "$first" "$second"
	start_server
	transfer --bytes 18M --rate 3000000 &
	sleep 1.5
	check "bytes on path 2" "$(sent "$server" 2)" ">" 100000
	on_server "$pamsctl" rule add server use single 2>"$work/said" || fail "$(cat "$work/said")"
	[ ! -s "$work/said" ] || fail "it says '$(cat "$work/said")'"
	sleep 0.5
	expect "$server" "single 1"
	# all goes over one path, that which answers sooner at this moment
	before=("$(sent "$server" 1)" "$(sent "$server" 2)")
	sleep 0.5
	check "bytes on the other path" "$(lesser $(($(sent "$server" 1) - before[0])) $(($(sent "$server" 2) - before[1])))" "<" 20000
	rules "$server" "client use single"
	sleep 0.5
	expect "$server" "$1 0"
	rules "$server" "default single"
	sleep 0.5
	expect "$server" "single 0"
	on_server "$pamsctl" rule del all
	sleep 0.5
	expect "$server" "$1 0"
	wait $! || fail "the transfer did not survive"
	# a connection that was made with nothing in the table has nothing to follow, and one that idles then joins as well
	options="--bytes 2M --dir up --requests 2 --gap 2000"
	# shellcheck disable=SC2086 # a list of options
	on_client "$xfer" client $options "$address" $port >/dev/null &
	sleep 1.5
	expect "$client" "$1"
	rules "$client" "use single"
	sleep 1.5
	expect "$client" "single 1"
	wait $! || fail "the uploads did not survive"
}

# A table that nobody follows is set, and that is said; the kernel's own scheduler isn't the module's.
says_what_counts()
{
	local note="new sockets use default, which follows none: pamsctl sched set minfct"

	begin
	set_sysctl net.mptcp.scheduler=default
	on_client "$pamsctl" rule add use single 2>"$work/said"
	grep -qx "pamsctl: the rules are set, but $note" "$work/said" || fail "it says '$(cat "$work/said")'"
	on_client "$pamsctl" --json rule add use single | grep -q "$note" || fail "JSON has no note"
	shows "1 use single 2 use single $none" || fail "the table is '$(shown)'"
	on_client "$pamsctl" rule del all 2>"$work/said"
	[ ! -s "$work/said" ] || fail "an empty table counts for nothing: $(cat "$work/said")"
}

# change_all_the_time: until the file is there
change_all_the_time()
{
	local name

	until [ -e "$work/enough" ]; do
		for name in $(schedulers_for_rules); do
			rules "$server" "use $name"
			sleep 0.07
		done
	done
}

# Each scheduler takes over from each while data is on its way, also under loss.
survives_changes()
{
	need_tool "$pamsctl"
	paths rules "$first,100,loss,1%" "$second,100,loss,1%"
	start_server
	change_all_the_time &
	transfer --bytes 1-2M --requests 20 --conns 3 --timeout 30000
	touch "$work/enough"
	wait $!
	rm "$work/enough"
	check "transfers intact" "$(of ok | grep -c true)" == 60
}

# refused TEXT LINE...: nothing changes
refused()
{
	local text=$1 before
	shift

	before=$(on_client "$pamsctl" rule show)
	! rules "$client" "$@" >"$work/said" 2>&1 || fail "this was taken: $*"
	grep -qF -- "$text" "$work/said" || fail "it says '$(cat "$work/said")' and not '$text'"
	[ "$(on_client "$pamsctl" rule show)" = "$before" ] || fail "the table is another one"
}

many() { local i; for i in $(seq "$1"); do echo "remote $((10000 + i)) use pams"; done; }

refuses()
{
	local lines

	begin
	rules "$client" "remote 1 use single" "default redundant"
	refused "rule 2: mark has bits that mask leaves out" "use pams" "mark 3/2 use pams"
	# "there is no such cgroup", or "this kernel's sockets know no cgroup"
	refused "rule 1: th" "cgroup /nonexistent use pams"
	# the largest request comes to the kernel
	mapfile -t lines < <(many 256 | sed "s|^|cgroup /$(printf %0500d 0) |")
	refused "rule 1: th" "${lines[@]}"
	mapfile -t lines < <(many 257)
	refused "257 rules are too many: 256 at most" "${lines[@]}"
	# a user without the capability
	! on_client setpriv --reuid "$user" "$pamsctl" rule del all 2>"$work/said" || fail "anybody may change the rules"
	grep -q CAP_NET_ADMIN "$work/said" || fail "$(cat "$work/said")"
}

# 256 are taken, shown as they were given, and the last one fits.
holds_256()
{
	local lines

	begin
	mapfile -t lines < <(many 255)
	rules "$client" "${lines[@]}" "use single"
	check "rules shown" "$(on_client "$pamsctl" rule show | grep -c use)" == 256
	options=
	upload "single 256"
	on_client "$pamsctl" rule show >"$work/shown"
	on_client "$pamsctl" rule load "$work/shown"
	on_client "$pamsctl" rule show | cmp - "$work/shown" || fail "what is shown isn't what is loaded"
}

# Two who change the table at once: each change is made, or refused; none is lost.
adders_meet()
{
	local i pids=() taken=0

	begin
	: >"$work/said"
	for i in $(seq 40); do
		on_client "$pamsctl" rule add remote "$i" use pams 2>>"$work/said" &
		pids+=($!)
	done
	for i in "${pids[@]}"; do
		! wait "$i" || taken=$((taken + 1))
	done
	check "rules there" "$(on_client "$pamsctl" rule show | grep -c use)" == "$taken"
	check "refused for another reason" "$(grep -vc "changed meanwhile" "$work/said" || true)" == 0
}

# --- pamsd keeps the table ---

shown() { on_client "$pamsctl" rule show | tr -s ' \n' ' ' | sed 's/ $//'; }
shows() { [ "$(shown)" = "$1" ]; }
is_shown() { within "${2-20}" shows "$1" || fail "the table is '$(shown)' and not '$1': $(cat "$work/pamsd.err")"; }
logged() { [ "$(grep -c "$1" "$work/pamsd.err")" -ge "${2-1}" ]; }

# start_daemon [COMMAND...]: run by that
start_daemon()
{
	ip netns exec "$client" "$@" "$pamsd" -c "$work/pamsd.conf" 2>>"$work/pamsd.err" &
	daemon=$!
}
end_daemon() { kill "$1" "$daemon"; wait "$daemon" || say "pamsd ended"; }

# Without a server: its socket would hold the module.
begin_daemon()
{
	need_tool "$pamsctl"
	need_tool "$pamsd"
	paths rules "$first" "$second"
	unused		# sockets of the cases before
	printf 'control = ""\nrules = "%s"\n' "$work/table" >"$work/pamsd.conf"
	: >"$work/pamsd.err"
	printf '# web\nremote 443 use single\ndefault redundant first 16k\n' >"$work/table"
	start_daemon
	is_shown "1 remote 443 use single default redundant first 16000"
}

# At its start, after its death, at a reload, and when the module is there again. A fault changes nothing, its end neither.
daemon_keeps_rules()
{
	local kept="1 local 22 use single 2 use pams $none"

	begin_daemon
	printf 'local 22 use single\nuse pams\n' >"$work/table"
	kill -HUP "$daemon"
	is_shown "$kept"

	printf 'local 22 use single\nuse pams nothing\n' >"$work/table"
	kill -HUP "$daemon"
	within 20 logged "pamsd.conf:2: $work/table:2: unexpected argument 'nothing'" || fail "$(cat "$work/pamsd.err")"
	within 20 logged "the old configuration is kept" || fail "it is not said that the old one is kept"
	shows "$kept" || fail "a faulty file changed the table: $(shown)"

	unload
	within 20 logged "isn't loaded" || fail "it is not said that the module is out"
	load
	is_shown "$kept"

	end_daemon -9
	shows "$kept" || fail "the table is gone with the daemon: $(shown)"
	on_client "$pamsctl" rule del all
	printf 'local 22 use single\nuse pams\n' >"$work/table"
	start_daemon
	is_shown "$kept"
	end_daemon -TERM
	shows "$kept" || fail "the table is gone with the daemon: $(shown)"
}

# The module comes after the daemon.
daemon_waits_for_the_module()
{
	begin_daemon
	end_daemon -TERM
	unload
	start_daemon
	within 20 logged "isn't loaded" || fail "it is not said that the module is out"
	load
	is_shown "1 remote 443 use single default redundant first 16000"
	end_daemon -TERM
}

# What the kernel refuses leaves the table as it is, and is tried again: here a rule of a mark that its mask leaves out, and a
# scheduler that only another module may have.
daemon_survives_refusals()
{
	begin_daemon
	echo "mark 3/2 use pams" >"$work/table"
	kill -HUP "$daemon"
	within 50 logged "the kernel refuses the rules.*rule 1: mark has bits that mask leaves out" || fail "$(cat "$work/pamsd.err")"
	shows "1 remote 443 use single default redundant first 16000" || fail "the table is another one: $(shown)"
	: >"$work/pamsd.err"
	echo "use blest" >"$work/table"
	kill -HUP "$daemon"
	within 50 logged "the kernel refuses the rules.*rule 1: the scheduler is none for rules" || fail "$(cat "$work/pamsd.err")"
	shows "1 remote 443 use single default redundant first 16000" || fail "the table is another one: $(shown)"
	echo "use pams" >"$work/table"
	kill -HUP "$daemon"
	is_shown "1 use pams $none"
	end_daemon -TERM
}

# A rule of a cgroup that isn't there yet is left out and comes with it; the cgroup that is made anew under its path counts.
daemon_follows_cgroups()
{
	[ -e /sys/fs/cgroup ] || skip "this kernel has no cgroups"
	begin_daemon
	end_daemon -TERM
	if ! rules "$client" "cgroup / use single" 2>"$work/said"; then
		say "this kernel's sockets know no cgroup"
		return
	fi
	printf 'cgroup /pams-%s use single\nuse pams\n' $$ >"$work/table"
	# "ip netns exec" has a /sys of its own
	# shellcheck disable=SC2016 # its own arguments
	start_daemon sh -c 'mount -t cgroup2 none /sys/fs/cgroup && exec "$@"' sh
	is_shown "1 use pams $none"
	cgroups=$work/cgroups
	mkdir -p "$cgroups" && mount -t cgroup2 none "$cgroups"
	mkdir "$cgroups/pams-$$"
	is_shown "1 cgroup /pams-$$ use single 2 use pams $none" 80
	start_server
	options=
	upload "single 1" "$here/rules.sh" enter "$cgroups/pams-$$"
	rmdir "$cgroups/pams-$$"
	mkdir "$cgroups/pams-$$"
	sleep 6
	upload "single 1" "$here/rules.sh" enter "$cgroups/pams-$$"
	end_daemon -TERM
	rules "$client" "use pams"
	rmdir "$cgroups/pams-$$"
	umount "$cgroups"
}

add default_counts
add matches_ports
add matches_peers
add matches_peers_6
add matches_sides
add side_stays
add matches_users
add matches_marks
add matches_cgroups
add follows_a_change
add others_follow minfct
add others_follow pams
add says_what_counts
add survives_changes
add refuses
add holds_256
add adders_meet
add daemon_keeps_rules
add daemon_waits_for_the_module
add daemon_survives_refusals
add daemon_follows_cgroups
run_cases "$@"
