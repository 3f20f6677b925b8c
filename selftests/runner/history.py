# SPDX-License-Identifier: GPL-2.0
"""What the last runs of selftests/check came to: which stages failed, how long each took."""
import json
import threading
import time


class History:
    """In one file: {"wanted": [stage...], "stages": {stage: {...}}}.

    "wanted" are the stages of the last run; a stage's entry is of the last time
    that it ended, in whichever run."""

    def __init__(self, path):
        self.path = path
        self.lock = threading.Lock()    # stages end in threads of their own
        self.wanted, self.stages = [], {}
        if path.exists():
            saved = json.loads(path.read_text())
            self.wanted, self.stages = saved["wanted"], saved["stages"]

    def save(self):
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps({"wanted": self.wanted, "stages": self.stages}, indent=1) + "\n")
        new.replace(self.path)

    def begin(self, names):
        """A run begins: none of these has ended yet."""
        self.wanted = list(names)
        for name in names:
            if name in self.stages:
                self.stages[name]["ended"] = False
        self.save()

    def ended(self, name, failed, took_s):
        with self.lock:
            self.stages[name] = {"ended": True, "failed": failed, "took_s": round(took_s, 1),
                                 "when": int(time.time())}
            self.save()

    def left(self):
        """The last run's stages that failed or did not end."""
        return [name for name in self.wanted
                if not self.stages.get(name, {}).get("ended") or self.stages[name]["failed"]]

    def took_s(self, name):
        """None if it never ended here."""
        return self.stages.get(name, {}).get("took_s")


def in_words(seconds):
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes"
