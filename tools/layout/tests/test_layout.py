# SPDX-License-Identifier: GPL-2.0
"""layout.py on made-up kernels: what it writes, and each way it refuses."""

import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from kernels import (COMPRESSORS, FIELDS, GET_SEND, GET_SUBFLOW, RELEASE, FakeKernel, boot_image, btf_of,
                     compile_btf, source_tree, with_banner)

import btf
import layout
import probe
import sources
from btf import Btf, BtfError

STUBS = ("linux/build_bug.h", "linux/list.h", "linux/stddef.h", "linux/types.h",
         "linux/workqueue.h", "net/inet_connection_sock.h")


class Case(unittest.TestCase):
    def setUp(self):
        temp = tempfile.TemporaryDirectory()
        self.addCleanup(temp.cleanup)
        self.temp = Path(temp.name)

    def kernel(self, **options):
        return FakeKernel(self.temp / "kdir", **options)

    def refused(self, kernel, words, *arguments):
        """One line with these words, exit 1, no output file, not even an old one."""
        kernel.out.write_text("old")
        status, error = kernel.run(*arguments)
        self.assertEqual(status, 1, error)
        self.assertRegex(error, r"\Alayout: [^\n]+\n\Z")
        for word in words:
            self.assertIn(word, error)
        self.assertFalse(kernel.out.exists())

    def accepted(self, kernel, *arguments):
        status, error = kernel.run(*arguments)
        self.assertEqual((status, error), (0, ""))
        return kernel.out.read_text()


class TestHeader(Case):
    def dump(self, name, text, *flags):
        """What a program that knows the structs from text finds out about them."""
        lines = []
        for struct_name, fields in FIELDS["struct"].items():
            s = f"struct {struct_name}"
            lines.append(f'printf("{s} %zu\\n", sizeof({s}));')
            for field, spec in fields.items():
                lines.append(f'printf("{struct_name}.{field}");')
                if spec == "flag":
                    lines.append(f"{{ union {{ {s} s; unsigned char b[sizeof({s})]; }} u;"
                                 f"  memset(&u, 0, sizeof(u)); u.s.{field} = 1;"
                                 "  for (unsigned i = 0; i < sizeof(u); i++) if (u.b[i])"
                                 '    printf(" bit %d+%d", i * 8, u.b[i]); }')
                else:
                    lines.append(f'printf(" %zu %zu", offsetof({s}, {field}),'
                                 f" sizeof((({s} *)0)->{field}));")
                lines.append('printf("\\n");')
        source = self.temp / f"{name}.c"
        source.write_text("#include <stddef.h>\n#include <stdio.h>\n#include <string.h>\n"
                          f"{text}\nint main(void) {{\n" + "\n".join(lines) + "\nreturn 0; }\n")
        program = self.temp / name
        subprocess.run(["gcc", "-Wall", "-Wextra", "-Werror", *flags, "-o", program, source],
                       check=True)
        return subprocess.run([program], check=True, text=True, capture_output=True).stdout

    def stubs(self, text):
        """Headers that the generated one includes."""
        for name in STUBS:
            file = self.temp / "stubs" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("")
        (self.temp / "stubs/linux/types.h").write_text(
            text + "\n#define static_assert(e, ...) _Static_assert(e, #e)\n"
            "#define sizeof_field(t, m) sizeof(((t *)0)->m)\n")

    def same_as_compiler(self, change=None):
        from kernels import PUBLIC
        kernel = self.kernel(change=change)
        self.accepted(kernel)
        self.stubs(PUBLIC)
        ours = self.dump("ours", f'#include "{kernel.out}"', f"-I{self.temp}/stubs")
        self.assertEqual(ours, self.dump("theirs", kernel.text))
        self.assertEqual(ours.count(" bit "), sum(
            spec == "flag" and (change or {}).get((name, field)) is None
            for name, fields in FIELDS["struct"].items() for field, spec in fields.items())
            + len(change or {}))

    def test_rows(self):
        """What the module compares at load is what the compiler has confirmed, and all of it."""
        text = self.accepted(self.kernel())
        rows = re.findall(r'ROW\("(\w+)", "(\w*)", (\d+)\)', text)
        self.assertEqual(sorted((struct_name, field) for struct_name, field, _bits in rows),
                         sorted((struct_name, field) for struct_name, fields in FIELDS["struct"].items()
                                for field in ["", *fields]))
        for struct_name, field, bits in rows:
            flag = re.search(rf"u8 __pad_{field}\[(\d+)\]; (?:u32 : (\d+); )?u32 {field} : 1;", text)
            if not field:
                self.assertIn(f"sizeof(struct {struct_name}) == {int(bits) // 8})", text)
            elif flag:
                self.assertEqual(int(bits), 8 * int(flag[1]) + int(flag[2] or 0))
            else:
                self.assertIn(f"offsetof(struct {struct_name}, {field}) == {int(bits) // 8})", text)

    def test_offsets_and_bits_are_the_compilers(self):
        self.same_as_compiler()

    def test_flag_may_be_a_byte(self):
        self.same_as_compiler({("mptcp_subflow_context", "stale"): "u8 stale;",
                               ("mptcp_subflow_context", "backup"): "bool backup;",
                               ("mptcp_subflow_context", "fully_established"): "bool fully_established;"})

    def test_header_of_other_headers_does_not_compile(self):
        from kernels import PUBLIC
        kernel = self.kernel()
        self.accepted(kernel)
        self.stubs(PUBLIC.replace("data[1000]", "data[1008]"))
        source = self.temp / "other.c"
        source.write_text(f'#include <stddef.h>\n#include "{kernel.out}"\n')
        done = subprocess.run(["gcc", "-fsyntax-only", f"-I{self.temp}/stubs", source],
                              check=False, text=True, capture_output=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("sizeof(struct inet_connection_sock)", done.stderr)

    def test_makes_the_directory(self):
        out = self.temp / "a/b/out.h"
        self.assertEqual(self.kernel().run("-o", str(out)), (0, ""))
        self.assertTrue(out.is_file())

    def test_features(self):
        text = self.accepted(self.kernel())
        self.assertEqual(re.findall(r"#define (PAMS_HAVE\w+)", text), ["PAMS_HAVE_GET_SUBFLOW"])
        self.assertIn('#define PAMS_LAYOUT_RELEASE "6.99.1-test"', text)

    def features_with(self, function):
        text = self.accepted(self.kernel(
            ops=GET_SEND, header=f"static inline u64\n{function}(const struct sock *sk);"))
        return re.findall(r"#define (PAMS_HAVE\w+)", text)

    def test_features_of_6_18(self):
        self.assertEqual(self.features_with("icsk_timeout"),
                         ["PAMS_HAVE_GET_SEND", "PAMS_HAVE_ICSK_TIMEOUT"])

    def test_features_of_newer(self):
        self.assertEqual(self.features_with("tcp_timeout_expires"),
                         ["PAMS_HAVE_GET_SEND", "PAMS_HAVE_TCP_TIMEOUT_EXPIRES"])


class TestRefusal(Case):
    def test_missing_field(self):
        kernel = self.kernel(change={("mptcp_sock", "snd_burst"): ""})
        self.refused(kernel, ["struct mptcp_sock.snd_burst", "no such field", "expected int"])

    def test_wrong_size(self):
        kernel = self.kernel(change={("mptcp_sock", "snd_nxt"): "u32 snd_nxt;"})
        self.refused(kernel, ["struct mptcp_sock.snd_nxt", "found u32", "expected u64"])

    def test_wrong_sign(self):
        kernel = self.kernel(change={("mptcp_sock", "snd_burst"): "u32 snd_burst;"})
        self.refused(kernel, ["struct mptcp_sock.snd_burst", "found u32", "expected int"])

    def test_wrong_pointer(self):
        kernel = self.kernel(change={("mptcp_subflow_context", "tcp_sock"): "void *tcp_sock;"})
        self.refused(kernel, ["mptcp_subflow_context.tcp_sock", "void *", "struct sock *"])

    def test_bit_field_instead_of_integer(self):
        kernel = self.kernel(change={("mptcp_sock", "token"): "u32 token : 7;"})
        self.refused(kernel, ["struct mptcp_sock.token", "bit field of 7", "expected u32"])

    def test_flag_too_wide(self):
        kernel = self.kernel(change={("mptcp_subflow_context", "backup"): "u32 backup;"})
        self.refused(kernel, ["mptcp_subflow_context.backup", "found u32", "flag"])

    def test_sock_not_first(self):
        kernel = self.kernel(change={
            ("mptcp_sock", "sk"): "u64 before; struct inet_connection_sock sk;"})
        self.refused(kernel, ["struct mptcp_sock.sk", "offset 8", "expected 0"])

    def test_function_of_another_type(self):
        wrong = f"struct sock *mptcp_subflow_get_retrans(int sk) {{ return 0; }} {GET_SUBFLOW}"
        self.refused(self.kernel(ops=wrong),
                     ["function mptcp_subflow_get_retrans: found struct sock * (s32)",
                      "expected struct sock * (struct mptcp_sock *)"])

    def test_too_old(self):
        kernel = self.kernel(ops="struct mptcp_sched_ops { int x; } ops;")
        self.refused(kernel, ["too old", "6.12"])

    def test_too_old_though_it_has_all_of_it(self):
        self.refused(self.kernel(release="6.8.12-test"), ["kernel 6.8.12-test", "too old", "6.12"])

    def test_too_old_and_without_btf(self):
        self.refused(self.kernel(release="6.1.0-44-test", ops="", vmlinux=False), ["too old", "6.12"])

    def test_oldest(self):
        self.accepted(self.kernel(release="6.12.0-test"))

    def test_no_mptcp_in_config(self):
        kernel = self.kernel(config="# CONFIG_MPTCP is not set\n")
        self.refused(kernel, ["no MPTCP", "CONFIG_MPTCP=y"])

    def test_no_mptcp_in_types(self):
        kernel = self.kernel(vmlinux=False)
        compile_btf(self.temp, "struct mptcp_sched_ops { void (*get_send)(void); } x;").rename(
            kernel.dir / "vmlinux")
        self.refused(kernel, ["struct mptcp_pm_data", "CONFIG_MPTCP=y"])

    def test_big_endian(self):
        kernel = self.kernel(config="CONFIG_MPTCP=y\nCONFIG_CPU_BIG_ENDIAN=y\n")
        self.refused(kernel, ["big endian"])

    def test_no_headers(self):
        kernel = self.kernel()
        self.refused(kernel, ["apt-get install linux-headers", "KDIR"],
                     "--kdir", str(self.temp / "absent"))

    def test_no_btf(self):
        kernel = self.kernel(vmlinux=False)
        self.refused(kernel, ["no BTF of kernel 6.99.1-test", "MPTCP_SRC=DIR"])

    def test_vmlinux_without_btf(self):
        kernel = self.kernel(vmlinux=False)
        subprocess.run(["gcc", "-c", "-x", "c", "/dev/null", "-o", kernel.dir / "vmlinux"],
                       check=True)
        self.refused(kernel, ["no .BTF section", "BTF=FILE"])

    def test_btf_of_another_release(self):
        kernel = self.kernel()
        vmlinux = kernel.dir / "vmlinux"
        vmlinux.write_bytes(vmlinux.read_bytes() + b"Linux version 6.99.2-test (me) #1\0")
        self.refused(kernel, ["6.99.2-test", "6.99.1-test"], "--btf", str(vmlinux))
        self.refused(kernel, ["6.99.2-test", "6.99.1-test"])

    def test_btf_file_absent_or_damaged(self):
        kernel = self.kernel()
        self.refused(kernel, ["No such file"], "--btf", str(self.temp / "absent"))
        damaged = self.temp / "damaged"
        for content in (b"", b"text", b"\x7fELF", b"\x9f\xeb\x01\0" + 20 * b"\xff"):
            damaged.write_bytes(content)
            with self.subTest(content=content):
                self.refused(kernel, [str(damaged)], "--btf", str(damaged))

    def test_no_directory_is_left_behind(self):
        out = self.temp / "new/out.h"
        status, _error = self.kernel(ops="").run("-o", str(out))
        self.assertEqual(status, 1)
        self.assertFalse(out.parent.exists())

    def test_output_not_writable(self):
        kernel = self.kernel()
        status, error = kernel.run("-o", str(kernel.dir / "vmlinux/out.h"))
        self.assertEqual(status, 1)
        self.assertRegex(error, r"\Alayout: [^\n]+\n\Z")


class TestBootImage(Case):
    """BTF out of vmlinuz, for headers without vmlinux."""

    def setUp(self):
        super().setUp()
        self.made = self.kernel()
        self.wanted = self.accepted(self.made)

    def same(self, image):
        found = self.accepted(self.made, "--btf", str(image))
        self.assertEqual(found.replace(str(image), str(self.made.dir / "vmlinux")), self.wanted)

    def test_each_compressor(self):
        for name, compress in COMPRESSORS.items():
            with self.subTest(name):
                self.same(boot_image(self.temp, compress(with_banner(self.made))))

    def test_kernel_that_is_no_elf_file(self):
        """arm64's Image: the bytes as they lie in memory, where a program's own BTF comes first."""
        small = btf_of(compile_btf(self.temp, "struct small { int x; } x;"))
        image = b"MZ" + small + 99 * b"code" + btf_of(self.made.dir / "vmlinux") + b"Linux version 6.99.1-test #1\0"
        plain = self.temp / "Image"
        plain.write_bytes(image)
        self.same(plain)
        self.same(boot_image(self.temp, COMPRESSORS["gzip"](image)))

    def test_of_another_release(self):
        image = boot_image(self.temp, COMPRESSORS["gzip"](with_banner(self.made, "6.99.2-test")))
        self.refused(self.made, ["6.99.2-test", "6.99.1-test"], "--btf", str(image))

    def test_without_btf_or_cut_short(self):
        whole = boot_image(self.temp, COMPRESSORS["xz"](with_banner(self.made))).read_bytes()
        cut = self.temp / "cut"
        for content in (whole[:len(whole) // 2], b"MZ" + 99 * b"code", b"MZ" + btf_of(self.made.dir / "vmlinux")[:2000]):
            cut.write_bytes(content)
            self.refused(self.made, [f"{cut}: no BTF in it"], "--btf", str(cut))

    def test_program_missing(self):
        image = boot_image(self.temp, COMPRESSORS["zstd"](with_banner(self.made)))
        with mock.patch.dict("os.environ", {"PATH": str(self.temp)}):
            self.refused(self.made, [f"{image}: it is compressed with zstd or lz4: install zstd or lz4"], "--btf", str(image))

    def found(self, running):
        """Where find_btf() looks on a machine with that running kernel."""
        with mock.patch.multiple(sources, RUNNING_BTF=self.temp / "running", DEBUG_VMLINUX=(),
                                 BOOT_IMAGES=(f"{self.temp}/vmlinuz-{{}}",)), \
             mock.patch("os.uname", lambda: SimpleNamespace(release=running)):
            return sources.find_btf(sources.Kernel(self.made.dir), None)[1]

    def test_where_it_looks(self):
        """For the running kernel in /sys, for the next one in its boot image; the headers' own comes first."""
        image = boot_image(self.temp, COMPRESSORS["gzip"](with_banner(self.made)))
        (self.temp / "running").write_bytes(btf_of(self.made.dir / "vmlinux"))
        self.assertEqual(self.found(RELEASE), self.made.dir / "vmlinux")
        (self.made.dir / "vmlinux").unlink()
        self.assertEqual(self.found(RELEASE), self.temp / "running")
        self.assertEqual(self.found("6.99.0-other"), image)
        image.write_bytes(b"MZ")
        with self.assertRaisesRegex(sources.LayoutError, rf"\(\S*vmlinuz-{RELEASE}: no BTF in it\)"):
            self.found("6.99.0-other")
        image.unlink()
        with self.assertRaisesRegex(sources.LayoutError, "^no BTF of kernel 6.99.1-test found: give a vmlinux or"):
            self.found("6.99.0-other")


class TestSource(Case):
    def test_same_as_from_btf(self):
        kernel = self.kernel()
        kernel.add_build()
        tree = source_tree(self.temp / "src", kernel.text, "6.99.1-test")
        from_btf = self.accepted(kernel)
        from_source = self.accepted(kernel, "--mptcp-src", str(tree))
        self.assertEqual(from_source.replace(str(tree), str(kernel.dir / "vmlinux")), from_btf)

    def test_other_release(self):
        tree = source_tree(self.temp / "src", "", "6.99.2-test")
        self.refused(self.kernel(), ["6.99.2", "6.99.1-test"], "--mptcp-src", str(tree))

    def generate(self, kernel, src=None, keep=False):
        """In this process, where nothing of this machine's is found."""
        with mock.patch.object(probe, "KEPT", self.temp / "kept"), \
             mock.patch.multiple(sources, BOOT_IMAGES=(), DEBUG_VMLINUX=()):
            return layout.generate(SimpleNamespace(kdir=kernel.dir, btf=None, mptcp_src=src, keep=keep))

    def not_generated(self, words, *arguments, **options):
        with self.assertRaisesRegex(sources.LayoutError, rf"\A[^\n]*{words}[^\n]*\Z"):
            self.generate(*arguments, **options)

    def test_other_release_proven(self):
        kernel = self.kernel(vmlinux=False)
        kernel.add_crc()
        tree = source_tree(self.temp / "src", kernel.text, "6.99.2-test")
        text = self.accepted(kernel, "--mptcp-src", str(tree))
        own = source_tree(self.temp / "own", kernel.text, RELEASE)
        self.assertEqual(text.replace(str(tree), str(own)), self.accepted(kernel, "--mptcp-src", str(own)))
        (tree / "net/mptcp/protocol.h").write_text(kernel.text + "\n/* another */\n")
        self.refused(kernel, ["6.99.2", "mptcp_token_get_sock has CRC"], "--mptcp-src", str(tree))

    def test_kept(self):
        """Of one kernel's source, for the next kernel; not where a struct is another, nor before it was kept."""
        kernel = self.kernel(vmlinux=False)
        kernel.add_crc()
        self.not_generated("MPTCP_SRC=DIR", kernel)
        tree = source_tree(self.temp / "src", kernel.text, RELEASE)
        text = self.generate(kernel, tree, keep=True)
        shutil.rmtree(tree)
        following = FakeKernel(self.temp / "next", vmlinux=False, release="6.99.2-test")
        following.add_crc()
        self.assertEqual(self.generate(following), text.replace(RELEASE, "6.99.2-test").replace(
            str(tree), str(self.temp / "kept" / "6.99.2-test")).replace("kept/6.99.2-test", f"kept/{RELEASE}"))
        other = FakeKernel(self.temp / "other", {("mptcp_sock", "token"): "u64 more; u32 token;"}, vmlinux=False)
        other.add_crc()
        self.not_generated(f"MPTCP_SRC=DIR; kept in [^ ]*{RELEASE}: its structs are others: ", other)

    def test_not_proven(self):
        """A kernel without CRCs, and one whose CRC leaves a struct out."""
        kernel = self.kernel(vmlinux=False)
        kernel.add_crc(reached=("mptcp_sock", "mptcp_pm_data", "mptcp_data_frag", "mptcp_sched_ops"))
        tree = source_tree(self.temp / "src", kernel.text, RELEASE)
        self.not_generated("not kept .* doesn't cover struct mptcp_subflow_context", kernel, tree, keep=True)
        (kernel.dir / "Module.symvers").unlink()
        self.not_generated("not kept .* no CRC of mptcp_token_get_sock", kernel, tree, keep=True)
        self.assertFalse((self.temp / "kept").exists())

    def test_not_a_source_tree(self):
        self.refused(self.kernel(), ["net/mptcp/protocol.h"], "--mptcp-src", str(self.temp))

    def test_does_not_compile(self):
        kernel = self.kernel()
        kernel.add_build()
        tree = source_tree(self.temp / "src", "#error broken\n", "6.99.1-test")
        self.refused(kernel, ["does not compile", "#error broken"], "--mptcp-src", str(tree))


class TestBtf(unittest.TestCase):
    """The reader on a blob made by hand, so that gcc's BTF isn't the only witness."""

    STRINGS = b"\0u32\0bool\0s\0a\0b\0inner\0"

    def blob(self, magic=btf.BTF_MAGIC, extra=b"", cut=0):
        def at(word):
            return self.STRINGS.index(b"\0" + word + b"\0") + 1

        def entry(name, kind, vlen, size, data=b"", flag=0):
            return struct.pack("<III", name, flag << 31 | kind << 24 | vlen, size) + data

        types = entry(at(b"u32"), btf.INT, 0, 4, struct.pack("<I", 32))             # 1
        types += entry(0, btf.STRUCT, 1, 4, struct.pack("<III", at(b"b"), 1, 5 | 3 << 24), 1)  # 2
        types += entry(0, btf.CONST, 0, 2)                                          # 3
        types += entry(at(b"s"), btf.STRUCT, 2, 12, struct.pack(                    # 4
            "<IIIIII", at(b"a"), 1, 0, 0, 3, 64))
        types += entry(0, btf.PTR, 0, 4) + extra                                    # 5
        header = struct.pack("<HBBIIIII", magic, 1, 0, 24, 0, len(types), len(types),
                             len(self.STRINGS))
        blob = header + types + self.STRINGS
        return blob[:len(blob) - cut]

    def test_members_through_anonymous(self):
        types = Btf(self.blob())
        members = types.members(types.find(btf.STRUCT, "s"))
        self.assertEqual(members["a"], btf.Member(0, 0, 1))
        self.assertEqual(members["b"], btf.Member(64 + 5, 3, 1))
        self.assertEqual(types.describe(5), "struct s *")
        self.assertEqual(types.describe(1), "u32")
        self.assertEqual(types.find(btf.STRUCT, "none"), 0)

    def test_refuses(self):
        unknown = struct.pack("<III", 0, 0x7E << 24, 0)
        for blob, words in ((self.blob(magic=0x9FEB), "big endian"), (self.blob(magic=1), "not BTF"),
                            (self.blob(cut=3), "cut short"), (b"\x9f\xeb", "cut short"),
                            (self.blob(extra=unknown), "unknown")):
            with self.subTest(words=words), self.assertRaisesRegex(BtfError, words):
                Btf(blob)


if __name__ == "__main__":
    unittest.main()
