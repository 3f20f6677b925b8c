# SPDX-License-Identifier: GPL-2.0
"""Guests in which pamsd tells the server's kernel of the paths.

LossGuest: the two hosts of guest.py. The client's pamsd is told over its control
socket when path 0 will be lost, and reports it to the server's.

HelperGuest: path 1 goes through a third host, a helper device that forwards.

    s1 server === router === h0 helper h1 === pipe === c1 client

Rate and changes of the path are the pipe's, its delay is the HS-path's, which is
faster and goes through the router. Before the pipe is a deep queue; TCP at the server sees nothing of it but the
round trip. The helper's pamsd measures it and reports.

Without a pamsd nobody is told.
"""

import base64
import os
import shlex
from dataclasses import replace

import links as lab_links
from guest import Guest
from links import IN_SERVER, client_address, mac, server_address

HS_BPS = 10_000_000
PIPE_QUEUE_BYTES = 1_000_000
HS_QUEUE_PACKETS = 1000
HELPER_ADDRESS = "10.0.1.3"
IN_HELPER = "nsenter --net=/run/netns/h"
# how often, and until when, it is noted what the server's kernel was told
LOOK_S, LOOKS_MAX = 0.05, 300


def _key(name):
    """32 bytes; no secret here."""
    return base64.b64encode(name.encode().ljust(32, b".")).decode()


def server_conf(name, prefix):
    """Of the server's pamsd: who may report, about what."""
    return ['control = "/run/pamsd-server"', "server {",
            f'\tpeer {name} {{ key = "{_key(name)}" prefixes = {{"{prefix}"}} }}', "}"]


def reporter_conf(name, address, via, interfaces):
    """Of the pamsd that reports."""
    links = ", ".join(f'"{link}"' for link in via)
    return [f'control = "/run/pamsd-{name}"', "reporter {",
            f'\tto server {{ address = "{address}" key = "{_key(name)}" via = {{{links}}} }}',
            *(f"\t{line}" for line in interfaces), "}"]


class FedGuest(Guest):
    """Two daemons, one at the server and one that reports from somewhere."""

    def __init__(self, folder, xfer, pamsctl, pamsd):
        super().__init__(folder, xfer, pamsctl)
        self.pamsd = pamsd
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

    def __init__(self, folder, xfer, pamsctl, pamsd, loss_ms):
        super().__init__(folder, xfer, pamsctl, pamsd)
        self.daemon("server", IN_SERVER, server_conf("client", "10.0.0.0/16"))
        self.daemon("client", "", reporter_conf(
            "client", server_address(0, False), ("c0", "c1"),
            ('interface c0 { measure = "none" }', 'interface c1 { measure = "none" }')))
        line = f'{{"interface": "c0", "loss_ms": {loss_ms}}}'
        if pamsd:
            self.orders.append((0, f"{shlex.quote(pamsd)} --config $D/client.conf --tell "
                                f"'{line}' > $D/tell || fail \"pamsd: $(cat $D/tell)\""))


class HelperGuest(FedGuest):
    """Path 1 goes through a helper, which measures its pipe."""

    hosts = (*Guest.hosts, ("helper", "-n h", IN_HELPER))

    def __init__(self, folder, xfer, pamsctl, pamsd):
        super().__init__(folder, xfer, pamsctl, pamsd)
        self.daemon("server", IN_SERVER, server_conf("helper", "10.0.1.0/24"))
        self.daemon("helper", IN_HELPER, reporter_conf(
            "helper", server_address(1, False), (),
            (f'interface h1 {{ about = {{"{client_address(1, False)}"}} measure = "qdisc" '
             "carrier = false }",)))

    def shape(self, host, index, path):
        """Of path 1: the HS-path in the router, and what goes back to the server there as
        slowly as through the pipe; the pipe where the helper sends."""
        if index != 1:
            return super().shape(host, index, path)
        if host == "helper":
            return [f"qdisc replace dev h1 root handle 1: tbf rate {path.rate_bps}bit "
                    f"burst 3100 limit {PIPE_QUEUE_BYTES}"]
        return super().shape(host, 1, replace(
            path, rate_bps=HS_BPS, up_bps=path.rate_bps, limit_packets=HS_QUEUE_PACKETS))

    def links(self, paths):
        """The helper is a bridge with an address, between router and client."""
        super().links(paths)
        lines = []
        for line in lab_links.server_ip(len(paths)):
            lines += ["netns add h", "link add h0 netns h type veth peer name down1 netns r",
                      f"link add c1 netns c address {mac('c', 1)} type veth peer name h1 netns h"
                      ] if line.startswith("link add c1 ") else [line]
        self.write("server.ip", lines)
        self.write("helper.ip", [
            "link set lo up", *lab_links.bridge_ip("brh", ("h0", "h1")),
            f"addr add {HELPER_ADDRESS}/24 dev brh"])
