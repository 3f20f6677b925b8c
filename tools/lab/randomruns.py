# SPDX-License-Identifier: GPL-2.0
"""Many small transfers over random paths: none may hang.

A batch is some connections at once over two to four paths that are drawn for
it; a boot runs one batch after the other, on the same links with new shapes.
What is drawn follows from the seed and the batch's number alone, so that a
batch that failed can be run again by itself.
"""

import json
import os
import random
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import guest as guests
import links
from boot import Folder, boot
from progress import Progress
from scenario import Path, Scenario, default_limit

TRANSFERS = 40              # of one batch
LINKS = 4
HUNG_S = 60                 # virtual seconds; a batch could take a tenth of it
BATCHES_PER_BOOT = 125      # at most: a boot is short, and so is what a fault loses


@dataclass(frozen=True)
class Batch:
    """One drawn scenario, and perhaps a path that goes away for a while."""
    number: int
    scenario: Scenario
    outage: tuple = ()      # (path, down_at_s, up_at_s)


def _path(draw):
    rate = round(10 ** draw.uniform(6, 8))
    delay = round(1000 * 10 ** draw.uniform(0, 2))
    return Path(rate_bps=rate, delay_us=delay,
                limit_packets=max(20, round(default_limit(rate, delay)
                                            * draw.uniform(0.3, 1.5))),
                loss=draw.choice((0, 0, 0, 0.001, 0.01, 0.03)),
                jitter_us=draw.choice((0, 0, 0, delay // 10)),
                backup=draw.random() < 0.1)


def draw_batch(seed, number):
    """The batch of that number."""
    draw = random.Random(f"{seed} {number}")
    paths = [_path(draw) for _ in range(draw.randint(2, LINKS))]
    paths[0] = Path(**{**vars(paths[0]), "backup": False})
    conns = draw.choice((1, 2, 4, 5, 8, 10, 20))
    scenario = Scenario(
        paths=tuple(paths), bytes_min=1,
        bytes_max=draw.choice((2000, 20_000, 100_000)), requests=TRANSFERS // conns,
        conns=conns, gap_ms=draw.choice((0, 0, 10, 100, 1000)),
        stagger_ms=draw.choice((0, 0, 1, 30)), cold=draw.random() < 0.3,
        direction=draw.choice(("down", "down", "up", "both")), timeout_s=HUNG_S,
        seed=seed * 1_000_003 + number)
    outage = ()
    if draw.random() < 0.25:
        begin = draw.uniform(0, 0.5)
        outage = (draw.randrange(len(paths)), begin, begin + draw.uniform(0.05, 2))
    return Batch(number, scenario, outage)


class _Guest(guests.Guest):
    """A guest that runs batches."""

    def begin(self, scheduler, batches):
        """Links, schedulers and the server; then the batches."""
        self.links(batches[0].scenario.paths + (batches[0].scenario.paths[0],) *
                   (LINKS - len(batches[0].scenario.paths)))
        values = guests.set_sysctls(guests.sysctls(batches[0].scenario, scheduler))
        self.init += values
        self.client += values
        self.init += ["nsenter --net=/run/netns/c sh $D/client.sh || off",
                      f"{self.xfer} {guests.server_command(batches[0].scenario)} "
                      "2> $D/server.err &"]
        for batch in batches:
            self._batch(batch)

    def _batch(self, batch):
        name, paths = f"b{batch.number}", batch.scenario.paths
        self.write(f"{name}.ip", links.endpoints(paths, False))
        self.write(f"{name}.tc", [links.netem(way, i, path) for way in links.WAYS
                                  for i, path in enumerate(paths)])
        if batch.outage:
            index, down_s, up_s = batch.outage
            for word, path in (("down", Path(**{**vars(paths[index]), "down": True})),
                               ("up", paths[index])):
                self.write(f"{name}.{word}.tc",
                           [links.netem(way, index, path) for way in links.WAYS])
            self.write(f"{name}.sh", [
                f"sleep {down_s:.4f}", _tc(f"{self.folder}/{name}.down"),
                f"sleep {up_s - down_s:.4f}", _tc(f"{self.folder}/{name}.up")])
        self.init += [
            _tc(f"$D/{name}"), f"ip -n c -batch $D/{name}.ip",
            f"sh $D/{name}.sh &" if batch.outage else ":",
            f"nsenter --net=/run/netns/c {self.xfer} "
            f"{guests.client_command(batch.scenario)} > $D/{name}.out 2> $D/{name}.err",
            "wait $!" if batch.outage else ":"]


def _tc(name):
    return f"tc -n r -batch {name}.tc"


def _outcome(folder, batch):
    """(hung, failed, total_s) of a batch's transfers."""
    hung = failed = found = 0
    longest = 0.0
    try:
        with open(os.path.join(folder, f"b{batch.number}.out"), encoding="ascii") as out:
            for line in out:
                request = json.loads(line)
                found += 1
                longest = max(longest, request["fct_us"] / 1e6)
                if request["error"] == "timeout":
                    hung += 1
                elif not request["ok"]:
                    failed += 1
    except OSError:
        pass
    missing = batch.scenario.requests * batch.scenario.conns - found
    return {"batch": batch.number, "transfers": found, "hung": hung + missing,
            "failed": failed, "longest_s": longest}


def _boot_batches(means, scheduler, seed, batches, progress):
    name = f"{scheduler}, batches {batches[0].number} to {batches[-1].number}"
    keep = os.path.join(means.keep, f"random-{scheduler}-{batches[0].number}") \
        if means.keep else None
    progress.began(name)
    with Folder(keep) as folder:
        guest = _Guest(folder, means.xfer)
        means.load(guest, scheduler)
        guest.known(scheduler, "cubic")
        guest.begin(scheduler, batches)
        guest.finish()
        wall_s = boot(means.kernel, folder, means.random_library,
                      seed + batches[0].number, means.wall_limit_s)
        outcomes = [_outcome(folder, batch) for batch in batches]
    bad = sum(outcome["hung"] + outcome["failed"] for outcome in outcomes)
    progress.ended(name, {"wall_s": wall_s, "said": f"{bad} hung or failed"})
    return outcomes


def _under(means, scheduler, args, batches):
    """All outcomes under one scheduler."""
    per_boot = min(BATCHES_PER_BOOT, -(-len(batches) // args.jobs))
    parts = [batches[at:at + per_boot] for at in range(0, len(batches), per_boot)]
    with Progress(args.quiet) as progress, \
            ThreadPoolExecutor(max_workers=args.jobs) as pool:
        progress.total(len(parts))
        done = [pool.submit(_boot_batches, means, scheduler, args.seed, part, progress)
                for part in parts]
        return [outcome for future in done for outcome in future.result()]


def command(args, means, schedulers):
    """Run and report; 1 if anything hung or failed."""
    numbers = range(-(-args.count // TRANSFERS)) if args.batch is None else [args.batch]
    batches = [draw_batch(args.seed, number) for number in numbers]
    results = []
    for scheduler in schedulers:
        began = time.monotonic()
        outcomes = _under(means, scheduler, args, batches)
        results.append({
            "scheduler": scheduler, "seed": args.seed,
            "transfers": sum(outcome["transfers"] for outcome in outcomes),
            "hung": sum(outcome["hung"] for outcome in outcomes),
            "failed": sum(outcome["failed"] for outcome in outcomes),
            "longest_s": max(outcome["longest_s"] for outcome in outcomes),
            "bad_batches": [outcome["batch"] for outcome in outcomes
                            if outcome["hung"] or outcome["failed"]],
            "wall_s": round(time.monotonic() - began, 1)})
    if args.json:
        print(json.dumps({"format": 1, "random": results}, indent=1))
    else:
        for result in results:
            print(_text(result))
        bad = sum(result["hung"] + result["failed"] for result in results)
        print(f"{sum(result['transfers'] for result in results) - bad} passed, {bad} failed")
    return 1 if any(result["hung"] or result["failed"] for result in results) else 0


def _text(result):
    text = (f"{result['scheduler']}: {result['transfers']} transfers, "
            f"{result['hung']} hung, {result['failed']} failed, "
            f"the longest {result['longest_s']:.2f} s, {result['wall_s']} s wall")
    if result["bad_batches"]:
        text += (f"\n  again: lab random --sched {result['scheduler']} "
                 f"--seed {result['seed']} --batch N --keep DIR, with N one of "
                 + " ".join(map(str, result["bad_batches"][:10])))
    return text
