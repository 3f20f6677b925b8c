# SPDX-License-Identifier: GPL-2.0
"""On which path connections begin: `--first`.

    given       the default route's, which is path 0
    learned     pamsd's choice: the client runs it, with the section "paths" and the BPF program
    told        the same, and the server's pamsd says what the way to each of its addresses carries
    oracle      the one with the shortest short answer, RULE_RTTS round trips and RULE_BYTES at the
                path's rate; a rule on the true values, chosen afterwards

A run under "default" that is learned is called default+learned.

The client of a learned run has a default route on each path in place of routes to the server, and
addresses without a subnet: what has a route of its own isn't pamsd's. Packets go the same ways.
"""

import functools
import shlex
from dataclasses import replace

import host
import links
import remembered
from fed import FedGuest, reporter_conf, server_conf
from links import IN_SERVER, server_address
from units import BadInput

FIRSTS = ("given", "learned", "told", "oracle")
CONFIG = "cgroup"           # of a kernel that runs BPF programs at cgroups
RULE_RTTS, RULE_BYTES = 4, 65536
CGROUPS = "/sys/fs/cgroup"


def parse(text):
    """'given,learned' -> ['given', 'learned']"""
    names = list(dict.fromkeys(text.split(",")))
    for name in names:
        if name not in FIRSTS:
            raise BadInput(f"--first '{name}': of {', '.join(FIRSTS)}")
    return names


def answer_us(path):
    """What a short answer takes on it, by the rule."""
    return RULE_RTTS * 2 * path.delay_us + RULE_BYTES * 8e6 / path.rate_bps


def by_rule(paths):
    """The index of the best one."""
    return min(range(len(paths)), key=lambda i: answer_us(paths[i]))


def name_of(scheduler, first):
    """As in tables."""
    return scheduler if first == "given" else f"{scheduler}+{first}"


class PathsGuest(FedGuest):
    """The client's pamsd keeps its paths."""

    def __init__(self, folder, xfer, pamsctl, pamsd, told=False):
        super().__init__(folder, xfer, pamsctl, pamsd, looks=False)
        conf = ['control = "/run/pamsd"', 'state = "/run/pamsd.json"', "paths { }"]
        if told:
            self.daemon("server", IN_SERVER, server_conf(("client",), ("10.0.0.0/16",)))
            conf += reporter_conf("client", server_address(0, False), ("c0", "c1"), (
                'interface c0 { measure = "none" }', 'interface c1 { measure = "none" }'))[1:]
        self.daemon("client", "", conf)
        # What a remembered run depends on.
        self.write("pamsd", [remembered.file_hash(pamsd)])
        self.client += ["mount -t sysfs none /sys || fail 'sysfs'",
                        f"mount -t cgroup2 none {CGROUPS} || fail 'no cgroups in this kernel'"]

    def client_ip(self, paths):
        """Each path has a default route, the first one the least metric."""
        return links.roaming_ip(len(paths))

    def endpoints(self, scenario):
        """They are pamsd's."""
        return []


def jobs_of(jobs, firsts):
    """Each run over all paths, once for each of "firsts"; those over one path as they are."""
    found = []
    for job in jobs:
        if job.path >= 0:
            found.append(job)
            continue
        for first in firsts:
            mine = replace(job, name=name_of(job.name, first))
            if first == "oracle":
                mine = replace(mine, scenario=replace(
                    job.scenario, begins=by_rule(job.scenario.paths)))
            elif first != "given":
                mine = replace(mine, guest=functools.partial(
                    PathsGuest, pamsd=host.program("pamsd"), told=first == "told"))
            found.append(mine)
    return found
