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
confined)
	master=$(systemctl show -P MainPID haproxy)
	[ "$(ps -o user= --ppid "$master")" = haproxy ]
	[ "$(sudo readlink "/proc/$(pgrep -P "$master")/root")" = /var/lib/haproxy ]
	;;
powercut)	# as after one: the endpoint is gone, and haproxy starts before lan0 has its address
	sudo ip mptcp endpoint flush
	sudo ip address del 192.168.50.1/24 dev lan0
	sudo systemctl restart haproxy
	sudo ip address add 192.168.50.1/24 dev lan0
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
