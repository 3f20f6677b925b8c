#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Installs the Debian packages that a task needs and the machine lacks, with
# apt-get, as root or through sudo. Debian 12 and 13.
#
#   tools/setup.sh GROUP...
#
#   build   the module for the running kernel (headers are asked for by name)
#   unit    the number tests alone
#   demo    make demo alone
#   um      the laboratory's user-mode kernel, and to run it
#   stock   Debian's stock kernels in a chroot, and to boot them
#   cross   kernels of other architectures, likewise
#   tools   pamsd, pamsctl, pams-predict and pamsplit
#   upstream  what the kernel's own MPTCP selftests call
#   package the Debian packages
#   package-check  their tests
#   apt-repo  a signed repository of them
#   check   the style gate, all tests on numbers and the fuzzers

set -eu

packages_build='make gcc python3'
packages_unit="$packages_build libc6-dev libubsan1"
packages_demo="$packages_build libc6-dev flex bison bc pahole libelf-dev xz-utils perl
	iproute2 ethtool kmod pkgconf libnl-3-dev libnl-genl-3-dev
	libevent-dev libconfuse-dev libjansson-dev libsodium-dev libncurses-dev libkmod-dev
	libmnl-dev libnetfilter-queue-dev libnftables-dev libseccomp-dev"
packages_um="$packages_build flex bison bc pahole libelf-dev libssl-dev xz-utils
	patch perl libc6-dev iproute2 ethtool procps kmod nftables tcpdump
	iperf3 mptcpize python3-matplotlib pkg-config libnl-3-dev"
packages_stock="$packages_build debootstrap debian-archive-keyring qemu-system-x86 cpio gzip xz-utils
	libc6-dev"
packages_cross="$packages_stock qemu-system-arm"
packages_tools="$packages_build pkg-config libc6-dev libnl-3-dev libnl-genl-3-dev
	libevent-dev libconfuse-dev libjansson-dev
	libsodium-dev libncurses-dev libkmod-dev libexpat1-dev
	libmnl-dev libnetfilter-queue-dev libnftables-dev libseccomp-dev
	libbpf-dev libdbus-1-dev"
packages_upstream="$packages_um iptables iputils-ping"
# Debian 12's qemu-user can only be used in a root of its own if it is static.
if grep -qs '^VERSION_ID="12"' /etc/os-release; then
	qemu_user="qemu-user-static binfmt-support"
else
	qemu_user=qemu-user-binfmt
fi
packages_package="git xz-utils debootstrap debian-archive-keyring"
packages_package_check="$packages_package e2fsprogs kmod $qemu_user"
packages_apt_repo="reprepro gnupg"
packages_check="$packages_unit ccache git sparse perl
	python3-yaml python3-jsonschema python3-prometheus-client clang libclang-rt-dev bash-completion man-db
	busybox musl-tools dbus-daemon strace zsh fish zstd lz4 nix-bin"

fail() {
	echo "setup: $*" >&2
	exit 1
}

as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo > /dev/null; then
		sudo -- "$@"
	else
		fail "installing packages needs root: run as root, or install sudo"
	fi
}

groups="build, unit, demo, um, stock, cross, tools, upstream, package, package-check, apt-repo or check"
[ $# -gt 0 ] || fail "which group? $groups"
command -v apt-get > /dev/null ||
	fail "no apt-get here: install the equivalents of the packages listed in $0 by hand"

wanted=
for group in "$@"; do
	case $group in
	build) wanted="$wanted $packages_build" ;;
	demo) wanted="$wanted $packages_demo" ;;
	um) wanted="$wanted $packages_um" ;;
	stock) wanted="$wanted $packages_stock" ;;
	cross) wanted="$wanted $packages_cross" ;;
	tools) wanted="$wanted $packages_tools" ;;
	upstream) wanted="$wanted $packages_upstream" ;;
	package) wanted="$wanted $packages_package" ;;
	package-check) wanted="$wanted $packages_package_check" ;;
	apt-repo) wanted="$wanted $packages_apt_repo" ;;
	unit) wanted="$wanted $packages_unit" ;;
	check) wanted="$wanted $packages_check" ;;
	*) fail "group '$group' is unknown: $groups" ;;
	esac
done

missing=
for package in $wanted; do
	case " $missing " in *" $package "*) continue ;; esac
	state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null) ||
		state=absent
	[ "$state" = installed ] || missing="$missing $package"
done

if [ -z "$missing" ]; then
	echo "setup: every package is there" >&2
	exit 0
fi

# stay_heard - a line every nine seconds, so that nobody takes the installation
# for stuck; it ends when it is told to, or this script has ended
stay_heard() {
	trap exit TERM
	begin=$(date +%s)
	ticks=0
	while kill -0 $$ 2> /dev/null; do
		sleep 1
		ticks=$((ticks + 1))
		[ $((ticks % 9)) != 0 ] ||
			echo "setup: still installing, $(($(date +%s) - begin)) s" >&2
	done
}

# apt WORD... - apt-get, again and again for ten minutes while another one is at
# work, as on a system that was just started and updates itself
apt() {
	tries=0
	until why=$(as_root env LC_ALL=C DEBIAN_FRONTEND=noninteractive DEBCONF_NOWARNINGS=yes \
		apt-get -qq "$@" 2>&1 > /dev/null); do
		case $why in
		*"Could not get lock"*) ;;
		*) tries=120 ;;
		esac
		[ "$tries" != 0 ] || echo "setup: another apt is at work, waiting for it" >&2
		[ "$tries" -lt 120 ] || { echo "$why" >&2; return 1; }
		tries=$((tries + 1))
		sleep 5
	done
	[ -z "$why" ] || echo "$why" >&2
}

echo "setup: installing$missing" >&2
stay_heard &
heard=$!
trap 'kill "$heard" 2> /dev/null; wait "$heard" || :' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
apt update || fail "apt-get could not update its lists"
# shellcheck disable=SC2086 # a list of words
apt install -y --no-install-recommends $missing ||
	fail "apt-get could not install$missing"
echo "setup: to take them away: sudo apt-get purge --autoremove$missing" >&2
