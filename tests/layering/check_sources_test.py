# SPDX-License-Identifier: Apache-2.0
import unittest

import check_sources
from tree_case import TreeCase


class Sources(TreeCase):
    LICENCE = f"// {check_sources.LICENCE}\n"

    def test_good_header(self):
        self.write("a.h", self.LICENCE + "#pragma once\n")
        self.assertEqual(check_sources.find_violations(self.root), [])

    def test_long_file(self):
        self.write("a.cpp", self.LICENCE + "\n" * check_sources.MAX_LINES)
        self.assert_one(check_sources.find_violations(self.root), "401 lines")

    def test_no_licence(self):
        self.write("a.cpp", "int a;\n")
        self.assert_one(check_sources.find_violations(self.root), "licence")

    def test_no_guard(self):
        self.write("a.h", self.LICENCE)
        self.assert_one(check_sources.find_violations(self.root), "#pragma once")

    def test_build_folder_is_left_out(self):
        self.write("build/a.cpp", "int a;\n")
        self.assertEqual(check_sources.find_violations(self.root), [])


if __name__ == "__main__":
    unittest.main()
