#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# What recipes/gateway.md claims, but doesn't let the reader type: gateway.sh CASE, on the machine that the page names.
set -eu
bogons="100.64.0.1 192.0.0.1 198.18.0.1 240.0.0.1"

case $1 in
systemd)	# here a user's systemd would put haproxy into a user namespace, which knows root alone, for its unit's /dev/log
	sudo mkdir -p /etc/systemd/system/haproxy.service.d
	printf '[Service]\nBindReadOnlyPaths=\n' | sudo tee /etc/systemd/system/haproxy.service.d/test.conf
	;;
confined)	# the master says that it is ready before its worker has given up root
	master=$(systemctl show -P MainPID haproxy)
	for _ in $(seq 50); do
		[ "$(ps -o user= --ppid "$master")" = root ] || break
		sleep 0.1
	done
	[ "$(ps -o user= --ppid "$master")" = haproxy ]
	[ "$(sudo readlink "/proc/$(pgrep -P "$master")/root")" = /var/lib/haproxy ]
	;;
bare)	# lan0 has no address yet, and pamsd's unit isn't locked up
	sudo ip address del 192.168.50.1/24 dev lan0
	sudo tee /etc/systemd/system/pamsd.service <<-END
		[Service]
		Type=notify
		ExecStartPre=/bin/mkdir -p /var/lib/pamsd
		ExecStart=/usr/local/sbin/pamsd
		RuntimeDirectory=pamsd
		[Install]
		WantedBy=basic.target
	END
	;;
powercut)	# as after one: the endpoint is gone, and haproxy starts before lan0 has its address
	units="mptcp-pams-lan mptcp-pams-gateway pamsd dnsmasq"
	# shellcheck disable=SC2086 # a list of words
	sudo systemctl stop $units haproxy
	sudo ip mptcp endpoint flush
	sudo systemctl start haproxy
	# shellcheck disable=SC2086
	sudo systemctl start $units
	for _ in $(seq 100); do
		! ip mptcp endpoint | grep 192.168.8.100 || exit 0
		sleep 0.1
	done
	exit 1
	;;
lease)	# what a device is offered that asks for an address
	python3 - <<-EOT
		import socket, struct
		mac = bytes.fromhex(open("/sys/class/net/eth0/address").read().replace(":", ""))
		asking = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		asking.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
		asking.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"eth0")
		asking.settimeout(30)
		asking.bind(("", 68))
		# discover, and the answer by broadcast
		asking.sendto(struct.pack("!4BIHH16x16s192x4s", 1, 1, 6, 0, 7, 0, 0x8000, mac, b"\x63\x82\x53\x63") + bytes([53, 1, 1, 55, 3, 1, 3, 6, 255]),
		              ("255.255.255.255", 67))
		offer = asking.recv(2000)
		address, at, options = socket.inet_ntoa(offer[16:20]), 240, {}
		while offer[at] != 255:
		    options[offer[at]] = offer[at + 2:at + 2 + offer[at + 1]]
		    at += 2 + offer[at + 1]
		router = socket.inet_aton("192.168.50.1")
		assert address.startswith("192.168.50.") and address != "192.168.50.1", address
		assert options[53] == b"\2" and options[3] == options[6] == router, options
	EOT
	;;
neighbour)	# on a link: this machine reaches the laptop, and isn't its router
	sudo ip netns add neighbour
	sudo ip link add eth1 type veth peer name eth0 netns neighbour
	sudo ip address add 192.168.9.1/24 dev eth1
	sudo ip link set eth1 up
	sudo ip -n neighbour address add 192.168.9.2/24 dev eth0
	sudo ip -n neighbour link set eth0 up
	sudo ip -n neighbour route add default via 192.168.9.1
	curl -sfo page --retry 30 --retry-connrefused --retry-delay 1 http://192.168.50.2:8081/
	sudo ip netns exec neighbour ping -c 1 192.168.9.1
	! sudo ip netns exec neighbour curl -so page -m 5 http://192.168.50.2:8081/ || exit 1
	sudo ip netns del neighbour
	;;
six)	# refused, not lost: curl ends with 7, not with 28, and UDP is told
	sudo ip address add 2001:db8:50::2/64 dev eth0 nodad
	sudo ip -6 route add default via 2001:db8:50::1
	status=0
	curl -s -m 10 'http://[2001:db8:80::80]/file' || status=$?
	[ "$status" = 7 ]
	python3 - <<-EOT
		import socket
		udp = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
		udp.settimeout(10)
		udp.connect(("2001:db8:80::80", 443))
		udp.send(b"QUIC")
		try:
		    udp.recv(100)
		    raise SystemExit("answered")
		except PermissionError:
		    pass
	EOT
	;;
down)	# all of it is gone; the module stays, as the server's listening socket has it
	sudo pamsctl down 2>&1 | tee said
	grep '^pamsctl: ' said | grep -v 'the module mptcp_pams is in use' && exit 1
	[ "$(cat /proc/sys/net/ipv4/ip_forward)" = 0 ]
	[ -z "$(sudo nft list tables)" ]
	[ -z "$(find /etc/mptcp-pams /etc/systemd/system /etc/dnsmasq.d /etc/sysctl.d /etc/modules-load.d -name '*mptcp-pams*' 2>/dev/null)" ]
	! ip -4 -brief address show dev lan0 | grep 192.168.50.1
	;;
own)	# what only the server itself may reach: its loopback addresses, and what its provider has in the ranges for such
	for address in $bogons; do
		sudo ip address add "$address/32" dev lo
	done
	mkdir own
	echo own >own/page
	for address in 127.0.0.1 $bogons; do
		setsid python3 -m http.server -d own --bind "$address" 8081 >/dev/null 2>&1 &
		curl -s --retry 30 --retry-connrefused --retry-delay 1 "http://$address:8081/page" | grep -x own
	done
	;;
disguised)	# the address 0.0.0.0, which the kernel wouldn't let out
	sudo nft 'table ip other {
		chain there { type filter hook postrouting priority 0
			ip daddr 198.51.100.98 ip daddr set 198.51.100.80
			ip daddr 198.51.100.99 ip daddr set 0.0.0.0
		}
		chain back { type filter hook prerouting priority -300
			ip saddr 198.51.100.80 ip saddr set 198.51.100.98
			ip saddr 0.0.0.0 ip saddr set 198.51.100.99
		}
	}'
	curl -sI -m 10 http://198.51.100.98/file | grep '200 OK'
	! curl -sf -m 10 http://198.51.100.99:8081/page
	;;
reached)	# whoever has the gateway's key asks the server itself
	sudo python3 - <<-EOT
		import socket, ssl
		tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
		tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
		tls.load_cert_chain("/etc/haproxy/gateway.pem")
		def ask(address, port, page):
		    plain = socket.create_connection(("203.0.113.5", 12346), timeout=10)
		    plain.sendall(f"PROXY TCP4 192.168.50.2 {address} 40000 {port}\r\n".encode())
		    try:
		        server = tls.wrap_socket(plain)
		        server.sendall(f"HEAD /{page} HTTP/1.0\r\n\r\n".encode())
		        return server.recv(1000)
		    except OSError:
		        return b""
		assert b"200 OK" in ask("198.51.100.80", 80, "file")
		reached = [address for address in "0.0.0.0 127.0.0.1 $bogons".split() if ask(address, 8081, "page")]
		assert not reached, reached
	EOT
	;;
*)
	exit 2
	;;
esac
