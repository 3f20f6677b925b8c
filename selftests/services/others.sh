# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2086 # $work is a name without spaces, of play
# pamsd's paths beside those who configure links: NetworkManager, which makes endpoints itself, and systemd-networkd, which
# takes away rules that it doesn't know. Sourced by play.
#
#	this machine  dsl0 10.44.0.x --- internet, 10.44.0.1, DHCP
#	this machine  lte0 10.44.1.x --- internet, 10.44.1.1, DHCP

links=(dsl0 lte0)

# serve FIRST: DHCP on both links, whose pools begin there
serve()
{
	local name i=0 options=() before

	for name in "${links[@]}"; do
		options+=(--interface="isp$i" --dhcp-range="10.44.$i.$1,10.44.$i.$(($1 + 9)),120")
		i=$((i + 1))
	done
	if [ -e $work/dnsmasq.pid ]; then
		before=$(cat $work/dnsmasq.pid)
		kill "$before"
		within 50 has_ended "$before"
	fi
	rm -f $work/leases
	on internet dnsmasq --conf-file=/dev/null --port=0 --user=root --no-ping --dhcp-authoritative --dhcp-leasefile=$work/leases \
		--pid-file=$work/dnsmasq.pid --log-facility=$work/dnsmasq.log "${options[@]}"
}
has_ended() { [ ! -e "/proc/$1" ]; }

two_links()
{
	local name i=0

	kill "$(pgrep -x networkmanager)"	# the stand-in
	for name in "${links[@]}"; do
		link pi "$name" internet "isp$i"
		address internet "isp$i" "10.44.$i.1/24"
		i=$((i + 1))
	done
	serve 20
	ip route del default dev wwan0
	printf 'paths { }\n' >/etc/pamsd/pamsd.conf
	pamsd --check /etc/pamsd/pamsd.conf
}

# Without udev devices count as ready if /sys can't be written, as in a container.
without_udev()
{
	mkdir -p "/etc/systemd/system/$1.service.d"
	printf '[Service]\nReadOnlyPaths=/sys\n' >"/etc/systemd/system/$1.service.d/udev.conf"
}

endpoints() { ip mptcp endpoint show | sed 's/ *$//'; }
at() { ip -4 -o address show dev "$1" | sed -nE 's|.* inet ([0-9.]+)/.*|\1|p'; }
# each address of the links has one endpoint, and no other address has
one_each()
{
	local name
	for name; do
		[ "$(endpoints | grep -c "^$(at "$name") .*dev $name")" = 1 ] || return 1
	done
	[ "$(endpoints | wc -l)" = $# ]
}
ours() { { ip rule show; ip route show table all; } | grep 'proto 173'; }
# rules and routes from these addresses, and no others
leads() { [ "$(ours | wc -l)" = $((5 * $#)) ] && leads_from "$@"; }
leads_from()
{
	local name
	for name; do
		ip route get 203.0.113.5 from "$(at "$name")" | grep -q "dev $name" || return 1
	done
}
settled() { within 100 one_each "$@" || fail "the endpoints: $(endpoints)"; within 50 leads "$@" || fail "rules and routes: $(ours)"; }
# ends: pamsd leaves rules and routes of nobody
ends() { systemctl stop pamsd; ! ours || fail "this is left"; }

networkmanager_has_endpoints()
{
	local name file

	two_links
	without_udev NetworkManager
	cat >/etc/NetworkManager/NetworkManager.conf <<-END
		[main]
		plugins=keyfile
		dns=none
		no-auto-default=*
		[keyfile]
		unmanaged-devices=*,except:interface-name:dsl0,except:interface-name:lte0
	END
	for name in "${links[@]}"; do
		file=/etc/NetworkManager/system-connections/$name.nmconnection
		printf '[connection]\nid=%s\ntype=ethernet\ninterface-name=%s\n[ipv4]\nmethod=auto\n[ipv6]\nmethod=disabled\n' "$name" "$name" >"$file"
		chmod 600 "$file"
	done
	systemctl daemon-reload
	systemctl start NetworkManager
	within 100 one_each "${links[@]}" || fail "$(nmcli device status; endpoints)"
	endpoints >$work/theirs
	systemctl start pamsd
	settled "${links[@]}"
	endpoints | diff $work/theirs -
	ends
	endpoints | diff $work/theirs -
}

networkmanager_comes_later()
{
	systemctl start pamsd
	nmcli connection down lte0
	settled dsl0
	nmcli connection up lte0
	settled "${links[@]}"
	ends
	one_each "${links[@]}" || fail "pamsd took away: $(endpoints)"
}

networkmanager_makes_none()
{
	nmcli connection modify lte0 connection.mptcp-flags disabled
	nmcli connection up lte0
	within 50 one_each dsl0 || fail "the endpoints: $(endpoints)"
	systemctl start pamsd
	settled "${links[@]}"
	nmcli connection up dsl0
	settled "${links[@]}"
	ends
	one_each dsl0 || fail "the endpoints: $(endpoints)"
}

# From pamsd's to NetworkManager's while both run.
networkmanager_makes_some_again()
{
	systemctl start pamsd
	settled "${links[@]}"
	nmcli connection modify lte0 connection.mptcp-flags default
	sleep 1
	nmcli connection up lte0
	settled "${links[@]}"
	ends
	one_each "${links[@]}" || fail "pamsd took away: $(endpoints)"
}

# renewed_to ADDRESS: the lease is renewed each minute, and then the server gives others, from that one on
renewed_to()
{
	local before

	systemctl start pamsd
	settled "${links[@]}"
	endpoints >$work/before
	before=$(acks)
	sleep 130
	[ "$(acks)" -ge $((before + 4)) ] || fail "not renewed: $(tail $work/dnsmasq.log)"
	endpoints | diff $work/before -
	serve "$1"
	sleep 130
	at dsl0 | grep "\.$(($1 / 10))[0-9]$" || fail "the address is the same"
	settled "${links[@]}"
	ends
}
acks() { grep -c DHCPACK $work/dnsmasq.log; }

renewals_of_networkmanager()
{
	renewed_to 60
	one_each "${links[@]}" || fail "pamsd took away: $(endpoints)"
	systemctl stop NetworkManager
}

# It takes away rules and routes that it doesn't know when it starts; pamsd makes them again.
networkd_takes_rules_away()
{
	local name

	ip mptcp endpoint flush
	without_udev systemd-networkd
	for name in "${links[@]}"; do
		ip address flush dev "$name"
		printf '[Match]\nName=%s\n[Network]\nDHCP=ipv4\nLinkLocalAddressing=no\nIPv6AcceptRA=no\n' "$name" >"/etc/systemd/network/$name.network"
	done
	systemctl daemon-reload
	systemctl start systemd-networkd pamsd
	settled "${links[@]}"
	endpoints >$work/before
	ip monitor rule >$work/rules &
	systemctl restart systemd-networkd
	sleep 5
	kill $!
	grep "^Deleted" $work/rules || fail "it takes nothing away now"
	[ "$(grep -c "^Deleted" $work/rules)" -lt 20 ] || fail "the two go on for ever: $(wc -l <$work/rules) changes"
	settled "${links[@]}"
	endpoints | diff $work/before -
	networkctl down lte0
	settled dsl0
	networkctl up lte0
	settled "${links[@]}"
	ends
	one_each || fail "this is left: $(endpoints)"
}

renewals_of_networkd()
{
	renewed_to 80
	one_each || fail "this is left: $(endpoints)"
}

# An adapter that leads to the LAN, and whose address is up's.
lan_is_plugged_in_again()
{
	systemctl start systemd-udevd
	plug_in
	pamsctl up --gateway lan-0=192.168.60.1/24
	has_lan_address
	ip link del lan-0
	within 100 lan_unit_is inactive
	plug_in
	within 100 has_lan_address
	lan_unit_is active
	pamsctl down
	if has_lan_address; then fail "down left the address"; fi
}
plug_in() { ip link add lan-0 type dummy; }
has_lan_address() { [ "$(at lan-0)" = 192.168.60.1 ]; }
lan_unit_is() { [ "$(systemctl show -p ActiveState --value mptcp-pams-lan)" = "$1" ]; }
