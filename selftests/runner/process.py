# SPDX-License-Identifier: GPL-2.0
"""Runs a command until it ends or makes no progress, and leaves nothing of it behind.

Progress is that its output grows. Everything that it started belongs to it: what
is in its session, what has its mark in the environment, and the children of
those. A process of another user (through sudo) is signalled through sudo.
"""
import os
import signal
import subprocess
import time
import uuid
from dataclasses import dataclass

POLL_S = 0.5
TERM_S = 30     # for last reports, of all that was told to end
GRACE_S = 4     # for what is ending by itself
MARK = "MPTCP_PAMS_STAGE"


@dataclass
class Ended:
    code: int
    stalled: bool
    left: list      # names of processes that were still there at its end


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:     # it has ended, or is another user's
        return b""


def processes():
    """{pid: (parent's pid, session, name)}, without those that have ended."""
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        head, _, rest = read(f"/proc/{name}/stat").rpartition(b") ")
        fields = rest.split()
        if len(fields) > 3 and fields[0] not in (b"Z", b"X"):
            found[int(name)] = (int(fields[1]), int(fields[3]),
                                head.partition(b"(")[2].decode(errors="replace"))
    return found


def tree(session, mark):
    """{pid: name} of all that belong to a command, parents before their children: a shell whose
    child ends first may have ended, too, before its trap is called for."""
    table = processes()
    wanted = f"{MARK}={mark}".encode()
    mine = {pid for pid, (_, its_session, _) in table.items() if its_session == session
            or wanted in read(f"/proc/{pid}/environ").split(b"\0")}
    grown = True
    while grown:
        more = {pid for pid, (parent, _, _) in table.items() if parent in mine} - mine
        mine |= more
        grown = bool(more)
    ordered, level = [], {pid for pid in mine if table[pid][0] not in mine}
    while level:
        ordered += sorted(level)
        level = {pid for pid in mine if table[pid][0] in level}
    return {pid: table[pid][2] for pid in ordered if pid != os.getpid()}


def send(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass
        except PermissionError:
            subprocess.run(["sudo", "-n", "kill", f"-{number}", str(pid)], check=False,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def wait_until(condition, limit_s):
    end = time.monotonic() + limit_s
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


def sweep(session, mark, grace_s):
    """Ends what is left; returns the names."""
    if wait_until(lambda: not tree(session, mark), grace_s):
        return []
    left = tree(session, mark)
    for _ in range(20):     # one that forks may be ahead of us
        send(tree(session, mark), signal.SIGKILL)
        if wait_until(lambda: not tree(session, mark), 1):
            break
    return sorted(left.values())


def run(command, out, cwd, quiet_s, stop=None, env=None):
    """Runs a shell command, with its output in the open file out. It is stopped
    when that has not grown for quiet_s seconds, or when stop (an Event) is set."""
    mark = uuid.uuid4().hex
    child = subprocess.Popen(command, shell=True, cwd=cwd, stdout=out, stderr=subprocess.STDOUT,
                             stdin=subprocess.DEVNULL, start_new_session=True,
                             env={**os.environ, **(env or {}), MARK: mark})
    size, since, stalled, grace_s = -1, time.monotonic(), False, GRACE_S
    while child.poll() is None:
        now = os.fstat(out.fileno()).st_size
        if now != size:
            size, since = now, time.monotonic()
        stalled = time.monotonic() - since >= quiet_s
        if stalled or stop is not None and stop.is_set():
            # Scripts that trap it have the time for a last report, also when the shell that began them has ended.
            send(tree(child.pid, mark), signal.SIGTERM)
            grace_s = TERM_S
            break
        time.sleep(POLL_S)
    left = sweep(child.pid, mark, grace_s)
    return Ended(child.wait(), stalled, left)
