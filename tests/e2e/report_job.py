# SPDX-License-Identifier: Apache-2.0
"""Traces of one job as one report: text, JSON, Markdown, CSV and page, missing and damaged ranks, and one rank of several."""
import csv
import io
import json
import os
import pathlib
import subprocess

import harness

GENERATED_JOB = os.environ["GENERATED_JOB"]
RANKS, STEPS = 4, 30


class ReportJob(harness.CliTest):
    def setUp(self):
        super().setUp()
        subprocess.run([GENERATED_JOB, self.folder, str(RANKS), str(STEPS), "6"], check=True, timeout=harness.PATIENCE_S)
        self.traces = [str(self.folder / f"rank-{rank}.synctrace") for rank in range(RANKS)]

    def show(self, *arguments):
        return self.run_cli("report", *arguments, env={"COLUMNS": 100})

    def json_of(self, *files):
        done = self.show("--format", "json", *files)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_first_screen_names_rank_and_line(self):
        done = self.show(str(self.folder))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("RANK 1 HOLDS UP 3 RANKS", done.stdout)
        self.assertIn("train.py:80", done.stdout)
        self.assertIn("rank 1 only", done.stdout)
        self.assertLessEqual(len(done.stdout.splitlines()), 30, done.stdout)
        self.assertLessEqual(max(len(line) for line in done.stdout.splitlines()), 100, done.stdout)

    def test_json_adds_up(self):
        found = self.json_of(*self.traces)
        self.assertEqual([one["process"]["nccl_version"] for one in found["processes"]], ["2.28.9"] * RANKS)
        job = found["job"]
        self.assertEqual((job["verdict"], job["shape"], job["late_rank"]), ("rank-bound", "one-rank", "1"))
        self.assertEqual(job["causes"][0]["line"], 80)
        charged = sum(cause["others_waited_ns"] for cause in job["causes"])
        rest = job["waited_for_ranks_not_looked_at_ns"] + job["waited_not_known_for_whom_ns"]
        self.assertEqual(charged + rest, job["waited_ns"])
        self.assertEqual([rank["rank"] for rank in found["ranks"]], ["0", "1", "2", "3"])
        for rank in found["ranks"]:
            for device in rank["devices"]:
                for time in (device["recorded"], device["in_steps"]):
                    parts = ("compute_ns", "transfer_ns", "waiting_ns", "unsplit_ns", "copy_only_ns", "idle_ns")
                    self.assertEqual(sum(time[part] for part in parts), time["whole_ns"])
                    self.assertEqual(sum(one["waiting_ns"] for one in time["waiting_for"]), time["waiting_ns"])
                    self.assertEqual(sum(time["idle_by_cause"].values()), time["idle_ns"])

    def test_one_rank_alone_is_not_called_busy(self):
        done = self.show(self.traces[0])
        self.assertIn("COMMUNICATION-BOUND", done.stdout)
        self.assertIn("is not known from one", " ".join(done.stdout.split()))
        self.assertNotIn("little to gain", done.stdout)

    def test_a_missing_rank_is_said(self):
        done = self.show(*self.traces[:3])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("3 of 4 ranks were recorded", done.stdout)
        self.assertIn("RANK 1 HOLDS UP 2 RANKS", done.stdout)

    def test_a_damaged_rank_does_not_stop_the_others(self):
        file = pathlib.Path(self.traces[3])
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
        done = self.show(*self.traces)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("RANK 1 HOLDS UP 2 RANKS", done.stdout)  # its only chunk is gone
        self.assertIn("rank-3.synctrace", done.stdout)
        file.write_bytes(b"no trace at all")
        done = self.show(*self.traces)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("RANK 1 HOLDS UP 2 RANKS", done.stdout)

    def test_a_file_without_collectives_is_left_out_wherever_it_stands(self):
        lines = self.run_cli("dump", self.traces[0]).stdout.replace("ncclDevKernel", "kernel").splitlines(keepends=True)
        words = ("communicator ", "collective ", "collective_launch ")
        self.assemble_trace("".join(line for line in lines if not line.startswith(words)), "alone")
        done = self.show("alone.synctrace", *self.traces)
        self.assertIn("RANK 1 HOLDS UP 3 RANKS", done.stdout, done.stderr)
        self.assertIn("Left out: alone.synctrace: no collectives.", done.stdout)

    def test_traces_of_two_jobs_stand_alone_and_that_is_said(self):
        for rank in (0, 1):
            text = self.run_cli("dump", self.traces[rank]).stdout
            self.assemble_trace(text.replace(" hash=2577 ", " hash=99 "), f"other{rank}")
        done = self.show(*self.traces[:2], "other0.synctrace", "other1.synctrace")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("the traces belong to different jobs", done.stderr)
        self.assertNotIn("HOLDS UP", done.stdout)
        self.assertNotIn("different jobs", self.show(*self.traces).stderr)

    def test_one_rank_with_what_the_others_tell(self):
        done = self.show("--rank", "0", *self.traces)
        self.assertEqual(done.returncode, 0, done.stderr)
        words = " ".join(done.stdout.split())
        self.assertIn("RANK-BOUND", words)
        self.assertRegex(words, r"In its job of 4 ranks it waits .* a step for others \(.* for rank 1")
        self.assertNotIn("is not known from one", words)
        job = self.json_of(*self.traces)
        alone = self.json_of("--rank", "0", *self.traces)
        self.assertEqual(len(alone["processes"]), 1)
        facts = alone["processes"][0]["in_job"]
        self.assertEqual(facts, job["processes"][0]["in_job"])
        self.assertEqual(facts["waiting_for"], job["ranks"][0]["devices"][0]["in_steps"]["waiting_for"])
        self.assertIn("for rank 1", self.show("--rank", "0", "--format", "md", *self.traces).stdout)
        rows = list(csv.DictReader(io.StringIO(self.show("--rank", "0", "--format", "csv", *self.traces).stdout)))
        waits = {row["function"]: int(row["idle_in_steps_ns"]) for row in rows if row["table"] == "rank-wait"}
        self.assertEqual(waits, {f"rank {one['rank']}": one["waiting_ns"] for one in facts["waiting_for"]})
        self.assertEqual(self.show("--rank", "7", *self.traces).returncode, 2)

    def test_markdown_has_ranks_and_what_to_change(self):
        done = self.show("--format", "md", *self.traces)
        self.assertEqual(done.returncode, 0, done.stderr)
        for words in ("**RANK 1 HOLDS UP 3 RANKS**", "### Ranks", "### What makes ranks late", "`train.py:80"):
            self.assertIn(words, done.stdout)
        self.assertEqual(sum(line.startswith("| `") for line in done.stdout.splitlines()), RANKS, done.stdout)

    def test_csv_adds_up(self):
        rows = list(csv.DictReader(io.StringIO(self.show("--format", "csv", *self.traces).stdout)))
        self.assertTrue(all(None not in row and None not in row.values() for row in rows))
        job = self.json_of(*self.traces)
        of = lambda table, **wanted: [row for row in rows if row["table"] == table and all(row[key] == value for key, value in wanted.items())]
        self.assertEqual([row["rank"] for row in of("rank")], ["0", "1", "2", "3"])
        for row in of("rank"):
            parts = ("compute_ns", "transfer_ns", "waiting_ns", "unsplit_ns", "copy_only_ns", "idle_ns")
            self.assertEqual(sum(int(row[part]) for part in parts), int(row["whole_ns"]))
            self.assertEqual(sum(int(one["waiting_ns"]) for one in of("waiting", rank=row["rank"])), int(row["waiting_ns"]))
        causes = of("cause")
        self.assertEqual([(row["rank"], row["line"], int(row["saving_ns"])) for row in causes[:1]],
                         [("1", "80", job["job"]["causes"][0]["saving"]["ns"])])
        charged = sum(int(row["others_waited_ns"]) for row in causes + of("cause-also"))
        self.assertEqual(charged, sum(cause["others_waited_ns"] for cause in job["job"]["causes"]))

    def test_the_export_of_each_rank_says_which_it_is(self):
        done = self.run_cli("export", "--format", "chrome", "-o", f"{self.folder}/each/", *self.traces)
        self.assertEqual(done.returncode, 0, done.stderr)
        for rank in range(RANKS):
            document = json.loads((self.folder / f"each/rank-{rank}.json").read_text(encoding="utf-8"))
            self.assertEqual(document["distributedInfo"], {"rank": rank, "backend": "nccl"})

    def test_what_a_job_cannot_say_names_the_way_out(self):
        for option in (("--table", "calls"), ("--what-if", "fix@train.py:80"), ("--assume", "pinned")):
            done = self.show(*option, *self.traces)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("add --rank N", done.stderr)
            done = self.show("--rank", "1", *option, *self.traces)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_page_of_any_size_says_what_was_left_out(self):
        page = self.folder / "page.html"
        for size, drawn in ((320_000, 1), (5_000_000, RANKS)):
            done = self.show("--html", page, "--max-html-size", str(size), *self.traces)
            self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
            text = page.read_text(encoding="utf-8")
            self.assertLessEqual(page.stat().st_size, size)
            self.assertEqual(text.count('<script type="application/gzip"'), drawn)
            self.assertEqual("ranks are drawn" in text, drawn < RANKS)
            self.assertIn("RANK 1 HOLDS UP 3 RANKS", text)


if __name__ == "__main__":
    harness.main()
