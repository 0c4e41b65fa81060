# SPDX-License-Identifier: Apache-2.0
"""Programs of several phases in every output, and `--phase` and `--step-line`, on a trace written as text."""
import csv
import io
import json

import harness

EPOCHS, TRAINING, VALIDATION = 3, 30, 20
LAUNCH, COPY, SYNC = 33554643, 33554473, 33554563
MS = 1_000_000

# Two lines of each loop: at the first the batch is copied, at the second the work is launched or read.
TRAIN_COPY, TRAIN_WORK, CHECK_COPY, CHECK_READ = 1, 2, 3, 4


class Program:
    """train() at train.py:42, then validate() at train.py:92, three times; 8 ms of the host's lie between the loops."""

    def __init__(self):
        self.now = MS
        self.calls = 0
        self.lines = ["synctrace-text 1 start_realtime_ns=1700000000000000000 process_id=4711", "chunk", "schemas",
                      'fact key="working_folder" value="/job"', "context context=1 device=0 null_stream=7",
                      f'api_name api={LAUNCH} category=14 name="cudaLaunchKernel"',
                      f'api_name api={COPY} category=6 name="cudaMemcpyAsync"',
                      f'api_name api={SYNC} category=1 name="cudaStreamSynchronize"',
                      'window time_ns=0 open=1 reason="start"',
                      'code id=1 python_version=51119600 first_line=40 file="/job/train.py" function="train" line_table="\\xe9\\x04\\xe9\\x02"',
                      'code id=2 python_version=51119600 first_line=90 file="/job/train.py" function="validate" line_table="\\xe9\\x04\\xe9\\x02"',
                      'code id=3 python_version=51119600 first_line=1 file="/job/train.py" function="<module>" line_table="\\xe9\\x04\\xe9\\x02"',
                      'stack id=1 frames="p1:0 p3:0"', 'stack id=2 frames="p1:4 p3:0"',
                      'stack id=3 frames="p2:0 p3:4"', 'stack id=4 frames="p2:4 p3:4"']
        self.lines += [f'string id={name} text="kernel_{name}"' for name in range(1, 6)]

    def copy(self, stack):
        self.calls += 1
        self.lines += [f"call thread=4711 begin_ns={self.now} duration_ns=20000 api={COPY} correlation={self.calls} context=1 stream=7 "
                       f"bytes=4096 copy_kind=1 source_memory=2 target_memory=3 stack={stack}",
                       f"copy begin_ns={self.now + 15000} duration_ns=2000 context=1 stream=7 correlation={self.calls} bytes=4096 "
                       "copy_kind=1 source_memory=2 target_memory=3"]
        self.now += 30_000

    def kernel(self, name, stack, length):
        self.calls += 1
        self.lines += [f"launch thread=4711 begin_ns={self.now} duration_ns=5000 api={LAUNCH} correlation={self.calls} stack={stack}",
                       f"kernel begin_ns={self.now + 10000} duration_ns={length} context=1 stream=7 correlation={self.calls} name={name}"]
        self.now += 10_000

    def wait(self, stack, until):
        self.calls += 1
        self.lines.append(f"call thread=4711 begin_ns={self.now} duration_ns={until} api={SYNC} correlation={self.calls} context=1 stream=7 "
                          f"stack={stack}")
        self.now += until

    def run(self):
        for _ in range(EPOCHS):
            for _ in range(TRAINING):
                begin = self.now
                self.copy(TRAIN_COPY)
                for name in (1, 2, 3, 4):
                    self.kernel(name, TRAIN_WORK, 8000)
                self.wait(TRAIN_WORK, 20_000)
                self.now = begin + MS
            self.now += 8 * MS
            for _ in range(VALIDATION):
                begin = self.now
                self.copy(CHECK_COPY)
                self.kernel(1, CHECK_READ, 8000)
                self.kernel(5, CHECK_READ, 8000)
                self.wait(CHECK_READ, 20_000)
                self.now = begin + MS // 2
            self.now += 8 * MS
        return "\n".join(self.lines + [f"end time_ns={self.now} record_count=1 reason=\"exit\""]) + "\n"


class Phases(harness.CliTest):
    def setUp(self):
        super().setUp()
        self.assemble_trace(Program().run())

    def out(self, *options):
        done = self.run_cli("report", *options, self.trace)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def json(self, *options):
        return json.loads(self.out("--format", "json", *options))["processes"][0]

    def test_the_loop_with_most_time_is_reported_and_the_other_has_a_line(self):
        report = self.json()
        self.assertEqual([phase["name"] for phase in report["phases"]], ["train", "validate"])
        self.assertEqual([phase["number"] for phase in report["phases"]], [1, 2])
        self.assertEqual([phase["reported"] for phase in report["phases"]], [True, False])
        self.assertEqual(report["phases"][0]["steps"], report["steps"]["count"] + report["steps"]["warm_up_count"])
        for phase, count, length in zip(report["phases"], (TRAINING, VALIDATION), (MS, MS // 2)):
            self.assertAlmostEqual(phase["steps"], EPOCHS * count, delta=2)
            self.assertAlmostEqual(phase["p50_ns"], length, delta=length / 20)
            self.assertEqual(phase["file"], "/job/train.py")
            self.assertLess(phase["worst_cause"]["idle_ns"], phase["idle_ns"])
        self.assertIn(report["phases"][1]["worst_cause"]["line"], (92, 93))
        self.assertIn(report["phases"][0]["worst_cause"]["line"], (42, 43))

    def test_text_and_markdown_and_page_say_the_same(self):
        phase = self.json()["phases"][1]
        words = f"Also: validate(), train.py:{phase['line']}: {phase['steps']} steps, {100 * phase['share']:.1f} % of the time; GPU idle "
        self.run_cli("report", "--html", "page.html", self.trace)
        pages = [self.out(), self.out("--full"), self.out("--format", "md").replace("\\", ""),
                 (self.folder / "page.html").read_text(encoding="utf-8")]
        for text in pages:
            text = " ".join(text.split())
            self.assertIn("Steps: train(), train.py:", text)
            self.assertIn(words, text)
            self.assertIn("Its own answer: --phase 2", text)
            self.assertIn("Between steps: ", text)
        rows = [row for row in csv.DictReader(io.StringIO(self.out("--format", "csv"))) if row["table"].startswith("phase")]
        self.assertEqual([(row["table"], row["function"]) for row in rows], [("phase-reported", "train"), ("phase", "validate")])
        self.assertEqual(rows[1]["count"], str(phase["steps"]))
        self.assertEqual(rows[1]["idle_ns"], str(phase["idle_ns"]))

    def test_what_lies_between_steps(self):
        between = self.json()["between_steps"]
        self.assertAlmostEqual(between["time_ns"], (2 * EPOCHS - 1) * 8 * MS, delta=10 * MS)
        self.assertGreater(between["idle_ns"], between["time_ns"] // 2)

    def test_another_phase_by_its_number(self):
        both, other = self.json(), self.json("--phase", "2")
        self.assertEqual([phase["number"] for phase in other["phases"]], [2, 1])
        self.assertEqual(other["steps"]["name"], "validate")
        for a, b in zip(both["phases"], reversed(other["phases"])):
            for key in ("steps", "time_ns", "p50_ns", "idle_ns", "worst_cause"):
                self.assertEqual(a[key], b[key], key)
        self.assertIn("Its own answer: --phase 1", self.out("--phase", "2"))

    def test_a_phase_that_is_not_there(self):
        done = self.run_cli("report", "--phase", "3", self.trace)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assert_one_line(done.stderr, "has 2 phases", "--phase 3")

    def test_a_step_begins_at_a_line(self):
        report = self.json("--step-line", "train.py:92")
        self.assertEqual(report["steps"]["source"], "line")
        self.assertAlmostEqual(report["steps"]["count"] + report["steps"]["warm_up_count"], EPOCHS * VALIDATION, delta=1)
        done = self.run_cli("report", "--step-line", "train.py:7", self.trace)
        self.assertEqual(done.returncode, 0)
        self.assert_one_line(done.stderr, "train.py:7", "without steps")

    def test_what_makes_no_sense(self):
        for options in (["--step-line", "train.py"], ["--step-line", "train.py:0"], ["--phase", "0"], ["--phase", "x"],
                        ["--steps", "a", "--step-line", "a:1"]):
            with self.subTest(options):
                done = self.run_cli("report", *options, self.trace)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assert_one_line(done.stderr, options[0])

    def test_the_gate_counts_by_a_line(self):
        done = self.run_cli("gate", "--no-config", "--step-line", "train.py:42", "--format", "json", self.trace)
        trace, = json.loads(done.stdout)["traces"]
        self.assertAlmostEqual(trace["steps"]["count"], EPOCHS * TRAINING, delta=1)


if __name__ == "__main__":
    harness.main()
