# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154 # work, own and the functions of run and up.sh, which sources this file last
# pamsctl up --gateway, with the copies of up.sh. What its rules do to packets: selftests/recipes, gateway.md.

# Of each unit there are files: UNIT.unit, UNIT.enabled and UNIT.active.
cat >"$bin/systemctl" <<-END
	#!/bin/sh
	cd $own/run
	unit=\$3
	[ "\$1" != show ] || unit=\$6
	unit=\${unit%.service}
	case "\$1 \$3" in
	"show LoadState") [ -e \$unit.unit ] || [ -e /etc/systemd/system/\$unit.service ] && echo loaded || echo not-found ;;
	"show UnitFileState") [ -e \$unit.enabled ] && echo enabled || echo disabled ;;
	"show ActiveState") [ -e \$unit.active ] && echo active || { [ -e \$unit.failed ] && echo failed || echo inactive; } ;;
	*)
		[ ! -e kills ] || [ "\$1 \$unit" != "\$(cat kills)" ] || { rm kills; kill -9 \$PPID; exit; }
		echo "\$1 \$unit" >>calls
		[ ! -e fails ] || [ "\$1 \$unit" != "\$(cat fails)" ] || { rm -f fails \$unit.active; touch \$unit.failed; echo "Job for \$unit failed." >&2; exit 1; }
		case \$1 in
		enable) touch \$unit.enabled ;;
		disable) rm \$unit.enabled ;;
		restart) touch \$unit.active; rm -f \$unit.failed ;;
		stop) rm \$unit.active ;;
		esac ;;
	esac
END
printf '#!/bin/sh\n' >"$bin/nft"
chmod +x "$bin/nft"
ip link add lan0 type veth peer name wan0
ip link add br0 type bridge
ip link add port0 master br0 type veth peer name peer0
ip link add br-lan type bridge
for device in lan0 wan0 br0 port0; do
	ip link set $device up
done
ip address add 192.168.8.100/24 dev wan0
ip route add default via 192.168.8.1 dev wan0

# gateway_fresh [UNIT...]: nobody has said up, and these services run
gateway_fresh()
{
	local unit

	fresh
	rm -rf /etc/mptcp-pams /etc/systemd /etc/dnsmasq.d /etc/NetworkManager
	mkdir -p /etc/default /etc/systemd/system /etc/systemd/network /etc/dnsmasq.d /etc/NetworkManager/conf.d
	touch /etc/default/dnsmasq
	for unit in pamsd "$@"; do
		touch "$own/run/$unit.unit"
	done
	for unit; do
		touch "$own/run/$unit.active"
	done
	ip address flush dev lan0
	echo 0 >/proc/sys/net/ipv4/ip_forward
}
gateway_state()
{
	state | grep -vE '^calls$|\.failed$|/up.json'
	find /etc/mptcp-pams /etc/systemd /etc/dnsmasq.d /etc/NetworkManager -type f -exec sha256sum {} + 2>/dev/null | sort
	cat /proc/sys/net/ipv4/ip_forward
}
gateway_same() { gateway_state | diff "$1" - >>"$work/why"; }

lans="made this the gateway of lan0, 192.168.50.1: its TCP goes to a proxy at port 12345, UDP out through one link, its IPv6 is refused"
rules="wrote /etc/sysctl.d/90-mptcp-pams-gateway.conf
$lans
wrote /etc/mptcp-pams/gateway.nft
wrote /etc/systemd/system/mptcp-pams-gateway.service
started mptcp-pams-gateway.service, now and at each boot"
dhcp="wrote /etc/dnsmasq.d/mptcp-pams
restarted dnsmasq.service"
no_dhcp="the LAN has no DHCP from here: install dnsmasq and repeat this, or set its devices up with the router 192.168.50.1"

refused 2 "option '--no-dhcp' needs --gateway" up --no-dhcp
refused 2 "options '--gateway' and '--server' don't go together" up --gateway lan0 --server
refused 2 "option '--gateway' is not one of pamsctl down" down --gateway lan0

gateway_fresh
fails 2 "'=192.168.50.1/24' isn't INTERFACE or INTERFACE=ADDRESS/LENGTH" --gateway =192.168.50.1/24
fails 2 "'a\"b' can't be a gateway's interface: letters, digits and ._- only" --gateway 'a"b'
fails 2 "'192.168.50.1' lacks the network's length, as 192.168.50.1/24" --gateway lan0=192.168.50.1
fails 2 "'192.168.50.1/24x' lacks the network's length, as 192.168.50.1/24" --gateway lan0=192.168.50.1/24x
fails 2 "'here' isn't ADDRESS/LENGTH, as 192.168.50.1/24" --gateway lan0=here
fails 2 "the LAN's address is one of IPv4, as 192.168.50.1/24" --gateway lan0=fd00::1/64
fails 1 "there is no interface lan9" --gateway lan9
fails 1 "lo leads to no LAN" --gateway lo
fails 1 "port0 is a port of a bridge or bond: give that one's name" --gateway port0
fails 1 "wan0 has a default route: it is a link, and the LAN is another interface, or a VLAN's" --gateway wan0
fails 1 "lan0 has no IPv4 address: give it one by --gateway lan0=192.168.50.1/24" --gateway lan0
fails 1 "192.168.9.1/20 overlaps with 192.168.8.100/24 of wan0: give the LAN another network" --gateway lan0=192.168.9.1/20
fails 1 "203.0.113.1 isn't a private address, as 192.168.50.1 is" --gateway lan0=203.0.113.1/24
fails 1 "192.168.50.0 is no device's address in a /24" --gateway lan0=192.168.50.0/24
fails 1 "192.168.50.255 is no device's address in a /24" --gateway lan0=192.168.50.255/24
fails 1 "192.168.50.1/30: the length of a LAN's network is 16 to 29" --gateway lan0=192.168.50.1/30
ip address add 192.168.50.2/24 dev lan0
fails 1 "lan0 has the address 192.168.50.2/24: take that one away, or say --gateway lan0" --gateway lan0=192.168.50.1/24
printf '#!/bin/sh\nexit 127\n' >"$bin/nft"
fails 1 "there is no nft, which loads the packet rules: install the package nftables" --gateway lan0
printf '#!/bin/sh\n' >"$bin/nft"
touch /etc/rc.common
mkdir -p /etc/config /etc/init.d
touch /etc/config/pamsd
ln -s /bin/true /etc/init.d/pamsd
fails 1 "--gateway isn't for OpenWrt: its own settings of network, firewall and DHCP make it a gateway" --gateway lan0
rm -rf /etc/rc.common /etc/config /etc/init.d /etc/mptcp-pams
rm -r /run/systemd
fails 1 "--gateway needs systemd" --gateway lan0

# The LAN has its address, and dnsmasq is there.
gateway_fresh dnsmasq
ip address add 192.168.50.1/24 dev lan0
gateway_state >"$work/before"
says 0 "$(sed 's/^chose/would choose/; s/^wrote/would write/; s/^added/would add/; s/^enabled/would enable/; s/^started/would start/; s/^made/would make/
	s/^restarted/would restart/' <<<"$all
$rules
$dhcp")" up --gateway lan0 --dry-run && gateway_same "$work/before"
result "up --gateway --dry-run: what it would do"
says 0 "$all
$rules
$dhcp" up --gateway lan0
result "up --gateway: what it did"
gateway_state >"$work/gateway"
[ "$(</proc/sys/net/ipv4/ip_forward) $(grep -v '^#' /etc/sysctl.d/90-mptcp-pams-gateway.conf)" = "1 net.ipv4.ip_forward = 1" ] &&
	grep -qx "dhcp-range=192.168.50.1,192.168.50.254,12h" /etc/dnsmasq.d/mptcp-pams && grep -qx interface=lan0 /etc/dnsmasq.d/mptcp-pams &&
	grep -q 'iifname "lan0" meta l4proto tcp .* dnat ip to 192.168.50.1:12345$' /etc/mptcp-pams/gateway.nft &&
	[ "$(tail -n 3 "$own/run/calls" | xargs)" = "enable mptcp-pams-gateway restart mptcp-pams-gateway restart dnsmasq" ] &&
	[ ! -e /etc/systemd/system/mptcp-pams-lan.service ]
result "up --gateway: its files, and what is told"
says 0 "$nothing" up --gateway lan0 && says 0 "$nothing" up --gateway lan0=192.168.50.1/24 && says 0 "$nothing" up && gateway_same "$work/gateway"
result "up --gateway again, and up: nothing"
for other in wan0 lan0=192.168.50.1/25 "lan0 --no-dhcp"; do
	# shellcheck disable=SC2086 # words
	fails 1 "this is the gateway of lan0, 192.168.50.1/24 with DHCP, already: pamsctl down first" --gateway $other
done
echo 0 >/proc/sys/net/ipv4/ip_forward
rm /etc/mptcp-pams/gateway.nft "$own/run/mptcp-pams-gateway.enabled"
says 0 "${nothing%nothing to change*}$lans
wrote /etc/mptcp-pams/gateway.nft
started mptcp-pams-gateway.service, now and at each boot" up && gateway_same "$work/gateway"
result "up mends the gateway of the record"
printf '#!/bin/sh\n[ %s != list ]\n' "\$1" >"$bin/nft"
says 0 "${nothing%nothing to change*}started mptcp-pams-gateway.service, now and at each boot" up
result "up loads rules that were flushed"
printf '#!/bin/sh\n' >"$bin/nft"
says 0 "removed /etc/dnsmasq.d/mptcp-pams
stopped mptcp-pams-gateway.service
removed /etc/systemd/system/mptcp-pams-gateway.service
removed /etc/mptcp-pams/gateway.nft
stopped forwarding IPv4
removed /etc/sysctl.d/90-mptcp-pams-gateway.conf
$(head -n -2 <<<"$undone")
restarted dnsmasq.service
$(tail -n 2 <<<"$undone")" down && gateway_same "$work/before"
result "down: all of a gateway is as it was"

# up gives the address, whatever manages the other interfaces; forwarding was on
gateway_fresh systemd-networkd NetworkManager
echo 1 >/proc/sys/net/ipv4/ip_forward
gateway_state >"$work/before"
says 0 "$no_dhcp
$all
wrote /etc/systemd/network/10-mptcp-pams-lan.network
restarted systemd-networkd.service
wrote /etc/NetworkManager/conf.d/mptcp-pams-lan.conf
reloaded NetworkManager.service
wrote /etc/systemd/system/mptcp-pams-lan.service
started mptcp-pams-lan.service, now and at each boot
$rules" up --gateway lan0=192.168.50.1/24
result "up --gateway with an address: what it did"
grep -qx 'ExecStart=ip address replace 192.168.50.1/24 dev lan0' /etc/systemd/system/mptcp-pams-lan.service &&
	grep -qx 'unmanaged-devices+=interface-name:lan0' /etc/NetworkManager/conf.d/mptcp-pams-lan.conf &&
	grep -qx 'WantedBy=multi-user.target' /etc/systemd/system/mptcp-pams-lan.service &&
	[ "$(grep -vE '^(#|$)' /etc/systemd/network/10-mptcp-pams-lan.network | xargs)" = "[Match] Name=lan0 [Link] Unmanaged=yes" ]
result "up --gateway with an address: who sets it, and who does not"
ip address add 192.168.50.1/24 dev lan0
says 0 "$no_dhcp
$nothing" up --gateway lan0=192.168.50.1/24
result "up --gateway with an address again: nothing"
ip address flush dev lan0
says 0 "$no_dhcp
${nothing%nothing to change*}started mptcp-pams-lan.service, now and at each boot" up
result "up gives the address again that somebody took away"
ip address add 192.168.50.1/24 dev lan0
touch "$own/run/dnsmasq.unit"
says 0 "${nothing%nothing to change*}$dhcp" up
result "up adds DHCP once dnsmasq is there"
echo "# mine" >>/etc/mptcp-pams/gateway.nft
says 0 "left /etc/mptcp-pams/gateway.nft: it was changed since
$nothing" up
result "up leaves rules that were changed since"
pamsctl down >"$work/why" 2>&1 && grep -qx "left /etc/mptcp-pams/gateway.nft: it was changed since" "$work/why" &&
	grep -qx "# mine" /etc/mptcp-pams/gateway.nft && rm -r /etc/mptcp-pams && rm "$own"/run/dnsmasq.* && gateway_same "$work/before"
result "down: a gateway with an address, and forwarding stays on"

# At a restart NetworkManager doesn't make what it is told to leave alone.
gateway_fresh NetworkManager
fails 1 "br-lan is a bridge, which NetworkManager may make at each boot: give it its address there (ipv4.method manual), then --gateway br-lan" \
	--gateway br-lan=192.168.50.1/24

# Arch's dnsmasq has a folder that it doesn't read.
gateway_fresh dnsmasq
rm /etc/default/dnsmasq
says 0 "the LAN has no DHCP from here: add conf-dir=/etc/dnsmasq.d to /etc/dnsmasq.conf, and repeat this
$all
wrote /etc/systemd/system/mptcp-pams-lan.service
started mptcp-pams-lan.service, now and at each boot
$rules" up --gateway lan0=192.168.50.1/24
result "up --gateway: dnsmasq reads no folder"
ip address add 192.168.50.1/24 dev lan0
echo conf-dir=/etc/dnsmasq.d/,*.conf >/etc/dnsmasq.conf
says 0 "${nothing%nothing to change*}$dhcp" up
result "up --gateway: dnsmasq reads its folder"
rm /etc/dnsmasq.conf
pamsctl down >"$work/why" 2>&1

gateway_fresh systemd-udevd
pamsctl up --gateway br-lan=192.168.50.1/24 >"$work/why" 2>&1 &&
	[ "$(grep -cE '^(BindsTo|After|WantedBy)=sys-subsystem-net-devices-br\\x2dlan\.device$' /etc/systemd/system/mptcp-pams-lan.service)" = 3 ]
result "up --gateway with udev: the interface's unit starts the address"
pamsctl down >"$work/why" 2>&1

# what others set up: firewalls, a dnsmasq for all networks, containers
gateway_fresh dnsmasq firewalld
ip address add 192.168.50.1/24 dev lan0
echo "dhcp-range=192.168.70.2,192.168.70.9" >/etc/dnsmasq.d/others
on="is on: it has to let TCP port 12345, DHCP and DNS in from lan0, and forward what comes from there"
serves() { grep -v "^#" /etc/dnsmasq.d/mptcp-pams | xargs; }
says 0 "firewalld $on
$all
$rules
$dhcp" up --gateway lan0 && [ "$(serves)" = "dhcp-range=192.168.50.1,192.168.50.254,12h" ]
result "up --gateway beside firewalld, and a dnsmasq that serves others"
pamsctl down >"$work/why" 2>&1
gateway_fresh dnsmasq
ip address add 192.168.50.1/24 dev lan0
printf 'dhcp-range=192.168.70.2,192.168.70.9\ninterface=wlan0\n' >/etc/dnsmasq.d/others
mkdir -p /etc/ufw
echo "ENABLED=yes" >/etc/ufw/ufw.conf
says 0 "ufw $on
$all
$rules
$dhcp" up --gateway lan0 && [ "$(serves)" = "interface=lan0 bind-dynamic dhcp-range=192.168.50.1,192.168.50.254,12h" ]
result "up --gateway beside ufw, and a dnsmasq that serves one interface"
rm -r /etc/ufw
echo bind-interfaces >/etc/dnsmasq.d/others
says 0 "${nothing%nothing to change*}$dhcp" up && [ "$(serves)" = "interface=lan0 dhcp-range=192.168.50.1,192.168.50.254,12h" ]
result "up after dnsmasq was told to bind"
echo server=192.0.2.1 >/etc/dnsmasq.d/others
says 0 "${nothing%nothing to change*}$dhcp" up && [ "$(serves)" = "interface=lan0 bind-dynamic dhcp-range=192.168.50.1,192.168.50.254,12h" ]
result "up again narrows what it had narrowed"
echo "net/ipv4/ip_forward=1" >/etc/sysctl.d/99-vpn.conf
pamsctl down >"$work/why" 2>&1 && grep -qx "left net.ipv4.ip_forward = 1, which sysctl.d may need" "$work/why" && [ "$(</proc/sys/net/ipv4/ip_forward)" = 1 ]
result "down: forwarding stays on where a file sets it"
gateway_fresh
ip address add 192.168.50.1/24 dev lan0
pamsctl up --gateway lan0 >"$work/why" 2>&1
ip address add 172.17.0.1/16 dev br0
pamsctl down >"$work/why" 2>&1 && grep -qx "left net.ipv4.ip_forward = 1, which br0 may need" "$work/why" && [ "$(</proc/sys/net/ipv4/ip_forward)" = 1 ]
result "down: forwarding stays on where a bridge leads to containers"
ip address flush dev br0

gateway_fresh dnsmasq
ip address add 192.168.50.1/24 dev lan0
says 0 "$all
$rules" up --gateway lan0 --no-dhcp && [ ! -e /etc/dnsmasq.d/mptcp-pams ] && says 0 "$nothing" up
result "up --gateway --no-dhcp"
pamsctl down >"$work/why" 2>&1

# A unit that doesn't start: what was done is undone.
gateway_fresh dnsmasq
ip address add 192.168.50.1/24 dev lan0
for call in "enable mptcp-pams-gateway" "restart mptcp-pams-gateway" "restart dnsmasq"; do
	gateway_state >"$work/before"
	echo "$call" >"$own/run/fails"
	! pamsctl up --gateway lan0 >"$work/why" 2>&1 && [ ! -e "$own/run/fails" ] &&
		grep -qx "pamsctl: up: systemctl $call.service fails: Job for .* failed.: journalctl -u ${call#* }.service" "$work/why" &&
		gateway_same "$work/before"
	result "up --gateway where systemctl fails: $call"
done
# So it is where the first call did its work, and a later one fails that makes its files anew: the units go on.
pamsctl up --gateway lan0 >"$work/why" 2>&1
rm /etc/mptcp-pams/gateway.nft /etc/dnsmasq.d/mptcp-pams
gateway_state >"$work/before"
for call in "restart mptcp-pams-gateway" "restart dnsmasq"; do
	echo "$call" >"$own/run/fails"
	! pamsctl up >"$work/why" 2>&1 && [ ! -e "$own/run/fails" ] && gateway_state | grep -v '^dnsmasq.active$' >"$work/after" &&
		grep -v '^dnsmasq.active$' "$work/before" | diff - "$work/after" >>"$work/why" && [ "$(tail -n 1 "$own/run/calls")" = "restart mptcp-pams-gateway" ]
	result "up again, where systemctl fails: $call"
done
pamsctl up >"$work/why" 2>&1 && pamsctl down >>"$work/why" 2>&1
# The adapter is unplugged, and systemd has stopped what is bound to it.
gateway_fresh dnsmasq
pamsctl up --gateway lan0=192.168.50.1/24 >"$work/why" 2>&1
rm -f "$own/run/mptcp-pams-lan.active"
ip link set lan0 name lan1
echo "restart mptcp-pams-lan" >"$own/run/fails"
says 0 "lan0 isn't there: it gets its address when it comes
$nothing" up && [ -e "$own/run/mptcp-pams-lan.enabled" ]
result "up again while the LAN's adapter is unplugged"
rm -f "$own/run/fails"
ip link set lan1 name lan0
ip link set lan0 up
pamsctl down >"$work/why" 2>&1
# Killed: down undoes it, and another up completes it.
for call in "enable pamsd" "restart pamsd" "enable mptcp-pams-gateway" "restart mptcp-pams-gateway" "restart dnsmasq"; do
	for next in down up; do
		gateway_fresh dnsmasq
		ip address add 192.168.50.1/24 dev lan0
		gateway_state >"$work/before"
		echo "$call" >"$own/run/kills"
		(pamsctl up --gateway lan0 >"$work/why" 2>&1; [ $? = 137 ]) 2>/dev/null && pamsctl $next >>"$work/why" 2>&1 &&
			{ [ $next = down ] || { gateway_same "$work/gateway" && pamsctl down >>"$work/why" 2>&1; }; } && gateway_same "$work/before"
		result "up --gateway, killed at $call, and $next"
	done
done
