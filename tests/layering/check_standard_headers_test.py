# SPDX-License-Identifier: Apache-2.0
import unittest

import check_standard_headers
from tree_case import TreeCase


class StandardHeaders(TreeCase):
    def violations(self, text, header=""):
        self.write("libsynctrace/model/a.h", header)
        self.write("libsynctrace/model/a.cpp", '#include "model/a.h"\n' + text)
        return check_standard_headers.find_violations(self.root)

    def test_a_name_needs_its_header(self):
        self.assertEqual(self.violations("#include <vector>\nstd::vector<int> a;\n"), [])
        self.assert_one(self.violations("std::vector<int> a;\n"), "model/a.cpp", "std::vector", "<vector>")
        self.assert_one(self.violations("#include <vector>\nint a = std::min(1, 2);\n"), "std::min", "<algorithm>")

    def test_a_header_of_ours_may_include_it(self):
        self.assertEqual(self.violations("std::vector<int> a;\n", "#include <vector>\n"), [])

    def test_comments_and_texts_are_no_code(self):
        self.assertEqual(self.violations('// std::vector\nconst char* a = "std::map";\n'), [])

    def test_what_is_precompiled_is_known(self):
        self.write("precompile.cmake", "set(headers <vector> <regex>)\n")
        self.assert_one(self.violations(""), "precompile.cmake", "<regex>")


if __name__ == "__main__":
    unittest.main()
