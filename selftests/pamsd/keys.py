#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Keys and privileges of the running daemon: how often a key is read, what stays of it in
memory, who can read it as a service, and what a daemon and its plugins may do. Prints TAP.

    selftests/pamsd/keys.py [CASE...]
"""
import base64
import ctypes
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from daemon import (HELPERS, PAMSD, Daemon, Skipped, check, free_port, new_key,  # noqa: E402
                    run_cases, within)

IN_OPEN = 0x20
CAP_NET_ADMIN, CAP_NET_RAW = 12, 13
ABOUT_OTHERS = 'about = {"192.0.2.1"}'
# Root of a namespace of its own, who has every privilege in it; who is root may have to enter another's home.
AS_ROOT = ("unshare", *(("--user", "--map-root-user") if os.geteuid() else ()), "--net")


def write_key(folder, name, key, mode=0o600):
    file = Path(folder) / name
    file.touch(mode=0o600)
    file.write_text(key + "\n")
    file.chmod(mode)
    return file


def server_config(file, port):
    return (f'server {{\n\tlisten = {{"127.0.0.1:{port}"}}\n'
            f'\tpeer "a" {{ key-file = "{file}" }}\n}}\n')


def reporter_config(file, more=""):
    return (f'reporter {{\n\tto "s" {{ address = "127.0.0.1:9" key-file = "{file}" }}\n'
            f'\tinterface "lo" {{ measure = "none" {more} }}\n}}\n')


def key_is_read_once(folder):
    """What was checked is what is used: nothing can come between. (inotify merges equal events
    that follow each other; with two keys none does.)"""
    one, two = (write_key(folder, name, new_key()) for name in ("one.key", "two.key"))
    file = Path(folder) / "c.conf"
    file.write_text(f'control = ""\nserver {{ peer "a" {{ key-file = "{one}" }} peer "b" '
                    f'{{ key-file = "{two}" }} }}')
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    for key in (one, two):
        check(libc.inotify_add_watch(fd, bytes(key), IN_OPEN) > 0, "inotify")
    subprocess.run([PAMSD, "--check", file], check=True, stdout=subprocess.DEVNULL)
    data, opened = os.read(fd, 4096), []
    while data:
        watch, _, _, length = struct.unpack_from("iIII", data)
        opened.append(watch)
        data = data[16 + length:]
    os.close(fd)
    check(opened == [1, 2], f"the files were opened in this order: {opened}")


def memory_of(pid):
    """Everything that the process can write to."""
    parts = []
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            span, mode, _, _, _, *name = line.split()
            if "w" not in mode or name[:1] == ["[vvar]"]:
                continue
            start, end = (int(number, 16) for number in span.split("-"))
            memory.seek(start)
            parts.append(memory.read(end - start))
    return parts


def keys_are_wiped(folder):
    """No text of a key is left once it was read, and nothing of it once it isn't used any more."""
    old = {name: new_key() for name in "abcdefgh"}
    config = f'server {{\n\tlisten = {{"127.0.0.1:{free_port()}"}}\n'
    for name, key in old.items():
        config += f'\tpeer "{name}" {{ key-file = "{write_key(folder, name, key)}" }}\n'
    server = Daemon(folder, "server", config + "}\n")

    def found(raw):
        memory = memory_of(server.process.pid)
        return [name for name, key in old.items()
                if any((base64.b64decode(key) if raw else key.encode()[:43]) in part for part in memory)]

    check(len(found(True)) == len(old), "the keys that are in use are found")
    check(not found(False), f"text in memory: {found(False)}")
    for name in old:
        write_key(folder, name, new_key())
    server.reload()
    check(not found(False), f"text in memory: {found(False)}")
    check(not found(True), f"keys in memory: {found(True)}")
    server.stop()


def truncated_key_is_refused(folder):
    """A key file that is being written at the time of a reload: the old configuration stays."""
    key = new_key()
    file = write_key(folder, "a.key", key)
    server = Daemon(folder, "server", server_config(file, free_port()))
    for text in ("", key[:20], "A" * 43 + "="):
        file.write_text(text)
        count = server.said().count("the old configuration is kept")
        server.send(signal.SIGHUP)
        within("it is refused",
               lambda: server.said().count("the old configuration is kept") > count)
    file.write_text(key)
    server.reload()
    check(server.stop() == 0, "it ends in order")


def as_another_user(command):
    """The command for a user who can't read what has mode 0: root can, and becomes nobody."""
    return ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *command) if \
        os.geteuid() == 0 else command


def copies_of_systemd(folder):
    """A key that only root can read is found among the copies that systemd hands over."""
    Path(folder).chmod(0o755)
    file = write_key(folder, "a.key", new_key(), 0o000)
    config = Path(folder) / "c.conf"
    config.write_text(server_config(file, 5230))
    command = as_another_user((PAMSD, "--check", config))

    def answer(copies=None, **more):
        return subprocess.run(command, check=False, capture_output=True, text=True,
                              env={**os.environ, "CREDENTIALS_DIRECTORY": copies, **more} if copies else None)

    said = answer()
    check(said.stderr == f"{config}:3: '{file}' can't be read: Permission denied\n", f"{said}")
    copies = Path(folder) / "copies"
    copies.mkdir()
    said = answer(str(copies))
    check(said.stderr == f"{config}:3: '{file}' can't be read: Permission denied (a service has copies "
          "of what was in /etc/pamsd at its start)\n", f"{said}")
    copy = write_key(copies, str(file)[1:].replace("/", "_"), new_key(), 0o400)
    if os.geteuid() == 0:
        os.chown(copy, 65534, 65534)
    said = answer(str(copies))
    check((said.returncode, said.stdout) == (0, f"{config}: is in order\n"), f"{said}")
    # a copy that is older than its file
    time.sleep(0.02)
    file.chmod(0o000)
    said = answer(str(copies))
    check(said.stderr == f"{config}:3: '{file}' was changed after the service had started: systemctl "
          "restart pamsd\n", f"{said}")
    # one that was made while the clock was behind, as before the first synchronisation after the boot of
    # a machine without a clock of its own
    clock = Path(folder) / "clock"
    clock.write_text(f"unsynced {int(time.time()) - 86400}")
    clock.chmod(0o644)
    # which that user may read, unlike the home that this tree is in
    preloaded = shutil.copyfile(HELPERS / "clock_state.so", Path(folder) / "clock_state.so")
    said = answer(str(copies), LD_PRELOAD=str(preloaded), CLOCK_STATE=str(clock))
    check((said.returncode, said.stdout) == (0, f"{config}: is in order\n"), f"{said}")


def status_of(daemon, name):
    for line in Path(f"/proc/{daemon.process.pid}/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return line.split(":", 1)[1].strip()
    return ""


def another_user(folder):
    """Root reads the keys and the configuration, then is somebody else."""
    if os.geteuid():
        raise Skipped("only root can become somebody else")
    place = Path(folder) / "run"
    place.mkdir()
    os.chown(place, 65534, 65534)
    Path(folder).chmod(0o755)
    file = write_key(folder, "a.key", new_key())
    for name, config, caps in (("server", server_config(file, free_port()), 1 << CAP_NET_ADMIN),
                               ("reporter", reporter_config(file, ABOUT_OTHERS), 0),
                               ("source", reporter_config(file), 1 << CAP_NET_ADMIN)):
        daemon = Daemon(place, name, config, options=("--user", "nobody"))
        check(status_of(daemon, "Uid").split() == ["65534"] * 4, f"{name}: {status_of(daemon, 'Uid')}")
        check(status_of(daemon, "Groups") == "", f"{name}: {status_of(daemon, 'Groups')}")
        check(int(status_of(daemon, "CapEff"), 16) == caps, f"{name}: {status_of(daemon, 'CapEff')}")
        check(daemon.stop() == 0, "it ends in order")
    answer = subprocess.run([PAMSD, "-c", place / "server.conf", "--user", "nonesuch"], check=False,
                            capture_output=True, text=True, timeout=10)
    check((answer.returncode, answer.stderr) == (1, "pamsd: --user: there is no user 'nonesuch'\n"),
          f"{answer}")


def privilege_for_the_kernel_only(folder):
    """Who needs nothing of the kernel gives the right up, and a reload can't bring it back."""
    file = write_key(folder, "a.key", new_key())
    caps = {}
    for name, config in (("server", server_config(file, free_port())),
                         ("reporter", reporter_config(file, ABOUT_OTHERS)),
                         ("source", reporter_config(file)),
                         ("local", reporter_config(file, "local = true"))):
        daemon = Daemon(folder, name, config, prefix=AS_ROOT)
        caps[name] = int(status_of(daemon, "CapEff"), 16) >> CAP_NET_ADMIN & 1
        check(not int(status_of(daemon, "CapPrm"), 16) >> CAP_NET_RAW & 1, f"{name} keeps CAP_NET_RAW")
        if name == "reporter":
            daemon.write(reporter_config(file, "local = true"))
            daemon.send(signal.SIGHUP)
            within("it is refused", lambda: "the old configuration is kept" in daemon.said())
            check(f"pamsd: {daemon.file} needs CAP_NET_ADMIN, which pamsd gave up when it started: "
                  "restart pamsd\n" in daemon.said(), daemon.said())
        daemon.stop()
    check(caps == {"server": 1, "reporter": 0, "source": 1, "local": 1}, f"{caps}")


def plugin_has_nothing(folder):
    """Neither privileges nor files of the daemon's; and its children end with it."""
    program = Path(folder) / "predict"
    program.write_text("#!/bin/sh\n"
                       f"sleep 600 &\necho $! >{folder}/child\n"
                       f"grep Cap /proc/self/status >{folder}/caps\n"
                       f"ls -l /proc/$$/fd >{folder}/fds.new && mv {folder}/fds.new {folder}/fds\nwait\n")
    program.chmod(0o755)
    file = write_key(folder, "a.key", new_key())
    reporter = Daemon(folder, "reporter",
                      reporter_config(file, f'local = true plugin = {{"{program}"}}'), prefix=AS_ROOT)
    fds = Path(folder) / "fds"
    within("it runs", fds.exists)
    check(not any(kind in fds.read_text() for kind in ("socket:", "anon_inode", "reporter.socket")),
          f"open: {fds.read_text()}")
    sets = dict(line.split() for line in (Path(folder) / "caps").read_text().splitlines())
    check(not any(int(sets[name], 16) for name in ("CapEff:", "CapPrm:", "CapInh:", "CapAmb:")), f"{sets}")
    for what in (signal.SIGHUP, signal.SIGTERM):
        child = int((Path(folder) / "child").read_text())
        fds.unlink(missing_ok=True)
        reporter.send(what)
        within("its child has ended", lambda: not runs(child))
        if what == signal.SIGHUP:
            within("it runs again", fds.exists)
    reporter.stop()


def runs(pid):
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def tell_needs_no_keys(folder):
    file = write_key(folder, "a.key", new_key())
    server = Daemon(folder, "server", server_config(file, free_port()))
    file.unlink()
    check("version" in server.status(), "it answers")
    server.stop()


def regular_file_for_a_socket(folder):
    """What is there and no socket isn't taken away."""
    file = write_key(folder, "a.key", new_key())
    config, victim = Path(folder) / "c.conf", Path(folder) / "precious"
    victim.write_text("text")
    config.write_text(f'control = "{victim}"\n' + server_config(file, free_port()))
    answer = subprocess.run([PAMSD, "-c", config], check=False, capture_output=True, text=True, timeout=10)
    check(answer.returncode == 1 and victim.read_text() == "text", f"{answer}")
    check(f"pamsd: the control socket {victim} can't be made: File exists\n" in answer.stderr, f"{answer}")


def systemd_is_told(folder):
    """Ready once it works, by systemd's own protocol."""
    file = write_key(folder, "a.key", new_key())
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(f"{folder}/notify")
        sock.settimeout(10)
        os.environ["NOTIFY_SOCKET"] = f"{folder}/notify"
        try:
            server = Daemon(folder, "server", server_config(file, free_port()))
        finally:
            del os.environ["NOTIFY_SOCKET"]
        check(sock.recv(100) == b"READY=1", "ready")
        server.reload()
        check([sock.recv(100) for _ in range(2)] == [b"RELOADING=1", b"READY=1"], "a reload")
        server.stop()
        check(sock.recv(100) == b"STOPPING=1", "the end")


if __name__ == "__main__":
    os.environ["LC_ALL"] = "C"
    sys.exit(run_cases([
        key_is_read_once, keys_are_wiped, truncated_key_is_refused, copies_of_systemd, another_user,
        privilege_for_the_kernel_only, plugin_has_nothing, tell_needs_no_keys,
        regular_file_for_a_socket, systemd_is_told]))
