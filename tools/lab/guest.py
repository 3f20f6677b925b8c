# SPDX-License-Identifier: GPL-2.0
"""The scripts that a guest runs: its hosts, links, schedulers and transfers.

      namespace of init                       namespace "c"
      +--------------+   s0 === path 0 === c0   +--------------+
      |    server    |   s1 === path 1 === c1   |    client    |
      +--------------+   ..               ..    +--------------+
          10.0.i.1            (veth)                10.0.i.2
         fd00:0:0:i::1                             fd00:0:0:i::2

Each direction of a path is shaped by netem where it is sent. The client is the
multi-homed host: it connects from path 0 and has an MPTCP endpoint on each
other path, bound to its interface, from which it joins the server's one
address. Neighbours are static, so no transfer waits for ARP.

A guest is a folder of small files that init reads: everything is written
before the boot, nothing is decided inside. Results come back as files.
"""

import os
import shlex

import units
from scenario import Report, timeline

PORT = 5000
PLAYER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "player.py")
REPORT_UNITS = {"loss-time": "ms", "ttl": "ms", "delay": "us", "pipe-rate": "", "backlog": ""}
DOWN_HANDLE = "dead:"       # of the queue of a link that is down


def server_address(index, ipv6):
    """On a path."""
    return f"fd00:0:0:{index}::1" if ipv6 else f"10.0.{index}.1"


def client_address(index, ipv6):
    """On a path."""
    return f"fd00:0:0:{index}::2" if ipv6 else f"10.0.{index}.2"


def mac(side, index):
    """Of that side's interface, "s" or "c"."""
    return f"02:00:00:00:{'01' if side == 's' else '02'}:{index:02x}"


def server_ip(count):
    """`ip -batch` in the server's namespace: all links, both families."""
    lines = ["netns add c", "link set lo up"]
    for i in range(count):
        # One packet per buffer, which is what gso and tso off mean.
        lines += [
            f"link add s{i} address {mac('s', i)} gso_max_segs 1 type veth "
            f"peer name c{i} address {mac('c', i)} gso_max_segs 1 netns c",
            f"addr add {server_address(i, False)}/24 dev s{i}",
            f"addr add {server_address(i, True)}/64 dev s{i} nodad",
            f"link set s{i} up",
            f"neigh add {client_address(i, False)} lladdr {mac('c', i)} dev s{i}",
            f"neigh add {client_address(i, True)} lladdr {mac('c', i)} dev s{i}",
        ]
    lines.append("mptcp limits set subflows 8 add_addr_accepted 8")
    return lines


def client_ip(count):
    """`ip -batch` in the client's namespace."""
    lines = ["link set lo up"]
    for i in range(count):
        lines += [
            f"addr add {client_address(i, False)}/24 dev c{i}",
            f"addr add {client_address(i, True)}/64 dev c{i} nodad",
            f"link set c{i} up",
        ]
        for ipv6 in (False, True):
            server = server_address(0, ipv6)
            bits = 128 if ipv6 else 32
            lines += [
                f"route add {server}/{bits} dev c{i} metric {10 + i} "
                f"src {client_address(i, ipv6)}",
                f"neigh add {server} lladdr {mac('s', i)} dev c{i}",
            ]
    lines.append("mptcp limits set subflows 8 add_addr_accepted 8")
    return lines


def endpoints(paths, ipv6):
    """The client's endpoints: one on each path but the first."""
    lines = ["mptcp endpoint flush"]
    for i, path in enumerate(paths):
        if i:
            lines.append(f"mptcp endpoint add {client_address(i, ipv6)} dev c{i} "
                         f"subflow{' backup' if path.backup else ''}")
    return lines


def netem(side, index, path):
    """One direction of a path, as a line of `tc -batch`.

    A queue of another handle takes the old one's place, and what was in that is
    lost; with the same handle it is changed and keeps what it holds.
    """
    head = f"qdisc replace dev {side}{index} root handle"
    if path.down:
        return f"{head} {DOWN_HANDLE} netem loss 100%"
    rate = path.up_bps if side == "c" and path.up_bps else path.rate_bps
    words = [f"{head} 1: netem limit {path.limit_packets} delay {path.delay_us}us"]
    if path.jitter_us:
        words.append(f"{path.jitter_us}us")
    if path.loss:
        words.append(f"loss {path.loss * 100:.6g}%")
    words.append(f"rate {rate}bit")
    return " ".join(words)


def report_command(pamsctl, report, ipv6):
    """What tells the server's kernel; a path is known by its peer's address."""
    words = [shlex.quote(pamsctl), "path", "set", client_address(report.path, ipv6)]
    for key, value in report.values.items():
        words += [key, f"{value}{REPORT_UNITS[key]}"]
    return " ".join(words)


def sysctls(scenario, scheduler):
    """name -> value, the same on both hosts."""
    return {
        "net/mptcp/scheduler": scheduler,
        "net/mptcp/checksum_enabled": int(scenario.checksum),
        "net/ipv4/tcp_no_metrics_save": 1,
        "net/ipv4/tcp_congestion_control": scenario.congestion,
        # What a machine with 4 GB or more has; the guest has less memory.
        "net/ipv4/tcp_rmem": "4096 131072 6291456",
        "net/ipv4/tcp_wmem": "4096 16384 4194304",
        **{name.replace(".", "/"): value for name, value in scenario.extra.items()},
    }


def set_sysctls(values):
    """Shell lines; a value that the kernel refuses ends the guest."""
    return [f"echo {shlex.quote(str(value))} > /proc/sys/{name} || "
            f"fail '--sysctl {name.replace('/', '.')}={value} was refused'"
            for name, value in values.items()]


def server_command(scenario):
    """The server's command line."""
    words = ["server", "-p", PORT]
    if scenario.ipv6:
        words.append("-6")
    if scenario.protocol in ("tcp", "fallback"):
        words.append("--tcp")
    if scenario.sndbuf_bytes:
        words += ["--sndbuf", scenario.sndbuf_bytes]
    if scenario.rcvbuf_bytes:
        words += ["--rcvbuf", scenario.rcvbuf_bytes]
    return " ".join(map(str, words))


def client_command(scenario):
    """The client's command line."""
    words = ["client", "--json", "--seed", scenario.seed,
             "--bytes", f"{scenario.bytes_min}-{scenario.bytes_max}",
             "--requests", scenario.requests, "--conns", scenario.conns,
             "--dir", scenario.direction, "--timeout", scenario.timeout_s * 1000]
    if scenario.stream_bps:
        words += ["--rate", scenario.stream_bps // 8]
    if scenario.queue_bytes:
        words += ["--queue", scenario.queue_bytes, "--devices",
                  ",".join(f"c{i}" for i in range(len(scenario.paths)))]
    if scenario.gap_ms:
        words += ["--gap", scenario.gap_ms]
    if scenario.stagger_ms:
        words += ["--stagger", scenario.stagger_ms]
    if scenario.cold:
        words.append("--cold")
    if scenario.ipv6:
        words.append("-6")
    if scenario.protocol == "tcp":
        words.append("--tcp")
    if scenario.sndbuf_bytes:
        words += ["--sndbuf", scenario.sndbuf_bytes]
    if scenario.rcvbuf_bytes:
        words += ["--rcvbuf", scenario.rcvbuf_bytes]
    words += [server_address(0, scenario.ipv6), PORT]
    return " ".join(map(str, words))


# from the client's scripts
IN_SERVER = "nsenter --net=/proc/1/ns/net"


def _queues_at_end(count):
    return [f"{run} tc -s -j qdisc show dev {side}{i} > $D/{side}{i}.end".lstrip()
            for side, run in (("s", IN_SERVER), ("c", "")) for i in range(count)]


def events(scenario, orders=()):
    """(at_us, all paths, a report or a shell line), in order of time; of equals
    changes first."""
    found = [*timeline(scenario)[1:], *((r.at_us, r) for r in scenario.reports), *orders]
    return sorted(found, key=lambda event: event[0])


def player_command(scenario):
    """The video player's command line, behind its program."""
    words = [scenario.segment_s, scenario.requests, server_address(0, scenario.ipv6), PORT]
    if scenario.ipv6:
        words.insert(0, "-6")
    if scenario.protocol == "tcp":
        words.insert(0, "--tcp")
    return " ".join(map(str, words))


HEAD = """#!/bin/sh
# Written by tools/lab; runs as process 1 of a user-mode kernel.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
D={folder}
exec 2> $D/errors
off() {{ echo o > /proc/sysrq-trigger; read -r _ < /run/never; }}
fail() {{ echo "LAB-FAIL $*"; off; }}
mount -t proc proc /proc
mount -t tmpfs tmpfs /run
mkfifo /run/never
"""

BODY = """
ip -batch $D/server.ip || fail 'ip in the server'
ip -n c -batch $D/client.ip || fail 'ip in the client'
tc -batch $D/server.tc || fail 'tc in the server'
tc -n c -batch $D/client.tc || fail 'tc in the client'
"""

COUNTERS = "cat /proc/net/dev /proc/net/netstat /proc/net/snmp > $D/{name}.counters"


class Guest:
    """One boot's worth of files in a folder of the host."""

    sides = (("s", f"{IN_SERVER} tc"), ("c", "tc"))     # and what shapes a link there

    def __init__(self, folder, xfer, pamsctl=""):
        self.folder = folder
        self.xfer = xfer
        self.pamsctl = pamsctl
        self.netem_seed = ""    # program: what queues lose follows from the scenario's seed
        self.orders = []        # (at_us, shell line): more to do while transfers run
        self.init = [HEAD.format(folder=shlex.quote(folder))]
        self.client = ["fail() { echo \"LAB-FAIL $*\"; exit 1; }",
                       f"D={shlex.quote(folder)}"]

    def write(self, name, lines):
        """A file that the guest reads."""
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as out:
            out.write("\n".join(lines) + "\n")

    def module(self, path, kallsyms_address):
        """Load the scheduler module."""
        self.init.append(
            f"insmod {shlex.quote(path)} kallsyms_lookup_name={kallsyms_address:#x} || "
            "fail 'the module does not load'")

    def known(self, scheduler, congestion):
        """End at once, and say why, where the kernel has no such thing."""
        for option, name, sysctl in (
                ("--sched", scheduler, "mptcp/available_schedulers"),
                ("--cc", congestion, "ipv4/tcp_available_congestion_control")):
            self.init.append(
                f"read -r known < /proc/sys/net/{sysctl}\n"
                f"case \" $known \" in *' {name} '*) ;;\n"
                f"*) fail \"{option} '{name}': this kernel has only $known\" ;;\nesac")

    def links(self, paths):
        """The two hosts and the paths between them."""
        count = len(paths)
        self.write("server.ip", server_ip(count))
        self.write("client.ip", client_ip(count))
        for side, name in (("s", "server.tc"), ("c", "client.tc")):
            self.write(name, [self.shape(side, i, path) for i, path in enumerate(paths)])
        self.init.append(BODY)

    def shape(self, side, index, path):
        """A line of `tc -batch`, or nothing."""
        return netem(side, index, path)

    def run(self, scenario, scheduler, trace=False):
        """The scenario's transfers, its changes, and the counters after them."""
        values = set_sysctls(sysctls(scenario, scheduler))
        self.init += values
        self.client += values
        if scenario.protocol == "mptcp":
            self.write("endpoints.ip", endpoints(scenario.paths, scenario.ipv6))
            self.client.append("ip -batch $D/endpoints.ip || fail 'MPTCP endpoints'")
        if trace:
            self._trace(scenario)
        self.client += self._seed(scenario, scenario.paths)
        self.init.append(f"{self.xfer} {server_command(scenario)} 2> $D/server.err &")
        self._changes(scenario)
        client = f"{self.xfer} {client_command(scenario)}"
        if scenario.segment_s:
            with open(PLAYER, encoding="utf-8") as text:
                self.write("player.py", text.read().splitlines())
            client = f"/usr/bin/python3 -I $D/player.py {player_command(scenario)}"
        self.client += [
            f"{client} > $D/requests 2> $D/client.err",
            "echo $? > $D/status",
            *_queues_at_end(len(scenario.paths)),
            # what is still under way counts, too
            "sleep 1",
            COUNTERS.format(name="client")]
        stop = "kill $dump; wait $dump" if trace else ":"
        if scenario.direction != "up":
            self.client.append(stop)
            stop = ":"
        self.init += ["nsenter --net=/run/netns/c sh $D/client.sh",
                      COUNTERS.format(name="server"), stop]

    def _seed(self, scenario, paths):
        """Shell lines for the client; none where nothing is left to chance."""
        if not self.netem_seed or not any(path.loss or path.jitter_us for path in paths):
            return []
        return [f"{run} {self.netem_seed} {scenario.seed} {scenario.first_path} || "
                "fail \"netem-seed: $(tail -n 1 $D/errors)\"".lstrip()
                for run in (IN_SERVER, "")]

    def _trace(self, scenario):
        """Record packets where the data arrives."""
        # 160 bytes: cooked header, IPv6, TCP and the longest options.
        lines = ["tcpdump -i any -n -s 160 -B 8192 --immediate-mode -Z root "
                 "-w - tcp > $D/packets.pcap 2> $D/tcpdump.err & dump=$!",
                 "sleep 0.2",
                 "kill -0 $dump 2> /run/null || fail \"tcpdump: $(tail -n 1 $D/tcpdump.err)\""]
        if scenario.direction == "up":
            self.init += lines
        else:
            self.client += lines

    def _changes(self, scenario):
        """Each change sets all of a path's values, on both sides."""
        lines, before, at_us = [], scenario.paths, 0
        for number, (when_us, what) in enumerate(events(scenario, self.orders)):
            if when_us > at_us:
                lines.append(f"sleep {(when_us - at_us) / 1e6:.6f}")
            at_us = when_us
            if isinstance(what, str):
                lines.append(what)
                continue
            if isinstance(what, Report):
                command = report_command(self.pamsctl, what, scenario.ipv6)
                lines.append(f"{IN_SERVER} {command} || "
                             f"fail \"pamsctl: $(tail -n 1 $D/errors)\"")
                continue
            for side, run in self.sides:
                name = f"change{number}.{side}"
                # What a link loses when it goes, and what it dropped when it is back.
                lines += [f"{run} -s -j qdisc show dev {side}{i} >> $D/{side}{i}.lost"
                          for i, path in enumerate(what) if path.down != before[i].down]
                self.write(name, [self.shape(side, i, path)
                                  for i, path in enumerate(what) if path != before[i]])
                lines.append(f"{run} -batch $D/{name}")
            lines += self._seed(scenario, what)
            before = what
        if not lines:
            return
        self.write("changes.sh", [self.client[0], f"D={shlex.quote(self.folder)}", *lines])
        # From the client, whose first request is the beginning of time.
        self.client.append("sh $D/changes.sh &")

    def finish(self):
        """Write what was collected."""
        self.write("client.sh", self.client)
        self.write("init", [*self.init, "echo LAB-DONE", "off"])
        os.chmod(os.path.join(self.folder, "init"), 0o755)
        return os.path.join(self.folder, "init")


def describe(scenario):
    """One line for people."""
    text = [f"{scenario.requests} x {units.size_text(scenario.bytes_min, scenario.bytes_max)}",
            {"down": "download", "up": "upload", "both": "both directions"}
            [scenario.direction],
            "a connection each" if scenario.cold else "warm connection"]
    if scenario.conns > 1:
        text.append(f"{scenario.conns} connections at once")
    return ", ".join(text)
