# SPDX-License-Identifier: GPL-2.0
"""What a decision costs, in a kernel that runs in real time.

    tools/lab/lab cost [--rounds N] [--quick] [--json]

Everything is measured against the kernel's default scheduler in the same run,
on the same connection (time per decision) or in turn with it (throughput), in
the laboratory's user-mode kernel with its clock running in real time:

  decision    but for --quick: mptcp_pams_bench.ko asks a scheduler 1024 times in a row on a
              live connection of its own with 2, 4 and 8 subflows; the median
              batch counts, of the boot with the least
  per MB      how often each is asked in a transfer over two unshaped veth links, times
              what a decision takes
  rules       with 256 rules of which none fits and minfct for the rest: a decision
              against minfct's on the same connection, and what it takes to look the
              rules through, once per connection
  throughput  a transfer over two unshaped veth links, each scheduler in turn,
              the order turned from round to round; redundant, which sends
              everything on both, against the default on one of the links
  memory      size of the states of a connection and a subflow, from the module's BTF

Prints a table, then the limits as TAP; the exit status is 0 if all are met. What a
decision takes in times of the default's depends on the processor (pams: 1.9 on one,
3.6 on another), so selftests/mptcp_pams/decisions.sh has the limits, in instructions.
Throughput depends on whatever else the machine does: what fails lies below every
ratio that was seen.
"""
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys

import boot
import guest
import host
import links
import remembered
import runs
from checks import Checks

SCHEDULERS = ("default", "minrtt", "minpad", "pams", "minfct")    # if there
RULES = 256
# what mptcp_pams_bench.ko measures beside them
BY_RULE, FOLLOWS, RESOLVED = "minfct-by-rule", "rules", "rules-resolved"
ONE_LINK = "default on one link"
SUBFLOWS = [2, 4, 8]
QUICK_ROUNDS = 10
PATHS = 10_000
# Boots of each number of subflows, of which the least counts: until it was seen twice, but for this
# share, of every scheduler. A machine may be slow for minutes.
BOOTS, BOOTS_MAX, SEEN_TWICE = 3, 12, 0.02
DECISION_BYTES = "24M"
THROUGHPUT_BYTES = "50M"
WALL_LIMIT_S = 300

THROUGHPUT_GOAL = 0.97      # of the default's
THROUGHPUT_LIMITS = {"minrtt": 0.9, "minpad": 0.9, "pams": 0.9, "minfct": 0.8}  # fails
REDUNDANT_GOAL = 0.95       # of the default's throughput on one link
REDUNDANT_LIMIT = 0.45
CONN_LIMIT_BYTES = 1024     # and more for each subflow, together, up to five
SUBFLOW_LIMIT_BYTES = 128
TIMES = "times the default's"


def build_bench(kernel):
    """The timing module, beside the module it times; its path."""
    built = os.path.join(host.TOP, "build", kernel.release)
    folder = os.path.join(built, "bench")
    os.makedirs(folder, exist_ok=True)
    shutil.copy(os.path.join(host.HERE, "mptcp_pams_bench.c"), folder)
    with open(os.path.join(folder, "Kbuild"), "w", encoding="ascii") as kbuild:
        kbuild.write("obj-m := mptcp_pams_bench.o\nccflags-y := $(PAMS_CFLAGS)\n")
    return host.build_in(kernel, folder, "mptcp_pams_bench")


class Bench:
    """One boot in real time with both modules; its kernel log and results."""

    def __init__(self, kernel, count):
        self.kernel = kernel
        self.count = count
        self.xfer = host.xfer()
        self.lines = []

    def endpoints(self):
        return [f"mptcp endpoint add 10.0.{i}.2 dev c{i} subflow"
                for i in range(1, self.count)]

    def transfer(self, scheduler, size):
        """One download with that scheduler at both ends, or over one link.

        A connection's scheduler is its listener's, so the server is a new one.
        """
        if scheduler == ONE_LINK:
            self.lines.append("ip -n c mptcp endpoint flush")
            self.transfer("default", size)
            self.lines += [f"ip -n c {line}" for line in self.endpoints()]
            return
        use = f"echo {scheduler} > /proc/sys/net/mptcp/scheduler"
        xfer = shlex.quote(self.xfer)
        self.lines += [
            use, f"nsenter --net=/run/netns/c sh -c '{use}'",
            f"{xfer} server -p {guest.PORT} & server=$!",
            "sleep 0.1",
            f"nsenter --net=/run/netns/c {xfer} client --json --bytes {size} "
            f"--timeout 200000 10.0.0.1 {guest.PORT} >> $D/out",
            "kill $server; wait $server"]

    def run(self, folder, module, timer, *options):
        """Boot; returns what the guest wrote to $D/out."""
        parts = guest.Guest(folder, self.xfer)
        parts.module(module, self.kernel.kallsyms_address())
        parts.write("server.ip", links.direct_ip(self.count))
        parts.write("client.ip", links.client_ip(self.count) +
                    self.endpoints())
        addresses = " ".join(
            f"{name}=$(awk '$3==\"{name}\"{{print \"0x\"$1}}' /proc/kallsyms)" for name in
            ("mptcp_register_scheduler", "mptcp_unregister_scheduler", "mptcp_sched_find"))
        parts.init += [
            "mount -t sysfs sys /sys",    # rmmod looks there
            "ip -batch $D/server.ip || fail 'ip in the server'",
            "ip -n c -batch $D/client.ip || fail 'ip in the client'",
            f"insmod {shlex.quote(timer)} {addresses} {' '.join(options)} || fail 'the timing module does not load'",
            *self.lines,
            "sleep 1",
            "rmmod mptcp_pams_bench || fail 'the timing module is still in use'",
            "dmesg | grep bench: >> $D/out"]
        parts.finish()
        boot.boot(self.kernel, folder, host.fixed_random(), 1, WALL_LIMIT_S, real_time=True)
        with open(os.path.join(folder, "out"), encoding="utf-8") as out:
            return out.read().splitlines()


def decisions_once(kernel, module, timer, names, count, paths=0):
    """{scheduler: ns}, from one boot with that many subflows, and reported paths"""
    bench = Bench(kernel, count)
    if paths:
        bench.lines.append(f"/usr/bin/python3 {shlex.quote(host.HERE)}/fill_paths.py {paths} "
                           "|| fail 'the paths are not taken'")
    for _ in names[1:]:                 # each connection has one of them
        bench.transfer("bench", DECISION_BYTES)
    # the last one follows rules: none of them fits, but that is seen at their last condition
    rules = "".join(f"peer 11.0.{i}.0/24 use pams\\n" for i in range(RULES))
    bench.lines.append(f"printf '{rules}default minfct\\n' | "
                       f"{shlex.quote(host.program('pamsctl'))} rule load - "
                       "|| fail 'the rules are not taken'")
    bench.transfer("bench", DECISION_BYTES)
    with boot.Folder() as folder:
        lines = bench.run(folder, module, timer)
    result = {}
    for line in lines:
        words = line.partition("bench: ")[2].split()
        if len(words) == 5 and int(words[1]) == count:
            result[words[0]] = int(words[2]) / 10
    missing = {*names, BY_RULE, FOLLOWS, RESOLVED} - set(result)
    if missing:
        raise host.LabError(f"{', '.join(sorted(missing))}: no connection of it had {count} "
                            f"subflows: {lines}")
    return result


def seen_twice(values):
    """Is the least of them no accident?"""
    first, second = sorted(values)[:2]
    return second <= first * (1 + SEEN_TWICE)


def are_seen_twice(boots):
    """Is the least time of each scheduler no accident? boots: [{scheduler: ns}]"""
    return len(boots) >= BOOTS and all(seen_twice([times[name] for times in boots])
                                       for name in boots[0])


def least(boots):
    """{scheduler: ns}, of [{scheduler: ns}]: what else the machine does only adds to it"""
    return {name: min(times[name] for times in boots) for name in boots[0]}


def decisions_least(*args):
    """{scheduler: ns}, the least of several boots"""
    boots = []
    for _ in range(BOOTS_MAX):
        boots.append(decisions_once(*args))
        if are_seen_twice(boots):
            break
    return least(boots)


def decisions(kernel, module, timer, names, progress):
    """{subflows: {scheduler: ns}}"""
    result = {}
    for count in SUBFLOWS:
        progress(f"time per decision, {count} subflows")
        result[count] = decisions_least(kernel, module, timer, names, count)
    return result


def decisions_among_paths(kernel, module, timer, names, progress):
    """{scheduler: ns}, 2 subflows, where much is known of other peers' paths"""
    progress(f"time per decision, 2 subflows, {PATHS} paths known")
    return decisions_least(kernel, module, timer, names, 2, PATHS)


def asked(kernel, module, timer, names, progress):
    """{scheduler: decisions per MB}, 2 subflows, from one boot"""
    progress("decisions per MB")
    bench = Bench(kernel, 2)
    # one each, in turn, beginning with the second
    for _ in [*names, FOLLOWS]:
        bench.transfer("bench", THROUGHPUT_BYTES)
    with boot.Folder() as folder:
        lines = bench.run(folder, module, timer, "count=1")
    size = [json.loads(line)["bytes"] for line in lines if line.startswith("{")][0]
    words = [line.partition("bench: asked ")[2].split() for line in lines]
    return {word[0]: int(word[1]) * 1e6 / size for word in words if len(word) == 2}


def throughput(kernel, module, timer, names, rounds, progress):
    """{scheduler: [bytes per second, one per round]}"""
    progress(f"unshaped throughput, {rounds} rounds")
    bench = Bench(kernel, 2)
    names = [*names, "redundant", ONE_LINK]
    order = []
    for turn in range(rounds):
        shift = turn % len(names)
        order += names[shift:] + names[:shift]
    for scheduler in order:
        bench.transfer(scheduler, THROUGHPUT_BYTES)
    with boot.Folder() as folder:
        lines = bench.run(folder, module, timer)
    rates = {scheduler: [] for scheduler in names}
    for scheduler, line in zip(order, [line for line in lines if line.startswith("{")]):
        request = json.loads(line)
        rates[scheduler].append(request["bytes"] * 1e6 / request["fct_us"])
    return rates


def throughput_ratio(rates, name, reference="default"):
    """Noise only ever slows a transfer down, so it can pull down either
    estimate: the best of all rounds, the median of the pairs."""
    best = max(rates[name]) / max(rates[reference])
    pairs = statistics.median(own / other for own, other in
                              zip(rates[name], rates[reference]))
    return max(best, pairs)


def mb_ratio(result, name):
    """What the decisions of a MB take, in times of the default's"""
    per_mb, times = result["decisions_per_mb"], result["decision_ns"][2]
    return per_mb[name] * times[name] / (per_mb["default"] * times["default"])


def rules_cost(times):
    """(a decision by rules in times of minfct's, us to look the rules through)"""
    return times[FOLLOWS] / times[BY_RULE], (times[RESOLVED] - times[FOLLOWS]) / 1e3


def memory(module):
    """(bytes of a connection without subflows, bytes more per subflow)"""
    def size(name):
        done = subprocess.run(["pahole", "--sizes", module], stdout=subprocess.PIPE,
                              text=True, check=True)
        return next(int(line.split()[1]) for line in done.stdout.splitlines()
                    if line.split()[0] == name)

    return size("pams_conn"), size("pams_subflow")


def show_decisions(result):
    """The tables of what decisions cost, for people."""
    names = result["schedulers"]
    print("\ntime per decision, ns (times the default's)")
    print(f"{'subflows':>10}" + "".join(f"{name:>16}" for name in names))
    for count, times in result["decision_ns"].items():
        cells = [f"{times[name]:.1f} ({times[name] / times['default']:.2f})" for name in names]
        print(f"{count:>10}" + "".join(f"{cell:>16}" for cell in cells))
    times = result["decision_among_paths_ns"]
    cells = [f"{times[name]:.1f} ({times[name] / times['default']:.2f})" for name in names]
    print(f"{'2, paths':>10}" + "".join(f"{cell:>16}" for cell in cells))
    follows, resolve_us = rules_cost(result["decision_ns"][2])
    print(f"\nwith {RULES} rules that don't fit: a decision takes {follows:.3f} times minfct's; "
          f"to look them through {resolve_us:.2f} us, once per connection")
    print("\ndecisions per MB, and what they take (times the default's), 2 subflows")
    per_mb, times = result["decisions_per_mb"], result["decision_ns"][2]
    print(f"{'':>10}" + "".join(f"{per_mb[name]:>16.0f}" for name in names))
    cells = [f"{per_mb[name] * times[name] / 1e3:.1f} us ({mb_ratio(result, name):.2f})"
             for name in names]
    print(f"{'':>10}" + "".join(f"{cell:>16}" for cell in cells))


def show_throughput(result):
    """The table of throughput, for people."""
    names = result["schedulers"]
    print("\nthroughput over two unshaped veth links, MB/s, best of the rounds "
          "(times the default's: by the best rounds or the median of pairs, the higher)")
    rates = result["throughput_byteps"]
    cells = [f"{max(rates[name]) / 1e6:.0f} ({throughput_ratio(rates, name):.3f})"
             for name in names]
    print(f"{'':>10}" + "".join(f"{name:>16}" for name in names))
    print(f"{'':>10}" + "".join(f"{cell:>16}" for cell in cells))
    print(f"redundant: {max(rates['redundant']) / 1e6:.0f} "
          f"({throughput_ratio(rates, 'redundant', ONE_LINK):.3f} times the default's on one link)")
    conn, subflow = result["memory_bytes"]
    print(f"\nmemory: {conn} bytes per connection, {subflow} more per subflow\n")


def limits(result):
    """Checks"""
    rates = result["throughput_byteps"]
    checks = Checks()
    for name in result["schedulers"][1:]:
        checks.at_least(f"{name}: throughput, goal {THROUGHPUT_GOAL}",
                        throughput_ratio(rates, name), THROUGHPUT_LIMITS[name], TIMES, 1, 3)
    checks.at_least(f"redundant: throughput against one link's, goal {REDUNDANT_GOAL}",
                    throughput_ratio(rates, "redundant", ONE_LINK),
                    REDUNDANT_LIMIT, "", 1, 3)
    conn, subflow = result["memory_bytes"]
    for count in (1, 2, 5):
        checks.at_most(f"a connection of {count} subflows", conn + count * subflow,
                       CONN_LIMIT_BYTES + count * SUBFLOW_LIMIT_BYTES, "bytes")
    return checks


def measure_decisions(*args):
    """What decisions cost, as a dict."""
    return {"decision_ns": decisions(*args),
            "decision_among_paths_ns": decisions_among_paths(*args),
            "decisions_per_mb": asked(*args)}


def measure(rounds, progress, quick=False):
    """Everything, as a dict; quick: only what has limits."""
    host.need_programs(["pahole", "make", "gcc"], "build and read the timing module")
    kernel = host.kernel()
    module = remembered.own_copy(host.module(kernel))   # the tree may be built anew meanwhile
    timer = remembered.own_copy(build_bench(kernel))
    there = runs.available(runs.prepare(["pams"]))
    names = [name for name in SCHEDULERS if name in there]
    return {"schedulers": names,
            **({} if quick else measure_decisions(kernel, module, timer, names, progress)),
            "throughput_byteps": throughput(kernel, module, timer, names, rounds, progress),
            "memory_bytes": memory(module)}


def command(args):
    """Measure and print; the exit code."""
    def progress(text):
        print(f"lab cost: {text}", file=sys.stderr, flush=True)

    result = measure(QUICK_ROUNDS if args.quick else args.rounds, progress, args.quick)
    checks = limits(result)
    if args.json:
        print(json.dumps({**result, "checks": checks.as_list()}))
    else:
        if not args.quick:
            show_decisions(result)
        show_throughput(result)
        print("\n".join(checks.lines()))
    return 0 if checks.good else 1
