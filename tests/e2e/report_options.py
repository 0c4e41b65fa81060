# SPDX-License-Identifier: Apache-2.0
"""`synctrace report`: which range is a step, and the formats for reviews and spreadsheets, on traces written as text."""
import csv
import io
import json
import pathlib
import shutil

import harness

# A training loop on a real GPU: line 47 copies a pageable batch and is where many short kernels are launched, line 52 reads the loss.
LOOP = pathlib.Path(__file__).resolve().parents[1] / "golden" / "torch" / "torch_loop.synctrace"

EPOCH_NS, STEPS = 10_000_000, 8


def trace_text():
    """Four epochs of eight steps each, both as NVTX ranges; a kernel and a pageable copy in each step."""
    lines = ["synctrace-text 1 start_realtime_ns=1700000000000000000 process_id=4711", "chunk", "schemas",
             'fact key="rank" value="2"', "context context=1 device=0 null_stream=7",
             "api_name api=33554643 category=14 name=\"cudaLaunchKernel\"",
             "api_name api=33554473 category=6 name=\"cudaMemcpyAsync\"",
             'string id=1 text="epoch"', 'window time_ns=0 open=1 reason="start"']
    lines += [f'string id={100 + step} text="step {step}"' for step in range(STEPS)]
    correlation = 0
    for epoch in range(4):
        begin = (epoch + 1) * EPOCH_NS
        lines.append(f"nvtx_push thread=4711 time_ns={begin} text=1")
        for step in range(STEPS):
            at = begin + 1000 + step * 1_000_000
            correlation += 2
            lines += [f"nvtx_push thread=4711 time_ns={at} text={100 + step}",
                      f"launch thread=4711 begin_ns={at + 1000} duration_ns=5000 api=33554643 correlation={correlation}",
                      f"kernel begin_ns={at + 10_000} duration_ns=300000 context=1 stream=7 correlation={correlation} name=1",
                      f"call thread=4711 begin_ns={at + 400_000} duration_ns=50000 api=33554473 correlation={correlation + 1} "
                      "context=1 stream=7 bytes=8 copy_kind=2 source_memory=3 target_memory=1",
                      f"copy begin_ns={at + 410_000} duration_ns=2000 context=1 stream=7 correlation={correlation + 1} bytes=8 "
                      "copy_kind=2 source_memory=3 target_memory=1",
                      f"nvtx_pop thread=4711 time_ns={at + 900_000}"]
        lines.append(f"nvtx_pop thread=4711 time_ns={begin + 9_000_000}")
    return "\n".join(lines + [f"end time_ns={6 * EPOCH_NS} record_count=1 reason=\"exit\""]) + "\n"


class ReportOptions(harness.CliTest):
    def setUp(self):
        super().setUp()
        self.assemble_trace(trace_text())

    def out(self, *options):
        done = self.run_cli("report", *options, self.trace)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def step_count(self, *options):
        steps = json.loads(self.out("--format", "json", *options))["processes"][0]["steps"]
        return steps["count"] + steps["warm_up_count"]

    def test_the_outermost_range_is_a_step_by_itself(self):
        self.assertEqual(self.step_count(), 4)

    def test_a_named_range_is_a_step(self):
        for name in ("step", "step 3", "step #"):
            with self.subTest(name):
                self.assertEqual(self.step_count("--steps", name), 4 * STEPS)

    def test_a_range_that_is_not_there(self):
        done = self.run_cli("report", "--steps", "batch", self.trace)
        self.assertEqual(done.returncode, 0)
        self.assert_one_line(done.stderr, "no NVTX range 'batch'", "without steps")
        self.assertNotIn("  steps ", done.stdout)

    def test_csv_has_a_row_for_each_cause_and_wait(self):
        rows = list(csv.DictReader(io.StringIO(self.out("--format", "csv"))))
        report = self.report()
        for table, causes in (("idle", "causes"), ("copy-only", "copy_only_causes")):
            wanted = [(cause["name"], str(cause["idle_ns"])) for device in report["devices"] for cause in device[causes]]
            self.assertEqual([(row["name"], row["idle_ns"]) for row in rows if row["table"] == table], wanted)
        self.assertEqual(len([row for row in rows if row["table"] == "wait"]), len(report["waits"]))
        self.assertEqual({row["rank"] for row in rows}, {"2"})

    def test_markdown_names_verdict_and_causes(self):
        text = self.out("--format", "md")
        report = self.report()
        self.assertIn(f"**{report['verdict']}**", text)
        for cause in report["devices"][0]["causes"]:
            self.assertIn(f"| {cause['name']} |", text)

    def test_the_tables_of_a_full_report(self):
        text = self.out("--full", "--steps", "step")
        for title in ("NVTX ranges", "CUDA functions", "Copies with pageable memory", "Kernels by name"):
            self.assertIn(title, text)
        ranges = {row["name"]: row for row in self.report()["nvtx_ranges"]}
        self.assertEqual(ranges["epoch"]["count"], 4)
        self.assertEqual(ranges["epoch"]["busy_ns"] + ranges["epoch"]["idle_ns"], 4 * 9_000_000)
        self.assertEqual(ranges["step 0"]["issued_ns"], 4 * 302_000)

    def test_one_table_alone(self):
        text = self.out("--table", "ranges", "--steps", "step")
        self.assertTrue(text.startswith("NVTX ranges"), text)
        self.assertNotIn("CUDA functions", text)
        done = self.run_cli("report", "--table", "rows", self.trace)
        self.assertEqual(done.returncode, 2)
        self.assert_one_line(done.stderr, "--table", "ranges")

    def test_the_width_is_that_of_the_terminal(self):
        for columns in (80, 120, 200):
            done = self.run_cli("report", self.trace, env={"COLUMNS": str(columns)})
            widest = max(map(len, done.stdout.splitlines()))
            self.assertLessEqual(widest, columns)
            self.assertGreater(widest, columns - 20)
        self.assertLessEqual(len(done.stdout.splitlines()), 30)

    def test_one_rank_of_several(self):
        shutil.copyfile(self.folder / self.trace, self.folder / "again.synctrace")
        both = self.run_cli("report", self.trace, "again.synctrace")
        self.assertIn("2 processes", both.stdout)
        self.assertEqual(self.run_cli("report", "--rank", "2", self.trace).returncode, 0)
        done = self.run_cli("report", "--rank", "7", self.trace)
        self.assertEqual(done.returncode, 2)
        self.assert_one_line(done.stderr, "rank 7", "--rank")

    def asked(self, question):
        done = self.run_cli("report", "--format", "json", "--what-if", question, LOOP)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)["processes"][0]["savings"]["asked"]

    def test_a_line_is_answered_by_the_fix_that_gains_most(self):
        asked = self.asked("fix@torch_loop.py:47")
        gains = {way["fixes"][0]: way["gain_ns"] for way in asked["ways"]}
        self.assertEqual(set(gains), {"async-copy", "graph", "speed-up"})
        self.assertEqual([way["fixes"] for way in asked["ways"] if way["taken"]], [["graph"]])
        self.assertGreater(gains["graph"], gains["async-copy"])
        self.assertEqual(asked["saving"]["ns"], gains["graph"])
        self.assertIn("answered by graph", asked["notes"][0])
        self.assertIn("speed-up", asked["notes"][0])

    def test_a_fix_by_its_name(self):
        asked = self.asked("async-copy@torch_loop.py:47")
        self.assertEqual([fix["fix"] for fix in asked["fixes"]], ["async-copy"])
        self.assertEqual(asked["notes"], [])

    def test_a_fix_that_is_not_possible_at_a_line(self):
        asked = self.asked("async-copy@torch_loop.py:52,fix@torch_loop.py:3")
        self.assertEqual((asked["fixes"], asked["saving"]["ns"]), ([], 0))
        self.assertIn("defer-read", asked["notes"][0])
        self.assertIn("nothing that a fix could change", asked["notes"][1])


if __name__ == "__main__":
    harness.main()
