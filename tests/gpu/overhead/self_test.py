# SPDX-License-Identifier: Apache-2.0
"""The arithmetic and the tables of the cost comparison, on made-up results; and that a program past its limit is ended."""
import io
import itertools
import json
import os
import pathlib
import sys
import tempfile
import time
import unittest
from unittest import mock

import alternation
import programs
import tables
import whole_programs
import whole_tables

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import measured_rows  # noqa: E402


class Alternation(unittest.TestCase):
    def test_the_interval_is_that_of_the_sign_test(self):
        # Ranks from a table of the binomial distribution: the widest pair that leaves at most 2.5 % on each side.
        for count, low, high in ((6, 0, 5), (8, 0, 7), (9, 1, 7), (20, 5, 14), (40, 13, 26), (100, 39, 60)):
            self.assertEqual(alternation.interval_of_median(range(count)), (low, high), count)

    def test_each_round_has_each_mode_once(self):
        order = []
        windows = {mode: (lambda mode=mode: order.append(mode) or 1.0) for mode in "abc"}
        times = alternation.alternate(windows, seconds=0)
        self.assertEqual({mode: len(values) for mode, values in times.items()}, dict.fromkeys("abc", alternation.FEWEST_ROUNDS))
        rounds = [tuple(order[i:i + 3]) for i in range(0, len(order), 3)]
        self.assertTrue(all(sorted(each) == list("abc") for each in rounds))
        self.assertGreater(len(set(rounds)), 1)

    def test_a_drift_of_the_machine_is_no_cost(self):
        off = [1.0 * 1.1**i for i in range(20)]
        compared = alternation.compare({"off": off, "tool": [1.03 * value for value in off]}, "off")
        self.assertEqual([compared["tool"][key] for key in ("ratio", "low", "high", "rounds")], [1.03, 1.03, 1.03, 20])


class Tables(unittest.TestCase):
    WINDOWS = {"part": "windows", "tool": "synctrace", "workload": "eager_step",
               "modes": {"off": {"median_ms": 12.5, "ratio": 1, "low": 1, "high": 1, "rounds": 30},
                         "syncs": {"median_ms": 12.6, "ratio": 1.004, "low": 0.999, "high": 1.009, "rounds": 30}}}

    def test_whole_runs_are_compared_within_their_round(self):
        rows = [{"part": "rounds", "round": number, "tool": tool, "step_ms": {"eager_step": slow * value}}
                for number, slow in enumerate((1, 2, 4)) for tool, value in (("nsys", 15), ("none", 10))]
        rows.append({"part": "rounds", "round": 3, "tool": "nsys", "step_ms": {"eager_step": 99}})  # its other half failed
        self.assertEqual(tables.compared_rounds(rows), {("nsys", "eager_step"): {"ratio": 1.5, "low": 1.5, "high": 1.5, "rounds": 3}})
        self.assertIn("1.500 (1.500 to 1.500) *", tables.text([self.WINDOWS, *rows]))

    def test_bytes_are_given_for_a_kernel_and_memory_beyond_none(self):
        run = {"part": "runs", "tool": "none", "bytes": 0, "resident_kib": 1024, "peak_kib": 2048, "end_to_exit_s": 0.5, "kernels": None}
        timeline = {**run, "tool": "timeline", "bytes": 5000, "kernels": 500, "resident_kib": 4096, "peak_kib": 3072}
        line = next(line for line in tables.text([run, timeline]).splitlines() if line.startswith("| `timeline`"))
        self.assertEqual([cell.strip() for cell in line.split("|")][2:5], ["10.0", "+3", "+1"])

    def test_what_failed_is_said_and_the_rest_is_shown(self):
        text = tables.text([self.WINDOWS, {"part": "nsys", "not_run": "no nsys was found"}, {"part": "runs", "tool": "proton", "failed": "status -11: gone"}])
        self.assertIn("no nsys was found", text)
        self.assertIn("status -11: gone", text)
        self.assertIn("1.004 (0.999 to 1.009)", text)
        self.assertEqual(tables.text([]), "")


class Programs(unittest.TestCase):
    def test_lines_come_with_their_moment_and_the_status_is_the_programs(self):
        seen, start = [], time.monotonic()
        done = programs.run([sys.executable, "-c", "import sys; print('one'); print('two', file=sys.stderr); sys.exit(3)"], dict(os.environ), 60, seen.append)
        self.assertEqual((seen, [line for _, line in done.err], done.status), (["one"], ["two"], 3))
        self.assertTrue(start < done.out[0][0] < time.monotonic())
        self.assertIn("status 3: two", done.why())

    def test_a_program_past_its_limit_is_ended(self):
        done = programs.run([sys.executable, "-c", "import threading; threading.Event().wait()"], dict(os.environ), 1)
        self.assertTrue(done.timed_out)
        self.assertIn("longer than", done.why())


class WholePrograms(unittest.TestCase):
    @staticmethod
    def row(number, mode, copy, step_ms, turn=None):
        return {"round": number, "turn": turn or [mode], "mode": mode, "copy": copy, "gpu": "0", "steps": 1, "step_ms": step_ms}

    def test_a_round_is_compared_with_its_own_bare_programs(self):
        rows = [self.row(number, mode, copy, slow * 1.1**number) for number in range(4)
                for mode, copy, slow in (("bare", 0, 1.0), ("bare", 1, 1.0), ("timeline", 0, 1.2), ("timeline", 1, 1.2))]
        ratio, error, processes = whole_tables.mean_ratio(rows, "timeline")
        self.assertAlmostEqual(ratio, 1.2)
        self.assertAlmostEqual(error, 0)
        self.assertEqual(processes, 2)

    def test_processes_that_differ_make_the_error(self):
        rows = [self.row(number, "timeline", copy, 1 + copy / 10) for number in range(9) for copy in (1, 3)]
        rows += [self.row(number, "bare", copy, 1.0) for number in range(9) for copy in (0, 1)]
        self.assertGreater(whole_tables.mean_ratio(rows, "timeline")[1], 0.05)

    def test_swapped_places_of_a_pair_cancel(self):
        pair = ["bare", "syncs"]
        rows = []
        for number in range(3):  # the second GPU is a quarter slower
            rows += [self.row(number, "bare", "syncs0", 1.0, pair), self.row(number, "syncs", 0, 1.25 * 1.05, pair),
                     self.row(number, "bare", "syncs0", 1.25, pair), self.row(number, "syncs", 0, 1.05, pair)]
        ratio, error, processes = whole_tables.mean_ratio(rows, "syncs")
        self.assertAlmostEqual(ratio, 1.05)
        self.assertAlmostEqual(error, 0)
        self.assertEqual(processes, 2)

    def test_a_pair_of_two_modes_goes_by_both_names(self):
        rows = []
        for number, copy in itertools.product(range(3), range(4)):
            pair = ["cupti-only", "timeline"]
            rows += [self.row(number, "cupti-only", f"{copy}-of-timeline", 1.0, pair), self.row(number, "timeline", copy, 1.02 + copy / 1000, pair)]
            rows += [self.row(number, "bare", f"{copy}-of-cupti-only", 1.0, ["bare", "cupti-only"]),
                     self.row(number, "cupti-only", copy, 1.1, ["bare", "cupti-only"])]
        ratio, error, processes = whole_tables.mean_ratio(rows, "timeline/cupti-only")
        self.assertAlmostEqual(ratio, 1.0215, places=4)
        self.assertAlmostEqual(error, 0.00129 / 2 / 1.0215, places=4)  # four pairs differ, rounds do not
        self.assertEqual(processes, 8)
        self.assertAlmostEqual(whole_tables.mean_ratio(rows, "cupti-only")[0], 1.1)
        self.assertEqual([row[1] for row in whole_tables.cost_rows("case", rows)], ["cupti-only", "timeline/cupti-only"])

    def test_what_was_measured_becomes_rows(self):
        rows = []
        for number, copy in itertools.product(range(2, 5), range(2)):
            for mode, slow in (("syncs", 1.02), ("timeline", 1.25)):
                rows += [self.row(number, "bare", f"{copy}-of-{mode}", 1.0, ["bare", mode]), self.row(number, mode, copy, slow + copy / 1000, ["bare", mode])]
        said = {f"eager.timeline.{copy}": {"with_ms": 1.2, "without_ms": 1.0, "without_lo_ms": 0.9, "without_hi_ms": high} for copy, high in ((0, 1.1), (1, 1.1))}
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "eager.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
            (folder / "eager.said.json").write_text(json.dumps(said), encoding="utf-8")
            with mock.patch.dict(os.environ, {"MEASURED_ROWS": name}):
                whole_tables.add_rows(folder, measured_rows.Rows("cost", simulated=True))
            added = [line.split(",")[:6] for line in (folder / "cost.csv").read_text(encoding="utf-8").splitlines()[1:]]
        self.assertEqual(added[:2], [["whole-programs", "syncs beside bare: eager", "1.020", "", "0.000", "4"],
                                     ["whole-programs", "timeline beside bare: eager", "1.250", "", "0.000", "4"]])
        self.assertIn(["without-us-programs", "eager: error", "+4.2", "%", "", ""], added)
        self.assertIn(["without-us-programs", "eager: recordings whose range holds it", "2", "of", "", "2"], added)

    def test_any_command_that_prints_a_line_a_step_takes_turns(self):
        program = "import os\ntry:\n  while True: os.write(1, b'.\\n'); sum(range(20000))\nexcept BrokenPipeError: pass"
        with tempfile.TemporaryDirectory() as folder:
            sys.argv = ["whole_programs.py", "--out", folder, "--modes", "bare*2", "--rounds", "1", "--turn-seconds", "0.01", "--",
                        sys.executable, "-c", program]
            self.assertEqual(whole_programs.main(), 0)
            rows = [json.loads(line) for line in (pathlib.Path(folder) / "command.jsonl").read_text(encoding="utf-8").splitlines()]
        self.assertEqual(sorted((row["round"], row["copy"]) for row in rows), [(number, copy) for number in range(3) for copy in (0, 1)])
        self.assertTrue(all(row["step_ms"] >= 0 for row in rows))

    def test_a_case_past_its_limit_ends_with_its_whole_rounds(self):
        # One of two programs has 20 lines a turn: enough for round 0 and never for round 1.
        program = ("import os, signal, sys\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCONT])\nlines = 20\n"
                   "try: os.mkdir(sys.argv[1])\nexcept FileExistsError: lines = 2000\n"
                   "try:\n  os.write(1, b'.\\n')\n  while signal.sigwait([signal.SIGCONT]): os.write(1, lines * b'.\\n')\nexcept BrokenPipeError: pass")
        with tempfile.TemporaryDirectory() as folder, mock.patch("sys.stderr", new_callable=io.StringIO) as said:
            sys.argv = ["whole_programs.py", "--out", folder, "--modes", "bare*2", "--limit-seconds", "5", "--",
                        sys.executable, "-c", program, os.path.join(folder, "first")]
            self.assertEqual(whole_programs.main(), 0)
            rows = [json.loads(line) for line in (pathlib.Path(folder) / "command.jsonl").read_text(encoding="utf-8").splitlines()]
        self.assertIn([(row["round"], row["steps"] > 0) for row in rows], ([], [(0, True)] * 2))
        self.assertIn("ended by --limit-seconds 5: no line more of bare", said.getvalue())


if __name__ == "__main__":
    unittest.main()
