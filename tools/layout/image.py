# SPDX-License-Identifier: GPL-2.0
"""The kernel in a boot image: the bytes of vmlinuz, decompressed.

A bzImage (x86) or an EFI zboot image (arm64) is a small program that unpacks the
compressed kernel behind it; another Image is the kernel itself, plain or as a
gzip file.  The kernel's start is found by the first bytes that each compressor
writes, as scripts/extract-vmlinux does it.  What follows the compressed data, such
as a signature for Secure Boot, is ignored.
"""

import bz2
import lzma
import shutil
import subprocess
import zlib

from btf import places


class ImageError(Exception):
    """A compressed kernel that can't be decompressed here."""


def by_python(decompressor, *arguments):
    """Decompress with a class of Python's own, which stops where the stream ends."""
    def decompress(data):
        try:
            return decompressor(*arguments).decompress(data)
        except (OSError, EOFError, lzma.LZMAError, zlib.error):
            return b""
    return decompress


def by_program(*command):
    """Decompress with a program, which complains of what follows but writes all before."""
    def decompress(data):
        if not shutil.which(command[0]):
            raise ImageError(command[0])
        return subprocess.run(command, input=data, capture_output=True, check=False).stdout
    return decompress


# the first bytes of compressed data: what decompresses it. LZ4 is what `lz4 -l` writes.
FORMATS = {
    b"\x1f\x8b\x08": by_python(zlib.decompressobj, 16 + zlib.MAX_WBITS),
    b"\xfd7zXZ\0": by_python(lzma.LZMADecompressor),
    b"BZh": by_python(bz2.BZ2Decompressor),
    b"\x28\xb5\x2f\xfd": by_program("zstd", "-dcq"),
    b"\x02\x21\x4c\x18": by_program("lz4", "-dcq"),
}


def kernels(data):
    """The image itself and, unless it is an ELF file, all that can be decompressed out of it; one is the kernel.

    First bytes occur by chance, too: such data give nothing, or nothing of use.
    """
    yield data
    if data[:4] == b"\x7fELF":
        return
    lacking = []
    for first, decompress in FORMATS.items():
        for at in places(data, first):
            try:
                found = decompress(data[at:])
            except ImageError as error:
                lacking.append(str(error))
                break
            if found:
                yield found
    if lacking:
        programs = " or ".join(lacking)
        raise ImageError(f"it is compressed with {programs}: install {programs}")
