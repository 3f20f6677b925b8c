# SPDX-License-Identifier: GPL-2.0
"""How long a cellular link's radio is on, and what that takes.

Each path's link to the mobile network is taken for LTE: a direct path's own one, a helper's
HS-path. Its packets, both ways, are noted where the device is; pamsd's reports count. The
model is the one in J. Huang et al., "A Close Examination of Performance and Power
Characteristics of 4G LTE Networks" (MobiSys 2012), section 5; MPBond's own summary prints no
parameters:

    a packet that finds the radio off turns it on          (promotion)
    up to ACTIVE_S after each packet it receives all the time (active)
    from there until TAIL_S after the last packet it waits    (tail), and goes off

On is the sum of the three. Times in seconds.
"""

from dataclasses import asdict, dataclass

from capture import LINKTYPE_ETHERNET, frames
from links import mac

PROMOTION_S = 0.2601
ACTIVE_S = 0.1          # T_i, the inactivity timer before DRX
TAIL_S = 11.576
PROMOTION_W = 1.2107
BASE_W = 1.28804        # beta, while active
UP_J_PER_BIT = 438.39e-9        # alpha_u: mW per Mbit/s are nJ per bit
DOWN_J_PER_BIT = 51.97e-9       # alpha_d
TAIL_W = 1.06


@dataclass
class Radio:
    """Of one link."""
    promotions: int = 0
    active_s: float = 0.0
    tail_s: float = 0.0
    down_bytes: int = 0
    up_bytes: int = 0

    @property
    def on_s(self):
        """All the time in which it isn't off."""
        return self.promotions * PROMOTION_S + self.active_s + self.tail_s

    @property
    def energy_j(self):
        """What that takes."""
        return (self.promotions * PROMOTION_S * PROMOTION_W + self.active_s * BASE_W
                + self.tail_s * TAIL_W + self.up_bytes * 8 * UP_J_PER_BIT
                + self.down_bytes * 8 * DOWN_J_PER_BIT)

    def as_dict(self):
        """For JSON."""
        return {**asdict(self), "on_s": round(self.on_s, 6), "energy_j": round(self.energy_j, 6)}


def of(packets):
    """Radio of a link with these packets: (time, bytes, whether down), in order of time."""
    radio, last_s = Radio(), None
    for time_s, size, down in packets:
        if down:
            radio.down_bytes += size
        else:
            radio.up_bytes += size
        if last_s is None or time_s - last_s > TAIL_S:
            _quiet(radio, TAIL_S if last_s is not None else 0)
            radio.promotions += 1
        else:
            _quiet(radio, time_s - last_s)
        last_s = time_s
    if last_s is not None:
        _quiet(radio, TAIL_S)
    return radio


def _quiet(radio, for_s):
    """So long no packet came, and the radio stayed on."""
    active_s = min(for_s, ACTIVE_S)
    radio.active_s += active_s
    radio.tail_s += for_s - active_s


def read(path, index, helped, zero_s):
    """[(time, bytes, whether down)] from zero_s on, of a capture of that path's link."""
    device = bytes.fromhex(mac("hs" if helped else "c", index).replace(":", ""))
    return [(time_s - zero_s, size, frame[:6] == device)
            for time_s, size, frame in frames(path, LINKTYPE_ETHERNET) if time_s >= zero_s]
