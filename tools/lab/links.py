# SPDX-License-Identifier: GPL-2.0
"""The two hosts, the router between them, and what shapes a path.

      namespace of init        namespace "r"          namespace "c"
      +--------+            +------------------+            +--------+
      |        | s0 === up0 |br0| down0 ======== c0         |        |
      | server | s1 === up1 |br1| down1 ======== c1         | client |
      +--------+            +------------------+            +--------+
       10.0.i.1                                              10.0.i.2
      fd00:0:0:i::1                                       fd00:0:0:i::2

Hosts build large segments (gso) and receive them as such where packets arrive
together (gro), as distributions have it; a host's software cuts them into packets
as they leave (tso off). The router's ends of a path are the two ports of a bridge
that nothing else is on. It takes and forwards single packets: its veths have gro
off, as veths do. down0 shapes what goes to the client, up0 what goes to the server:
rate, delay, queue and loss count packets as they are on the wire.

A path that is replayed has no bridge: one replay.c for each direction takes from one port and
gives to the other, and has rate and queue; netem behind it has delay and loss.

A path through a helper has one more host in it, which forwards, and the pipe behind it
goes through the router, too:

    s1 === up1 |br1| down1 === hs1 | helper h1 | pipe1 === in1 |pbr1| out1 === c1

up1 and down1 shape the HS-path then; the pipe's queue to the client is where it is in a
real device, on pipe1, and the one to the server on in1. Addresses are the same: both ends
know the other one's by the helper's MAC.

The client is the multi-homed host: it connects from path 0 and has an MPTCP
endpoint on each other path, bound to its interface, from which it joins the
server's one address. Neighbours are static, so no transfer waits for ARP.
"""

from dataclasses import replace

from scenario import radio_changes

HOST_LIMIT = 100_000
NEIGHBOUR_PORT = 5002
NEIGHBOUR_TABLE = 100
IN_NEIGHBOUR = "nsenter --net=/run/netns/n"
DOWN_HANDLE = "dead:"       # of the queue of a link that is down
IN_SERVER = "nsenter --net=/proc/1/ns/net"      # from the client's scripts
IN_ROUTER = "nsenter --net=/run/netns/r"
OFFLOADS = "tso off gso on gro on"
WAYS = ("down", "up")       # from the server to the client, and back
UPWARD = ("up", "in")
REPLAY_BPS = 10**11     # of the netem behind it: with a rate it keeps the order


def server_address(index, ipv6):
    """On a path."""
    return f"fd00:0:0:{index}::1" if ipv6 else f"10.0.{index}.1"


def client_address(index, ipv6):
    """On a path."""
    return f"fd00:0:0:{index}::2" if ipv6 else f"10.0.{index}.2"


def helper_address(index, ipv6):
    """On the HS-path."""
    return f"fd00:0:0:{index}::3" if ipv6 else f"10.0.{index}.3"


def pipe_address(index):
    """A helper's on its pipe, of which the server knows that the client forwards to it."""
    return f"10.0.{index}.4"


MACS = {"s": 1, "c": 2, "hs": 3, "pipe": 4}


def mac(side, index):
    """Of that side's interface: the server's, the client's, or one of a helper's."""
    return f"02:00:00:00:{MACS[side]:02x}:{index:02x}"


def in_helper(index):
    """What enters it."""
    return f"nsenter --net=/run/netns/h{index}"


def _joined(index, helped=False):
    """A path through the router, or through a helper."""
    ends = [f"link add s{index} address {mac('s', index)} type veth "
            f"peer name up{index} netns r"]
    client = f"link add c{index} netns c address {mac('c', index)} type veth peer name"
    if not helped:
        return [*ends, f"{client} down{index} netns r"]
    return [f"netns add h{index}", *ends, f"{client} out{index} netns r",
            *(f"link add {name}{index} netns h{index} address {mac(name, index)} type veth "
              f"peer name {peer}{index} netns r" for name, peer in (("hs", "down"), ("pipe", "in")))]


def _direct(index, _=False):
    """A path that is one link, unshaped."""
    return [f"link add s{index} address {mac('s', index)} type veth "
            f"peer name c{index} address {mac('c', index)} netns c"]


def server_ip(count, joined=_joined, helped=()):
    """`ip -batch` in the server's namespace: all links, both families."""
    lines = ["netns add c", "netns add r", "link set lo up"]
    for i in range(count):
        peer = mac("hs" if i in helped else "c", i)
        lines += [
            *joined(i, i in helped),
            f"addr add {server_address(i, False)}/24 dev s{i}",
            f"addr add {server_address(i, True)}/64 dev s{i} nodad",
            f"link set s{i} up",
            f"neigh add {client_address(i, False)} lladdr {peer} dev s{i}",
            f"neigh add {client_address(i, True)} lladdr {peer} dev s{i}",
        ]
    lines.append("mptcp limits set subflows 8 add_addr_accepted 8")
    return lines


def direct_ip(count):
    """The same without the router."""
    return [line for line in server_ip(count, _direct) if line != "netns add r"]


def bridge_ip(name, ports):
    """`ip -batch` lines that join them; they have no address and say nothing."""
    return [f"link add {name} type bridge mcast_snooping 0",
            f"link set {name} addrgenmode none up",
            *(f"link set {port} master {name} addrgenmode none up" for port in ports)]


def router_ip(count, helped=(), replayed=()):
    """`ip -batch` in the router's namespace."""
    return [f"link set {way}{i} addrgenmode none up" for i in replayed for way in WAYS] + [
        line for i in range(count) if i not in replayed
        for name, ports in (("br", ("up", "down")), ("pbr", ("in", "out")))
        if name == "br" or i in helped
        for line in bridge_ip(f"{name}{i}", [f"{port}{i}" for port in ports])]


def helper_ip(index):
    """`ip -batch` in the helper's namespace: to the server by one link, to the client by the
    other."""
    lines = ["link set lo up"]
    for side in ("hs", "pipe"):
        lines.append(f"link set {side}{index} up")
    for ipv6 in (False, True):
        bits, all_bits = (64, 128) if ipv6 else (24, 32)
        lines.append(f"addr add {helper_address(index, ipv6)}/{bits} dev hs{index}"
                     + (" nodad" if ipv6 else ""))
        ends = {client_address(index, ipv6): ("pipe", "c")}
        ends.update((server_address(i, ipv6), ("hs", "s")) for i in {0, index})
        for address, (side, peer) in ends.items():
            lines += [f"route add {address}/{all_bits} dev {side}{index}",
                      f"neigh add {address} lladdr {mac(peer, index)} dev {side}{index}"]
    return lines


def over_client(index):
    """Shell lines for the client's script: a helper reaches the server through it, too."""
    server, own = server_address(0, False), pipe_address(index)
    to_client, to_pipe = mac("c", index), mac("pipe", index)
    return ["echo 1 > /proc/sys/net/ipv4/ip_forward",
            f"ip route add {own}/32 dev c{index}",
            f"ip neigh add {own} lladdr {to_pipe} dev c{index}",
            f"{IN_SERVER} ip route add {own}/32 via {client_address(0, False)} dev s0",
            f"{in_helper(index)} ip addr add {own}/32 dev pipe{index}",
            f"{in_helper(index)} ip route add {server}/32 dev pipe{index} src {own} metric 9",
            f"{in_helper(index)} ip neigh add {server} lladdr {to_client} dev pipe{index}"]


def client_ip(count, helped=()):
    """`ip -batch` in the client's namespace."""
    lines = ["link set lo up"]
    for i in range(count):
        lines += [
            f"addr add {client_address(i, False)}/24 dev c{i}",
            f"addr add {client_address(i, True)}/64 dev c{i} nodad",
            f"link set c{i} up",
        ]
        for ipv6 in (False, True):
            server = server_address(0, ipv6)
            bits = 128 if ipv6 else 32
            lines += [
                f"route add {server}/{bits} dev c{i} metric {10 + i} "
                f"src {client_address(i, ipv6)}",
                f"neigh add {server} lladdr {mac('pipe' if i in helped else 's', i)} dev c{i}",
            ]
    lines.append("mptcp limits set subflows 8 add_addr_accepted 8")
    return lines


def roaming_ip(count):
    """The same for one whose only routes are a default one on each path."""
    lines = ["link set lo up"]
    for i in range(count):
        lines += [f"link set c{i} up"]
        for ipv6 in (False, True):
            everywhere, bits = ("::/0", 128) if ipv6 else ("0.0.0.0/0", 32)
            address, server = client_address(i, ipv6), server_address(0, ipv6)
            lines += [
                f"addr add {address}/{bits} dev c{i}{' nodad' if ipv6 else ''}",
                f"route add {everywhere} dev c{i} metric {10 + i} src {address}",
                f"neigh add {server} lladdr {mac('s', i)} dev c{i}",
            ]
    lines.append("mptcp limits set subflows 8 add_addr_accepted 8")
    return lines


def mtu_ip(side, index, path):
    """`ip -batch` lines for a path's ends at the server, the router or the client."""
    devices = {"s": ("s",), "r": WAYS, "c": ("c",)}[side]
    return [f"link set {device}{index} mtu {path.mtu}" for device in devices if path.mtu]


def neighbour_ip(index):
    """{option of ip: `ip -batch` lines}: one more host has path 0's address, as behind a NAT,
    and an access link of its own. The server reaches it by the port that it serves it on."""
    address, server = client_address(0, False), server_address(0, False)
    return {
        "": ["netns add n", f"link add s{index} address {mac('s', index)} type veth "
             f"peer name up{index} netns r",
             f"link add n{index} netns n address {mac('c', index)} type veth "
             f"peer name down{index} netns r",
             f"link set s{index} up",
             f"neigh add {address} lladdr {mac('c', index)} dev s{index}",
             f"route add {address}/32 dev s{index} src {server} table {NEIGHBOUR_TABLE}",
             f"rule add pref 10 ipproto tcp sport {NEIGHBOUR_PORT} lookup {NEIGHBOUR_TABLE}"],
        "-n r": bridge_ip(f"br{index}", [f"up{index}", f"down{index}"]),
        "-n n": ["link set lo up", f"addr add {address}/32 dev n{index}",
                 f"link set n{index} up", f"route add {server}/32 dev n{index} src {address}",
                 f"neigh add {server} lladdr {mac('s', index)} dev n{index}"]}


def endpoints(paths, ipv6, begins=0):
    """The client's endpoints: one on each path but that on which connections begin."""
    lines = ["mptcp endpoint flush"]
    if begins:
        server, bits = server_address(0, ipv6), 128 if ipv6 else 32
        lines.append(f"route add {server}/{bits} dev c{begins} metric 1 "
                     f"src {client_address(begins, ipv6)}")
    for i, path in enumerate(paths):
        if i != begins:
            lines.append(f"mptcp endpoint add {client_address(i, ipv6)} dev c{i} "
                         f"subflow{' backup' if path.backup else ''}")
    return lines


def offloads(side, count):
    """Shell lines for a host."""
    return [f"ethtool -K {side}{i} {OFFLOADS} || fail 'ethtool in a host'"
            for i in range(count)]


def _rate(way, path):
    if path.replay:
        return REPLAY_BPS
    return path.up_bps if way in UPWARD and path.up_bps else path.rate_bps


def queues(index, path):
    """[(host, interface, "down" or "up")] of a path: what shapes it."""
    found = [("router", f"{way}{index}", way) for way in WAYS]
    if path.helper:
        found += [(f"helper{index}", f"pipe{index}", "down"), ("router", f"in{index}", "up")]
    return found


def netem(way, index, path):
    """One direction of a path, or of a helper's pipe, as a line of `tc -batch`.

    A queue of another handle takes the old one's place, and what was in that is
    lost; with the same handle it is changed and keeps what it holds.
    """
    head = f"qdisc replace dev {way}{index} root handle"
    if path.down:
        return f"{head} {DOWN_HANDLE} netem loss 100%"
    limit = HOST_LIMIT if path.replay else path.limit_packets
    words = [f"{head} 1: netem limit {limit} delay {path.delay_us}us"]
    if path.jitter_us:
        words.append(f"{path.jitter_us}us")
    if path.loss:
        words.append(f"loss {path.loss * 100:.6g}%")
    words.append(f"rate {_rate(way, path)}bit")
    if path.burst_us and way == "up":
        words.append(f"slot {path.burst_us}us")
    return " ".join(words)


def shape(way, index, path):
    """The same as lines for the router, whatever queue the path has.

    netem would delay behind it what a queue of another kind lets go, which it can't: such
    a queue is the last thing in the router, and its path's delay is host_delay().
    """
    if not path.queue or path.down:
        return [netem(way, index, path)]
    head, rate = f"qdisc replace dev {way}{index}", _rate(way, path)
    if path.queue == "cake":
        return [f"{head} root handle 1: cake bandwidth {rate}bit besteffort"]
    return [f"{head} root handle 1: tbf rate {rate}bit burst 3100 limit 10000000",
            f"{head} parent 1: handle 2: {path.queue}"]


def host_delay(side, index, path):
    """The delay of a path whose queue isn't netem's, where a host sends: there is no limit and
    no rate, so that large segments are only later by it."""
    if not path.queue:
        return []
    return [f"qdisc replace dev {side}{index} root handle 1: netem limit {HOST_LIMIT} "
            f"delay {path.delay_us}us"]


def radio_lines(scenario):
    """What pace.c gives tc: "AT_US LINE" for each change of a radio's rate."""
    lines = []
    for change in sorted(radio_changes(scenario), key=lambda change: change.at_us):
        path = replace(scenario.paths[change.path], **change.values)
        lines += [f"{change.at_us} {netem(way, change.path, path)}" for way in WAYS]
    return lines
