# SPDX-License-Identifier: GPL-2.0
"""Kernels for the tests: a made-up one, and those found on this machine."""

import bz2
import gzip
import lzma
import os
import subprocess
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
LAYOUT = HERE.parent / "layout.py"
FIELDS = tomllib.loads((HERE.parent / "fields.toml").read_text())
RELEASE = "6.99.1-test"

# stand-ins for what the generated header takes from public headers
PUBLIC = """
typedef unsigned char u8; typedef signed short s16; typedef unsigned short u16;
typedef unsigned int u32; typedef unsigned long long u64; typedef _Bool bool;
struct list_head { struct list_head *next, *prev; };
struct work_struct { unsigned long data; struct list_head entry; void *func; };
struct inet_connection_sock { char data[1000]; unsigned long end; };
struct sock;
"""
GET_SUBFLOW = "struct mptcp_sched_ops { int (*get_subflow)(void); char name[16]; } ops;"
GET_SEND = "struct mptcp_sched_ops { int (*get_send)(void); int (*get_retrans)(void); } ops;"


def c_member(name, spec):
    """A declaration in C for a field of the table."""
    c_type = spec if isinstance(spec, str) else spec["type"]
    return f"u32 {name} : 1;" if c_type == "flag" else f"{c_type} {name};"


def c_structs(change=None):
    """The structs of the table as a kernel might have them.

    Holes, an anonymous struct and lone bits see to it that offsets are not trivial.
    change: (struct, field): declaration instead of the usual, "" for none
    """
    text = [PUBLIC, *(f"struct {name};" for name in FIELDS["struct"])]
    for struct, fields in FIELDS["struct"].items():
        text.append(f"struct {struct} {{")
        for number, (name, spec) in enumerate(fields.items()):
            text.append((change or {}).get((struct, name), c_member(name, spec)))
            if number == 0:
                text.append("union { struct { u32 first_hole; struct { u8 x;")
            elif number % 3 == 0:
                text.append(f"u32 gap{number} : {1 + number % 5}; u8 hole{number};")
        text += ["}; }; u64 other; };", "u64 last; };"]
    return "\n".join(text)


def compile_btf(directory, text):
    """An object file with BTF of everything declared in text."""
    source = Path(directory, "kernel.c")
    source.write_text(text)
    output = Path(directory, "kernel.o")
    subprocess.run(["gcc", "-c", "-gbtf", "-o", output, source], check=True)
    return output


def btf_of(vmlinux):
    """Its section, as another program finds it."""
    return subprocess.run(["objcopy", "-O", "binary", "--only-section=.BTF", "--set-section-flags", ".BTF=alloc",
                           vmlinux, "/dev/stdout"], check=True, capture_output=True).stdout


class FakeKernel:
    """As much of a KDIR as layout.py looks at."""

    def __init__(self, directory, change=None, ops=GET_SUBFLOW, config="CONFIG_MPTCP=y\n",
                 header="", vmlinux=True, release=RELEASE):
        self.dir = Path(directory)
        self.out = self.dir / "out.h"
        (self.dir / "include/config").mkdir(parents=True)
        (self.dir / "include/net").mkdir()
        (self.dir / "include/linux").mkdir()
        (self.dir / "include/config/kernel.release").write_text(release + "\n")
        (self.dir / "include/net/inet_connection_sock.h").write_text(header)
        (self.dir / "include/linux/hrtimer.h").touch()
        (self.dir / "include/net/mptcp.h").write_text(ops)
        (self.dir / ".config").write_text(config)
        self.text = c_structs(change) + ops
        objects = "".join(f"struct {name} o_{name};" for name in FIELDS["struct"])
        if vmlinux:
            compile_btf(directory, self.text + objects).rename(self.dir / "vmlinux")

    def run(self, *arguments):
        """(exit status, stderr) of layout.py"""
        done = subprocess.run(
            [sys.executable, LAYOUT, "--kdir", self.dir, "-o", self.out, *arguments],
            text=True, capture_output=True, check=False)
        return done.returncode, done.stderr

    def add_build(self):
        """A Makefile that can compile probe.o as the kernel's own would."""
        (self.dir / "Makefile").write_text(
            "include $(M)/Kbuild\n%.o:\n\tgcc -c $(ccflags-y) -o $(M)/$@ $(M)/$*.c\n")

    def add_crc(self, reached=(*FIELDS["struct"], "mptcp_sched_ops")):
        """A build that makes CRCs too, of protocol.h as it stands, and the kernel's own."""
        self.add_build()
        types = "\\n".join(f"s#{name} struct {name} {{ {'int x ; ' if name in reached else 'UNKNOWN '}}}"
                           for name in (*FIELDS["struct"], "mptcp_sched_ops"))
        with open(self.dir / "Makefile", "a", encoding="ascii") as file:
            file.write("\techo '#SYMVER mptcp_token_get_sock 0x'$$(cksum <$(patsubst -I%,%,$(filter -I%,$(ccflags-y)))/protocol.h | "
                       f"cut -d' ' -f1) >$(M)/.$@.cmd\n\tprintf '{types}\\n' >$(M)/$*.symtypes\n")
        crc = subprocess.run(["cksum"], input=self.text, text=True, capture_output=True, check=True).stdout.split()[0]
        (self.dir / "Module.symvers").write_text(f"0x{crc}\tmptcp_token_get_sock\tvmlinux\tEXPORT_SYMBOL_GPL\t\n")


def by_program(*command):
    """Compress with a program."""
    return lambda data: subprocess.run(command, input=data, capture_output=True, check=True).stdout


# as the kernel's build calls them (scripts/Makefile.lib)
COMPRESSORS = {
    "gzip": gzip.compress,
    "xz": lambda data: lzma.compress(data, check=lzma.CHECK_CRC32, filters=[
        {"id": lzma.FILTER_X86}, {"id": lzma.FILTER_LZMA2, "dict_size": 32 << 20}]),
    "bzip2": bz2.compress,
    "zstd": by_program("zstd", "-22", "--ultra", "-qc"),
    "lz4": by_program("lz4", "-l", "-9", "-c"),
}


def boot_image(directory, payload, release=RELEASE):
    """A bzImage as far as it matters: code with bytes that look like data of each compressor, payload, signature."""
    chance = b"\x1f\x8b\x08\0 \xfd7zXZ\0 BZh9 \x28\xb5\x2f\xfd \x02\x21\x4c\x18 \x9f\xeb\1\0\x18\0\0\0"
    image = Path(directory, f"vmlinuz-{release}")
    image.write_bytes(b"MZ" + 500 * b"code" + chance + payload + 100 * b"signature")
    return image


def with_banner(kernel, release=RELEASE):
    """The bytes of a made-up kernel's vmlinux, with the release in it."""
    return (kernel.dir / "vmlinux").read_bytes() + f"Linux version {release} (me) #1\0".encode()


def source_tree(directory, text, release):
    """A full source tree, as far as --mptcp-src looks at it."""
    tree = Path(directory)
    (tree / "net/mptcp").mkdir(parents=True)
    (tree / "net/mptcp/protocol.h").write_text(text)
    (tree / "net/mptcp/token.c").write_text('#include "protocol.h"\n')
    (tree / "net/mptcp/mptcp_pm_gen.h").touch()
    version = release.split("-", maxsplit=1)[0].split(".")
    (tree / "Makefile").write_text("VERSION = {}\nPATCHLEVEL = {}\nSUBLEVEL = {}\n".format(*version))
    return tree


def real_kernels():
    """Build directories to test with.

    $LAYOUT_KDIRS, or else what tools/kernels has in the cache and the headers
    installed here.
    """
    named = os.environ.get("LAYOUT_KDIRS", "").split()
    if named:
        return [Path(name) for name in named]
    home_cache = os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")
    cache = Path(os.environ.get("MPTCP_PAMS_CACHE", Path(home_cache, "mptcp-pams")))
    found = [*cache.glob("um/*/build"), *cache.glob("stock/*/usr/src/linux-headers-*"),
             *Path("/usr/src").glob("linux-headers-*")]
    return sorted(path for path in found if (path / "vmlinux").is_file()
                  and (path / "include/config/kernel.release").is_file())


def boot_image_of(kdir):
    """The boot image that tools/kernels/stock keeps for these headers, None if there is none."""
    release = (kdir / "include/config/kernel.release").read_text().strip()
    image = kdir.parents[3] / release / "vmlinuz"
    return image if image.is_file() else None
