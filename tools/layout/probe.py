# SPDX-License-Identifier: GPL-2.0
"""The types of a kernel without BTF, out of MPTCP's source.

The kernel's own build compiles the structs, and the compiler writes BTF.  Source of
another release is taken if it is proven to have the kernel's structs: genksyms makes
of an exported function a CRC over the text of every type that its prototype leads to,
and the CRC of this source has to be that in the kernel's Module.symvers.  So what is
kept of one kernel's source does for the next ones, until a struct changes.  The CRC
leaves out attributes, such as packed, which MPTCP's structs don't have.
"""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from sources import LayoutError, load_btf

KEPT = Path("/var/lib/mptcp-pams-source")   # RELEASE/net/mptcp/FILE
FILES = ("token.c", "protocol.h", "mptcp_pm_gen.h")
SYMBOL = "mptcp_token_get_sock"             # token.c exports it


def source_release(tree):
    """VERSION.PATCHLEVEL.SUBLEVEL of a source tree."""
    text = (tree / "Makefile").read_text()
    return ".".join(re.findall(r"^(?:VERSION|PATCHLEVEL|SUBLEVEL) *= *(\d+)$", text, re.M))


def build(kernel, tree, first, structs, temp):
    """Types of the structs, as the kernel's build has them after that file of net/mptcp.

    Needs gcc 12 or newer, which has -gbtf.
    """
    objects = "".join(f"struct {name} pams_{name};\n" for name in structs)
    # an outer make's flags and kbuild's own variables are not for the inner one
    env = {key: value for key, value in os.environ.items()
           if not re.match(r"MAKE|MFLAGS$|KBUILD_|M$", key)}
    if kernel.has("UML"):
        env["ARCH"] = "um"
    Path(temp, "Kbuild").write_text(f"obj-m := probe.o\nccflags-y := -I{tree}/net/mptcp -gbtf\n")
    Path(temp, "probe.c").write_text(f'#include "{first}"\n{objects}')
    done = subprocess.run(["make", "-s", "-C", str(kernel.dir), f"M={temp}", "KBUILD_SYMTYPES=1", "probe.o"],
                          env=env, stdin=subprocess.DEVNULL, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    output = Path(temp, "probe.o")
    if done.returncode or not output.is_file():
        reasons = re.findall(r".*(?:error:|\*\*\*).*", done.stdout) or ["no reason given"]
        raise LayoutError(f"the probe of MPTCP_SRC={tree} does not compile against "
                          f"{kernel.dir}: {reasons[0].strip()}")
    return load_btf(output, kernel, "probe.o, compiled with -gbtf")


def crc_in(file, before):
    """The CRC that a file has for SYMBOL; 0, as in a kernel without CRCs, if it has none."""
    text = file.read_text() if file.is_file() else ""
    found = re.search(before, text, re.M)
    return int(found[1], 16) if found else 0


def prove(kernel, tree, structs):
    """The types, if they are the kernel's whatever release the source is of."""
    wanted = crc_in(kernel.dir / "Module.symvers", rf"^0x([0-9a-f]+)\t{SYMBOL}\t")
    if not wanted:
        raise LayoutError(f"the kernel has no CRC of {SYMBOL} that would prove its structs the same")
    with tempfile.TemporaryDirectory() as temp:
        types = build(kernel, tree, "token.c", structs, temp)
        found = crc_in(Path(temp, ".probe.o.cmd"), rf"#SYMVER {SYMBOL} 0x([0-9a-f]+)")
        if found != wanted:
            raise LayoutError(f"its structs are others: {SYMBOL} has CRC {found:#x}, not {wanted:#x}")
        reached = Path(temp, "probe.symtypes").read_text()
    for name in structs:
        if not re.search(rf"^s#{name} struct {name} \{{ (?!UNKNOWN)", reached, re.M):
            raise LayoutError(f"the CRC of {SYMBOL} doesn't cover struct {name}")
    return types


def compile_probe(kernel, tree, structs):
    """The types out of a full source tree."""
    tree = Path(tree).resolve()
    if not (tree / "net/mptcp/protocol.h").is_file():
        raise LayoutError(f"MPTCP_SRC={tree} has no net/mptcp/protocol.h: give the full "
                          f"source of kernel {kernel.release}")
    release = source_release(tree)
    if re.match(r"[\d.]*", kernel.release)[0].rstrip(".") == release:
        with tempfile.TemporaryDirectory() as temp:
            return build(kernel, tree, "protocol.h", structs, temp)
    try:
        return prove(kernel, tree, structs)
    except LayoutError as error:
        raise LayoutError(f"MPTCP_SRC={tree} is of kernel {release}, not of {kernel.release}, "
                          f"and {error}: give that kernel's source") from None


def keep(kernel, tree, structs):
    """Keep what the next kernels may need of a full source tree."""
    tree = Path(tree).resolve()
    try:
        prove(kernel, tree, structs)
    except LayoutError as error:
        raise LayoutError(f"MPTCP_SRC={tree} is not kept for later kernels than {kernel.release}: {error}") from None
    place = KEPT / kernel.release / "net/mptcp"
    place.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        shutil.copyfile(tree / "net/mptcp" / name, place / name)


def find_kept(kernel, structs):
    """(types, where they were found) of the newest kept source that has the kernel's structs"""
    found = sorted(KEPT.glob("*/net/mptcp"), key=lambda place: place.stat().st_mtime, reverse=True)
    reasons = []
    for place in found:
        try:
            return prove(kernel, place.parents[1], structs), place.parents[1]
        except LayoutError as error:
            reasons.append(f"; kept in {place.parents[1]}: {error}")
    raise LayoutError(reasons[0] if reasons else "")
