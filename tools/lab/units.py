# SPDX-License-Identifier: GPL-2.0
"""Quantities as people write them: rates, times, sizes, shares.

Inside the laboratory a rate is in bit/s, a time in microseconds, a size in
bytes and a share between 0 and 1. K, M and G are powers of 1000, as for rates
of links; Ki, Mi and Gi are powers of 1024.
"""

import re

FRAME_BITS = 1514 * 8

_NUMBER = re.compile(r"(\d+(?:\.\d+)?)([a-z%]*)", re.IGNORECASE)

_SI = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
_RATES = {f"{prefix}{unit}": factor
          for prefix, factor in _SI.items() for unit in ("bit", "bps")}
_TIMES = {"us": 1, "ms": 10**3, "s": 10**6}
_SIZES = {**_SI, "ki": 2**10, "mi": 2**20, "gi": 2**30,
          "kb": 10**3, "mb": 10**6, "gb": 10**9, "b": 1,
          "kib": 2**10, "mib": 2**20, "gib": 2**30}


class BadInput(ValueError):
    """Something the user wrote; the text says which input and what is right."""


def _parse(text, factors, what, example):
    match = _NUMBER.fullmatch(text.strip())
    factor = factors.get(match[2].lower()) if match else None
    if factor is None:
        raise BadInput(f"{what} '{text}' is not understood: write e.g. {example}")
    return float(match[1]) * factor


def rate_bps(text):
    """'8mbit' -> 8000000"""
    value = round(_parse(text, _RATES, "rate", "8mbit, 500kbit or 1gbit"))
    if not 1000 <= value <= 100 * 10**9:
        raise BadInput(f"rate '{text}' is out of range: 1kbit to 100gbit")
    return value


def time_us(text):
    """'10ms' -> 10000"""
    value = round(_parse(text, _TIMES, "time", "10ms, 500us or 1.5s"))
    if value > 3600 * 10**6:
        raise BadInput(f"time '{text}' is out of range: 0 to 3600s")
    return value


def size_bytes(text):
    """'1M' -> 1000000, '64Ki' -> 65536"""
    return round(_parse(text, _SIZES, "size", "300K, 1M or 64Ki"))


def size_range(text):
    """'1M' -> (1000000, 1000000), '1K-64K' -> (1000, 64000)"""
    if text.strip().startswith("-"):
        raise BadInput(f"size '{text}' is negative")
    low, dash, high = text.partition("-")
    low = size_bytes(low)
    high = size_bytes(high) if dash else low
    if high < low:
        raise BadInput(f"size '{text}': the range is empty")
    return low, high


def share(text):
    """'0.5%' -> 0.005"""
    value = round(_parse(text, {"%": 0.01}, "share", "0.5%"), 12)
    if value > 1:
        raise BadInput(f"share '{text}' is out of range: 0% to 100%")
    return value


def count(text, what, low, high):
    """A whole number within bounds."""
    if not text.isdecimal() or not low <= int(text) <= high:
        raise BadInput(f"{what} '{text}' is not a number from {low} to {high}")
    return int(text)


def rate_text(bps):
    """8000000 -> '8 Mbit/s'"""
    for unit, factor in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if bps >= factor:
            return f"{bps / factor:g} {unit}bit/s"
    return f"{bps} bit/s"


def time_text(us):
    """10000 -> '10 ms'"""
    return f"{us / 1000:g} ms" if us < 10**6 else f"{us / 10**6:g} s"


def size_text(low, high=None):
    """1000000 -> '1 MB'"""
    if high not in (None, low):
        return f"{size_text(low)} to {size_text(high)}"
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if low >= factor:
            return f"{low / factor:.4g} {unit}"
    return f"{low} bytes"
