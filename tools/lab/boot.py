# SPDX-License-Identifier: GPL-2.0
"""Boot a guest and wait for its end, in virtual time.

A user-mode kernel is a program; time-travel=inf-cpu makes its clock jump to the
next event, so a second of network time costs only its packets. Its root is this
machine's file system; no privilege is needed.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from host import TOP, LabError
from units import BadInput

MEMORY = "512M"
ONE_CPU = os.path.join(TOP, "tools", "lab", "one-cpu")
EPOCH_S = 1_000_000_000     # the guest's clock at boot: 2001-09-09
TAIL_LINES = 15
COMPLAINTS = re.compile(r"WARNING: |BUG: |Oops|Kernel panic|blocked for more than|"
                        r"kmemleak: \d+ new|possible recursive|suspicious RCU")
_under_way = set()
_ended = threading.Event()


class Folder:
    """A guest's folder, empty at first; removed at the end unless it is to be kept."""

    def __init__(self, keep=None):
        self.keep = keep
        if keep:
            self.path = os.path.abspath(keep)
            self._empty()
        else:
            self.path = tempfile.mkdtemp(prefix="mptcp-lab-")

    def _empty(self):
        """Without what an earlier guest left: guests append to files."""
        try:
            if os.path.exists(self.path):
                shutil.rmtree(self.path)
            os.makedirs(self.path)
        except OSError as error:
            raise BadInput(f"can't keep a guest in {self.path}: {error.strerror or error}") from None

    def __enter__(self):
        return self.path

    def __exit__(self, *_):
        if not self.keep:
            shutil.rmtree(self.path, ignore_errors=True)


def _command(kernel, real_time):
    # The command line is part of the kernel's entropy, so it never names the
    # folder: the guest's root shows this machine's /proc until it mounts its
    # own, and there /proc/self is the kernel, started in the folder.
    # Without address randomisation the guest always has the same memory.
    words = [ONE_CPU, "setarch", "-R", kernel.program, f"mem={MEMORY}", "root=/dev/root",
             "rootfstype=hostfs", "rootflags=/", "rw", "init=/proc/self/cwd/init",
             "uml_dir=./", "umid=uml", "con=null", "con0=fd:0,fd:1", "loglevel=5",
             "panic=-1"]
    if not real_time:
        words += ["time-travel=inf-cpu", f"time-travel-start={EPOCH_S * 10**9}"]
    return words


def _tail(console_path):
    with open(console_path, encoding="utf-8", errors="replace") as console:
        return [line.rstrip() for line in console if line.strip()]


def _kill(guest):
    """With all that it started: a guest has a session of its own."""
    if guest.poll() is None:
        with contextlib.suppress(ProcessLookupError):   # who waits for it was sooner
            os.killpg(guest.pid, signal.SIGKILL)


def end_all():
    """Guests that are under way end, and none begins: their command was interrupted."""
    _ended.set()
    for guest in list(_under_way):
        _kill(guest)


def boot(kernel, folder, random_library, seed, wall_limit_s, real_time=False):
    """Run the guest whose init is in the folder; return its wall time in s."""
    console_path = os.path.join(folder, "console")
    environment = {**os.environ, "LD_PRELOAD": random_library, "LAB_SEED": str(seed)}
    began = time.monotonic()
    with open(console_path, "wb") as console:
        with subprocess.Popen(_command(kernel, real_time), cwd=folder,
                              stdin=subprocess.DEVNULL, stdout=console, stderr=console,
                              env=environment, start_new_session=True) as guest:
            _under_way.add(guest)
            if _ended.is_set():
                wall_limit_s = 0
            try:
                guest.wait(wall_limit_s)
                hung = False
            except subprocess.TimeoutExpired:
                hung = True
            finally:
                _under_way.discard(guest)
                _kill(guest)
    lines = _tail(console_path)
    said = [line for line in lines if line.startswith("LAB-FAIL ")]
    if said:
        text = said[0].removeprefix("LAB-FAIL ")
        if text.startswith("--"):       # the user's input is at fault
            raise BadInput(text)
        raise LabError(text + _said_last(folder))
    if hung or "LAB-DONE" not in lines:
        what = (f"did not end within {wall_limit_s:g} s of wall time (--wall-limit)"
                if hung else "ended early")
        raise LabError(f"the guest {what}; its console is above", lines[-TAIL_LINES:])
    wrong = [number for number, line in enumerate(lines) if COMPLAINTS.search(line)]
    if wrong:
        raise LabError("the guest's kernel complained, see above",
                       lines[wrong[0]:wrong[0] + TAIL_LINES])
    return time.monotonic() - began


def _said_last(folder):
    """What a program in the guest said last before it failed."""
    try:
        lines = _tail(os.path.join(folder, "errors"))
    except OSError:
        return ""
    return f": {lines[-1]}" if lines else ""
