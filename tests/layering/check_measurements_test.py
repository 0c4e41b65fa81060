# SPDX-License-Identifier: Apache-2.0
import os
import pathlib
import sys
import unittest
import unittest.mock

import check_measurements
from tree_case import TreeCase

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import measured_rows  # noqa: E402  (of the folder beside this one)


class Measurements(TreeCase):
    HEAD = ",".join(check_measurements.COLUMNS) + "\n"
    ROWS = ("pairs,syncs: eager,1.020,,0.006,80,H200,580,,abc,2026-11-26\n"
            "pairs,syncs: reads,1.040,,0.009,24,H200,580,,abc,2026-11-26\n")
    CLAIMS = ",".join(check_measurements.CLAIM_COLUMNS) + "\ncost,pairs,syncs: reads,Cheap,<= 1.02\n"
    PAGE = "# Cost\n\n<!-- rows: pairs -->\n<!-- end -->\n"

    def violations(self, rows=ROWS, claims=CLAIMS, page=PAGE, write=True):
        self.write("docs/measurements/results/cost.csv", self.HEAD + rows)
        self.write("docs/measurements/claims.csv", claims)
        self.write("docs/measurements/README.md", "<!-- claims -->\n<!-- end -->\n")
        self.write("docs/measurements/cost.md", page)
        if write:
            check_measurements.write(self.root)
        return check_measurements.find_violations(self.root)

    def page(self, name="cost"):
        return (self.root / f"docs/measurements/{name}.md").read_text(encoding="utf-8")

    def test_tables_are_made_of_rows(self):
        self.assertEqual(self.violations(), [])
        self.assertIn("|  | eager | reads |\n| --- | --- | --- |\n| syncs | 1.020 (0.006; 80) | 1.040 (0.009; 24) |\n", self.page())
        self.assertIn("[Rows](results/cost.csv) of `pairs`: H200, abc, 2026-11-26.", self.page())
        self.assertIn("| at most 1.02 | 1.040 | 0.009 | 24 | H200 | abc | 2026-11-26 | **missed by 0.020** |", self.page("README"))

    def test_the_last_row_counts(self):
        self.assertEqual(self.violations(self.ROWS + "pairs,syncs: reads,1.019,,,,H200,580,,abd,2026-11-27T10:00Z\n"), [])
        self.assertIn("| 1.019 |  |  | H200 | abd | 2026-11-27 | reached |", self.page("README"))

    def test_so_many_of_so_many(self):
        claims = self.CLAIMS + "cost,pairs,programs,Right,all\n"
        self.assertEqual(self.violations(self.ROWS + "pairs,programs,23,of,,24,H200,580,,abc,2026-11-26\n", claims), [])
        self.assertIn("| all | 23 of 24 |  |  | H200 | abc | 2026-11-26 | **missed by 1** |", self.page("README"))

    def test_a_table_that_was_typed(self):
        found = self.violations(write=False)
        self.assertEqual(len(found), 2, found)
        self.violations()
        self.write("docs/measurements/cost.md", self.page().replace("1.040", "1.010"))
        self.assert_one(check_measurements.find_violations(self.root), "cost.md", "not what the rows say")

    def test_what_has_no_row(self):
        self.assert_one(self.violations(page=self.PAGE.replace("pairs", "windows")), "cost.md", "no rows of windows")
        self.assert_one(self.violations(claims=self.CLAIMS.replace("reads", "decode")), "README.md", "no row of pairs, syncs: decode")

    def test_what_is_no_row(self):
        for wrong, words in (("pairs,a,1,,,,H200\n", "columns"), ("pairs,a,,,,,H200,580,,abc,2026-11-26\n", "needs"),
                             ("pairs,a,1,,,,H200,580,,abc,yesterday\n", "needs"), ("pairs,a,1,of,,,H200,580,,abc,2026-11-26\n", "two numbers")):
            with self.subTest(wrong):
                self.assertTrue(any("results/cost.csv" in line and words in line for line in self.violations(self.ROWS + wrong)))

    def test_a_target_that_is_none(self):
        self.assert_one(self.violations(claims=self.CLAIMS.replace("<= 1.02", "small")), "README.md", "small is no target")

    def test_what_a_script_measured_is_a_row(self):
        self.assertEqual(self.violations(), [])
        results = self.root / "docs/measurements/results"
        with unittest.mock.patch.dict(os.environ, {"MEASURED_ROWS": str(results), "MEASURED_COMMIT": "abe"}):
            rows = measured_rows.Rows("cost", simulated=True)
            rows.add("pairs", "syncs: reads", "1.011", error="0.002", n=30)
            rows.add_of("pairs", "programs: right", 3, 4)
            measured_rows.Rows("gate", gpus=0).add_of("verdicts", "clean", 20, 20)
        self.assertEqual(check_measurements.write(self.root), [])
        self.assertIn("| 1.011 | 0.002 | 30 | simulated; ", self.page("README"))
        self.assertIn("| 3 of 4 |", self.page())
        self.assertTrue((results / "gate.csv").read_text(encoding="utf-8").startswith(self.HEAD))

    def test_nothing_is_recorded_unasked(self):
        with unittest.mock.patch.dict(os.environ):
            os.environ.pop("MEASURED_ROWS", None)
            measured_rows.Rows("cost").add("pairs", "syncs: reads", "1.011")
            self.assertIsNone(measured_rows.Rows("cost").file)

    def test_long_page(self):
        self.assert_one(self.violations(page=self.PAGE + "A line.\n" * 60), "cost.md", "at most 60")


if __name__ == "__main__":
    unittest.main()
