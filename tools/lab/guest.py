# SPDX-License-Identifier: GPL-2.0
"""The scripts that a guest runs: schedulers, transfers and changes of links.

The hosts and the paths between them are those of links.py. A guest is a folder of
small files that init reads: everything is written before the boot, nothing is decided
inside. Results come back as files.
"""

import json
import os
import shlex

import links
import recorded
import units
from links import IN_ROUTER, IN_SERVER, WAYS, client_address, server_address
from scenario import Report, helped, pages_of, replayed, timeline

PORT = 5000
RIVALS_PORT = 5001
# Without end; by Scenario.beside.
BESIDE_WORDS = {"keep": "--conns 3 --stagger 50 --gap 300 --bytes 20K --requests 100000",
                "new": "--cold --gap 100 --bytes 20K --requests 100000"}
HERE = os.path.dirname(os.path.abspath(__file__))
SPLIT_SOCKET = "/run/pamsplit"      # and the path's number
REPORT_UNITS = {"loss-time": "ms", "loss-spread": "ms", "ttl": "ms", "delay": "us",
                "pipe-rate": "", "backlog": ""}


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
    if scenario.units:
        words.append("--unit")
    if scenario.objects:
        words.append("--web")
    return " ".join(map(str, words))


def client_command(scenario):
    """The client's command line."""
    words = ["client", "--json", "--seed", scenario.seed,
             "--bytes", f"{scenario.bytes_min}-{scenario.bytes_max}",
             "--requests", scenario.requests, "--conns", scenario.conns,
             "--dir", scenario.direction, "--timeout", scenario.timeout_s * 1000]
    if scenario.stream_bps:
        words += ["--rate", scenario.stream_bps // 8]
    if scenario.pause_ms:
        words += ["--pause-reading", "-".join(map(str, scenario.pause_ms))]
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


def events(scenario, orders=()):
    """(at_us, all paths, a report or a shell line), in order of time; of equals
    changes first."""
    found = [*timeline(scenario, radio=False)[1:], *((r.at_us, r) for r in scenario.reports), *orders]
    return sorted(found, key=lambda event: event[0])


def player_command(scenario):
    """The video player's command line, behind its program."""
    words = [scenario.segment_s, scenario.requests, server_address(0, scenario.ipv6), PORT]
    if scenario.ipv6:
        words.insert(0, "-6")
    if scenario.protocol == "tcp":
        words.insert(0, "--tcp")
    if scenario.ahead:
        words.insert(0, "--ahead")
    return " ".join(map(str, words))


def browser_command(scenario):
    """The browser's command line, behind its program."""
    words = ["--gap", scenario.gap_ms, "--timeout", scenario.timeout_s, "$D/pages.json",
             server_address(0, scenario.ipv6), PORT]
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

COUNTERS = "cat /proc/net/dev /proc/net/netstat /proc/net/snmp > $D/{name}.counters"


class Guest:
    """One boot's worth of files in a folder of the host."""

    # name of a host's files, the option of ip and tc for it, how a client's script gets there
    hosts = (("server", "", IN_SERVER), ("router", "-n r", IN_ROUTER), ("client", "-n c", ""))

    def __init__(self, folder, xfer, pamsctl=""):
        self.folder = folder
        self.xfer = xfer
        self.pamsctl = pamsctl
        self.netem_seed = ""    # program: what queues lose follows from the scenario's seed
        self.pace = ""          # program: what changes the rates of radios
        self.replay = ""        # program: forwards as a recording says
        self.rival = ""         # program: a busy TCP connection
        self.pamsplit = ""      # program: splits TCP on a helper
        self.mortal = False     # whether pamsplit may be gone in the end
        self.radios = False     # whether each path's packets are noted for radio.py
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
        count, through = len(paths), sorted(helped(paths))
        self.hosts = (*Guest.hosts, *((f"helper{i}", f"-n h{i}", links.in_helper(i))
                                      for i in through))
        for host, lines in (("server", links.server_ip(count, helped=through)),
                            ("router", links.router_ip(count, through, sorted(replayed(paths)))),
                            ("client", self.client_ip(paths))):
            self.write(f"{host}.ip", [*lines, *(line for i, path in enumerate(paths)
                                                for line in links.mtu_ip(host[0], i, path))])
        for i in through:
            self.write(f"helper{i}.ip", links.helper_ip(i))
        self.init += [f"ip {option} -batch $D/{host}.ip || fail 'ip in the {host}'"
                      for host, option, _ in self.hosts]
        for host, option, _ in self.hosts:
            lines = [line for i, path in enumerate(paths) for line in self.shape(host, i, path)]
            if lines:
                self.write(f"{host}.tc", lines)
                self.init.append(f"tc {option} -batch $D/{host}.tc || fail 'tc in the {host}'")
        self._replay(paths)
        self.init += links.offloads("s", count)
        self.client += links.offloads("c", count)

    def client_ip(self, paths):
        """Lines of `ip -batch` for the client."""
        return links.client_ip(len(paths), sorted(helped(paths)))

    def endpoints(self, scenario):
        """The same for its endpoints, before the transfers."""
        return links.endpoints(scenario.paths, scenario.ipv6, scenario.begins)

    def _replay(self, paths):
        """From now on, and anew from where the scenario begins."""
        for i in sorted(replayed(paths)):
            path, names = paths[i], {way: f"{way}{i}" for way in WAYS}
            limits = (f"0 {path.replay.limit_bytes}" if path.replay.limit_bytes else
                      f"{path.limit_packets} 0")
            for way, other in (WAYS, WAYS[::-1]):
                self.init.append(
                    f"pid=$({IN_ROUTER} {self.replay} {names[other]} {names[way]} "
                    f"{shlex.quote(recorded.kept(path, way == 'up'))} {path.replay.from_us} "
                    f"{limits}) || fail \"$(tail -n 1 $D/errors)\"; "
                    "export replays=\"$replays $pid\"")

    def shape(self, host, index, path):
        """Lines of `tc -batch` for that host."""
        if path.helper:
            segments = {"down": path.helper.hs, "up": path.helper.hs,
                        "pipe": path.helper.pipe, "in": path.helper.pipe}
            return [links.netem(way, index, segments[way]) for way in segments
                    if host == (f"helper{index}" if way == "pipe" else "router")]
        if host == "router":
            return [line for way in WAYS for line in links.shape(way, index, path)]
        if host in ("server", "client"):
            return links.host_delay(host[0], index, path)
        return []

    def run(self, scenario, scheduler, trace=False):
        """The scenario's transfers, its changes, and the counters after them."""
        values = set_sysctls(sysctls(scenario, scheduler))
        self.init += values
        self.client += values
        if scenario.protocol == "mptcp":
            self.write("endpoints.ip", self.endpoints(scenario))
            self.client.append("ip -batch $D/endpoints.ip || fail 'MPTCP endpoints'")
        if trace:
            self._trace(scenario)
        radios = self._radios(scenario)
        self.init.append(f"{self.xfer} {server_command(scenario)} 2> $D/server.err &")
        self._neighbour(scenario)
        self._forward(scenario)
        self.client += self._seed(scenario, scenario.paths)
        self._rivals(scenario)
        if replayed(scenario.paths):
            self.client.append("kill -HUP $replays || fail 'replay has gone'")
        self._beside(scenario)
        self._changes(scenario)
        self.client += [
            f"{self._client(scenario)} > $D/requests 2> $D/client.err",
            "echo $? > $D/status",
            *([f"{enter} tc -s -j qdisc show > $D/{name}.queues.end"
               for name, _, enter in self.hosts if name.startswith(("router", "helper"))]
              if any("down" in change.values for change in scenario.changes) else []),
            *(f"{links.in_helper(i)} {self.pamsplit} --control {SPLIT_SOCKET}{i} show "
              f"> $D/split{i} || {':' if self.mortal else 'fail'} 'pamsplit has gone'"
              for i, path in enumerate(scenario.paths) if path.helper and path.helper.split),
            *(f"kill $rival{i}; wait $rival{i}" for i, path in enumerate(scenario.paths)
              if path.rival),
            *(["kill $beside; wait $beside"] if scenario.beside else []),
            # what is still under way counts, too
            "sleep 1",
            *radios,
            COUNTERS.format(name="client")]
        stop = "kill $dump; wait $dump" if trace else ":"
        if scenario.direction != "up":
            self.client.append(stop)
            stop = ":"
        self.init += ["nsenter --net=/run/netns/c sh $D/client.sh",
                      COUNTERS.format(name="server"), stop]

    def _client(self, scenario):
        """The command that makes the transfers."""
        for program, used, command in (("player.py", scenario.segment_s, player_command),
                                       ("browser.py", scenario.objects, browser_command)):
            if used:
                with open(os.path.join(HERE, program), encoding="utf-8") as text:
                    self.write(program, text.read().splitlines())
                if scenario.objects:
                    self.write("pages.json", [json.dumps(pages_of(scenario))])
                return f"/usr/bin/python3 -I $D/{program} {command(scenario)}"
        return f"{self.xfer} {client_command(scenario)}"

    def _forward(self, scenario):
        """Helpers forward, and split."""
        for i, path in enumerate(scenario.paths):
            if not path.helper:
                continue
            enter = links.in_helper(i)
            self.client.append(f"{enter} sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward; "
                               "echo 1 > /proc/sys/net/ipv6/conf/all/forwarding'")
            if not path.helper.split:
                continue
            bank = f" --limit-ms {path.helper.bank_us // 1000}" if path.helper.bank_us else ""
            bank += "" if path.helper.pays else " --from-the-start"
            socket = f"--control {SPLIT_SOCKET}{i}"
            self.client += [
                f"{enter} {self.pamsplit} --pipe pipe{i} --user 65534 {socket}{bank} run "
                f"2> $D/pamsplit{i}.log & split{i}=$!",
                f"for i in $(seq 100); do {self.pamsplit} {socket} show > /run/null 2>&1 && "
                "break; sleep 0.01; done",
                f"kill -0 $split{i} || fail \"pamsplit: $(tail -n 1 $D/pamsplit{i}.log)\""]

    def _rivals(self, scenario):
        """A second later they have their share."""
        rivals = [i for i, path in enumerate(scenario.paths) if path.rival]
        if not rivals:
            return
        way = "up" if scenario.direction == "up" else "down"
        self.init.append(f"{self.rival} serve {RIVALS_PORT} &")
        for i in rivals:
            self.client.append(f"{self.rival} {way} {server_address(i, False)} {RIVALS_PORT} "
                               f"> $D/rival{i} & rival{i}=$!")
        self.client.append("sleep 1")
        self.client += [f"kill -0 $rival{i} || fail \"rival: $(tail -n 1 $D/errors)\""
                        for i in rivals]

    def _neighbour(self, scenario):
        """Another host behind path 0's address, and the server for what is beside."""
        if scenario.beside:
            self.init.append(f"{self.xfer} server -p {links.NEIGHBOUR_PORT} &")
        if not scenario.neighbour:
            return
        index = len(scenario.paths)
        for number, (option, lines) in enumerate(links.neighbour_ip(index).items()):
            self.write(f"neighbour{number}.ip", lines)
            self.init.append(f"ip {option} -batch $D/neighbour{number}.ip || "
                             "fail 'ip for the neighbour'")
        self.write("neighbour.tc", [line for way in WAYS
                                    for line in links.shape(way, index, scenario.neighbour)])
        self.init.append("tc -n r -batch $D/neighbour.tc || fail 'tc for the neighbour'")
        self.init += [f"{enter} ethtool -K {side}{index} {links.OFFLOADS}"
                      for enter, side in (("", "s"), (links.IN_NEIGHBOUR, "n"))]

    def _beside(self, scenario):
        """What is transferred all the time, from a second before on."""
        if not scenario.beside:
            return
        enter = f"{links.IN_NEIGHBOUR} " if scenario.neighbour else ""
        self.client.append("beside=")
        for kind, words in BESIDE_WORDS.items():
            if scenario.beside in (kind, "both"):
                self.client.append(
                    f"{enter}{self.xfer} client --quiet {words} {server_address(0, False)} "
                    f"{links.NEIGHBOUR_PORT} > /run/null & beside=\"$beside $!\"")
        self.client += ["sleep 1",
                        "kill -0 $beside || fail \"beside: $(tail -n 1 $D/errors)\""]

    def _seed(self, scenario, paths):
        """Shell lines for the client; none where nothing is left to chance."""
        segments = [segment for path in paths for segment in
                    ((path.helper.hs, path.helper.pipe) if path.helper else (path,))]
        if not self.netem_seed or not any(path.loss or path.jitter_us for path in segments):
            return []
        return [f"{enter} {self.netem_seed} {scenario.seed} {scenario.first_path} || "
                "fail \"netem-seed: $(tail -n 1 $D/errors)\""
                for enter in (IN_ROUTER, *map(links.in_helper, sorted(helped(paths))))]

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

    def _radios(self, scenario):
        """Note when packets pass each link to the mobile network, where its device is; the
        shell lines that end it."""
        if not self.radios:
            return []
        for i in range(len(scenario.paths)):
            self.client.append(
                f"{IN_ROUTER} tcpdump -i down{i} -n -s 64 -B 4096 --immediate-mode -Z root -w - "
                f"'tcp or udp' > $D/radio{i}.pcap 2> $D/radio{i}.err & radio{i}=$!")
        several = " ".join(f"$radio{i}" for i in range(len(scenario.paths)))
        self.client += ["sleep 0.2", f"kill -0 {several} 2> /run/null || "
                        "fail \"tcpdump: $(tail -q -n 1 $D/radio*.err)\""]
        return [f"kill {several}; wait {several}"]

    def _changes(self, scenario):
        """Each change sets all of a path's values, in both directions."""
        lines, before, at_us = [], scenario.paths, 0
        radios = links.radio_lines(scenario)
        if radios:
            self.write("radios", radios)
            self.client.append(f"{self.pace} $D/radios | {IN_ROUTER} tc -batch - &")
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
            # What a link loses when it goes, and what it dropped when it is back.
            enter_of = {host: enter for host, _, enter in self.hosts}
            lines += [f"{enter_of[host]} tc -s -j qdisc show dev {device} >> $D/{device}.lost"
                      for i, path in enumerate(what) if path.down != before[i].down
                      for host, device, _ in links.queues(i, path)]
            for host, _, enter in self.hosts:
                name = f"change{number}.{host}"
                shapes = [line for i, path in enumerate(what) if path != before[i]
                          for line in self.shape(host, i, path)]
                if shapes:
                    self.write(name, shapes)
                    lines.append(f"{enter} tc -batch $D/{name}".lstrip())
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
    size = units.size_text(scenario.bytes_min, scenario.bytes_max)
    if scenario.objects:
        return f"{scenario.requests} pages of {scenario.objects} objects of {size}"
    text = [f"{scenario.requests} x {size}",
            {"down": "download", "up": "upload", "both": "both directions"}
            [scenario.direction],
            "a connection each" if scenario.cold else "warm connection"]
    if scenario.conns > 1:
        text.append(f"{scenario.conns} connections at once")
    return ", ".join(text)
