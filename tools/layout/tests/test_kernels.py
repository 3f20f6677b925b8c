# SPDX-License-Identifier: GPL-2.0
"""layout.py on the kernels of this machine, against pahole and the kernel's source.

Which kernels: see real_kernels() in kernels.py.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from kernels import FIELDS, LAYOUT, boot_image_of, real_kernels


def layout(kdir, *arguments):
    """The header for a kernel."""
    with tempfile.TemporaryDirectory() as temp:
        out = Path(temp, "layout.h")
        subprocess.run([sys.executable, LAYOUT, "--kdir", kdir, "-o", out, *arguments], check=True)
        return out.read_text()


def places_in_header(text, struct):
    """field -> (byte, bit or None)"""
    body = re.search(rf"^struct {struct} {{\n(.*?)^}};", text, re.M | re.S)[1]
    places = {}
    for line in body.splitlines():
        line = line.strip()
        if not line.startswith("struct {"):
            continue
        pad = re.search(r"u8 __pad_\w+\[(\d+)\]", line)
        bits = re.search(r"u32 : (\d+);", line)
        flag = re.search(r"u32 (\w+) : 1;", line)
        name = flag[1] if flag else re.search(r"(\w+); };$", line)[1]
        places[name] = int(pad[1]) if pad else 0, (int(bits[1]) if bits else 0) if flag else None
    return places


def places_in_pahole(vmlinux, struct):
    """The same from pahole's listing, with its size of the struct."""
    text = subprocess.run(["pahole", "-F", "btf", "-C", struct, vmlinux], check=True, text=True,
                          capture_output=True).stdout
    places = {}
    for name, byte, bit in re.findall(r"(\w+)(?::\d+)?;\s*/\*\s*(\d+)(?::\s*(\d+))?\s+\d+ \*/", text):
        places.setdefault(name, (int(byte), int(bit) if bit else None))
    return places, int(re.search(r"/\* size: (\d+)", text)[1])


class TestKernels(unittest.TestCase):
    def kernels(self):
        found = real_kernels()
        if not found:
            self.skipTest("no kernel with BTF: run tools/kernels/um, or set LAYOUT_KDIRS")
        return found

    def test_same_as_pahole(self):
        if not shutil.which("pahole"):
            self.skipTest("pahole is not installed")
        for kdir in self.kernels():
            text = layout(kdir)
            for struct, fields in FIELDS["struct"].items():
                with self.subTest(kdir=str(kdir), struct=struct):
                    theirs, size = places_in_pahole(kdir / "vmlinux", struct)
                    self.assertEqual(places_in_header(text, struct),
                                     {name: theirs[name] for name in fields})
                    self.assertIn(f"static_assert(sizeof(struct {struct}) == {size});", text)

    def test_same_from_source(self):
        tried = 0
        for kdir in self.kernels():
            source = kdir / "source"
            if not (source / "net/mptcp/protocol.h").is_file():
                continue
            tried += 1
            with self.subTest(kdir=str(kdir)):
                tree = str(source.resolve())
                self.assertEqual(layout(kdir, "--mptcp-src", tree).replace(tree, "X"),
                                 layout(kdir).replace(str(kdir / "vmlinux"), "X"))
        if not tried:
            self.skipTest("no kernel with its full source beside it")

    def test_same_from_boot_image(self):
        found = [(kdir, image) for kdir in self.kernels() if (image := boot_image_of(kdir))]
        if not found:
            self.skipTest("no stock kernel: run tools/kernels/stock 6.12")
        for kdir, image in found:
            with self.subTest(image=str(image)):
                self.assertEqual(layout(kdir, "--btf", image).replace(str(image), "X"),
                                 layout(kdir).replace(str(kdir / "vmlinux"), "X"))

    def test_make_takes_other_types(self):
        """A build with BTF=FILE, or for another KDIR, isn't taken for what was built before."""
        kdir = self.kernels()[0]
        with tempfile.TemporaryDirectory() as temp:
            header = Path(temp, "out/net/mptcp_pams/mptcp_layout.h")
            other, copied = kdir / ".." / kdir.name, Path(temp, "vmlinux")
            copied.symlink_to(kdir / "vmlinux")

            def source(*arguments):
                subprocess.run(["make", "-s", "-C", LAYOUT.parents[2], f"OUT={temp}/out",
                                *arguments, header], check=True, env={"PATH": os.environ["PATH"]})
                return header.read_text().splitlines()[3][3:]

            self.assertEqual(source(f"KDIR={kdir}"), str(kdir / "vmlinux"))
            self.assertEqual(source(f"KDIR={kdir}", f"BTF={copied}"), str(copied))
            self.assertEqual(source(f"KDIR={kdir}"), str(copied))
            self.assertEqual(source(f"KDIR={other}"), str(other / "vmlinux"))


if __name__ == "__main__":
    unittest.main()
