# SPDX-License-Identifier: GPL-2.0
"""The module's plain-number functions, called over arrays through ctypes.

Rates in bytes per second, delays of hops in microseconds, PAD in nanoseconds.
$PAMS_UNIT_LIB is the library to test, $PAMS_UNIT_SEED the seed of the random cases,
$PAMS_UNIT_STATES how many states the model's inverse is checked for, $PAMS_UNIT_TRANSFERS how
many transfers run in the closed loop.
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
PACKET = LIB.unit_packet_bytes()
NONE, DEFER = -1, -2
UNKNOWN = U32_MAX                                   # a capacity that nothing is known of
NEVER = U32_MAX                                     # a path that isn't lost
SPAN_MAX_US = 60_000_000

U64_P = ctypes.POINTER(ctypes.c_uint64)
LIB.unit_unit_mark.argtypes = [ctypes.POINTER(ctypes.c_uint32), ctypes.c_uint64, ctypes.c_uint64,
                               ctypes.c_uint32]
LIB.unit_unit_mark.restype = None
LIB.unit_unit_left.argtypes = [ctypes.POINTER(ctypes.c_uint32), *[ctypes.c_uint64] * 3]
LIB.unit_unit_left.restype = ctypes.c_uint64
LIB.unit_model_pad.argtypes = [U64_P, ctypes.c_uint32]
LIB.unit_model_pad.restype = ctypes.c_uint64
LIB.unit_model_arrival.argtypes = [U64_P, ctypes.c_uint32]
LIB.unit_model_arrival.restype = ctypes.c_uint32
LIB.unit_model_carried.argtypes = [U64_P, ctypes.c_uint64]
LIB.unit_model_carried.restype = ctypes.c_uint64
LIB.unit_model_inverse.argtypes = [ctypes.c_uint64, ctypes.c_size_t, U64_P, U64_P]
LIB.unit_model_inverse.restype = ctypes.c_char_p
LIB.unit_model_since.argtypes = [ctypes.c_uint32] * 2
LIB.unit_model_since.restype = ctypes.c_uint32
LIB.unit_late_pams.argtypes = [U64_P, ctypes.c_uint32, U64_P]
LIB.unit_minfct.argtypes = [U64_P, U64_P, ctypes.POINTER(ctypes.c_uint32)]
LIB.unit_late_minfct.argtypes = [U64_P, U64_P, U64_P]


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


def sub(pad_ns=0, rate_byteps=RATE_MIN_BYTEPS, srtt_us=0, idle=True, in_flight=True, room=0,
        outstanding=None, once=None):
    """A subflow in a view of minrtt, minpad and pams."""
    outstanding = in_flight if outstanding is None else outstanding
    once = int(outstanding) if once is None else once
    return pad_ns, rate_byteps, srtt_us, room, int(idle), int(in_flight), int(outstanding), once


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


def late_pams(subs, eta_percent=20, unscheduled=0):
    """Whose data is late, by pams, and how much of it (None: not said)."""
    data = array("Q", [unscheduled, len(subs), *(word for one in subs for word in one)])
    count = ctypes.c_uint64(U64_MAX)
    choice = LIB.unit_late_pams(_pointer(data, ctypes.c_uint64), eta_percent, ctypes.byref(count))
    return choice, None if count.value == U64_MAX else count.value


def policy_sub(ident, pad_ns=0, srtt_us=0, rtt_us=None, limit=None, window=0, flight=0,
               idle=True, stopped=False):
    """A subflow in a view of single and redundant."""
    return (ident, pad_ns, srtt_us, srtt_us if rtt_us is None else rtt_us,
            UNKNOWN if limit is None else limit, window, flight, int(idle), int(stopped))


class State:
    """What single and redundant remember: struct pick_state."""
    def __init__(self, lead=0, other=0, since_ms=0, copied=0):
        self.words = (ctypes.c_uint32 * 4)(lead, other, since_ms, copied)

    lead = property(lambda self: self.words[0])
    other = property(lambda self: self.words[1])
    since_ms = property(lambda self: self.words[2])
    copied = property(lambda self: self.words[3])


def policy(name, subs, state, *, unscheduled=U64_MAX, sent=0, first=U64_MAX, snd_nxt=0, snd_una=0,
           now_ms=0):
    """A choice of single, redundant, "copy" or "late", or where what @state.lead holds goes
    "again": the index, and how many bytes."""
    which = ("single", "redundant", "copy", "late", "again").index(name)
    data = array("Q", [unscheduled, sent, first, snd_nxt & U32_MAX, snd_una & U32_MAX,
                       now_ms & U32_MAX, len(subs), *(word for one in subs for word in one)])
    count = ctypes.c_uint32(U32_MAX)
    choice = LIB.unit_policy(which, _pointer(data, ctypes.c_uint64), state.words,
                             ctypes.byref(count))
    return choice, None if count.value == U32_MAX else count.value


def cost_sub(cost, rate, rtt_us, *, limit=None, window=None, flight=0, room=15_000, stopped=False,
             growing=False, at_risk=False):
    """A subflow of that cost; a window that is one bandwidth-delay product."""
    window = rate * rtt_us // 10**6 if window is None else window
    return (cost, rate, rate if limit is None else limit, rtt_us, window, flight, room,
            int(stopped), int(growing), int(at_risk))


class Credit:
    """What is remembered of costs: struct cost_state."""
    def __init__(self, sent=0, credit=0):
        self.words = (ctypes.c_int64 * 2)(sent, credit)

    credit = property(lambda self: self.words[1])


def cost(subs, *, delay_ms=0, percent=0, waiting=0, unscheduled=U64_MAX, sent=0, lead=0,
         again=False, state=None):
    """What each subflow may be given now; None for one that is spared."""
    data = array("Q", [delay_ms, percent, waiting, unscheduled, sent, lead, int(again), len(subs),
                       *(word for one in subs for word in one)])
    room = (ctypes.c_uint64 * max(len(subs), 1))()
    LIB.unit_cost(_pointer(data, ctypes.c_uint64), (state or Credit()).words, room)
    return [None if room[i] == U64_MAX else room[i] for i in range(len(subs))]


def model(rate, rtt_us, window, flight=0, backlog=0, *, limit=None, proven=None, due_us=0,
          growing=False, moving=None, guessed=False, rested=False, repeats=False,
          horizon_us=NEVER, pipe=0, pipe_delay_us=None, pipe_backlog=0, th=0, owd_us=0, cwnd=0):
    """A subflow's model; its capacity is known and reached unless it is said otherwise.

    A pipe that has a delay of its own is split: the helper ends TCP.
    """
    limit = rate if limit is None else limit
    proven = rate if proven is None else proven
    moving = bool(flight + backlog) if moving is None else moving
    return (rate, limit, proven, rtt_us, window, flight, backlog, due_us,
            int(growing) | int(moving) << 1 | int(guessed) << 2 |
            int(pipe_delay_us is not None) << 3 | int(rested) << 4 | int(repeats) << 5,
            horizon_us, pipe, pipe_delay_us or 0, pipe_backlog, th, owd_us, cwnd)


def any_model(rand):
    """Whatever numbers, as model.h bounds them."""
    rate = spread(rand, 1, U32_MAX)
    pipe = rand.choice((0, 0, spread(rand, RATE_MIN_BYTEPS, U32_MAX)))
    delay_us = rand.choice((None, spread(rand, 0, OWD_MAX_US))) if pipe else None
    return model(rate, spread(rand, 1, SPAN_MAX_US), *(spread(rand, 0, U32_MAX) for _ in range(3)),
                 limit=spread(rand, rate, U32_MAX), proven=spread(rand, 1, U32_MAX),
                 due_us=rand.choice((0, spread(rand, 0, SPAN_MAX_US))),
                 growing=rand.random() < 0.5, moving=rand.random() < 0.5,
                 guessed=rand.random() < 0.5,
                 horizon_us=rand.choice((NEVER, NEVER, spread(rand, 0, U32_MAX))),
                 pipe=pipe, pipe_delay_us=delay_us, pipe_backlog=spread(rand, 0, U32_MAX),
                 th=spread(rand, 0, U64_MAX), owd_us=spread(rand, 0, U32_MAX),
                 cwnd=spread(rand, 0, U32_MAX))


def model_pad_ns(one, count):
    data = array("Q", one)
    return LIB.unit_model_pad(_pointer(data, ctypes.c_uint64), count)


def arrival_us(one, count):
    data = array("Q", one)
    return LIB.unit_model_arrival(_pointer(data, ctypes.c_uint64), count)


def carried(one, span_us):
    data = array("Q", one)
    return LIB.unit_model_carried(_pointer(data, ctypes.c_uint64), span_us)


def inverse(seed, nr):
    """Check nr random states: of how many the inverse, and what is broken of which state."""
    checked, state = ctypes.c_uint64(), array("Q", bytes(8 * 16))
    broken = LIB.unit_model_inverse(seed, nr, ctypes.byref(checked),
                                    _pointer(state, ctypes.c_uint64))
    return checked.value, broken.decode(), tuple(state)


def since_us(now_us, then_us):
    """model_since_us()"""
    return LIB.unit_model_since(now_us, then_us)


def window_and_rate(one):
    """What model_set_window() makes of it."""
    data, out = array("Q", one), array("Q", bytes(16))
    LIB.unit_model_window(_pointer(data, ctypes.c_uint64), _pointer(out, ctypes.c_uint64))
    return tuple(out)


def trusted(one):
    """Limit, rate, window and growing after model_trust_guess()."""
    data, out = array("Q", one), array("Q", bytes(32))
    LIB.unit_model_trust(_pointer(data, ctypes.c_uint64), _pointer(out, ctypes.c_uint64))
    return tuple(out)
