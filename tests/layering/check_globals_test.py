# SPDX-License-Identifier: Apache-2.0
import os
import subprocess
import unittest

import check_globals
from tree_case import TreeCase


class Globals(TreeCase):
    PAGE = f"""# Page

{check_globals.OURS}

| name | where | why |
|---|---|---|
| `listed` | `capture/a.cpp` | shown here |
| `per_thread` | `capture/a.cpp` (x86-64) | shown here |

{check_globals.RUNTIME}

| `__*`, `DW.ref.*` | reserved |
| `completed.*` | the start files |

## Next
"""
    LISTED = "int listed = 1; thread_local int per_thread = 2; int* use() { return &per_thread; }"

    def violations(self, source, *options, machine="x86_64", page=PAGE):
        self.write(check_globals.PAGE, page)
        text = "namespace synctrace::capture {\n" + source + "\n}\n"
        self.write("libsynctrace/capture/a.cpp", text)
        library = self.root / "liba.so"
        source_file = self.root / "libsynctrace/capture/a.cpp"
        subprocess.run([os.environ["CXX"], "-shared", "-fPIC", "-o", library, source_file, *options], check=True)
        return check_globals.find_violations(str(library), self.root, os.environ.get("NM", "nm"), machine)

    def test_exact_list(self):
        self.assertEqual(self.violations(self.LISTED), [])

    def test_constants_are_none(self):
        constants = "extern const char* const kNames[] = {\"a\", \"b\"}; extern const int kNumber = 3;"
        self.assertEqual(self.violations(self.LISTED + constants), [])

    def test_unlisted(self):
        for what in ("int one;", "int one = 1;", "static int one; int* get() { return &one; }",
                     "namespace { int one; } int* get() { return &one; }", "int* get() { static int one; return &one; }"):
            with self.subTest(what):
                self.assert_one(self.violations(self.LISTED + what), "one can be written to")

    def test_unlisted_thread_local(self):
        self.assert_one(self.violations(self.LISTED + "thread_local int one;"), "one can be written to")

    def test_unlisted_outside_of_our_namespace(self):
        self.assert_one(self.violations(self.LISTED + "} int one; namespace synctrace {"), "one can be written to")

    def test_guard_of_a_static_object(self):
        found = self.violations(self.LISTED + "int f(); int* get() { static int one = f(); return &one; } int f() { return 1; }")
        self.assertEqual(len(found), 2, found)
        self.assertTrue(any("guard variable" in line for line in found), found)

    def test_listed_and_gone(self):
        found = self.violations("thread_local int per_thread; // listed")
        self.assert_one(found, "listed is listed, and no more")

    def test_listed_for_another_architecture(self):
        self.assertEqual(self.violations("int listed; // per_thread", machine="aarch64"), [])
        self.assert_one(self.violations("int listed; // per_thread"), "per_thread is listed, and no more")

    def test_listed_at_a_wrong_place(self):
        page = self.PAGE.replace("`listed` | `capture/a.cpp`", "`listed` | `capture/b.cpp`")
        self.assert_one(self.violations(self.LISTED, page=page), "listed is not in")

    def test_stripped_library(self):
        self.assert_one(self.violations(self.LISTED, "-s"), "not stripped")


if __name__ == "__main__":
    unittest.main()
