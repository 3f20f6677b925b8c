# SPDX-License-Identifier: GPL-2.0
"""Packet records of a run: what tcpdump saw at the receiving host.

Reads a pcap file with Linux "cooked v2" headers (LINKTYPE_LINUX_SLL2, 276), and
in it TCP over IPv4 and IPv6 with MPTCP's DSS option (RFC 8684, 3.3). The path is
known by the client's address (see links.py). Times in seconds, sizes in bytes.
"""

import struct
from dataclasses import dataclass

SERVER_PORT = 5000
LINKTYPE_ETHERNET, LINKTYPE_SLL2 = 1, 276
SLL2_BYTES = 20
MPTCP_OPTION, DSS = 30, 2


@dataclass(frozen=True)
class Packet:
    """One segment with payload or a data acknowledgement."""
    time_s: float
    path: int
    down: bool          # server to client
    payload_bytes: int
    seq: int            # of the subflow
    dsn: int            # data sequence number of the payload's first byte, or -1
    data_ack: int       # or -1


def _dss(options):
    """(dsn, data_ack) of a TCP header's options, -1 where there is none."""
    at = 0
    while at < len(options):
        kind = options[at]
        if kind == 0:
            break
        if kind == 1:
            at += 1
            continue
        if at + 1 >= len(options):
            break
        length = options[at + 1]
        if length < 2:
            break
        if kind == MPTCP_OPTION and length >= 4 and options[at + 2] >> 4 == DSS:
            flags, field, dsn, ack = options[at + 3], at + 4, -1, -1
            if flags & 1:
                size = 8 if flags & 2 else 4
                ack = int.from_bytes(options[field:field + size], "big")
                field += size
            if flags & 4:
                size = 8 if flags & 8 else 4
                dsn = int.from_bytes(options[field:field + size], "big")
            return dsn, ack
        at += length
    return -1, -1


def _segment(time_s, frame):
    protocol = frame[0] << 8 | frame[1]
    ip = SLL2_BYTES
    if protocol == 0x0800:
        total = struct.unpack_from(">H", frame, ip + 2)[0]
        tcp = ip + (frame[ip] & 15) * 4
        end = ip + total
        source, target = frame[ip + 12:ip + 16], frame[ip + 16:ip + 20]
        number = 2          # the third byte of 10.0.i.x
    elif protocol == 0x86DD:
        end = ip + 40 + struct.unpack_from(">H", frame, ip + 4)[0]
        tcp = ip + 40
        source, target = frame[ip + 8:ip + 24], frame[ip + 24:ip + 40]
        number = 7          # the fourth group of fd00:0:0:i::x
    else:
        return None
    if len(frame) < tcp + 20:
        return None
    sport, _, seq = struct.unpack_from(">HHI", frame, tcp)
    header = (frame[tcp + 12] >> 4) * 4
    down = sport == SERVER_PORT
    dsn, ack = _dss(frame[tcp + 20:tcp + header])
    client = target if down else source
    return Packet(time_s, client[number], down, end - tcp - header, seq, dsn, ack)


def frames(path, linktype):
    """(time_s, bytes on the wire, what was kept of it) of each packet in the file, in order."""
    with open(path, "rb") as data:
        head = data.read(24)
        if len(head) < 24:
            return
        order = "<" if head[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
        fraction = 1e9 if head[:4] in (b"\x4d\x3c\xb2\xa1", b"\xa1\xb2\x3c\x4d") else 1e6
        found = struct.unpack(order + "I", head[20:])[0] & 0xFFFF
        if found != linktype:
            raise ValueError(f"{path} has link type {found}, not {linktype}")
        record = struct.Struct(order + "IIII")
        while len(head := data.read(16)) == 16:
            seconds, part, kept, size = record.unpack(head)
            yield seconds + part / fraction, size, data.read(kept)


def read(path, zero_s=None):
    """All TCP segments of what `tcpdump -i any` took, in order; times count from zero_s, or from
    the first packet, which is a SYN."""
    packets, first = [], zero_s
    for time_s, _, frame in frames(path, LINKTYPE_SLL2):
        first = time_s if first is None else first
        segment = _segment(time_s - first, frame)
        if segment:
            packets.append(segment)
    return packets


def cumulative(packets, down, path=None):
    """([time_s], [bytes]) of the payload that moved, on one path or on all."""
    times, sums, total = [0.0], [0], 0
    for packet in packets:
        if packet.down == down and packet.payload_bytes and path in (None, packet.path):
            total += packet.payload_bytes
            times.append(packet.time_s)
            sums.append(total)
    return times, sums


def write_tsv(packets, path):
    """A table for other tools."""
    with open(path, "w", encoding="ascii") as out:
        out.write("time_s\tpath\tdirection\tpayload_bytes\tseq\tdsn\tdata_ack\n")
        for p in packets:
            out.write(f"{p.time_s:.6f}\t{p.path}\t{'down' if p.down else 'up'}\t"
                      f"{p.payload_bytes}\t{p.seq}\t{p.dsn}\t{p.data_ack}\n")
