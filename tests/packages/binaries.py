# SPDX-License-Identifier: Apache-2.0
"""What is in the packages needs nothing that a machine may lack, shows nothing that it must not, and names no folder of
the machine that built it."""
import os
import pathlib
import re
import sys
import zipfile

import package_case

sys.path.insert(0, str(package_case.SOURCE / "tests/layering"))
import check_exports  # noqa: E402

FLOOR = (2, 28)
# The parts of glibc and gcc's unwinder in manylinux's list: PEP 600.
ALLOWED = re.compile(r"lib(c|m|dl|pthread|rt)\.so\.\d|ld-linux-[\w-]+\.so\.\d|libgcc_s\.so\.1")
RECORDER = "lib/synctrace/libsynctrace.so"
PROBE = "lib/synctrace/synctrace-probe"
DYNAMIC = [RECORDER, PROBE, "lib/synctrace/simgpu/libcudart.so.13", "lib/synctrace/simgpu/libcupti.so.13"]


def newer_than_floor(names):
    """The symbols, as readelf shows them, of a C library that is newer."""
    versions = [(name, re.search(r"@GLIBC_(\d+)\.(\d+)", name)) for name in names]
    return sorted(name for name, match in versions if match and (int(match[1]), int(match[2])) > FLOOR)


class Binaries(package_case.PackageCase):
    def test_floor_and_needs(self):
        tree = self.unpack()
        for name in DYNAMIC:
            with self.subTest(name):
                _, undefined = check_exports.dynamic_symbols(tree / name)
                names = [symbol for symbol, _ in undefined]
                self.assertTrue(any("@GLIBC_" in symbol for symbol in names))
                self.assertEqual(newer_than_floor(names), [])
                self.assertEqual([symbol for symbol in names if "GLIBCXX" in symbol or "CXXABI" in symbol], [])
                for needed in check_exports.needed_libraries(tree / name):
                    self.assertTrue(ALLOWED.fullmatch(needed), needed)

    def test_the_check_can_fail(self):
        self.assertEqual(newer_than_floor(["a@GLIBC_2.28", "b@GLIBC_2.2.5", "c@GLIBC_2.29", "d"]), ["c@GLIBC_2.29"])

    def test_exports(self):
        allowed = check_exports.read_list(package_case.SOURCE / "tests/layering/exports.txt", os.uname().machine)
        self.assertEqual(check_exports.find_violations(self.unpack() / RECORDER, allowed), [])

    def test_the_command_needs_no_library(self):
        command = self.unpack() / "bin/synctrace"
        self.assertEqual(check_exports.needed_libraries(command), [])
        self.assertNotIn("INTERP", "\n".join(check_exports.readelf("--program-headers", command)))
        self.assertIn("DYN", "\n".join(check_exports.readelf("--file-header", command)))  # loaded at a random address

    def test_no_folder_of_the_building_machine(self):
        own = [package_case.SOURCE, package_case.BUILD, pathlib.Path.home()]
        folders = [str(folder).encode() + b"/" for folder in own]
        tree = self.unpack()
        files = [path for path in tree.rglob("*") if path.is_file()]
        self.assertGreater(len(files), 20)
        found = [(str(path.relative_to(tree)), folder) for path in files for folder in folders
                 if len(folder) > 3 and folder in path.read_bytes()]
        self.assertEqual(found, [])

    def test_every_file_is_in_the_wheel_and_the_tarball_alike(self):
        tree = self.unpack()
        with zipfile.ZipFile(package_case.package("*.whl")) as wheel:
            for name in ["bin/synctrace", RECORDER, PROBE]:
                self.assertEqual(wheel.read(f"synctrace/_native/{name}"), (tree / name).read_bytes())


if __name__ == "__main__":
    package_case.main()
