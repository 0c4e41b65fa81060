# SPDX-License-Identifier: Apache-2.0
import unittest

import check_types
from tree_case import TreeCase


class Types(TreeCase):
    def violations(self, text):
        self.write("libsynctrace/whatif/b.h", "namespace synctrace {\n\nstruct Result {\n};\n\n}  // namespace synctrace\n")
        self.write("libsynctrace/trial/a.h", text)
        return check_types.find_violations(self.root)

    def test_two_types_of_one_name(self):
        for line in ("struct Result {", "class Result final : public Base {", "enum class Result : int { kOne };"):
            with self.subTest(line):
                self.assert_one(self.violations(f"namespace synctrace {{\n{line}\n"), "whatif/b.h:3", "synctrace::Result", "trial/a.h:2")

    def test_what_is_not_the_same_type(self):
        for text in ("namespace synctrace::format {\nstruct Result {\n", "namespace synctrace {\nnamespace {\nstruct Result {\n",
                     "namespace synctrace {\nstruct Result;\n", "namespace synctrace {\nclass Other {\n  struct Result {\n",
                     "namespace synctrace {\n}  // namespace synctrace\nstruct Result {\n"):
            with self.subTest(text):
                self.assertEqual(self.violations(text), [])


if __name__ == "__main__":
    unittest.main()
