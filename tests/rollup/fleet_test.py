# SPDX-License-Identifier: Apache-2.0
"""`fleet report` adds up what the tables hold, as sums over their rows do; of damaged tables it says so and goes on."""
import collections
import json
import pathlib
import shutil
import tempfile
import unittest

import datasets
from datasets import cli, rows_of

EDGES = ("startup", "shutdown", "capture-edge")


class Fleet(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="synctrace-fleet-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.dataset = datasets.fleet(cls.folder)
        cls.said = json.loads(datasets.ok("fleet", "report", "--format", "json", cls.dataset).stdout)
        cls.tables = {table: rows_of(cls.dataset, table) for table in ("runs", "ranks", "sites")}

    def test_lines(self):
        idle, recordings = collections.Counter(), collections.Counter()
        for row in self.tables["sites"]:
            if row["cause"] not in EDGES and row["idle_ns"] > 0:
                idle[row["site"]] += row["idle_ns"]
                recordings[row["site"]] += 1
        self.assertGreater(len(idle), 100)
        self.assertGreater(max(recordings.values()), 1)
        self.assertEqual({line["site"]: (line["idle_ns"], line["recordings"]) for line in self.said["lines"]},
                         {site: (idle[site], recordings[site]) for site in idle})
        told = [line["idle_ns"] for line in self.said["lines"]]
        self.assertEqual(told, sorted(told, reverse=True))
        sites = {(row["site"], row["rule"] or row["name"], row["file"], row["line"], row["function"]) for row in self.tables["sites"]}
        for line in self.said["lines"]:
            self.assertIn(tuple(line[name] for name in ("site", "rule", "file", "line", "function")), sites)

    def test_jobs_are_folders(self):
        expected = {}
        for folder, name in (("a%2Fb", "a/b"), ("four%20ranks", "four ranks")):
            rows = [row for file in self.dataset.glob(f"ranks/job={folder}/*/*/*.parquet") for row in datasets.parquet_file.ParquetFile(file).rows]
            expected[name] = (sum(row["idle_ns"] for row in rows), sum(row["window_ns"] for row in rows))
        told = {job["job"]: (job["idle_ns"], job["gpu_ns"]) for job in self.said["jobs"]}
        self.assertEqual({name: told[name] for name in expected}, expected)
        self.assertEqual(sum(idle for idle, _ in told.values()), sum(row["idle_ns"] for row in self.tables["ranks"]))

    def test_hosts(self):
        waited = collections.Counter()
        for row in self.tables["runs"]:
            waited[row["host"]] += row["others_waited_ns"]
        self.assertEqual({host["host"]: host["others_waited_ns"] for host in self.said["hosts"]}, +waited)
        self.assertGreater(len(self.said["hosts"]), 0)

    def test_commits(self):
        steps, idle, begin = collections.Counter(), collections.Counter(), {}
        runs = {row["run"]: row for row in self.tables["runs"] if row["steps"] > row["irregular_steps"]}
        for run in runs.values():
            steps[run["commit"]] += run["steps"] - run["irregular_steps"]
            begin[run["commit"]] = min(begin.get(run["commit"], run["begin_ns"]), run["begin_ns"])
        for row in self.tables["sites"]:
            if row["run"] in runs:
                idle[runs[row["run"]]["commit"]] += row["idle_in_steps_ns"]
        self.assertEqual({one["commit"]: one["idle_ns_a_step"] for one in self.said["commits"]},
                         {commit: idle[commit] // steps[commit] for commit in steps})
        self.assertEqual([one["since_ns"] for one in self.said["commits"]], sorted(begin.values()))
        self.assertEqual(set(begin), {"old", "new", "good", "bad"})

    def test_the_text_shows_the_first_rows(self):
        text = datasets.ok("fleet", "report", self.dataset).stdout
        self.assertIn(f"{len(self.tables['runs'])} recordings, ", text)
        first = self.said["lines"][0]
        self.assertIn(f"{first['rule']} {first['file']}:{first['line']} in {first['function']}\n", text)
        self.assertIn(f"  and {len(self.said['lines']) - 10} more\n", text)
        self.assertRegex(text, r"%  a/b\n")
        self.assertRegex(text, r"  \d{4}-\d\d-\d\d  old\n")

    def test_damaged_tables_are_named(self):
        broken = self.folder / "broken"
        shutil.copytree(self.dataset, broken)
        files = sorted(broken.glob("sites/*/*/*/*.parquet"))[:2]
        files[0].write_bytes(files[0].read_bytes()[:-20])
        files[1].write_text("nothing of ours")
        done = cli("fleet", "report", "--format", "json", broken)
        self.assertEqual(done.returncode, 3)
        self.assertEqual(sorted(line.split(": ")[1] for line in done.stderr.splitlines()), list(map(str, files)))
        self.assertEqual(json.loads(done.stdout)["jobs"], self.said["jobs"])

    def test_no_tables(self):
        done = cli("fleet", "report", self.folder / "not there")
        self.assertEqual((done.returncode, done.stdout), (4, ""))
        self.assertRegex(done.stderr, r"^synctrace fleet report: no tables in .*; synctrace rollup .* makes them\.\n$")


if __name__ == "__main__":
    unittest.main()
