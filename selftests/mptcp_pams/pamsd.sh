#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# pamsd with the module: what a helper measures changes what the server's scheduler decides, and daemons, module and links come
# and go. The daemon alone is tested in selftests/pamsd.
#
#	client                            helper                             server
#	10.0.1.1 c1 ---------------- 8 Mbit/s 10 ms ---------------------- s1
#	10.0.2.1 c2 -- 5 Mbit/s, 1 MB deep -- h2 h1 -- 20 Mbit/s 20 ms -- s2   10.0.0.2
#
# The pipe is a token bucket before h2's link to the client: TCP at the server sees no more of it than a long round trip.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

helper=pams-h-$$
further=("$helper")

# --- network ---

begin()
{
	need_module
	need_tool "$pamsd"
	need_tool "$pamsctl"
	paths pams 8mbit,10ms
	helper_link "$helper" h1 20mbit,20ms,1000
	helper_client "$helper" h2
	pipe add 5mbit
	within 30 links_are_up || fail "the links do not come up"
}

# pipe add|change RATE [BYTES]: so many wait before it
pipe() { tc -n "$helper" qdisc "$1" dev h2 root handle 1: tbf rate "$2" burst 3028 limit "${3:-1000000}"; }

# --- daemons ---

# configure NAME: its configuration, from standard input, goes behind where its socket is
configure()
{
	{ echo "control = \"$work/$1.socket\""; cat; } >"$work/$1.conf"
	chmod 600 "$work/$1.conf"	# there are keys in it
}

# The keys are made anew for each case.
server_config()
{
	helper_key=$("$pamsd" --genkey)
	client_key=$("$pamsd" --genkey)
	configure server <<-END
		server {
			listen = {"0.0.0.0"}
			peer "helper" { key = "$helper_key" prefixes = {"10.0.2.0/24"} }
			peer "client" { key = "$client_key" }
		}
	END
}

helper_config()
{
	configure helper <<-END
		reporter {
			to "server" { address = "$address" key = "$helper_key" }
			interface "h2" { about = {"10.0.2.1"} }
		}
	END
}

client_config()
{
	configure client <<-END
		reporter {
			to "server" { address = "$address" key = "$client_key" via = {"c1", "c2"} }
			interface "c1" { measure = "none" }
		}
	END
}

# start NS NAME: run the daemon of that configuration; its process is pid[NAME]
declare -A pid
start()
{
	ip netns exec "$1" "$pamsd" -c "$work/$2.conf" 2>>"$work/$2.err" &
	pid[$2]=$!
	within 50 tell "$2" '{"command": "status"}' >/dev/null || fail "pamsd does not come up: $(cat "$work/$2.err")"
}

tell() { "$pamsd" -c "$work/$1.conf" --tell "$2" 2>/dev/null; }

murder() { kill -9 "${pid[$1]}"; wait "${pid[$1]}" || say "the $1 is killed"; }

both()
{
	server_config
	helper_config
	start "$server" server
	start "$helper" helper
}

# --- what the server's kernel knows and would decide ---

# Is it virtual time, in which programs take none?
time_is_exact() { [[ $(</proc/cmdline) == *time-travel=* ]]; }

# soon LIMIT_MS WHAT COMMAND...: the time from now until it is so, asked for every 10 ms, may not be more. Where time isn't exact
# asking and the daemons' work take their part, and it may be three times as much.
soon()
{
	local limit_ms=$1 what=$2 from_ms
	shift 2

	time_is_exact || limit_ms=$((3 * limit_ms))
	from_ms=$(now_ms)
	until "$@"; do
		[ $(($(now_ms) - from_ms)) -le $((2 * limit_ms)) ] || break
		sleep 0.01
	done
	local took_ms=$(($(now_ms) - from_ms))
	[ "$took_ms" -le "$limit_ms" ] || { tell server '{"command": "status"}'; tell helper '{"command": "status"}'; }
	check "ms until $what" "$took_ms" "<=" "$limit_ms"
}

# of_subflow NAME: that value of the subflow to 10.0.2.1; nothing if there is none
of_subflow()
{
	on_server "$pamsctl" --json conn show | tr -d ' \n' | tr '{' '\n' |
		sed -n '/"remote_address":"10.0.2.1"/s/.*"'"$1"'":\([^,}]*\).*/\1/p'
}

has_pipe() { [ "$(of_subflow pipe)" = true ]; }
has_no_pipe() { [ "$(of_subflow pipe)" = false ]; }
is_stopped() { [ "$(of_subflow stopped)" = true ]; }
is_not_stopped() { [ "$(of_subflow stopped)" = false ]; }

# rate_below BYTEPS: what the server's kernel was told of the pipe
rate_below() { local rate; rate=$(told rate_byteps) && [ "$rate" -lt "$1" ]; }
told()
{
	on_server "$pamsctl" --json path show 10.0.2.1 2>/dev/null | tr -d ' \n' | sed -n 's/.*"'"$1"'":\([0-9-]*\).*/\1/p' | grep .
}

is_lost() { on_server "$pamsctl" --json path show "$1" 2>/dev/null | grep -q '"loss"'; }
is_not_lost() { ! is_lost "$1"; }

# A download that fills both paths for a while, until the case has seen enough of it.
download()
{
	start_server
	transfer --bytes "$1" --timeout 60000 &
	transfer_pid=$!
	within 50 queue_is_above 0 || fail "nothing waits before the pipe"
}
queue_is_above() { [ "$(tc -n "$helper" -json -s qdisc show dev h2 | sed -n 's/.*"backlog":\([0-9]*\).*/\1/p')" -gt "$1" ]; }

# --- cases ---

# From the first report on the server's scheduler reckons with the pipe; its rate is the token bucket's.
report_changes_decision()
{
	begin
	server_config
	helper_config
	start "$server" server
	download 6M
	has_no_pipe || fail "there is a pipe without a report"
	start "$helper" helper
	soon 200 "the decision sees the pipe" has_pipe
	soon 500 "its rate is right" rate_is_near 625000
	wait "$transfer_pid" || fail "the transfer did not survive"
}
rate_is_near() { local rate; rate=$(told rate_byteps) && [ $((rate * 10)) -gt $(($1 * 9)) ] && [ $((rate * 10)) -lt $(($1 * 11)) ]; }

# The pipe falls to a fifth. Half of it known is enough to send elsewhere: the PAD doubles.
slower_pipe_is_known_in_time()
{
	local before

	begin
	both
	download 8M
	within 20 rate_is_near 625000 || fail "the pipe's rate is not known"
	before=$(of_subflow pad_ns)
	pipe change 1mbit
	soon 200 "the rate is known to be less than half" rate_below 312500
	soon 500 "the PAD has doubled" pad_above $((2 * before))
	wait "$transfer_pid" || fail "the transfer did not survive"
}
pad_above() { local pad; pad=$(of_subflow pad_ns) && [ "${pad:-0}" -gt "$1" ]; }

# The queue before the pipe is kept short by CoDel, so that hardly ever less leaves in a tick than waited. The pipe fades to a
# quarter: that is known all the same.
short_queue_is_known_in_time()
{
	local kbit

	begin
	both
	pipe change 16mbit
	tc -n "$helper" qdisc add dev h2 parent 1:1 fq_codel
	download 8M
	within 40 rate_is_near 2000000 || fail "the pipe's rate is not known: $(told rate_byteps)"
	for kbit in 14000 12000 10500 9000 8000 7000 6000 5200 4500 4000; do
		pipe change "${kbit}kbit"
		sleep 0.2
	done
	soon 1000 "the rate is known" rate_below 625000
	check "its rate" "$(told rate_byteps)" ">" 375000
	wait "$transfer_pid" || fail "the transfer did not survive"
}

# Transfers over a pipe that falls to a fifth, with and without reports in turn. Behind a plain router they hardly shorten them
# (TCP sees the queue as well): they must not make them longer. What the laboratory says of many is in Documentation/figures.md.
#
# The receive buffer is large from the start: kernel 7.x lets it grow more slowly than this transfer needs, and what waits for the
# window then takes up to twice the time, by chance. What is left of chance in an emulator are 10 % of a transfer.
slower_pipe_is_survived()
{
	local with=0 without=0 bound="3 / 2"

	! time_is_exact || bound="21 / 20"
	begin
	on_client sysctl -qw net.ipv4.tcp_rmem="4096 4194304 8388608"
	server_config
	helper_config
	for _ in 1 2; do
		falls
		without=$((without + $(duration_us)))
		start "$server" server
		start "$helper" helper
		falls
		with=$((with + $(duration_us)))
		murder server
		murder helper
	done
	check "us with reports, against without" "$with" "<=" "$without * $bound"
}
falls()
{
	pipe change 5mbit
	download 4M
	within 20 queue_is_above 30000 || fail "less than 30 KB wait before the pipe"
	pipe change 1mbit
	wait "$transfer_pid" || fail "the transfer did not survive"
	stop_server
}

# The helper is told when its pipe will be lost: the server stops in time, and goes on when it is taken back.
loss_stops_and_no_loss_does_not()
{
	begin
	both
	download 6M
	tell helper '{"interface": "h2", "loss_ms": 0}' >/dev/null
	soon 200 "the path is stopped" is_stopped
	tell helper '{"interface": "h2", "no_loss": true}' >/dev/null
	soon 200 "it is not any more" is_not_stopped
	wait "$transfer_pid" || fail "the transfer did not survive"
}

# Whoever dies, the reports expire (after 1000 ms) and the scheduler falls back to what TCP knows; then all is as before.
killed_and_started_again()
{
	begin
	both
	download 16M
	within 20 has_pipe || fail "no pipe"
	murder helper
	soon 1200 "the reports have expired" has_no_pipe
	start "$helper" helper
	soon 300 "the pipe is back" has_pipe
	murder server
	soon 1200 "the reports have expired" has_no_pipe
	start "$server" server
	soon 300 "the pipe is back" has_pipe
	kill "${pid[server]}"
	wait "${pid[server]}" || fail "the daemon ended with $?"
	kill_all "$(ip netns pids "$server")"
}

# The module goes and comes while daemons run: what still holds is told again, and said once.
module_comes_and_goes()
{
	begin
	unused		# sockets of the cases before would hold the module beyond the loss time
	both
	tell helper '{"interface": "h2", "loss_ms": 60000}' >/dev/null
	soon 200 "the loss time is known" is_lost 10.0.2.1
	unload
	within 20 says "isn't loaded" || fail "it is not said that the module is out"
	load
	within 20 says "is there" || fail "it is not said that the module is in"
	soon 500 "the loss time is known again" is_lost 10.0.2.1
	check "times said" "$(grep -c "isn't loaded" "$work/server.err")" == 1
	tell helper '{"interface": "h2", "no_loss": true}' >/dev/null
	soon 200 "it is taken back" is_not_lost 10.0.2.1
}
says() { grep -q "$1" "$work/server.err"; }

# A client whose connection has a subflow over each of its links, and that reports about the first. The server gave it no prefix.
# from_client BYTES: the transfer that goes on meanwhile
from_client()
{
	begin
	server_config
	client_config
	start "$server" server
	start_server
	transfer --bytes "$1" --timeout 60000 &
	transfer_pid=$!
	within 50 both_subflows || fail "there is no second subflow"
	start "$client" client
	within 20 learnt || fail "no report arrives"
}
learnt() { tell server '{"command": "status"}' | grep -q '"sessions":1'; }
both_subflows() { [ "$(on_server "$pamsctl" --json conn show | grep -c '"remote_address"')" = 2 ]; }

# The kernel was told that a subflow is lost, by the token of its connection, and means the one over the first link.
subflow_is_lost()
{
	on_server "$pamsctl" --json path show | tr -d ' \n' | grep -q '"token":.*"loss"' &&
		on_server "$pamsctl" --json conn show | tr -d ' \n' | tr '{' '\n' | grep '"remote_address":"10.0.1.1"' | grep -q '"stopped":true'
}
subflow_is_not_lost() { ! on_server "$pamsctl" --json path show | grep -q '"loss"'; }

# The cable is pulled: the other path, 20 ms long, brings the news.
pulled_cable_is_known_at_once()
{
	from_client 8M
	ip -n "$server" link set s1 down
	soon 50 "the loss is known" subflow_is_lost
	ip -n "$server" link set s1 up
	# the kernel tells of carriers that follow each other quickly a second later
	soon 1300 "its end is" subflow_is_not_lost
	wait "$transfer_pid" || fail "the transfer did not survive"
}

# The client's kernel tells the server's token of a connection only once it has joined a subflow (sock_diag, "token:" of ss, is zero
# before). Until then nothing is named, and there is no other path to choose; then both subflows are, the first one, too.
connection_is_named_once_joined()
{
	begin
	server_config
	client_config
	ip -n "$client" mptcp endpoint flush
	start "$server" server
	start_server
	transfer --bytes 8M --timeout 60000 &
	transfer_pid=$!
	within 50 one_subflow || fail "there is no connection"
	start "$client" client
	tell client '{"interface": "c1", "loss_ms": 30000, "ttl_ms": 60000}' >/dev/null
	within 20 learnt || fail "no report arrives"
	sleep 1.5
	one_subflow || fail "there is a second subflow already"
	ip netns exec "$client" ss -tinH dst "$address" | grep -o 'token:[^ ]*' | sed 's/^/# the client: /'
	check "subflows whose peer's token the client's kernel tells" "$(peer_tokens)" == 0
	subflow_is_not_lost || fail "the server's kernel was told of a loss without a token"
	ip -n "$client" mptcp endpoint add 10.0.2.1 dev c2 id 2 subflow
	within 50 both_subflows || fail "there is no second subflow"
	check "subflows whose peer's token the client's kernel tells" "$(peer_tokens)" == 1
	soon 1500 "the first subflow is known as lost" first_subflow_has_loss
	wait "$transfer_pid" || fail "the transfer did not survive"
}
one_subflow() { [ "$(on_server "$pamsctl" --json conn show | grep -c '"remote_address"')" = 1 ]; }
# how many: ss prints token:PEER'S(id:N)/OWN(id:N) in hexadecimal
peer_tokens() { ip netns exec "$client" ss -tinH dst "$address" | grep -c 'token:0*[1-9a-f][0-9a-f]*(id'; }
first_subflow_has_loss() { on_server "$pamsctl" --json path show | tr -d ' \n' | grep -q '"token":.*"loss"'; }

# Of an interface's addresses the one is reported from that a subflow uses, and another when the subflow moves there.
address_in_use_is_reported_from()
{
	begin
	client_key=$("$pamsd" --genkey)
	configure server <<-END
		server { listen = {"0.0.0.0"} peer "client" { key = "$client_key" source = true } }
	END
	configure client <<-END
		reporter {
			to "server" { address = "$address" key = "$client_key" via = {"c1", "c2"} }
			interface "c2" { measure = "none" }
		}
	END
	start "$server" server
	ip -n "$client" addr add 10.0.2.77/24 dev c2
	move_subflow 10.0.2.77 3
	start_server
	transfer --bytes 8M --timeout 60000 &
	transfer_pid=$!
	within 50 both_subflows || fail "there is no second subflow"
	start "$client" client
	tell client '{"interface": "c2", "loss_ms": 30000, "ttl_ms": 60000}' >/dev/null
	soon 2000 "the address in use is known as lost" is_lost 10.0.2.77
	! is_lost 10.0.2.1 || fail "the first address is, too"
	move_subflow 10.0.2.1 4
	soon 4000 "the other address is known as lost" is_lost 10.0.2.1
	! is_lost 10.0.2.77 || fail "the address that isn't used any more still is, too"
	wait "$transfer_pid" || fail "the transfer did not survive"
}
# move_subflow ADDRESS ID: the path manager has that endpoint on the second link, and no other
move_subflow()
{
	ip -n "$client" mptcp endpoint flush
	ip -n "$client" mptcp endpoint add "$1" dev c2 id "$2" subflow
}

# The first link carries nothing any more but is up, and carried data last: the news takes the other.
dead_link_is_no_way_for_its_loss()
{
	from_client 6M
	# how long the challenge waits in the other way's queue is no part of this
	pipe change 5mbit 20000
	tc -n "$client" qdisc change dev c1 root netem rate 8mbit delay 10ms loss 100%
	tell client '{"interface": "c1", "loss_ms": 0}' >/dev/null
	# half a round trip of the other way, and one of a challenge if the server didn't know that way yet
	soon 100 "the loss is known" subflow_is_lost
	tc -n "$client" qdisc change dev c1 root netem rate 8mbit delay 10ms loss 0%
	tell client '{"interface": "c1", "no_loss": true}' >/dev/null
	soon 200 "its end is" subflow_is_not_lost
	wait "$transfer_pid" || fail "the transfer did not survive"
}

# Whoever reads the join of another's connection, on either path, has its token, and a key of its own for this server. It isn't
# believed: not as before there were proofs, not with the other numbers of the join, not from the client's own address.
strangers_take_no_path_down()
{
	local seen

	thief_begins
	for link in h1@"$helper" s1@"$server"; do
		in_ns "${link#*@}" "$thief" listen "${link%@*}" >"$work/seen" &
		local listener=$!
		[ "$link" = h1@"$helper" ] || joins_first_link
		sleep 0.1
		transfer --bytes 5M --timeout 60000 "${devices[@]}" &
		transfer_pid=$!
		within 50 both_subflows || fail "there is no second subflow"
		wait "$listener" || fail "no join is seen at $link"
		read -r -a seen <"$work/seen"
		[ "$((16#${seen[0]}))" = "$((16#$(own_token)))" ] || fail "a join shows ${seen[0]}, the server's kernel has $(own_token)"
		for ns in "$helper" "$client"; do
			in_ns "$ns" "$thief" steal "$helper_key" "$address" "${seen[@]}" "${seen[0]}" 0 | sed "s/^/# $ns: /"
			lost=$(paths_lost)
			check "paths taken down by one who listens at ${link%@*}" "$lost" == 0
		done
		wait "$transfer_pid" || fail "the transfer did not survive"
	done
	says "peer 'mallory' doesn't prove" || fail "that isn't said"
	check "times it is" "$(grep -c "doesn't prove" "$work/server.err")" == 1
}

# The peer's own token proves it, but to no pamsd in another namespace; as MPTCP is made, that of whoever has both keys.
the_peers_token_proves_it()
{
	local token proof

	thief_begins
	configure other <<-END
		server { listen = {"0.0.0.0"} peer "client" { key = "$client_key" } }
	END
	start "$helper" other
	transfer --bytes 5M --timeout 60000 &
	transfer_pid=$!
	within 50 both_subflows || fail "there is no second subflow"
	token=$(own_token)
	# of the subflow that the client has joined: its peer's token, then its own
	proof=$(ip netns exec "$client" ss -tinH dst "$address" | sed -n 's/.*token:0*[1-9a-f][0-9a-f]*(id:[0-9]*)\/\([0-9a-f]*\)(id.*/\1/p' | head -n 1)
	in_ns "$client" "$thief" steal "$client_key" 10.0.2.2 "$token" "$proof" | sed 's/^/# /'
	check "paths lost by what another namespace's pamsd is told" "$(paths_lost)" == 0
	tell other '{"command": "status"}' | grep -q '"no-connection"' || fail "it knows the connection: $(tell other '{"command": "status"}')"
	in_ns "$client" "$thief" steal "$client_key" "$address" "$token" "$proof" | sed 's/^/# /'
	check "paths lost by what the peer says" "$(paths_lost)" "==" 2
	wait "$transfer_pid" || fail "the transfer did not survive"
}

thief=$XFER_DIR/thief devices=()
thief_begins()
{
	[ -x "$thief" ] || never "no thief is built for this guest: it is for the user-mode kernel"
	begin
	helper_key=$("$pamsd" --genkey)
	client_key=$("$pamsd" --genkey)
	configure server <<-END
		server { listen = {"0.0.0.0"} peer "mallory" { key = "$helper_key" } peer "client" { key = "$client_key" } }
	END
	start "$server" server
	start_server
}
# joins_first_link: connections begin on the second link, and join the first
joins_first_link()
{
	devices=(--devices c2)
	ip -n "$client" mptcp endpoint flush
	ip -n "$client" mptcp endpoint add 10.0.1.1 dev c1 id 1 subflow
}
# the server's, in hexadecimal
own_token() { on_server "$pamsctl" --json conn show | tr -d ' \n' | sed -n 's/.*"token":"0*x*\([0-9a-f]*\)".*/\1/p'; }
paths_lost() { on_server "$pamsctl" --json conn show | tr -d ' \n' | grep -o '"stopped":true' | wc -l; }

# What the client's path costs reaches the server, which decides over its downloads; and that it costs nothing any more.
cost_of_the_client_counts()
{
	local before

	begin
	set_sysctl net.mptcp.scheduler=minfct
	server_config
	configure client <<-END
		reporter {
			to "server" { address = "$address" key = "$client_key" via = {"c1", "c2"} }
			interface "c1" { measure = "none" about = {"source"} }
			interface "c2" { measure = "none" about = {"source"} }
		}
	END
	start "$server" server
	start "$client" client
	start_server
	transfer --bytes 8M --timeout 60000 &
	sleep 2
	check "bytes on path 2" "$(sent "$server" 2)" ">" 300000
	on_client "$pamsctl" path set dev c2 cost 2
	within 10 is_costly || fail "the server doesn't know the cost"
	sleep 0.5
	before=$(sent "$server" 2)
	sleep 1
	check "bytes on path 2 of a second" "$(sent "$server" 2) - $before" "<" 20000
	on_client "$pamsctl" path del dev c2
	within 10 is_free || fail "the server doesn't know that it is free"
	before=$(sent "$server" 2)
	sleep 1
	check "bytes on path 2 of a second" "$(sent "$server" 2) - $before" ">" 200000
	wait $! || fail "the transfer did not survive"
}
is_costly() { on_server "$pamsctl" conn show | grep "cost 2"; }
is_free() { ! on_server "$pamsctl" conn show | grep "cost"; }

begin_with_own_link()
{
	begin
	configure server <<-END
		reporter {
			interface "s1" { measure = "none" local = true }
		}
	END
	start "$server" server
}

# The server's own cable: its daemon tells its own kernel, of all that leaves there.
own_cable_is_known_at_once()
{
	begin_with_own_link
	ip -n "$client" link set c1 down
	soon 50 "the loss is known" own_link_is_lost
	ip -n "$client" link set c1 up
	soon 1300 "its end is" own_link_is_not_lost
}
# What the kernel was told before the daemon was started or read its configuration again is put right at once.
own_links_state_is_told_at_the_start()
{
	begin_with_own_link
	tell server '{"interface": "s1", "loss_ms": 20000}' >/dev/null
	soon 50 "the loss is known" own_link_is_lost
	kill -HUP "${pid[server]}"
	soon 500 "nothing is predicted any more" own_link_is_not_lost
	tell server '{"interface": "s1", "no_loss": true}' >/dev/null
	soon 50 "it isn't lost" own_link_is_not_lost
	ip -n "$client" link set c1 down
	soon 50 "the loss is known" own_link_is_lost
	murder server
	ip -n "$client" link set c1 up
	sleep 2
	start "$server" server
	soon 50 "its end is" own_link_is_not_lost
	murder server
	ip -n "$client" link set c1 down
	sleep 2
	start "$server" server
	soon 50 "the loss is known" own_link_is_lost
}
own_link_is_lost() { on_server "$pamsctl" --json path show dev s1 2>/dev/null | grep -q '"loss"'; }
own_link_is_not_lost() { ! own_link_is_lost; }

# The module has room for one of the helper's two names: each report is taken and refused. That is said once in a while.
refusals_are_said_seldom()
{
	begin
	server_config
	helper_config
	sed -i 's/about = .*}$/about = {"10.0.2.1", "10.0.2.9"} }/' "$work/helper.conf"
	on_server sysctl -qw net.mptcp_pams.paths_max=1
	start "$server" server
	start "$helper" helper
	download 4M
	sleep 2
	check "lines about refusals" "$(grep -c "refuses a report" "$work/server.err")" == 1
	wait "$transfer_pid" || fail "the transfer did not survive"
}

# All paths of a report are told with one question to the kernel, which says of each whether it takes it.
paths_of_a_report_are_told_together()
{
	begin
	server_config
	helper_config
	sed -i "s/about = .*}$/about = {$(printf '"10.0.2.%d", ' {1..15})\"10.0.2.16\"} }/" "$work/helper.conf"
	on_server sysctl -qw net.mptcp_pams.paths_max=10
	start "$server" server
	start "$helper" helper
	tell helper '{"interface": "h2", "loss_ms": 60000}' >/dev/null
	soon 200 "the loss is known" is_lost 10.0.2.10
	check "paths that are lost" "$(on_server "$pamsctl" --json path show | grep -c '"loss"')" == 10
	check "refused" "$(of_server refused)" == 6
	check "refused, as counted for the peer" "$(of_server kernel)" == 6
	says "refuses a report: .*paths_max" || fail "the kernel's reason isn't said: $(cat "$work/server.err")"
	check "paths a question" $(($(of_server sets) / $(of_server batches))) ">=" 8
}
# of_server NAME: that number of its status
of_server() { tell server '{"command": "status"}' | sed -n 's/.*"'"$1"'":\([0-9]*\).*/\1/p'; }

# An interface that comes later, and one that is removed and made anew, are watched like one that was there.
interface_comes_and_goes()
{
	begin
	both
	ip -n "$helper" link del h2
	soon 200 "the loss is known" is_lost 10.0.2.1
	ip link add c2 index 12 netns "$client" type veth peer name h2 index 42 netns "$helper"
	ip -n "$client" link set c2 up
	ip -n "$helper" link set h2 up
	soon 500 "its end is" is_not_lost 10.0.2.1
}

add report_changes_decision
add slower_pipe_is_known_in_time
add short_queue_is_known_in_time
add slower_pipe_is_survived
add loss_stops_and_no_loss_does_not
add killed_and_started_again
add module_comes_and_goes
add pulled_cable_is_known_at_once
add dead_link_is_no_way_for_its_loss
add connection_is_named_once_joined
add address_in_use_is_reported_from
add own_cable_is_known_at_once
add own_links_state_is_told_at_the_start
add cost_of_the_client_counts
add strangers_take_no_path_down
add the_peers_token_proves_it
add refusals_are_said_seldom
add paths_of_a_report_are_told_together
add interface_comes_and_goes
run_cases "$@"
