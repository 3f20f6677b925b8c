#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# pamsd on both machines, as recipes/reports.md sets it up, and a transfer between them, for pages that begin there:
#
#	pamsd.sh server [PEER]				PEER: more of the section peer
#	pamsd.sh phone INTERFACES IPERF3-OPTION...	INTERFACES: the sections interface
set -eu

pamsd_runs() {
	sudo mkdir -p /run/pamsd
	sudo sh -c 'pamsd >/var/log/pamsd.log 2>&1 &'
}

sudo modprobe mptcp_pams
sudo mkdir -p /etc/pamsd
case $1 in
server)
	sudo sysctl -w net.mptcp.scheduler=pams
	mptcpize run iperf3 -s -D
	sudo sh -c 'umask 077; pamsd --genkey >/etc/pamsd/phone.key'
	sudo install -m 644 /etc/pamsd/phone.key /mnt
	echo "server { peer \"phone\" { key-file = \"/etc/pamsd/phone.key\" ${2-} } }" | sudo tee /etc/pamsd/pamsd.conf
	pamsd_runs
	;;
phone)
	sudo install -m 600 /mnt/phone.key /etc/pamsd/phone.key
	sudo ip mptcp endpoint add 192.168.2.20 dev wlan0 subflow
	sudo tee /etc/pamsd/pamsd.conf <<-EOT
		reporter {
			to "server" { address = "203.0.113.5" key-file = "/etc/pamsd/phone.key" via = {"eth0", "wlan0"} }
			$2
		}
	EOT
	pamsd_runs
	shift 2
	mptcpize run iperf3 -c 203.0.113.5 -t 600 "$@" >/dev/null 2>&1 &
	;;
*)
	exit 2
	;;
esac
