# SPDX-License-Identifier: GPL-2.0
"""The command line of the laboratory. Exit codes: 0 done, 1 failure, 2 usage."""

import argparse
import functools
import os
import re
import signal
import sys
from dataclasses import replace

import begins
import bench
import boot
import cost
import drawn
import fed
import host
import pairs
import plot
import programs
import report
import runs
import tables
import units
from host import LabError
from progress import Progress
from scenario import (BESIDE, MAX_PATHS, Scenario, check_change, helped, parse_change, parse_helper,
                      parse_path, parse_report)
from units import BadInput

EXAMPLES = """examples:
  lab run --path 50mbit,5ms --path 10mbit,50ms --bytes 256K --sched default,pams --single
  lab run --path 5mbit,25ms --path 5mbit,25ms --bytes 4M --requests 1 \\
          --change 2s,1,rate=1mbit --sched default,pams --plot change.svg
  lab run --path 25mbit,5ms,loss=0.5% --path 5mbit,25ms,backup --bytes 5M --json
  lab run --path 25mbit,5ms --path 5mbit,25ms --bytes 5M --requests 1 \\
          --change 1s,0,link=down --report 0ms,0,loss=1s --sched default,pams
  lab run --path 50mbit,15ms,radio=7,burst=20ms --path 3mbit,5ms,queue=fq_codel,rival \\
          --objects 40 --requests 3 --bytes 500-500K --sched default,minfct --single
  lab random --count 10000 --sched pams
  lab loss --plot loss.svg
  lab sweep --count 300 --sched default,pams --json sweep.json
  lab bench
  lab cost
  lab kernel

A path is RATE,DELAY[,LIMIT][,loss=..%][,jitter=..ms][,up=RATE][,backup]: rate, one-way
delay and queue limit in packets, in both directions; more: queue=fq_codel|cake,
radio=SEED, burst=..ms, rival, steps=SEED, blocked=SEED; in place of RATE trace:FILE, a recording. scenario.py's head tells the rest. Times are those of the virtual network."""


class Parser(argparse.ArgumentParser):
    """argparse, but one line for an error, and a word like -50ms is a value."""

    def __init__(self, *args, **more):
        super().__init__(*args, **more)
        self._negative_number_matcher = re.compile(r"-\d")

    def error(self, message):
        self.exit(2, f"{self.prog}: {message}; '{self.prog} --help' shows how\n")


def _common(parser):
    group = parser.add_argument_group("how it is run")
    group.add_argument("--kernel", metavar="DIR",
                       help="build directory of a user-mode kernel (default: the cached one)")
    group.add_argument("--config", choices=("default", "debug", "export"),
                       default="default", help="which of the cached kernels")
    group.add_argument("--module", metavar="FILE", help="the scheduler module to load")
    group.add_argument("-j", "--jobs", type=_count("--jobs", 1, 64),
                       default=min(2, os.cpu_count() or 1), help="boots at once (2)")
    group.add_argument("--wall-limit", type=_count("--wall-limit", 1, 86400), default=120,
                       metavar="S", help="real seconds a guest may take (120)")
    group.add_argument("--keep", metavar="DIR", default="",
                       help="keep what guests read and wrote")
    group.add_argument("-q", "--quiet", action="store_true", help="no progress")


def _count(name, low, high):
    def parse(text):
        try:
            return units.count(text, name, low, high)
        except BadInput as error:
            raise argparse.ArgumentTypeError(str(error)) from None
    return parse


def _number(low, high):
    def parse(text):
        try:
            value = float(text)
        except ValueError:
            value = None
        if value is None or not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{text} is not a number from {low} to {high}")
        return value
    return parse


def _signed_time(text):
    """'-50ms' -> -50000"""
    try:
        return -units.time_us(text[1:]) if text.startswith("-") else units.time_us(text)
    except BadInput as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _parser():
    parser = Parser(prog="lab", description="MPTCP schedulers in a user-mode kernel, "
                    "in virtual time.", epilog=EXAMPLES,
                    formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    _run_parser(commands)
    _random_parser(commands)
    _sweep_parser(commands)
    _table_parser(commands)
    _recorded_parser(commands)
    _bench_parser(commands)
    _loss_parser(commands)
    _drives_parser(commands)
    _foreseen_parser(commands)
    _early_parser(commands)
    _pull_parser(commands)
    _video_parser(commands)
    _deaths_parser(commands)
    demo = commands.add_parser("demo", help="default against pams and minfct, a table and a picture")
    demo.add_argument("--plot", metavar="FILE",
                      default=os.path.join(host.TOP, "build", "demo.svg"))
    _common(demo)
    price = commands.add_parser("cost", help="time per decision, throughput and memory "
                                "against the default scheduler, in real time")
    price.add_argument("--rounds", type=_count("--rounds", 1, 1000), default=30,
                       help="of the throughput (30)")
    price.add_argument("--quick", action="store_true", help="end when the limits are met")
    price.add_argument("--json", action="store_true")
    kernel = commands.add_parser("kernel", help="build the kernel; print where it is")
    kernel.add_argument("--config", choices=("default", "debug", "export"),
                        default="default")
    return parser


def _run_parser(commands):
    run = commands.add_parser("run", help="one scenario under one or more schedulers",
                              epilog=EXAMPLES,
                              formatter_class=argparse.RawDescriptionHelpFormatter)
    group = run.add_argument_group("the paths")
    group.add_argument("--path", action="append", default=[], metavar="RATE,DELAY,...")
    group.add_argument("--helper", action="append", default=[],
                       metavar="HS,PIPE[,split|pays|router]",
                       help="a path through a helper, numbered behind those of --path: two "
                       "segments of RATE:DELAY[:LIMIT], e.g. 10mbit:20ms,5mbit:5ms,split")
    group.add_argument("--told", nargs="?", const=fed.FEEDBACKS[0], choices=fed.FEEDBACKS,
                       help="pamsd at each helper and at the server: it measures the pipe and "
                       "reports, over whichever of HS-path and pipe carried data last (flexible), "
                       "or over the HS-path only (hs)")
    group.add_argument("--change", action="append", default=[], metavar="AT,PATH,KEY=VALUE",
                       help="rate, up, delay, jitter, loss, limit, link=down|up; of a helper's "
                       "path 1: AT,1.hs,... or AT,1.pipe,...")
    group.add_argument("--report", action="append", default=[], metavar="AT,PATH,KEY=VALUE",
                       help="tell the server's kernel: loss, pipe, backlog, delay, ttl")
    group = run.add_argument_group("the transfers")
    group.add_argument("--bytes", default="1M", metavar="N[-M]", help="size of each (1M)")
    group.add_argument("--requests", type=_count("--requests", 1, 100000), default=5,
                       help="transfers of each connection (5)")
    group.add_argument("--gap", default="300ms", metavar="TIME",
                       help="pause between them (300ms)")
    group.add_argument("--cold", action="store_true",
                       help="a new connection for each request (one warm connection)")
    group.add_argument("--dir", choices=("down", "up", "both"), default="down")
    group.add_argument("--stream", metavar="RATE",
                       help="downloads at this pace, e.g. 16mbit (as fast as it goes)")
    group.add_argument("--conns", type=_count("--conns", 1, 1000), default=1,
                       help="connections at once (1)")
    group.add_argument("--stagger", default="0ms", metavar="TIME",
                       help="connections start this much apart (0)")
    group.add_argument("--timeout", type=_count("--timeout", 1, 3600), default=60,
                       metavar="S", help="a longer transfer has failed (60)")
    group.add_argument("--pause", metavar="AT,TIME",
                       help="the client doesn't read for TIME, from AT after each request on")
    group.add_argument("--beside", choices=BESIDE, default="",
                       help="meanwhile three connections that stay, with a request now and then, "
                       "new ones all the time, or both")
    group.add_argument("--neighbour", metavar="RATE,DELAY,...",
                       help="--beside is of another host behind path 0's address, with this "
                       "access link")
    group.add_argument("--objects", type=_count("--objects", 0, 1000), default=0, metavar="N",
                       help="each request is a page of N objects of --bytes MIN-MAX, six at a "
                       "time, over new connections")
    group = run.add_argument_group("the hosts")
    group.add_argument("--sched", default="default", metavar="NAME[,NAME...]",
                       help="FILE.bpf.c: a scheduler in BPF, which is compiled to a module here")
    group.add_argument("--single", action="store_true", help="each path alone, too")
    group.add_argument("--cc", default="cubic", help="congestion control (cubic)")
    group.add_argument("--sndbuf", default="0", metavar="BYTES")
    group.add_argument("--rcvbuf", default="0", metavar="BYTES")
    group.add_argument("--ipv6", action="store_true")
    group.add_argument("--checksum", action="store_true", help="MPTCP data checksums")
    group.add_argument("--protocol", choices=("mptcp", "tcp", "fallback"), default="mptcp",
                       help="fallback: the server speaks plain TCP")
    group.add_argument("--sysctl", action="append", default=[], metavar="NAME=VALUE")
    _first_argument(group)
    group = run.add_argument_group("the results")
    group.add_argument("--seed", type=_count("--seed", 0, 2**31), default=1)
    group.add_argument("--repeat", type=_count("--repeat", 1, 10000), default=1,
                       help="with seeds from --seed on")
    group.add_argument("--json", action="store_true")
    group.add_argument("--all-counters", action="store_true",
                       help="every counter of the MIB in the JSON")
    group.add_argument("--radio", action="store_true",
                       help="how long the radio of each path's mobile link is on, and what it takes")
    group.add_argument("--plot", metavar="FILE.svg", help="each path's bytes over time")
    group.add_argument("--trace", metavar="DIR",
                       help="keep packet records: packets.pcap, packets.tsv")
    group.add_argument("--real-time", action="store_true",
                       help="not in virtual time: shows CPU cost, not repeatable")
    _common(run)


def _random_parser(commands):
    parser = commands.add_parser("random", help="many small transfers over random paths: "
                                 "none may hang")
    parser.add_argument("--count", type=_count("--count", 1, 10**7), default=10000)
    parser.add_argument("--seed", type=_count("--seed", 0, 2**31), default=1)
    parser.add_argument("--sched", default="pams", metavar="NAME[,NAME...]")
    parser.add_argument("--batch", type=_count("--batch", 0, 10**7), default=None,
                        help="only this batch, to look closer at a failure")
    parser.add_argument("--json", action="store_true")
    _common(parser)


def _first_argument(parser):
    parser.add_argument("--first", type=_firsts, default=["given"], metavar="WHO[,WHO...]",
                        help="who chooses on which path connections begin: the default route "
                        "(given), the client's pamsd (learned), what the server's pamsd "
                        "says, too (told), a rule on the true values "
                        "(oracle) (given)")


def _firsts(text):
    try:
        return begins.parse(text)
    except BadInput as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _drawn_arguments(parser, count, half):
    """Which of the drawn scenarios; these are the defaults."""
    parser.add_argument("--count", type=_count("--count", 1, drawn.COUNT_MAX), default=count)
    parser.add_argument("--seed", type=_count("--seed", 0, 2**31), default=1)
    parser.add_argument("--half", choices=tuple(drawn.HALVES), default=half,
                        help=f"the scenarios to tune on, or those to report ({half})")
    parser.add_argument("--kind", choices=drawn.KINDS, default="all",
                        help="transfers, pages, of which there are a quarter of --count, or all (both); "
                        "or one of what these lack: first, mtu, nat, keep, pause, live")


def _sweep_parser(commands):
    parser = commands.add_parser("sweep", help="drawn scenarios, against the default, the "
                                 "best single path, the bound and each other")
    _drawn_arguments(parser, count=300, half="all")
    parser.add_argument("--sched", default="", metavar="NAME[,NAME...]",
                        help=f"(all but {', '.join(runs.POLICIES)})")
    _first_argument(parser)
    parser.add_argument("--only", default="", metavar="NAME",
                        help="this scenario alone, e.g. 1-017")
    parser.add_argument("--json", metavar="FILE", help="every scenario's figures, and how to "
                        "run it again")
    parser.add_argument("--fresh", action="store_true",
                        help="run again what was run before")
    _common(parser)


def _table_parser(commands):
    parser = commands.add_parser("table", help="any schedulers over a fixed set of scenarios: a table "
                                 "with standard errors, to cite")
    parser.add_argument("--sched", default="default,blest,ecf,pams,minfct", metavar="NAME[,NAME...]",
                        help="FILE.bpf.c: one in BPF; default is always there (default,blest,ecf,pams,minfct)")
    parser.add_argument("--count", type=_count("--count", 4, drawn.COUNT_MAX), default=tables.COUNT,
                        help=f"drawn transfers; pages are a quarter of it ({tables.COUNT})")
    _traces_argument(parser)
    parser.add_argument("--json", metavar="FILE", help="every row, and how to run it again")
    parser.add_argument("--fresh", action="store_true", help="run again what was run before")
    _common(parser)


def _traces_argument(parser):
    parser.add_argument("--traces", metavar="DIR", default=os.environ.get(pairs.FOLDER, ""),
                        help="recordings, *.down and *.up, as mahimahi has them "
                        f"(${pairs.FOLDER}; none: left out)")


def _recorded_parser(commands):
    parser = commands.add_parser("recorded", help="pairs of recorded links, and of satellite and "
                                 "blocked ones, against the best link alone")
    _traces_argument(parser)
    parser.add_argument("--sched", default=",".join(pairs.SCHEDULERS), metavar="NAME[,NAME...]",
                        help=f"of {', '.join(pairs.SCHEDULERS)} (all)")
    parser.add_argument("--only", default="", metavar="NAME", help="this one alone")
    parser.add_argument("--worst", type=_count("--worst", 0, 1000), default=12,
                        help="so many of the worst (12)")
    parser.add_argument("--json", metavar="FILE", help="every row, and how to run it again")
    parser.add_argument("--fresh", action="store_true", help="run again what was run before")
    _common(parser)


def _drive_options(parser):
    parser.add_argument("--fading", type=_number(0, 10), default=0.5, metavar="DB",
                        help="standard deviation of the signal in drives (0.5)")
    parser.add_argument("--first-drive", type=_count("--first-drive", 1, 1_000_000), default=1,
                        metavar="N", help="drives are numbered, and drawn by their numbers: "
                        "those from N on (1)")


def _drives_parser(commands):
    parser = commands.add_parser("drives", help="how early to leave a path: drives as "
                                 "pams-predict sees them, without a guest")
    _drive_options(parser)
    parser.add_argument("--repeat", type=_count("--repeat", 1, 100_000), default=300)


def _foreseen_parser(commands):
    parser = commands.add_parser("foreseen", help="which losses of a Wi-Fi path are foreseen, and how "
                                 "often it is stopped for nothing: recorded and drawn levels, without a guest")
    _traces_argument(parser)
    parser.add_argument("--first-drive", type=_count("--first-drive", 1, 1_000_000), default=1,
                        metavar="N", help="drawn are those from N on (1)")
    parser.add_argument("--repeat", type=_count("--repeat", 1, 100_000), default=30,
                        help="of each way and shadowing so many (30)")
    parser.add_argument("--json", metavar="FILE", help="every figure")


def _early_parser(commands):
    parser = commands.add_parser("early", help="what stops before a loss of Wi-Fi are worth: drawn drives, "
                                 "untold, by the threshold rule, by pams-predict, with --avoid")
    parser.add_argument("--sched", choices=("pams", "minpad", "minfct"), default="minfct")
    parser.add_argument("--first-drive", type=_count("--first-drive", 1, 1_000_000), default=1,
                        metavar="N", help="drawn are those from N on (1)")
    parser.add_argument("--repeat", type=_count("--repeat", 1, 100_000), default=20,
                        help="of each shadowing so many (20)")
    _common(parser)


def _loss_parser(commands):
    parser = commands.add_parser("loss", help="Wi-Fi is lost during a download, and the "
                                 "server knows when, or not: the goals, as TAP")
    parser.add_argument("--case", action="append", default=[],
                        choices=("fading", "early", "large", "signal", "stop"),
                        help="this set-up only (all)")
    parser.add_argument("--exact", action="store_true",
                        help="only the right time, not the curve of -300 to +300 ms")
    parser.add_argument("--sched", choices=("pams", "minpad", "minfct"), default="pams")
    parser.add_argument("--repeat", type=_count("--repeat", 1, 1000), default=10)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--plot", metavar="FILE.svg", help="the curve")
    _drive_options(parser)
    group = parser.add_argument_group("a predictor's errors, drawn for each run")
    group.add_argument("--bias", type=_signed_time, default=0, metavar="TIME",
                       help="how much too late it is on average, -50ms for too early (0)")
    group.add_argument("--spread", type=_signed_time, default=0, metavar="TIME",
                       help="the standard deviation of that (0)")
    group.add_argument("--missed", type=_number(0, 1), default=0, metavar="SHARE",
                       help="of the losses: not predicted (0)")
    group.add_argument("--false-alarms", type=_number(0, 1), default=0, metavar="SHARE",
                       help="of the runs: with a loss predicted that doesn't come (0)")
    _common(parser)


def _pull_parser(commands):
    parser = commands.add_parser("pull", help="a cable is pulled under a stream: the goals, "
                                 "as TAP")
    parser.add_argument("--sched", choices=("pams", "minpad", "minfct"), default="pams")
    parser.add_argument("--notice", default="5ms", metavar="TIME",
                        help="until the client's daemon knows that its link is down (5ms)")
    parser.add_argument("--repeat", type=_count("--repeat", 1, 1000), default=5)
    parser.add_argument("--json", action="store_true")
    _common(parser)


def _video_parser(commands):
    parser = commands.add_parser("video", help="a player of video, whose server marks each "
                                 "segment as a unit or doesn't: the goals, as TAP")
    parser.add_argument("--sched", default="pams,minfct", metavar="NAME[,NAME...]")
    parser.add_argument("--walks", type=_count("--walks", 1, 1000), default=6,
                        help="how often links that vary are drawn (6)")
    parser.add_argument("--json", metavar="FILE", help="all figures")
    _common(parser)


def _deaths_parser(commands):
    parser = commands.add_parser("deaths", help="a helper that splits dies in mid transfer: the "
                                 "goals, as TAP")
    parser.add_argument("--count", type=_count("--count", 1, 10**6), default=1000)
    parser.add_argument("--seed", type=_count("--seed", 0, 2**31), default=1)
    parser.add_argument("--only", type=_count("--only", 0, 10**6), metavar="NUMBER",
                        help="this death alone")
    parser.add_argument("--sched", choices=("default", "pams", "minpad", "minfct"), default="minfct")
    parser.add_argument("--json", action="store_true")
    _common(parser)


def _bench_parser(commands):
    parser = commands.add_parser("bench", help="every figure of Documentation/results.md, and "
                                 "that page")
    parser.add_argument("--part", choices=tuple(bench.PARTS), help="measure only this one")
    _traces_argument(parser)
    parser.add_argument("--half", choices=("report", "all"), default="report",
                        help="of the sweep's scenarios (report)")
    parser.add_argument("--out", metavar="DIR", default=os.path.join(host.TOP, "Documentation"),
                        help="where results.md and results/ go (Documentation)")
    parser.add_argument("--rounds", type=_count("--rounds", 1, 1000), default=30,
                        help="of the unshaped throughput (30)")
    parser.add_argument("--fresh", action="store_true",
                        help="run again what was run before")
    parser.add_argument("--quick", action="store_true",
                        help="a few figures, against tools/bench/reference.json")
    parser.add_argument("--set-reference", metavar="TIMES", nargs="?", const=3,
                        type=_count("--set-reference", 1, 9),
                        help="with --quick: make them the reference, measured so often, each "
                        "time with other ports and keys (3); once: the spreads stay as they are")
    _common(parser)


def pause_of(text):
    """'1s,3s' -> (1000, 4000)"""
    if not text:
        return ()
    at, comma, span = text.partition(",")
    if not comma:
        raise BadInput(f"--pause '{text}' is not understood: AT,TIME, e.g. 1s,3s")
    at_ms, span_ms = (round(units.time_us(part) / 1000) for part in (at, span))
    return at_ms, at_ms + span_ms


def scenario_of(args):
    """Scenario from the arguments of `lab run`."""
    if not args.path:
        raise BadInput("no --path: give at least one, e.g. --path 8mbit,10ms,100")
    paths = (*map(parse_path, args.path), *map(parse_helper, args.helper))
    if len(paths) > MAX_PATHS:
        raise BadInput(f"{len(paths)} paths: the laboratory has at most {MAX_PATHS}")
    if paths[0].backup:
        raise BadInput("path 0 cannot be a backup: the connection starts on it")
    if args.ipv6 and any(path.rival for path in paths):
        raise BadInput("a rival speaks IPv4 only: leave --ipv6 out")
    if args.objects and (args.dir != "down" or args.conns > 1):
        raise BadInput("--objects: pages are downloaded, one after the other")
    if args.objects and (args.cold or args.stream or args.pause):
        raise BadInput("--objects: each one has a new connection, without --cold, --stream and --pause")
    if args.neighbour and (args.ipv6 or not args.beside):
        raise BadInput("--neighbour: its traffic is --beside keep or new, over IPv4")
    low, high = units.size_range(args.bytes)
    changes = tuple(parse_change(text, len(paths), helped(paths)) for text in args.change)
    for change in changes:
        check_change(change, paths[change.path])
    extra = {}
    for text in args.sysctl:
        name, equals, value = text.partition("=")
        if not equals or "/" in name or not name.startswith("net."):
            raise BadInput(f"sysctl '{text}' is not understood: write net.NAME=VALUE")
        extra[name] = value
    return Scenario(
        paths=paths, changes=changes,
        reports=tuple(parse_report(text, len(paths)) for text in args.report),
        stream_bps=units.rate_bps(args.stream) if args.stream else 0,
        bytes_min=low, bytes_max=high, requests=args.requests,
        gap_ms=round(units.time_us(args.gap) / 1000), cold=args.cold, direction=args.dir,
        conns=args.conns, stagger_ms=round(units.time_us(args.stagger) / 1000),
        congestion=args.cc, sndbuf_bytes=units.size_bytes(args.sndbuf),
        rcvbuf_bytes=units.size_bytes(args.rcvbuf), ipv6=args.ipv6,
        checksum=args.checksum, protocol=args.protocol, timeout_s=args.timeout,
        pause_ms=pause_of(args.pause), beside=args.beside,
        neighbour=parse_path(args.neighbour) if args.neighbour else None,
        seed=args.seed, extra=extra, objects=args.objects)


def schedulers_of(text):
    """'pams,default,FILE.bpf.c' -> ['pams', 'default', the name that the file gives itself]"""
    words = list(dict.fromkeys(word.strip() for word in text.split(",")))
    names = [programs.name_of(word) if word.endswith(programs.ENDING) else word for word in words]
    for name in names:
        if not name.isidentifier():
            raise BadInput(f"scheduler '{name}' in --sched '{text}' is not a name")
        if names.count(name) > 1:
            raise BadInput(f"--sched '{text}' names two schedulers '{name}'")
    return names


def sources_of(text):
    """'pams,FILE.bpf.c' -> {the name that the file gives itself: the file}"""
    return {programs.name_of(word): word for word in map(str.strip, text.split(","))
            if word.endswith(programs.ENDING)}


def means_of(args, schedulers, **more):
    """runs.Means from the common arguments. That a scheduler isn't known is said before anything is built; of another module or
    kernel it is only known in the guest."""
    known = runs.BUILT_IN + runs.PEERS + runs.listed()
    sources = sources_of(getattr(args, "sched", ""))
    for name, source in sources.items():
        if name in runs.BUILT_IN + runs.listed():
            raise BadInput(f"{source}: there is a scheduler '{name}' already")
    for name in schedulers:
        if name not in (*known, *sources) and not args.module and not args.kernel:
            raise BadInput(f"there is no scheduler '{name}': {', '.join(known)}")
    config = begins.CONFIG if {"learned", "told"} & set(getattr(args, "first", [])) else args.config
    return runs.prepare(schedulers, args.kernel, config, args.module,
                        wall_limit_s=args.wall_limit,
                        keep=more.pop("keep", "") or args.keep, sources=sources, **more)


def command_run(args):
    """lab run"""
    scenario = scenario_of(args)
    schedulers = schedulers_of(args.sched)
    traced = bool(args.plot or args.trace)
    if args.plot:
        plot.available()
    if args.told and not args.helper:
        raise BadInput("--told: nobody measures a pipe: give a --helper")
    if args.first != ["given"] and (args.helper or args.protocol == "tcp"):
        raise BadInput("--first: only MPTCP's connections, over paths without a helper")
    if args.radio and args.real_time:
        raise BadInput("--radio counts in virtual time: leave --real-time out")
    means = means_of(args, schedulers, traced=traced or args.radio, radios=args.radio, keep=args.trace,
                     reported=bool(scenario.reports),
                     pamsctl=host.program("pamsctl") if scenario.reports or args.told else "",
                     pamsplit=host.program("pamsplit") if args.helper else "",
                     real_time=args.real_time, all_counters=args.all_counters)
    jobs = runs.jobs_of(scenario, schedulers, args.single, args.repeat, traced)
    if args.told:
        told = functools.partial(fed.HelperGuest, pamsd=host.program("pamsd"), feedback=args.told)
        jobs = [replace(job, guest=told) if job.path < 0 else job for job in jobs]
    jobs = begins.jobs_of(jobs, args.first)
    with Progress(args.quiet) as progress:
        done = runs.run_all(means, jobs, args.jobs, progress)
    results = [result for result, _ in done]
    if args.plot:
        plot.draw(args.plot, [(scenario, [(result, packets) for result, packets in done
                                          if result["path_alone"] < 0
                                          and result["repeat"] == 0])])
    print(report.as_json(scenario, results, means.kernel) if args.json
          else report.table(scenario, results))
    return 1 if any(result["failed"] for result in results) else 0


def command_kernel(args):
    """lab kernel"""
    print(host.kernel(config=args.config).folder)
    return 0


def command_random(args):
    """lab random"""
    import randomruns   # pylint: disable=import-outside-toplevel
    schedulers = schedulers_of(args.sched)
    return randomruns.command(args, means_of(args, schedulers), schedulers)


def command_sweep(args):
    """lab sweep"""
    import sweep    # pylint: disable=import-outside-toplevel
    means = means_of(args, ["pams", *runs.PEERS])
    schedulers = schedulers_of(args.sched) if args.sched else runs.compared(means)
    means = runs.remembering(means, schedulers, args)
    return sweep.command(args, means, schedulers)


def command_table(args):
    """lab table"""
    schedulers = list(dict.fromkeys(["default", *schedulers_of(args.sched)]))
    means = means_of(args, schedulers)
    means = runs.remembering(means, schedulers, args)
    return tables.command(args, means, schedulers)


def command_recorded(args):
    """lab recorded"""
    schedulers = schedulers_of(args.sched)
    for name in schedulers:
        if name not in pairs.SCHEDULERS:
            raise BadInput(f"--sched {name}: only {', '.join(pairs.SCHEDULERS)}; 'lab table --traces DIR' takes others")
    means = means_of(args, schedulers)
    means = runs.remembering(means, schedulers, args)
    return pairs.command(args, means, schedulers)


def command_loss(args):
    """lab loss"""
    import loss     # pylint: disable=import-outside-toplevel
    loss.check_arguments(args)
    if args.plot:
        plot.available()
    return loss.command(args, means_of(args, [args.sched], pamsctl=host.program("pamsctl")))


def command_drives(args):
    """lab drives"""
    import drives   # pylint: disable=import-outside-toplevel
    return drives.command(args)


def command_foreseen(args):
    """lab foreseen"""
    import foreseen     # pylint: disable=import-outside-toplevel
    return foreseen.command(args)


def command_early(args):
    """lab early"""
    import early    # pylint: disable=import-outside-toplevel
    return early.command(args, means_of(args, [args.sched], pamsctl=host.program("pamsctl")))


def command_pull(args):
    """lab pull"""
    import pull     # pylint: disable=import-outside-toplevel
    return pull.command(args, means_of(args, [args.sched], pamsctl=host.program("pamsctl")))


def command_video(args):
    """lab video"""
    import video    # pylint: disable=import-outside-toplevel
    return video.command(args, means_of(args, schedulers_of(args.sched)))


def command_deaths(args):
    """lab deaths"""
    import deaths   # pylint: disable=import-outside-toplevel
    host.need_programs(["pgrep", "nft"], "let a helper die")
    return deaths.command(args, means_of(args, [args.sched], pamsctl=host.program("pamsctl"),
                                         pamsplit=host.program("pamsplit")))


def command_bench(args):
    """lab bench"""
    if not os.path.isdir(args.out):
        raise BadInput(f"--out {args.out}: there is no such folder")
    if args.set_reference and not args.quick:
        raise BadInput("--set-reference goes with --quick only")
    plot.available()
    means, schedulers = bench.prepare(args, means_of(args, ["pams", *runs.PEERS], traced=True))
    return bench.command(args, means, schedulers)


def command_demo(args):
    """lab demo"""
    import demo     # pylint: disable=import-outside-toplevel
    pamsctl, pamsd = host.program("pamsctl"), host.program("pamsd")
    return demo.command(args, means_of(args, ["default", "pams", "minfct"], pamsctl=pamsctl, pamsplit=host.program("pamsplit")),
                        pamsd)


COMMANDS = {"run": command_run, "random": command_random,
            "sweep": command_sweep, "table": command_table, "recorded": command_recorded, "bench": command_bench,
            "demo": command_demo,
            "loss": command_loss, "drives": command_drives, "foreseen": command_foreseen, "early": command_early, "pull": command_pull,
            "video": command_video,
            "deaths": command_deaths,
            "cost": cost.command, "kernel": command_kernel}


def _check_outputs(args):
    """Refuse at once what couldn't be written in the end. The demo makes its folder."""
    for option in ("json", "plot") if args.command != "demo" else ():
        file = getattr(args, option, None)
        if not isinstance(file, str):
            continue
        folder = os.path.dirname(os.path.abspath(file))
        if not os.path.isdir(folder):
            raise BadInput(f"--{option} {file}: there is no such folder")
        if os.path.isdir(file) or not os.access(folder, os.W_OK):
            raise BadInput(f"--{option} {file} can't be written")


def _interrupt(_number, _frame):
    boot.end_all()
    raise KeyboardInterrupt


def main(argv):
    """Exit code of the command."""
    args = _parser().parse_args(argv)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    try:
        _check_outputs(args)
        return COMMANDS[args.command](args)
    except BadInput as error:
        print(f"lab {args.command}: {error}", file=sys.stderr)
        return 2
    except LabError as error:
        for line in error.details:
            print(f"  {line}", file=sys.stderr)
        print(f"lab {args.command}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"lab {args.command}: interrupted", file=sys.stderr)
        return 130
