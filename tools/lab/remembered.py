# SPDX-License-Identifier: GPL-2.0
"""Results of runs that were made before, outside the tree.

A run in virtual time is a function of what its guest reads: its scripts, the
programs they name, the kernel, the seed, and of the module only what its
scheduler consists of. All that is hashed, and what makes a result of it, which is
the laboratory; so after a change to one scheduler only that one runs again.
"""

import functools
import glob
import hashlib
import json
import os
import re
import shutil
import threading
import time

import host

OLD_S = 7 * 86400       # what nobody has asked for since then is removed
SCHEDULER = "sched_"    # begins the name of a file with one scheduler's own code


def _touch(path):
    try:
        os.utime(path)
    except OSError:
        pass


def _folder(name):
    path = os.path.join(host.cache_folder(), name)
    os.makedirs(path, exist_ok=True)
    return path


def prune():
    """Remove what is old; once for a command is enough."""
    for name in ("runs", "modules", "recordings"):
        for where, _, files in os.walk(_folder(name)):
            for file in files:
                path = os.path.join(where, file)
                try:
                    if time.time() - os.stat(path).st_mtime > OLD_S:
                        os.unlink(path)
                except OSError:
                    pass    # another one was faster


def file_hash(path):
    """Of its content."""
    with open(path, "rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()[:16]


def own_copy(path):
    """The module as it is now, wherever its build goes from here."""
    part = os.path.join(_folder("modules"), f"part.{os.getpid()}.{threading.get_ident()}")
    with host.module_lock():
        shutil.copyfile(path, part)
    name = os.path.join(_folder("modules"), f"{file_hash(part)}.ko")
    os.replace(part, name)
    return name


def _sources(places):
    """Files and folders of the project: every file of C in them."""
    for place in places:
        top = os.path.join(host.TOP, place)
        if os.path.isfile(top):
            yield top
        for where, _, files in os.walk(top):
            yield from (os.path.join(where, file) for file in files
                        if file.endswith((".c", ".h", "Kbuild")))


def _asks_others(paths, scheduler):
    """Whether it runs other schedulers' code, as redundant and, without a file of its own, rules and
    those in BPF do."""
    for path in paths:
        if os.path.basename(path) == f"{SCHEDULER}{scheduler}.c":
            with open(path, encoding="utf-8") as text:
                return bool(set(re.findall(r"pams_sched_(\w+)", text.read())) - {scheduler})
    return True


def scheduler_hash(places, scheduler):
    """Of all sources there but those of other schedulers that it doesn't ask."""
    digest = hashlib.sha256()
    paths = sorted(_sources(places))
    every = _asks_others(paths, scheduler)
    for path in paths:
        file = os.path.basename(path)
        if every or not file.startswith(SCHEDULER) or file == f"{SCHEDULER}{scheduler}.c":
            digest.update(f"{file}\0{file_hash(path)}\0".encode())
    return digest.hexdigest()[:16]


@functools.cache
def laboratory_hash():
    """Of the programs that make the scripts, and the results of what guests wrote."""
    return hashlib.sha256("".join(map(file_hash, sorted(
        glob.glob(os.path.join(host.HERE, "*.py"))))).encode()).hexdigest()[:16]


def key(folder, means, job):
    """Of the run that the guest in that folder would be."""
    digest = hashlib.sha256()
    program = os.stat(means.kernel.program)
    words = [means.kernel.folder, program.st_size, program.st_mtime_ns,
             os.path.basename(means.random_library), job.scenario.seed, laboratory_hash()]
    if means.entropy:
        words.append(means.entropy)
    if job.scheduler in means.hashes:
        words.append(means.hashes[job.scheduler])
    digest.update(repr(words).encode())
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding="utf-8") as text:
            content = text.read().replace(folder, "")
        for module in means.modules:
            content = content.replace(module, "")
        digest.update(f"{name}\0{content}\0".encode())
    return digest.hexdigest()[:32]


def _path(of_key):
    return os.path.join(_folder("runs"), of_key[:2], f"{of_key[2:]}.json")


def recall(of_key):
    """The result, or None."""
    try:
        with open(_path(of_key), encoding="utf-8") as text:
            result = json.load(text)
    except (OSError, ValueError):
        return None
    _touch(_path(of_key))
    return result


def remember(of_key, result):
    """Keep the result."""
    path = _path(of_key)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    part = f"{path}.{os.getpid()}.{threading.get_ident()}"
    with open(part, "w", encoding="utf-8") as out:
        json.dump(result, out)
    os.replace(part, path)
