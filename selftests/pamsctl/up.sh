# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154 # work and the functions of run, which sources this file last
# pamsctl up and down, with copies of /etc and /var/lib, and scripts for systemctl, uci and pamsd's init script. The
# module's files and the kernel's list of schedulers are mounted over; with the module and systemd: selftests/services.

own=$work/own
bin=$work/bin
mkdir -p "$own/sysctl" "$bin" "$own/boot"
cp -a /etc "$own" 2>/dev/null
for folder in etc lib run; do
	mkdir -p "$own/$folder"
done
mount --bind "$own/etc" /etc
mount --bind "$own/lib" /var/lib
mount --bind "$own/run" /run
rm -rf /etc/pamsd /etc/modules-load.d /etc/sysctl.d /etc/rc.common /etc/config /etc/init.d
mkdir -p /etc/sysctl.d /etc/modules-load.d
if [ ! -d /lib/modules ]; then
	mount -t tmpfs none "$own/boot"
	mkdir -p "$own/boot/modules/modules" "$own/boot/work"
	mount -t overlay none -o "lowerdir=/usr/lib,upperdir=$own/boot/modules,workdir=$own/boot/work" /usr/lib 2>/dev/null
	umount -l "$own/boot"
fi
installed=
if [ -d /lib/modules ]; then
	installed=1
	mount -t tmpfs none /lib/modules
	mkdir -p "/lib/modules/$(uname -r)"
	echo | ${CC:-cc} -c -x c -o "/lib/modules/$(uname -r)/mptcp_pams.ko" -
	depmod -a 2>/dev/null
fi
mount -t tmpfs none /sys/module
mkdir /sys/module/mptcp_pams
touch /sys/module/mptcp_pams/refcnt
cp "$(command -v pamsctl)" "${PAMSD:-$(command -v pamsd)}" "$bin"
echo "default pams minfct" >"$own/sysctl/available_schedulers"
for file in scheduler available_schedulers; do
	touch "$own/sysctl/$file"
	mount --bind "$own/sysctl/$file" /proc/sys/net/mptcp/$file
done
conf=/etc/pamsd/pamsd.conf
sysctl=/etc/sysctl.d/90-mptcp-pams.conf
modules=/etc/modules-load.d/mptcp-pams.conf
record=/var/lib/mptcp-pams/up.json

# Of the service there are files: enabled, active, and calls. With "fails" it doesn't start.
cat >"$bin/systemctl" <<-END
	#!/bin/sh
	cd $own/run
	case "\$1 \$3" in
	"show LoadState") cat unit ;;
	"show UnitFileState") [ -e enabled ] && echo enabled || echo disabled ;;
	"show ActiveState") [ -e active ] && echo active || echo inactive ;;
	enable*) echo enable >>calls; touch enabled ;;
	disable*) echo disable >>calls; rm -f enabled ;;
	restart*)
		[ ! -e kills ] || { rm kills; kill -9 \$PPID; exit; }
		echo "\$*" >>calls
		[ ! -e fails ] || { rm -f active; echo "Job for pamsd.service failed." >&2; exit 1; }
		touch active ;;
	stop*) echo stop >>calls; rm -f active ;;
	esac
END
chmod +x "$bin/systemctl"
PATH=$bin:$PATH
preload=$top/build/selftests/pamsctl/preload.so

# fresh: nobody has said up
fresh()
{
	rm -rf /etc/pamsd /etc/modules-load.d/* /etc/sysctl.d/* /var/lib/* "$own"/run/*
	mkdir -p /run/systemd/system
	echo loaded >/run/unit
	echo default >/proc/sys/net/mptcp/scheduler
}

# state: all that up may change, but pamsd's process
state()
{
	local file

	for file in $(find /etc/pamsd /etc/modules-load.d /etc/modules.d /etc/sysctl.d /etc/config /etc/mptcp-pams /var/lib -mindepth 1 2>/dev/null | sort); do
		echo "$(stat -c '%n %f %u' "$file") $([ -d "$file" ] || sha256sum <"$file")"
	done
	[ ! -d /etc/pamsd ] || echo "/etc/pamsd"
	ls /run
	head -n 1 /proc/sys/net/mptcp/scheduler
}

# same FILE: state is as FILE has it
same() { state | grep -vx calls | diff <(grep -vx calls "$1") - >>"$work/why"; }

# says STATUS LINES WORD...: exactly these lines, without what doctor finds
says()
{
	local expected=$1 lines=$2 status=0

	shift 2
	pamsctl "$@" >"$work/out" 2>&1 </dev/null || status=$?
	{ echo "pamsctl $*: exit $status, expected $expected"; grep -vE '^(note|bad) |^ +-> ' "$work/out" | diff <(echo "$lines") -; } >"$work/why" &&
		[ $status = "$expected" ]
}

did="chose the scheduler minfct for new sockets, in place of default
${installed:+wrote $modules
}wrote $sysctl"
[ -n "$installed" ] || did="the module isn't installed, so a restart ends it: make install
$did"
all="$did
added a section \"paths\" to $conf: pamsd keeps an MPTCP endpoint for each link
enabled pamsd at each boot
started pamsd"
nothing="nothing to change: all is as up makes it"
[ -n "$installed" ] || nothing="the module isn't installed, so a restart ends it: make install
$nothing"
undone="removed $conf
removed $sysctl
${installed:+removed $modules
}chose the scheduler default again
disabled pamsd at boot
stopped pamsd"
[ -n "$installed" ] || echo "# neither /lib/modules nor an overlay over /usr/lib: the module counts as not installed"

refused 2 "unexpected argument 'now'" up now
refused 2 "unexpected argument 'now'" down now
refused 2 "option '--restart' needs --server" up --restart
refused 2 "option '--server' is not one of pamsctl down" down --server
if setpriv --reuid 65534 --regid 65534 --clear-groups true 2>/dev/null; then
	chmod o+rx "$work" "$bin" "$own"
	mv "$bin/pamsctl" "$bin/real"
	printf '#!/bin/sh\nexec setpriv --reuid 65534 --regid 65534 --clear-groups real "$@"\n' >"$bin/pamsctl"
	chmod +x "$bin/pamsctl"
	refused 4 "up: run it as root" up
	refused 4 "down: run it as root" down
	mv "$bin/real" "$bin/pamsctl"
else
	nr=$((nr + 1))
	echo "ok $nr - up by another user # SKIP there is only root here"
fi

fresh
state >"$work/fresh"
says 0 "$(sed 's/^chose/would choose/; s/^wrote/would write/; s/^added/would add/; s/^enabled/would enable/; s/^started/would start/' <<<"$all")" up --dry-run
result "up --dry-run: what it would do"
same "$work/fresh"
result "up --dry-run: changes nothing"
says 0 "$all" up
result "up: what it did"
state >"$work/full"
[ "$(cat $sysctl $conf)" = "net.mptcp.scheduler = minfct
# added by pamsctl up
paths { }
# end of what pamsctl up added" ] && [ "$(stat -c %a $sysctl $conf $record /var/lib/mptcp-pams | xargs)" = "644 644 600 700" ] &&
	[ "$(xargs <"$own/run/calls")" = "enable restart --quiet pamsd" ]
result "up: its files"
if [ -n "$installed" ]; then
	[ "$(<$modules)" = mptcp_pams ]
	result "up: the module at each boot"
fi
says 0 "$nothing" up && same "$work/full"
result "up again: nothing"
pamsctl --json up | /usr/bin/python3 -c 'import json, sys
answer = json.load(sys.stdin)
assert answer["lines"][-1] == "nothing to change: all is as up makes it" and answer["wrong"] == [], answer
assert all(one["grade"] != "ok" for one in answer["findings"]), answer' 2>"$work/why"
result "up as JSON"
says 0 "$(sed 's/^removed/would remove/; s/^chose/would choose/; s/^disabled/would disable/; s/^stopped/would stop/' <<<"$undone")" down --dry-run &&
	same "$work/full"
result "down --dry-run"
says 0 "$undone" down && same "$work/fresh"
result "down: all is as it was"
says 0 "nothing to undo: pamsctl up has changed nothing here" down && same "$work/fresh"
result "down again: nothing"

# README's commands; on two machines make package-check types them.
[ ! -d /sys/fs/bpf ] || mount -t tmpfs none /sys/fs/bpf
count=0
while read -r line; do
	status=0
	# shellcheck disable=SC2086 # a list of words
	$line >"$work/out" 2>&1 </dev/null || status=$?
	{ echo "exit $status"; cat "$work/out"; } >"$work/why"
	[ $status != 2 ] && [ $status -lt 100 ]
	result "README: $line"
	count=$((count + 1))
done < <(grep -oE '\<pamsctl [a-z]+( -?-?[A-Za-z-]+)*' README.md)
# shellcheck disable=SC2016 # Markdown's
[ $count -ge "$(sed -n '/^```sh$/,/^```$/p' README.md | grep -o 'sudo pamsctl' | tee "$work/why" | wc -l)" ]
result "README: each of its lines for pamsctl was taken"
[ ! -d /sys/fs/bpf ] || umount /sys/fs/bpf

# What was there: other lines in the files, without an end of line, with modes of their own, and pamsd running.
with_files()
{
	fresh
	mkdir /etc/pamsd
	printf '# mine\nvm.swappiness = 10' >$sysctl
	printf 'dummy\n' >$modules
	printf 'cap "lte" { interface = "wwan0" quota = "1G" then = "cost 3" }\nserver {\n\tpeer "x" { key = "%s" }\n}' "$(pamsd --genkey)" >$conf
	chmod 640 $sysctl
	chmod 600 $conf
	touch "$own/run/enabled" "$own/run/active"
}
with_files
state >"$work/mine"
pamsctl up >"$work/why" 2>&1 && [ "$(tail -n 1 $sysctl)" = "net.mptcp.scheduler = minfct" ] && grep -qx "vm.swappiness = 10" $sysctl &&
	[ "$(stat -c %a $sysctl $conf | xargs)" = "640 600" ] && grep -qx "paths { }" $conf && [ "$(<"$own/run/calls")" = "restart --quiet pamsd" ]
result "up: files that were there keep what is in them, and their modes"
! grep -q "$(grep -o 'key = .*' $conf)" $record
result "up: no key is in the record"
pamsctl down >"$work/why" 2>&1 && same "$work/mine" && [ "$(grep -c restart "$own/run/calls")" = 2 ]
result "down: files that were there are as they were, and pamsd runs with them"

# What says it already stays.
fresh
mkdir /etc/pamsd
printf ' paths { } # mine\n' >$conf
printf 'net/mptcp/scheduler=pams\n' >$sysctl
printf '  mptcp_pams \n' >$modules
echo pams >/proc/sys/net/mptcp/scheduler
touch "$own/run/enabled" "$own/run/active"
state >"$work/mine"
says 0 "left the scheduler pams, which is one of the module's: see pamsctl sched set$([ -n "$installed" ] || printf '\n%s' "the module isn't installed, so a restart ends it: make install")
nothing to change: all is as up makes it" up
result "up: what says it already stays"
same "$work/mine"
result "up: no record where nothing was to be done"

# What the user has changed since.
fresh
pamsctl up >"$work/why" 2>&1
echo "# mine" >>$sysctl
sed -i 's/^paths { }/paths { } # mine/' $conf
echo pams >/proc/sys/net/mptcp/scheduler
touch /etc/pamsd/mine
says 0 "left $conf: what up added to it was changed since
took 'net.mptcp.scheduler = minfct' out of $sysctl
${installed:+removed $modules
}left the scheduler pams, which was chosen since
left pamsd: there is more in $conf than up had added
restarted pamsd" down && [ ! -e $record ] && [ "$(<$sysctl)" = "# mine" ] && grep -q "# mine" $conf && [ -e /etc/pamsd/mine ]
result "down: what was changed since stays"
fresh
pamsctl up >"$work/why" 2>&1
printf 'rules = "/etc/pamsd/rules"\n' >>$conf
touch /etc/pamsd/rules
pamsctl down >"$work/why" 2>&1 && [ "$(<$conf)" = 'rules = "/etc/pamsd/rules"' ] && [ -e "$own/run/active" ] && [ -e "$own/run/enabled" ]
result "down: a file that up made, and the user filled, stays"
fresh
pamsctl up >"$work/why" 2>&1
echo default >/proc/sys/net/mptcp/scheduler
rm $sysctl "$own/run/enabled"
{ echo; cat $conf; } >"$work/filled"
cat "$work/filled" >$conf
pamsctl up >"$work/why" 2>&1 && [ "$(head -n 1 /proc/sys/net/mptcp/scheduler)" = minfct ] && [ -e $sysctl ] && [ -e "$own/run/enabled" ] &&
	pamsctl down >"$work/why" 2>&1 && [ ! -e $sysctl ] && [ "$(head -n 1 /proc/sys/net/mptcp/scheduler)" = default ] && [ ! -e $record ]
result "up again mends what was changed since, and down undoes that, too"

# pamsd.conf that up made and the user filled
for added in "# mine" ""; do
	fresh
	pamsctl up >"$work/why" 2>&1
	echo "$added" >>$conf
	pamsctl down >>"$work/why" 2>&1 && [ "$(<$conf)" = "$added" ] && [ ! -e "$own/run/enabled" ] && [ ! -e "$own/run/active" ] && [ ! -e $record ]
	result "down: pamsd isn't left with a file in which there is nothing to do: '$added'"
done
# users: pamsd starts at boot and runs with the user's file, and nothing is left to undo
users() { [ "$(<$conf)" = 'rules = "/etc/pamsd/rules"' ] && [ -e "$own/run/active" ] && [ -e "$own/run/enabled" ] && [ ! -e $record ]; }
# fill: up, and the user adds to its file
fill()
{
	fresh
	pamsctl up >"$work/why" 2>&1
	printf 'rules = "/etc/pamsd/rules"\n' >>$conf
	touch /etc/pamsd/rules
}
fill
touch "$own/run/fails"
! pamsctl down >>"$work/why" 2>&1 && rm "$own/run/fails" && pamsctl down >>"$work/why" 2>&1 && users
result "down again, after pamsd didn't start: it is the user's"
fill
touch "$own/run/fails"
! pamsctl down >>"$work/why" 2>&1 && rm "$own/run/fails" && touch "$own/run/active" &&
	pamsctl up >>"$work/why" 2>&1 && pamsctl down >>"$work/why" 2>&1 && users
result "up and down again, after pamsd didn't start: it is the user's"
fill
sed -i /added/,/end/d $conf
pamsctl up >>"$work/why" 2>&1 && grep -qx "paths { }" $conf && pamsctl down >>"$work/why" 2>&1 && users
result "down: a file that up made stays the user's after another up"

# A line that up added to a file, or has made a file of
fresh
pamsctl up >"$work/why" 2>&1
echo "net.mptcp_pams.overflow_ms = 500" >>$sysctl
sed 's/^removed .*sysctl.*/took '"'net.mptcp.scheduler = minfct'"' out of \/etc\/sysctl.d\/90-mptcp-pams.conf/' <<<"$undone" >"$work/expected"
says 0 "$(<"$work/expected")" down && [ "$(<$sysctl)" = "net.mptcp_pams.overflow_ms = 500" ] && [ ! -e $record ]
result "down: of a file with more lines by now, only up's line goes"
with_files
pamsctl up >"$work/why" 2>&1
sed -i '1s/^/net.mptcp_pams.overflow_ms = 500\n/' $sysctl
pamsctl down >>"$work/why" 2>&1 && [ "$(<$sysctl)" = "net.mptcp_pams.overflow_ms = 500
# mine
vm.swappiness = 10" ] && [ "$(stat -c %a $sysctl)" = 640 ]
result "down: so it does with a file that was there"
fresh
pamsctl up >"$work/why" 2>&1
echo " net.mptcp.scheduler = minfct" >$sysctl
pamsctl down >"$work/why" 2>&1 && grep -qx "left $sysctl: it was changed since" "$work/why" && [ "$(<$sysctl)" = " net.mptcp.scheduler = minfct" ]
result "down: a line that was changed since stays"

# --- where is the section? ---

# has TEXT: up adds nothing to it; lacks TEXT: it does, and down takes exactly that away
try()
{
	fresh
	mkdir /etc/pamsd
	printf '%b' "$1" >$conf
	cp $conf "$work/before"
	pamsctl up >"$work/why" 2>&1
}
has() { try "$1" && cmp -s $conf "$work/before"; result "up: this has a section paths: $1"; }
lacks()
{
	try "$1" && ! cmp -s $conf "$work/before" && [ "$(grep -cx '# added by pamsctl up' $conf)" = "${2:-1}" ] &&
		pamsctl down >>"$work/why" 2>&1 && cmp $conf "$work/before" >>"$work/why"
	result "up: this has no section paths: $1"
}
cap='cap "a" { interface = "lo" quota = "1G" then = "backup" }\n'
has 'paths{}'
has "$cap"'paths\n{\n}'
has 'costs-as-backup = true paths { }'
has '/* a { */ paths { # {\n }'
has "control = '{' paths { }"
has 'control = "/tmp/\\"{" paths { } // end'
lacks "$cap"
lacks "$cap"'# paths { }'
lacks "$cap"'// paths { }\n'
lacks "$cap"'/* paths { }\n paths { }\n*/'
lacks 'cap "paths" { interface = "lo" quota = "1G" then = "backup" }'
lacks 'cap paths { interface = "lo" quota = "1G" then = "backup" }'
lacks "$cap"'control = "\npaths { }\n"\n'
lacks "$cap"'/*\n# added by pamsctl up\npaths { }\n# end of what pamsctl up added\n*/\n' 2
lacks "$cap"'control = "\n# added by pamsctl up\npaths { }\n# end of what pamsctl up added\n"\n' 2
lacks "$cap"'state = /var/lib//pamsd\n'

# --- faults: one line, and nothing is changed ---

# fails STATUS TEXT [WORD...]: up does so, and the state is as before
fails()
{
	local status=0 expected=$1 text=$2
	shift 2

	state >"$work/mine"
	pamsctl up "$@" >"$work/out" 2>"$work/err" || status=$?
	{ echo "exit $status, expected $expected"; diff <(echo "pamsctl: up: $text") "$work/err"; } >"$work/why" &&
		[ $status = "$expected" ] && [ ! -s "$work/out" ] && same "$work/mine"
	result "up: $text"
}
fresh
mkdir /etc/pamsd
printf 'server {\n' >$conf
fails 1 "pamsd refuses its configuration: $(pamsd --check $conf 2>&1 | head -n 1)"
printf 'paths { nonsense = 1 }\n' >$conf
fails 1 "pamsd refuses its configuration: $(pamsd --check $conf 2>&1 | head -n 1)"
printf 'a\0b' >$conf
fails 1 "$conf can't be read: it is no text file"
rm $conf
mkdir $conf
fails 1 "$conf can't be read: it is no text file"
fresh
printf '\377\n' >$sysctl
fails 1 "$sysctl is not in UTF-8"
fresh
mount --bind /etc/sysctl.d /etc/sysctl.d
mount -o remount,bind,ro /etc/sysctl.d
fails 1 "$sysctl can't be written: Read-only file system"
umount /etc/sysctl.d
mount --bind /var/lib /var/lib
mount -o remount,bind,ro /var/lib
fails 1 "$record can't be written: Read-only file system"
umount /var/lib
mkdir /etc/pamsd
mount -t tmpfs -o size=4k none /etc/pamsd
echo "# $(head -c 3000 /dev/zero | tr '\0' x)" >$conf
fails 1 "$conf can't be written: No space left on device"
umount /etc/pamsd
fresh
mkdir /var/lib/mptcp-pams
echo '{"version": 2}' >$record
fails 1 "$record isn't a record that this pamsctl wrote: move it away, and what is in it must be undone by hand"
fresh
echo masked >"$own/run/unit"
fails 1 "pamsd is masked: systemctl unmask pamsd"
echo not-found >"$own/run/unit"
fails 1 "systemd has no unit pamsd: install the package mptcp-pams-tools, or make install-tools"
with_files
touch "$own/run/fails"
state >"$work/mine"
pamsctl up >"$work/out" 2>"$work/err"
[ $? = 1 ] && grep -qx "pamsctl: up: pamsd can't be started: Job for pamsd.service failed.: journalctl -u pamsd.*" "$work/err" &&
	diff <(state | grep -vE '^(calls|active)$' | grep -v /var/lib) <(grep -vE '^(calls|active)$' "$work/mine") >"$work/why"
result "up: pamsd that doesn't start, and what was done is undone"
rm "$own/run/fails"
pamsctl down >>"$work/why" 2>&1
fresh
pamsctl up >"$work/why" 2>&1
touch "$own/run/fails"
rm "$own/run/active"
state >"$work/mine"
! pamsctl up >"$work/why" 2>&1 && same "$work/mine"
result "up again that fails leaves what up did before"
rm "$own/run/fails"
pamsctl down >"$work/why" 2>&1 && same "$work/fresh"
result "and down undoes that"
mv "$bin/pamsd" "$bin/away"
fresh
(PATH=$bin:/usr/bin:/bin; fails 1 "there is no pamsd, which keeps the paths: install it"; exit "$failed")
failed=$? nr=$((nr + 1))
mv "$bin/away" "$bin/pamsd"

# --- pamsd --check ---

for fault in noexec old; do
	fresh
	FAULT=$fault LD_PRELOAD=$preload says 0 "$all" up
	result "up: pamsd is asked about its configuration: $fault"
done
fresh
FAULT=memfd LD_PRELOAD=$preload fails 1 "pamsd can't be asked about its configuration: Permission denied"
mv "$bin/pamsd" "$bin/away"
# shellcheck disable=SC2016 # for the script
printf '%s\n' '#!/bin/sh' 'kill -SEGV $$' >"$bin/pamsd"
chmod +x "$bin/pamsd"
fails 1 "pamsd --check has crashed: Segmentation fault"
mv "$bin/away" "$bin/pamsd"

fresh
/usr/bin/python3 -c 'import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execvp("pamsctl", ["pamsctl", "up"])' >"$work/why" 2>&1 && [ -e "$own/run/active" ]
result "up, called by a program that ignores the end of its children"
pamsctl down >"$work/why" 2>&1

# --- in another network namespace ---

# Each has its own files in place of the kernel's. The inner shell's commands are in its own namespace, those after "outside" not.
cat >"$work/inside" <<-END
	work=$work
	for file in scheduler available_schedulers; do
		head -n 1 "$own/sysctl/\$file" >"$work/\$file"
		mount --bind "$work/\$file" /proc/sys/net/mptcp/\$file
	done
	rm -rf /run/mount
	outside() { nsenter --target $$ --net --mount "\$@"; }
	chosen() { [ "\$(head -n 1 $work/scheduler) \$(head -n 1 $own/sysctl/scheduler)" = "\$*" ]; }
	elsewhere="pamsctl: down: the scheduler minfct was chosen in another network namespace: repeat pamsctl down there"
END
# inside COMMANDS: with what was printed in there
inside() { fresh; unshare --net --mount bash -c ". '$work/inside'; $1" >"$work/why" 2>&1; }
# shellcheck disable=SC2016 # for the shell inside
inside 'pamsctl up && chosen minfct default && ! outside pamsctl down 2>$work/err && [ "$(<$work/err)" = "$elsewhere" ] && chosen minfct default &&
	pamsctl down && chosen default default' && same "$work/fresh"
result "down in another network namespace than up's says so"
# shellcheck disable=SC2016
inside 'pamsctl up && outside pamsctl up && chosen minfct minfct && ! pamsctl down 2>$work/err && [ "$(<$work/err)" = "$elsewhere" ] &&
	chosen default minfct && outside pamsctl down && chosen default default' && same "$work/fresh"
result "up in two network namespaces, and down in each"
inside 'pamsctl up'
sed -i 's/"boot": .*/"boot": "another",/' $record
pamsctl down >>"$work/why" 2>&1 && same "$work/fresh"
result "down in another boot: that namespace is gone"

# --- down ---

# a pamsd that left something to open connections, as its file says
mkdir -p /var/lib/pamsd
echo '{"boot": "another"}' >/var/lib/pamsd/paths.json
pamsctl up >"$work/why" 2>&1 && pamsctl down >>"$work/why" 2>&1 && [ ! -e /var/lib/pamsd/paths.json ]
result "down: what pamsd left to open connections goes"

fresh
pamsctl up >"$work/why" 2>&1
mv $record "$work/record"
mount -t tmpfs -o size=4k none /var/lib/mptcp-pams
cp "$work/record" $record
mount --bind /etc/sysctl.d /etc/sysctl.d
mount -o remount,bind,ro /etc/sysctl.d
says 1 "$(grep -v "^removed $sysctl" <<<"$undone")
pamsctl: down: $sysctl can't be removed: Read-only file system
pamsctl: down: $record can't be written: No space left on device" down
result "down on a full disk tells what was undone"
umount /etc/sysctl.d
pamsctl down >"$work/why" 2>&1 && [ ! -e $record ]
result "down again completes it"
umount /var/lib/mptcp-pams

FAULT=interrupted LD_PRELOAD=$preload pamsctl --json links >"$work/why" 2>&1
result "links, while interfaces change all the time"

# A kernel takes any byte in an interface's name but blanks, / and :.
ip link set lo down
ip link set lo name $'l\xff' 2>"$work/why" && "$top/build/selftests/pamsctl/pamsctl" --json path show >"$work/why" 2>&1 && grep -q '"dev": "l?"' "$work/why"
result "JSON with an interface whose name isn't UTF-8"
"$top/build/selftests/pamsctl/pamsctl" --json links show $'l\xff' >"$work/why" 2>&1 && grep -q '"dev": "l?"' "$work/why"
result "links' JSON with it"
ip link set $'l\xff' name lo up

# --- a machine without the module ---

mv /sys/module/mptcp_pams /sys/module/gone
if [ -n "$installed" ]; then
	mv "/lib/modules/$(uname -r)/mptcp_pams.ko" /lib/modules
	depmod -a 2>/dev/null
fi
fresh
says 0 "there is no module here: a client that only downloads needs none
added a section \"paths\" to $conf: pamsd keeps an MPTCP endpoint for each link
enabled pamsd at each boot
started pamsd" up && ! grep -q mptcp_pams "$work/out" && [ "$(head -n 1 /proc/sys/net/mptcp/scheduler)" = default ] && [ ! -e $sysctl ]
result "up without a module: the paths"
pamsctl down >"$work/why" 2>&1 && same "$work/fresh"
result "down without a module"
# with Secure Boot, and dkms's key that isn't enrolled
mount -t tmpfs tmpfs /sys/firmware && mount -t tmpfs tmpfs /sys/kernel && mkdir -p /sys/kernel/security /var/lib/dkms
echo "none [integrity] confidentiality" >/sys/kernel/security/lockdown
# in a kernel with kprobes, also where this one has none
echo "0000000000000000 T register_kprobe" >"$work/kallsyms"
mount --bind "$work/kallsyms" /proc/kallsyms
printf '%s\n' code '~Module signature appended~' >"$work/signed.ko"
printf 'key of dkms' >/var/lib/dkms/mok.pub
says 0 "left out the module, whose key isn't enrolled: mokutil --import /var/lib/dkms/mok.pub, restart, confirm, and repeat this
added a section \"paths\" to $conf: pamsd keeps an MPTCP endpoint for each link
enabled pamsd at each boot
started pamsd" up --module "$work/signed.ko"
result "up with a module whose key isn't enrolled: the paths"
pamsctl down >"$work/why" 2>&1 && rm -rf /var/lib/dkms /run/mount && same "$work/fresh"
result "down after that"
umount /sys/firmware /sys/kernel /proc/kallsyms
fails 1 "there is no mptcp_pams.ko for this kernel: install linux-headers-$(uname -r), from which the package mptcp-pams-dkms \
builds it; or run make and make install in the project's folder; or give --module FILE" --server	# run has left BTF there
if [ -n "$installed" ]; then
	mv /lib/modules/mptcp_pams.ko "/lib/modules/$(uname -r)"
	depmod -a 2>/dev/null
fi
mv /sys/module/gone /sys/module/mptcp_pams

# --- a server ---

cat >"$work/listen.py" <<-END
	import socket, sys
	all = []
	for port, protocol, address in (8001, 262, "0.0.0.0"), (8002, 0, "0.0.0.0"), (8003, 262, "127.0.0.1"):
	    all.append(socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol))
	    all[-1].bind((address, port))
	    all[-1].listen()
	print("there", flush=True)
	sys.stdin.read()
END
# listening: the program runs while its standard input is open
listening()
{
	coproc LISTEN { exec /usr/bin/python3 "$work/listen.py"; }
	listener=$LISTEN_PID
	read -r <&"${LISTEN[0]}"
}
if /usr/bin/python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)' 2>/dev/null; then
	fresh
	listening
	says 0 "$did
python3[$listener], port 8001, listens with the scheduler before this one: restart it
python3[$listener], port 8002, listens without MPTCP: see pamsctl mptcp enable" up --server && [ ! -e $conf ] && [ ! -e "$own/run/calls" ]
	result "up --server: what listens, and no paths"
	says 0 "$nothing
python3[$listener], port 8001, listens with the scheduler before this one: restart it
python3[$listener], port 8002, listens without MPTCP: see pamsctl mptcp enable" up --server
	result "up --server again: what has not been restarted"
	kill "$listener"
	wait "$listener" 2>/dev/null
	sleep 2
	listening
	says 0 "$nothing
python3[$listener], port 8002, listens without MPTCP: see pamsctl mptcp enable" up --server
	result "up --server: a younger process has the new scheduler"
	pamsctl --json up --server --restart | /usr/bin/python3 -c 'import json, sys
[one] = json.load(sys.stdin)["services"]
assert one["ports"] == [8002] and not one["mptcp"], one' 2>"$work/why"
	result "up --server as JSON"
	kill "$listener"
	wait "$listener" 2>/dev/null
	pamsctl down >"$work/why" 2>&1 && same "$work/fresh"
	result "down on a server"

	# One that begins between the plan and the choice: pamsd, which is asked in between, waits for it.
	fresh
	mv "$bin/pamsd" "$bin/away"
	cat >"$bin/pamsd" <<-END
		#!/bin/sh
		sleep 2
		touch $work/asked
		while [ ! -e $work/go ]; do sleep 0.1; done
		exec $bin/away "\$@"
	END
	chmod +x "$bin/pamsd"
	pamsctl up >"$work/out" 2>&1 &
	upping=$!
	while [ ! -e "$work/asked" ]; do sleep 0.1; done
	listening
	touch "$work/go"
	wait $upping
	mv "$bin/away" "$bin/pamsd"
	pamsctl up --server >"$work/why" 2>&1 && grep -q "^python3\[$listener\], port 8001, listens with the scheduler before" "$work/why"
	result "up --server: what began before the choice"
	kill "$listener"
	wait "$listener" 2>/dev/null
else
	nr=$((nr + 1))
	echo "ok $nr - up --server # SKIP this kernel opens no MPTCP sockets"
fi

with_files
touch "$own/run/kills"
(pamsctl up >"$work/why" 2>&1; [ $? = 137 ]) 2>/dev/null && pamsctl up --server >>"$work/why" 2>&1 && [ ! -e "$own/run/calls" ] &&
	pamsctl up >>"$work/why" 2>&1 && grep -qx "restarted pamsd" "$work/why" && pamsctl up >"$work/why" 2>&1 && grep -qx "$(tail -n 1 <<<"$nothing")" "$work/why"
result "up --server doesn't complete the paths of an up that was killed"
pamsctl down >"$work/why" 2>&1

fresh
unlisted="the sockets that listen can't be listed (Object not found): modprobe -a mptcp_diag tcp_diag"
FAULT=diag LD_PRELOAD=$preload says 0 "$did
$unlisted" up --server
result "up --server: sockets that can't be listed"
FAULT=diag LD_PRELOAD=$preload says 1 "$nothing
pamsctl: up: $unlisted" up --server --restart
result "up --server --restart: sockets that can't be listed"
pamsctl down >"$work/why" 2>&1

# --- without systemd, and with procd ---

fresh
rm -r /run/systemd
state >"$work/without"
says 0 "there is neither systemd nor procd: start pamsd yourself, now and at each boot: pamsd &
$did
added a section \"paths\" to $conf: pamsd keeps an MPTCP endpoint for each link" up && pamsctl down >>"$work/why" 2>&1 && same "$work/without"
result "up without systemd: how to start pamsd"

mkdir -p /etc/init.d /etc/config
touch /etc/rc.common
cat >/etc/init.d/pamsd <<-END
	#!/bin/sh
	cd $own/run
	case \$1 in
	enabled) [ -e enabled ] ;;
	running) [ -e active ] ;;
	enable) touch enabled ;;
	disable) rm -f enabled ;;
	stop) rm -f active ;;
	restart) ! grep -qs enabled=1 /etc/config/pamsd || touch active ;;
	esac
END
# NAME=VALUE, one a line
cat >"$bin/uci" <<-'END'
	#!/bin/sh
	[ "$1" != -q ] || shift
	f=/etc/config/pamsd
	case $1 in
	show) sed -n "/^$2[=.]/p" $f ;;
	get) grep -q "^$2=" $f && sed -n "s/^$2=//p" $f ;;
	set) sed -i "/^${2%%=*}=/d" $f; echo "$2" >>$f ;;
	delete) sed -i "/^$2[=.]/d" $f ;;
	esac
END
chmod +x /etc/init.d/pamsd "$bin/uci"
procd()
{
	fresh
	rm -rf /run/systemd /etc/modules.d /etc/mptcp-pams
	printf 'pamsd.global=pamsd\npamsd.global.own_file=%s\npamsd.global.enabled=0\n' "$1" >/etc/config/pamsd
}
! pamsctl peers --control "$work/none" >"$work/why" 2>&1 && grep -q "service pamsd start\$" "$work/why"
result "how pamsd is started with procd"
pamsctl pair phone 192.0.2.1 >"$work/why" 2>&1 && grep -q "^# on OpenWrt, as here, write the same into /etc/config/pamsd; or" "$work/why"
result "pair: how to start pamsd with procd"
mkdir "$work/read"
pamsctl --json pair phone 192.0.2.1 | pamsctl pair --read server "$work/read" >"$work/why" 2>&1 &&
	grep -q "^now, as root: write the same into /etc/config/pamsd" "$work/why" && ! grep -q systemctl "$work/why"
result "pair --read: how to start pamsd with procd"
mv /sys/module/mptcp_pams /sys/module/other
[ -z "$installed" ] || mount -t tmpfs none /lib/modules
(cd /sys && "$bin/pamsctl" load --dry-run) >"$work/why" 2>&1
grep -q "no mptcp_pams.ko for this kernel: install kmod-mptcp-pams" "$work/why"
result "load: the package of the module with procd"
mv /sys/module/other /sys/module/mptcp_pams
[ -z "$installed" ] || umount /lib/modules
for own_file in 0 1 on; do
	procd $own_file
	sort /etc/config/pamsd >"$work/uci"
	state | grep -v /etc/config >"$work/without"
	pamsctl up >"$work/why" 2>&1 && [ -e "$own/run/enabled" ] && [ -e "$own/run/active" ] && grep -qx pamsd.global.enabled=1 /etc/config/pamsd &&
		[ -e /etc/mptcp-pams/up.json ] && [ "$(grep -cx 'pamsd.paths=paths' /etc/config/pamsd) $([ -e $conf ] && echo file)" = \
			"$([ $own_file = 0 ] && echo "1 " || echo "0 file")" ]
	result "up with procd, own_file $own_file"
	pamsctl up >"$work/why" 2>&1 && grep -q "^nothing to change" "$work/why"
	result "up again with procd, own_file $own_file"
	pamsctl down >"$work/why" 2>&1 && diff <(sort /etc/config/pamsd) "$work/uci" >>"$work/why" &&
		diff <(state | grep -v /etc/config) "$work/without" >>"$work/why"
	result "down with procd, own_file $own_file"
done
for option in "" pamsd.global.own_file=0; do
	procd 0
	: >/etc/config/pamsd
	pamsctl up >"$work/why" 2>&1 && grep -qx pamsd.global=pamsd /etc/config/pamsd
	[ -z "$option" ] || echo "$option" >>/etc/config/pamsd
	pamsctl down >>"$work/why" 2>&1 && diff /etc/config/pamsd <([ -z "$option" ] || printf 'pamsd.global=pamsd\n%s\n' "$option") >>"$work/why"
	result "down with procd: the section that up made, to which was added: '$option'"
done
rm -r /etc/rc.common /etc/config /etc/init.d /etc/modules.d 2>/dev/null

# --- kill -9 at each step ---

# Each call that changes something, and each wait for another program, is one at which it is killed. Another program goes on.
renames="rename renameat renameat2"
calls="write fsync fchown fchmod wait4 waitid $renames unlink unlinkat mkdir mkdirat rmdir"
killed() { (strace -qq -o "$work/strace" -e trace="$1" -e inject="$1:signal=KILL:when=$2" pamsctl "$3" >/dev/null 2>&1; [ $? = 137 ]) 2>/dev/null; }
# the state without the record, in which times differ
essence() { state | grep -vE '^calls$|/var/lib/mptcp-pams/up.json'; }

# each_call COMMAND BEGIN CALL...: looks, after what BEGIN makes, at each state in which COMMAND can be killed
each_call()
{
	local command=$1 begin=$2 call n bad=0

	shift 2
	: >"$work/count"
	for call; do
		for ((n = 1; n < 1000; n++)); do
			"after_$command" "$begin" "$call" $n
			case $? in
			1) echo "$command was killed at its ${n}th $call:"; cat "$work/log"; bad=1 ;;
			2) break ;;
			esac
			echo >>"$work/count"
		done
	done
	[ $bad = 0 ] && [ "$(wc -l <"$work/count")" -ge 3 ]
}

# all_is_up: up has come to its end
all_is_up()
{
	[ -e "$own/run/enabled" ] && [ -e "$own/run/active" ] && [ -z "$(find /etc /var/lib -name '*.pamsctl-new')" ] &&
		grep -qx 'net.mptcp.scheduler = minfct' $sysctl && grep -qx 'paths { }' $conf && grep -q '"complete": true' $record &&
		[ "$(head -n 1 /proc/sys/net/mptcp/scheduler)" = minfct ] && tail -n 1 "$own/run/calls" | grep -q restart
}

after_up()
{
	"$1"
	essence >"$work/start"
	killed "$2" "$3" up || return 2
	if ! pamsctl down >"$work/log" 2>&1 || ! diff <(essence) "$work/start" >>"$work/log"; then return 1; fi
	killed "$2" "$3" up
	if ! pamsctl up >"$work/log" 2>&1 || ! all_is_up; then return 1; fi
	pamsctl down >>"$work/log" 2>&1 && diff <(essence) "$work/start" >>"$work/log"
}

after_down()
{
	"$1"
	essence >"$work/start"
	pamsctl up >/dev/null 2>&1
	killed "$2" "$3" down || return 2
	pamsctl down >"$work/log" 2>&1 && diff <(essence) "$work/start" >>"$work/log"
}

if strace -o /dev/null true 2>"$work/why"; then
	for begin in fresh with_files; do
		[ $begin = fresh ] && these=$calls || these=$renames
		# shellcheck disable=SC2086 # a list of words
		each_call up $begin $these >"$work/why"
		result "up, killed at each call: up completes it, down undoes it ($begin)"
		# shellcheck disable=SC2086
		each_call down $begin $these >"$work/why"
		result "down, killed at each call: down completes it ($begin)"
		echo "# killed $(wc -l <"$work/count") times"
	done
else
	nr=$((nr + 1))
	echo "ok $nr - up, killed at each call # SKIP no process may be traced here: $(head -n 1 "$work/why")"
fi

# shellcheck source=gateway.sh
. selftests/pamsctl/gateway.sh
