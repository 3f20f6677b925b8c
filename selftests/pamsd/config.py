#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Configurations, good and bad: what `pamsd --check` says of each, to the letter.
Prints TAP.

    selftests/pamsd/config.py
"""
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import daemon  # noqa: E402

KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
KEY2 = "ISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+P0A="
PEER = f'peer "a" {{ key = "{KEY}" }}'
TO = f'to "s" {{ address = "10.0.0.2" key = "{KEY2}" }}'
LO = 'interface "lo" { }'

GOOD = [
    ("a server", f"server {{ {PEER} }}"),
    ("a reporter", f"reporter {{ {TO} {LO} }}"),
    ("both", f"server {{ {PEER} }}\nreporter {{ {TO} {LO} }}"),
    ("nothing below a reporter's link is measured",
     f'reporter {{ {TO} interface "lo" {{ about = {{"source"}} measure = "none" }} }}'),
    ("the kernel of this machine alone",
     'reporter { interface "lo" { local = true } }'),
    ("rules alone", 'rules = "{folder}/rules"'),
    ("other sockets on the first path", 'paths { first-also = {"udp", "tcp"} }'),
    ("none of them", 'paths { first-also = {} }'),
    ("the first path by a default route", "paths { first-by-metric = true }"),
    ("costs as backups alone", 'costs-as-backup = true'),
    ("the page alone", 'http = "127.0.0.1"'),
    ("the page at a port", 'http = "[::1]:80"'),
    ("caps alone", 'state = "/x"\ncap "a" { interface = "lo" then = "backup" }\n'
     'cap "b" { interface = "lo" quota = "1.5GiB" per = "day" hours = {"22:00-06:30", "12:00-24:00"} '
     'battery-below = 100 then = "cost 15" }\ncap "c" { interface = "lo" quota = "2T" from-day = 28 then = "forbid" }\n'
     'cap "d" { battery-below = 20 then = "lend nothing" }\ncap "e" { socket = "/x" quota = "1G" then = "lend nothing" }'),
    ("no rule", 'rules = "/dev/../{folder}/empty"'),
    ("everything", f"""# a comment
control = ""
server {{
    listen = {{"10.0.0.2", "10.0.0.2:5231", "::1", "[::1]:5231"}}
    peer "a" {{
        key = "{KEY}"
        prefixes = {{"10.0.2.0/24", "2001:db8::/32", "10.0.0.1"}}
        rate = 10
    }}
}}
reporter {{
    interval-ms = 20
    rate-age-ms = 100
    to "s" {{
        address = "[::1]:5230"
        key = "{KEY2}"
        via = {{"eth0", "wlan0"}}
    }}
    interface "wlan0" {{
        about = {{"source", "10.0.2.0/24"}}
        port = 5000
        measure = "station"
        carrier = false
        local = true
        delay-us = 0
        plugin = {{"/bin/cat", "x"}}
    }}
}}
"""),
]

# What is in the file, and the line and text that it is refused with.
BAD = [
    ("", ": has no server, reporter, rules, cap, paths or http: there is nothing to do"),
    ("sever { }", ":1: no such option 'sever'"),
    (f'server {{\n {PEER}\n listn = {{"::"}}\n}}', ":3: no such option 'listn'"),
    ("server {\n}\n", ":2: server has no peer that may report"),
    ('server {\n peer "a" {\n }\n}', ":3: peer 'a' needs one of key and key-file"),
    (f'server {{\n peer "a" {{\n key = "{KEY}"\n key-file = "{{folder}}/key"\n }}\n}}',
     ":4: peer 'a' has more than one key"),
    ('server {\n peer "a" {\n key = "abc"\n }\n}',
     ":3: 'key' is not a key: 32 bytes in base64, as pamsd --genkey makes"),
    (f'server {{\n peer "a" {{\n key = "{KEY[:-5]}="\n }}\n}}',
     ":3: 'key' is not a key: 32 bytes in base64, as pamsd --genkey makes"),
    ('server {\n peer "a" {\n key = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="\n }\n}',
     ":3: 'key' is all zero, which is no secret"),
    (f'server {{\n {PEER}\n peer "b" {{\n key = "{KEY}"\n }}\n}}',
     ":4: this key is used above, too: each peer and each direction needs a key of its own"),
    (f'server {{\n {PEER}\n}}\nreporter {{\n {LO}\n to "s" {{\n key = "{KEY}"\n }}\n}}',
     ":7: this key is used above, too: each peer and each direction needs a key of its own"),
    ('server {\n peer "a" {\n key-file = "{folder}/none"\n }\n}',
     ":3: '{folder}/none' can't be read: No such file or directory"),
    ('server {\n peer "a" {\n key-file = "{folder}"\n }\n}', ":3: '{folder}' is a directory, not a file"),
    ('server {\n peer "a" {\n key-file = "{folder}/open"\n }\n}',
     ":3: '{folder}/open' has mode 0644, open to others: chmod 600"),
    ('server {\n peer "a" {\n key-file = "{folder}/group"\n }\n}',
     ":3: '{folder}/group' has mode 0640, open to others: chmod 600"),
    (f'server {{\n peer "a" {{\n key = "{KEY}"\n key = "{KEY2}"\n }}\n}}',
     ":4: peer 'a' has more than one key"),
    ('server {\n peer "a" {\n key-file = "{folder}/wrong"\n }\n}',
     ":3: '{folder}/wrong' holds no key: 32 bytes in base64, as pamsd --genkey makes"),
    (f'server {{\n peer "a" {{\n key = "{KEY}"\n prefixes = {{"10.0.0.0/24",\n "10.0.0.0/33"}}\n }}\n}}',
     ":5: '10.0.0.0/33' has a prefix length that is not 0 to 32"),
    (f'server {{\n peer "a" {{\n key = "{KEY}"\n prefixes = {{"::/129"}}\n }}\n}}',
     ":4: '::/129' has a prefix length that is not 0 to 128"),
    (f'server {{\n peer "a" {{\n key = "{KEY}"\n prefixes = {{"home"}}\n }}\n}}',
     ":4: 'home' is not an address or prefix"),
    (f'server {{\n peer "a" {{\n key = "{KEY}"\n rate = 9\n }}\n}}',
     ":4: rate is 9, but may be 10 to 10000"),
    (f'server {{\n {PEER}\n listen = {{"here"}}\n}}',
     ":3: 'here' is not ADDRESS, ADDRESS:PORT or [ADDRESS]:PORT in numbers"),
    (f'reporter {{\n {LO}\n to "s" {{\n address = "10.0.0.256"\n key = "{KEY}"\n }}\n}}',
     ":4: '10.0.0.256' is not ADDRESS, ADDRESS:PORT or [ADDRESS]:PORT in numbers, nor a name"),
    (f'reporter {{\n {LO}\n to "s" {{\n address = "-a b.example"\n key = "{KEY}"\n }}\n}}',
     ":4: '-a b.example' is not ADDRESS, ADDRESS:PORT or [ADDRESS]:PORT in numbers, nor a name"),
    (f'reporter {{\n {LO}\n to "s" {{\n address = "server.example:0"\n key = "{KEY}"\n }}\n}}',
     ":4: 'server.example:0' has a port that is not 1 to 65535"),
    (f'reporter {{\n {LO}\n to "s" {{\n address = {{"a.example", "::1"}}\n key = "{KEY}"\n }}\n}}',
     ":6: to 's' has the name 'a.example' beside another address: give the name alone"),
    (f'server {{\n {PEER}\n listen = {{"10.0.0.1:0"}}\n}}',
     ":3: '10.0.0.1:0' has a port that is not 1 to 65535"),
    (f'server {{\n {PEER}\n listen = {{}}\n}}',
     ":4: server has no address to listen at: leave 'listen' out for all addresses"),
    (f'server {{\n {PEER}\n listen = {{"10.0.0.1",\n"10.0.0.1:5230"}}\n}}',
     ":4: '10.0.0.1:5230' is listed twice"),
    ('control = "/' + "x" * 107 + f'"\nserver {{ {PEER} }}',
     ":1: '/" + "x" * 107 + "' is too long for a socket: 107 characters at most"),
    ('cap "a" {\n then = "backup"\n}', ":3: cap 'a' has no interface"),
    ('cap "a" {\n interface = "lo"\n then = "lend nothing"\n}', ":4: cap 'a' is about what pamsplit lends, whatever "
     "the interface: leave 'interface' out"),
    ('cap "a" {\n interface = "lo"\n socket = "/x"\n then = "backup"\n}',
     ":5: cap 'a' has a socket, which is pamsplit's, but does not say 'lend nothing'"),
    ('cap "a" {\n interface = "lo"\n}', ":3: cap 'a' does not say what happens then"),
    ('cap "a" {\n then = "cost 16"\n}', ":2: 'cost 16' is not backup, forbid, lend nothing or cost and 1 to 15"),
    ('cap "a" {\n then = "cost 0"\n}', ":2: 'cost 0' is not backup, forbid, lend nothing or cost and 1 to 15"),
    ('cap "a" {\n then = "cost 1x"\n}', ":2: 'cost 1x' is not backup, forbid, lend nothing or cost and 1 to 15"),
    ('cap "a" {\n quota = "0"\n}', ":2: quota '0' is nothing"),
    ('cap "a" {\n quota = 10\n}', ":2: quota '10' has no unit, and would be bytes: write e.g. 10G"),
    ('cap "a" {\n quota = "999999"\n}', ":2: quota '999999' has no unit, and would be bytes: write e.g. 999999G"),
    ('cap "a" {\n quota = "much"\n}', ":2: quota 'much' is not a size: write e.g. 120k, 64Ki or 1500"),
    ('cap "a" {\n quota = "1001T"\n}', ":2: quota '1001T' is out of range: 0 to 1000T"),
    ('cap "a" {\n per = "week"\n}', ":2: 'week' is not day or month"),
    ('cap "a" {\n from-day = 29\n}', ":2: from-day is 29, but may be 1 to 28"),
    ('cap "a" {\n battery-below = 0\n}', ":2: battery-below is 0, but may be 1 to 100"),
    ('cap "a" {\n hours = {"22-6"}\n}', ":2: '22-6' is not HH:MM-HH:MM, as 22:00-06:30"),
    ('cap "a" {\n hours = {"22:00-24:01"}\n}', ":2: '22:00-24:01' is not HH:MM-HH:MM, as 22:00-06:30"),
    ('cap "a" {\n hours = {"06:00-06:00"}\n}', ":2: '06:00-06:00' ends when it begins"),
    ('cap "a" {\n interface = "lo"\n quota = "1G"\n per = "day"\n from-day = 2\n then = "backup"\n}',
     ":7: cap 'a' has from-day, but no quota of a month"),
    ('paths {\n first-also = {"tcp",\n "sctp"}\n}', ":3: 'sctp' is not tcp or udp; MPTCP connections are meant anyway"),
    ("paths {\n first = false\n first-by-metric = true\n}", ":4: first-by-metric is of no use with first = false"),
    ('paths {\n first-also = true\n}', ":2: 'true' is not tcp or udp; MPTCP connections are meant anyway"),
    ('\nhttp = "192.0.2.1:5230"',
     ":2: '192.0.2.1:5230' is not of the loopback, as 127.0.0.1 is: http asks nobody who they are"),
    ('http = "::"', ":1: '::' is not of the loopback, as 127.0.0.1 is: http asks nobody who they are"),
    ('http = "::ffff:127.0.0.1"', ":1: '::ffff:127.0.0.1' is not of the loopback, as 127.0.0.1 is: http asks nobody who they are"),
    ('http = "localhost"', ":1: 'localhost' is not ADDRESS, ADDRESS:PORT or [ADDRESS]:PORT in numbers"),
    ('http = ""', ":1: '' is not ADDRESS, ADDRESS:PORT or [ADDRESS]:PORT in numbers"),
    ('http = "127.0.0.1:0"', ":1: '127.0.0.1:0' has a port that is not 1 to 65535"),
    ('state = "x"', ":1: 'x' is not a path from the root on"),
    ('rules = ""', ":1: '' is no file: leave 'rules' out for none"),
    ('\nrules = "{folder}/none"', ":2: '{folder}/none' can't be read: No such file or directory"),
    ('rules = "{folder}"', ":1: '{folder}' is a directory, not a file"),
    ('\nrules = "{folder}/wrong-rules"',
     ":2: {folder}/wrong-rules:3: 'port' is not part of a rule: cgroup, mark, uid, local, remote, peer, client, server, "
     "and use at its end"),
    ('rules = "{folder}/many-rules"', ":1: {folder}/many-rules:257: 257 rules are too many: 256 at most"),
    ('rules = "{folder}/two-defaults"', ":1: {folder}/two-defaults:2: 'default' is given twice"),
    (f'server {{\n {PEER}\n', ":4: the file ends within server: a '}' is missing"),
    (f'server {{\n peer "a" {{\n key = "{KEY}"\n\n}}', ":6: the file ends within server: a '}' is missing"),
    (f'server {{\n peer "a" {{\n key = "{KEY}"\n prefixes = {{"10.0.2.1/24"}}\n }}\n}}',
     ":4: '10.0.2.1/24' has bits set beyond its prefix length: write 10.0.2.0/24, or a longer prefix"),
    (f'server {{\n peer "a" {{\n key = "{KEY}"\n prefixes = {{"2001:db8::1/127"}}\n }}\n}}',
     ":4: '2001:db8::1/127' has bits set beyond its prefix length: write 2001:db8::/127, or a longer prefix"),
    (f'server {{\n peer "a" {{\n key = "{KEY}"\n prefixes = {{"224.0.0.0/24"}}\n }}\n}}',
     ":4: '224.0.0.0/24' is multicast: no peer of a connection has such an address"),
    (f'reporter {{\n {TO}\n interface "lo" {{\n about = {{"ff02::1"}}\n }}\n}}',
     ":4: 'ff02::1' is multicast: no peer of a connection has such an address"),
    (f'reporter {{\n {TO}\n interface "lo" {{\n plugin = {{"/bin/nonesuch", "x"}}\n }}\n}}',
     ":4: '/bin/nonesuch' is not a program that can be run"),
    (f'reporter {{\n {TO}\n interface "lo" {{\n plugin = {{"nonesuch"}}\n }}\n}}',
     ":4: 'nonesuch' is not a program in PATH"),
    (f'reporter {{\n {TO}\n interface "wlan0" {{\n measure = "station"\n }}\n}}',
     ":5: interface 'wlan0' reports about its source address, which the server sends to, but measure = \"station\" "
     'measures what leaves here: use "none", or give the prefix behind the interface in about'),
    (f"reporter {{\n {TO}\n}}", ":3: reporter has no interface to report about"),
    (f"reporter {{\n {LO}\n}}", ":3: reporter has no 'to': nobody to report to"),
    (f'reporter {{\n {LO}\n to "s" {{\n key = "{KEY}"\n }}\n}}', ":5: to 's' needs an address"),
    (f'reporter {{\n {LO}\n to "s" {{\n address = "::1"\n }}\n}}',
     ":5: to 's' needs one of key and key-file"),
    (f'reporter {{\n {TO}\n {LO}\n interval-ms = 5\n}}',
     ":4: interval-ms is 5, but may be 20 to 1000"),
    (f'reporter {{\n {TO}\n interface "lo" {{\n measure = "guess"\n }}\n}}',
     ":4: 'guess' is not auto, qdisc, station, tcp, pamsplit or none"),
    (f'reporter {{\n {TO}\n interface "lo" {{\n about = {{"me"}}\n }}\n}}',
     ":4: 'me' is not an address or prefix"),
    (f'reporter {{\n {TO}\n interface "lo" {{\n about = {{"source", "source"}}\n }}\n}}',
     ":5: interface 'lo' has \"source\" twice in about"),
    (f'reporter {{\n {TO}\n interface "a-very-long-name" {{\n }}\n}}',
     ":4: 'a-very-long-name' can't be an interface: 1 to 15 characters"),
    ("reporter {\n " + TO + '\n interface "lo" {\n about = {'
     + ", ".join(f'"10.0.{i}.1"' for i in range(17)) + "}\n }\n}",
     ":5: about names 17 paths in all interfaces together, but a report has room for 16"),
    (f'reporter {{\n {TO}\n interface "lo" {{\n port = 70000\n }}\n}}',
     ":4: port is 70000, but may be 0 to 65535"),
    (f'reporter {{\n {TO}\n interface "lo" {{\n port = many\n }}\n}}',
     ":4: invalid integer value for option 'port'"),
    (f'reporter {{\n {TO}\n interface "lo" {{\n carrier = perhaps\n }}\n}}',
     ":4: invalid boolean value for option 'carrier'"),
    (f'reporter {{\n {TO}\n {LO}\n {LO}\n}}', ":4: found duplicate title 'lo'"),
]


def run(*arguments):
    return subprocess.run([daemon.PAMSD, *arguments], check=False, capture_output=True, text=True)


def good(folder, text):
    file = Path(folder) / "pamsd.conf"
    file.touch(mode=0o600)
    file.write_text(text.replace("{folder}", str(folder)))
    answer = run("--check", file)
    daemon.check((answer.returncode, answer.stdout, answer.stderr) ==
                 (0, f"{file}: is in order\n", ""), f"{text}\nsaid: {answer}")


def bad(folder, text, expected):
    file = Path(folder) / "pamsd.conf"
    file.touch(mode=0o600)
    file.write_text(text.replace("{folder}", folder))
    expected = f"{file}{expected}".replace("{folder}", folder)
    answer = run("--check", file)
    daemon.check(answer.returncode == 1, f"exit {answer.returncode} for\n{text}")
    daemon.check(answer.stderr.splitlines()[:1] == [expected],
                 f"{text}\nexpected: {expected}\nsaid: {answer.stderr}")


def rule_files(folder):
    for name, text in (("rules", "# web\n1 remote 443 use single overflow 1.5x # it\n\ncgroup /a client use pams\ndefault minfct\n"),
                       ("empty", ""), ("wrong-rules", "use pams\n\nport 5 use pams\nuse nothing\n"),
                       ("many-rules", "use pams\n" * 300), ("two-defaults", "default pams\ndefault pams")):
        (Path(folder) / name).write_text(text)


def good_ones(folder):
    rule_files(folder)
    for _, text in GOOD:
        good(folder, text)


def bad_ones(folder):
    for name, text, mode in (("open", KEY, 0o644), ("wrong", "x" * 44, 0o600),
                             ("group", KEY, 0o640), ("key", KEY2, 0o600)):
        file = Path(folder) / name
        file.write_text(text + "\n")
        file.chmod(mode)
    rule_files(folder)
    wrong = []
    for text, expected in BAD:
        try:
            bad(folder, text, expected)
        except daemon.Failed as failure:
            wrong.append(str(failure))
    daemon.check(not wrong, "\n".join(wrong))


def key_file(folder):
    file = Path(folder) / "key"
    file.write_text(daemon.new_key() + "\n")
    for mode in (0o600, 0o400):
        file.chmod(mode)
        good(folder, f'server {{ peer "a" {{ key-file = "{file}" }} }}')


def example(folder):
    """The example that is installed, with keys of its own."""
    text = (daemon.TOP / "tools" / "pamsd" / "pamsd.conf").read_text()
    for name in ("phone.key", "server.key"):
        key = Path(folder) / name
        key.write_text(daemon.new_key())
        key.chmod(0o600)
    good(folder, text.replace("/etc/pamsd/", folder + "/"))
    server, reporter = text.split("#reporter", 1)
    uncommented = server + "reporter" + reporter.replace("\n#", "\n")
    good(folder, uncommented.replace("/etc/pamsd/", folder + "/"))


def missing_file(folder):
    answer = run("--check", f"{folder}/none")
    daemon.check((answer.returncode, answer.stderr) ==
                 (1, f"{folder}/none: can't be read: No such file or directory\n"), f"{answer}")


def key_in_an_open_file(folder):
    """A key in the configuration itself, which others may read, is refused."""
    file = Path(folder) / "pamsd.conf"
    file.write_text(f'server {{\n peer "a" {{\n key = "{KEY}"\n }}\n}}')
    for mode in (0o644, 0o640, 0o604):
        file.chmod(mode)
        answer = run("--check", file)
        daemon.check((answer.returncode, answer.stderr) == (
            1, f"{file}:3: a key is in this file, whose mode {mode:04o} is open to others: chmod 600, "
            "or use key-file\n"), f"{answer}")


def folder_for_a_file(folder):
    answer = run("--check", folder)
    daemon.check((answer.returncode, answer.stderr) ==
                 (1, f"{folder}: is a directory, not a file\n"), f"{answer}")


def options(folder):
    daemon.check(run("--help").returncode == 0, "--help")
    for option in ("--version", "-V"):
        daemon.check(run(option).stdout.startswith("pamsd "), option)
    daemon.check(run("--nonesuch").returncode == 2, "--nonesuch")
    for words in (("-c", f"{folder}/none"), ("--check", f"{folder}/none"), ("--genkey",),
                  ("--tell", "{}"), ("--version",)):
        answer = run(*words, "extra")
        daemon.check(answer.returncode == 2 and
                     answer.stderr.startswith("pamsd: 'extra' is one argument too many\n"), f"{answer}")
    daemon.check(run("--check", "--genkey").returncode == 2, "two tasks")
    keys = {daemon.new_key() for _ in range(10)}
    daemon.check(len(keys) == 10 and all(len(key) == 44 for key in keys), "--genkey")


def full_disk(folder):
    """What could not be written is not a success: a key that is cut off, for one."""
    file = Path(folder) / "pamsd.conf"
    file.touch(mode=0o600)
    file.write_text(f"server {{ {PEER} }}")
    for words in (("--genkey",), ("--check", file), ("--help",), ("--version",)):
        with open("/dev/full", "w", encoding="ascii") as full:
            answer = subprocess.run([daemon.PAMSD, *words], check=False, stdout=full,
                                    stderr=subprocess.PIPE, text=True)
        daemon.check((answer.returncode, answer.stderr) == (
            1, "pamsd: standard output can't be written: No space left on device\n"), f"{answer}")


def thousands_of_keys(folder):
    """That they all differ is looked at in less time than the rest of the file takes, which --tell reads without them."""
    file = Path(folder) / "pamsd.conf"
    file.touch(mode=0o600)
    peers = subprocess.run([daemon.HELPERS / "reporters", "--config", "6000"], check=True, capture_output=True, text=True).stdout
    file.write_text(f'control = "{folder}/socket"\nserver {{\n{peers}}}')

    def used_s(*words):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        answer = run(*words)
        daemon.check("key" not in answer.stderr, f"{answer}")
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before

    shares = sorted(used_s("--check", file) / used_s("-c", file, "--tell", "{}") for _ in range(3))
    daemon.check(shares[0] < 2, f"{shares}")
    last = peers.splitlines()[-1]
    file.write_text(f'server {{\n{peers}{last.replace("p5999", "again")}\n}}')
    answer = run("--check", file)
    daemon.check(answer.stderr == f"{file}:6002: this key is used above, too: each peer and each direction needs a key of its own\n",
                 f"{answer}")


def nobody_to_tell(folder):
    file = Path(folder) / "pamsd.conf"
    file.touch(mode=0o600)
    file.write_text(f'control = "{folder}/socket"\nserver {{ {PEER} }}')
    answer = run("-c", file, "--tell", "{}")
    daemon.check((answer.returncode, answer.stderr) == (
        1, f"pamsd: no pamsd answers at the control socket {folder}/socket: No such file or directory\n"),
        f"{answer}")


if __name__ == "__main__":
    os.environ["LC_ALL"] = "C"
    sys.exit(daemon.run_cases([good_ones, bad_ones, key_file, key_in_an_open_file, example,
                               missing_file, folder_for_a_file, options, full_disk,
                               thousands_of_keys, nobody_to_tell]))
