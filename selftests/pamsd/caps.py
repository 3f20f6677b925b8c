#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The running daemon with caps: quotas over kills and reboots, a state file that is
corrupt or can't be written, batteries, hours. Prints TAP.

    selftests/pamsd/caps.py [CASE...]

In namespaces of its own: lo is the interface, and files of /proc and /sys are others.
"""
import calendar
import contextlib
import ctypes
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import daemon  # noqa: E402
from daemon import Daemon, Skipped, check, run_cases, within  # noqa: E402

BOOT_ID = "/proc/sys/kernel/random/boot_id"
CLONE_NEWNS = 0x20000
MB = 1000000


def config(folder, *caps):
    return f'state = "{folder}/state"\n' + "\n".join(caps) + "\n"


def cap(name, what, interface="lo", then="cost 2"):
    return f'cap "{name}" {{\n\tinterface = "{interface}"\n\t{what}\n\tthen = "{then}"\n}}'


def caps(pamsd):
    return {one["name"]: one for one in pamsd.status()["caps"]}


def used(pamsd, name="a"):
    return caps(pamsd)[name]["used_bytes"]


def send(size, interface_counts=2):
    """Over lo, where each byte is sent and received; what is counted is at least that."""
    with socket.socket() as listener, socket.socket() as client:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        client.connect(listener.getsockname())
        server, _ = listener.accept()
        with server:
            left = size // interface_counts
            while left > 0:
                left -= client.send(bytes(min(left, 50000)))
                server.recv(1 << 20)


def counted():
    text = Path("/proc/net/dev").read_text()
    words = next(line for line in text.splitlines() if line.strip().startswith("lo:")).split()
    return int(words[1]) + int(words[9])


def state(folder):
    return json.loads((Path(folder) / "state").read_text())


def need_mounts():
    if not MOUNTS:
        raise Skipped("no mounts of its own here")


def mount(what, where):
    subprocess.run(["mount", "--bind", what, where], check=True)


class Mounted:
    """Another file or folder, as long as it lasts."""

    def __init__(self, what, where):
        need_mounts()
        self.what, self.where = what, where

    def __enter__(self):
        mount(self.what, self.where)

    def __exit__(self, *_):
        subprocess.run(["umount", self.where], check=True)


def quota_is_counted(folder):
    """As the kernel counts, until it is used up."""
    pamsd = Daemon(folder, "caps", config(folder, cap("a", 'quota = "3M"\n\tper = "day"')))
    first = caps(pamsd)["a"]
    check(first["quota_bytes"] == 3 * MB and first["used_bytes"] < MB, f"{first}")
    check(not first["active"] and first["because"] == [], f"{first}")
    before = counted() - used(pamsd)
    send(2 * MB)
    within("2 MB are counted", lambda: used(pamsd) == counted() - before)
    check(not caps(pamsd)["a"]["active"], f"{caps(pamsd)}")
    send(2 * MB)
    within("the quota is used up", lambda: caps(pamsd)["a"]["because"] == ["quota"])
    check(caps(pamsd)["a"]["left_bytes"] == 0, f"{caps(pamsd)}")
    check("cap 'a': lo costs 2: its quota is used up" in pamsd.said(), pamsd.said())
    check(pamsd.stop() == 0, "it ends in order")


def kept_over_restarts_and_kills(folder):
    """What moves while no daemon runs is counted, too."""
    text = config(folder, cap("a", 'quota = "1G"'))
    pamsd = Daemon(folder, "caps", text)
    before = counted() - used(pamsd)
    for number in (signal.SIGTERM, *[signal.SIGKILL] * 8):
        send(MB)
        pamsd.stop(number)
        send(MB)
        pamsd.start()
        within("all is counted", lambda: used(pamsd) == counted() - before)
    check(pamsd.stop() == 0, "it ends in order")
    check(used_at_end(folder) == counted() - before, f"{state(folder)}")


def used_at_end(folder):
    return state(folder)["quotas"]["a"]["now"]["used"]


def killed_with_the_machine(folder):
    """A reboot after a kill: at most 1 % or 1 MB of what was used is forgotten."""
    pamsd = Daemon(folder, "caps", config(folder, cap("a", 'quota = "40M"')))
    start = counted() - used(pamsd)
    for _ in range(20):
        send(MB)
        within("all is counted", lambda: used(pamsd) == counted() - start)
    pamsd.stop(signal.SIGKILL)
    kept = used_at_end(folder)
    lost = counted() - start - kept
    print(f"# {lost} bytes of {counted() - start} are not in the file")
    check(0 <= lost <= MB, f"{lost} bytes are forgotten")
    # after the boot the counters begin at 0: all that they say is new
    other = Path(folder) / "boot"
    other.write_text("another-boot\n")
    with Mounted(other, BOOT_ID):
        pamsd.start()
        within("it goes on", lambda: used(pamsd) == kept + counted())
        pamsd.stop(signal.SIGKILL)
        pamsd.start()
        within("no second time", lambda: used(pamsd) == kept + counted())
        pamsd.stop()


def interface_is_replaced(folder):
    """Its name goes to another interface, whose counter begins at 0; and it may be away."""
    pamsd = Daemon(folder, "caps", config(folder, cap("a", 'quota = "1G"', "d0")))
    check(not caps(pamsd)["a"]["there"], "there is none yet")
    total = 0
    for index in (70, 71, 70):
        made = subprocess.run(f"ip link add d0 index {index} type veth peer name d1 && ip addr add 10.9.9.1/24 dev d0 &&"
                              "ip link set d1 up && ip link set d0 up", shell=True, check=False)
        if made.returncode:
            raise Skipped("no veth in this kernel")
        within("it is there", lambda: caps(pamsd)["a"]["there"])
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            for _ in range(100):
                sock.sendto(bytes(1000), ("10.9.9.2", 9))
        subprocess.run("ip neigh replace 10.9.9.2 lladdr 2:0:0:0:0:2 dev d0", shell=True, check=True)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            for _ in range(100):
                sock.sendto(bytes(1000), ("10.9.9.2", 9))
        total += 100 * 1000
        within("it is counted", lambda: used(pamsd) >= total - 1000)
        subprocess.run("ip link del d0", shell=True, check=True)
        within("it is away", lambda: not caps(pamsd)["a"]["there"])
    check(total <= used(pamsd) <= total * 2.2, f"{used(pamsd)} of {total} bytes")
    pamsd.stop()


def corrupt_state_is_said(folder):
    """Nobody knows what was used: all quotas count as used up until the file is removed."""
    file, aside = Path(folder) / "state", Path(folder) / "state.corrupt"
    text = config(folder, cap("a", 'quota = "1G"'), cap("b", "battery-below = 5"))
    for wrong in ("", "{", "[]", '{"version": 2}', '{"version": 1, "boot": "x", "quotas": {"a": {"now": 5}}}',
                  *(json.dumps({"version": 1, "boot": "x", "quotas": {"a": {
                      "now": {"begin": begin, "used": 5}, "before": {"begin": before, "used": 0}}}})
                    for begin, before in ((0, 0), (1970, 0), (20261301, 0), (2**32 - 1, 0), (20261101, 7)))):
        file.write_text(wrong)
        pamsd = Daemon(folder, "caps", text)
        said = caps(pamsd)
        check(said["a"]["unknown"] and said["a"]["left_bytes"] == 0 and said["a"]["active"], f"{wrong}: {said}")
        check(not said["b"]["active"], f"{said}")
        check("all quotas are taken as used up until" in pamsd.said(), pamsd.said())
        check(aside.read_text() == wrong, "it isn't kept")
        aside.unlink()
        pamsd.stop(signal.SIGKILL)
        pamsd.start()
        check(caps(pamsd)["a"]["unknown"], "a restart forgets it")
        pamsd.stop()
        file.unlink()
        pamsd.start()
        check(not caps(pamsd)["a"]["active"], "without the file it begins anew")
        pamsd.stop()
        pamsd.log.unlink()


class Clock:
    """What a daemon takes for the date, and whether it takes that for synchronised."""

    def __init__(self, folder):
        self.file = Path(folder) / "clock"
        self.prefix = ("env", f"LD_PRELOAD={daemon.HELPERS}/clock_state.so", f"CLOCK_STATE={self.file}", "TZ=UTC",
                       "ASAN_OPTIONS=verify_asan_link_order=0")

    def set(self, *states):
        """Each a word and a date; but the last one is for one reading only."""
        new = self.file.with_suffix(".new")
        new.write_text("".join(f"{word} {calendar.timegm(time.strptime(date, '%Y-%m-%d'))}\n" for word, date in states))
        new.rename(self.file)


def period_begun_ahead_of_time(folder):
    """By a clock that was ahead: at the date that it is once that is known, with what was counted; over a restart, too."""
    clock = Clock(folder)
    for restarts in (False, True):
        clock.set(("unsynced", "2099-02-03"))
        pamsd = Daemon(folder, "caps", config(folder, cap("a", 'quota = "1G"')), prefix=clock.prefix)
        base = counted() - used(pamsd)
        send(MB)
        check(caps(pamsd)["a"]["since"] == "2099-02-01", f"{caps(pamsd)}")
        clock.set(("unsynced", "2026-11-22"))
        time.sleep(2)
        within("it stays, and is counted on", lambda: used(pamsd) == counted() - base)
        check(caps(pamsd)["a"]["since"] == "2099-02-01", f"{caps(pamsd)}")
        if restarts:
            pamsd.stop()
        clock.set(("synced", "2026-11-22"))
        if restarts:
            pamsd.start()
        within("it is this month", lambda: caps(pamsd)["a"]["since"] == "2026-11-01")
        within("with all that was counted", lambda: used(pamsd) == counted() - base)
        clock.set(("synced", "2026-12-01"))
        within("a month begins", lambda: used(pamsd) == 0 and caps(pamsd)["a"]["since"] == "2026-12-01")
        pamsd.stop()
        (Path(folder) / "state").unlink()


def corrupt_state_and_1970(folder):
    """Where there is no clock the period that has to end first isn't 1970's."""
    clock, file = Clock(folder), Path(folder) / "state"
    for first, word in (("1970-01-01", "synced"), ("1970-01-01", "unsynced"), ("2026-10-20", "synced")):
        file.write_text("{")
        clock.set(("unsynced", first))
        pamsd = Daemon(folder, "caps", config(folder, cap("a", 'quota = "1G"')), prefix=clock.prefix)
        check(caps(pamsd)["a"]["unknown"] and caps(pamsd)["a"]["active"], f"{caps(pamsd)}")
        pamsd.stop()
        pamsd.start()
        clock.set((word, "2026-11-22"))
        within("the date is known", lambda: caps(pamsd)["a"]["since"] == "2026-11-01")
        check(caps(pamsd)["a"].get("unknown") and caps(pamsd)["a"]["active"], f"{first}, {word}: {caps(pamsd)}")
        clock.set((word, "2026-12-01"))
        within("a month has ended", lambda: not caps(pamsd)["a"]["active"])
        pamsd.stop()
        file.unlink()


def clock_is_set_within_a_look(folder):
    """A date that was read before it was set isn't taken for one that a synchronised clock said."""
    clock, file = Clock(folder), Path(folder) / "state"
    file.write_text("{")
    clock.set(("unsynced", "2026-10-20"))
    pamsd = Daemon(folder, "caps", config(folder, cap("a", 'quota = "1G"')), prefix=clock.prefix)
    check(caps(pamsd)["a"]["since"] == "2026-10-01", f"{caps(pamsd)}")
    clock.set(("unsynced", "2026-10-20"), ("synced", "2026-11-22"))
    within("the date is known", lambda: caps(pamsd)["a"]["since"] == "2026-11-01")
    check(caps(pamsd)["a"].get("unknown") and caps(pamsd)["a"]["active"], f"{caps(pamsd)}")
    pamsd.stop()


def state_that_cannot_be_written(folder):
    """It is said once, and counted all the same."""
    need_mounts()
    full = Path(folder) / "full"
    full.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "none", full], check=True)
    (full / "filler").write_bytes(bytes(4096))
    try:
        pamsd = Daemon(folder, "caps", config(full, cap("a", 'quota = "3M"')))
        send(5 * MB)
        within("the quota is used up", lambda: caps(pamsd)["a"]["because"] == ["quota"])
        check(pamsd.said().count("can't be written") == 1, pamsd.said())
        check("No space left on device" in pamsd.said(), pamsd.said())
        (full / "filler").unlink()
        check(pamsd.stop() == 0, "it ends in order")
        check(used_at_end(full) >= 5 * MB, "the last one was written")
        check([file.name for file in full.iterdir()] == ["state"], "and nothing else stays")
    finally:
        subprocess.run(["umount", full], check=True)


def state_that_was_never_written(folder):
    """A restart is enough to forget what was used: that is said."""
    text = config(Path(folder) / "none", cap("a", 'quota = "1G"'))
    pamsd = Daemon(folder, "caps", text)
    check("/none/state can't be written: what is used until pamsd or the machine is started again may be forgotten then: No such "
          "file or directory\n" in pamsd.said(), pamsd.said())
    send(2 * MB)
    within("it is counted", lambda: used(pamsd) >= 2 * MB)
    pamsd.stop()
    pamsd.start()
    check(used(pamsd) < MB, "it is forgotten")
    pamsd.stop()


def battery_is_low(folder):
    """While it is being discharged; it is given back above a margin, or when it is charged."""
    supplies = Path(folder) / "supplies"
    for name, kind in (("AC", "Mains"), ("BAT0", "Battery"), ("mouse", "Battery")):
        (supplies / name).mkdir(parents=True)
        (supplies / name / "type").write_text(kind + "\n")
    (supplies / "mouse" / "scope").write_text("Device\n")
    (supplies / "mouse" / "capacity").write_text("1\n")
    (supplies / "mouse" / "status").write_text("Discharging\n")
    battery = supplies / "BAT0"

    def charge(percent, status):
        for name, text in (("capacity", percent), ("status", status)):
            (battery / f"{name}.new").write_text(f"{text}\n")
            (battery / f"{name}.new").rename(battery / name)

    if not Path("/sys/class/power_supply").is_dir():
        raise Skipped("this kernel has no power_supply")
    charge(50, "Discharging")
    with Mounted(supplies, "/sys/class/power_supply"):
        pamsd = Daemon(folder, "caps", config(folder, cap("a", "battery-below = 20")))
        check(caps(pamsd)["a"]["battery"] == 50 and not caps(pamsd)["a"]["active"], f"{caps(pamsd)}")
        for percent, status, active in ((19, "Discharging", True), (21, "Discharging", True),
                                        (23, "Discharging", False), (5, "Charging", False),
                                        (5, "Discharging", True)):
            charge(percent, status)
            within(f"{percent} % are known", lambda: caps(pamsd)["a"]["battery"] == percent
                   and caps(pamsd)["a"]["active"] == active)
        pamsd.stop()


class Pamsplit:
    """Its control socket, with a counter of what was lent that the case sets; no pamsplit: that takes a kernel's queue."""

    def __init__(self, path):
        self.path, self.lent, self.said = path, 0, []
        self.slow_s = 0

    def start(self):
        Path(self.path).unlink(missing_ok=True)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self.path))
        self.listener.listen()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            try:
                asker, _ = self.listener.accept()
            except OSError:
                return
            with asker:
                time.sleep(self.slow_s)
                # who only says something may be gone already: what it said is there all the same
                with contextlib.suppress(OSError):
                    asker.sendall(f"totals flows=1 lends=1 lent={self.lent} received=9\nflow client=10.0.0.1\n".encode())
                    asker.shutdown(socket.SHUT_WR)
                with contextlib.suppress(OSError):
                    words = asker.recv(100).decode()
                    if words:
                        self.said.append(words)

    def stop(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()


def lent_bytes_have_an_end(folder):
    """What pamsplit lends is counted, and it is told to lend nothing, again and again; a new one begins at 0."""
    pamsplit = Pamsplit(Path(folder) / "pamsplit")
    text = config(folder, f'cap "a" {{\n\tsocket = "{pamsplit.path}"\n\tquota = "3M"\n\tthen = "lend nothing"\n}}')
    pamsd = Daemon(folder, "caps", text)
    check(not caps(pamsd)["a"]["there"] and "interface" not in caps(pamsd)["a"], f"{caps(pamsd)}")
    pamsplit.lent = MB
    pamsplit.start()
    within("it is there", lambda: caps(pamsd)["a"]["there"])
    pamsplit.lent = 2 * MB
    within("one more is counted", lambda: used(pamsd) == 2 * MB or used(pamsd) == MB)
    check(pamsplit.said == [], f"{pamsplit.said}")
    pamsplit.stop()
    within("it is away", lambda: not caps(pamsd)["a"]["there"])
    pamsplit.lent = MB // 2
    pamsplit.start()
    within("it begins at 0", lambda: used(pamsd) == MB + MB // 2)
    pamsplit.lent += 2 * MB
    within("it is told", lambda: pamsplit.said[:1] == ["lend nothing 10000\n"])
    check(caps(pamsd)["a"]["because"] == ["quota"], f"{caps(pamsd)}")
    check("cap 'a': nothing is lent: its quota is used up" in pamsd.said(), pamsd.said())
    within("again and again", lambda: len(pamsplit.said) >= 3, 30)
    # it is there, though it doesn't answer in time
    pamsplit.slow_s = 0.1
    within("that is said", lambda: f"the counters of {pamsplit.path} can't be read" in pamsd.said())
    check(caps(pamsd)["a"]["there"], f"{caps(pamsd)}")
    pamsd.stop()
    within("it may lend again", lambda: pamsplit.said[-1] == "lend\n")
    pamsplit.stop()


BUS = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><listen>unix:path={}</listen><auth>EXTERNAL</auth><policy context="default">
<allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/></policy></busconfig>
"""


class Program:
    """One that says a line when it is ready."""

    def __init__(self, *words):
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        check(self.process.stdout.readline(), f"{words[0]} does not come up")

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def metered_by_networkmanager(folder):
    """What a program of NetworkManager's name says on a bus of its own, and when it or the bus is away."""
    networkmanager = daemon.HELPERS / "networkmanager"
    if not networkmanager.exists() or not shutil.which("dbus-daemon"):
        raise Skipped("no libdbus or dbus-daemon here: tools/setup.sh tools check")
    value, path, setting = (Path(folder) / name for name in ("value", "bus", "bus.conf"))
    setting.write_text(BUS.format(path))
    os.environ["DBUS_SYSTEM_BUS_ADDRESS"] = f"unix:path={path}"
    said = {"word": None, "1": True, "4": False, "3": True, "2": False}

    def becomes(is_metered):
        within(f"{is_metered} is known", lambda: caps(pamsd)["a"]["metered"] is is_metered
               and caps(pamsd)["a"]["active"] == bool(is_metered), limit_s=40)

    def stays_metered(for_s):
        end = time.monotonic() + for_s
        while time.monotonic() < end:
            check(caps(pamsd)["a"]["metered"] and caps(pamsd)["a"]["active"], f"{caps(pamsd)}")
            time.sleep(0.2)

    pamsd = Daemon(folder, "caps", config(folder, cap("a", "metered = true"), cap("b", "metered = true", "lo"),
                                          cap("c", "metered = true", "none0")))
    check(caps(pamsd)["a"]["metered"] is None and not caps(pamsd)["a"]["active"], f"{caps(pamsd)}")
    bus = Program("dbus-daemon", "--nofork", "--print-address", f"--config-file={setting}")
    value.write_text("1")
    manager = Program(networkmanager, value)
    for number, is_metered in said.items():
        value.write_text(number)
        becomes(is_metered)
    value.write_text("1")
    becomes(True)
    now = caps(pamsd)
    check(now["a"]["because"] == ["metered"] and now["b"]["active"] and now["c"]["metered"] is None
          and not now["c"]["active"], f"{now}")
    check("cap 'a': lo costs 2: it is metered" in pamsd.said(), pamsd.said())
    # a device that is not in use, NetworkManager's restart and the bus's: all is asked again each 5 s
    value.write_text("0")
    stays_metered(6)
    manager.stop()
    stays_metered(6)
    bus.stop()
    becomes(None)
    path.unlink()
    bus = Program("dbus-daemon", "--nofork", "--print-address", f"--config-file={setting}")
    value.write_text("1")
    manager = Program(networkmanager, value)
    becomes(True)
    # who doesn't answer for longer than answers counted, as after a suspend; a reload, and a start
    bus.process.send_signal(signal.SIGSTOP)
    stays_metered(16)
    pamsd.reload()
    stays_metered(1)
    pamsd.stop(signal.SIGKILL)
    pamsd.start()
    stays_metered(1)
    bus.process.send_signal(signal.SIGCONT)
    value.write_text("2")
    becomes(False)
    value.write_text("1")
    becomes(True)
    pamsd.write(config(folder, 'cap "a" {\n\tmetered = true\n\tthen = "lend nothing"\n}'))
    pamsd.send(signal.SIGHUP)
    within("it is refused", lambda: "cap 'a' is about what pamsplit lends, and only an interface is metered" in pamsd.said())
    pamsd.stop()
    # a bus that answers nothing holds nobody up
    bus.process.send_signal(signal.SIGSTOP)
    (Path(folder) / "state").unlink()
    pamsd = Daemon(folder, "caps", config(folder, cap("a", "metered = true")))
    check(caps(pamsd)["a"]["metered"] is None, "it doesn't wait for a bus")
    bus.process.send_signal(signal.SIGCONT)
    becomes(True)
    pamsd.stop()
    manager.stop()
    bus.stop()


def hours_of_the_day(folder):
    now = time.localtime()
    around = "".join(f"{hour % 24:02}:{now.tm_min:02}{dash}" for hour, dash in ((now.tm_hour - 1, "-"), (now.tm_hour + 1, "")))
    away = "".join(f"{hour % 24:02}:{now.tm_min:02}{dash}" for hour, dash in ((now.tm_hour + 2, "-"), (now.tm_hour - 2, "")))
    pamsd = Daemon(folder, "caps", config(folder, cap("in", f'hours = {{"{around}"}}'),
                                          cap("out", f'hours = {{"{away}"}}'),
                                          cap("one of two", f'hours = {{"{away}", "{around}"}}'),
                                          cap("always", "")))
    said = caps(pamsd)
    check([said[name]["active"] for name in ("in", "out", "one of two", "always")] ==
          [True, False, True, True], f"{said}")
    check(said["in"]["because"] == ["hours"] and said["in"]["hours"] == [around], f"{said}")
    check(said["always"]["because"] == [], f"{said}")
    pamsd.stop()


def reload_goes_on(folder):
    """A reload keeps what was counted, with another quota; a faulty one changes nothing."""
    pamsd = Daemon(folder, "caps", config(folder, cap("a", 'quota = "100M"')))
    start = counted() - used(pamsd)
    send(5 * MB)
    pamsd.reload(config(folder, cap("a", 'quota = "3M"'), cap("b", 'quota = "3M"')))
    within("all is counted", lambda: used(pamsd) == counted() - start)
    check(caps(pamsd)["a"]["active"] and not caps(pamsd)["b"]["active"], f"{caps(pamsd)}")
    pamsd.write(config(folder, cap("a", 'quota = "3M"\n\tper = "year"')))
    pamsd.send(signal.SIGHUP)
    within("it is refused", lambda: ":6: 'year' is not day or month" in pamsd.said())
    pamsd.reload(config(folder, cap("b", 'quota = "3M"')))
    check(list(caps(pamsd)) == ["b"], f"{caps(pamsd)}")
    send(MB)
    within("b counts on", lambda: used(pamsd, "b") >= MB)
    pamsd.reload(config(folder, cap("a", 'quota = "100M"'), cap("b", 'quota = "3M"')))
    within("a, put back, has that, too", lambda: used(pamsd) == counted() - start)
    pamsd.stop()


def failing_reload_forgets_nothing(folder):
    """One whose control socket can't be made: caps were set up by then, and are of another name."""
    text = config(folder, cap("a", 'quota = "1G"'))
    pamsd = Daemon(folder, "caps", text)
    start = counted() - used(pamsd)
    send(MB)
    within("all is counted", lambda: used(pamsd) == counted() - start)
    pamsd.file.write_text(f'control = "{folder}/none/socket"\n' + config(folder, cap("other", 'quota = "1G"')))
    pamsd.send(signal.SIGHUP)
    within("it is refused", lambda: "the old configuration is kept" in pamsd.said())
    pamsd.write(text)
    within("a goes on", lambda: used(pamsd) == counted() - start)
    pamsd.stop()


def cap_is_put_back(folder):
    """With what its interface counted meanwhile, also over a reboot, until its period is over."""
    clock, other = Clock(folder), Path(folder) / "boot"
    other.write_text("another-boot\n")
    clock.set(("synced", "2026-11-22"))
    with_a, without = config(folder, cap("a", 'quota = "1G"')), config(folder, cap("b", 'quota = "1G"', "none0"))
    pamsd = Daemon(folder, "caps", with_a, prefix=clock.prefix)
    start = counted() - used(pamsd)
    send(MB)
    within("all is counted", lambda: used(pamsd) == counted() - start)
    pamsd.reload(without)
    send(MB)
    pamsd.reload(with_a)
    within("no byte is missing", lambda: used(pamsd) == counted() - start)
    kept = counted() - start
    pamsd.write(without)
    pamsd.stop()
    with Mounted(other, BOOT_ID) if MOUNTS else contextlib.nullcontext():
        pamsd.start()
        pamsd.reload(with_a)
        # after a boot all that the counters say is new
        within("it goes on", lambda: used(pamsd) == (kept + counted() if MOUNTS else counted() - start))
        pamsd.reload(without)
        check(sorted(state(folder)["quotas"]) == ["a", "b"], f"{state(folder)}")
        clock.set(("synced", "2026-12-01"))
        pamsd.reload(without)
        check(list(state(folder)["quotas"]) == ["b"] and list(state(folder)["interfaces"]) == [], f"{state(folder)}")
    pamsd.stop()


def endpoints():
    """Of the path manager: {address: id}, without those that it made itself."""
    said = subprocess.run(["ip", "-j", "mptcp", "endpoint"], check=True, capture_output=True, text=True).stdout
    return {one["address"]: one["id"] for one in json.loads(said)}


def id_that_was_given_away(folder):
    """While an endpoint was forbidden another one took its id: it is given back with one that the kernel picks, and the
    others with theirs."""
    def endpoint(words, check=True):
        return subprocess.run(["ip", "mptcp", "endpoint", *words.split()], check=check, capture_output=True).returncode

    # the kernel's next choice would be 7
    if endpoint("add 127.0.0.7 id 7 dev lo subflow", check=False):
        raise Skipped("no MPTCP in this kernel")
    endpoint("add 127.0.0.6 id 6 dev lo subflow")
    for then, status in (("forbid", None), ("forbid", "killed"), ("backup", None)):
        pamsd = Daemon(folder, "caps", config(folder, cap("a", "", then="forbid")))
        within("none is left", lambda: not endpoints())
        endpoint("add 10.1.2.3 id 6 subflow")
        if status:
            pamsd.stop(signal.SIGKILL)
            pamsd.start()
        check(endpoints() == {"10.1.2.3": 6}, f"{endpoints()}")
        if then == "backup":
            pamsd.reload(config(folder, cap("a", "", then="backup")))
            within("both are there", lambda: len(endpoints()) == 3)
        check(pamsd.stop() == 0, "it ends in order")
        check("10.1.2.3" in endpoints() and endpoints()["127.0.0.7"] == 7, f"{endpoints()}")
        check(endpoints().get("127.0.0.6") not in (None, 6, 7), f"it isn't given back: {endpoints()}")
        check("an endpoint of lo gets another id: 6 is another's now" in pamsd.said(), pamsd.said())
        pamsd.log.unlink()
        for number in endpoints().values():
            endpoint(f"del id {number}")
        endpoint("add 127.0.0.7 id 7 dev lo subflow")
        endpoint("add 127.0.0.6 id 6 dev lo subflow")
    for number in (6, 7):
        endpoint(f"del id {number}")


def address_with_a_label(folder):
    """An endpoint there belongs to the interface, too: "forbid" takes it away, and its end gives it back."""
    address = ["ip", "address", "add", "127.0.0.8/8", "dev", "lo", "label", "lo:1"]
    if subprocess.run(address, check=False, capture_output=True).returncode or \
       subprocess.run("ip mptcp endpoint add 127.0.0.8 id 8 subflow".split(), check=False, capture_output=True).returncode:
        raise Skipped("no address of one's own here, or no MPTCP")
    pamsd = Daemon(folder, "caps", config(folder, cap("a", "", then="forbid")))
    within("it is taken away", lambda: not endpoints())
    check(pamsd.stop() == 0 and endpoints() == {"127.0.0.8": 8}, f"it isn't given back: {endpoints()}")
    subprocess.run("ip mptcp endpoint del id 8".split(), check=True)
    subprocess.run(["ip", "address", "del", "127.0.0.8/8", "dev", "lo"], check=True)


def none_configured(folder):
    pamsd = Daemon(folder, "caps", f'rules = "{folder}/rules"' if not (Path(folder) / "rules").touch() else "")
    check("caps" not in pamsd.status(), "there are none")
    pamsd.stop()


MOUNTS = False

if __name__ == "__main__":
    os.environ["LC_ALL"] = "C"
    # a network and mounts of its own; entered before any thread
    why_not = daemon.enter_network()
    if not why_not and not ctypes.CDLL(None).unshare(CLONE_NEWNS):
        MOUNTS = subprocess.run(["mount", "--make-rprivate", "/"], check=False).returncode == 0
    if why_not:
        print(f"# no network of its own, others may disturb: {why_not}")
    sys.exit(run_cases([
        quota_is_counted, kept_over_restarts_and_kills, killed_with_the_machine,
        interface_is_replaced, corrupt_state_is_said, period_begun_ahead_of_time,
        corrupt_state_and_1970, clock_is_set_within_a_look,
        state_that_cannot_be_written, state_that_was_never_written,
        battery_is_low, metered_by_networkmanager, lent_bytes_have_an_end, hours_of_the_day, reload_goes_on,
        failing_reload_forgets_nothing, cap_is_put_back, id_that_was_given_away,
        address_with_a_label, none_configured]))
