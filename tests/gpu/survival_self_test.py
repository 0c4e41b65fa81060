# SPDX-License-Identifier: Apache-2.0
"""soak.py and graph_matrix.py with programs that do what a good run must not: is each counted in its column?"""
import contextlib
import io
import os
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

import graph_matrix
import soak

# Stands for the command line: `run` leaves a trace and becomes the program, `report` reads it, `dump` has one graph and two kernels.
SYNCTRACE = r"""#!/bin/sh
verb=$1
case $verb in
  report) exec grep -q good "$4" ;;
  dump) printf 'graph a\nkernel a\nkernel b\n'; exit 0 ;;
esac
while [ "$1" != -- ]; do shift; done
shift
export RECORDED=1
[ "$2" = unrecorded ] || echo good >trace.1.synctrace
[ "$2" != unreadable ] || echo bad >trace.1.synctrace
exec "$@"
"""
# Is good while nobody records it.
PROGRAM = r"""#!/bin/sh
if [ -n "$RECORDED" ]; then
  case $1 in
    crash) kill -SEGV $$ ;;
    hang) exec sleep 1000 ;;
    status) exit 4 ;;
    output) echo ok other; exit 0 ;;
  esac
fi
[ "$1" != never ] || exit 5
echo "ok graphs=1 kernels=${KERNELS:-2} copies=0 memsets=0 peer=0 graph_kernels=3 graph_copies=0 graph_memsets=0 graph_peer=0"
"""


class Runners(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)
        self.folder = pathlib.Path(self.place.name)
        (self.folder / "bin").mkdir()
        for name, text in (("bin/synctrace", SYNCTRACE), ("program", PROGRAM)):
            (self.folder / name).write_text(text)
            (self.folder / name).chmod(0o755)

    def cells_of(self, module, arguments):
        """Status, and the cells of each row of the table by its first."""
        printed = io.StringIO()
        words = [module.__name__, "--build", str(self.folder), "--out", str(self.folder / "out"), "--jobs", "4", *arguments]
        with mock.patch.object(sys, "argv", words), contextlib.redirect_stdout(printed):
            status = module.main()
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in printed.getvalue().splitlines() if line.startswith("|")]
        return status, {row[0]: row[1:] for row in rows}

    def soak(self, ways, *arguments):
        programs = {way: [self.folder / "program", way] for way in ways}
        with mock.patch.object(soak, "commands", lambda shared: programs), mock.patch.object(soak, "LIMIT_S", 3):
            return self.cells_of(soak, ["--runs", "2", *arguments])

    def test_each_fault_of_a_soak_has_its_column(self):
        status, rows = self.soak(["good", "crash", "hang", "status", "output", "unrecorded", "unreadable", "never"])
        self.assertEqual(status, 1)
        #                                             runs crashes hangs status output not-recorded unreadable
        self.assertEqual(rows["good"][:7], ["2", "0", "0", "0", "0", "0", "0"])
        self.assertEqual(rows["crash"][:7], ["2", "2", "0", "0", "0", "0", "0"])
        self.assertEqual(rows["hang"][:7], ["2", "0", "2", "0", "0", "0", "0"])
        self.assertEqual(rows["status"][:7], ["2", "0", "0", "2", "0", "0", "0"])
        self.assertEqual(rows["output"][:7], ["2", "0", "0", "0", "2", "0", "0"])
        self.assertEqual(rows["unrecorded"][:7], ["2", "0", "0", "0", "0", "2", "0"])
        self.assertEqual(rows["unreadable"][:7], ["2", "0", "0", "0", "0", "0", "1"])  # one of five is read
        self.assertEqual((rows["never"][0], rows["never"][-1]), ("0", "bare: status 5"))
        self.assertEqual(rows["all"][:7], ["14", "2", "2", "2", "2", "2", "1"])
        self.assertIn("crash 0", (self.folder / "out/soak.log").read_text())
        self.assertEqual(len((self.folder / "out/soak.csv").read_text().splitlines()), 15)

    def test_a_good_soak_passes_and_adds_its_rows(self):
        rows = str(self.folder / "rows.csv")
        for lines in (3, 5):
            status, _ = self.soak(["good"], "--rows", rows)
            self.assertEqual((status, len(pathlib.Path(rows).read_text().splitlines())), (0, lines))

    def test_what_was_wrong_becomes_a_row(self):
        with mock.patch.dict(os.environ, {"MEASURED_ROWS": str(self.folder / "rows"), "MEASURED_COMMIT": "abc"}):
            self.soak(["good", "crash"], "--simulated")
        head, row = (self.folder / "rows/survival.csv").read_text().splitlines()
        self.assertTrue(head.startswith("claim,case,value"))
        self.assertTrue(row.startswith('wild,"soak, 2 programs, 2 times each, 4 at a time: died, hung or differed",2,of,,4,"simulated; '), row)

    def test_bare_runs_need_no_trace_and_no_time_means_no_runs(self):
        self.assertEqual(self.soak(["crash"], "--bare")[1]["crash"][:2], ["2", "0"])
        self.assertEqual(self.soak(["good"], "--time-limit", "0")[1]["good"][0], "0")

    def test_the_graph_matrix_compares_counts(self):
        def matrix(kinds, kernels="2"):
            with mock.patch.object(graph_matrix, "KINDS", dict.fromkeys(kinds, [])), mock.patch.dict(os.environ, {"KERNELS": kernels}):
                return self.cells_of(graph_matrix, ["--program", str(self.folder / "program"), "--runs", str(len(kinds) - ("never" in kinds)), "--kinds", ",".join(kinds)])

        self.assertEqual(matrix(["good"]), (0, {"kind": list(graph_matrix.COLUMNS[1:]), "---": ["---"] * 6, "good": ["1", "0", "0", "0", "0", "0"],
                                                "all": ["1", "0", "0", "0", "0", "0"]}))
        self.assertEqual(matrix(["good"], "5")[1]["good"], ["1", "0", "0", "0", "0", "1"])
        status, rows = matrix(["crash", "status", "output", "unrecorded", "never"])
        self.assertEqual(status, 1)
        self.assertEqual([rows[kind][0:5] for kind in ("crash", "status", "output", "unrecorded")],
                         [["1", "1", "0", "0", "0"], ["1", "0", "0", "1", "0"], ["1", "0", "0", "1", "0"], ["1", "0", "0", "0", "1"]])
        self.assertEqual(rows["never"][0], "bare: status 5")

    def test_every_row_of_the_matrix_is_tried_within_600_runs(self):
        kinds = [kind for kind in graph_matrix.KINDS if kind != "peer"]
        jobs = graph_matrix.matrix(kinds)
        self.assertLessEqual(len(jobs), 616)
        self.assertGreaterEqual(len(jobs), 500)
        self.assertFalse([way for _, way in jobs if "syncs" in way and graph_matrix.has_window(way)])


if __name__ == "__main__":
    unittest.main()
