#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The running daemon keeps paths and knows its links, in this machine's kernel, with MPTCP connections to a server
behind two of them. Prints TAP.

    10.99.1.1 p1 ---- q1   default routes by both
    10.99.2.1 p2 ---- q2   10.99.0.1

    selftests/pamsd/paths.py [CASE...]
"""
import signal
import socket
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from daemon import (HELPERS, LIMIT_S, PAMSD, Daemon, Skipped, check, free_port, new_key, run_cases_about_lo, within)  # noqa: E402

MPTCP = 262
# 2 endpoints; of each 3 rules and 2 routes
BOTH, NONE = (2, 10), (0, 0)
SERVER = """
import socket
import threading

def echo(client):
    while data := client.recv(65536):
        client.sendall(data)

listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
listener.bind(("10.99.0.1", 80))
listener.listen()
print("listens", flush=True)
while True:
    threading.Thread(target=echo, args=listener.accept()[:1], daemon=True).start()
"""


def ip(lines, *prefix):
    done = subprocess.run([*prefix, "ip", "-batch", "-"], input="\n".join(lines) + "\n", check=False, text=True,
                          capture_output=True)
    if done.returncode:
        raise Skipped(f"no such links here: {done.stderr}")


class Server:
    """In another network namespace; it answers each byte with one."""

    def __init__(self):
        self.process = subprocess.Popen(["unshare", "-n", sys.executable, "-c",
                                         f"print('is there', flush=True)\ninput()\n{SERVER}"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "is there\n":
            raise Skipped("no network of the server's own")
        there = ["link set lo up", "addr add 10.99.0.1/32 dev lo"]
        for link in (1, 2):
            ip([f"link add p{link} type veth peer name q{link} netns {self.process.pid}",
                f"addr add 10.99.{link}.1/24 dev p{link}", f"link set p{link} up"])
            there += [f"addr add 10.99.{link}.2/24 dev q{link}", f"link set q{link} up"]
        ip(there, "nsenter", "-n", "-t", str(self.process.pid))
        ip([f"route add default via 10.99.{link}.2 dev p{link} metric {link}" for link in (1, 2)])
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        if self.process.stdout.readline() != "listens\n":
            raise Skipped("no MPTCP here")

    def end(self):
        ip(["link del p1", "link del p2"])
        self.process.kill()
        self.process.wait()


class Connection:
    def __init__(self, count=2, source="", protocol=MPTCP):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol)
        self.socket.settimeout(LIMIT_S)
        self.socket.bind((source, 0))
        self.socket.connect(("10.99.0.1", 80))
        self.echo()
        within(f"it has {count} subflows", lambda: len(subflows()) == count)

    def echo(self):
        for _ in range(5):
            self.socket.sendall(b"x")
            check(self.socket.recv(1) == b"x", "the server answers")

    def close(self):
        self.socket.close()
        within("it is closed", lambda: not subflows())


def shown(command):
    return subprocess.run(command, shell=True, check=True, capture_output=True, text=True).stdout


def kept():
    """Endpoints; rules and routes that are pamsd's."""
    return (shown("ip mptcp endpoint").count("subflow"),
            shown("ip rule; ip route show table all").count("proto 173"))


def is_kept(what):
    check(kept() == what, f"endpoints, and rules and routes: {kept()} in place of {what}")


def subflows():
    """Established ones to the server, by address and port of this end."""
    return sorted(line.split()[2] for line in shown("ss -Htn state established dst 10.99.0.1").splitlines())


def config(folder, more=""):
    return f'state = "{folder}/caps.json"\npaths {{ first = false }}\n{more}'


def start(folder):
    daemon = Daemon(folder, "paths", config(folder))
    within("there are paths", lambda: kept() == BOTH)
    return daemon


def start_without_paths(daemon, folder):
    """The next one, which takes away what was left."""
    daemon.write(f'state = "{folder}/caps.json"\nserver {{ listen = {{"127.0.0.1:{free_port()}"}} '
                 f'peer "a" {{ key = "{new_key()}" }} }}\n')
    daemon.start()
    is_kept(NONE)


def stop(daemon, left):
    check(daemon.stop() == 0, "it ends in order")
    is_kept(left)


def open_connections_outlive_it(folder):
    """Its end and its next start cost a connection no subflow; what none uses goes."""
    server = Server()
    daemon = start(folder)
    connection = Connection()
    before = subflows()
    stop(daemon, BOTH)
    connection.echo()
    daemon.start()
    connection.echo()
    check(subflows() == before, f"{before} became {subflows()}")
    is_kept(BOTH)
    ip(["link add p3 type veth peer name q3", "link set q3 up", "link set p3 up", "addr add 10.99.3.1/24 dev p3",
        "route add default via 10.99.3.2 dev p3 metric 9"])
    within("there is a third path", lambda: kept() == (3, 15))
    stop(daemon, BOTH)
    connection.echo()
    check(subflows() == before, f"{before} became {subflows()}")
    ip(["link del p3"])
    daemon.start()
    connection.close()
    stop(daemon, NONE)
    server.end()


def what_is_left_can_be_cleaned(folder):
    """By --clean, unless another pamsd keeps it, and by the next one that keeps no paths."""
    server = Server()
    daemon = start(folder)
    connection = Connection()
    clean = [PAMSD, "-c", daemon.file, "--clean"]
    done = subprocess.run(clean, check=False, capture_output=True, text=True)
    check(done.returncode == 1 and "another pamsd keeps" in done.stderr, f"{done}")
    stop(daemon, BOTH)
    done = subprocess.run(clean, check=False, capture_output=True, text=True)
    check(done.returncode == 0, f"{done}")
    is_kept(NONE)
    connection.close()
    daemon.start()
    within("there are paths", lambda: kept() == BOTH)
    connection = Connection()
    stop(daemon, BOTH)
    start_without_paths(daemon, folder)
    connection.close()
    daemon.stop()
    server.end()


def what_ordinary_tcp_keeps_can_be_cleaned(folder):
    """An open ssh keeps the rules of its address, and no endpoint."""
    server = Server()
    daemon = start(folder)
    connection = Connection(1, "10.99.2.1", socket.IPPROTO_TCP)
    stop(daemon, (0, 5))
    connection.echo()
    start_without_paths(daemon, folder)
    daemon.stop()
    connection.close()
    server.end()


def caps_hold_over_its_end(folder):
    """A restart lets no connection onto a link that a cap forbids, nor makes a backup an equal."""
    server = Server()
    daemon = start(folder)
    daemon.reload(config(folder, 'cap "c" { interface = "p1" then = "forbid" }'))
    within("there is one path", lambda: kept() == (1, 5))
    connection = Connection(1, "10.99.2.1")
    before = subflows()
    stop(daemon, (1, 5))
    connection.echo()
    check(subflows() == before, f"{before} became {subflows()}")
    daemon.write(config(folder, 'cap "c" { interface = "p1" then = "backup" }'))
    daemon.start()
    within("there is a backup", lambda: kept() == BOTH and "backup" in shown("ip mptcp endpoint"))
    within("it has two subflows", lambda: len(subflows()) == 2)
    stop(daemon, BOTH)
    check("backup" in shown("ip mptcp endpoint"), "it is no backup any more")
    daemon.start()
    daemon.reload(config(folder, 'cap "c" { interface = "p1" then = "cost 1" }'))
    within("it isn't a backup", lambda: "backup" not in shown("ip mptcp endpoint"))
    connection.close()
    stop(daemon, NONE)
    server.end()


def backup_survives_a_refused_reload(folder):
    """The paths were taken away for a configuration without them, which can't be used."""
    server = Server()
    text = config(folder, 'cap "c" { interface = "p1" then = "backup" }')
    daemon = start(folder)
    daemon.reload(text)
    within("there is a backup", lambda: shown("ip mptcp endpoint").count("backup") == 1)
    daemon.write(text.replace("paths { first = false }", f'control = "{folder}/none/socket"'))
    daemon.send(signal.SIGHUP)
    within("it is refused", lambda: "the old configuration is kept" in daemon.said())
    within("there is a backup", lambda: kept() == BOTH and shown("ip mptcp endpoint").count("backup") == 1)
    daemon.write(text.replace("paths { first = false }", ""))
    daemon.send(signal.SIGHUP)
    within("nothing is left", lambda: kept() == NONE)
    daemon.reload(config(folder))
    within("there is no backup", lambda: kept() == BOTH and "backup" not in shown("ip mptcp endpoint"))
    stop(daemon, NONE)
    server.end()


def mptcp_without_ipv6(folder):
    """As in Raspberry Pi OS: what leaves from the address leaves by its link, and no endpoint is asked for."""
    server = Server()
    ip(["addr add fd00:1::1/64 dev p1 nodad", "route add default via fd00:1::2 dev p1"])
    daemon = Daemon(folder, "paths", config(folder))
    within("IPv6 has an endpoint", lambda: kept()[0] == 3)
    with_ipv6 = kept()[1]
    stop(daemon, NONE)
    daemon = Daemon(folder, "paths", config(folder), prefix=("env", f"LD_PRELOAD={HELPERS}/no_mptcp6.so", "ASAN_OPTIONS=verify_asan_link_order=0"))
    check(len(daemon.status()["paths"]["paths"]) == 3, "there are three paths")
    is_kept((2, with_ipv6))
    check("refuses" not in daemon.said(), daemon.said())
    stop(daemon, NONE)
    server.end()


def address_given_anew_is_unknown(folder):
    """However soon: what was measured from it was another network's."""
    server = Server()
    # where no BPF program runs it looks at the sockets each second
    hide = ("unshare", "-m", "sh", "-c", 'mount -t tmpfs none /sys/fs/cgroup && exec "$0" "$@"')
    if subprocess.run([*hide, "true"], check=False, capture_output=True).returncode:
        raise Skipped("no mounts of its own")
    daemon = Daemon(folder, "paths", f'state = "{folder}/caps.json"\npaths {{ first-by-metric = true }}\n', prefix=hide)

    def round_trip(link):
        return next((path.get("rtt_us", 0) for path in daemon.status()["paths"]["paths"]
                     if path["address"] == f"10.99.{link}.1/32"), None)

    connection = Connection()
    within("both are known", lambda: round_trip(1) and round_trip(2))
    connection.close()
    ip(["addr del 10.99.2.1/24 dev p2", "addr add 10.99.2.1/24 dev p2", "route add default via 10.99.2.2 dev p2 metric 2"])
    within("it is forgotten", lambda: round_trip(2) == 0)
    check(round_trip(1), "the other one isn't")
    stop(daemon, NONE)
    server.end()


def renamed_link_is_found(folder):
    """A link that gets another name and its own again, while it is up, is reported about from its address, of which no news come."""
    server = Server()
    there = ("nsenter", "-n", "-t", str(server.process.pid))
    ip(["addr add fd00:99::1/128 dev lo nodad"] + [f"addr add fd00:{link}::2/64 dev q{link} nodad" for link in (1, 2)], *there)
    ip([f"addr add fd00:{link}::1/64 dev p{link} nodad" for link in (1, 2)] +
       [f"route add default via fd00:{link}::2 dev p{link} metric {link}" for link in (1, 2)])
    code = ("import socket\nsock = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)\nsock.bind(('fd00:99::1', 5230))\n"
            "print('listens', flush=True)\nwhile True:\n    print(sock.recvfrom(2000)[1][0], flush=True)\n")
    hears = subprocess.Popen([*there, sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    check(hears.stdout.readline() == "listens\n", "it listens")
    reporter = Daemon(folder, "reporter", f'reporter {{ to "s" {{ address = "fd00:99::1" key = "{new_key()}" via = {{"p2"}} }}\n'
                      'interface "p2" { about = {"source"} measure = "none" } }\n')

    def hears_from(link):
        within(f"it is heard over {link}", lambda: reporter.tell('{"interface": "p2", "loss_ms": 5000}') and
               hears.stdout.readline() == f"fd00:{link}::1\n")

    hears_from(2)
    # over the other link, while there is none of this name
    ip(["link set p2 name other"])
    hears_from(1)
    ip(["link set other name p2"])
    hears_from(2)
    check(reporter.stop() == 0, "it ends in order")
    hears.kill()
    server.end()


def vpn_leads_around(folder):
    """A tunnel that takes all ends the paths, also where the host has no routes to addresses for documentation."""
    server = Server()
    daemon = start(folder)
    ip(["route add blackhole 192.0.2.0/24"])
    ip(["link add t1 type bridge", "addr add 10.99.9.1/32 dev t1", "link set t1 up", "route add 0.0.0.0/1 dev t1", "route add 128.0.0.0/1 dev t1"])
    within("there are no paths", lambda: kept() == NONE)
    ip(["link del t1"])
    within("there are paths again", lambda: kept() == BOTH)
    stop(daemon, NONE)
    ip(["route del blackhole 192.0.2.0/24"])
    server.end()


def ipsec_takes_all(folder):
    """A VPN with an address of its own, whose link is none: what has another address would leave in clear. Of a network behind this host
    it takes nothing that is this host's."""
    server = Server()
    everything = "dst 0.0.0.0/0 dir out tmpl src 10.99.1.1 dst 10.99.1.2 proto esp mode tunnel"
    ip([f"xfrm policy add src 10.99.8.0/24 {everything}"])
    daemon = start(folder)
    ip(["addr add 10.99.9.1/32 dev p1", f"xfrm policy add src 10.99.9.1/32 {everything}",
        "route add default via 10.99.1.2 dev p1 src 10.99.9.1 table 220"])
    within("there are no paths", lambda: kept() == NONE)
    ip(["xfrm policy flush", "route del default table 220"])
    within("there are paths again", lambda: kept() == BOTH)
    stop(daemon, NONE)
    server.end()


if __name__ == "__main__":
    sys.exit(run_cases_about_lo([open_connections_outlive_it, what_is_left_can_be_cleaned,
                                 what_ordinary_tcp_keeps_can_be_cleaned, caps_hold_over_its_end,
                                 backup_survives_a_refused_reload, mptcp_without_ipv6, address_given_anew_is_unknown, renamed_link_is_found, vpn_leads_around, ipsec_takes_all]))
