#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The page and the metrics at pamsd's HTTP socket: what they show, and who is refused. Prints TAP.

    selftests/pamsd/page.py [CASE...]
"""
import contextlib
import json
import os
import re
import shutil
import socket
import socketserver
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from daemon import (HELPERS, LIMIT_S, TOP, Daemon, Skipped, check, free_port, new_key,  # noqa: E402
                    run_cases_about_lo, within)

try:
    from prometheus_client.openmetrics.parser import text_string_to_metric_families
except ImportError:
    text_string_to_metric_families = None

CLIENTS_MAX = 16
HEAD_BYTES_MAX = 16384
FRESH_S = 1     # pamsd gives an answer again for so long
IPPROTO_MPTCP = 262


class Page(Daemon):
    def __init__(self, folder, more="", host="127.0.0.1"):
        self.more, self.host = more, host
        with socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET) as found:
            self.port = found.getsockname()[1]
        super().__init__(folder, "page", self.config())

    def config(self, port=None):
        return f'http = "{self.host.join("[]") if ":" in self.host else self.host}:{port or self.port}"\n{self.more}\n'

    def connect(self):
        return socket.create_connection((self.host, self.port), timeout=LIMIT_S)

    def say(self, request):
        """The status, the fields and the body of the answer."""
        with self.connect() as client:
            client.sendall(request)
            head, _, body = b"".join(iter(lambda: client.recv(65536), b"")).partition(b"\r\n\r\n")
        status, *fields = head.decode().split("\r\n")
        return status, dict(field.split(": ", 1) for field in fields), body.decode()

    def get(self, path, host=None):
        return self.say(f"GET {path} HTTP/1.1\r\nHost: {host or f'127.0.0.1:{self.port}'}\r\n\r\n".encode())

    def works(self):
        return self.get("/metrics")[0] == "HTTP/1.1 200 OK"

    def status_of(self, request):
        return int(self.say(request)[0].split()[1])

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


def listens(process):
    """At how many TCP sockets anybody in its network does."""
    return sum(line.split()[3] == "0A" for name in ("tcp", "tcp6")
               for line in Path(f"/proc/{process.pid}/net/{name}").read_text().splitlines()[1:])


PEER = 'server {{ listen = {{"127.0.0.1:{port}"}} peer "a \\"b" {{ key = "{key}" }} }}\n' \
       'reporter {{ to "far" {{ address = "127.0.0.1:{port}" key = "{other}" }} interface "lo" {{ measure = "none" }} }}'


def off_by_default(folder):
    daemon = Daemon(folder, "page", "costs-as-backup = true")
    check(listens(daemon.process) == 0, "nothing listens")
    daemon.stop()


def metrics_are_those_of_pamsctl(folder):
    page = Page(folder, PEER.format(port=free_port(), key=new_key(), other=new_key()))
    status, fields, body = page.get("/metrics")
    check(status == "HTTP/1.1 200 OK" and fields["Content-Type"].startswith("application/openmetrics-text; version=1.0.0"),
          f"{status} {fields}")
    other = subprocess.run([TOP / "build/tools/pamsctl", "metrics", "--control", page.socket], check=True,
                           capture_output=True, text=True).stdout
    # what counts on meanwhile may differ
    check(re.sub(r" \d+$", "", body, flags=re.M) == re.sub(r" \d+$", "", other, flags=re.M), f"{body}\n{other}")
    check('pamsd_reports_total{peer="a \\"b"} 0\n' in body and body.endswith("# EOF\n"), body)
    page.stop()


def metrics_parse(folder):
    """As others read OpenMetrics, to the letter."""
    if not text_string_to_metric_families:
        raise Skipped("no prometheus_client here: tools/setup.sh check")
    page = Page(folder, PEER.format(port=free_port(), key=new_key(), other=new_key()))
    families = {family.name: family for family in text_string_to_metric_families(page.get("/metrics")[2])}
    check({"pams_up", "pamsd_reports", "pamsd_unanswered_milliseconds"} <= set(families), f"{families}")
    check([(sample.labels, sample.value) for sample in families["pamsd_reports"].samples] == [({"peer": 'a "b'}, 0)],
          f"{families}")
    page.stop()


def page_needs_nobody_else(folder):
    page = Page(folder)
    status, fields, body = page.get("/")
    check(status == "HTTP/1.1 200 OK" and fields["Content-Type"] == "text/html; charset=utf-8", f"{status} {fields}")
    check(body == (TOP / "tools/pamsd/page.html").read_text(), "it is the file")
    check("default-src 'none'" in fields["Content-Security-Policy"] and "Access-Control-Allow-Origin" not in fields,
          f"{fields}")
    check(not re.search(r"https?:|//[a-z]|innerHTML", body), "it speaks of nobody else")
    page.stop()


def open_connection():
    """An MPTCP connection of lo, and 100 bytes over it."""
    with contextlib.ExitStack() as stack:
        try:
            listener = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM, IPPROTO_MPTCP))
            client = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM, IPPROTO_MPTCP))
        except OSError as error:
            raise Skipped(f"MPTCP: {error.strerror}") from error
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        client.connect(listener.getsockname())
        server = stack.enter_context(listener.accept()[0])
        client.sendall(bytes(100))
        server.recv(100)
        return stack.pop_all(), client.getsockname()[1]


def status_has_subflows(folder):
    page = Page(folder, "costs-as-backup = true")
    connection, port = open_connection()
    with connection:
        answer = json.loads(page.get("/status")[2])
        check(answer["pamsd"]["version"] == page.status()["version"] and not answer["unprivileged"], f"{answer}")
        mine = [flow for flow in answer["subflows"] if flow["local_port"] == port]
        check([(flow["sent_bytes"], flow["received_bytes"], flow["dev"]) for flow in mine] == [(100, 0, None)], f"{answer}")
    page.stop()


def interfaces_with_one_address(folder):
    """A subflow belongs to the one that it is bound to."""
    listens = "\n".join(("import signal, socket", f"at = socket.socket(socket.AF_INET, socket.SOCK_STREAM, {IPPROTO_MPTCP})",
                         "at.bind(('', 9))", "at.listen()", "print(flush=True)", "kept = at.accept()", "signal.pause()"))
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(subprocess.Popen(["unshare", "-n", sys.executable, "-c", listens], stdout=subprocess.PIPE))
        stack.callback(server.kill)
        if not server.stdout.read(1):
            raise Skipped("no network or no MPTCP for the server")
        stack.callback(subprocess.run, "ip link del one8; ip link del one9", shell=True, check=False, capture_output=True)
        made = subprocess.run(" && ".join(
            f"ip link add one{i} type veth peer name far{i} && ip link set far{i} netns {server.pid} && "
            f"ip address add 192.0.2.1/32 dev one{i} && ip link set one{i} up && ip route add 192.0.2.{i}/32 dev one{i} && "
            f"nsenter -n -t {server.pid} sh -ec 'ip address add 192.0.2.{i}/32 dev far{i}; ip link set far{i} up; "
            f"ip route replace 192.0.2.1/32 dev far{i}'" for i in (8, 9)), shell=True, check=False, capture_output=True, text=True)
        if made.returncode:
            raise Skipped(f"no interfaces: {made.stderr}")
        page = Page(folder)
        stack.callback(page.stop)
        client = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM, IPPROTO_MPTCP))
        client.settimeout(LIMIT_S)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"one9")
        client.connect(("192.0.2.9", 9))

        def owner():
            return [(flow["local_address"], flow["dev"]) for flow in json.loads(page.get("/status")[2])["subflows"]
                    if flow["local_port"] == client.getsockname()[1]]

        check(owner() == [("192.0.2.1", "one9")], f"{owner()}")
        subprocess.run("ip address del 192.0.2.1/32 dev one9".split(), check=True)
        within("the other one has it", lambda: owner() == [("192.0.2.1", "one8")])


def other_hosts_are_refused(folder):
    """A browser that was led here by a name of somebody else's."""
    page = Page(folder)
    port = page.port
    for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"LOCALHOST:{port}", f"[::1]:{port}", f"127.1.2.3:{port}"):
        check(page.get("/metrics", host)[0] == "HTTP/1.1 200 OK", host)
    for host in (f"evil.test:{port}", f"localhost.evil.test:{port}", f"localhost{port}:{port}", f"127.0.0.1.evil.test:{port}",
                 "127.0.0.1", "localhost", f"127.0.0.1:{port + 1}", f"192.0.2.1:{port}", f"[::2]:{port}", f"0.0.0.0:{port}",
                 f"evil@127.0.0.1:{port}", f"127.0.0.1:{port}.evil.test", "x" * 300):
        for path in ("/", "/metrics", "/status"):
            status, fields, body = page.get(path, host)
            check(status == "HTTP/1.1 403 Forbidden" and body == "403 Forbidden\n", f"{host}: {status} {fields} {body}")
    page.stop()


def other_requests_are_refused(folder):
    page = Page(folder)
    host = f"Host: 127.0.0.1:{page.port}\r\n"
    for status, request in (
            (405, f"POST / HTTP/1.1\r\n{host}Content-Length: 3\r\n\r\nabc"), (405, f"HEAD / HTTP/1.1\r\n{host}\r\n"),
            (405, f"OPTIONS /metrics HTTP/1.1\r\n{host}Origin: https://evil.test\r\n\r\n"),
            (404, f"GET /../etc/passwd HTTP/1.1\r\n{host}\r\n"), (404, f"GET /metrics/ HTTP/1.1\r\n{host}\r\n"),
            (404, f"GET //evil.test/ HTTP/1.1\r\n{host}\r\n"),
            (400, "GET / HTTP/1.1\r\n\r\n"), (400, f"GET / HTTP/1.1\r\n{host}{host}\r\n"), (400, f"GET /\r\n{host}\r\n"),
            (400, f"GET\r\n{host}\r\n"), (400, "\r\n\r\n"), (400, f"GET / FTP/1\r\n{host}\r\n"), (400, "\0\r\n\r\n")):
        check(page.status_of(request.encode()) == status, f"{status}: {request}")
    check(page.works(), "it goes on")
    page.stop()


def big_requests_are_refused(folder):
    page = Page(folder)
    head = f"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:{page.port}\r\nX: "
    for length, status in ((HEAD_BYTES_MAX - len(head) - 100, 200), (HEAD_BYTES_MAX, 431), (1 << 20, 431)):
        check(page.status_of((head + "x" * length + "\r\n\r\n").encode()) == status, f"{length}: {status}")
    check(page.works(), "it goes on")
    page.stop()


def dropped(client):
    try:
        return client.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def slow_clients_are_dropped(folder):
    """One says a little at a time and never ends, one doesn't read what it asked for."""
    page = Page(folder)
    before = page.descriptors()
    with page.connect() as slow, page.connect() as deaf:
        deaf.sendall(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{page.port}\r\n\r\n".encode())
        slow.setblocking(False)

        def trickled():
            with contextlib.suppress(OSError):
                slow.send(b"G")
            return dropped(slow)

        check(page.works() and not trickled(), "others are answered meanwhile")
        within("it is dropped", trickled)
        within("both are", lambda: page.descriptors() <= before)
    page.stop()


def hundred_connections(folder):
    """Those that are silent hold up nobody else, and no more than so many are kept."""
    page = Page(folder)
    before = page.descriptors()
    with contextlib.ExitStack() as stack:
        silent = [stack.enter_context(page.connect()) for _ in range(100)]
        for _ in range(20):
            check(page.works(), "others are answered")
        check(page.descriptors() <= before + CLIENTS_MAX, f"{page.descriptors() - before} descriptors")
        for client in silent:
            client.setblocking(False)
        check(sum(map(dropped, silent)) >= 100 - CLIENTS_MAX, "the oldest are dropped")
    with contextlib.ExitStack() as stack:
        asking = [stack.enter_context(page.connect()) for _ in range(CLIENTS_MAX)]
        for client in asking:
            client.sendall(f"GET /status HTTP/1.1\r\nHost: 127.0.0.1:{page.port}\r\n\r\n".encode())
        check([client.recv(12) for client in asking] == [b"HTTP/1.1 200"] * CLIENTS_MAX, "as many at once are answered")
    page.stop()


def large_answers_come_one_at_a_time(folder):
    """Of thousands of peers' counts no more than one is held in memory, whoever asks and doesn't read."""
    peers = subprocess.run([HELPERS / "reporters", "--config", "1500"], check=True, capture_output=True, text=True).stdout
    # JSON writes six bytes for each of these
    peers = re.sub(r'peer "(.*?)"', lambda found: f'peer "{found[1]}{chr(1) * 300}"', peers)
    page = Page(folder, f'server {{\n\tlisten = {{"127.0.0.1:{free_port()}"}}\n{peers}}}\n')
    check(len(page.get("/status")[2]) > 1 << 20, "it is too short to tell anything")
    before = page.descriptors()
    with contextlib.ExitStack() as stack:
        for _ in range(CLIENTS_MAX):
            client = stack.enter_context(page.connect())
            client.sendall(f"GET /status HTTP/1.1\r\nHost: 127.0.0.1:{page.port}\r\n\r\n".encode())
            check(client.recv(12) == b"HTTP/1.1 200", "it is answered")
            check(page.descriptors() <= before + 1, f"{page.descriptors() - before} are left")
        check(page.works(), "it goes on")
    page.stop()


def reload_switches_it_on_and_off(folder):
    page = Page(folder, "costs-as-backup = true")
    check(page.works() and listens(page.process) == 1, "it is on")
    page.reload("costs-as-backup = true")
    check(listens(page.process) == 0, "it is off")
    page.reload(page.config())
    check(page.works(), "it is on again")
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        page.write(page.config(port))
        page.send(1)
        within("the old one is kept", lambda: page.said().endswith(
            f"pamsd: http: can't listen at 127.0.0.1:{port}: Address already in use\npamsd: the old configuration is kept\n"))
    check(page.works(), "and works")
    page.stop()


def other_family(folder):
    page = Page(folder, host="::1")
    check(page.works(), "it is there")
    page.stop()


def browse(folder, address, virtual_ms):
    """The page as a browser has it after so long, which passes for the page; some seconds here."""
    browser = shutil.which("chromium")
    if not browser:
        raise Skipped("no chromium here: no stage installs its 300 MB")
    done = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                           f"--user-data-dir={folder}/browser", f"--virtual-time-budget={virtual_ms}", "--dump-dom", address],
                          check=False, capture_output=True, text=True, timeout=4 * LIMIT_S)
    check(done.stdout, done.stderr)
    return done.stdout


def hostile_link():
    """An interface whose name is HTML."""
    made = subprocess.run("ip link add '<i>x' type veth peer name y && ip address add 192.0.2.9/24 dev '<i>x' && "
                          "ip link set '<i>x' up && ip link set y up", shell=True, check=False)
    if made.returncode:
        raise Skipped("no interface can be made")


class Late(socketserver.StreamRequestHandler):
    """What is asked here reaches pamsd, at the same port of another address, only when its answer before isn't given again."""

    def handle(self):
        request = b""
        while not request.endswith(b"\r\n\r\n"):
            line = self.rfile.readline()
            if not line:
                return      # a browser connects in advance
            request += line
        time.sleep(1.2 * FRESH_S)
        with self.server.page.connect() as pamsd:
            pamsd.sendall(request)
            shutil.copyfileobj(pamsd.makefile("rb"), self.wfile)


@contextlib.contextmanager
def late(page):
    """Its address. Where time is virtual, all that a page asks could else come within a second."""
    socketserver.ThreadingTCPServer.daemon_threads = True
    with socketserver.ThreadingTCPServer(("127.0.0.2", page.port), Late) as server:
        server.page = page
        threading.Thread(target=server.serve_forever).start()
        try:
            yield f"http://127.0.0.2:{page.port}/"
        finally:
            server.shutdown()


def in_a_browser(folder):
    """What its script makes of what pamsd says, an interface with a hostile name among that."""
    hostile_link()
    page = Page(folder, "costs-as-backup = true")
    connection, port = open_connection()
    with connection, late(page) as address:
        # it asks three times, and has rates
        dom = browse(folder, address, 5000)
    check(f"pamsd {page.status()['version']}, the module is " in dom and 'class="bad"' not in dom, dom)
    check("<td>&lt;i&gt;x</td><td>up</td><td>192.0.2.9</td>" in dom, dom)
    check(re.search(rf"<td>127\.0\.0\.1:{port}</td><td>127\.0\.0\.1:\d+</td><td>[\d.]+ ms</td><td>0 bit/s</td>"
                    "<td>0 bit/s</td><td>100 B</td><td>0 B</td>", dom), dom)
    page.stop()


if __name__ == "__main__":
    sys.exit(run_cases_about_lo([
        off_by_default, metrics_are_those_of_pamsctl, metrics_parse, page_needs_nobody_else, status_has_subflows, interfaces_with_one_address, other_hosts_are_refused,
        other_requests_are_refused, big_requests_are_refused, slow_clients_are_dropped, hundred_connections,
        large_answers_come_one_at_a_time, reload_switches_it_on_and_off, other_family, in_a_browser]))
