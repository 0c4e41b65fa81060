# SPDX-License-Identifier: Apache-2.0
"""The packaged recorder beside others that are preloaded: runtimes of gcc's and clang's sanitizers, other allocators."""
import ctypes.util
import os
import pathlib
import shutil
import subprocess
import unittest

import package_case

MACHINE = os.uname().machine


def from_compiler(compiler, *names):
    """The first of these files that a compiler has."""
    for name in names if shutil.which(compiler) else []:
        words = [compiler, f"-print-file-name={name}"]
        path = pathlib.Path(subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip())
        if path.is_absolute() and path.exists():
            return os.path.realpath(path)  # libasan.so may be a link, or lie in a folder with a number
    return None


def from_loader(name):
    found = ctypes.util.find_library(name)
    return found and str(found)


OTHERS = {
    "gcc_asan": lambda: from_compiler("gcc", "libasan.so"),
    "gcc_lsan": lambda: from_compiler("gcc", "liblsan.so"),
    "gcc_tsan": lambda: from_compiler("gcc", "libtsan.so"),
    "gcc_ubsan": lambda: from_compiler("gcc", "libubsan.so"),
    "clang_asan": lambda: from_compiler("clang", f"libclang_rt.asan-{MACHINE}.so", "libclang_rt.asan.so"),
    "clang_tsan": lambda: from_compiler("clang", f"libclang_rt.tsan-{MACHINE}.so", "libclang_rt.tsan.so"),
    "clang_ubsan": lambda: from_compiler("clang", f"libclang_rt.ubsan_standalone-{MACHINE}.so",
                                         "libclang_rt.ubsan_standalone.so"),
    "jemalloc": lambda: from_loader("jemalloc"),
    "tcmalloc": lambda: from_loader("tcmalloc_minimal"),
}
# Ours may stand before them. What the program leaks at its end is not asked, nor what ThreadSanitizer thinks of libraries
# whose atomics it cannot see.
OPTIONS = {"ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0", "LSAN_OPTIONS": "detect_leaks=0",
           "TSAN_OPTIONS": "ignore_noninstrumented_modules=1"}


class Preloads(package_case.PackageCase):
    def check(self, other):
        tree = self.unpack()
        recorder = tree / "lib/synctrace/libsynctrace.so"
        simulated = {**OPTIONS, "LD_LIBRARY_PATH": str(tree / "lib/synctrace/simgpu")}
        alone = self.run_it(package_case.OLD_PROGRAM, env={**simulated, "LD_PRELOAD": other}, status=None)
        if alone.returncode != 0:
            self.skipTest(f"{other} does not run a program that was built without it: {alone.stderr.strip()[:200]}")
        for preload in (f"{other}:{recorder}", f"{recorder}:{other}"):
            with self.subTest(preload):
                variables = {**simulated, "LD_PRELOAD": preload, "SYNCTRACE_OUTPUT": str(self.folder / "trace")}
                self.assertEqual(self.run_it(package_case.OLD_PROGRAM, env=variables).stdout, alone.stdout)
                words = [tree / "bin/synctrace", "report", "--format", "json", "trace.synctrace"]
                self.assert_recorded(self.run_it(*words).stdout)
                (self.folder / "trace.synctrace").unlink()


def add_test(name, find):
    def test(self):
        other = find()
        if other is None:
            self.skipTest(f"no {name} here")
        self.check(other)

    setattr(Preloads, f"test_{name}", test)


for other_name, finder in OTHERS.items():
    add_test(other_name, finder)

if __name__ == "__main__":
    package_case.main()
