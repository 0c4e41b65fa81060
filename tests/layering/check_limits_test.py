# SPDX-License-Identifier: Apache-2.0
import unittest

import check_limits
from tree_case import TreeCase


class Limits(TreeCase):
    ROW = "inline constexpr Share kNearlyAll = percent(80);  // "

    def violations(self, path, text):
        self.write(path, text)
        return check_limits.find_violations(self.root)

    def test_a_number_is_defined_once(self):
        for value in ("constexpr Share kMost = percent(10);", "constexpr std::size_t kMost{10};", "inline constexpr Nanoseconds kMost = 10;"):
            self.write("libsynctrace/whatif/b.cpp", "constexpr double kMost = 10;\n")
            with self.subTest(value):
                self.assert_one(self.violations("libsynctrace/model/a.h", value + "\n"), "whatif/b.cpp:1", "kMost", "model/a.h:1")
        self.write("libsynctrace/whatif/b.cpp", "")
        self.assertEqual(check_limits.find_violations(self.root), [])

    def test_what_is_no_limit_may_have_a_name_again(self):
        self.write("libsynctrace/render/b.cpp", "constexpr std::size_t kRows = 10;\n")
        self.write("libsynctrace/ranks/b.h", "  static constexpr std::size_t kRows = 10;\n  constexpr std::array<int, 2> kNames = {1, 2};\n")
        self.assertEqual(self.violations("libsynctrace/model/a.cpp", "constexpr std::size_t kRows = 20;\nconstexpr std::array<int, 2> kNames{};\n"), [])

    def test_the_step_finder_has_no_bare_ratio(self):
        for line in ("if (size * 5 >= usual * 4) return;", "if (share >= 0.9) return;", "return 4 * work < more;", "x = passes / 8 + 1;"):
            with self.subTest(line):
                self.assert_one(self.violations("libsynctrace/steps/a.cpp", line + "\n"), "steps/a.cpp:1", "bare ratio")
        for line in ("at = sizes.size() / 2;", "items += 2 * size;", "// size * 5 >= 0.9", "mix = (mix ^ mix >> 30) * 0xbf58476d1ce4e5b9U;"):
            with self.subTest(line):
                self.assertEqual(self.violations("libsynctrace/steps/a.cpp", line + "\n"), [])

    def test_a_row_says_unit_reason_and_test(self):
        table = "libsynctrace/steps/step_limits.h"
        self.write("tests/unit/steps/step_cut_test.cpp", "")
        for cells in ("", "steps | names vary", "steps | | step_cut"):
            with self.subTest(cells):
                self.assert_one(self.violations(table, self.ROW + cells + "\n"), "step_limits.h:1", "kNearlyAll")
        self.assert_one(self.violations(table, self.ROW + "steps | names vary | step_joins\n"), "step_joins_test.cpp")
        self.assertEqual(self.violations(table, self.ROW + "steps | names vary | step_cut\n"), [])
        self.assertEqual(self.violations(table, self.ROW + "steps | a sample | cost\n"), [])


if __name__ == "__main__":
    unittest.main()
