#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The running daemon on loopback: sessions, restarts, reloading, control
socket, plugins. Prints TAP.

    selftests/pamsd/live.py [CASE...]
"""
import contextlib
import itertools
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from daemon import (HELPERS, LIMIT_S, Daemon, Pair, Skipped, check, cpu_s, free_port, new_key,  # noqa: E402
                    reporter_with_faults, with_faults, run_cases_about_lo, within)


def session_and_loss(folder):
    pair = Pair(folder)
    pair.arrives()
    peer = pair.server.peer()
    check(peer["sessions"] == 1 and peer["challenged"], f"one session: {peer}")
    # one, or more if the machine was slow to answer it
    check(peer["dropped"] == {"cookie": peer["challenged"]},
          f"only what came before the challenge was answered is dropped: {peer}")
    pair.stop()


def no_loss_takes_it_back(folder):
    pair = Pair(folder)
    pair.arrives()
    pair.reporter.tell('{"interface": "lo", "no_loss": true}')
    within("it is taken back", lambda: not pair.server.peer()["paths"])
    pair.stop()


def lost_reports_are_repeated(folder):
    pair = Pair(folder)
    pair.arrives()
    passed = []
    pair.relay.change = lambda datagram, up: [datagram] if len(passed) >= 3 else (
        passed.append(datagram) or [])
    pair.arrives(9000)
    check(len(passed) == 3, f"{len(passed)} were lost")
    pair.stop()


def silent_when_idle(folder):
    pair = Pair(folder)
    pair.arrives(60000)
    time.sleep(0.5)
    before = len(pair.relay.kept_up)
    time.sleep(1.5)
    check(len(pair.relay.kept_up) == before, f"{len(pair.relay.kept_up) - before} when idle")
    pair.stop()


def server_restarts(folder):
    """It has forgotten all. What was sent to the one before is worth nothing."""
    pair = Pair(folder)
    pair.arrives()
    old = list(pair.relay.kept_up)
    for number, loss_ms in ((signal.SIGTERM, 9000), (signal.SIGKILL, 14000)):
        pair.server.stop(number)
        pair.server.start()
        pair.arrives(loss_ms)
        check(pair.server.peer()["sessions"] == 1, "one session")
    pair.reporter.stop()
    pair.server.stop()
    pair.server.start()
    for datagram in old:
        pair.relay.to_server(datagram)
    within("they are counted", lambda: pair.server.peer()["dropped"].get("cookie") == len(old))
    check(pair.server.peer()["accepted"] == 0, "none is accepted")
    pair.reporter.start()
    pair.arrives(8000)
    pair.stop()


def blocked_on_the_way(folder):
    """As a firewall does it: the reporter's log tells, and when it is over."""
    pair = Pair(folder)
    pair.reporter.stop()
    pair.relay.change = lambda datagram, up: []
    pair.reporter.start()
    line = (f"pamsd: no answer from 's' at 127.0.0.1:{pair.relay.port}: is its pamsd running, does every "
            "firewall let UDP to this port pass, and is the key the same there? Its log tells if reports "
            "arrive\n")
    within("it is logged", lambda: line in pair.reporter.said())
    check(pair.reporter.status()["reporter"]["to"][0]["unanswered_ms"] >= 3000, "and in the status")
    pair.relay.change = lambda datagram, up: [datagram]
    pair.loss()
    within("its end is logged", lambda: pair.reporter.said().endswith(
        f"pamsd: 's' at 127.0.0.1:{pair.relay.port} answers\n"))
    # The first answer is a challenge: until what follows it is answered, the status tells how long that has been on its way.
    within("and in the status", lambda: not pair.reporter.status()["reporter"]["to"][0]["unanswered_ms"])
    pair.stop()


def about_its_source(folder):
    """By prefix or by source = true, an address may be said to be the peer's own."""
    for extra in ('prefixes = {"127.0.0.1"}', "source = true"):
        pair = Pair(folder, about='"source"', interface="port = 5000", extra=extra)
        pair.arrives()
        check([(path["prefix"], path["port"]) for path in pair.server.peer()["paths"]]
              == [("127.0.0.1/32", 5000)], f"{pair.server.peer()}")
        check("not-its-path" not in pair.server.dropped(), f"{pair.server.dropped()}")
        pair.stop()


def cost_of_a_cap_is_told(folder):
    """Without the module, too, as on a client that only downloads; and when the cap is gone."""
    pair = Pair(folder, about='"source"', extra="source = true")
    cap = f'state = "{folder}/state"\ncap "a" {{ interface = "lo" then = "cost 2" }}\n'
    for text, costs in ((cap, [2]), ("", []), (cap, [2])):
        pair.reporter.write(text + pair.reporter_config())
        pair.reporter.send(signal.SIGHUP)
        within(f"the server knows {costs}", lambda: [path["cost"] for path in pair.server.peer()["paths"] if "cost" in path] == costs)
    pair.stop()


def burst_of_loss(folder):
    """All that is sent in 150 ms is lost. Five copies within 80 ms were."""
    pair = Pair(folder)
    pair.arrives(60000)
    within("repeats are over", lambda: pair.server.peer()["age_ms"] > 300)
    pair.relay.change = lambda datagram, up: []
    pair.reporter.tell('{"interface": "lo", "no_loss": true}')
    time.sleep(0.15)
    pair.relay.change = lambda datagram, up: [datagram]
    within("it is taken back", lambda: not pair.server.peer()["paths"])
    within("it is acknowledged", lambda: pair.reporter.status()["reporter"]["to"][0]["known"])
    pair.stop()


def two_reporters_with_one_key(folder):
    """Neither ends the other's session, and it is said."""
    pair = Pair(folder)
    other = Daemon(folder, "other", pair.reporter_config())
    for number in range(40):
        for reporter in (pair.reporter, other):
            reporter.tell(f'{{"interface": "lo", "loss_ms": {3000 + 2000 * (number % 2)}}}')
        time.sleep(0.05)
    check(pair.server.peer()["sessions"] == 2, f"{pair.server.peer()}")
    check(pair.server.said().count("two reporters use the key of peer 'a', at 127.0.0.1:") == 1,
          pair.server.said())
    other.stop()
    pair.stop()


def several_addresses(folder):
    """One key, one session, two addresses of the server: what is lost at one comes to the other."""
    pair = Pair(folder)
    # before the server forgets what it knew: else the old session may come to it once more
    pair.reporter.stop()
    pair.server.reload(pair.server_config().replace(
        f'"127.0.0.1:{pair.port}"', f'"127.0.0.1:{pair.port}", "[::1]:{pair.port}"'))
    pair.reporter.write(pair.reporter_config().replace(
        f'"127.0.0.1:{pair.relay.port}"', f'{{"127.0.0.1:{pair.relay.port}", "[::1]:{pair.port}"}}'))
    pair.relay.change = lambda datagram, up: []
    pair.reporter.start()
    pair.arrives()
    pair.relay.change = lambda datagram, up: [datagram]
    pair.arrives(9000)
    check(pair.server.peer()["sessions"] == 1, f"{pair.server.peer()}")
    pair.stop()


def address_that_fails_is_said_once(folder):
    """At one of its addresses the server can't be reached, at the other one it can: each report is sent to both."""
    pair = Pair(folder)
    pair.reporter.reload(pair.reporter_config().replace(
        f'"127.0.0.1:{pair.relay.port}"', f'{{"127.0.0.1:{pair.relay.port}", "[2001:db8::1]:{pair.port}"}}'))
    for number in range(1, 6):
        pair.arrives(10000 * number)
    target = pair.reporter.status()["reporter"]["to"][0]
    if not target["errors"]:
        raise Skipped("there is a route to 2001:db8::1 here")
    check(pair.reporter.said().count("can't report to 's'") == 1, pair.reporter.said())
    pair.stop()


def names_of_its_own(folder, resolv_conf):
    """A file of hosts, which knows none of ours yet, and a program that starts others with it and with that resolv.conf."""
    hosts, servers, wrap = (Path(folder) / name for name in ("hosts", "resolv.conf", "wrap"))
    hosts.write_text("127.0.0.1 other.test\n")
    servers.write_text(resolv_conf)
    wrap.write_text(f"#!/bin/sh\nmount --bind {hosts} /etc/hosts &&\n"
                    f'mount --bind {servers} /etc/resolv.conf && exec "$@"\n')
    wrap.chmod(0o755)
    return hosts, wrap


def server_by_name(folder):
    """Its name isn't known yet, then is; the server moves, and is found again. The daemon sees a
    file of hosts of its own, and no server of names."""
    hosts, wrap = names_of_its_own(folder, "")
    pair = Pair(folder)
    pair.reporter.stop()
    pair.server.reload(pair.server_config().replace(
        f'"127.0.0.1:{pair.port}"', f'"127.0.0.1:{pair.port}", "127.0.0.2:{pair.port}"'))
    pair.reporter.prefix = ("unshare", "-m", wrap)
    pair.reporter.write(pair.reporter_config().replace(
        f'"127.0.0.1:{pair.relay.port}"', f'"server.test:{pair.port}"'))
    pair.reporter.start()
    within("that it isn't known is said", lambda: "the name 'server.test' can't be resolved"
           in pair.reporter.said())
    hosts.write_text("127.0.0.1 server.test\n")
    within("it is found", lambda: f"'s': server.test is at 127.0.0.1:{pair.port}\n"
           in pair.reporter.said())
    pair.arrives()
    # the old address answers no more
    pair.server.stop()
    pair.server.write(pair.server_config().replace("127.0.0.1:", "127.0.0.2:"))
    pair.server.start()
    pair.loss(9000)
    # what tells of the new address may be late
    within("it doesn't answer", lambda: "no answer from 's'" in pair.reporter.said())
    time.sleep(2)
    hosts.write_text("127.0.0.2 server.test\n")
    within("it is found again", lambda: f"server.test is at 127.0.0.2:{pair.port}\n"
           in pair.reporter.said())
    pair.arrives(20000)
    pair.stop()


def know_no_name(names):
    """Says of each question that there is no such name, until an empty one comes."""
    question, asker = names.recvfrom(512)
    while question:
        names.sendto(question[:2] + b"\x81\x83" + question[4:], asker)
        question, asker = names.recvfrom(512)


def server_by_name_after_a_boot(folder):
    """Without a network its name can't be resolved. Once the link is up, or has an address, it is looked up at once, not when
    the next try is due, 3 s later."""
    made = subprocess.run("ip link add d0 type veth peer name d1 && ip link set d1 up", shell=True, check=False)
    if made.returncode:
        raise Skipped("no veth in this kernel")
    names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    names.bind(("127.0.0.1", 0))
    server = threading.Thread(target=know_no_name, args=(names,), daemon=True)
    server.start()
    for command in ("link set d0 up", "addr add 10.98.0.1/24 dev d0"):
        hosts, wrap = names_of_its_own(folder, f"nameserver 127.0.0.1:{names.getsockname()[1]}\n")
        reporter = Daemon(folder, "reporter", f'reporter {{\n\tto "s" {{ address = "server.test" key = "{new_key()}"'
                          ' via = {"d0"} }\n\tinterface "d0" { measure = "none" }\n}\n', prefix=("unshare", "-m", wrap))
        within("that it isn't known is said", lambda: "the name 'server.test' can't be resolved" in reporter.said())
        # the tries are 1, 2 and 4 s apart
        time.sleep(4)
        hosts.write_text("127.0.0.1 server.test\n")
        subprocess.run(["ip", *command.split()], check=True)
        within("it is found", lambda: "'s': server.test is at 127.0.0.1" in reporter.said(), limit_s=2)
        reporter.stop()
        reporter.log.unlink()
    names.sendto(b"", names.getsockname())
    server.join()
    names.close()
    subprocess.run("ip link del d0", shell=True, check=True)


def reload_during_a_lookup(folder):
    """The server of names is asked and says nothing; its answer comes when nobody waits for it any more. Later ones are
    taken, and a lookup doesn't keep the daemon from ending."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as names:
        names.bind(("127.0.0.1", 0))
        names.settimeout(LIMIT_S)
        hosts, wrap = names_of_its_own(folder, f"nameserver 127.0.0.1:{names.getsockname()[1]}\n")
        pair = Pair(folder)
        pair.reporter.stop()
        pair.reporter.prefix = ("unshare", "-m", wrap)
        by_name = pair.reporter_config().replace(f'"127.0.0.1:{pair.relay.port}"', f'"server.test:{pair.port}"')
        pair.reporter.write(by_name)
        pair.reporter.start()
        for _ in range(3):
            question, asker = names.recvfrom(512)
            pair.reporter.reload(by_name)
            # that there is no such name
            names.sendto(question[:2] + b"\x81\x83" + question[4:], asker)
        names.recvfrom(512)
        pair.reporter.reload(pair.reporter_config())
        pair.arrives()
        hosts.write_text("127.0.0.1 server.test\n")
        pair.reporter.reload(by_name)
        within("it is found", lambda: f"server.test is at 127.0.0.1:{pair.port}\n" in pair.reporter.said())
        hosts.write_text("127.0.0.1 other.test\n")
        names.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while names.recvfrom(512):
                pass
        names.settimeout(LIMIT_S)
        pair.reporter.reload(by_name)
        names.recvfrom(512)
        check(pair.reporter.stop() == 0, "it ends in order")
        pair.stop()


def silence_is_said(folder):
    """A server with another key doesn't answer."""
    pair = Pair(folder)
    pair.reporter.stop()
    pair.reporter.write(pair.reporter_config(key=new_key()))
    pair.reporter.start()
    within("it is said", lambda: "pamsd: no answer from 's' at 127.0.0.1:" in pair.reporter.said())
    pair.server.write(pair.server_config(key=pair.reporter.file.read_text().split('key = "')[1]
                                         .split('"')[0]))
    pair.server.send(signal.SIGHUP)
    within("it answers", lambda: f"pamsd: 's' at 127.0.0.1:{pair.relay.port} answers\n" in pair.reporter.said())
    pair.stop()


def reload(folder):
    pair = Pair(folder)
    pair.arrives()
    key = new_key()
    pair.server.reload(pair.server_config(key=key))
    pair.loss(6000)
    within("the old key is nobody's", lambda: pair.server.dropped().get("unknown-peer"))
    pair.reporter.reload(pair.reporter_config(key=key))
    pair.arrives(9000)
    pair.stop()


def reload_of_a_bad_file(folder):
    pair = Pair(folder)
    pair.arrives()
    pair.server.write(pair.server_config(extra='prefixes = {"10.9.0.0/33"}'))
    pair.server.send(signal.SIGHUP)
    within("it is refused", lambda: "pamsd: the old configuration is kept\n"
           in pair.server.said())
    check(f"pamsd: {pair.server.file}:6: '10.9.0.0/33' has a prefix length that is not 0 to 32\n"
          in pair.server.said(), "with its line")
    pair.server.write("")       # only --tell reads it, for the socket's name
    pair.server.file.write_text(f'control = "{pair.server.socket}"\n' + pair.server_config())
    pair.arrives(9000)
    check(pair.server.peer()["sessions"] == 1, "the session lives")
    pair.stop()


def reload_of_a_directory(folder):
    """Where the configuration should be."""
    pair = Pair(folder)
    pair.arrives()
    text = pair.server.file.read_text()
    pair.server.file.unlink()
    pair.server.file.mkdir()
    pair.server.send(signal.SIGHUP)
    within("it is refused", lambda: "pamsd: the old configuration is kept\n" in pair.server.said())
    check(f"pamsd: {pair.server.file}: is a directory, not a file\n" in pair.server.said(),
          pair.server.said())
    pair.server.file.rmdir()
    pair.server.file.touch(mode=0o600)
    pair.server.file.write_text(text)
    pair.arrives(9000)
    pair.stop()


def reload_of_what_does_not_work(folder):
    pair = Pair(folder)
    pair.arrives()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        config = pair.server_config()
        pair.server.write(config.replace(f":{pair.port}", f":{port}"))
        pair.server.send(signal.SIGHUP)
        within("it is refused", lambda: "pamsd: the old configuration is kept\n"
               in pair.server.said())
    check(f"pamsd: can't receive at 127.0.0.1:{port}: Address already in use\n"
          in pair.server.said(), "with the reason")
    pair.arrives(9000)
    pair.stop()


def ends_in_order(folder):
    pair = Pair(folder)
    for daemon in (pair.server, pair.reporter):
        check(daemon.socket.stat().st_mode & 0o777 == 0o660, "the socket is its group's")
        check(daemon.stop() == 0, "the exit status is 0")
        check(not daemon.socket.exists(), "the socket is gone")


def start_at(folder, host, about="source", peer=" source = true"):
    """A server there, and a reporter about lo that knows it."""
    port, key = free_port(), new_key()
    server = Daemon(folder, "server", f'server {{\n\tlisten = {{"{host}:{port}"}}\n'
                    f'\tpeer "a" {{ key = "{key}"{peer} }}\n}}\n')
    reporter = Daemon(folder, "reporter",
                      f'reporter {{\n\tto "s" {{ address = "{host}:{port}" key = "{key}" }}\n'
                      f'\tinterface "lo" {{ about = {{"{about}"}} measure = "none" }}\n}}\n')
    return server, reporter


def address_that_comes_later(folder):
    """At boot an interface may have no address yet: the daemon doesn't end, and hears once it has."""
    for address, text in (("10.99.0.1", "10.99.0.1"), ("2001:db8::99", "[2001:db8::99]")):
        server, reporter = start_at(folder, text, address, "")
        subprocess.run(["ip", "addr", "add", address, "dev", "lo", *["nodad"] * (":" in address)], check=True)
        reporter.tell('{"interface": "lo", "loss_ms": 5000}')
        within("a report arrives", lambda: server.peer()["accepted"])
        subprocess.run(["ip", "addr", "del", address + ("/128" if ":" in address else "/32"), "dev", "lo"], check=True)
        reporter.stop()
        server.stop()


def address_that_is_deleted(folder):
    """Another one of the interface is reported from; one that is deprecated is not."""
    for address in ("10.99.1.1/32", "10.99.1.2/32", "10.99.1.9/32"):
        subprocess.run(["ip", "addr", "add", address, "dev", "lo"], check=True)
    server, reporter = start_at(folder, "10.99.1.9")

    # each is news
    times_ms = itertools.cycle(int(10000 * 1.25 ** number) for number in range(40))

    def comes_from(address):
        """The loss time that is told now becomes known of that address."""
        loss_ms = next(times_ms)
        reporter.tell(f'{{"interface": "lo", "loss_ms": {loss_ms}}}')
        time.sleep(0.1)
        return [path for path in server.peer()["paths"] if path["prefix"] == address + "/32"
                and abs(path.get("loss_ms", 0) - loss_ms) < 1500]

    def ip(command):
        subprocess.run(["ip", "addr", *command.split(), "dev", "lo"], check=True)

    within("it comes from the first address", lambda: comes_from("127.0.0.1"))
    ip("change 127.0.0.1/8 preferred_lft 0")
    within("the first one is deprecated", lambda: comes_from("10.99.1.1"))
    ip("del 10.99.1.1/32")
    within("the second one is deleted", lambda: comes_from("10.99.1.2"))
    ip("change 127.0.0.1/8 preferred_lft forever")
    within("the first one is there again", lambda: comes_from("127.0.0.1"))
    reporter.stop()
    server.stop()


def temporary_address_is_preferred(folder):
    """Where the system prefers IPv6's temporary addresses reports come from one, until it is deprecated."""
    Path("/proc/sys/net/ipv6/conf/lo/use_tempaddr").write_text("2")
    subprocess.run("ip addr add 2001:db8:5::1/64 dev lo mngtmpaddr nodad".split(), check=True)

    def temporary():
        shown = subprocess.run("ip -6 -o addr show dev lo temporary".split(), check=True,
                               capture_output=True, text=True).stdout
        return shown and shown.split()[3]

    address = within("there is a temporary address", temporary)
    server, reporter = start_at(folder, "[2001:db8:5::1]")

    def comes_from(wanted):
        reporter.tell('{"interface": "lo", "loss_ms": 5000}')
        return {path["prefix"] for path in server.peer()["paths"]} == wanted

    within("it comes from the temporary address",
           lambda: comes_from({address.split("/")[0] + "/128"}))
    reporter.stop()
    server.stop()


def unique_local_address_comes_last(folder):
    """A source of fc00::/7 reaches nobody beyond the site: the global one is taken, whichever comes first."""
    addresses = ["fd00:6::1/128", "2001:db8:6::1/128"]
    for order in (addresses, addresses[::-1]):
        for address in order:
            subprocess.run(f"ip addr add {address} dev lo nodad".split(), check=True)
        server, reporter = start_at(folder, "[2001:db8:6::1]")
        reporter.tell('{"interface": "lo", "loss_ms": 5000}')
        paths = within("it is reported", lambda: server.peer()["paths"])
        check([path["prefix"] for path in paths] == ["2001:db8:6::1/128"], f"{order}: {paths}")
        for daemon in (reporter, server):
            daemon.stop()
        for address in order:
            subprocess.run(f"ip addr del {address} dev lo".split(), check=True)


def status_of_thousands(folder):
    """Is told to the end, to who reads it."""
    peers = subprocess.run([HELPERS / "reporters", "--config", "10700"], check=True, capture_output=True, text=True).stdout
    server = Daemon(folder, "server", f'server {{\n\tlisten = {{"127.0.0.1:{free_port()}"}}\n{peers}}}\n')
    check(len(server.status()["server"]["peers"]) == 10700, "some are missing")
    check(len(json.dumps(server.status(), separators=(",", ":"))) > 1 << 20, "it is too short to tell anything")
    server.stop()


def many_sessions_at_once(folder):
    """The kernel learns of them ten times a second at most: its program is made anew each time, for all sessions."""
    peers = subprocess.run([HELPERS / "reporters", "--config", "200"], check=True, capture_output=True, text=True).stdout
    prefix, fault = with_faults(folder, "count")
    port, start = free_port(), time.monotonic()
    server = Daemon(folder, "server", f'server {{\n\tlisten = {{"127.0.0.1:{port}"}}\n{peers}}}\n', prefix=prefix)
    subprocess.run([HELPERS / "reporters", str(port), "200", "2", "2"], check=True, capture_output=True)
    sessions = sum(peer["sessions"] for peer in server.status()["server"]["peers"])
    steered = len(Path(f"{fault}.steered").read_text()) // 2
    check(sessions >= 200 and 1 < steered <= 2 + 10 * (time.monotonic() - start), f"{steered} times for {sessions} sessions")
    server.stop()


def kernel_that_is_silent(folder):
    """What is asked of the kernel and never answered keeps nobody from ending the daemon."""
    reporter, fault = reporter_with_faults(folder, 'about = {"source"}')
    # so long it doesn't ask for the module again
    time.sleep(0.3)
    fault.write_text("silent")
    # This makes it ask; it may be too busy with that to answer another.
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(reporter.socket))
        client.sendall(b'{"interface": "lo", "loss_ms": 9000}\n')
        client.recv(1000)
        time.sleep(0.5)
        check(reporter.stop() == 0, "SIGTERM is obeyed")


def path_manager_that_is_silent(folder):
    """Likewise of the path manager, which a cap makes it ask all the time."""
    prefix, fault = with_faults(folder)
    daemon = Daemon(folder, "caps", f'state = "{folder}/caps.json"\ncap "a" {{ interface = "lo" then = "forbid" '
                    'hours = {"00:00-12:00", "12:00-24:00"} }\n', prefix=prefix)
    fault.write_text("silent")
    within("nothing is answered", lambda: "can't be read" in daemon.said())
    check(daemon.stop() == 0, "SIGTERM is obeyed")


def kernel_that_is_short(folder):
    """Messages shorter than their headers say nothing; a sanitized daemon would end at what is behind them."""
    reporter, fault = reporter_with_faults(folder, 'about = {"10.99.2.1"} measure = "qdisc"')
    fault.write_text("short")
    subprocess.run("ip addr add 10.99.2.1/32 dev lo".split(), check=True)
    for loss_ms in (9000, 20000):
        reporter.tell(f'{{"interface": "lo", "loss_ms": {loss_ms}}}')
    fault.write_text("")
    check("interfaces" in reporter.status()["reporter"], f"{reporter.status()}")
    check(reporter.stop() == 0, "it ends in order")


def kernel_that_is_late(folder):
    """An answer that comes after its question was given up isn't taken for that to the next one: the addresses would be gone."""
    port, key = free_port(), new_key()
    server = Daemon(folder, "server", f'server {{ listen = {{"127.0.0.1:{port}"}} peer "a" {{ key = "{key}" prefixes = {{"127.0.0.1"}} }} }}\n')
    reporter, fault = reporter_with_faults(folder, 'about = {"127.0.0.1"} measure = "none"',
                                           server=f'address = "127.0.0.1:{port}" key = "{key}"')

    def arrives(loss_ms):
        reporter.tell(f'{{"interface": "lo", "loss_ms": {loss_ms}}}')
        within(f"a loss in {loss_ms} ms arrives",
               lambda: any(0 <= loss_ms - path.get("loss_ms", 0) < 5000 for path in server.peer()["paths"]))

    arrives(20000)
    reporter.send(signal.SIGSTOP)
    # more news than its socket has room for: it has to ask
    done = subprocess.run(["ip", "-batch", "-"], input="".join(f"link set lo alias {number}\n" for number in range(400)),
                          check=False, text=True, capture_output=True)
    fault.write_text("late")
    reporter.send(signal.SIGCONT)
    if done.returncode:
        raise Skipped(f"no news: {done.stderr}")
    within("it asks", Path(f"{fault}.held").exists)
    fault.write_text("")
    arrives(40000)
    # the question is put again after a second
    time.sleep(1.5)
    arrives(60000)
    for daemon in (reporter, server):
        check(daemon.stop() == 0, "it ends in order")


def links_lost_with_their_news(folder):
    """While the daemon stands still there are more news than its socket has room for: an interface is deleted, one gets
    another name, one comes, and one is made anew. What it takes for there is what is there, whatever old news come after."""
    def ip(command, check=True):
        return subprocess.run(["ip", *command.split()], check=check, capture_output=True).returncode

    def up():
        return {one["name"]: one["up"] for one in reporter.status()["reporter"]["interfaces"]}

    def make(name):
        ip(f"link add {name} type veth peer name {name}p")
        for end in (f"{name}p", name):
            ip(f"link set {end} up")

    if ip("link add gone type veth peer name gonep", check=False):
        raise Skipped("no veth here")
    ip("link del gone")
    for name in ("gone", "named", "anew"):
        make(name)
    names = ("gone", "named", "anew", "later", "other")
    interfaces = "".join(f'\tinterface "{name}" {{ about = {{"source"}} measure = "none" }}\n' for name in names)
    reporter = Daemon(folder, "reporter", f'reporter {{\n\tto "s" {{ address = "127.0.0.1:{free_port()}" key = "{new_key()}" }}\n'
                      f'{interfaces}}}\n')
    within("three are up", lambda: up() == {"gone": True, "named": True, "anew": True, "later": False, "other": False})
    reporter.send(signal.SIGSTOP)
    # each of these is news of 1 KB and more, and all but the first ones are lost
    for number in range(100):
        ip(f"link set gone alias {number}")
    ip("link del gone")
    ip("link set named down")
    ip("link set named name other")
    ip("link set other up")
    ip("link del anew")
    make("anew")
    make("later")
    reporter.send(signal.SIGCONT)
    within("it knows what is there", lambda: up() == {
        "gone": False, "named": False, "anew": True, "later": True, "other": True})
    make("gone")
    within("it comes again", lambda: up()["gone"])
    for name in ("gone", "other", "anew", "later"):
        ip(f"link del {name}")
    within("none is left", lambda: not any(up().values()))
    check(reporter.stop() == 0, "it ends in order")


def routes_are_asked_meanwhile(folder):
    """What is read again after lost news has a change, which is reported at once: the kernel is asked for the source of a route
    while it goes on telling of a hundred interfaces. The daemon waits for nothing that never comes."""
    def ip(command):
        return subprocess.run(["ip", *command.split()], check=False, capture_output=True).returncode

    def is_up():
        return reporter.status()["reporter"]["interfaces"][0]["up"]

    if any(map(ip, ("link add way type veth peer name wayp", "link set wayp up", "link set way up",
                    "address add 10.98.0.1/24 dev way", "address add 10.98.0.2/24 dev way",
                    "link add goes type veth peer name goesp", "link set goesp up", "link set goes up"))):
        raise Skipped("no veth here")
    for number in range(50):
        ip(f"link add many{number} type veth peer name others{number}")
    reporter, fault = reporter_with_faults(folder, 'about = {"source"} measure = "none"', "goes",
                                           f'address = "10.98.0.9:{free_port()}" key = "{new_key()}" via = {{"way"}}')
    fault.write_text("count")
    within("it is up", is_up)
    for goes in ("down", "up", "down"):
        reporter.send(signal.SIGSTOP)
        # more news than its socket has room for
        subprocess.run(["ip", "-batch", "-"], input="".join(f"link set way alias {number}\n" for number in range(400)),
                       check=True, text=True)
        ip(f"link set goes {goes}")
        reporter.send(signal.SIGCONT)
        within(f"it is {goes}", lambda: is_up() == (goes == "up"))
    check(not Path(f"{fault}.waits").exists(), "it waited for an answer in vain")
    check(reporter.stop() == 0, "it ends in order")
    for name in ("goes", "way", *(f"many{number}" for number in range(50))):
        ip(f"link del {name}")


def two_at_one_socket(folder):
    pair = Pair(folder)
    second = subprocess.run([pair.server.process.args[0], "-c", pair.reporter.file], check=False,
                            capture_output=True, text=True, timeout=LIMIT_S)
    check(second.returncode == 1, "the second one ends")
    check(f"pamsd: the control socket {pair.reporter.socket} can't be made: Address already in use\n"
          in second.stderr, second.stderr)
    pair.arrives()
    pair.reporter.stop(signal.SIGKILL)
    check(pair.reporter.socket.exists(), "a killed one leaves its socket")
    pair.reporter.start()
    pair.arrives(9000)
    pair.stop()


def lines_that_are_refused(folder):
    pair = Pair(folder)
    for line, error in (
            ("nonsense", "this is not JSON"),
            ("[]", "this is not an object of JSON"),
            ("{}", "interface is missing or not a string"),
            ('{"interface": 5, "loss_ms": 1}', "interface is missing or not a string"),
            ('{"interface": "lo"}', "one of loss_ms and no_loss is needed"),
            ('{"interface": "lo", "loss_ms": 1, "no_loss": true}',
             "one of loss_ms and no_loss is needed"),
            ('{"interface": "lo", "loss_ms": -1}',
             "loss_ms is not a whole number from 0 to 86400000"),
            ('{"interface": "lo", "loss_ms": 86400001}',
             "loss_ms is not a whole number from 0 to 86400000"),
            ('{"interface": "lo", "loss_ms": 1.5}',
             "loss_ms is not a whole number from 0 to 86400000"),
            ('{"interface": "lo", "no_loss": false}', "no_loss can only be true"),
            ('{"interface": "lo", "loss_ms": 1, "ttl_ms": 0}',
             "ttl_ms is not a whole number from 1 to 86400000 beside loss_ms"),
            ('{"interface": "lo", "loss_ms": 1, "spread_ms": -1}',
             "spread_ms is not a whole number from 0 to 86400000 beside loss_ms"),
            ('{"interface": "lo", "no_loss": true, "spread_ms": 1}',
             "spread_ms is not a whole number from 0 to 86400000 beside loss_ms"),
            ('{"interface": "eth9", "loss_ms": 1}', "this interface is not configured"),
            ('{"interface": "lo", "loss": 1}', "this name is not known"),
            ('{"command": "stop"}', 'the only command is "status", alone')):
        answer = pair.reporter.tell(line)
        check(answer.get("error") == error, f"{line}: {answer}")
    answer = pair.server.tell('{"interface": "lo", "loss_ms": 1}')
    check(answer == {"error": "no reporter is configured here"}, f"{answer}")
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(LIMIT_S)
        client.connect(str(pair.reporter.socket))
        try:
            client.sendall(b"x" * 100000)
            cut = client.recv(1) == b""
        except OSError:
            cut = True
        check(cut, "a line without end is cut off")
    pair.arrives()
    pair.stop()


def prediction_that_one_section_takes(folder):
    """An interface may be a path, or one to report about, or both: it is an error only if it is neither."""
    if subprocess.run("ip link add d0 type veth peer name d1 && ip address add 192.0.2.1/24 dev d0 && ip link set d0 up && "
                      "ip link set d1 up && ip route add default via 192.0.2.2 dev d0", shell=True, check=False).returncode:
        raise Skipped("no interface can be made")
    daemon = Daemon(folder, "both", f'state = "{folder}/caps.json"\npaths {{ first = false }}\n'
                    'reporter { interface "lo" { measure = "none" local = true } }')
    within("it is a path", lambda: daemon.status()["paths"]["paths"])
    for interface in ("d0", "lo"):
        answer = daemon.tell(f'{{"interface": "{interface}", "loss_ms": 60000}}')
        check(answer == {"ok": True}, f"{interface}: {answer}")
    check(daemon.status()["paths"]["paths"][0]["loss_predicted"], "it counts")
    answer = daemon.tell('{"interface": "d1", "loss_ms": 60000}')
    check(answer == {"error": "this interface is not configured"}, f"{answer}")
    daemon.stop()
    subprocess.run("ip link del d0", shell=True, check=True)


def no_cgroup_v2_is_said(folder):
    """Without it no connection begins elsewhere than the routes say, and the status says so."""
    hide = ("unshare", "-m", "sh", "-c", 'mount -t tmpfs none /sys/fs/cgroup && exec "$0" "$@"')
    if subprocess.run([*hide, "true"], check=False, capture_output=True).returncode:
        raise Skipped("no mounts of its own")
    daemon = Daemon(folder, "paths", f'state = "{folder}/caps.json"\npaths {{ }}\n', prefix=hide)
    if "without libbpf" in daemon.said():
        raise Skipped("this pamsd has no libbpf")
    check(not daemon.status()["paths"]["chooses_first"], "it can't")
    why = "cgroup v2 isn't mounted here"
    check(daemon.status()["paths"]["first_why_not"] == why, daemon.status())
    check(f"pamsd: connections begin where the routes say: {why}; first-by-metric, pamsd.conf(5), takes no BPF\n" in daemon.said(), daemon.said())
    doctor = subprocess.run([HELPERS.parents[1] / "tools/pamsctl", "--control", str(daemon.socket), "doctor"], check=False, capture_output=True, text=True)
    check(f"connections begin where the routes say: {why}\n" in doctor.stdout and "first-by-metric" in doctor.stdout, doctor.stdout)
    daemon.stop()
    daemon = Daemon(folder, "metric", f'state = "{folder}/caps.json"\npaths {{ first-by-metric = true }}\n', prefix=hide)
    check(daemon.status()["paths"]["chooses_first"] and daemon.status()["paths"]["first_by_metric"], "it can")
    check(f"pamsd: {why}: a default route in the main table says where connections begin, for all traffic" in daemon.said(), daemon.said())
    daemon.stop()


def cgroup_v2_beside_v1(folder):
    """A hybrid hierarchy has it below /sys/fs/cgroup."""
    place = ("unshare", "-mC", "sh", "-c", 'mount -t tmpfs none /sys/fs/cgroup && mkdir /sys/fs/cgroup/unified && '
             'mount -t cgroup2 none /sys/fs/cgroup/unified && exec "$0" "$@"')
    if subprocess.run([*place, "true"], check=False, capture_output=True).returncode:
        raise Skipped("no mounts of its own")
    daemon = Daemon(folder, "paths", f'state = "{folder}/caps.json"\npaths {{ }}\n', prefix=place)
    check("cgroup" not in daemon.said(), daemon.said())
    daemon.stop()


def paths_without_a_file(folder):
    """A link is a path though what pamsd adds can't be written down; once it can it is."""
    def made():
        said = subprocess.run(["ip", "mptcp", "endpoint"], check=True, capture_output=True, text=True).stdout
        return "10.99.0.1" in said

    state = Path(folder) / "state"
    state.mkdir()
    if subprocess.run("ip link add p0 type veth peer name p1 && ip link set p1 up && ip link set p0 up && ip mptcp endpoint",
                      shell=True, check=False, capture_output=True).returncode:
        raise Skipped("no veth or no MPTCP here")
    daemon = Daemon(folder, "paths", f'state = "{state}/caps.json"\npaths {{ }}\n')
    for file in state.iterdir():
        file.unlink()
    state.rmdir()
    subprocess.run("ip addr add 10.99.0.1/24 dev p0 && ip route add default via 10.99.0.2 dev p0", shell=True, check=True)
    within("it is a path", made)
    why = f"{state}/paths.json can't be written: if pamsd is killed, the paths that it adds stay: No such file or directory\n"
    check(daemon.said().count(why) == 1, daemon.said())
    state.mkdir()
    subprocess.run("ip route add 192.0.2.0/24 dev p0", shell=True, check=True)
    within("it is written down", (state / "paths.json").exists)
    check("10.99.0.1" in (state / "paths.json").read_text(), "it is in the file")
    check(daemon.stop() == 0 and not made(), "it ends in order")
    subprocess.run("ip link del p0", shell=True, check=True)


def uncertain_loss(folder):
    """The server learns the time and its standard deviation, and when either changes."""
    pair = Pair(folder)
    for loss_ms, spread_ms in ((20000, 4000), (20000, 9000), (10000, 9000)):
        answer = pair.reporter.tell(f'{{"interface": "lo", "loss_ms": {loss_ms}, '
                                    f'"spread_ms": {spread_ms}}}')
        check(answer == {"ok": True}, f"the reporter says {answer}")
        within(f"a loss in {loss_ms} ms arrives", lambda: pair.losses(loss_ms))
        within(f"its spread of {spread_ms} ms arrives", lambda: all(
            path.get("spread_ms") == spread_ms for path in pair.losses(loss_ms)))
    pair.stop()


def loss_that_is_over(folder):
    """Nobody takes a predicted loss back: it holds for its ttl, and then there is none. A prediction after that is one."""
    pair = Pair(folder)

    def has_loss():
        return "loss_ms" in pair.reporter.status()["reporter"]["interfaces"][0]

    for _ in range(2):
        pair.reporter.tell('{"interface": "lo", "loss_ms": 100, "ttl_ms": 2500}')
        check(has_loss(), "it is no loss")
        within("it arrives", lambda: pair.losses(100))
        within("it is over", lambda: not has_loss(), 6)
        within("it is at the server", lambda: not pair.losses(100))
    pair.stop()


def plugin(folder):
    program = Path(folder) / "predict"
    program.write_text(f'#!/bin/sh\necho "$PAMSD_INTERFACE" >>{folder}/started\n'
                       'echo nonsense\necho "{\\"loss_ms\\": 7000}"\nexec sleep 2\n')
    program.chmod(0o755)
    pair = Pair(folder, interface=f'plugin = {{"{program}"}}')
    within("its loss time arrives", lambda: pair.losses(7000))
    check(f"pamsd: lo: the plugin {program} wrote a line that is refused: this is not JSON\n"
          in pair.reporter.said(), pair.reporter.said())
    within("it is started again",
           lambda: (Path(folder) / "started").read_text() == "lo\nlo\n")
    check(f"pamsd: lo: the plugin {program} has ended; again in 1 s\n" in pair.reporter.said(),
          pair.reporter.said())
    check(pair.reporter.said().count("is refused") == 1, "said once")
    pair.stop()


def plugin_that_repeats_itself(folder):
    """The same prediction 100 times a second is reported as one."""
    program = Path(folder) / "predict"
    program.write_text("""#!/usr/bin/python3
import time
end = time.monotonic() + 30
while True:
    print('{"loss_ms": %d}' % ((end - time.monotonic()) * 1000), flush=True)
    time.sleep(0.01)
""")
    program.chmod(0o755)
    pair = Pair(folder, interface=f'plugin = {{"{program}"}}')
    within("its loss time arrives", lambda: pair.losses(30000))
    time.sleep(0.5)
    before = len(pair.relay.kept_up)
    time.sleep(2)
    count = len(pair.relay.kept_up) - before
    check(count < 20, f"{count} reports in 2 s")
    pair.stop()


def plugin_that_never_pauses(folder):
    """It is read slowly, and takes no core; what it says arrives."""
    program = Path(folder) / "predict"
    program.write_text("""#!/bin/sh\nexec yes '{"loss_ms": 7000}'\n""")
    program.chmod(0o755)
    pair = Pair(folder, interface=f'plugin = {{"{program}"}}')
    within("its loss time arrives", lambda: pair.losses(7000))
    before = cpu_s(pair.reporter.process.pid)
    time.sleep(2)
    used = cpu_s(pair.reporter.process.pid) - before
    check(used < 0.5, f"{used:.2f} s of 2 s")
    check(pair.losses(7000), "it still arrives")
    pair.stop()


def flood_of_answers(folder):
    """Who sends the reporter datagrams without an end keeps nobody else waiting."""
    prefix, fault = with_faults(folder)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        reporter = Daemon(folder, "reporter",
                          f'reporter {{\n\tto "s" {{ address = "127.0.0.1:{server.getsockname()[1]}" key = "{new_key()}" }}\n'
                          '\tinterface "lo" { about = {"127.0.0.1"} measure = "none" }\n}\n', prefix=prefix)
        reporter.tell('{"interface": "lo", "loss_ms": 9000}')
        address = server.recvfrom(2000)[1]
        fault.write_text("flood")
        server.sendto(b"x", address)
        for _ in range(10):
            reporter.tell('{"interface": "lo", "loss_ms": 9000}')
        check(reporter.stop() == 0, "SIGTERM is obeyed")


def client_that_has_said_all(folder):
    """It gets the rest of its answers after it has closed its side."""
    daemon = Daemon(folder, "server", f'server {{ listen = {{"127.0.0.1:{free_port()}"}} ' + "".join(
        f'peer "peer{number}" {{ key = "{new_key()}" }} ' for number in range(40)) + "}\n")
    descriptors = len(list(Path(f"/proc/{daemon.process.pid}/fd").iterdir()))
    # more than the socket has room for, and than may wait unread
    count = 400
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(LIMIT_S)
        client.connect(str(daemon.socket))
        client.sendall(b'{"command": "status"}\n' * count)
        client.shutdown(socket.SHUT_WR)
        with client.makefile() as answers:
            lines = answers.readlines()
    check(len(lines) == count and all("server" in json.loads(line) for line in lines), f"{len(lines)} of {count} answers")
    within("it is forgotten", lambda: len(list(Path(f"/proc/{daemon.process.pid}/fd").iterdir())) <= descriptors)
    check(daemon.stop() == 0, "it ends in order")


def idle_clients_make_room(folder):
    """Those that hold the control socket and say nothing lock nobody out; who was answered last stays longest."""
    pair = Pair(folder)
    with contextlib.ExitStack() as stack:
        clients = []
        for _ in range(40):
            client = stack.enter_context(socket.socket(socket.AF_UNIX))
            client.connect(str(pair.server.socket))
            clients.append(client)
        check(pair.server.status(), "it answers")
        clients[-1].settimeout(5)
        for _ in range(40):
            check(pair.server.status(), "it answers")
            clients[-1].sendall(b'{"command": "status"}\n')
            check(clients[-1].recv(1), "who says something stays")
    pair.stop()


def descriptors_that_are_short(folder):
    """Whoever connects then is taken once there is one again, and wakes the daemon only now and then until that."""
    daemon, fault = reporter_with_faults(folder, 'about = {"10.99.2.1"} measure = "none"')
    refused = Path(f"{fault}.refused")

    def count():
        return len(refused.read_text()) // 2 if refused.exists() else 0

    fault.write_text("full")
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(LIMIT_S)
        client.connect(str(daemon.socket))
        client.sendall(b'{"command": "status"}\n')
        within("it tries again", lambda: count() > 1)
        check(count() < 5, f"it tried {count()} times")
        fault.write_text("")
        check(client.recv(1), "it is answered")
    check(daemon.stop() == 0, "it ends in order")


def many_hangups_are_one_reload(folder):
    """Those that come during a reload, which takes its time with 400 peers."""
    said = "the configuration was read again"
    peers = subprocess.run([HELPERS / "reporters", "--config", "400"], check=True, capture_output=True, text=True).stdout
    server = Daemon(folder, "server", f'server {{\nlisten = {{"127.0.0.1:{free_port()}"}}\n{peers}}}\n')
    start = time.monotonic()
    server.send(signal.SIGHUP)
    within("it is reloaded", lambda: said in server.said())
    reload_s = time.monotonic() - start
    for _ in range(100):
        server.send(signal.SIGHUP)
        time.sleep(0.0005)
    time.sleep(0.2 + 100 * reload_s)
    count = server.said().count(said)
    check(1 < count < 40, f"{count} reloads of {1000 * reload_s:.0f} ms")
    server.send(signal.SIGHUP)
    within("another is another", lambda: server.said().count(said) == count + 1)
    check(server.stop() == 0, "it ends in order")


def plugin_that_does_not_start(folder):
    program = Path(folder) / "predict"
    program.write_text("#!/nonesuch\n")
    program.chmod(0o755)
    pair = Pair(folder, interface=f'plugin = {{"{program}"}}')
    within("it is said", lambda: "has ended; again in 2 s" in pair.reporter.said())
    pair.arrives()
    check(pair.reporter.stop() == 0, "it ends in order")
    pair.stop()


def missing_module_is_said_once(folder):
    pair = Pair(folder)
    pair.arrives()
    pair.arrives(9000)
    if pair.server.status()["kernel"]["loaded"]:
        check("isn't loaded" not in pair.server.said(), "the module is there")
    else:
        check(pair.server.said() == "pamsd: the module mptcp_pams isn't loaded: reports are received, "
              "but have no effect until it is\n", pair.server.said())
    check(pair.reporter.said() == "", pair.reporter.said())
    pair.stop()


if __name__ == "__main__":
    sys.exit(run_cases_about_lo([
        session_and_loss, no_loss_takes_it_back, lost_reports_are_repeated, silent_when_idle,
        server_restarts, blocked_on_the_way, about_its_source, cost_of_a_cap_is_told, burst_of_loss,
        two_reporters_with_one_key, several_addresses, address_that_fails_is_said_once, server_by_name, server_by_name_after_a_boot,
        reload_during_a_lookup, silence_is_said, reload,
        reload_of_a_bad_file, reload_of_a_directory, reload_of_what_does_not_work, ends_in_order,
        address_that_comes_later, address_that_is_deleted, unique_local_address_comes_last,
        temporary_address_is_preferred, status_of_thousands, many_sessions_at_once,
        kernel_that_is_silent, path_manager_that_is_silent, kernel_that_is_short, kernel_that_is_late, links_lost_with_their_news,
        routes_are_asked_meanwhile, two_at_one_socket,
        lines_that_are_refused, prediction_that_one_section_takes, no_cgroup_v2_is_said, cgroup_v2_beside_v1,
        paths_without_a_file,
        uncertain_loss, loss_that_is_over, plugin, plugin_that_repeats_itself,
        plugin_that_never_pauses, flood_of_answers, client_that_has_said_all, idle_clients_make_room, descriptors_that_are_short, many_hangups_are_one_reload,
        plugin_that_does_not_start,
        missing_module_is_said_once]))
