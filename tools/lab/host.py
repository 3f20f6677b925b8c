# SPDX-License-Identifier: GPL-2.0
"""What a run needs from this machine: kernel, module, helper programs.

Everything built here goes to the cache, under names that hold a hash of what
it was built from, so that nothing stale is ever used.
"""

import contextlib
import fcntl
import functools
import glob
import hashlib
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.join(TOP, "tools", "lab")
PEERS = "tools/bench/peers"
PEERS_SYMBOLS = "net/mptcp_pams/symbols.c"      # they share it


class LabError(Exception):
    """Something that failed; the text says in one line what and what to do, and
    details are lines that go before it."""

    def __init__(self, text, details=()):
        super().__init__(text)
        self.details = list(details)


def cache_folder():
    """Where built things are kept."""
    base = (os.environ.get("MPTCP_PAMS_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "mptcp-pams"))
    folder = os.path.join(base, "lab")
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise LabError(f"cannot write the cache {folder} ({error.strerror}): "
                       "set MPTCP_PAMS_CACHE to a folder that you own") from None
    return folder


def need_programs(names, purpose):
    """Refuse at once where a program is missing."""
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    missing = [name for name in names if not shutil.which(name, path=path)]
    if missing:
        raise LabError(f"not installed: {' '.join(missing)} (needed to {purpose}); "
                       "run 'tools/setup.sh um' first")


@dataclass(frozen=True)
class Kernel:
    """A user-mode kernel's build directory."""
    folder: str
    release: str

    @property
    def program(self):
        """The kernel itself."""
        return os.path.join(self.folder, "linux")

    def kallsyms_address(self):
        """Where kallsyms_lookup_name is: um is never relocated."""
        with open(os.path.join(self.folder, "System.map"), encoding="ascii") as symbols:
            for line in symbols:
                address, _, name = line.split()
                if name == "kallsyms_lookup_name":
                    return int(address, 16)
        raise LabError(f"{self.folder}/System.map has no kallsyms_lookup_name: "
                       "a kernel without CONFIG_KALLSYMS?")


def kernel(folder=None, config="default"):
    """The given kernel, or the cached one, which is built where missing."""
    if folder is None:
        command = [os.path.join(TOP, "tools", "kernels", "um"), "--config", config]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise LabError("there is no kernel to run: 'tools/kernels/um' failed, see above")
        folder = done.stdout.strip().splitlines()[-1]
    folder = os.path.abspath(folder)
    try:
        with open(os.path.join(folder, "include/config/kernel.release"),
                  encoding="ascii") as text:
            release = text.read().strip()
    except OSError:
        release = None
    if not release or not os.access(os.path.join(folder, "linux"), os.X_OK):
        raise LabError(f"{folder} is not the build directory of a user-mode kernel: "
                       "leave --kernel out, or give one that tools/kernels/um printed")
    return Kernel(folder, release)


def _newest(folders):
    """Time of the last change to the module's sources."""
    newest = 0.0
    for folder in folders:
        for where, _, names in os.walk(os.path.join(TOP, folder)):
            for name in names:
                if name.endswith((".c", ".h", ".py", ".sh", ".toml")) or "." not in name:
                    newest = max(newest, os.stat(os.path.join(where, name)).st_mtime)
    return newest


@contextlib.contextmanager
def module_lock():
    """Held while the module is built; selftests/vm/run takes the same one."""
    folder = os.path.join(TOP, "build")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "module.lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def module(of_kernel, given=None):
    """The scheduler module for the kernel; built where missing or out of date."""
    if given:
        if not os.path.isfile(given):
            raise LabError(f"no module at {given}: check --module")
        return os.path.abspath(given)
    path = os.path.join(TOP, "build", of_kernel.release, "mptcp_pams.ko")
    with module_lock():
        sources = max(_newest(["net", "include", "tools/layout"]),
                      os.stat(of_kernel.program).st_mtime,
                      os.stat(os.path.join(TOP, "Makefile")).st_mtime)
        if os.path.exists(path) and os.stat(path).st_mtime >= sources:
            return path
        need_programs(["make", "gcc"], "build the module")
        print(f"lab: building the module for {of_kernel.release}", file=sys.stderr)
        done = subprocess.run(
            ["make", "-C", TOP, f"KDIR={of_kernel.folder}", "ARCH=um"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
            env=_make_environment())
        if done.returncode or not os.path.exists(path):
            raise LabError("the module does not build for this kernel: "
                           f"try 'make KDIR={of_kernel.folder} ARCH=um'",
                           done.stdout.splitlines()[-15:])
        os.utime(path)
    return path


def build_in(of_kernel, folder, name):
    """Build the module in a folder with its sources and a Kbuild, against the
    headers and the layout that the product's module was built with; its path."""
    built = os.path.join(TOP, "build", of_kernel.release)
    command = ["make", "-C", of_kernel.folder, "ARCH=um", f"M={folder}",
               f"PAMS_CFLAGS=-I{built}/include -I{built}/net/mptcp_pams", "modules"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    if done.returncode:
        raise LabError(f"module {name} does not build in {folder}",
                       done.stdout.splitlines()[-15:])
    return os.path.join(folder, f"{name}.ko")


def peers(of_kernel):
    """The module with the published schedulers (tools/bench/peers)."""
    module(of_kernel)       # its headers and layout
    folder = os.path.join(TOP, "build", of_kernel.release, "peers")
    with module_lock():
        os.makedirs(folder, exist_ok=True)
        sources = os.path.join(TOP, PEERS)
        for name in [os.path.join(sources, name) for name in os.listdir(sources)] + \
                [os.path.join(TOP, PEERS_SYMBOLS)]:
            shutil.copy2(name, folder)
        return build_in(of_kernel, folder, "mptcp_pams_peers")


def _compiled(sources, name, flags):
    """A program or library of these files; headers among them only count for its age."""
    text = b""
    for source in sources:
        with open(source, "rb") as file:
            text += file.read()
    digest = hashlib.sha256(text + " ".join(flags).encode()).hexdigest()[:16]
    path = os.path.join(cache_folder(), f"{name}-{digest}")
    if not os.path.exists(path):
        need_programs(["gcc"], f"build {name}")
        part = f"{path}.{os.getpid()}"
        units = [source for source in sources if source.endswith(".c")]
        done = subprocess.run(["gcc", "-O2", "-o", part, *units, *flags],
                              stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise LabError(f"{name} does not compile; gcc says: "
                           f"{(done.stderr.splitlines() or ['nothing'])[-1]}")
        os.replace(part, path)
    return path


@functools.cache
def program(name):
    """One of the programs of tools/, built where missing or out of date."""
    need_programs(["make", "gcc", "pkg-config"], f"build {name}")
    with open(os.path.join(cache_folder(), "tools.lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(["make", "-C", os.path.join(TOP, "tools"), name],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False, env=_make_environment())
    path = os.path.join(TOP, "build", "tools", name)
    if done.returncode or not os.path.exists(path):
        raise LabError(f"{name} does not build: try 'make -C tools {name}'; "
                       "'tools/setup.sh tools' installs what it needs",
                       done.stdout.splitlines()[-15:])
    return path


def _make_environment():
    """Without what a make that we run under has set."""
    return {name: value for name, value in os.environ.items()
            if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}


def xfer():
    """The transfer program, linked statically: it starts faster in the guest."""
    library = os.path.join(TOP, "tools", "libpams")
    uapi = os.path.join(TOP, "include", "uapi")
    sources = glob.glob(os.path.join(TOP, "selftests", "mptcp_pams", "xfer*.[ch]"))
    sources += glob.glob(os.path.join(library, "*.[ch]"))
    return _compiled(sorted(sources), "xfer",
                     ["-static", f"-I{library}", "-idirafter", uapi])


def helper(name):
    """A small program of the laboratory for the guest: pace, rival or replay."""
    return _compiled([os.path.join(HERE, f"{name}.c")], name, ["-static"])


def netem_seed():
    """The program that seeds what queues lose, for the guest."""
    need_programs(["pkg-config"], "build netem-seed")
    done = subprocess.run(["pkg-config", "--cflags", "--libs", "libnl-3.0"],
                          stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise LabError("not installed: libnl-3-dev (needed to build netem-seed); "
                       "run 'tools/setup.sh um' first")
    return _compiled([os.path.join(HERE, "netem-seed.c")], "netem-seed", done.stdout.split())


def fixed_random():
    """The library that makes a guest's entropy follow from a seed."""
    return _compiled([os.path.join(HERE, "fixed-random.c")], "fixed-random.so",
                     ["-shared", "-fPIC"])
