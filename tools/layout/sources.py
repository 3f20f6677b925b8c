# SPDX-License-Identifier: GPL-2.0
"""The kernel to build for, and where its type information is found.

Every failure is a LayoutError: one line that says what to do.
"""

import mmap
import os
import re
from pathlib import Path

from btf import Btf, BtfError, places
from image import ImageError, kernels

RUNNING_BTF = Path("/sys/kernel/btf/vmlinux")
DEBUG_VMLINUX = ("/usr/lib/debug/boot/vmlinux-{}", "/usr/lib/debug/lib/modules/{}/vmlinux")
BOOT_IMAGES = ("/boot/vmlinuz-{}", "/lib/modules/{}/vmlinuz")


class LayoutError(Exception):
    """One line that says what is wrong and what to do."""


class Kernel:
    """A directory that modules are built against."""

    def __init__(self, kdir):
        self.dir = Path(kdir)
        release = self.dir / "include/config/kernel.release"
        if not release.is_file():
            raise LayoutError(
                f"{kdir} holds no configured kernel to build for: install its headers "
                f"(apt-get install linux-headers-$(uname -r)) or give KDIR=DIR")
        self.release = release.read_text().strip()
        config = self.dir / ".config"
        if not config.is_file():
            config = self.dir / "include/config/auto.conf"
        self.config = config.read_text() if config.is_file() else ""
        if not self.has("MPTCP"):
            raise LayoutError(f"kernel {self.release} has no MPTCP: it needs CONFIG_MPTCP=y")
        if self.has("CPU_BIG_ENDIAN"):
            raise LayoutError(f"kernel {self.release} is big endian, which is not supported")

    def has(self, option):
        return f"\nCONFIG_{option}=y\n" in f"\n{self.config}"

    def header(self, name):
        """The text of a public header, wherever this kernel keeps it."""
        places = [self.dir, self.dir / "source"]
        makefile = self.dir / "Makefile"
        if makefile.is_file():
            for line in re.findall(r"^include\s+(\S+)/Makefile", makefile.read_text(), re.M):
                # as written, or beside KDIR where that is seen through a chroot
                places += [Path(line), self.dir.parent / Path(line).name]
        for place in places:
            file = place / "include" / name
            if file.is_file():
                return file.read_text(errors="replace")
        raise LayoutError(f"{self.dir} has no include/{name}: install the complete "
                          f"headers of {self.release} or give KDIR=DIR")


# --- where the types are -----------------------------------------------------

def banner_release(data):
    """The release that a kernel names in its banner, None if it has none."""
    for at in places(data, b"Linux version "):
        word = re.match(rb"[\w.+~-]+", data[at + 14:at + 14 + 128])
        if word and word[0][:1].isdigit():
            return word[0].decode()
    return None


def contents(path):
    """The bytes of a file; of an ELF file, which may have a gigabyte of debug information, a map."""
    with open(path, "rb") as file:
        if file.read(4) == b"\x7fELF":
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        file.seek(0)
        return file.read()


def read_btf(data):
    """(types, release in the banner) of BTF, of a kernel, or of a boot image."""
    reason = None
    for kernel in kernels(data):
        try:
            return Btf.of(kernel), banner_release(kernel)
        except BtfError as error:
            reason = reason or error
    raise reason


def load_btf(path, kernel, name=None):
    """BTF of a file that, as far as it tells, is of the target's release."""
    name = name or path
    try:
        types, release = read_btf(contents(path))
    except (BtfError, ImageError) as error:
        raise LayoutError(f"{name}: {error}") from None
    except OSError as error:
        raise LayoutError(f"{name}: {error.strerror}") from None
    if release and release != kernel.release:
        raise LayoutError(f"{name} is of kernel {release}, not of {kernel.release}: "
                          f"give that kernel's own with BTF=FILE")
    return types


def find_btf(kernel, given):
    """(types, where they were found)"""
    if given:
        return load_btf(Path(given), kernel), given
    reason = ""
    for place in btf_places(kernel):
        try:
            if place.is_file():
                return load_btf(place, kernel), place
        except LayoutError as error:
            reason = reason or f" ({error})"
    raise LayoutError(f"no BTF of kernel {kernel.release} found{reason}: give a vmlinux or "
                      f"vmlinuz with BTF=FILE or the kernel's full source with MPTCP_SRC=DIR")


def btf_places(kernel):
    """Files that may have it, the cheapest first."""
    yield kernel.dir / "vmlinux"
    if os.uname().release == kernel.release:
        yield RUNNING_BTF
    for name in DEBUG_VMLINUX + BOOT_IMAGES:
        yield Path(name.format(kernel.release))
