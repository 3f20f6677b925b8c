# SPDX-License-Identifier: GPL-2.0
"""What the tests of the running daemon share: cases as TAP, daemons on loopback,
and a relay that sees and changes the datagrams between them.

Nothing here needs root, and no case waits for a fixed time: each waits until
what it expects has come, at most LIMIT_S.
"""
import ctypes
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent
PAMSD = Path(os.environ.get("PAMSD", TOP / "build" / "tools" / "pamsd"))
HELPERS = TOP / "build" / "selftests" / "pamsd"
REPORTERS = HELPERS / "reporters"
# For what hangs. The slowest, 10,700 peers and sanitizers, takes 8 s of a processor that two other stages share.
LIMIT_S = 30
CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000


class Failed(Exception):
    """What a case expected did not happen."""


class Skipped(Exception):
    """Why a case can't be run here."""


def check(right, text):
    if not right:
        raise Failed(text)


def within(what, function, limit_s=LIMIT_S):
    """Asks until the answer is true; returns it."""
    end = time.monotonic() + limit_s
    while True:
        answer = function()
        if answer:
            return answer
        if time.monotonic() > end:
            raise Failed(f"not within {limit_s} s: {what}")
        time.sleep(0.01)


def enter_network():
    """A network of its own, whose root this process is; None, or why not."""
    uid, gid = os.getuid(), os.getgid()
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWUSER | CLONE_NEWNET):
        return os.strerror(ctypes.get_errno())
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"0 {uid} 1")
    Path("/proc/self/gid_map").write_text(f"0 {gid} 1")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    return None


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def cpu_s(pid):
    """Processor time: a process's clock as clock_getcpuclockid(3) numbers it."""
    return time.clock_gettime((~pid << 3) | 2)


def bare_us(seconds, send):
    """The processor time that one datagram costs a process which only receives what send(port) sends for so long."""
    port = free_port()
    receiver = subprocess.Popen([REPORTERS, "--receive", str(port), str(seconds + 1)],
                                stdout=subprocess.PIPE, text=True)
    try:
        send(port)
        figures = json.loads(receiver.communicate(timeout=seconds + 10)[0])
    finally:
        receiver.kill()
    return figures["cpu_us"] / figures["received"]


def new_key():
    return subprocess.run([PAMSD, "--genkey"], check=True, capture_output=True,
                          text=True).stdout.strip()


class Daemon:
    """A pamsd with a configuration, and what it says."""

    def __init__(self, folder, name, config, prefix=(), options=()):
        self.prefix, self.options = prefix, options
        self.file = Path(folder) / f"{name}.conf"
        self.socket = Path(folder) / f"{name}.socket"
        self.log = Path(folder) / f"{name}.log"
        self.write(config)
        self.process = None
        self.start()

    def write(self, config):
        """With a mode that a file with keys has to have."""
        self.file.touch(mode=0o600)
        self.file.write_text(f'control = "{self.socket}"\n{config}')

    def start(self):
        with self.log.open("a") as log:
            self.process = subprocess.Popen([*self.prefix, PAMSD, "-c", self.file, *self.options],
                                            stderr=log, stdin=subprocess.DEVNULL)
        within("the daemon answers", self.answers)

    def answers(self):
        if self.process.poll() is not None:
            raise Failed(f"pamsd ended with {self.process.returncode}: {self.said()}")
        try:
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(LIMIT_S)
                client.connect(str(self.socket))
                client.sendall(b'{"command": "status"}\n')
                # the socket is there before caps are
                return bool(client.recv(1))
        except OSError:
            return False

    def said(self):
        return self.log.read_text()

    def tell(self, line):
        answer = subprocess.run([PAMSD, "-c", self.file, "--tell", line], check=False,
                                capture_output=True, text=True, timeout=LIMIT_S)
        check(answer.stdout, f"--tell {line}: {answer.stderr}")
        said = json.loads(answer.stdout)
        check(answer.returncode == ("error" in said), f"--tell {line}: exit {answer.returncode}, {said}")
        return said

    def status(self):
        return self.tell('{"command": "status"}')

    def peer(self, name="a"):
        return next(peer for peer in self.status()["server"]["peers"] if peer["name"] == name)

    def dropped(self):
        """Of the server and all its peers, by reason."""
        server = self.status()["server"]
        total = dict(server["dropped"])
        for peer in server["peers"]:
            for why, count in peer["dropped"].items():
                total[why] = total.get(why, 0) + count
        return total

    def reload(self, config=None):
        """Lets it read its configuration again, this one if there is one; waits until it has."""
        if config is not None:
            self.write(config)
        count = self.said().count("pamsd: the configuration was read again\n")
        self.send(signal.SIGHUP)
        within("it has read it", lambda: self.said().count(
            "pamsd: the configuration was read again\n") > count)

    def send(self, number):
        self.process.send_signal(number)

    def stop(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(LIMIT_S)


class Relay:
    """Passes datagrams between one reporter and a server, and keeps them.

    change(datagram, up) gives what is passed on, a list."""

    def __init__(self, server_port):
        self.server = ("127.0.0.1", server_port)
        self.down = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.down.bind(("127.0.0.1", 0))
        self.port = self.down.getsockname()[1]
        self.up = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.up.bind(("127.0.0.1", 0))
        self.client = None
        self.kept_up, self.kept_down = [], []
        self.change = lambda datagram, up: [datagram]
        self.ended = False
        self.threads = [threading.Thread(target=self.pass_up, daemon=True),
                        threading.Thread(target=self.pass_down, daemon=True)]
        for thread in self.threads:
            thread.start()

    def pass_up(self):
        while not self.ended:
            datagram, self.client = self.down.recvfrom(2000)
            self.kept_up.append(datagram)
            for changed in self.change(datagram, True):
                self.up.sendto(changed, self.server)

    def pass_down(self):
        while not self.ended:
            datagram = self.up.recv(2000)
            self.kept_down.append(datagram)
            for changed in self.change(datagram, False):
                if self.client:
                    self.down.sendto(changed, self.client)

    def to_server(self, datagram):
        self.up.sendto(datagram, self.server)

    def to_reporter(self, datagram):
        self.down.sendto(datagram, self.client)


class Pair:
    """A server, a reporter about 127.0.0.1, and a relay between them."""

    def __init__(self, folder, **options):
        self.port = free_port()
        self.key = new_key()
        self.options = options
        self.server = Daemon(folder, "server", self.server_config())
        self.relay = Relay(self.port)
        self.reporter = Daemon(folder, "reporter", self.reporter_config())

    def server_config(self, key=None, extra=None):
        if extra is None:
            extra = self.options.get("extra", 'prefixes = {"127.0.0.1"}')
        return (f'server {{\n\tlisten = {{"127.0.0.1:{self.port}"}}\n'
                f'\tpeer "a" {{\n\t\tkey = "{key or self.key}"\n\t\t{extra}\n\t}}\n}}\n')

    def reporter_config(self, key=None):
        about = self.options.get("about", '"127.0.0.1"')
        return (f'reporter {{\n\tto "s" {{\n\t\taddress = "127.0.0.1:{self.relay.port}"\n'
                f'\t\tkey = "{key or self.key}"\n\t}}\n'
                f'\tinterface "lo" {{\n\t\tabout = {{{about}}}\n\t\tmeasure = "none"\n'
                f'\t\t{self.options.get("interface", "")}\n\t}}\n}}\n')

    def flood(self, datagrams):
        """To the server, no more at a time than its socket has room for."""
        datagrams = list(datagrams)
        for first in range(0, len(datagrams), 50):
            some = datagrams[first:first + 50]
            before = self.server.status()["server"]["received"]
            for datagram in some:
                self.relay.to_server(datagram)
            within("they are received", lambda: self.server.status()["server"]["received"]
                   >= before + len(some))

    def loss(self, loss_ms=5000):
        answer = self.reporter.tell(f'{{"interface": "lo", "loss_ms": {loss_ms}}}')
        check(answer == {"ok": True}, f"the reporter says {answer}")

    def arrives(self, loss_ms=5000):
        """A loss time said to the reporter is known to the server."""
        self.loss(loss_ms)
        within("the loss time arrives", lambda: self.losses(loss_ms))

    def losses(self, loss_ms):
        return [path for path in self.server.peer()["paths"]
                if loss_ms - 3000 < path.get("loss_ms", -1e9) <= loss_ms]

    def stop(self):
        for daemon in (self.reporter, self.server):
            daemon.stop()


def with_faults(folder, word=""):
    """What goes before a daemon's command, and the file that tells netlink_faults.c what to do."""
    fault = Path(folder) / "fault"
    fault.write_text(word)
    return ("env", f"LD_PRELOAD={HELPERS}/netlink_faults.so", f"NETLINK_FAULT={fault}", "ASAN_OPTIONS=verify_asan_link_order=0"), fault


def reporter_with_faults(folder, interface, name="lo", server=None):
    """A reporter, and that file: nothing yet."""
    prefix, fault = with_faults(folder)
    server = server or f'address = "127.0.0.1:{free_port()}" key = "{new_key()}"'
    reporter = Daemon(
        folder, "reporter",
        f'reporter {{\n\tto "s" {{ {server} }}\n'
        f'\tinterface "{name}" {{ {interface} local = true }}\n}}\n',
        prefix=prefix)
    return reporter, fault


def run_cases_about_lo(cases):
    """Their reports are about lo: others' traffic there would call for more of them."""
    os.environ["LC_ALL"] = "C"
    why_not = enter_network()
    if why_not:
        print(f"# no network of its own, others may disturb: {why_not}")
    return run_cases(cases)


def run_cases_in_network(what, commands, cases):
    """In a network of their own, which those commands make; where there can be none they are skipped."""
    why_not = enter_network()
    for command in () if why_not else commands:
        done = subprocess.run(command.split(), check=False, capture_output=True, text=True)
        if done.returncode:
            why_not = f"{command}: {done.stderr.strip()}"
            break
    if why_not:
        print(f"1..1\nok 1 - {what} # SKIP no network of its own: {why_not}")
        return 0
    return run_cases(cases)


def run_cases(cases):
    """Runs those whose name is an argument, or all; prints TAP."""
    wanted = sys.argv[1:]
    cases = [case for case in cases if not wanted or case.__name__ in wanted]
    failed = 0
    random.seed(1)
    os.umask(0o022)     # whoever's it is: some cases are another user's, too
    print(f"TAP version 13\n1..{len(cases)}", flush=True)
    for number, case in enumerate(cases, 1):
        name = case.__name__.replace("_", " ")
        with tempfile.TemporaryDirectory(prefix="pamsd.") as folder:
            before = set(children())
            why = skipped = None
            try:
                case(folder)
            except Skipped as reason:
                skipped = str(reason)
            except Failed as failure:
                why = str(failure)
            except Exception:  # a fault of the test is a failure, too
                why = traceback.format_exc()
            for pid in set(children()) - before:
                os.kill(pid, signal.SIGKILL)
            if why:
                failed += 1
                for log in sorted(Path(folder).glob("*.log")):
                    why += f"\n{log.name}:\n{log.read_text()}"
                print("# " + why.replace("\n", "\n# "))
        print(f"{'not ok' if why else 'ok'} {number} - {name}{f' # SKIP {skipped}' if skipped else ''}", flush=True)
    return 1 if failed else 0


def children():
    text = Path(f"/proc/self/task/{os.getpid()}/children")
    return [int(pid) for pid in text.read_text().split() if alive(int(pid))]


def alive(pid):
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
