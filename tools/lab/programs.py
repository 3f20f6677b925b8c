# SPDX-License-Identifier: GPL-2.0
"""Schedulers in BPF in the laboratory.

User-mode kernels have no JIT, which BPF's struct_ops needs. So the same source is
compiled to a module, with tools/lab/pams.bpf.h in place of examples/bpf/pams.bpf.h.
bpf.sh shows that both answer the same.
"""

import hashlib
import os
import re

import host
from host import LabError

HEADER = os.path.join(host.HERE, "pams.bpf.h")
ENDING = ".bpf.c"
# parameter of the module: function of mptcp_pams, whose address it is
FUNCTIONS = {"attach": "pams_sched_attach", "detach": "pams_sched_detach",
             "arrival": "model_arrival_us", "carried": "model_carried_bytes"}


def name_of(source):
    """The scheduler that a file FILE.bpf.c has."""
    try:
        with open(source, encoding="utf-8") as text:
            found = re.findall(r"^PAMS_SCHEDULER\((\w+)", text.read(), re.MULTILINE)
    except OSError as error:
        raise LabError(f"{source}: {error.strerror}") from None
    if len(found) != 1:
        raise LabError(f"{source} has {len(found)} lines PAMS_SCHEDULER(NAME, ...), not one: "
                       "see Documentation/write-a-scheduler.md")
    return found[0]


def _read(path):
    with open(path, encoding="utf-8") as text:
        return text.read()


def module(of_kernel, source):
    """The module of that source, built where missing."""
    host.module(of_kernel)      # its headers and layout
    name = f"{name_of(source)}_bpf"
    texts = {f"{name}.c": re.sub(r'(#include ").*/(pams\.bpf\.h")', r"\1\2", _read(source)),
             "pams.bpf.h": _read(HEADER),
             "Kbuild": f"obj-m := {name}.o\nccflags-y := $(PAMS_CFLAGS)\n"}
    digest = hashlib.sha256(repr(texts).encode()).hexdigest()[:16]
    folder = os.path.join(host.TOP, "build", of_kernel.release, "programs", digest)
    with host.module_lock():
        os.makedirs(folder, exist_ok=True)
        for file, text in texts.items():
            path = os.path.join(folder, file)
            if not os.path.exists(path):
                with open(path, "w", encoding="utf-8") as out:
                    out.write(text)
        return host.build_in(of_kernel, folder, name)


def load_line(scheduler, path):
    """The guest's line that loads its module: the functions' addresses are in /proc/kallsyms."""
    words = "; ".join(f"s/^\\([0-9a-f]*\\) . {function}\\t.*/{name}=0x\\1/p"
                      for name, function in FUNCTIONS.items())
    return (f"insmod {path} $(sed -n '{words}' /proc/kallsyms) || "
            f"fail 'the scheduler {scheduler} does not load'")
