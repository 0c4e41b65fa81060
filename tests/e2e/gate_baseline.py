# SPDX-License-Identifier: Apache-2.0
"""Findings that are known: a baseline survives edits, and a new wait does not hide behind it. And what `diff` says."""
import json
import pathlib

import gate_case
import harness

WAIT = "runtime.cudaStreamSynchronize(stream)"


class Baseline(gate_case.GateCase):
    def setUp(self):
        super().setUp()
        self.write_config("baseline = \"known.json\"\n")
        self.write_program(WAIT, "read(4)")
        self.record_program()
        self.baseline("create", status=0)

    def baseline(self, verb, *options, status=None):
        done = self.run_cli("baseline", verb, *options, *([] if verb == "show" else [self.trace]))
        if status is not None:
            self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def judge(self, *body, status, name="train.py", **more):
        self.write_program(*body, name=name, **more)
        self.record_program(name=name)
        return self.gate(status=status)

    def test_create_and_show(self):
        text = (self.folder / "known.json").read_text()
        entries = json.loads(text)["findings"]
        self.assertEqual([(entry["rule"], entry["file"], entry["count_per_step"]) for entry in entries],
                         [("ST020", "train.py", 1), ("ST001", "train.py", 1)])
        self.assertEqual(len(text.splitlines()), 2 + len(entries))  # one finding a line
        self.assertIn("ST001 in train_step", self.baseline("show", status=0).stdout)
        self.assertIn("2 in the baseline", self.gate(status=0).stdout)
        self.assertEqual(self.baseline("create").returncode, 2)
        self.baseline("create", "-f", status=0)
        self.assertEqual((self.folder / "known.json").read_text(), text)

    def test_edits_above_the_line(self):
        self.judge("x = 1", "y = 2", f"{WAIT}   ", "read(4)", status=0)

    def test_renamed_file(self):
        (self.folder / "train.py").unlink()
        self.judge(WAIT, "read(4)", name="renamed.py", status=0)
        self.baseline("update", status=0)
        self.assertEqual({entry["file"] for entry in json.loads((self.folder / "known.json").read_text())["findings"]}, {"renamed.py"})

    def test_another_file_is_new(self):
        self.judge(WAIT, "read(4)", name="other.py", status=1)  # train.py is still there

    def test_a_new_wait_in_the_same_function(self):
        done = self.judge(WAIT, "read(4)", "spin()", "runtime.cudaDeviceSynchronize()", status=1)
        self.assertIn("[ST002 device-sync]", done.stdout)
        done = self.judge(WAIT, "read(4)", "spin()", WAIT, status=1)  # the same words again
        self.assertIn("1 line waits unexpectedly", done.stdout)

    def test_more_often(self):
        done = self.judge("for _ in range(2):", f"    {WAIT}", "    spin()", "read(4)", status=1)
        self.assertIn("the baseline has 1 a step", done.stdout)

    def test_update_and_prune(self):
        self.judge(WAIT, status=0)
        self.assertIn("did not show any more", self.gate(status=0).stdout)
        before = (self.folder / "known.json").read_text()
        self.baseline("update", status=0)
        self.assertEqual((self.folder / "known.json").read_text(), before)
        self.baseline("prune", status=0)
        self.assertEqual(len(json.loads((self.folder / "known.json").read_text())["findings"]), 1)
        self.judge(WAIT, "spin()", "runtime.cudaDeviceSynchronize()", status=1)
        self.assertIn("not taken over", self.baseline("update", status=1).stderr)
        self.gate(status=1)
        self.baseline("update", "--accept-new", status=0)
        self.gate(status=0)

    def test_bad_baseline(self):
        for text in ("{}", "[1]", "{\"schema_version\": 1, \"findings\": [{}]}", "not json", "{\"schema_version\": 99, \"findings\": []}"):
            (self.folder / "known.json").write_text(text)
            self.assertIn("known.json", self.gate(status=2).stderr)
        (self.folder / "known.json").unlink()
        self.gate(status=2)

    def test_zones_are_never_in_a_baseline(self):
        self.write_program("with synctrace.no_sync():", f"    {WAIT}")
        self.record_program()
        self.baseline("create", "-f", status=0)
        self.gate(status=1)


class Diff(gate_case.GateCase):
    def recorded(self, name, *body):
        self.write_program(*body)
        self.record_program(level="timeline")
        return self.trace.rename(self.folder / f"{name}.synctrace")

    def diff(self, *traces, status):
        done = self.run_cli("diff", "--format", "json", "--library-code=libgate_work.so", *traces)
        self.assertEqual(done.returncode, status, done.stderr)
        return json.loads(done.stdout)

    @staticmethod
    def change_of_a_moved_line(line):
        """What its own figures say: on a busy machine the same wait may well have become longer or shorter."""
        before, after = (line[side]["host_blocked_ns"] / line[side]["steps"] for side in ("before", "after"))
        if abs(after - before) > 100_000 and max(before, after) > 1.5 * min(before, after):
            return "dearer" if after > before else "cheaper"
        return "moved"

    def test_changes(self):
        before = self.recorded("before", WAIT, "spin()", "read(4)")
        after = self.recorded("after", "x = 1", WAIT, "spin()", "runtime.cudaDeviceSynchronize()")
        changes = self.diff(before, after, status=1)
        lines = {line["rule"]: line for line in changes["lines"]}
        self.assertEqual({rule: lines[rule]["change"] for rule in ("ST002", "ST020")}, {"ST002": "appeared", "ST020": "went"})
        self.assertEqual(len(changes["lines"]), 3, changes["lines"])
        moved = lines["ST001"]
        self.assertEqual(moved["change"], self.change_of_a_moved_line(moved))
        self.assertEqual(moved["after"]["line"], moved["before"]["line"] + 1)
        self.assertEqual(changes["step_ns"]["after"]["count"], 9)
        self.assertIsNotNone(changes["idle_share"]["before"])
        self.assertTrue(changes["simulated"])
        text = self.run_cli("diff", before, after, "--library-code=libgate_work.so").stdout
        self.assert_one_line(text, "appeared", "train.py:", "[ST002 device-sync]")
        self.assertEqual(self.diff(before, before, status=0)["lines"], [])

    def test_two_programs_are_no_comparison(self):
        golden = pathlib.Path(__file__).resolve().parents[1] / "golden"
        cifar, deferred = golden / "frameworks/cifar_resnet.baseline.synctrace", golden / "studies/cifar_resnet.deferred.synctrace"
        done = self.run_cli("diff", cifar, golden / "frameworks/advice.auto_gc.synctrace")
        self.assert_one_line(done.stderr, "two programs, train.py and auto_gc.py", "one program")
        self.assertEqual(self.run_cli("diff", cifar, deferred).stderr, "")

    def test_failures(self):
        trace = self.recorded("a", WAIT)
        self.assertEqual(self.run_cli("diff", trace).returncode, 2)
        self.assertEqual(self.run_cli("diff", trace, "missing").returncode, 3)
        (self.folder / "empty").mkdir()
        self.assertEqual(self.run_cli("diff", trace, "empty").returncode, 4)


if __name__ == "__main__":
    harness.main()
