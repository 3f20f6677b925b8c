#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Programs that know nothing of MPTCP get it by their cgroup: pamsctl mptcp. They are bash, by its /dev/tcp, and iperf3.
#
#	client                                     server
#	         c1 ---- 10 Mbit/s 10 ms ---- s1
#	         c2 ---- 10 Mbit/s 15 ms ---- s2   10.0.0.2 or fd00::2

if [ "${1-}" = enter ]; then	# CGROUP COMMAND...: a process that is in that cgroup
	echo $$ >"$2/cgroup.procs"
	shift 2
	exec "$@"
fi
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

bpf=/sys/fs/bpf
pins=$bpf/mptcp_pams
cgroups=$work/cgroups
ours=/pams-$$			# a cgroup, one in it, and one beside it

begin()
{
	need_tool "$pamsctl"
	need_btf
	! grep -q "User Mode Linux" /proc/cpuinfo || never "user-mode Linux attaches no BPF program to a function"
	[ ! -e "$pins" ] || skip "cgroups are enabled on this machine"
	mkdir -p "$cgroups"
	mount -t cgroup2 none "$cgroups"
	mkdir "$cgroups$ours" "$cgroups$ours/inner" "$cgroups$ours-other"
	mountpoint -q "$bpf" || mount -t bpf bpf "$bpf"
	trap 'clean_up; end_case' EXIT
}

clean_up()
{
	local status=$?

	set +e
	"$pamsctl" mptcp disable all || say "disable all fails"
	remove_paths
	within 30 remove_cgroups || say "cgroups stay"
	umount "$cgroups"
	return "$status"
}
# A process that was killed is in its cgroup until it has ended.
remove_cgroups()
{
	find "$cgroups" -depth -type d -path "*/pams-$$*" -exec rmdir {} \;
	[ ! -e "$cgroups$ours" ] && [ ! -e "$cgroups$ours-other" ]
}

connections() { counter "$server" MPTcpExtMPCapableSYNRX; }

# connects CGROUP yes|no: does a program in that cgroup get MPTCP?
connects()
{
	local before got

	before=$(connections)
	on_client "$0" enter "$cgroups$1" bash -c "exec 3<>/dev/tcp/$address/$port" || fail "a program in $1 cannot connect"
	got=$([ "$(connections)" = "$before" ] && echo no || echo yes)
	say "MPTCP in $1: $got, expected $2"
	[ "$got" = "$2" ] || fail "MPTCP in $1: $got"
}

is_clean() { [ ! -e "$pins" ] || fail "this is left: $(ls "$pins")"; }

below_and_beside()
{
	begin
	family=$1
	paths default 10mbit,10ms 10mbit,15ms
	start_server
	connects "$ours" no
	"$pamsctl" mptcp enable "$ours"
	connects "$ours" yes
	connects "$ours/inner" yes
	connects "$ours-other" no
	connects / no
	"$pamsctl" mptcp enable "$cgroups$ours-other"	# as it is seen where cgroups are mounted
	connects "$ours-other" yes
	"$pamsctl" mptcp disable "$ours"
	connects "$ours" no
	connects "$ours/inner" no
	connects "$ours-other" yes
	"$pamsctl" mptcp disable "$ours-other"
	connects "$ours-other" no
	is_clean
	"$pamsctl" mptcp enable /
	connects / yes
	connects "$ours/inner" yes
	"$pamsctl" mptcp disable /
	connects / no
	is_clean
}

shown() { "$pamsctl" mptcp show | tee "$work/shown"; }

# Twice the same; what it counts; a cgroup that is removed and made again is another one.
twice_and_gone()
{
	begin
	paths default 10mbit,10ms
	start_server
	"$pamsctl" mptcp enable "$ours/inner"
	connects "$ours/inner" yes
	connects "$ours/inner" yes
	"$pamsctl" mptcp enable "$ours/inner"
	shown
	grep -qE "^$ours/inner +2\$" "$work/shown" || fail "the sockets aren't shown"
	[ "$("$pamsctl" mptcp show | wc -l)" = 2 ] || fail "it is there twice"
	"$pamsctl" doctor | grep "programs .*those of 1 cgroups get MPTCP unasked, 2 sockets" || fail "doctor doesn't say it"
	! "$pamsctl" mptcp disable "$ours" || fail "another one than what is enabled can be disabled"
	rmdir "$cgroups$ours/inner"
	[ "$(shown)" = "no cgroup is enabled: programs get MPTCP if they ask for it" ] || fail "it is still shown"
	mkdir "$cgroups$ours/inner"
	connects "$ours/inner" no
	"$pamsctl" mptcp enable "$ours/inner"
	connects "$ours/inner" yes
	rmdir "$cgroups$ours/inner"
	"$pamsctl" mptcp disable all
	is_clean
}

# A server that is started in its cgroup listens with MPTCP; data takes both paths.
servers_get_it()
{
	command -v iperf3 >/dev/null || skip "no iperf3"
	begin
	paths default 10mbit,10ms 10mbit,15ms
	"$pamsctl" mptcp enable "$ours"
	ip netns exec "$server" "$0" enter "$cgroups$ours/inner" iperf3 -s -1 >"$work/server" 2>&1 &
	within 50 listens || fail "iperf3 does not come up"
	on_client "$0" enter "$cgroups$ours" iperf3 -c "$address" -t 2 >"$work/iperf3" || fail "$(cat "$work/iperf3" "$work/server")"
	check "MPTCP connections (control, data)" "$(counter "$server" MPTcpExtMPCapableACKRX)" == 2
	check "further subflows" "$(counter "$server" MPTcpExtMPJoinAckRx)" ">=" 1
}
listens() { [ -n "$(on_server ss -Hltn "sport = 5201")" ]; }

# Units, as systemd names them; here a script answers for it.
units()
{
	begin
	paths default 10mbit,10ms
	start_server
	mkdir "$cgroups$ours/one.service"
	# systemctl show --property ControlGroup --value -- UNIT
	cat >"$work/systemctl" <<-END
		#!/bin/bash
		[ "\$3 \$6" != "ControlGroup one" ] || echo "$ours/one.service"
	END
	chmod +x "$work/systemctl"
	PATH=$work:$PATH
	"$pamsctl" mptcp enable one | tee "$work/said"
	grep -q "ExecStartPre=-+/.*/pamsctl mptcp enable %n" "$work/said" || fail "nobody says how it is kept"
	connects "$ours/one.service" yes
	refused "the unit two.service has no cgroup: it doesn't run" enable two.service
	refused "on isn't enabled" disable on
	"$pamsctl" mptcp disable one
	connects "$ours/one.service" no
	is_clean
}

# refused TEXT WORD...
refused()
{
	local text=$1
	shift

	! "$pamsctl" mptcp "$@" >"$work/said" 2>&1 || fail "this was taken: $*"
	grep -qF -- "$text" "$work/said" || fail "it says '$(cat "$work/said")' and not '$text'"
}

refuses()
{
	local i

	begin
	refused "there is no cgroup $ours-nobody" enable "$ours-nobody"
	refused "there is no cgroup /../../etc" enable /../../etc
	refused "no systemd answers here" enable one.service
	is_clean
	sysctl -qw net.mptcp.enabled=0
	refused "this kernel opens no MPTCP sockets: see pamsctl doctor" enable "$ours"
	sysctl -qw net.mptcp.enabled=1
	for i in $(seq 64); do
		mkdir "$cgroups$ours/$i"
		"$pamsctl" mptcp enable "$ours/$i" >/dev/null
	done
	refused "64 cgroups are enabled already" enable "$ours"
	# those that were removed make room
	rmdir "$cgroups$ours/7"
	"$pamsctl" mptcp enable "$ours"
	check "enabled" "$("$pamsctl" mptcp | grep -c "^$ours")" == 64
	chmod 755 "$bpf"
	! setpriv --reuid 12345 "$pamsctl" mptcp disable all 2>"$work/said" || fail "anybody may disable"
	grep -q "run it as root" "$work/said" || fail "$(cat "$work/said")"
	"$pamsctl" mptcp disable all
	is_clean
	! setpriv --reuid 12345 "$pamsctl" mptcp enable "$ours" 2>"$work/said" || fail "anybody may enable"
	grep -q "run it as root" "$work/said" || fail "$(cat "$work/said")"
	umount "$bpf"
	refused "no BPF file system: mount -t bpf none /sys/fs/bpf; instead: mptcpize run PROGRAM" enable "$ours"
	mount -t bpf bpf "$bpf"
}

# Many at once: all that was asked for holds, and nothing is left at the end.
at_once()
{
	local i jobs=()

	begin
	for i in 1 2 3 4 5 6; do
		mkdir "$cgroups$ours/$i"
		"$pamsctl" mptcp enable "$ours/$i" &
		jobs+=($!)
	done
	wait "${jobs[@]}"
	check "enabled" "$("$pamsctl" mptcp | grep -c "^$ours/")" == 6
	jobs=()
	for i in 1 2 3 4 5 6; do
		"$pamsctl" mptcp disable "$ours/$i" &
		jobs+=($!)
	done
	wait "${jobs[@]}"
	is_clean
}

add below_and_beside -4
add below_and_beside -6
add twice_and_gone
add servers_get_it
add units
add refuses
add at_once
run_cases "$@"
