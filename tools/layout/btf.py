# SPDX-License-Identifier: GPL-2.0
"""A reader of BTF, the kernel's own type information (Documentation/bpf/btf.rst).

Input is a raw blob (/sys/kernel/btf/vmlinux), an ELF file with a .BTF section, or
a kernel as it lies in memory (arm64's Image), which has the blob somewhere.  Offsets of members are in bits from the start of the outermost
struct, sizes of types in bytes.
"""

import struct
from dataclasses import dataclass

BTF_MAGIC = 0xEB9F
(INT, PTR, ARRAY, STRUCT, UNION, ENUM, FWD, TYPEDEF, VOLATILE, CONST, RESTRICT,
 FUNC, FUNC_PROTO, VAR, DATASEC, FLOAT, DECL_TAG, TYPE_TAG, ENUM64) = range(1, 20)
TRANSPARENT = (TYPEDEF, VOLATILE, CONST, RESTRICT, TYPE_TAG)

# kind: bytes after the 12 of struct btf_type, bytes for each of its vlen elements
KIND_LAYOUT = {
    INT: (4, 0), PTR: (0, 0), ARRAY: (12, 0), STRUCT: (0, 12), UNION: (0, 12),
    ENUM: (0, 8), FWD: (0, 0), TYPEDEF: (0, 0), VOLATILE: (0, 0), CONST: (0, 0),
    RESTRICT: (0, 0), FUNC: (0, 0), FUNC_PROTO: (0, 8), VAR: (4, 0),
    DATASEC: (0, 12), FLOAT: (0, 0), DECL_TAG: (4, 0), TYPE_TAG: (0, 0),
    ENUM64: (0, 12),
}
INT_SIGNED, INT_BOOL = 1, 4


class BtfError(Exception):
    """The file holds no BTF, or BTF that can't be read."""


@dataclass
class Type:
    kind: int
    name: str
    vlen: int
    kind_flag: bool
    size: int           # bytes; for a modifier or a pointer the type id meant
    pos: int            # where the data after struct btf_type starts


@dataclass
class Member:
    bit_offset: int     # from the start of the outermost struct
    bit_size: int       # 0: not a bit field
    type_id: int


def elf_section(data, wanted):
    """The section of a little-endian ELF file, None if it has no such section."""
    if data[:4] != b"\x7fELF":
        raise BtfError("not an ELF file")
    if data[5] != 1:
        raise BtfError("big endian, which is not supported")
    if data[4] == 2:
        shoff, = struct.unpack_from("<Q", data, 0x28)
        shentsize, shnum, shstrndx = struct.unpack_from("<HHH", data, 0x3A)
        head, place = "<IIQQQQ", "<QQ"
    else:
        shoff, = struct.unpack_from("<I", data, 0x20)
        shentsize, shnum, shstrndx = struct.unpack_from("<HHH", data, 0x2E)
        head, place = "<IIIIII", "<II"

    def section(index):
        at = shoff + index * shentsize
        name, _type, _flags, _addr, offset, size = struct.unpack_from(head, data, at)
        return name, offset, size

    if shnum == 0 and shoff:    # more than 65279 sections: the count is in the first
        at = shoff + (0x20 if place == "<QQ" else 0x14)
        shnum = struct.unpack_from(place[:2], data, at)[0]
    if shstrndx == 0xFFFF:
        at = shoff + (0x28 if place == "<QQ" else 0x18)
        shstrndx, = struct.unpack_from("<I", data, at)
    if not shnum:
        return None
    _, names, _ = section(shstrndx)
    for index in range(shnum):
        name, offset, size = section(index)
        end = data.find(b"\0", names + name)
        if data[names + name:end] == wanted:
            return bytes(data[offset:offset + size])
    return None


def largest_blob(data):
    """The most BTF that lies in one piece in a kernel's bytes: programs in it have theirs, too."""
    found = b""
    for hdr_len in (24, 32):    # with 32 the header tells the layout of kinds
        for at in places(data, struct.pack("<HBBI", BTF_MAGIC, 1, 0, hdr_len)):
            sizes = data[at + 8:at + 24].ljust(16, b"\xff")
            type_off, type_len, str_off, str_len = struct.unpack("<IIII", sizes)
            size = hdr_len + max(type_off + type_len, str_off + str_len)
            if len(found) < size <= len(data) - at:
                found = data[at:at + size]
    return found


def places(data, word):
    """Where a word occurs in bytes."""
    at = data.find(word)
    while at >= 0:
        yield at
        at = data.find(word, at + 1)


class Btf:
    """The types of one kernel."""

    def __init__(self, blob):
        self.blob = blob
        if len(blob) < 24:
            raise BtfError("BTF cut short")
        magic, version, _flags, hdr_len = struct.unpack_from("<HBBI", blob)
        if magic == 0x9FEB:
            raise BtfError("big endian, which is not supported")
        if magic != BTF_MAGIC or version != 1:
            raise BtfError(f"not BTF (magic {magic:#x}, version {version})")
        type_off, type_len, str_off, str_len = struct.unpack_from("<IIII", blob, 8)
        self._strings = hdr_len + str_off
        if max(hdr_len + type_off + type_len, self._strings + str_len) > len(blob):
            raise BtfError("BTF cut short")
        try:
            self._parse(hdr_len, hdr_len + type_off, hdr_len + type_off + type_len)
        except (struct.error, ValueError):
            raise BtfError("BTF cut short") from None
        self.long_size = self._find_long()

    @classmethod
    def of(cls, data):
        """From the bytes of a file."""
        if data[:4] == b"\x7fELF":
            try:
                blob = elf_section(data, b".BTF")
            except (struct.error, IndexError):
                raise BtfError("ELF file cut short") from None
            if not blob:
                raise BtfError("no .BTF section")
        else:
            blob = data if data[:2] in (b"\x9f\xeb", b"\xeb\x9f") else largest_blob(data)
            if not blob:
                raise BtfError("no BTF in it")
        return cls(blob)

    def _parse(self, hdr_len, pos, end):
        layout = dict(KIND_LAYOUT)
        if hdr_len >= 32:       # newer kernels describe kinds we don't know
            layout_off, layout_len = struct.unpack_from("<II", self.blob, 24)
            for kind in range(layout_len // 4):
                layout.setdefault(kind, struct.unpack_from(
                    "<BB", self.blob, hdr_len + layout_off + 4 * kind))
        self.types = [None]     # by type id; 0 is void
        self.names = {}         # (kind, name): type ids
        while pos < end:
            name_off, info, size = struct.unpack_from("<III", self.blob, pos)
            kind, vlen = info >> 24 & 0x7F, info & 0xFFFFFF
            if kind not in layout:
                raise BtfError(f"BTF kind {kind} unknown")
            name = self._string(name_off)
            self.names.setdefault((kind, name), []).append(len(self.types))
            self.types.append(Type(kind, name, vlen, bool(info >> 31), size, pos + 12))
            after, each = layout[kind]
            pos += 12 + after + each * vlen

    def _string(self, offset):
        start = self._strings + offset
        return self.blob[start:self.blob.index(b"\0", start)].decode("ascii", "replace")

    def _find_long(self):
        for name in ("long unsigned int", "unsigned long"):
            for type_id in self.names.get((INT, name), ()):
                return self.types[type_id].size
        return 8

    def find(self, kind, name):
        """The id of a named type, 0 if there is none."""
        return self.names.get((kind, name), [0])[0]

    def strip(self, type_id):
        """Through typedefs and qualifiers to the type itself."""
        while type_id and self.types[type_id].kind in TRANSPARENT:
            type_id = self.types[type_id].size
        return type_id

    def members(self, type_id, base=0):
        """name -> Member; those of anonymous structs and unions included."""
        found = {}
        this = self.types[type_id]
        for index in range(this.vlen):
            name_off, member_type, offset = struct.unpack_from(
                "<III", self.blob, this.pos + 12 * index)
            bits = offset >> 24 if this.kind_flag else 0
            offset = base + (offset & 0xFFFFFF if this.kind_flag else offset)
            name = self._string(name_off)
            inner = self.strip(member_type)
            if name:
                found.setdefault(name, Member(offset, bits, member_type))
            elif inner and self.types[inner].kind in (STRUCT, UNION):
                for key, member in self.members(inner, offset).items():
                    found.setdefault(key, member)
        return found

    def int_info(self, type_id):
        """(size in bytes, signed, bool) of an INT type."""
        this = self.types[type_id]
        info, = struct.unpack_from("<I", self.blob, this.pos)
        return this.size, bool(info >> 24 & INT_SIGNED), bool(info >> 24 & INT_BOOL)

    def size_of(self, type_id):
        """Bytes."""
        type_id = self.strip(type_id)
        if not type_id:
            return 0
        this = self.types[type_id]
        if this.kind == PTR:
            return self.long_size
        if this.kind == ARRAY:
            element, _index, count = struct.unpack_from("<III", self.blob, this.pos)
            return count * self.size_of(element)
        return this.size

    def prototype(self, name):
        """A function in C's words, "" if there is none of that name."""
        func = self.find(FUNC, name)
        if not func:
            return ""
        proto = self.types[self.types[func].size]
        words = [self.describe(struct.unpack_from("<I", self.blob, proto.pos + 8 * index + 4)[0])
                 for index in range(proto.vlen)]
        return f"{self.describe(proto.size)} ({', '.join(words)})"

    def describe(self, type_id):
        """A type in C's words, typedefs and qualifiers removed."""
        type_id = self.strip(type_id)
        if not type_id:
            return "void"
        this = self.types[type_id]
        if this.kind == PTR:
            return self.describe(this.size) + " *"
        if this.kind == INT:
            size, signed, is_bool = self.int_info(type_id)
            return "bool" if is_bool else f"{'s' if signed else 'u'}{8 * size}"
        if this.kind == FWD:
            return f"{'union' if this.kind_flag else 'struct'} {this.name}"
        word = {STRUCT: "struct", UNION: "union", ENUM: "enum", ENUM64: "enum",
                ARRAY: "array", FUNC_PROTO: "function", FLOAT: "float"}.get(this.kind, "type")
        return f"{word} {this.name or '(unnamed)'}"
