# SPDX-License-Identifier: GPL-2.0
"""Guests in which pamsd tells the server's kernel of the paths.

LossGuest: the two hosts of guest.py. The client's pamsd is told over its control
socket when path 0 will be lost, and reports it to the server's.

HelperGuest: on each helper (links.py) a pamsd measures the pipe and reports it: where the
helper splits by what pamsplit knows, else by the queue before the pipe. Its reports go over
whichever of HS-path and pipe carried data last ("flexible", MPBond, section 5), or over the
HS-path only ("hs").

Without a pamsd nobody is told.
"""

import base64
import os
import shlex

from guest import SPLIT_SOCKET, Guest
from links import IN_SERVER, client_address, in_helper, over_client, server_address
from scenario import helped

FEEDBACKS = ("flexible", "hs")
# how often, and until when, it is noted what the server's kernel was told
LOOK_S, LOOKS_MAX = 0.05, 300


def _key(name):
    """32 bytes; no secret here."""
    return base64.b64encode(name.encode().ljust(32, b".")).decode()


def server_conf(names, prefixes):
    """Of the server's pamsd: who may report, about what."""
    return ['control = "/run/pamsd-server"', "server {",
            *(f'\tpeer {name} {{ key = "{_key(name)}" prefixes = {{"{prefix}"}} }}'
              for name, prefix in zip(names, prefixes)), "}"]


def reporter_conf(name, address, via, interfaces):
    """Of the pamsd that reports."""
    links = ", ".join(f'"{link}"' for link in via)
    return [f'control = "/run/pamsd-{name}"', "reporter {",
            f'\tto server {{ address = "{address}" key = "{_key(name)}" via = {{{links}}} }}',
            *(f"\t{line}" for line in interfaces), "}"]


class FedGuest(Guest):
    """Two daemons, one at the server and one that reports from somewhere."""

    def __init__(self, folder, xfer, pamsctl, pamsd, looks=True):
        super().__init__(folder, xfer, pamsctl)
        self.pamsd = pamsd
        self.looks = looks      # note what the server's kernel is told, and when
        self.daemons = {}       # name: the command that enters its host, or ''

    def daemon(self, name, where, conf):
        """One of them."""
        if self.pamsd:
            self.daemons[name] = where
            self.write(f"{name}.conf", conf)
            # there is a key in it
            os.chmod(os.path.join(self.folder, f"{name}.conf"), 0o600)

    def run(self, scenario, scheduler, trace=False):
        """The daemons are there before the transfers."""
        pamsd, pamsctl = shlex.quote(self.pamsd), shlex.quote(self.pamsctl)
        for name, where in self.daemons.items():
            self.client.append(f"{where} {pamsd} --config $D/{name}.conf "
                               f"2> $D/{name}.log & {name}=$!")
        if self.daemons:
            self.client.append("sleep 0.3")
        if self.daemons and self.looks:
            self.client.append(
                f"for i in $(seq {LOOKS_MAX}); do read -r up _ < /proc/uptime; "
                f"paths=$({IN_SERVER} {pamsctl} --json path show) || break; "
                "echo \"{\\\"at_s\\\": $up, \\\"paths\\\": $paths}\" | tr -d '\\n'; echo; "
                f"sleep {LOOK_S}; done > $D/told &")
        for name in self.daemons:
            self.client.append(f"kill -0 ${name} || fail \"pamsd at the {name}: "
                               f"$(tail -n 1 $D/{name}.log)\"")
        super().run(scenario, scheduler, trace)


class LossGuest(FedGuest):
    """Path 0 will be lost, and the client knows when."""

    def __init__(self, folder, xfer, pamsctl, pamsd, loss_ms, looks=True):
        super().__init__(folder, xfer, pamsctl, pamsd, looks)
        self.daemon("server", IN_SERVER, server_conf(("client",), ("10.0.0.0/16",)))
        self.daemon("client", "", reporter_conf(
            "client", server_address(0, False), ("c0", "c1"),
            ('interface c0 { measure = "none" }', 'interface c1 { measure = "none" }')))
        line = f'{{"interface": "c0", "loss_ms": {loss_ms}}}'
        if pamsd:
            self.orders.append((0, f"{shlex.quote(pamsd)} --config $D/client.conf --tell "
                                f"'{line}' > $D/tell || fail \"pamsd: $(cat $D/tell)\""))


class HelperGuest(FedGuest):
    """Each helper measures its pipe and reports."""

    def __init__(self, folder, xfer, pamsctl, pamsd, feedback=FEEDBACKS[0], looks=True):
        super().__init__(folder, xfer, pamsctl, pamsd, looks)
        self.feedback = feedback
        # peers of the server's daemon: (name, prefix of what it may report about)
        self.peers = []
        self.carrier = "false"

    def links(self, paths):
        """Make the links, and a pamsd for each helper that reports its pipe."""
        super().links(paths)
        through = sorted(helped(paths))
        self.peers += [(f"helper{i}", f"10.0.{i}.0/24") for i in through]
        self.daemon("server", IN_SERVER, server_conf(*zip(*self.peers)))
        for i in through:
            measure = f'measure = "pamsplit" socket = "{SPLIT_SOCKET}{i}"' \
                if paths[i].helper.split else 'measure = "qdisc"'
            if self.pamsd and self.feedback == "flexible":
                self.client += over_client(i)
            self.daemon(f"helper{i}", in_helper(i), reporter_conf(
                f"helper{i}", server_address(0, False),
                (f"hs{i}", *([f"pipe{i}"] if self.feedback == "flexible" else [])),
                (f'interface pipe{i} {{ about = {{"{client_address(i, False)}"}} {measure} '
                 f"carrier = {self.carrier} }}",)))
