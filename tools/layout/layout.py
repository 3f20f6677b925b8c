#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Write the C header with MPTCP's private struct layouts for one kernel.

    layout.py --kdir KDIR [--btf FILE] [--mptcp-src DIR [--keep]] -o FILE.h

The layouts come from the target kernel's own BTF, which is looked for in

    1. --btf FILE
    2. KDIR/vmlinux (Debian's headers ship one that holds only BTF)
    3. /sys/kernel/btf/vmlinux, if the running kernel is the target
    4. a vmlinux with debug information, installed for the target's release
    5. the boot image of that release, /boot/vmlinuz-RELEASE

or, with --mptcp-src, from the kernel's full source; or from what --keep kept of the
source of a kernel with the same structs (probe.py).  Each struct becomes a union of
members at the offsets found, with assertions that the compiler agrees.  Which fields:
fields.toml.  Anything missing or of another type ends in one line on
stderr and exit 1, without an output file.
"""

import argparse
import re
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import btf
from probe import compile_probe, find_kept, keep
from sources import Kernel, LayoutError, find_btf

FIELDS = Path(__file__).resolve().parent / "fields.toml"


@dataclass
class Field:
    struct: str
    name: str
    c_type: str
    offset: int         # bytes
    size: int           # bytes
    bit: int = -1       # of a bit field: bits after offset


# --- the fields --------------------------------------------------------------

def expected_type(c_type, types):
    """The declared type as Btf.describe() would name it."""
    if c_type.startswith("struct ") or c_type == "bool":
        return c_type
    sizes = {"int": ("s", 4), "unsigned int": ("u", 4),
             "long": ("s", types.long_size), "unsigned long": ("u", types.long_size)}
    if c_type in sizes:
        sign, size = sizes[c_type]
        return f"{sign}{8 * size}"
    if re.fullmatch(r"[us](8|16|32|64)", c_type):
        return c_type
    raise LayoutError(f"fields.toml: type {c_type!r} is not one that layout.py knows")


def find_field(types, struct, name, spec, member):
    """Check one member against its declaration."""
    if isinstance(spec, str):
        spec = {"type": spec}
    wanted, where = spec["type"], f"struct {struct}.{name}"
    found = types.describe(member.type_id)
    if member.bit_size:
        if wanted != "flag" or member.bit_size != 1:
            raise LayoutError(f"{where}: found a bit field of {member.bit_size}, "
                              f"expected {wanted}")
        return Field(struct, name, "u32", member.bit_offset // 32 * 4, 4,
                     member.bit_offset % 32)
    if wanted == "flag":
        if found not in ("bool", "u8"):
            raise LayoutError(f"{where}: found {found}, expected a flag (1 bit, bool or u8)")
        wanted = found
    if found != expected_type(wanted, types):
        raise LayoutError(f"{where}: found {found}, expected {wanted}")
    offset = member.bit_offset // 8
    if "at" in spec and offset != spec["at"]:
        raise LayoutError(f"{where}: found at offset {offset}, expected {spec['at']}")
    return Field(struct, name, wanted, offset, types.size_of(member.type_id))


def find_structs(types, table, kernel):
    """struct name -> (size, fields in the order of their offsets)"""
    result = {}
    for struct, fields in table["struct"].items():
        type_id = types.find(btf.STRUCT, struct)
        if not type_id:
            raise LayoutError(f"struct {struct} is not in the types of kernel "
                              f"{kernel.release}: is it built with CONFIG_MPTCP=y?")
        members = types.members(type_id)
        found = []
        for name, spec in fields.items():
            if name not in members:
                c_type = spec if isinstance(spec, str) else spec["type"]
                raise LayoutError(f"struct {struct}.{name}: found no such field, "
                                  f"expected {c_type}")
            found.append(find_field(types, struct, name, spec, members[name]))
        found.sort(key=lambda field: (field.offset, field.bit))
        result[struct] = types.size_of(type_id), found
    return result


def find_features(types, table, kernel):
    """The names of the features that this kernel has."""
    found = []
    for name, spec in table["feature"].items():
        if "struct" in spec:
            type_id = types.find(btf.STRUCT, spec["struct"])
            has = bool(type_id) and spec["member"] in types.members(type_id)
        else:
            has = re.search(rf"\b{spec['function']}\s*\(", kernel.header(spec["header"]))
        if has:
            found.append(name)
    need = table["require"]
    if not set(need["any"]) & set(found):
        raise LayoutError(f"{need['else']} (kernel {kernel.release})")
    return found


def check_functions(types, table):
    """The functions that symbols.c finds by name are called with these arguments.

    One that the type information lacks is found missing when the module is loaded.
    """
    for name, wanted in table["function"].items():
        found = types.prototype(name)
        if found and found != wanted:
            raise LayoutError(f"function {name}: found {found}, expected {wanted}")


# --- the header --------------------------------------------------------------

def member_text(field):
    """One member of the union, at its place."""
    pad = f"u8 __pad_{field.name}[{field.offset}]; " if field.offset else ""
    if field.bit >= 0:
        skip = f"u32 : {field.bit}; " if field.bit else ""
        return f"\t\tstruct {{ {pad}{skip}u32 {field.name} : 1; }};"
    star = "" if field.c_type.endswith("*") else " "
    return f"\t\tstruct {{ {pad}{field.c_type}{star}{field.name}; }};"


def struct_text(struct, size, fields):
    """A struct and what the compiler has to confirm about it.

    A bit field has no offsetof, but the fields on both sides of it have.
    """
    lines = [f"struct {struct} {{", "\tunion {"]
    lines += [member_text(field) for field in fields]
    lines += [f"\t\tu8 __size[{size}];", "\t};", "};", ""]
    for field in fields:
        if field.bit >= 0:
            continue
        lines.append(f"static_assert(offsetof(struct {struct}, {field.name}) == {field.offset});")
        lines.append(f"static_assert(sizeof_field(struct {struct}, {field.name}) == {field.size});")
    lines += [f"static_assert(sizeof(struct {struct}) == {size});", ""]
    return lines


def rows_text(structs):
    """The layouts as a macro, for layout.c to compare with the running kernel's."""
    rows = []
    for struct, (size, fields) in structs.items():
        rows.append(f'\tROW("{struct}", "", {8 * size})')
        rows += [f'\tROW("{struct}", "{field.name}", {8 * field.offset + max(field.bit, 0)})'
                 for field in fields]
    return ['/* struct, field, and where it begins, in bits; field "": the size of the struct */',
            "#define PAMS_LAYOUT_ROWS(ROW) \\", " \\\n".join(rows), ""]


def public_text(structs, source):
    """The public structs inside have to be those of the headers used."""
    sizes = {field.c_type: field.size for _size, fields in structs.values()
             for field in fields if re.fullmatch(r"struct \w+", field.c_type)
             and field.c_type.split()[1] not in structs}
    return [f'static_assert(sizeof({c_type}) == {size},\n\t      "{source} is of '
            f'another kernel than the headers: give the right one with BTF=FILE");'
            for c_type, size in sizes.items()] + [""]


def header_text(kernel, source, structs, features):
    lines = [
        "/* SPDX-License-Identifier: GPL-2.0 */",
        f"/* MPTCP's private structs in kernel {kernel.release}, as far as we use them.",
        " * Generated by tools/layout, don't edit.  Source:",
        f" * {source}",
        " */",
        "#ifndef PAMS_LAYOUT_H",
        "#define PAMS_LAYOUT_H",
        "",
        "#include <linux/build_bug.h>",
        "#include <linux/list.h>",
        "#include <linux/stddef.h>",
        "#include <linux/types.h>",
        "#include <linux/workqueue.h>",
        "#include <net/inet_connection_sock.h>",
        "",
        f'#define PAMS_LAYOUT_RELEASE "{kernel.release}"',
        f"#define PAMS_SIZEOF_MPTCP_SOCK {structs['mptcp_sock'][0]}",
    ]
    lines += [f"#define {name} 1" for name in features]
    lines += ["", "/* Whoever wants to know these only says so. */",
              "#ifndef PAMS_LAYOUT_FEATURES_ONLY", "", *public_text(structs, source)]
    lines += [f"struct {struct};" for struct in ("mptcp_sched_ops", *structs)] + [""]
    for struct, (size, fields) in structs.items():
        lines += struct_text(struct, size, fields)
    lines += rows_text(structs)
    lines += ["#endif /* PAMS_LAYOUT_FEATURES_ONLY */", "#endif /* PAMS_LAYOUT_H */"]
    return "\n".join(lines) + "\n"


def find_types(kernel, args, structs):
    """(types, where they were found)"""
    if args.keep:
        keep(kernel, args.mptcp_src, structs)
    if args.mptcp_src:
        return compile_probe(kernel, args.mptcp_src, structs), args.mptcp_src
    try:
        return find_btf(kernel, args.btf)
    except LayoutError as error:
        if args.btf:
            raise
        lacking = error
    try:
        return find_kept(kernel, structs)
    except LayoutError as error:
        raise LayoutError(f"{lacking}{error}") from None


def generate(args):
    kernel = Kernel(args.kdir)
    table = tomllib.loads(FIELDS.read_text())
    # Said before anything about BTF: a kernel this old may have none that fits.
    if [int(part) for part in re.findall(r"\d+", kernel.release)[:2]] < table["require"]["since"]:
        raise LayoutError(f"kernel {kernel.release}: {table['require']['else']}")
    types, source = find_types(kernel, args, [*table["struct"], "mptcp_sched_ops"])
    check_functions(types, table)
    features = find_features(types, table, kernel)
    structs = find_structs(types, table, kernel)
    return header_text(kernel, source, structs, features)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kdir", required=True, help="the kernel's build directory or headers")
    parser.add_argument("--btf", metavar="FILE", help="a vmlinux, vmlinuz or raw BTF of that kernel")
    parser.add_argument("--mptcp-src", metavar="DIR",
                        help="the kernel's full source, for a kernel without BTF")
    parser.add_argument("--keep", action="store_true",
                        help="keep what later kernels need of it, as root")
    parser.add_argument("-o", dest="out", required=True, metavar="FILE.h")
    args = parser.parse_args()
    if args.keep and not args.mptcp_src:
        parser.error("--keep needs --mptcp-src: what is to be kept?")
    out = Path(args.out)
    try:
        text = generate(args)
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text)
    except (LayoutError, OSError) as error:
        if out.is_file():
            out.unlink()
        print(f"layout: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
