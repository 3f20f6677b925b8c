# SPDX-License-Identifier: GPL-2.0
"""The fluid lower bound: no scheduler can be faster than this.

Every path is full from the first byte on, nothing is lost or sent twice, and
each 1514-byte Ethernet frame carries 1448 bytes of payload. The request itself
takes the fastest way. With g_i(t) = rate_i(t) * (1448/1514) / 8 * (1 - loss_i),

    completion = min T such that
        sum over i of  integral of g_i(t) dt  over those t in [t0 + q, T]
                       with t + d_i(t) <= T   is at least the transfer's bytes

(t + d_i before the link goes down) where t0 is the start, d_i the one-way delay in the data's direction and q the
delay of the request (downloads: the least one-way delay at t0; uploads: 0, but
then the receipt's least delay is added to T). A fluid has no last packet: a
transfer of one packet takes its serialisation time longer than the bound says.

What goes through a helper goes over two links, one after the other (_over_helper).

Times in microseconds, rates in bit/s; pure functions.
"""

import recorded
from scenario import timeline

PAYLOAD = 1448 / 1514


def _rate(path, upload):
    """Payload bytes per microsecond."""
    if path.down:
        return 0.0
    bps = path.up_bps if upload and path.up_bps else path.rate_bps
    return bps * PAYLOAD * (1 - path.loss) / 8e6


def _carried(path, begin_us, end_us, upload):
    """Payload bytes that are sent in that time."""
    if end_us <= begin_us:
        return 0.0
    if path.replay and not path.down:
        from_us = path.replay.from_us
        return (1 - path.loss) * recorded.opportunities(path, upload).payload(
            from_us + begin_us, from_us + end_us)
    return (end_us - begin_us) * _rate(path, upload)


def _over_link(states, start_us, end_us, upload):
    """Bytes that have arrived at end_us over one link, of [(begin_us, link)]."""
    total = 0.0
    for number, (begin_us, link) in enumerate(states):
        until_us, then = states[number + 1] if number + 1 < len(states) else \
            (float("inf"), link)
        first = max(begin_us, start_us)
        # what is on its way when the link goes down is lost
        last = min(until_us - (link.delay_us if then.down else 0), end_us - link.delay_us)
        total += _carried(link, first, last, upload)
    return total


def _over_helper(states, start_us, end_us, upload):
    """The same over HS-path and pipe, of [(begin_us, Helper)]; the helper keeps what the pipe
    doesn't take yet. By each time s no more has come over the first than could, and after it
    the second carries no more than it can: the least of these sums."""
    first, second = ([(begin_us, getattr(helper, name)) for begin_us, helper in states]
                     for name in (("pipe", "hs") if upload else ("hs", "pipe")))
    times = {start_us, end_us}
    for line in (first, second):
        times |= {at_us + sign * link.delay_us for at_us in (start_us, end_us, *(
            begin_us for begin_us, _ in states)) for _, link in line for sign in (-1, 0, 1)}
    return min(_over_link(first, start_us, at_us, upload) +
               _over_link(second, at_us, end_us, upload)
               for at_us in times if start_us <= at_us <= end_us)


def _arrived(states, start_us, end_us, upload):
    """Bytes that have arrived at end_us when every path sends from start_us."""
    total = 0.0
    for index, path in enumerate(states[0][1]):
        over = _over_helper if path.helper else _over_link
        total += over([(begin_us, paths[index].helper or paths[index])
                       for begin_us, paths in states], start_us, end_us, upload)
    return total


def _least_delay(states, at_us):
    paths = [paths for begin_us, paths in states if begin_us <= at_us][-1]
    delays = [path.delay_us for path in paths if not path.down]
    return min(delays or [path.delay_us for path in paths])


def least(enough, start, step, precision, limit=float("inf")):
    """The least number from start on for which enough() holds, as it does for all that
    are larger; found by halving what begins as steps that double. Infinite where it
    doesn't hold up to the limit."""
    low, high = start, start + step
    while not enough(high):
        low, high = high, start + (high - start) * 2
        if high > limit:
            return float("inf")
    while high - low > precision:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def transfer_us(scenario, size_bytes, start_us=0, upload=False):
    """The least time in microseconds for one transfer that starts at start_us.

    Infinite where the paths never carry that much.
    """
    states = timeline(scenario)
    send_us = start_us + (0 if upload else _least_delay(states, start_us))
    arrived_us = least(lambda at_us: _arrived(states, send_us, at_us, upload) >= size_bytes,
                       send_us, 1000.0, 0.5, 1e13)
    if arrived_us == float("inf"):
        return arrived_us
    # Nothing arrives before the least delay, not even no bytes at all.
    done_us = max(arrived_us, send_us + _least_delay(states, send_us))
    if upload:
        done_us += _least_delay(states, done_us)
    return done_us - start_us


def requests_us(scenario):
    """The bound of each of the scenario's requests, back to back.

    Each is the bound of a transfer that has all paths for itself, however many
    connections there are. A range of sizes has none before it is drawn.
    """
    if scenario.bytes_min != scenario.bytes_max or scenario.direction == "both":
        return []
    upload = scenario.direction == "up"
    at_us, bounds = 0.0, []
    for _ in range(scenario.requests):
        took = transfer_us(scenario, scenario.bytes_max, at_us, upload)
        bounds.append(took)
        if took == float("inf"):
            break
        at_us += took + scenario.gap_ms * 1000
    return bounds
