# SPDX-License-Identifier: Apache-2.0
"""Rare slow steps are a change with a line and a saving, on a trace written as text: the saving is what the same program takes less
without what makes them slow."""
import harness
from report_phases import LAUNCH, MS, SYNC

STEPS, EVERY, PAUSE = 200, 50, 20
STEP = MS // 2
WORK, COLLECT, SAVE, COMPILE = 1, 2, 3, 4


class Program:
    """train() at train.py:42 launches and waits; in each fiftieth step the host does something else for 20 ms."""

    def __init__(self, pause, stack):
        self.now = MS
        self.lines = ["synctrace-text 1 start_realtime_ns=1700000000000000000 process_id=4711", "chunk", "schemas",
                      'fact key="working_folder" value="/job"', 'fact key="sample_rate_hz" value="200"', "context context=1 device=0 null_stream=7",
                      f'api_name api={LAUNCH} category=14 name="cudaLaunchKernel"',
                      f'api_name api={SYNC} category=1 name="cudaStreamSynchronize"',
                      'window time_ns=0 open=1 reason="start"',
                      'code id=1 python_version=51119600 first_line=40 file="/job/train.py" function="train" line_table="\\xe9\\x04\\xe9\\x02"',
                      'code id=2 python_version=51119600 first_line=10 file="/lib/python3.11/gc.py" function="gc_collect_main" line_table="\\xe9\\x04\\xe9\\x02"',
                      'code id=3 python_version=51119600 first_line=70 file="/job/train.py" function="save" line_table="\\xe9\\x04\\xe9\\x02"',
                      'stack id=1 frames="p1:0"', 'stack id=2 frames="p2:0 p1:4"', 'stack id=3 frames="p3:0 p1:4"',
                      'code id=4 python_version=51119600 first_line=500 file="/venv/lib/python3.11/site-packages/torch/_dynamo/convert_frame.py" '
                      'function="_compile" line_table="\\xe9\\x04\\xe9\\x02"', 'stack id=4 frames="p4:0 p1:4"']
        self.lines += [f'string id={name} text="kernel_{name}"' for name in range(1, 5)]
        calls = 0
        for step in range(STEPS):
            begin = self.now
            for name in (1, 2, 3, 4):
                calls += 1
                self.lines += [f"launch thread=4711 begin_ns={self.now} duration_ns=5000 api={LAUNCH} correlation={calls} stack={WORK}",
                               f"kernel begin_ns={self.now + 10000} duration_ns=100000 context=1 stream=7 correlation={calls} name={name}"]
                self.now += 110_000
            calls += 1
            self.lines.append(f"call thread=4711 begin_ns={self.now} duration_ns=20000 api={SYNC} correlation={calls} context=1 stream=7 "
                              f"stack={WORK}")
            self.now = begin + STEP
            if pause and step % EVERY == EVERY // 2:
                self.lines.append(f"sample thread=4711 begin_ns={self.now} duration_ns={pause * MS - 1000} count={pause // 5} state=1 stack={stack}")
                self.now += pause * MS
        self.lines.append(f'end time_ns={self.now} record_count=1 reason="exit"')

    def text(self):
        return "\n".join(self.lines) + "\n"


class SlowSteps(harness.CliTest):
    def changes(self, pause, stack):
        self.assemble_trace(Program(pause, stack).text())
        report = self.report()
        self.assertAlmostEqual(sum(ns for part, ns in report["times"].items() if part != "recorded_ns"), report["times"]["recorded_ns"])
        return report, report["savings"]["remedies"]

    def check_saving(self, report, change):
        share = 100 * change["marginal_saving_ns"] / report["savings"]["base_ns"]
        slow = STEPS // EVERY * PAUSE * MS
        self.assertAlmostEqual(share, 100 * slow / (STEPS * STEP + slow), delta=3)

    def test_the_collector_has_its_rule_and_what_to_type(self):
        report, changes = self.changes(PAUSE, COLLECT)
        self.assertEqual([report["steps"]["irregular_count"], changes[0]["rule"], changes[0]["fix"]],
                         [STEPS // EVERY, "ST056", "no-collection"])
        self.assertIn("gc.freeze()", changes[0]["to_type"][0])
        self.check_saving(report, changes[0])
        screen = self.run_cli("report", self.trace).stdout
        self.assertIn("1  Keep the garbage collector out of the steps [ST056]", screen)
        self.assertNotIn("No host code to change", screen)
        self.assertIn("In these figures: 4 irregular steps took", screen)

    def test_other_pauses_have_their_line(self):
        report, changes = self.changes(PAUSE, SAVE)
        self.assertIn(" out of 4 slow steps", changes[0]["title"])
        self.assertEqual((changes[0]["fixes"][0]["file"], changes[0]["fixes"][0]["line"]), ("/job/train.py", 72))
        self.check_saving(report, changes[0])

    def test_compilation_has_its_rule_and_the_line_that_calls_it(self):
        report, changes = self.changes(PAUSE, COMPILE)
        self.assertEqual((changes[0]["rule"], changes[0]["title"]), ("ST054", "Keep compilation out of 4 slow steps"))
        self.assertEqual((changes[0]["fixes"][0]["file"], changes[0]["fixes"][0]["line"]), ("/job/train.py", 43))
        self.check_saving(report, changes[0])

    def test_little_is_a_note(self):
        report, changes = self.changes(1, SAVE)
        self.assertEqual(report["savings"]["slow_steps_ns"], 0)
        self.assertFalse([change for change in changes if "slow steps" in change["title"]])
        self.assertEqual(self.changes(0, SAVE)[0]["steps"]["irregular_count"], 0)


if __name__ == "__main__":
    harness.main()
