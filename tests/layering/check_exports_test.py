# SPDX-License-Identifier: Apache-2.0
import os
import subprocess
import unittest

import check_exports
from tree_case import TreeCase


class Exports(TreeCase):
    def violations(self, source, allowed, *options):
        self.write("a.cpp", source)
        library = self.root / "liba.so"
        subprocess.run([os.environ["CXX"], "-shared", "-fPIC", "-o", library, self.root / "a.cpp", *options], check=True)
        return check_exports.find_violations(str(library), allowed)

    FREESTANDING = ("-nodefaultlibs", "-lc")

    def test_exact_list(self):
        source = 'extern "C" int puts(const char*); extern "C" void entry() { puts(""); }'
        self.assertEqual(self.violations(source, {"entry"}, *self.FREESTANDING), [])

    def test_another_version(self):
        self.write("a.map", "NEW {}; OLD {};")
        source = 'extern "C" void old() {} asm(".symver old,entry@OLD");'
        found = self.violations(source, {"entry@@NEW"}, "-Wl,--version-script=" + str(self.root / "a.map"),
                                "-Wl,--exclude-libs,ALL", *self.FREESTANDING)
        self.assertTrue(any("exports entry@OLD" in line for line in found), found)
        self.assertTrue(any("does not export entry@@NEW" in line for line in found), found)

    def test_lists_of_architectures(self):
        self.write("list.txt", "# a comment\ndoor\n[x86_64]\nold\n[aarch64]\nnew\n")
        path = self.root / "list.txt"
        self.assertEqual(check_exports.read_list(path, "x86_64"), {"door", "old"})
        self.assertEqual(check_exports.read_list(path, "aarch64"), {"door", "new"})

    def test_unlisted_export(self):
        source = 'extern "C" void entry() {} extern "C" void helper() {}'
        self.assert_one(self.violations(source, {"entry"}, *self.FREESTANDING), "helper", "not on the list")

    def test_absent_export(self):
        self.assert_one(self.violations("", {"entry"}, *self.FREESTANDING), "does not export entry")

    def test_foreign_symbol(self):
        source = 'extern "C" void cuInit(); extern "C" void entry() { cuInit(); }'
        self.assert_one(self.violations(source, {"entry"}, *self.FREESTANDING), "cuInit", "not glibc's")

    def test_foreign_library(self):
        options = ("-nodefaultlibs", "-Wl,--no-as-needed", "-lstdc++", "-lc")
        self.assert_one(self.violations('extern "C" void entry() {}', {"entry"}, *options), "library libstdc++.so.6")

    def test_unique_symbol(self):
        source = r'asm(".data\n.globl entry\n.type entry, @gnu_unique_object\n.size entry, 4\nentry: .long 1\n.text");'
        found = self.violations(source, {"entry"}, *self.FREESTANDING)
        self.assert_one(found, "STB_GNU_UNIQUE")


if __name__ == "__main__":
    unittest.main()
