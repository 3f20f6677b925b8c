# SPDX-License-Identifier: GPL-2.0
"""What a new connection could reach at best, if its scheduler knew every path.

It begins on path 0, the others have yet to join, and TCP is in slow start on each:
10 packets, then twice as many each round trip, no faster than the path. With s_i, when
the sender can first use path i, d_i its one-way delay, C_i its rate and R_i = 2 d_i,

    completion = min T such that the sum over i and k = 0, 1, ... of
        min(10 * 2^k packets, C_i * min(T - s_i - d_i - k R_i, R_i))
    over the positive ones is at least the transfer's bytes

Downloads: s_0 = d_0, when the request has arrived; uploads: 0, but the receipt's way
back is added. On path i the join takes d_i or nothing, and drawn.join_s(). Nothing is
lost, no acknowledgment is late, and several connections don't share. Times in s.

A scheduler that can't foresee other paths gives path 0 its first window at once, of which
it may send again elsewhere a share of the transfer: no faster than the rest arrives there.
"""

from bound import PAYLOAD, least

WINDOW_BYTES = 10 * 1448


def _arrived(path, rate_bps, at_s):
    """Bytes by then, of what is sent from 0 on."""
    delay_s, rate = path.delay_us / 1e6, rate_bps * PAYLOAD / 8
    left_s, window, total = at_s - delay_s, WINDOW_BYTES, 0.0
    while left_s > 0 and window < rate * 2 * delay_s:
        total += min(window, rate * left_s)
        left_s -= 2 * delay_s
        window *= 2
    return total + rate * max(left_s, 0)


def _rate(path, scenario):
    return path.up_bps if scenario.direction == "up" and path.up_bps else path.rate_bps


def _start_s(drawn, i):
    """When the sender can first use the path."""
    scenario = drawn.scenario
    asked_s = 0 if scenario.direction == "up" else scenario.paths[i].delay_us / 1e6
    return asked_s + drawn.join_s(i)


def _back_s(scenario):
    """How long an upload's receipt takes."""
    if scenario.direction != "up":
        return 0
    return min(path.delay_us for path in scenario.paths) / 1e6


def cold_s(drawn):
    """Of one request of a drawn scenario; None where the connection is warm, or a path's
    rate isn't a number."""
    scenario = drawn.scenario
    if not scenario.cold or any(path.radio or path.rival for path in scenario.paths):
        return None
    starts_s = [_start_s(drawn, i) for i in range(len(scenario.paths))]

    def enough(at_s):
        return sum(_arrived(path, _rate(path, scenario), at_s - start_s) for path, start_s in
                   zip(scenario.paths, starts_s)) >= scenario.bytes_max

    return least(enough, 0, 1e-3, 1e-7) + _back_s(scenario)


def unforeseen_s(drawn, again):
    """The same where others are seen once they have joined, and at most that share of the
    transfer is sent twice."""
    scenario, foreseen_s = drawn.scenario, cold_s(drawn)
    if foreseen_s is None:
        return None
    first, size = scenario.paths[0], scenario.bytes_max
    stays = max(0, min(WINDOW_BYTES, size) - again * size)
    there_s = (_start_s(drawn, 0) + first.delay_us / 1e6 + stays * 8 / (_rate(first, scenario) * PAYLOAD)
               + _back_s(scenario))
    return max(there_s, foreseen_s)
