#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""A player of video whose bitrate adapts, run in a guest: it plays nothing.

    player.py [-6] [--tcp] [--ahead] SEGMENT_S SEGMENTS HOST PORT

Asks xfer's server for one segment after the other on one connection, with --ahead for
the next one while one arrives, unless that would fill the buffer. The level of
the next is the highest that fits into SAFETY of the throughput, the harmonic mean
of the last MEMORY segments; one level up at a time, and the lowest one if less than
a segment is buffered. Playing begins when START_S are there and stops when nothing
is left; a full buffer makes the player wait. Prints a line of JSON for each segment,
as xfer does, with its level and what was buffered when it was asked for.
"""

import argparse
import json
import socket
import sys
import time

LADDER_BPS = (400_000, 750_000, 1_200_000, 1_850_000, 2_850_000, 4_300_000, 6_000_000,
              8_500_000, 12_000_000)
SAFETY = 0.85       # of the measured throughput
MEMORY = 3          # segments
START_S = 2.0
FULL_S = 24.0       # four long segments
CHUNK_BYTES = 65536
IPPROTO_MPTCP = 262


def now_us():
    """Of the guest's clock."""
    return time.monotonic_ns() // 1000


class Buffer:
    """Seconds of video that are there and not played yet."""

    def __init__(self):
        self.level_s, self.at_us, self.playing = 0.0, now_us(), False

    def left_s(self):
        """As of now."""
        now = now_us()
        if self.playing:
            self.level_s = max(0.0, self.level_s - (now - self.at_us) / 1e6)
            self.playing = self.level_s > 0
        self.at_us = now
        return self.level_s

    def add(self, seconds):
        """A segment has arrived."""
        self.level_s = self.left_s() + seconds
        self.playing = self.playing or self.level_s >= START_S


def next_level(level, rates_bps, buffered_s, segment_s):
    """Index into the ladder."""
    if not rates_bps or buffered_s < segment_s:
        return 0
    recent = rates_bps[-MEMORY:]
    rate = SAFETY * len(recent) / sum(1 / rate for rate in recent)
    fits = max((i for i, bps in enumerate(LADDER_BPS) if bps <= rate), default=0)
    return min(fits, level + 1)


def receive(connection, size):
    """One segment."""
    left = size
    while left:
        got = len(connection.recv(min(left, CHUNK_BYTES)))
        if not got:
            raise ConnectionError("connection lost")
        left -= got


def play(connection, connect_us, segment_s, segments, ahead):
    """All segments; a line for each."""
    buffer, rates_bps, asked = Buffer(), [], []

    def ask():
        """For the next one: its level, its size and what is buffered."""
        left_s = buffer.left_s()
        level = next_level(asked[-1][0] if asked else 0, rates_bps, left_s, segment_s)
        size = round(LADDER_BPS[level] * segment_s / 8)
        asked.append((level, size, left_s))
        connection.sendall(f"D {size} {len(asked)} 0\n".encode())

    for number in range(segments):
        if number == len(asked):
            over_s = buffer.left_s() + segment_s - FULL_S
            if over_s > 0:
                time.sleep(over_s)
            ask()
        start_us = now_us()
        if ahead and len(asked) < segments and buffer.left_s() + 2 * segment_s <= FULL_S:
            ask()
        level, size, left_s = asked[number]
        receive(connection, size)
        fct_us = max(now_us() - start_us, 1)
        buffer.add(segment_s)
        rates_bps.append(size * 8e6 / fct_us)
        print(json.dumps({
            "conn": 0, "request": number, "dir": "down", "bytes": size,
            "start_us": start_us, "connect_us": 0 if number else connect_us,
            "fct_us": fct_us, "gap_us": 0, "gap_at_us": 0, "subflows": 0,
            "fallback": False, "ok": True, "error": "", "level": level,
            "buffered_s": round(left_s, 6)}), flush=True)


def main():
    """Exit code: 0 if every segment arrived."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-6", dest="ipv6", action="store_true")
    parser.add_argument("--tcp", action="store_true")
    parser.add_argument("--ahead", action="store_true")
    parser.add_argument("segment_s", type=float)
    parser.add_argument("segments", type=int)
    parser.add_argument("host")
    parser.add_argument("port", type=int)
    args = parser.parse_args()
    family = socket.AF_INET6 if args.ipv6 else socket.AF_INET
    protocol = socket.IPPROTO_TCP if args.tcp else IPPROTO_MPTCP
    with socket.socket(family, socket.SOCK_STREAM, protocol) as connection:
        start_us = now_us()
        connection.connect((args.host, args.port))
        try:
            play(connection, now_us() - start_us, args.segment_s, args.segments,
                 args.ahead)
        except OSError as error:
            print(f"player: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
