#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""LuCI's pages in packaging/openwrt: their files, and in a real browser what they make of what pamsctl says, and ask for. Prints TAP.

    selftests/openwrt/luci.py [CASE...]

LuCI itself isn't here: luci.html stands in for its runtime, and this program for rpcd, which lets a page run what its ACL names.
pamsctl is the real one, in a network of its own without the module; with it, the one of selftests/pamsctl/fake.c.
"""
import fnmatch
import html
import json
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlencode

TOP = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "selftests" / "pamsd"))
from daemon import check, run_cases_about_lo  # noqa: E402
from page import Skipped, browse, hostile_link, open_connection  # noqa: E402

PACKAGE = TOP / "packaging" / "openwrt" / "luci-app-mptcp-pams"
NAME = PACKAGE.name
PAMSCTL = TOP / "build" / "tools" / "pamsctl"
FAKE = TOP / "build" / "selftests" / "pamsctl" / "pamsctl"


def menu():
    return json.loads((PACKAGE / f"root/usr/share/luci/menu.d/{NAME}.json").read_text())


def acl():
    """The commands that a reader of the page may run, and those that only who changes things may."""
    granted = json.loads((PACKAGE / f"root/usr/share/rpcd/acl.d/{NAME}.json").read_text())[NAME]
    check(set(granted) == {"description", "read", "write"}, f"{granted}")
    for group in ("read", "write"):
        check(set(granted[group]) == {"file", "uci"} and set(map(tuple, granted[group]["file"].values())) == {("exec",)}, f"{granted}")
        check(granted[group]["uci"] == ["pamsd"], f"{granted}")
    return list(granted["read"]["file"]), list(granted["write"]["file"])


class Device(BaseHTTPRequestHandler):
    """The page, and rpcd."""

    def do_GET(self):
        path = self.path.split("?")[0]
        file = PACKAGE / "htdocs" / path[1:] if path.startswith("/luci-static/") else Path(__file__).with_name("luci.html")
        self.answer(200 if file.is_file() else 404, file.read_bytes() if file.is_file() else b"",
                    "text/html" if file.suffix == ".html" else "text/javascript")

    def do_POST(self):
        words = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(" ".join(words))
        self.answer(200, json.dumps(self.run(words)).encode(), "application/json")

    def run(self, words):
        if not any(fnmatch.fnmatchcase(" ".join(words), pattern) for pattern in self.server.granted):
            return {"name": "PermissionError", "refused": "Permission denied"}
        if not self.server.pamsctl:
            return {"name": "NotFoundError", "refused": "Resource not found"}
        done = subprocess.run([self.server.pamsctl, *words[1:]], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if len(done.stdout) > 256 * 1024:
            return {"name": "UnsupportedError", "refused": "Operation not supported"}
        return {"code": done.returncode, "stdout": done.stdout, "stderr": done.stderr}

    def answer(self, status, body, kind):
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        """Not shown."""


def shown(folder, pamsctl=PAMSCTL, reader=False, virtual_ms=3000, view="status", **wanted):
    """The page as the browser has it after some seconds, and what was asked for."""
    check(f"mptcp-pams/{view}" in {entry["action"]["path"] for entry in menu().values()}, f"{menu()}")
    read, write = acl()
    with ThreadingHTTPServer(("127.0.0.1", 0), Device) as server:
        server.pamsctl, server.granted, server.asked = pamsctl, read if reader else read + write, []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        if reader:
            wanted["reader"] = ""
        query = urlencode({"view": f"mptcp-pams/{view}", **wanted})
        dom = browse(folder, f"http://127.0.0.1:{server.server_address[1]}/?{query}", virtual_ms)
        server.shutdown()
    # the stand-in's own text apart
    page = dom.partition('<div id="view">')[2].partition("<script>")[0]
    check("the view ended" not in dom.rpartition("</script>")[2] and page.startswith("<div><h2>Multipath TCP"), dom)
    return page, server.asked


def said(page):
    """The lines about what went wrong."""
    return re.findall(r'<div class="alert-message warning">(.*?)</div>', page)


def program(folder, text):
    file = Path(folder) / "pamsctl"
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return file


def loaded(folder):
    """With the module, a scheduler of it chosen; what fake.c can't say is the real one's."""
    return program(folder, f"""case "$1 $2" in
"sched list" | "conn "*) exec {FAKE} "$@" ;;
"sched show") echo '{{"chosen": "twice", "there": true, "in_use": "twice", "available": ["default", "twice"], "module_loaded": true}}' ;;
*) exec {PAMSCTL} "$@" ;;
esac""")


def files_fit_together(_folder):
    for entry in menu().values():
        check(entry["depends"]["acl"] == [NAME], f"{entry}")
        check((PACKAGE / f"htdocs/luci-static/resources/view/{entry['action']['path']}.js").is_file(), f"{entry}")


def makefile_is_luci_s(folder):
    """What OpenWrt reads of it, with empty files for its own."""
    for name in ("rules.mk", "feeds/luci/luci.mk"):
        file = Path(folder) / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    told = subprocess.run(["make", "-sC", PACKAGE, f"TOPDIR={folder}", "--eval",
                           "told: ; $(info $(LUCI_DEPENDS)|$(PKG_VERSION)|$(LUCI_PKGARCH)|$(LUCI_TITLE))", "told"],
                          check=True, capture_output=True, text=True).stdout.strip().split("|")
    neighbour = (PACKAGE.parent / "mptcp-pams/Makefile").read_text()
    for package in told[0].split():
        check(package == "+luci-base" or f"define Package/{package[1:]}\n" in neighbour, package)
    check(f"PKG_VERSION:={told[1]}\n" in neighbour and told[2] == "all" and told[3], f"{told}")
    # OpenWrt's include/scan.mk takes a folder for a package's by this pattern
    check(re.search(r"call (Build/DefaultTargets|BuildPackage|KernelPackage)", (PACKAGE / "Makefile").read_text()), "BuildPackage")


def acl_is_pamsctl_s(_folder):
    """Each command is one of pamsctl's, and those for readers change nothing."""
    read, write = acl()
    for line in read:
        words = line.split()
        check(words[0] == "/usr/sbin/pamsctl" and "*" not in line, line)
        done = subprocess.run([PAMSCTL, *words[1:]], capture_output=True, text=True, check=False)
        json.loads(done.stdout)
        check(done.returncode != 2, f"{line}: {done}")
    check(write == ["/usr/sbin/pamsctl sched set * --json"], f"{write}")
    # whatever the star stands for, it is the name of a scheduler
    for words in ("default", "pams"):
        check(subprocess.run([PAMSCTL, "sched", "set", words, "--json"], capture_output=True, check=False).returncode != 2, words)
    for words in ("default pams", "default --module x", "x --control y", "default --dry-run"):
        check(subprocess.run([PAMSCTL, "sched", "set", *words.split(), "--json"], capture_output=True, check=False).returncode == 2, words)


def asks_for_what_is_granted(folder):
    """All of it, and nothing else."""
    read, write = acl()
    _, asked = shown(folder, loaded(folder), virtual_ms=12000, press="Use this one")
    check({line for line in asked if line in read} == set(read), f"{asked}")
    others = {line for line in asked if line not in read}
    check(others and all(fnmatch.fnmatchcase(line, write[0]) for line in others), f"{asked}")
    check(asked.count(read[0]) >= 3 and asked.count("/usr/sbin/pamsctl doctor --json") == 1, f"{asked}")


def links_and_connections(folder):
    hostile_link()
    connection, port = open_connection()
    with connection:
        page, _ = shown(folder)
    check(said(page) == [], page)
    row = re.search(r'<tr class="tr"><td class="td" data-title="Link">&lt;i&gt;x</td>(.*?)</tr>', page)
    check(row and "192.0.2.9" in row[1] and "<strong>" in row[1], page)
    check(re.search(rf'data-title="From">127\.0\.0\.1:{port}</td>.*?data-title="Sent">100 B</td>', page), page)
    check("<i>x" not in page, page)


def doctor_is_told(folder):
    page, _ = shown(folder)
    check(re.search(r'data-title="What">module</td><td [^>]*>mptcp_pams is not loaded', page), page)
    check("pamsd doesn't run" in page and re.search(r"<p>\d+ checks found nothing\.</p>", page), page)
    # the worst first
    page, _ = shown(folder, program(folder, """echo '[{"grade": "note", "what": "a", "text": "b"}, {"grade": "ok", "what": "c", "text": "d"},
        {"grade": "bad", "what": "<u>", "text": "<s>", "advice": "<b>"}]'"""))
    check(re.search('>bad</td>.*&lt;u&gt;.*&lt;s&gt;<div>→ &lt;b&gt;</div>.*>note</td>.*1 checks found nothing', page), page)


def module_isn_t_loaded(folder):
    page, _ = shown(folder)
    check("New sockets use default. The module mptcp_pams isn’t loaded" in page and said(page) == [], page)
    check('<option value="default">default</option>' in page, page)


def scheduler_is_chosen(folder):
    page, asked = shown(folder, press="Use this one", choose="default")
    check("/usr/sbin/pamsctl sched set default --json" in asked, f"{asked}")
    check("default: for sockets made from now on, until the device is started again." in page and said(page) == [], page)
    # refused by pamsctl
    page, asked = shown(folder, loaded(folder), press="Use this one", choose="twice")
    check('<option value="twice">twice: all of it twice</option>' in page, page)
    check("/usr/sbin/pamsctl sched set twice --json" in asked and said(page) == ["scheduler 'twice' is not there: available: default"], page)


def readers_change_nothing(folder):
    page, asked = shown(folder, reader=True, press="Use this one", choose="default")
    check(re.search(r'<button [^>]*disabled=""[^>]*>Use this one</button>', page), page)
    check(not any("set" in line for line in asked) and said(page) == [], f"{asked}")


def one_line_says_what_is_wrong(folder):
    """Once, whatever asked: in the place of all of the page, and of doctor's part."""
    for pamsctl, why in (
            (None, "pamsctl can’t be run: Resource not found"),
            (program(folder, """echo '{"error": "this <kernel> has no MPTCP", "status": 1}'; exit 1"""), "this &lt;kernel&gt; has no MPTCP")):
        page, _ = shown(folder, pamsctl)
        check(said(page) == [why, why] and "<table" not in page, page)


def bad_answers(folder):
    for answer in ("echo Segmentation fault >&2; exit 139", "exit 0", "echo null", "echo 7", "echo '[{'"):
        page, _ = shown(folder, program(folder, answer))
        lines = said(page)
        check(len(lines) == 4 and all(re.match(r"pamsctl (links show|links conn|sched show|doctor): no answer, exit status \d+\.", line)
                                      for line in lines), f"{answer}: {lines}")
    # JSON, but not what was asked for
    page, _ = shown(folder, program(folder, 'case $1 in doctor) echo "[]" ;; *) echo "[{}]" ;; esac'))
    check(len(said(page)) == 1 and said(page)[0].startswith("pamsctl says what this page doesn’t know"), page)
    page, _ = shown(folder, program(folder, f"""case "$1 $2" in
        "links conn") head -c 300000 /dev/zero | tr '\\0' ' ' ;;
        *) exec {PAMSCTL} "$@" ;; esac"""))
    check(said(page) == ["pamsctl links conn says more than can be shown here"] and "Connections" in page, page)


def many_subflows(folder):
    flow = '{"dev": "a", "backup": true, "local_address": "::1", "local_port": 1, "remote_address": "::2", "remote_port": 2, ' \
           '"srtt_us": 1000, "sent_bytes": 1, "received_bytes": 2}'
    page, _ = shown(folder, program(folder, f"""case "$1 $2" in
        "links conn") echo '[{{"token": "0x1", "subflows": [{", ".join([flow] * 103)}]}}]' ;;
        *) exec {PAMSCTL} "$@" ;; esac"""))
    check(page.count(">0x1</td>") == 100 and "And 3 more subflows." in page and ">a, backup</td>" in page and ">[::1]:1</td>" in page, page)


def settings_are_the_init_script_s(folder):
    """Each section and option that it reads is there, of the same kind and with the same default, and no others."""
    page, _ = shown(folder, view="settings")
    asked = json.loads(html.unescape(re.search("<pre>(.*?)</pre>", page)[1]))
    check(asked["config"] == "pamsd", f"{asked}")
    script = (PACKAGE.parent / "mptcp-pams/files/pamsd.init").read_text()
    read = {("pamsd", name, "Flag", default) for name, default in re.findall(r"config_get_bool \w+ global (\w+) (\d)", script)}
    # paths has no options, and is a flag here
    read.add(("pamsd", "_paths", "Flag", "0"))
    types = {name for line in re.findall(r"^\tsection \w+ (.*)$", script, re.M) for name in line.split()}
    for kind in types - {"paths"}:
        body = re.search(rf"^{kind}\(\)\n{{\n(.*?)^}}", script, re.M | re.S)[1]
        read |= {(kind, name, "Flag", default) for name, default in re.findall(r'flag "\$1" (\w+) \S+ (\d)', body)}
        read |= {(kind, name, "DynamicList", None) for name in re.findall(r'list_value "\$1" (\w+)', body)}
        read |= {(kind, name, "Value", None) for name in re.findall(r'(?:one_value|config_get \w+) "\$1" (\w+)', body)}
    have = {(section["type"], option["name"], option["kind"].replace("ListValue", "Value"),
             option.get("default", "0") if option["kind"] == "Flag" else None)
            for section in asked["sections"] for option in section["options"]}
    check(have == read, f"{have ^ read}")
    check(sum(len(section["options"]) for section in asked["sections"]) == len(read), f"{asked}")
    check([option["set"] for section in asked["sections"] for option in section["options"] if "set" in option] == [["0", "1", "1", "0"]],
          f"{asked}")
    for value in next(option["values"] for section in asked["sections"] for option in section["options"] if option["name"] == "measure"):
        conf = Path(folder) / "conf"
        conf.write_text(f'reporter {{ interface "lo" {{ about = {{"127.0.0.1"}} measure = "{value}" local = true }} }}')
        checked = subprocess.run([TOP / "build/tools/pamsd", "--check", conf], capture_output=True, text=True, check=False)
        check(checked.returncode == 0, f"{value}: {checked}")


if __name__ == "__main__":
    subprocess.run(["make", "-s", "--no-print-directory", "-C", TOP / "selftests/pamsctl"], check=True, stdout=sys.stderr)
    sys.exit(run_cases_about_lo([
        files_fit_together, makefile_is_luci_s, acl_is_pamsctl_s, asks_for_what_is_granted, links_and_connections, doctor_is_told,
        module_isn_t_loaded, scheduler_is_chosen, readers_change_nothing, one_line_says_what_is_wrong, bad_answers, many_subflows,
        settings_are_the_init_script_s]))
