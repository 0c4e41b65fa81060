# SPDX-License-Identifier: Apache-2.0
"""The table of calls that make the host wait: every cell as synctrace judges it, at both levels, equal to what was measured on
an H200 and to the program's own clock."""
import argparse
import pathlib
import sys

import harness
from survival_case import SurvivalCase

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "gpu"))
import blocking_calls  # noqa: E402  (the script that does the same on a GPU)


class BlockingCalls(SurvivalCase):
    def check(self, level, decidable=lambda cell: True):
        cells = blocking_calls.judge_table(argparse.Namespace(
            synctrace=harness.SYNCTRACE, program=harness.program("blocking_calls"), simgpu=bool(harness.SIMGPU), level=level))
        self.assertEqual(len(cells), 2 * len({cell["row"] for cell in cells}))
        self.assertGreaterEqual(len(cells), 60)
        wrong = [cell for cell in cells if decidable(cell) and not blocking_calls.agrees(cell)]
        self.assertEqual(wrong, [], "\n" + blocking_calls.table_text(wrong))

    def test_with_the_timeline(self):
        self.check("timeline")

    def test_without_the_timeline(self):
        # Only the length of the call decides here; a busy machine stretches a call of microseconds to where it could be either,
        # and a copy of 8 MiB, of 1 ms by itself, beyond what its bytes can explain (sync_test.cpp: 4 ms).
        self.check("syncs", lambda cell: not 0.05 < cell["median_ms"] < 1 and (cell["clock"] or cell["median_ms"] < 3))


if __name__ == "__main__":
    harness.main()
