# SPDX-License-Identifier: GPL-2.0
"""Counters of a host in the guest: bytes and packets per path, MPTCP's MIB.

Read from what /proc/net/dev, /proc/net/netstat and /proc/net/snmp say in the
host's namespace after the transfers; a guest starts with all of them at zero.
"""

import json

from links import DOWN_HANDLE

# What tells how well a scheduler did; all of them can be had with --all-counters.
MIB_KEYS = (
    "MPTcpExtMPTCPRetrans", "MPTcpExtDuplicateData", "MPTcpExtMPRetrans",
    "MPTcpExtOFOQueueTail", "MPTcpExtOFOQueue", "MPTcpExtOFOMerge",
    "MPTcpExtMPJoinSynAckRx", "MPTcpExtMPJoinAckRx", "MPTcpExtSubflowStale",
    "MPTcpExtSubflowRecover", "MPTcpExtMPCapableFallbackACK",
    "MPTcpExtMPCapableFallbackSYNACK", "MPTcpExtDataCsumErr",
    "MPTcpExtSndWndShared", "MPTcpExtRcvWndConflict",
    "TcpOutSegs", "IpOutRequests", "TcpRetransSegs", "TcpExtTCPTimeouts", "TcpExtTCPLossProbes",
    "TcpExtTCPSlowStartRetrans", "TcpExtTCPDSACKRecv",
    "TcpExtTCPDSACKOldSent", "TcpExtTCPDSACKOfoSent",
)

RIVAL_HEADER_BYTES = 14 + 20 + 20 + 12      # Ethernet, IPv4, TCP with time stamps


def parse(text):
    """(devices, mib) of one host: {'s0': {...}}, {'TcpRetransSegs': n, ...}"""
    devices, mib = {}, {}
    lines = iter(text.splitlines())
    for line in lines:
        name, colon, rest = line.strip().partition(":")
        words = rest.split()
        if not colon or not words:
            continue
        if words[0].lstrip("-").isdigit():
            devices[name] = {
                "rx_bytes": int(words[0]), "rx_packets": int(words[1]),
                "tx_bytes": int(words[8]), "tx_packets": int(words[9])}
        else:
            values = next(lines, "").partition(":")[2].split()
            mib.update({f"{name}{key}": int(value)
                        for key, value in zip(words, values)})
    return devices, mib


def chosen(mib, everything=False):
    """Those that matter; the rest only on request, and only where not zero."""
    if everything:
        return {key: value for key, value in mib.items() if value}
    return {key: mib[key] for key in MIB_KEYS if key in mib}

def lost(at_changes, at_end, device):
    """Packets that a direction of a path lost by its link's going down, from what
    `tc -s -j qdisc` said when it went, when it came back, and in the end."""
    packets = 0
    for text, ended in ((at_changes, False), (at_end, True)):
        for line in text.splitlines():
            for queue in json.loads(line):
                if not queue.get("root") or queue.get("dev", device) != device:
                    continue
                if queue["handle"] == DOWN_HANDLE:
                    packets += queue["drops"]
                elif not ended:
                    packets += queue["qlen"]
    return packets


def paths(server, client, lost_packets, count):
    """Bytes and packets of each path as they arrived, and what it lost when down."""
    result = []
    for i in range(count):
        s, c = server.get(f"s{i}", {}), client.get(f"c{i}", {})
        result.append({
            "down_bytes": c.get("rx_bytes", 0), "down_packets": c.get("rx_packets", 0),
            "up_bytes": s.get("rx_bytes", 0), "up_packets": s.get("rx_packets", 0),
            "down_lost": lost_packets.get(f"down{i}", 0),
            "up_lost": lost_packets.get(f"up{i}", 0)})
    return result


def words(text):
    """The totals of `pamsplit show`: {'split': 1, ...}"""
    for line in text.splitlines():
        kind, *pairs = line.split()
        if kind == "totals":
            return {key: int(value) for key, _, value in (pair.partition("=") for pair in pairs)}
    return {}


def without(rivals, direction, paths):
    """The same without what the rival of a path received on it, {path: {bytes, segments}}."""
    way = "up" if direction == "up" else "down"
    for index, rival in rivals.items():
        paths[index][f"{way}_bytes"] -= rival["bytes"] + RIVAL_HEADER_BYTES * rival["segments"]
        paths[index][f"{way}_packets"] -= rival["segments"]
    return paths
