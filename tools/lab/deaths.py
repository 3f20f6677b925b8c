# SPDX-License-Identifier: GPL-2.0
"""`lab deaths`: a helper that splits dies in mid transfer, at a random time.

A download of 2 MB over 5 Mbit/s 25 ms and a helper's path, on which pamsplit runs, with 10
Mbit/s 20 ms and 5 Mbit/s 5 ms. One of the ways below to die and the time are drawn. No byte may
be missing, and what counts is the longest time in which the application receives nothing. Nobody
is told, or pamsd runs on helper, client and server.

  worker     its worker is killed                stopped    its worker is stopped
  killed     all of it is killed at once         rebooted   that, its tables and its links, for 2 s
  pipe       the pipe's cable is pulled          stick      the HS-path's is
  none       it lives on: a queue that overflows makes a gap, too

The direct path holds 50 packets: in a longer queue a loss and what is sent again wait longer.

--only N runs one again; its folder can be kept with --keep.
"""

import json
import random
import statistics
from functools import partial

import fed
import host
import runs
from checks import Checks
from links import IN_ROUTER, in_helper, server_address
from progress import Progress
from scenario import Scenario, parse_helper, parse_path

FORMAT = 1
BYTES = 2_000_000
REBOOT_US = 2_000_000
HELPER = 1              # the index of its path
DIES_US = (200_000, 1_500_000)      # in this time, of 1.8 s that the transfer takes without a death
# What fails: a median, or one of them, beyond what was seen (Documentation/pamsplit.md). To be reached are
# medians of 150 ms, 1 s untold, and 500 ms told.
GAP_MEDIAN_S, GAP_S = 0.400, 1.0

PROCESSES = "$(pgrep -x pamsplit)"      # the parent, and its worker
WORKER = "$(pgrep -n -x pamsplit)"
# the router's ends: of the HS-path at the helper, of the pipe at the helper and at the client
STICK, PIPE = (f"down{HELPER}",), (f"in{HELPER}", f"out{HELPER}")


def _carrier(state, *devices):
    return "; ".join(f"{IN_ROUTER} ip link set {device} {state}" for device in devices)


# how it dies: shell lines, (after so many us, line)
DEATHS = {
    "worker": ((0, f"kill -9 {WORKER}"),),
    "stopped": ((0, f"kill -STOP {WORKER}"),),
    "killed": ((0, f"kill -9 {PROCESSES}"),),
    "rebooted": ((0, f"kill -9 {PROCESSES}; {in_helper(HELPER)} nft flush ruleset; "
                  + _carrier("down", *STICK, *PIPE)),
                 (REBOOT_US, _carrier("up", *STICK, *PIPE))),
    "pipe": ((0, _carrier("down", *PIPE)),),
    "stick": ((0, _carrier("down", *STICK)),),
    "none": (),
}


class DeathGuest(fed.HelperGuest):
    """A helper that dies."""

    def __init__(self, folder, xfer, pamsctl, pamsd, death, at_us):
        super().__init__(folder, xfer, pamsctl, pamsd, looks=False)
        self.mortal, self.carrier = True, "true"
        self.orders = [(at_us + after_us, line) for after_us, line in DEATHS[death]]
        self.peers.append(("client", "10.0.0.0/16"))
        self.daemon("client", "", fed.reporter_conf(
            "client", server_address(0, False), ("c0", f"c{HELPER}"),
            (f'interface c{HELPER} {{ measure = "none" }}',)))


def drawn(number, seed):
    """(how, when in us, the scenario) of a death."""
    draw = random.Random(f"death {seed} {number}")
    return draw.choice(tuple(DEATHS)), draw.randint(*DIES_US), Scenario(
        paths=(parse_path("5mbit,25ms,50"), parse_helper("10mbit:20ms,5mbit:5ms,split")),
        bytes_min=BYTES, bytes_max=BYTES, requests=1, seed=number + 1)


def jobs_of(args, pamsd):
    """Untold, and told; their repeat is the number that was drawn."""
    jobs = []
    for number in range(args.count) if args.only is None else (args.only,):
        death, at_us, scenario = drawn(number, args.seed)
        for what, daemon in (("untold", ""), ("told", pamsd)):
            jobs.append(runs.Job(f"{death}, {what}", args.sched, scenario, repeat=number,
                                 guest=partial(DeathGuest, pamsd=daemon, death=death, at_us=at_us)))
    return jobs


def row_of(name, results):
    """Of one way to die; the longest gaps, and which was worst."""
    gaps = [(request["gap_s"], result["repeat"]) for result in results
            for request in result["requests"]]
    return {"name": name, "runs": len(results), "failed": sum(r["failed"] for r in results),
            "median_s": statistics.median(gap for gap, _ in gaps),
            "worst_s": max(gaps)[0], "worst": max(gaps)[1]}


def table(rows):
    """Text."""
    width = max(len(row["name"]) for row in rows)
    lines = ["longest gap in ms".ljust(width) + "   runs  median   worst  that is"]
    for row in rows:
        lines.append(row["name"].ljust(width) + f"{row['runs']:7d}{row['median_s'] * 1e3:8.0f}"
                     f"{row['worst_s'] * 1e3:8.0f}  --only {row['worst']}"
                     + (f"  {row['failed']} FAILED" if row["failed"] else ""))
    return "\n".join(lines)


def command(args, means):
    """Run and print; 1 if a goal isn't reached."""
    jobs = jobs_of(args, host.program("pamsd"))
    with Progress(args.quiet) as progress:
        results = [result for result, _ in runs.run_all(means, jobs, args.jobs, progress)]
    rows = [row_of(name, [result for result in results if result["name"] == name])
            for name in sorted({job.name for job in jobs})]
    checks = Checks()
    checks.at_most("transfers that failed", sum(row["failed"] for row in rows), 0)
    for what in ("untold", "told"):
        died = [result for result in results if result["name"].endswith(f", {what}")
                and not result["name"].startswith("none")]
        if not died:    # --only one that lives on
            continue
        all_of_it = row_of(f"all, {what}", died)
        rows.append(all_of_it)
        checks.at_most(f"{what}: median gap", all_of_it["median_s"], GAP_MEDIAN_S, "ms", 1e3)
        checks.at_most(f"{what}: worst gap", all_of_it["worst_s"], GAP_S, "ms", 1e3)
    if args.json:
        print(json.dumps({"format": FORMAT, "kernel": means.kernel.release, "seed": args.seed,
                          "count": args.count, "deaths": rows, "checks": checks.as_list()},
                         indent=1))
    else:
        print(table(rows) + "\n")
        print("\n".join(checks.lines()))
    return 0 if checks.good else 1
