#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Checks captures of a split flow, taken at three points at once, one clock.

    capture.py CLIENT.pcap HELPER.pcap SERVER.pcap

CLIENT is what passes at the client, HELPER at the helper's end of the HS-path,
SERVER at the server. Of every subflow that joins:

  data-ack    no DATA_ACK reaches the server that the client hasn't sent before
  edge        no right edge of the connection beyond one that the client has sent
  ack         nothing is acknowledged to the server that hasn't come to the helper
  stamp-up    time stamps that reach the server never run back, ...
  stamp-down  ... nor do those of data that the client gets for the first time
  early       something was acknowledged before the client had it: it was split

Exit status 0 if all hold. Addresses must not be translated on the way.
"""
import struct
import sys
from collections import namedtuple

FIN, SYN, RST = 1, 2, 4
MP_JOIN, MP_DSS = 1, 2
HALF = 1 << 31

Packet = namedtuple("Packet", "time flow seq ack flags window payload scale tsval joins data_ack")


def read_options(data):
    """scale, tsval, joins, data_ack of TCP's options; None where there is none."""
    scale = tsval = data_ack = None
    joins = False
    at = 0
    while at < len(data) and data[at]:
        if data[at] == 1:
            at += 1
            continue
        kind, length = data[at], data[at + 1]
        body = data[at + 2:at + length]
        if kind == 3:
            scale = body[0]
        elif kind == 8:
            tsval = struct.unpack("!I", body[:4])[0]
        elif kind == 30 and body[0] >> 4 == MP_JOIN:
            joins = True
        elif kind == 30 and body[0] >> 4 == MP_DSS and body[1] & 1:
            wide = body[1] & 2
            data_ack = struct.unpack("!Q" if wide else "!I", body[2:10 if wide else 6])[0] % (1 << 32)
        at += length
    return scale, tsval, joins, data_ack


def read_packet(time, frame):
    """The TCP packet in an Ethernet frame, or None."""
    kind = struct.unpack("!H", frame[12:14])[0]
    ip = frame[14:]
    if kind == 0x0800 and ip[9] == 6:
        at, length = (ip[0] & 15) * 4, struct.unpack("!H", ip[2:4])[0]
        ends = ip[12:16], ip[16:20]
    elif kind == 0x86dd and ip[6] == 6:
        at, length = 40, 40 + struct.unpack("!H", ip[4:6])[0]
        ends = ip[8:24], ip[24:40]
    else:
        return None
    tcp = ip[at:]
    source, target, seq, ack, offset, flags, window = struct.unpack("!HHIIBBH", tcp[:16])
    header = (offset >> 4) * 4
    scale, tsval, joins, data_ack = read_options(tcp[20:header])
    return Packet(time, (ends[0], source, ends[1], target), seq, ack, flags, window,
                  length - at - header, scale, tsval, joins, data_ack)


def read_pcap(name):
    """The TCP packets of a capture file, as tcpdump -w writes it."""
    with open(name, "rb") as file:
        data = file.read()
    magic, = struct.unpack("<I", data[:4])
    if magic not in (0xa1b2c3d4, 0xa1b23c4d):
        sys.exit(f"capture: {name}: not a capture of this machine's byte order")
    unit = 1e-9 if magic == 0xa1b23c4d else 1e-6
    at = 24
    while at + 16 <= len(data):
        seconds, part, kept, _ = struct.unpack("<IIII", data[at:at + 16])
        if at + 16 + kept > len(data):
            break
        packet = read_packet(seconds + part * unit, data[at + 16:at + 16 + kept])
        at += 16 + kept
        if packet:
            yield packet


def reverse(flow):
    return flow[2], flow[3], flow[0], flow[1]


def ahead(a, b):
    """How far a is ahead of b, both modulo 2^32."""
    return (a - b + HALF) % (1 << 32) - HALF


class Highest:
    """The highest of numbers that wrap."""
    def __init__(self):
        self.value = None

    def add(self, number):
        if self.value is None or ahead(number, self.value) > 0:
            self.value = number

    def covers(self, number):
        return self.value is not None and ahead(number, self.value) <= 0


class Flow:
    """One subflow that joins, from the client's side."""
    def __init__(self, syn):
        self.flow = syn.flow
        self.scale = syn.scale
        self.data_ack, self.edge, self.came, self.client_ack = (Highest() for _ in range(4))
        self.up, self.down, self.new = Highest(), Highest(), Highest()
        self.early = self.checked = 0
        self.wrong = []

    def fail(self, what, packet):
        self.wrong.append(f"{what} at {packet.time:.6f}, seq {packet.seq}, ack {packet.ack}")

    def edge_of(self, packet):
        return (packet.data_ack + (packet.window << self.scale)) % (1 << 32)

    def at_client(self, packet):
        if packet.flags & (SYN | RST):
            return
        if packet.flow == self.flow:
            self.client_ack.add(packet.ack)
            if packet.data_ack is not None:
                self.data_ack.add(packet.data_ack)
                self.edge.add(self.edge_of(packet))
            return
        end = (packet.seq + packet.payload) % (1 << 32)
        if not packet.payload or self.new.covers(end):
            return
        self.new.add(end)
        if not (self.down.value is None or ahead(packet.tsval, self.down.value) >= 0):
            self.fail("stamp-down", packet)
        self.down.add(packet.tsval)

    def at_helper(self, packet):
        if packet.flow == reverse(self.flow):
            self.came.add((packet.seq + packet.payload + bool(packet.flags & (SYN | FIN)))
                          % (1 << 32))

    def at_server(self, packet):
        if packet.flow != self.flow or packet.flags & (SYN | RST):
            return
        self.checked += 1
        if not self.came.covers(packet.ack):
            self.fail("ack", packet)
        if self.client_ack.value is not None and not self.client_ack.covers(packet.ack):
            self.early += 1
        if packet.tsval is not None:
            if self.up.value is not None and ahead(packet.tsval, self.up.value) < 0:
                self.fail("stamp-up", packet)
            self.up.add(packet.tsval)
        if packet.data_ack is None:
            return
        if not self.data_ack.covers(packet.data_ack):
            self.fail("data-ack", packet)
        if not self.edge.covers(self.edge_of(packet)):
            self.fail("edge", packet)


def main(client, helper, server):
    # at the same time the client and the helper come first
    places = [(packet.time, rank, packet) for rank, name in enumerate((client, helper, server))
              for packet in read_pcap(name)]
    places.sort(key=lambda place: place[:2])
    flows = {}
    for _, rank, packet in places:
        if rank == 0 and packet.joins and packet.flags & SYN and packet.flow not in flows \
                and reverse(packet.flow) not in flows:
            flows[packet.flow] = Flow(packet)
        flow = flows.get(packet.flow) or flows.get(reverse(packet.flow))
        if flow:
            (flow.at_client, flow.at_helper, flow.at_server)[rank](packet)
    bad = not flows
    for flow in flows.values():
        print(f"{flow.checked} packets reached the server, {flow.early} of them acknowledged early, "
              f"{len(flow.wrong)} wrong")
        for what in flow.wrong[:10]:
            print(f"  {what}")
        bad |= bool(flow.wrong) or not flow.early
    return 1 if bad else 0


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: capture.py CLIENT.pcap HELPER.pcap SERVER.pcap")
    sys.exit(main(*sys.argv[1:]))
