# SPDX-License-Identifier: GPL-2.0
"""The module's plain-number functions, called over arrays through ctypes.

Rates in bytes per second, delays of hops in microseconds, PAD in nanoseconds.
$PAMS_UNIT_LIB is the library to test, $PAMS_UNIT_SEED the seed of the random cases.
"""

import ctypes
import os
import random
from array import array
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIB_FILE = os.environ.get("PAMS_UNIT_LIB", HERE / "../../build/unit/plain.so")
LIB = ctypes.CDLL(Path(LIB_FILE).resolve())
SEED = int(os.environ.get("PAMS_UNIT_SEED", "1"))

NS_PER_S, NS_PER_US = 10**9, 10**3
RATE_MIN_BYTEPS, RATE_MAX_BYTEPS = 125, 12_500_000_000  # 1 kbit/s, 100 Gbit/s
OWD_MAX_US = 60_000_000                             # 60 s
QUEUED_MAX_BYTES = 2**31
U32_MAX, U64_MAX = 2**32 - 1, 2**64 - 1
SUBFLOWS_MAX = LIB.unit_subflows_max()
NONE, DEFER = -1, -2


def rng(name):
    """A generator of its own for each test, so that one can be run alone."""
    return random.Random(f"{SEED} {name}")


def spread(rand, low, high):
    """A number whose order of magnitude is random, with the ends often hit."""
    kind = rand.random()
    if kind < 0.05:
        return low
    if kind < 0.1:
        return high
    if kind < 0.2:
        return rand.randint(low, high)
    bits = rand.randint(low.bit_length(), high.bit_length())
    return min(max(rand.getrandbits(bits), low), high)


def _map(function, words, nr):
    out = array("Q", bytes(8 * nr))
    data = array("Q", words)
    function(_pointer(data, ctypes.c_uint64), _pointer(out, ctypes.c_uint64), ctypes.c_size_t(nr))
    return out


def _pointer(data, c_type):
    return ctypes.cast(data.buffer_info()[0], ctypes.POINTER(c_type))


def direct_ns(paths):
    """pad_direct_ns() of each (rate, owd, queued)."""
    return _map(LIB.unit_direct, [word for path in paths for word in path], len(paths))


def helper_ns(pairs):
    """pad_helper_ns() of each (hs hop, pipe hop)."""
    return _map(LIB.unit_helper, [word for hs, pipe in pairs for word in hs + pipe], len(pairs))


def carried_bytes(spans):
    """pad_carried_bytes() of each (span in ns, rate)."""
    return _map(LIB.unit_carried, [word for span in spans for word in span], len(spans))


def sub(pad_ns=0, rate_byteps=RATE_MIN_BYTEPS, srtt_us=0, idle=True, in_flight=True):
    """A subflow in a view."""
    return pad_ns, rate_byteps, srtt_us, 0, int(idle), int(in_flight)


def picks(name, views):
    """Choices of a scheduler for each view, which is (unscheduled bytes, subflows)."""
    words = []
    for unscheduled, subs in views:
        words += [unscheduled, len(subs)]
        for one in subs:
            words += one
    data, out = array("Q", words), array("i", bytes(4 * len(views)))
    which = ("minrtt", "minpad", "pams").index(name)
    if LIB.unit_pick(which, _pointer(data, ctypes.c_uint64), _pointer(out, ctypes.c_int),
                     ctypes.c_size_t(len(views))):
        raise ValueError("unit_pick refused a view")
    return out


def pick(name, subs, unscheduled=0):
    """The choice for one view."""
    return picks(name, [(unscheduled, subs)])[0]
