# SPDX-License-Identifier: GPL-2.0
"""Types a recipe, as TAP: the commands of a page, on the machines and addresses it names.

    play.py PAGE        as root, in a guest of its own: see init

What a page holds for this program, in the order in which it is played:

    ```sh MACHINE                           commands, each of which must succeed
    ```console MACHINE                      commands behind "$ ", and what they print
    <!-- test -->                           what the page claims, but doesn't let the reader type

Beside it pages/PAGE has paragraphs: the machines and their links, then what each `<!-- test -->` stands for.

    MACHINE DEVICE ADDRESS/BITS GATEWAY [RATE DELAY]
    cable MACHINE DEVICE ADDRESS/BITS MACHINE DEVICE ADDRESS/BITS

    MACHINE: COMMAND

The first kind of link goes to the Internet, a router that shapes RATE and DELAY (one way) in
both directions; the machine gets a default route over it, as DHCP would give. A cable goes from
one machine to another, which is the first one's router.

What is printed must contain the page's lines in their order. "..." stands for anything, and a
number of three digits and more, or with a decimal point, for any number.

What is otherwise than on a reader's machine: the machines are namespaces of one kernel; systemd
runs as a manager of services (--user) in each, not as process 1; sudo asks for no password; the
packages that a page installs are there already, those of this project are copied into /usr/local.
"""
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
STEP_LIMIT_S = 300
INTERNET = "internet"
USER = "user"
# what else to show of a machine whose step went wrong
DIAGNOSE = "echo --- services:; tail -n 30 /run/systemd.log /var/log/pamsd.log; ip mptcp endpoint; nstat -as 'MPTcpExt*'"


@dataclass
class Link:
    machine: str
    device: str
    address: str
    gateway: str
    rate: str = ""
    delay: str = ""


@dataclass
class Cable:
    machine: str
    device: str
    address: str
    router: str
    router_device: str
    router_address: str


@dataclass
class Step:
    machine: str
    commands: str
    expected: list = field(default_factory=list)

    def __str__(self):
        return f"{self.machine}: {self.commands.splitlines()[0]}"


PIECE = re.compile(r"^```(?P<kind>\w+)(?: (?P<machine>[\w-]+))?\n(?P<block>.*?)^```$|^<!-- test -->$", re.M | re.S)


def parse_network(text):
    for line in text.splitlines():
        words = line.split()
        yield Cable(*words[1:]) if words[0] == "cable" else Link(*words)


def parse_console(machine, block):
    """A step for each command of a transcript; "> " goes on with a command."""
    steps = []
    for line in block.splitlines():
        if line.startswith("$ "):
            steps.append(Step(machine, line[2:]))
        elif line.startswith("> "):
            steps[-1].commands += "\n" + line[2:]
        else:
            steps[-1].expected.append(line)
    return steps


def parse(page, beside):
    """(links, steps) of a page, and of the file beside it"""
    network, *tests = beside.split("\n\n")
    links, steps = list(parse_network(network)), []
    for piece in PIECE.finditer(page):
        machine, block = piece["machine"], piece["block"]
        if not piece["kind"]:
            if not tests:
                sys.exit("play: the page has more tests than the file beside it")
            steps += [Step(*line.split(": ", 1)) for line in tests.pop(0).splitlines()]
        elif piece["kind"] == "sh":
            steps.append(Step(machine, block))
        elif piece["kind"] == "console":
            steps += parse_console(machine, block)
    if tests:
        sys.exit(f"play: the page has no place for the test '{tests[0]}'")
    known = {link.machine for link in links}
    for step in steps:
        if step.machine not in known:
            sys.exit(f"play: '{step}' is for no machine of the page's network")
    return links, steps


def run(*command, **options):
    subprocess.run(command, check=True, **options)


class Machine:
    """A namespace with its own files, and its own systemd."""

    def __init__(self, name):
        self.name = name
        self.metric = 100
        run("ip", "netns", "add", name)
        self.ip("link", "set", "lo", "up")
        self.holder = subprocess.Popen(["ip", "netns", "exec", name, "unshare", "--mount", "--uts", "--ipc",
                                        HERE / "machine", name], stdout=subprocess.PIPE, text=True)
        if self.holder.stdout.readline() != "ready\n":
            sys.exit(f"play: {name} does not start")

    def ip(self, *words):
        run("ip", "-n", self.name, *words)

    def add_address(self, device, address, gateway=None):
        self.ip("address", "add", address, "dev", device)
        self.ip("link", "set", device, "gso_max_segs", "1", "up")
        if gateway:
            self.ip("route", "add", "default", "via", gateway, "dev", device, "metric", str(self.metric))
            self.metric += 500

    def type(self, commands):
        """(exit status, output) of commands that a user types here"""
        done = subprocess.run(
            ["nsenter", "-t", str(self.holder.pid), "-m", "-u", "-i", "-n", "runuser", "-u", USER, "--",
             "env", "-C", f"/home/{USER}", "-i", f"HOME=/home/{USER}", f"USER={USER}", "LC_ALL=C.UTF-8",
             "PATH=/usr/local/bin:/usr/bin:/bin", "bash", "-euo", "pipefail", "-c", commands],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=STEP_LIMIT_S, check=False)
        return done.returncode, done.stdout


def shape(namespace, device, link):
    if link.rate:
        run("tc", "-n", namespace, "qdisc", "add", "dev", device, "root", "netem",
            "rate", link.rate, "delay", link.delay, "limit", "100")


def connect(machines, link, number):
    """Lay one link."""
    if isinstance(link, Cable):
        run("ip", "link", "add", link.device, "netns", link.machine, "type", "veth",
            "peer", "name", link.router_device, "netns", link.router)
        machines[link.router].add_address(link.router_device, link.router_address)
        machines[link.machine].add_address(link.device, link.address, link.router_address.split("/")[0])
        return
    far = f"line{number}"
    run("ip", "link", "add", link.device, "netns", link.machine, "type", "veth",
        "peer", "name", far, "netns", INTERNET)
    run("ip", "-n", INTERNET, "address", "add", f"{link.gateway}/{link.address.split('/')[1]}", "dev", far)
    run("ip", "-n", INTERNET, "link", "set", far, "gso_max_segs", "1", "up")
    shape(INTERNET, far, link)
    machines[link.machine].add_address(link.device, link.address, link.gateway)
    shape(link.machine, link.device, link)


def build(links):
    """The page's machines, connected."""
    run("ip", "netns", "add", INTERNET)
    run("ip", "netns", "exec", INTERNET, "sysctl", "-qw", "net.ipv4.ip_forward=1")
    names = [link.machine for link in links] + [link.router for link in links if isinstance(link, Cable)]
    machines = {name: Machine(name) for name in dict.fromkeys(names)}
    for number, link in enumerate(links):
        connect(machines, link, number)
    return machines


def pattern(line):
    """The regular expression that an expected line stands for."""
    address_or_number = re.compile(r"\d+(?:\.\d+){3}|\d+\.\d+|\d{3,}|\.\.\.|\s+")
    parts, end = [], 0
    for match in address_or_number.finditer(line):
        parts.append(re.escape(line[end:match.start()]))
        word = match[0]
        if word == "...":
            parts.append(".*")
        elif word.isspace():
            parts.append(r"\s+")
        elif word.count(".") == 3:
            parts.append(re.escape(word))
        else:
            parts.append(r"[\d.]+")
        end = match.end()
    return "".join(parts) + re.escape(line[end:])


def missing(expected, output):
    """The first expected line that the output lacks, or None."""
    lines = iter(output.splitlines())
    for wanted in expected:
        if wanted.strip() in ("", "..."):
            continue
        if not any(re.search(pattern(wanted.strip()), line) for line in lines):
            return wanted
    return None


def play(step, machines):
    """What went wrong, as lines; nothing if it went as the page says."""
    status, output = machines[step.machine].type(step.commands)
    bad = [f"exit status {status}"] if status else []
    line = missing(step.expected, output)
    if line is not None:
        bad.append(f"not printed: {line}")
    if bad:
        bad += output.splitlines()[-40:]
        bad += machines[step.machine].type(DIAGNOSE)[1].splitlines()
    return bad


def main():
    page = Path(sys.argv[1])
    links, steps = parse(page.read_text(encoding="utf-8"), (HERE / "pages" / page.stem).read_text(encoding="utf-8"))
    print(f"TAP version 13\n1..{len(steps)}", flush=True)
    machines = build(links)
    for number, step in enumerate(steps, 1):
        bad = play(step, machines)
        for line in bad:
            print(f"# {line}")
        print(f"{'not ok' if bad else 'ok'} {number} - {page.stem}: {str(step).replace('#', '')}", flush=True)
        if bad:
            print(f"# {len(steps) - number} further steps of the page were not tried")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
