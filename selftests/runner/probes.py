# SPDX-License-Identifier: GPL-2.0
"""What stages ask of the machine. A container or chroot may not have it."""
import functools
import os
import shutil
import subprocess
import tempfile


def as_root(*command):
    if os.geteuid() and not shutil.which("sudo"):
        return False
    command = command if os.geteuid() == 0 else ("sudo", "-n", *command)
    return subprocess.run(command, check=False, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def has_root():
    return as_root("true")


def has_mounts():
    return as_root("unshare", "--mount", "--propagation", "private", "true")


def has_devices():
    """debootstrap makes device files; a container's user namespace forbids them."""
    with tempfile.TemporaryDirectory() as folder:
        node = os.path.join(folder, "null")
        return as_root("mknod", node, "c", "1", "3") and as_root("sh", "-c", f": >{node}")


PROBES = {
    "root": (has_root, "neither root nor sudo without a password"),
    "mounts": (has_mounts, "no private mounts here (unshare --mount): in a chroot whose / is no "
               "mount point, or in a container without the right to mount"),
    "devices": (has_devices, "no device files here (mknod), which debootstrap makes: "
                "a rootless container?"),
}


@functools.cache
def reason(name):
    """Why the machine cannot do that, or None."""
    probe, text = PROBES[name]
    return None if probe() else text
