# SPDX-License-Identifier: Apache-2.0
"""The ranks of a job before the gate: one line is one finding, in every format, against a baseline, with ranks missing or
damaged; and two jobs side by side."""
import json
import os
import pathlib
import shutil
import subprocess
import sys

import harness
from ranks_capture import LAUNCHER, TORCHRUN

GENERATED_JOB = os.environ["GENERATED_JOB"]
RANKS, STEPS = 4, 20
FORMATS = ("text", "sarif", "junit", "github", "gitlab", "md", "json")


class GateJob(harness.CliTest):
    def setUp(self):
        super().setUp()
        (self.folder / ".git").mkdir()  # the root of a repository

    def make(self, name, *fault):
        """A job whose ranks all read the loss in each step (line 60); with a fault, rank 1 does more."""
        folder = self.folder / name
        folder.mkdir()
        subprocess.run([GENERATED_JOB, folder, str(RANKS), str(STEPS), "6", *(fault or ["0"])], check=True, timeout=harness.PATIENCE_S)
        return folder

    def gate(self, *arguments, status):
        done = self.run_cli("gate", *arguments)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout

    def findings(self, *arguments, status):
        found = json.loads(self.gate("--format", "json", *arguments, status=status))
        return found, {finding["line"]: finding for finding in found["findings"] if finding["status"] == "new"}

    def baseline(self, *traces):
        done = self.run_cli("baseline", "create", "--baseline", "known.json", *traces)
        self.assertEqual(done.returncode, 0, done.stderr)
        return ["--baseline", "known.json"]

    def test_a_line_of_all_ranks_is_one_finding(self):
        found, lines = self.findings(self.make("job"), status=1)
        self.assertEqual(list(lines), [60])
        self.assertEqual(lines[60]["ranks"], [0, 1, 2, 3])
        self.assertEqual((lines[60]["count_per_step"], lines[60]["count"] % RANKS), (1, 0))
        self.assertIn("1 a step at most, ranks 0-3;", lines[60]["message"])
        self.assertEqual(found["job"], {"ranks": [0, 1, 2, 3], "expected_ranks": 4, "missing_ranks": 0})
        self.assertEqual([trace["rank"] for trace in found["traces"]], [0, 1, 2, 3])

    def test_all_formats_say_which_ranks(self):
        folder = self.make("job", "300000", "read")
        options = [word for form in FORMATS for word in ("--write", f"{form}=result.{form}")]
        self.gate(*options, folder, status=1)
        for form in FORMATS:
            text = (self.folder / f"result.{form}").read_text(encoding="utf-8")
            self.assertIn("rank 1", text, form)
            self.assertIn("ranks 0-3", text.replace("\\", ""), form)
        text = (self.folder / "result.text").read_text(encoding="utf-8")
        self.assertIn("rank 1 only", text)
        self.assertEqual(text.count("steps judged"), 1, text)  # the same of all ranks
        sarif = json.loads((self.folder / "result.sarif").read_text(encoding="utf-8"))
        self.assertEqual(sorted(result["properties"]["ranks"] for result in sarif["runs"][0]["results"]), [[0, 1, 2, 3], [1]])

    def test_a_line_that_no_rank_had_is_a_finding_on_one(self):
        known = self.baseline(self.make("before"))
        self.gate(*known, self.folder / "before", status=0)
        _, lines = self.findings(*known, self.make("after", "300000", "read"), status=1)
        self.assertEqual(list(lines), [82])
        self.assertEqual(lines[82]["ranks"], [1])
        # All ranks may have what one of them had.
        known = ["--baseline", "other.json"]
        self.assertEqual(self.run_cli("baseline", "create", *known, self.folder / "after" / "rank-1.synctrace").returncode, 0)
        self.gate(*known, self.folder / "after", status=0)

    def test_a_missing_rank_is_not_judged(self):
        folder = self.make("job")
        known = self.baseline(folder)
        (folder / "rank-3.synctrace").unlink()
        text = self.gate(*known, folder, status=4)
        self.assertIn("not judged: rank 3 of 4 left no trace", text)
        (self.folder / "synctrace.toml").write_text("[gate]\nmax-missing-ranks = 1\n", encoding="utf-8")
        self.assertIn("note: rank 3 of 4 left no trace", self.gate(*known, folder, status=0))
        (self.folder / "synctrace.toml").unlink()
        self.gate(*known, folder / "rank-0.synctrace", status=0)
        # Nor is it a ground for a new baseline.
        self.assertEqual(self.run_cli("baseline", "update", *known, folder).returncode, 4)

    def test_a_damaged_rank_is_not_judged(self):
        folder = self.make("job")
        known = self.baseline(folder)
        file = folder / "rank-3.synctrace"
        whole = file.read_bytes()
        file.write_bytes(whole[: len(whole) // 2])
        self.gate(*known, folder, status=4)
        file.write_bytes(b"no trace at all")
        done = self.run_cli("gate", *known, folder)
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertIn("rank-3.synctrace", done.stderr)
        self.assertIn("rank 3 of 4 left no trace", done.stdout)

    def test_a_budget_is_that_of_the_rank_with_most(self):
        folder = self.make("job", "300000", "read")
        config = self.folder / "synctrace.toml"
        config.write_text("[gate]\nmax-unexpected-syncs-per-step = 2\n", encoding="utf-8")
        self.assertIn("up to 2 unexpected synchronisations in a step, within the budget", self.gate(folder, status=0))
        config.write_text("[gate]\nmax-unexpected-syncs-per-step = 1\n", encoding="utf-8")
        self.assertIn("more than 1", self.gate(folder, status=1))
        config.write_text("[gate]\nmax-gpu-idle-pct = 0.1\n[gate.rules]\n\"*\" = \"note\"\n", encoding="utf-8")
        text = self.gate(folder, status=1)
        self.assertEqual(text.count("[max-gpu-idle-pct]"), 1, text)
        self.assertIn("at most, on ranks 0-3, more than 0.1 %", text)

    def test_two_runs_are_no_job(self):
        folder = self.make("job")
        shutil.copytree(folder, self.folder / "again")
        found, lines = self.findings(folder, self.folder / "again", status=1)
        self.assertIsNone(found["job"])
        self.assertIn("in 8 processes", lines[60]["message"])

    def test_run_judges_all_ranks(self):
        launcher = self.folder / "launcher.py"
        launcher.write_text(LAUNCHER, encoding="utf-8")
        done = self.run_cli("run", *harness.SIMULATED, "--gate", "--no-config", "--", sys.executable, launcher, 2, json.dumps(TORCHRUN),
                            harness.program("ranks"), self.folder, 12, "read", 1, 2)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("rank 1 only", done.stderr)
        self.assertIn("slow_read", done.stderr)
        self.assertIn("ranks 0-1: ", done.stderr)

    def test_a_job_beside_itself_is_the_same(self):
        folder = self.make("job")
        done = self.run_cli("diff", folder, folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("job   no difference: 4 ranks", done.stdout)
        self.assertIn("no difference in lines", done.stdout)

    def test_jobs_that_differ(self):
        before, after = self.make("before"), self.make("after", "2000000", "read")
        done = self.run_cli("diff", before, after)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("RANK 1 HOLDS UP 3 RANKS", done.stdout)
        self.assertIn("rank 0 waits for others", done.stdout)
        self.assertEqual(done.stdout.count("train.py:82"), 1, done.stdout)
        self.assertIn(" on rank 1\n", done.stdout)
        found = json.loads(self.run_cli("diff", "--format", "json", before, after).stdout)
        self.assertFalse(found["job"]["same"])
        by_rank = {one["rank"]: one for one in found["job"]["changed_ranks"]}
        self.assertEqual(sorted(by_rank), ["0", "1", "2", "3"])
        self.assertGreater(by_rank["1"]["after"]["others_waited_ns"], 10 * by_rank["1"]["before"]["others_waited_ns"])
        self.assertGreater(found["job"]["after"]["step_ns"], found["job"]["before"]["step_ns"] + 1_000_000)

    def test_jobs_of_different_size_and_lists_of_files(self):
        files = sorted(str(file) for file in pathlib.Path(self.make("job")).iterdir())
        done = self.run_cli("diff", *files, "--after", *files[:3])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("job   4 ranks, ", done.stdout)
        self.assertIn(" -> 3 ranks, ", done.stdout)
        self.assertIn("rank 3 of 4 left no trace", done.stderr)
        self.assertEqual(self.run_cli("diff", *files).returncode, 2)


if __name__ == "__main__":
    harness.main()
