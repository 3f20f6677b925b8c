#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The examples of the manual pages run as a reader sees them: the page is rendered, then its
configurations are checked, its lines said to a daemon and its commands run, in a network of its
own. Prints TAP.

    selftests/pamsd/manual.py [CASE...]
"""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import daemon  # noqa: E402

MAN = daemon.TOP / "Documentation" / "man"


def rendered(name):
    """The page's text on a wide terminal."""
    return subprocess.run(["man", "-P", "cat", "-E", "UTF-8", "-l", MAN / name], check=True,
                          capture_output=True, text=True,
                          env={**os.environ, "MANWIDTH": "160", "LC_ALL": "C.UTF-8"}).stdout


def examples(text):
    """The indented blocks of the section EXAMPLES."""
    section = re.search(r"^EXAMPLES\n(.*?)^\S", text, re.M | re.S).group(1)
    return re.findall(r"(?:^ {8,}\S.*\n(?:^ {8,}.*\n)*)", section, re.M)


def here(text, folder):
    """The same with the files of a test, whose keys are there."""
    for name in re.findall(r"/etc/pamsd/(\S+\.key)", text):
        key = Path(folder) / name
        if not key.exists():
            key.touch(mode=0o600)
            key.write_text(daemon.new_key())
    return text.replace("/etc/pamsd/", folder + "/")


def configurations(folder):
    found = [block for block in examples(rendered("pamsd.conf.5")) if "{" in block]
    daemon.check(len(found) >= 3, f"{len(found)} configurations were found")
    for block in found:
        file = Path(folder) / "pamsd.conf"
        file.write_text(here(block, folder))
        answer = subprocess.run([daemon.PAMSD, "--check", file], check=False, capture_output=True,
                                text=True)
        daemon.check(answer.returncode == 0, f"{block}\n{answer.stderr}")


INTERFACES = ("wlan0", "wwan0")     # that the pages speak of
# up: of a link that is down nothing can be predicted
UP = [command for name in INTERFACES for command in (
    f"ip link add {name} type veth peer name {name}-peer", f"ip link set {name}-peer up", f"ip link set {name} up")]


def reporter(folder):
    return daemon.Daemon(folder, "pamsd", "reporter {\n" + "".join(
        f'interface "{name}" {{ local = true measure = "none" }}\n' for name in INTERFACES) + "}")


def lines(folder):
    """Each object that is no answer is taken; an answer is one that comes."""
    found = set(re.findall(r'\{"[^{}]*\}', rendered("pamsd.8")))
    daemon.check(len(found) >= 5, f"JSON in the page: {found}")
    process = reporter(folder)
    answers = [process.tell(line) for line in found - {'{"ok": true}'}]
    daemon.check('{"ok": true}' in found and {"ok": True} in answers, f"{answers}")
    daemon.check(not any("error" in answer for answer in answers), f"{answers}")
    for line in re.findall(r"\{[^{}\"]*(?:interface|command)[^{}]*\}", rendered("pamsd.8")):
        json.loads(line)
    process.stop()


def commands(folder):
    process = reporter(folder)
    file = process.file.read_text()
    (Path(folder) / "phone.key").unlink(missing_ok=True)
    found = [line.strip() for block in examples(rendered("pamsd.8")) for line in block.splitlines()]
    daemon.check(any(line.startswith("pamsd --tell") for line in found), f"{found}")
    for line in found:
        if "pamsctl" in line:
            continue    # of the module's, in selftests/pamsctl
        line = line.replace("/etc/pamsd/pamsd.conf", str(process.file)).replace("/etc/pamsd", folder)
        line = line.replace("pamsd --tell", f"pamsd -c {process.file} --tell")
        answer = subprocess.run(["sh", "-ec", line], check=False, capture_output=True, text=True,
                                env={**os.environ, "PATH": f"{daemon.PAMSD.parent}:{os.environ['PATH']}"})
        daemon.check(answer.returncode == 0, f"{line}\n{answer.stdout}{answer.stderr}")
    daemon.check(file == process.file.read_text(), "the configuration is as it was")
    process.stop()


if __name__ == "__main__":
    sys.exit(daemon.run_cases_in_network("manual", UP, [configurations, lines, commands]))
