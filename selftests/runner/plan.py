# SPDX-License-Identifier: GPL-2.0
"""In which order stages run, and how long that takes."""
SLOTS = 2           # of stages that compute
SLOTS_ASLEEP = 1    # of stages that wait for real seconds most of the time, beside those


class Queue:
    """Stages in their order; one starts when what it needs has ended, and a slot is
    free. A stage that must be alone comes last, and nothing beside it."""

    def __init__(self, stages):
        self.waiting = list(stages)
        self.running = []
        names = {stage.name for stage in stages}
        # What isn't run at all, isn't waited for.
        self.missing = {stage.name: set(stage.needs) & names for stage in stages}

    def may_start(self, stage):
        beside = sum(other.asleep == stage.asleep for other in self.running)
        if beside == (SLOTS_ASLEEP if stage.asleep else SLOTS) or self.missing[stage.name]:
            return False
        if any(other.alone for other in self.running):
            return False
        return not stage.alone or (
            not self.running and all(other.alone for other in self.waiting))

    def startable(self):
        """The stages that start now."""
        started = []
        for stage in list(self.waiting):
            if self.may_start(stage):
                self.waiting.remove(stage)
                self.running.append(stage)
                started.append(stage)
        return started

    def ended(self, stage):
        self.running.remove(stage)
        for needs in self.missing.values():
            needs.discard(stage.name)


def estimate(stages, took_s, runs_s=None):
    """(seconds until all have ended, names of those of which nothing is known).

    took_s(name) is how long a stage took, or None; runs_s is {stage: seconds} of
    those that have started before."""
    runs_s = runs_s or {}
    queue, now = Queue([*runs_s, *stages]), 0.0
    queue.waiting, queue.running = list(stages), list(runs_s)
    ends = {stage: max(0.0, (took_s(stage.name) or 0) - seconds)
            for stage, seconds in runs_s.items()}
    while True:
        for stage in queue.startable():
            ends[stage] = now + (took_s(stage.name) or 0)
        if not ends:
            return now, [stage.name for stage in stages if took_s(stage.name) is None]
        first = min(ends, key=ends.get)
        now = ends.pop(first)
        queue.ended(first)
