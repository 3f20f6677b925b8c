#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A station is driven out of its access point's range while a download runs over Wi-Fi and LTE: pams-predict sees the signal
# fall, pamsd reports, and the server's scheduler leaves the path in time. Nobody is told when that will be. The same drive with
# a page each second, which the client's pamsd lets begin elsewhere. The radios are those of mac80211_hwsim, which stock kernels
# of the generic flavour have.
#
#	client                                   access point                     server
#	10.0.2.1 wlan ~~~ radio, level falls ~~~ wlan a1 -- 25 to 5 Mbit/s 5 ms - s2
#	10.0.1.1 c1 ----------------- "LTE", 5 Mbit/s 25 ms --------------------- s1   10.0.0.2
#
# LTE's queue is one of 50 packets, 120 ms. A packet that TCP loses there, as CUBIC does when it is full, comes again behind that
# queue; what came over Wi-Fi meanwhile waits for it. With 100 packets that alone is a stall of 283 ms, predicted or not.
#
# The level follows the log-distance model of PLAMA (n = 3, -91 dBm at 70 m) at 13 m/s, in steps of 50 ms, with fading of 1.5 dB
# standard deviation, correlated over 200 ms. While it is below -91 dBm the two radios don't hear each other. The simulated radios
# have no rates of their own: the link behind the access point falls to 5 Mbit/s towards the end of the range.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

ap=pams-a-$$
further=("$ap")
predict=$PAMS_TOOLS/pams-predict
debug=/sys/kernel/debug/ieee80211
threshold_dbm=-91
step_ms=50

# --- radios ---

need_radios()
{
	modprobe -q mac80211_hwsim radios=2 || skip "this kernel has no mac80211_hwsim"
	mountpoint -q /sys/kernel/debug || mount -t debugfs debug /sys/kernel/debug
	local program
	for program in hostapd wpa_supplicant iw; do
		type -P "$program" >/dev/null || skip "no $program here"
	done
}

# take_radios: phys and links of the two, the access point's first
take_radios()
{
	local i=0 phy ns name

	for phy in /sys/class/ieee80211/*; do
		[ -e "$debug/${phy##*/}/hwsim" ] || continue
		ns=$ap
		[ "$i" = 0 ] || ns=$client
		phys[i]=${phy##*/}
		name=$(ls "$phy/device/net")
		iw phy "${phys[i]}" set netns name "$ns"
		ip -n "$ns" link set "$name" name wlan
		i=$((i + 1))
	done
	[ "$i" = 2 ] || fail "$i simulated radios, not 2"
}
phys=()

# level DBM: at which each hears the other, from now on; below the threshold neither does. The file takes unsigned numbers only.
level()
{
	local dbm=$1 group=1

	[ "$dbm" -ge "$threshold_dbm" ] || group=2
	[ "$dbm" -ge -100 ] || dbm=-100
	rate_of "$dbm"
	printf '%u' "$dbm" >"$debug/${phys[0]}/hwsim/rx_rssi"
	echo "$group" >"$debug/${phys[0]}/hwsim/group"
}

# rate_of DBM: change the rate where that level means another one
rate_now=25
rate_of()
{
	local rate=25

	[ "$1" -ge -83 ] || rate=18
	[ "$1" -ge -86 ] || rate=12
	[ "$1" -ge -88 ] || rate=8
	[ "$1" -ge -90 ] || rate=5
	[ "$rate" != "$rate_now" ] || return 0
	rate_now=$rate
	tc -n "$server" qdisc change dev s2 root netem rate "${rate}mbit" delay 5ms limit 100
}

# levels METRES SECONDS SEED: the level of each step on the way from there on
levels()
{
	awk -v from="$1" -v s="$2" -v seed="$3" -v step_ms="$step_ms" -v t="$threshold_dbm" '
	function log10(x) { return log(x) / log(10) }
	function normal() { return sqrt(-2 * log(1 - rand())) * cos(6.283185 * rand()) }
	BEGIN {
		srand(seed)
		keep = exp(-step_ms / 200)
		fade = 1.5 * normal()
		for (i = 0; i < s * 1000 / step_ms; i++) {
			m = from + 13 * i * step_ms / 1000
			fade = keep * fade + sqrt(1 - keep * keep) * 1.5 * normal()
			printf "%.0f\n", t + 30 * log10(70 / m) + fade
		}
	}'
}

# drive FILE: take the station through these levels
drive()
{
	local dbm at_ms

	at_ms=$(now_ms)
	while read -r dbm; do
		level "$dbm"
		at_ms=$((at_ms + step_ms))
		pause_until "$at_ms"
	done <"$1"
}
pause_until()
{
	local left_ms=$(($1 - $(now_ms)))
	[ "$left_ms" -le 0 ] || sleep "$(printf '0.%03d' "$left_ms")"
}

# --- network ---

begin()
{
	need_module
	need_tool "$pamsd"
	need_tool "$predict"
	need_radios
	paths pams 5mbit,25ms,50
	helper_link "$ap" a1 25mbit,5ms,100
	take_radios
	ip -n "$client" -batch - <<-END
		addr add 10.0.2.1/24 dev wlan
		link set wlan up
		route add $address via 10.0.2.2 dev wlan
		mptcp endpoint add 10.0.1.1 dev c1 id 1 subflow
	END
	ip -n "$ap" addr add 10.0.2.2/24 dev wlan
	count_packets
	associate
}

# What the access point sends over the radio to the client, and what arrives there.
count_packets()
{
	count_at "$ap" forward oifname
	count_at "$client" input iifname
}
count_at()
{
	in_ns "$1" nft -f - <<-END
		add table ip pams
		add chain ip pams radio { type filter hook $2 priority 0; }
		add rule ip pams radio $3 wlan meta l4proto tcp counter
	END
}
packets() { in_ns "$1" nft list table ip pams | sed -n 's/.*counter packets \([0-9]*\).*/\1/p'; }
lost() { echo $(($(packets "$ap") - $(packets "$client"))); }

associate()
{
	level -60
	cat >"$work/hostapd.conf" <<-END
		interface=wlan
		driver=nl80211
		ssid=pams
		hw_mode=g
		channel=1
		wmm_enabled=1
		ieee80211n=1
	END
	cat >"$work/supplicant.conf" <<-END
		ap_scan=1
		network={
			ssid="pams"
			key_mgmt=NONE
			scan_freq=2412
		}
	END
	ip netns exec "$ap" hostapd "$work/hostapd.conf" >"$work/hostapd.log" 2>&1 &
	ip netns exec "$client" wpa_supplicant -D nl80211 -i wlan -c "$work/supplicant.conf" >"$work/supplicant.log" 2>&1 &
	within 150 associated || fail "the station does not associate: $(tail -n 5 "$work/hostapd.log" "$work/supplicant.log")"
	# the simulation adds the sender's power to the level
	in_ns "$ap" iw dev wlan set txpower fixed 0
}
associated() { [ "$(on_client cat /sys/class/net/wlan/operstate)" = up ]; }

# --- daemons ---

start_daemons()
{
	local key

	key=$("$pamsd" --genkey)
	cat >"$work/server.conf" <<-END
		control = "$work/server.socket"
		server { peer "client" { key = "$key" } }
	END
	# What would be measured here is the uplink, and the path that is told of is the downlink.
	cat >"$work/client.conf" <<-END
		control = "$work/client.socket"
		reporter {
			to "server" { address = "$address" key = "$key" via = {"wlan", "c1"} }
			interface "wlan" { measure = "none" plugin = {"$predict", "--verbose"} }
		}
	END
	chmod 600 "$work/server.conf" "$work/client.conf"	# there are keys in them
	ip netns exec "$server" "$pamsd" -c "$work/server.conf" 2>"$work/server.err" &
	daemons=($!)
	ip netns exec "$client" "$pamsd" -c "$work/client.conf" 2>"$work/client.err" &
	daemons+=($!)
	within 50 running || fail "pamsd does not come up: $(cat "$work"/*.err)"
}
running() { tell server >/dev/null && tell client >/dev/null; }
tell() { "$pamsd" -c "$work/$1.conf" --tell '{"command": "status"}' 2>/dev/null; }

# --- cases ---

# drive_away NAME SEED: one download of 12 MB that begins 30 m from the access point, 3 s before the range ends. Packets and times
# of several drives are added up, of stalls the longest counts.
declare -A radio_lost stall_us time_us
drive_away()
{
	local before lost stall

	start_server
	before=$(lost)
	levels 30 7 "$2" >"$work/levels"
	drive "$work/levels" &
	transfer --bytes 12M --timeout 60000
	wait $!
	stop_server
	sleep 1
	lost=$(($(lost) - before))
	say "$1, drive $2: $lost packets lost on the radio, $(cat "$work/json")"
	stall=$(of gap_us)
	radio_lost[$1]=$((${radio_lost[$1]-0} + lost))
	[ "$stall" -le "${stall_us[$1]-0}" ] || stall_us[$1]=$stall
	time_us[$1]=$((${time_us[$1]-0} + $(of fct_us)))
}

come_back()
{
	rate_now=	# drive() has changed it in a process of its own
	level -60
	within 300 associated || fail "the station does not come back"
	sleep 1
}

# What was told is what pams-predict saw: nobody else knows when the range ends. The payload is checked where it arrives.
driven_away()
{
	local drive

	begin
	for drive; do
		drive_away untold "$drive"
		come_back
	done
	start_daemons
	sleep 2
	for drive; do
		drive_away predicted "$drive"
		come_back
	done
	cat "$work/client.err"
	grep -q "pams-predict: wlan: lost in" "$work/client.err" || fail "nothing was predicted"
	check "packets lost on the radio, untold" "${radio_lost[untold]}" ">" 0
	check "packets lost, predicted" "100 * ${radio_lost[predicted]}" "<=" "20 * ${radio_lost[untold]}"
	check "us of the longest stall, predicted" "${stall_us[predicted]}" "<" 200000
	# What Wi-Fi would have carried in the time by which it was left too early.
	check "us of the downloads, predicted" "${time_us[predicted]}" "<=" "${time_us[untold]} * 120 / 100"
}

# --- where pages begin ---

# Both links have a default route, Wi-Fi's the lower metric; first_paths() lets pamsd choose.
default_routes()
{
	ip -n "$client" -batch - <<-END
		route del $address dev c1
		route del $address dev wlan
		route add default via 10.0.2.2 dev wlan metric 1
		route add default via 10.0.1.2 dev c1 metric 2
	END
	in_ns "$client" nft -f - <<-END
		add set ip pams begun { type ipv4_addr . inet_service; flags dynamic; size 1000; }
		add chain ip pams begins { type filter hook output priority 0; }
		add rule ip pams begins tcp flags & (syn | ack) == syn tcp option mptcp subtype mp-capable add @begun { ip saddr . tcp sport }
	END
}
# connections that have begun over Wi-Fi, answered or not
begun() { in_ns "$client" nft list set ip pams begun | grep -o '10\.0\.2\.1 \. [0-9]*' | wc -l; }

# first_paths LINE: the client's pamsd keeps the paths, and does what the line says
first_paths()
{
	mountpoint -q /sys/fs/cgroup || mount -t cgroup2 none /sys/fs/cgroup
	printf '%s\n' "control = \"$work/client.socket\"" "state = \"$work/caps.json\"" "paths { }" "$1" >"$work/client.conf"
	nsenter --net="/run/netns/$client" "$pamsd" -c "$work/client.conf" 2>"$work/client.err" &
	daemons=($!)
	within 50 tell client || fail "pamsd does not come up: $(cat "$work/client.err")"
}

# pages SECONDS: one begins each second, of three small answers. Lines of when, and how many of its connections began over Wi-Fi
pages()
{
	local i at_ms next_ms before

	next_ms=$(now_ms)
	for ((i = 0; i < $1; i++)); do
		before=$(begun)
		at_ms=$(now_ms)
		on_client timeout 0.9 "$xfer" client --quiet --bytes 20000 --requests 3 --cold "$address" "$port" >"$work/page" 2>&1 || echo "# not whole"
		next_ms=$((next_ms + 1000))
		pause_until "$next_ms"
		echo "$at_ms $(($(begun) - before))"
	done
}

# pages_away NAME SEED: such pages while the station leaves. pages_late[NAME]: those that began over Wi-Fi a second after it was
# heard for the last time, and later.
declare -A pages_late
pages_away()
{
	local from_ms heard

	levels 30 10 "$2" >"$work/levels"
	heard=$(awk -v t="$threshold_dbm" '$1 >= t { last = NR } END { print last }' "$work/levels")
	from_ms=$(($(now_ms) + heard * step_ms + 1000))
	drive "$work/levels" &
	pages 10 >"$work/pages"
	wait $!
	say "$1, drive $2: Wi-Fi is gone for a second at $from_ms"
	sed 's/^/# /' "$work/pages"
	[ "$(awk -v from="$from_ms" '$1 >= from' "$work/pages" | wc -l)" -ge 3 ] || fail "too few pages begin after the loss"
	pages_late[$1]=$((${pages_late[$1]-0} + $(awk -v from="$from_ms" '$1 >= from && $2 > 0' "$work/pages" | wc -l)))
}

# What pages do while a station leaves: untold, when pamsd sees that nothing is answered, and when pams-predict foresees it.
handover()
{
	begin
	default_routes
	start_server
	pages_away untold "$1"
	come_back
	first_paths ""
	pages_away seen "$1"
	kill "${daemons[@]}"
	wait "${daemons[@]}" || say "pamsd ended with $?"
	come_back
	first_paths "reporter { interface \"wlan\" { measure = \"none\" local = true plugin = {\"$predict\", \"--verbose\"} } }"
	pages_away predicted "$1"
	cat "$work/client.err"
	grep -q "pams-predict: wlan: lost in" "$work/client.err" || fail "nothing was predicted"
	# The fading is seen before the loss, too: that the prediction alone keeps pages away is tested in paths.sh, predicted.
	check "pages on the lost path, untold" "${pages_late[untold]}" ">" 0
	check "pages on the lost path, seen" "${pages_late[seen]}" == 0
	check "pages on the lost path, predicted" "${pages_late[predicted]}" == 0
}

# TCP loses other packets each time: the same drive twice
add driven_away 1 1
add handover 2
run_cases "$@"
