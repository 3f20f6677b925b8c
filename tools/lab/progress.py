# SPDX-License-Identifier: GPL-2.0
"""A sign of life on standard error: a line that changes on a terminal, else one
line for each run that has ended."""

import sys
import threading
import time


class Progress:
    """Counts runs; safe to call from several threads."""

    def __init__(self, quiet=False, out=sys.stderr):
        self._out = out
        self._quiet = quiet
        self._live = out.isatty()
        self._lock = threading.Lock()
        self._running, self._done, self._total = [], 0, 0
        self._began = time.monotonic()
        self._stop = threading.Event()
        self._thread = None

    def __enter__(self):
        if self._live and not self._quiet:
            self._thread = threading.Thread(target=self._tick, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        if self._thread:
            self._thread.join()
            self._write("\r\033[K")

    def total(self, count):
        """How many runs there will be."""
        self._total += count

    def began(self, name):
        """A run has started."""
        with self._lock:
            self._running.append(name)

    def ended(self, name, result):
        """A run has ended; result may tell its mean and wall time."""
        with self._lock:
            self._running.remove(name)
            self._done += 1
            if not self._live:
                mean = result.get("mean_s")
                said = f"mean {mean:.4f} s" if mean is not None else "nothing arrived"
                self._write(f"lab: {self._done}/{self._total} {name}: "
                            f"{result.get('said', said)} ({result['wall_s']:.1f} s wall)\n")

    def _write(self, text):
        if not self._quiet:
            self._out.write(text)
            self._out.flush()

    def _tick(self):
        while not self._stop.wait(0.2):
            with self._lock:
                names = ", ".join(self._running[:3])
                self._write(f"\r\033[Klab: {self._done}/{self._total} done, running {names}"
                            f" ({time.monotonic() - self._began:.0f} s)"[:100])
