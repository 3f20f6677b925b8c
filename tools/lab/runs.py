# SPDX-License-Identifier: GPL-2.0
"""Run a scenario under each scheduler: one boot each, a few at once.

A result is a plain dict, the "run" of the JSON form that Documentation/lab.md
describes. Times in seconds there, sizes in bytes.
"""

import json
import os
import subprocess
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import bound
import capture
import counters
import host
import links
import programs
import radio
import remembered
from boot import EPOCH_S, Folder, boot
from guest import Guest
from host import LabError

BUILT_IN = ("default",)
PEERS = ("everywhere", "blest", "ecf")   # the published ones, tools/bench/peers


def listed(*group):
    """The names of the module's schedulers, or of some."""
    return tuple(subprocess.run([os.path.join(host.TOP, "tools", "scheds"), *group], check=True,
                                stdout=subprocess.PIPE, encoding="utf-8").stdout.split())


# They keep to a policy, not to the shortest time: they run where they are asked for by name.
POLICIES = listed("policy")


@dataclass(frozen=True)
class Means:
    """What every boot of a command shares."""
    kernel: host.Kernel
    module: str             # '' where no scheduler of ours is asked for
    peers: str              # '' where no published one is
    xfer: str
    random_library: str
    netem_seed: str
    pace: str
    rival: str
    replay: str
    pamsctl: str = ""       # where reports are asked for
    pamsplit: str = ""      # where a helper splits
    wall_limit_s: float = 120
    keep: str = ""          # keep guests' folders under this name
    real_time: bool = False
    all_counters: bool = False
    radios: bool = False    # count how long each path's radio is on
    remembering: bool = False   # results are kept for later commands
    recalling: bool = False     # and those of earlier ones count
    entropy: int = 0        # other than 0: ports, keys and sequence numbers are others
    hashes: dict = field(default_factory=dict)  # scheduler: of its sources
    programs: dict = field(default_factory=dict)    # scheduler in BPF: its module

    @property
    def modules(self):
        """All that may be loaded."""
        return [module for module in (self.module, self.peers) if module]

    def module_of(self, scheduler):
        """What it needs, '' for none."""
        if scheduler in BUILT_IN:
            return ""
        published = scheduler in PEERS and scheduler not in self.programs
        return self.peers if published else self.module

    def load(self, guest, scheduler, reported=False):
        """Have the guest load all that it needs; reported: a module is told of paths."""
        for module in self.modules:
            if module == self.module_of(scheduler) or reported and module == self.module:
                guest.module(module, self.kernel.kallsyms_address())
        if scheduler in self.programs:
            guest.init.append(programs.load_line(scheduler, self.programs[scheduler]))


@dataclass(frozen=True)
class Job:
    """One boot."""
    name: str               # as in tables: the scheduler, or 'path 0 alone'
    scheduler: str
    scenario: object
    path: int = -1          # the path that is alone, or -1
    repeat: int = 0
    trace: bool = False
    guest: object = Guest   # what makes it, of (folder, xfer, pamsctl)
    of: str = ""            # which scenario that is, where a command has several for one name


def prepare(schedulers, kernel_folder=None, kernel_config="default", module=None,
            traced=False, sources=None, reported=False, **more):
    """Build or find all that is needed, before anything runs. @sources of those in BPF by name.
    @reported: a module is told of paths, whatever the scheduler."""
    need = ["setarch", "ip", "tc", "mount", "nsenter", "insmod", "mkfifo", "cat"]
    host.need_programs(need + (["tcpdump"] if traced else []), "run a guest")
    kernel = host.kernel(kernel_folder, kernel_config)
    sources = sources or {}
    ours = module or reported or sources or any(name not in BUILT_IN + PEERS for name in schedulers)
    peers = any(name in PEERS and name not in sources for name in schedulers)
    remembered.prune()
    own = remembered.own_copy       # the tree may be built anew meanwhile
    return Means(kernel, own(host.module(kernel, module)) if ours else "",
                 own(host.peers(kernel)) if peers else "", host.xfer(),
                 host.fixed_random(), host.netem_seed(), host.helper("pace"),
                 host.helper("rival"), host.helper("replay"),
                 programs={name: own(programs.module(kernel, source))
                           for name, source in sources.items()}, **more)


def available(means):
    """Every scheduler that the kernel and the modules have, the kernel's first."""
    with Folder() as folder:
        guest = Guest(folder, means.xfer)
        for module in means.modules:
            guest.module(module, means.kernel.kallsyms_address())
        guest.init.append("cat /proc/sys/net/mptcp/available_schedulers > $D/schedulers")
        guest.finish()
        boot(means.kernel, folder, means.random_library, 1, means.wall_limit_s)
        names = _read(folder, "schedulers").split()
    return sorted(names, key=lambda name: (name not in BUILT_IN, name))


def compared(means):
    """Those that a sweep compares: all but POLICIES."""
    return [name for name in available(means) if name not in POLICIES]


def remembering(means, schedulers, args):
    """The same means, but what ran before is not run again; with --fresh or --keep it is, and
    remembered anew."""
    hashes = {}
    for name in schedulers:
        # A program's own source is in its module's name.
        if name in PEERS and name not in means.programs:
            hashes[name] = remembered.scheduler_hash(
                (host.PEERS, host.PEERS_SYMBOLS), name)
        elif name not in BUILT_IN:
            hashes[name] = (remembered.file_hash(means.module) if args.module else
                            remembered.scheduler_hash(("net", "include"), name))
    return replace(means, remembering=True, recalling=not (args.fresh or args.keep), hashes=hashes)


def jobs_of(scenario, schedulers, single, repeat, traced):
    """In the order of the report."""
    jobs = []
    for number in range(repeat):
        seeded = replace(scenario, seed=scenario.seed + number)
        if single:
            jobs += [Job(f"path {i} alone", "default", seeded.alone(i), i, number, traced)
                     for i in range(len(scenario.paths))]
        jobs += [Job(name, name, seeded, -1, number, traced) for name in schedulers]
    return jobs


def _read(folder, name):
    try:
        with open(os.path.join(folder, name), encoding="utf-8") as text:
            return text.read()
    except OSError:
        return ""


def _begin_us(lines):
    """When the first connection was asked for."""
    return min(line["start_us"] - line["connect_us"] for line in lines)


def _requests(folder, job):
    found = []
    lines = [json.loads(line) for line in _read(folder, "requests").splitlines()]
    if not lines:
        raise LabError(f"{job.name}: the transfers left no result; the client says: "
                       f"{_read(folder, 'client.err').strip() or 'nothing'}, the server: "
                       f"{_read(folder, 'server.err').strip() or 'nothing'}")
    begin_us = _begin_us(lines)
    for line in lines:
        start_us = line["start_us"] - begin_us
        best_us = bound.transfer_us(job.scenario, line["bytes"], start_us,
                                    line["dir"] == "up")
        found.append({
            "conn": line["conn"], "request": line["request"], "direction": line["dir"],
            "bytes": line["bytes"], "start_s": start_us / 1e6,
            "gap_s": line["gap_us"] / 1e6, "gap_at_s": line["gap_at_us"] / 1e6,
            "connect_s": line["connect_us"] / 1e6, "fct_s": line["fct_us"] / 1e6,
            "bound_s": round(best_us / 1e6, 6) if best_us < 1e13 else None,
            "subflows": line["subflows"], "fallback": line["fallback"],
            "ok": line["ok"], "error": line["error"],
            **({"objects_s": [us / 1e6 for us in line["objects_us"]]} if "objects_us" in line
               else {}),
            **({"late_s": line["late_us"] / 1e6} if job.scenario.stream_bps else {}),
            **{key: line[key] for key in ("level", "buffered_s") if key in line}})
    found.sort(key=lambda request: (request["conn"], request["request"]))
    return found, begin_us


def _unsaid(scenario, requests):
    """How many were never begun, or their program said nothing of: those failed, too. How many
    ranges a queue is taken in isn't known before."""
    return 0 if scenario.queue_bytes else scenario.requests * scenario.conns - len(requests)


def _told(folder, begin_us):
    """What the server's kernel knew of paths, and when, where it was looked at."""
    looks = [json.loads(line) for line in _read(folder, "told").splitlines()]
    return [{**look, "at_s": round(look["at_s"] - begin_us / 1e6, 3)} for look in looks]


def kept_in(means, job):
    """The folder that the job's guest is kept in, which no other job of the command has."""
    if not means.keep:
        return None
    name = "-".join(filter(None, (job.of, job.name, str(job.repeat))))
    return os.path.join(means.keep, name.replace(" ", "-").replace("/", "-"))


def run_one(means, job):
    """Boot once; (result, packets)."""
    keep = kept_in(means, job)
    with Folder(keep) as folder:
        guest = job.guest(folder, means.xfer, means.pamsctl)
        guest.netem_seed, guest.pace, guest.rival = means.netem_seed, means.pace, means.rival
        guest.replay = means.replay
        guest.pamsplit, guest.radios = means.pamsplit, means.radios
        means.load(guest, job.scheduler, bool(job.scenario.reports))
        guest.known(job.scheduler, job.scenario.congestion)
        guest.links(job.scenario.paths)
        guest.run(job.scenario, job.scheduler, job.trace)
        guest.finish()
        # A trace's packets aren't remembered.
        key = remembered.key(folder, means, job) if means.remembering and not job.trace else ""
        result = remembered.recall(key) if key and means.recalling else None
        if result:
            return {**result, "name": job.name, "repeat": job.repeat,
                    "path_alone": job.path}, []
        wall_s = boot(means.kernel, folder, means.random_library,
                      job.scenario.seed + (means.entropy << 32),
                      means.wall_limit_s, means.real_time)
        requests, begin_us = _requests(folder, job)
        server, client = (counters.parse(_read(folder, f"{side}.counters"))
                          for side in ("server", "client"))
        lost = Counter()
        for i, path in enumerate(job.scenario.paths):
            for where, device, way in links.queues(i, path):
                lost[f"{way}{i}"] += counters.lost(
                    _read(folder, f"{device}.lost"), _read(folder, f"{where}.queues.end"), device)
        splits = {i: counters.words(_read(folder, f"split{i}"))
                  for i, path in enumerate(job.scenario.paths)
                  if path.helper and path.helper.split}
        rivals = {i: json.loads(_read(folder, f"rival{i}"))
                  for i, path in enumerate(job.scenario.paths) if path.rival}
        told = _told(folder, begin_us)
        # In virtual time the date is the time since boot, added to EPOCH_S.
        zero_s = EPOCH_S + begin_us / 1e6
        radios = [radio.of(radio.read(os.path.join(folder, f"radio{i}.pcap"), i,
                                      bool(path.helper), zero_s)).as_dict()
                  for i, path in enumerate(job.scenario.paths)] if means.radios else []
        packets = []
        if job.trace:
            packets = capture.read(os.path.join(folder, "packets.pcap"),
                                   None if means.real_time else zero_s)
        if keep and packets:
            capture.write_tsv(packets, os.path.join(folder, "packets.tsv"))
    done = [request["fct_s"] for request in requests if request["ok"]]
    result = {
        "name": job.name, "scheduler": job.scheduler, "path_alone": job.path,
        "repeat": job.repeat, "seed": job.scenario.seed,
        "mean_s": round(sum(done) / len(done), 6) if done else None,
        "failed": len(requests) - len(done) + _unsaid(job.scenario, requests),
        "requests": requests,
        "paths": counters.without(rivals, job.scenario.direction, counters.paths(
            server[0], client[0], lost, len(job.scenario.paths))),
        "mib": {side: counters.chosen(mib, means.all_counters)
                for side, mib in (("server", server[1]), ("client", client[1]))},
        "wall_s": round(wall_s, 3),
        **({"told": told} if told else {}),
        **({"splits": splits} if splits else {}),
        **({"radios": radios} if radios else {}),
    }
    if key:
        remembered.remember(key, result)
    return result, packets


def run_all(means, jobs, at_once, progress):
    """Every job; results in the jobs' order. The first failure ends it."""
    progress.total(len(jobs))

    def one(job):
        progress.began(job.name)
        result = run_one(means, job)
        progress.ended(job.name, result[0])
        return result

    with ThreadPoolExecutor(max_workers=max(1, at_once)) as pool:
        futures = [pool.submit(one, job) for job in jobs]
        try:
            return [future.result() for future in futures]
        except BaseException:
            for future in futures:
                future.cancel()
            raise
