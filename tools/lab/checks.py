# SPDX-License-Identifier: GPL-2.0
"""Figures that have to be reached, as lines of TAP."""

from dataclasses import dataclass, field


@dataclass
class Checks:
    """Collects "ok" and "not ok"."""
    found: list = field(default_factory=list)

    def at_most(self, text, value, limit, unit="", scale=1, digits=0):
        """Fails where there is no value, too."""
        good = value is not None and value <= limit
        said = "nothing" if value is None else f"{value * scale:.{digits}f}"
        self.found.append((good, f"{text}: {said}, at most {limit * scale:.{digits}f} {unit}"))

    def at_least(self, text, value, limit, unit="", scale=1, digits=0):
        """Fails where there is no value, too."""
        good = value is not None and value >= limit
        said = "nothing" if value is None else f"{value * scale:.{digits}f}"
        self.found.append((good, f"{text}: {said}, at least {limit * scale:.{digits}f} {unit}"))

    @property
    def good(self):
        """Was every figure reached?"""
        return all(good for good, _ in self.found)

    def lines(self):
        """With the plan, as a TAP reader wants it."""
        out = [f"1..{len(self.found)}"]
        out += [f"{'ok' if good else 'not ok'} {number} - {text.strip()}"
                for number, (good, text) in enumerate(self.found, 1)]
        return out

    def as_list(self):
        """For JSON."""
        return [{"ok": good, "text": text.strip()} for good, text in self.found]
