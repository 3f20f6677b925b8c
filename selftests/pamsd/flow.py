#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""A reporter measures and reports an interface that carries data, in a network of
its own: a queue that drains at 8 Mbit/s before a link. Prints TAP.

    selftests/pamsd/flow.py [CASE...]

Needs no root where a user may have namespaces; they are entered before anything
else is done.
"""
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from daemon import (Daemon, Failed, check, free_port, new_key,  # noqa: E402
                    reporter_with_faults, run_cases_in_network, within)

RATE_BYTEPS = 1000000
PAYLOAD_BYTES, FRAME_BYTES = 1400, 1442


# v0 with a queue that drains at 8 Mbit/s, and somebody to send to
PIPE = ("ip link add v0 type veth peer name v1", "ip addr add 10.9.0.1/24 dev v0",
        "ip link set v0 up", "ip link set v1 up",
        "ip neigh add 10.9.0.2 lladdr 02:00:00:00:00:02 dev v0",
        "tc qdisc add dev v0 root tbf rate 8mbit burst 3000 limit 1000000")


class Flow:
    """Sends datagrams through v0, as fast or at the rate that is asked for."""

    def __init__(self, byteps, to="10.9.0.2", catch_up=True):
        self.byteps, self.to, self.catch_up = byteps, to, catch_up
        self.ended = False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 200000)
        start, sent = time.monotonic(), 0
        while not self.ended:
            while not self.ended and sent < (time.monotonic() - start) * self.byteps:
                sock.sendto(bytes(PAYLOAD_BYTES), (self.to, 9))
                sent += FRAME_BYTES
                if not self.catch_up:
                    sent, start = FRAME_BYTES, time.monotonic()
            time.sleep(0.005)

    def stop(self):
        self.ended = True
        self.thread.join()


class Pair:
    """A server and a reporter about 10.9.0.0/24 behind v0."""

    def __init__(self, folder, interface="", about='"10.9.0.0/24"', name="v0", reporter=""):
        port, key = free_port(), new_key()
        self.server = Daemon(folder, "server",
                             f'server {{ listen = {{"127.0.0.1:{port}"}}\n'
                             f'peer "a" {{ key = "{key}" prefixes = {{"10.9.0.0/24"}} }} }}\n')
        self.reporter = Daemon(folder, "reporter",
                               f'reporter {{ to "s" {{ address = "127.0.0.1:{port}" key = "{key}" }}\n{reporter}\n'
                               f'interface "{name}" {{ about = {{{about}}}\n{interface} }} }}\n')
        within("the session is there", lambda: self.server.peer()["accepted"] >= 1)

    def interface(self):
        return self.reporter.status()["reporter"]["interfaces"][0]

    def rate(self):
        """Of the pipe, as the server knows it; 0 if it doesn't."""
        return sum(path.get("rate_byteps", 0) for path in self.server.peer()["paths"])

    def rate_is_near(self, byteps=RATE_BYTEPS):
        return abs(self.rate() - byteps) < byteps / 8

    def stop(self):
        self.reporter.stop()
        self.server.stop()


def backlog_is_measured(folder):
    """More is sent than drains: its rate is known, and what waits."""
    pair = Pair(folder)
    flow = Flow(3 * RATE_BYTEPS)
    within("the rate is known", pair.rate_is_near)
    backlog = within("a backlog", lambda: sum(path.get("backlog_bytes", 0)
                                              for path in pair.server.peer()["paths"]))
    check(backlog > 10000, f"{backlog} bytes wait")
    flow.stop()
    pair.stop()


def reports_while_data_flows(folder):
    """At least every 100 ms, and none when nothing flows any more."""
    pair = Pair(folder)
    flow = Flow(3 * RATE_BYTEPS)
    within("the rate is known", pair.rate_is_near)
    start, before = time.monotonic(), pair.server.peer()["accepted"]
    begin = time.monotonic()
    time.sleep(4)
    least_s = time.monotonic() - begin
    count = pair.server.peer()["accepted"] - before
    most_s = time.monotonic() - start
    flow.stop()
    # a fifth less, for a busy machine
    check(least_s * 8 <= count <= most_s * 50, f"{count} reports in {least_s:.1f} to {most_s:.1f} s")
    within("the reports end", lambda: pair.server.peer()["age_ms"] > 1000)
    check(pair.interface()["flows"] is False, f"{pair.interface()}")
    pair.stop()


def pipe_outlives_two_lost_reports(folder):
    """However seldom reports are."""
    pair = Pair(folder, reporter="interval-ms = 1000")
    flow = Flow(3 * RATE_BYTEPS)
    within("the rate is known", pair.rate_is_near)
    pair.reporter.send(signal.SIGSTOP)
    peer = within("a report and another one are missed", lambda: pair.server.peer()["age_ms"] > 1500 and pair.server.peer())
    check(peer["age_ms"] > 2900 or peer["paths"][0].get("rate_byteps"), f"{peer}")
    within("it expires", lambda: not pair.rate())
    pair.reporter.send(signal.SIGCONT)
    flow.stop()
    pair.stop()


def idle_is_asleep(folder):
    """While nothing flows neither daemon wakes up, and what little passes doesn't change that;
    the first packets of a flow do."""
    pair = Pair(folder)
    within("repeats are over", lambda: pair.server.peer()["age_ms"] > 1000)
    for what, packet in (("nothing", None), ("a keep-alive a second", bytes(60))):
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        before = {daemon: asleep(daemon) for daemon in (pair.reporter, pair.server)}
        for _ in range(10):
            if packet:
                sock.sendto(packet, ("10.9.0.2", 9))
            time.sleep(1)
        for daemon, count in before.items():
            woken = wake_ups(daemon) - count
            print(f"# {what}: {daemon.file.stem} woke up {woken} times in 10 s")
            check(woken == 0, f"{what}: {daemon.file.stem} woke up {woken} times in 10 s")
    flow = Flow(3 * RATE_BYTEPS)
    within("the rate is known", pair.rate_is_near)
    flow.stop()
    pair.stop()


def wake_ups(daemon):
    """How often the process gave up the processor to wait."""
    lines = Path(f"/proc/{daemon.process.pid}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("voluntary_ctxt")))


def asleep(daemon):
    """Its wake-ups, once the last question of this test has been dealt with: the daemon closes
    that connection only after it has answered."""
    counts = [wake_ups(daemon)]

    def settled():
        time.sleep(0.3)
        counts.append(wake_ups(daemon))
        return counts[-1] == counts[-2]

    within("it sleeps", settled)
    return counts[-1]


def known_rate_stays_without_backlog(folder):
    pair = Pair(folder)
    flow = Flow(3 * RATE_BYTEPS)
    within("the rate is known", pair.rate_is_near)
    flow.stop()
    within("nothing waits", lambda: pair.interface()["backlog_bytes"] == 0)
    known = pair.interface()["rate_byteps"]
    flow = Flow(RATE_BYTEPS / 4, catch_up=False)
    time.sleep(1.5)
    check(pair.interface()["rate_byteps"] == known, f"{pair.interface()}, not {known}")
    check(pair.rate_is_near(known), f"{pair.server.peer()}")
    flow.stop()
    pair.stop()


def own_reports_are_no_flow(folder):
    """Little traffic, as that of reports, doesn't call for reports."""
    pair = Pair(folder)
    within("repeats are over", lambda: pair.server.peer()["age_ms"] > 500)
    flow = Flow(20000, catch_up=False)
    accepted = pair.server.peer()["accepted"]
    time.sleep(1.5)
    check(pair.server.peer()["accepted"] == accepted, f"{pair.server.peer()}")
    flow.stop()
    pair.stop()


def pulled_cable(folder):
    """The far end goes down: this one has no carrier, and says so at once."""
    pair = Pair(folder)
    took_ms = []

    def is_lost():
        return any("loss_ms" in path for path in pair.server.peer()["paths"])

    # a busy machine may take its time for the two programs that start besides, but not each time
    for _ in range(3):
        start = time.monotonic()
        subprocess.run(["ip", "link", "set", "v1", "down"], check=True)
        within("the loss is known", is_lost)
        took_ms.append(round((time.monotonic() - start) * 1000))
        # what a plugin foresees counts when the link is back
        for line in ('{"interface": "v0", "no_loss": true}', '{"interface": "v0", "loss_ms": 9000}'):
            check("the link is down, which is said already" in str(pair.reporter.tell(line)), line)
        check(is_lost(), f"{pair.server.peer()}")
        subprocess.run(["ip", "link", "set", "v1", "up"], check=True)
        within("its end is", lambda: not is_lost())
    check(min(took_ms) < 200, f"after {took_ms} ms: {pair.server.peer()}")
    print(f"# the server knew after {took_ms} ms, with the time to ask it")
    pair.stop()


def source_that_fails_is_said_once(folder):
    pair = Pair(folder, 'measure = "station"')
    flow = Flow(3 * RATE_BYTEPS)
    within("it is said", lambda: "nothing can be measured with 'station'" in pair.reporter.said())
    time.sleep(0.5)
    check(pair.reporter.said().count("\n") == 1, pair.reporter.said())
    check("failed" in pair.interface(), f"{pair.interface()}")
    flow.stop()
    pair.stop()


def own_link_is_not_measured(folder):
    """What it sends says nothing of the way to it: of its source no pipe is reported."""
    subprocess.run("tc qdisc add dev lo root tbf rate 8mbit burst 3000 limit 1000000".split(), check=True)
    for interface, about, measure in (("", '"source"', "none"),
                                      ('measure = "qdisc"', '"source", "10.9.9.0/24"', "qdisc")):
        pair = Pair(folder, interface, about, "lo")
        flow = Flow(3 * RATE_BYTEPS, "127.0.0.1")
        within("it flows", lambda: pair.interface()["flows"])
        time.sleep(1)
        flow.stop()
        pipes = [path for path in pair.server.peer()["paths"] if "rate_byteps" in path
                 and path["prefix"] == "127.0.0.1/32"]
        check(not pipes, f"a pipe is reported: {pipes}")
        check(pair.interface()["measure"] == measure, f"{pair.interface()}")
        pair.stop()
    subprocess.run("tc qdisc del dev lo root".split(), check=True)


def connection_to(address):
    """A TCP connection to that address of lo that is full until its end is called; the end."""
    listener = socket.create_server((address, 0))
    sender = socket.create_connection(listener.getsockname())
    receiver, _ = listener.accept()
    ended = []

    def send():
        while not ended:
            sender.sendall(bytes(65536))

    def receive():
        while receiver.recv(16384):
            time.sleep(0.001)

    threads = [threading.Thread(target=function, daemon=True) for function in (send, receive)]
    for thread in threads:
        thread.start()

    def end():
        ended.append(True)
        threads[0].join()
        sender.close()
        threads[1].join()
        receiver.close()
        listener.close()
    return end


def connections_are_measured(folder):
    """TCP connections whose peer is in the prefix, by the kernel's filter: here, of lo. Others don't count."""
    port, key = free_port(), new_key()
    server = Daemon(folder, "server", f'server {{ listen = {{"127.0.0.1:{port}"}}\n'
                    f'peer "a" {{ key = "{key}" prefixes = {{"127.0.0.2"}} }} }}\n')
    reporter = Daemon(folder, "reporter",
                      f'reporter {{ to "s" {{ address = "127.0.0.1:{port}" key = "{key}" }}\n'
                      f'interface "lo" {{ about = {{"127.0.0.2"}} measure = "tcp" }} }}\n')

    def rate():
        return max((path.get("rate_byteps", 0) for path in server.peer()["paths"]), default=0)

    other = connection_to("127.0.0.3")
    time.sleep(2)
    check(not rate(), f"a connection to another address is measured: {rate()}")
    mine = connection_to("127.0.0.2")
    within("the rate is known", lambda: rate() > 100000)
    mine()
    other()
    reporter.stop()
    server.stop()


def reports_leave_from_the_routes_source(folder):
    """Of several addresses that which the route names, not the first one; also of IPv6, where the first is deprecated."""
    for command in ("ip addr add 10.9.0.7/24 dev v0", "ip -6 addr add 2001:db8::7/64 dev v0 nodad",
                    "ip -6 addr add 2001:db8::2/64 dev v0 nodad",
                    "ip -6 addr add 2001:db8::1/64 dev v0 nodad preferred_lft 0",
                    "ip neigh add 2001:db8::99 lladdr 02:00:00:00:00:02 dev v0",
                    "ip route add 10.8.0.1 via 10.9.0.2 src 10.9.0.7",
                    "ip -6 route add 2001:db8:8::1 via 2001:db8::99 src 2001:db8::7"):
        subprocess.run(command.split(), check=True)
    frames = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    frames.bind(("v1", 0))
    frames.settimeout(5)

    def source(family, to):
        """Of the next datagram to there."""
        at, size = (26, 4) if family == socket.AF_INET else (22, 16)
        end = time.monotonic() + 10
        while time.monotonic() < end:
            frame = frames.recv(2000)
            if frame[at + size:at + 2 * size] == socket.inet_pton(family, to):
                return socket.inet_ntop(family, frame[at:at + size])
        raise Failed(f"nothing is sent to {to}")

    reporter, fault = reporter_with_faults(
        folder, 'measure = "none"', "v0", f'address = {{"10.8.0.1", "2001:db8:8::1"}} key = "{new_key()}" via = {{"v0"}}')
    found = source(socket.AF_INET, "10.8.0.1"), source(socket.AF_INET6, "2001:db8:8::1")
    check(found == ("10.9.0.7", "2001:db8::7"), f"reports leave from {found}")
    subprocess.run("ip route change 10.8.0.1 via 10.9.0.2 src 10.9.0.1".split(), check=True)
    within("they follow the route", lambda: source(socket.AF_INET, "10.8.0.1") == "10.9.0.1")
    subprocess.run("ip route change 10.8.0.1 via 10.9.0.2 src 10.9.0.7".split(), check=True)
    fault.write_text("silent")
    within("it is said that the kernel doesn't tell", lambda: "doesn't tell the source address" in reporter.said())
    within("they leave all the same", lambda: source(socket.AF_INET, "10.8.0.1") == "10.9.0.1")
    fault.write_text("")
    within("they follow the route again", lambda: source(socket.AF_INET, "10.8.0.1") == "10.9.0.7")
    reporter.stop()


def only_its_connections_are_told(folder):
    """The kernel is asked for the sockets of the prefix; pamsd would leave the others out, too, but look at each."""
    reporter, told = reporter_with_faults(folder, 'about = {"127.0.0.2"} measure = "tcp"')
    listener = socket.create_server(("127.0.0.3", 0))
    others = [socket.create_connection(listener.getsockname()) for _ in range(40)]
    told.write_text("count")
    mine = connection_to("127.0.0.2")
    counts = within("the kernel is asked", lambda: Path(f"{told}.sockets").exists() and
                    Path(f"{told}.sockets").read_text().split())
    mine()
    check(max(map(int, counts)) <= 2, f"the kernel tells of so many sockets at once: {counts}")
    for other in (*others, listener):
        other.close()
    reporter.stop()


def main():
    return run_cases_in_network("flow", PIPE, [
        backlog_is_measured, reports_while_data_flows, pipe_outlives_two_lost_reports,
        idle_is_asleep, known_rate_stays_without_backlog, own_reports_are_no_flow, pulled_cable,
        own_link_is_not_measured, source_that_fails_is_said_once, connections_are_measured,
        only_its_connections_are_told, reports_leave_from_the_routes_source])


if __name__ == "__main__":
    os.environ["LC_ALL"] = "C"
    try:
        sys.exit(main())
    except Failed as failure:
        sys.exit(str(failure))
