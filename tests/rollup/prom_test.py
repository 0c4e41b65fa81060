# SPDX-License-Identifier: Apache-2.0
"""`rollup --prom-textfile` writes what a Prometheus reads, at once, with the sums of the tables and no more lines than it should."""
import collections
import pathlib
import re
import shutil
import stat
import subprocess
import tempfile
import unittest

import datasets
from datasets import cli, rows_of

SAMPLE = re.compile(r'(synctrace_[a-z_]+)\{((?:[a-z]+="(?:[^"\\\n]|\\["\\n])*",?)+)\} (-?\d+(?:\.\d+)?)')
LABEL = re.compile(r'([a-z]+)="((?:[^"\\]|\\.)*)"')
MOST_LINES, MOST_JOBS = 10, 16


def samples(text):
    """(name, labels, value), after the rules of the format: each gauge has its help and type first."""
    known, found = None, []
    for line in text.splitlines():
        if line.startswith("# HELP "):
            known = line.split()[2]
        elif line.startswith("# TYPE "):
            assert line == f"# TYPE {known} gauge", line
        else:
            name, labels, value = SAMPLE.fullmatch(line).groups()
            assert name == known, line
            found.append((name, {key: re.sub(r"\\(.)", r"\1", value) for key, value in LABEL.findall(labels)}, value))
    return found


def nanoseconds(seconds):
    whole, parts = seconds.split(".")
    return int(whole) * 10**9 + int(parts)


class Gauges(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="synctrace-prom-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.file = cls.folder / "synctrace.prom"
        job = datasets.generated_job(cls.folder / "job", 4, 30, 20, 2_000_000, "read")
        cls.file.write_text("# HELP synctrace_recordings of before\n")
        datasets.rollup(cls.folder / "dataset", "--job", "a \"b\" \\ \n", "--prom-textfile", cls.file, *job)
        cls.samples = samples(cls.file.read_text())
        cls.tables = {table: rows_of(cls.folder / "dataset", table) for table in ("runs", "ranks", "sites")}

    def value(self, name):
        found = [value for one, _, value in self.samples if one == "synctrace_" + name]
        self.assertEqual(len(found), 1, name)
        return found[0]

    def sum(self, table, column):
        return sum(row[column] for row in self.tables[table])

    def test_they_are_sums_of_the_tables(self):
        for name, table, column in (("gpu_recorded", "ranks", "window_ns"), ("gpu_idle", "ranks", "idle_ns"), ("gpu_copy_only", "ranks", "copy_only_ns"),
                                    ("gpu_waiting_for_ranks", "ranks", "waiting_ns"), ("others_waited", "runs", "others_waited_ns"),
                                    ("host_blocked", "sites", "host_blocked_ns")):
            self.assertEqual(nanoseconds(self.value(name + "_seconds")), self.sum(table, column), name)
        self.assertEqual(int(self.value("recordings")), len(self.tables["runs"]))
        self.assertEqual(int(self.value("host_waits")), self.sum("sites", "waited"))
        steps = self.sum("runs", "steps") - self.sum("runs", "irregular_steps")
        self.assertEqual(int(self.value("steps")), steps)
        self.assertEqual(nanoseconds(self.value("step_idle_seconds")), self.sum("sites", "idle_in_steps_ns") // steps)
        self.assertEqual(self.value("gpu_idle_ratio"), f"{self.sum('ranks', 'idle_ns') / self.sum('ranks', 'window_ns'):.6f}")
        self.assertEqual(nanoseconds(self.value("recording_end_timestamp_seconds")), max(row["begin_ns"] + row["recorded_ns"] for row in self.tables["runs"]))

    def test_rules_have_all_idle_time_and_lines_the_most(self):
        rules, lines = collections.Counter(), collections.Counter()
        for row in self.tables["sites"]:
            rules[row["rule"] or row["name"]] += row["idle_ns"]
            if row["cause"] not in ("startup", "shutdown", "capture-edge"):
                lines[f"{row['site']:016x}"] += row["idle_ns"]
        self.assertEqual({labels["rule"]: nanoseconds(value) for name, labels, value in self.samples if "by_rule" in name}, dict(+rules))
        told = [(labels["site"], nanoseconds(value)) for name, labels, value in self.samples if name == "synctrace_line_idle_seconds"]
        self.assertEqual([ns for _, ns in told], [ns for _, ns in lines.most_common(MOST_LINES)])
        self.assertTrue(all(lines[site] == ns for site, ns in told))

    def test_labels_are_escaped(self):
        self.assertEqual({labels["job"] for _, labels, _ in self.samples}, {'a "b" \\ ?'})

    def test_a_file_that_others_read_appears_whole(self):
        self.assertTrue(stat.S_IMODE(self.file.stat().st_mode) & stat.S_IROTH)
        self.assertEqual([path.name for path in self.folder.iterdir() if path.name.startswith("synctrace.prom")], ["synctrace.prom"])
        done = cli("rollup", "--no-symbols", "-o", self.folder / "other", "--prom-textfile", self.folder / "no" / "x.prom", self.folder / "job")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"^synctrace rollup: --prom-textfile .*no/x\.prom: there is no folder .*\n$")

    def test_no_source_is_no_source(self):
        datasets.rollup(self.folder / "dumb", "--no-source", "--prom-textfile", self.folder / "dumb.prom", self.folder / "job")
        lines = [labels for name, labels, _ in samples((self.folder / "dumb.prom").read_text()) if name == "synctrace_line_idle_seconds"]
        self.assertEqual({(labels["file"], labels["line"], labels["function"]) for labels in lines}, {("", "0", "")})

    def test_many_jobs_stay_few_gauges(self):
        trace = self.folder / "job" / "rank-0.synctrace"
        text = datasets.ok("dump", trace).stdout
        alone = self.folder / "alone"
        alone.mkdir()
        for number in range(MOST_JOBS + 4):
            one = alone / f"{number}.trace.txt"
            later = re.sub(r"\bstart_realtime_ns=(\d+)", lambda found, by=number: f"start_realtime_ns={int(found[1]) + by}", text)
            one.write_text(re.sub(r'^(fact key="command_line")', rf'fact key="job_id" value="job{number}"\n\1', later, count=1, flags=re.MULTILINE))
            datasets.ok("dump", "-f", "--assemble", one, "-o", alone / f"{number}.synctrace")
        datasets.rollup(self.folder / "many", "--prom-textfile", self.folder / "many.prom", alone)
        jobs = collections.Counter(labels["job"] for _, labels, _ in samples((self.folder / "many.prom").read_text()))
        self.assertEqual(len(jobs), MOST_JOBS + 1)
        self.assertIn("others", jobs)

    @unittest.skipIf(shutil.which("promtool") is None, "no promtool here")
    def test_promtool_takes_them(self):
        done = subprocess.run(["promtool", "check", "metrics"], input=self.file.read_text(), capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
