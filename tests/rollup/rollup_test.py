# SPDX-License-Identifier: Apache-2.0
"""The tables of every stored trace say what the report says, to the nanosecond; of a job what the job's report says. The same
recording replaces its rows; damage leaves a dataset that reads."""
import collections
import json
import pathlib
import shutil
import tempfile
import unittest

import datasets
from datasets import TABLES, cli, report, rollup, rows_of

MINUTE_NS = 60_000_000_000


class RollupCase(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="synctrace-rollup-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.dataset = self.folder / "dataset"

    def tables(self):
        return {table: rows_of(self.dataset, table) for table in TABLES}

    def stored(self, name):
        return next(trace for trace in datasets.stored_traces(self.folder) if trace.name.startswith(name))


def total(rows, column):
    return sum(row[column] for row in rows)


class StoredTraces(RollupCase):
    def test_tables_say_what_the_report_says(self):
        traces = list(datasets.stored_traces(self.folder))
        self.assertGreaterEqual(len(traces), 26)
        for number, trace in enumerate(traces):
            with self.subTest(trace.name):
                self.dataset = self.folder / f"dataset-{number}"
                rollup(self.dataset, trace)
                said, = report(trace)["processes"]
                tables = self.tables()
                run, = tables["runs"]
                for table, rows in tables.items():
                    self.assertEqual({row["run"] for row in rows} - {run["run"]}, set(), table)
                self.check_run(run, said)
                self.check_devices(tables, said)
                self.check_calls(tables, said)
                self.check_sites(tables)
                self.check_steps(tables, said)

    def check_run(self, run, said):
        self.assertEqual(run["recorded_ns"], said["process"]["recorded_ns"])
        self.assertEqual(run["verdict"], said["verdict"] or "")
        self.assertEqual((run["host"], run["process_id"]), (said["process"]["host"] or "", said["process"]["id"]))
        self.assertEqual(run["host_blocked_ns"], said["host_blocked_ns"])
        self.assertEqual(run["simulated"], int(said["simulated"]))
        self.assertEqual(run["window_ns"] % MINUTE_NS, 0)

    def check_devices(self, tables, said):
        for device in said["devices"]:
            row, = (row for row in tables["ranks"] if row["device"] == device["id"])
            windows = [row for row in tables["site_window"] if row["device"] == device["id"]]
            self.assertEqual(total(windows, "idle_ns"), device["idle_ns"] or 0)
            self.assertEqual(total(windows, "copying_ns"), device["copy_only_ns"] or 0)
            self.assertEqual(total(windows, "uncertain_ns"), sum(cause["uncertain_ns"] for cause in device["causes"]))
            for name in ("window_ns", "compute_ns", "copy_only_ns", "idle_ns"):
                self.assertEqual(row[name], device[name] or 0, name)
            by_rule = collections.Counter()
            rules = {site["site"]: site["rule"] for site in tables["sites"]}
            for window in windows:
                by_rule[rules[window["site"]]] += window["idle_ns"]
            expected = collections.Counter()
            for cause in device["causes"]:
                expected[cause["rule"] or ""] += cause["idle_ns"]
            self.assertEqual(+by_rule, +expected)

    def check_calls(self, tables, said):
        host = [row for row in tables["site_window"] if row["device"] == -1]
        for column, field in (("calls", "count"), ("waited", "blocked_count"), ("bytes", "bytes"), ("host_blocked_ns", "host_blocked_ns")):
            self.assertEqual(total(host, column), sum(site[field] for site in said["waits"]), column)
            self.assertEqual(total(tables["site_window"], column), total(host, column))

    def check_sites(self, tables):
        """A site is there once, its windows add up to it, and a window is one of the clock's."""
        self.assertEqual(len({row["site"] for row in tables["sites"]}), len(tables["sites"]))
        sums = collections.defaultdict(collections.Counter)
        run, = tables["runs"]
        for row in tables["site_window"]:
            self.assertEqual(row["begin_ns"] % run["window_ns"], 0)
            for column in ("calls", "waited", "bytes", "host_blocked_ns", "idle_ns", "uncertain_ns", "copying_ns"):
                sums[row["site"]][column] += row[column]
        for site in tables["sites"]:
            for column in ("calls", "waited", "bytes", "host_blocked_ns", "idle_ns", "uncertain_ns", "copying_ns"):
                self.assertEqual(site[column], sums[site["site"]][column], column)
        keys = [(row["begin_ns"], row["device"], row["site"]) for row in tables["site_window"]]
        self.assertEqual(len(set(keys)), len(keys))

    def check_steps(self, tables, said):
        kinds = collections.Counter(row["kind"] for row in tables["steps"])
        self.assertEqual(kinds["ordinary"] + kinds["irregular"], said["steps"]["count"])
        self.assertEqual((kinds["warm-up"], kinds["irregular"]), (said["steps"]["warm_up_count"], said["steps"]["irregular_count"]))
        ordinary = [row["length_ns"] for row in tables["steps"] if row["kind"] == "ordinary"]
        if ordinary:
            self.assertEqual(sum(ordinary) // len(ordinary), said["steps"]["ordinary_mean_ns"])

    def test_gate_knows_sites_by_the_same_number(self):
        for trace, fewest in ((self.stored("torch_loop"), 3), (self.stored("cifar_resnet.baseline"), 4)):
            with self.subTest(trace.name):
                rollup(self.dataset, trace)
                sites = {f"{row['site']:016x}": row for row in rows_of(self.dataset, "sites")}
                judged = json.loads(cli("gate", "--no-config", "--no-symbols", "--all", "--step-range=no such range", "--format", "json", trace).stdout)
                found = [finding for finding in judged["findings"] if finding["line"] and finding["status"] != "harmless"]
                self.assertGreaterEqual(len(found), fewest)
                for finding in found:
                    self.assertIn(finding["fingerprint"], sites, finding["message"])
                    self.assertEqual(sites[finding["fingerprint"]]["line"], finding["line"])


class Minutes(RollupCase):
    def test_a_long_wait_is_cut_at_the_minutes_of_the_wall_clock(self):
        text = self.folder / "long.trace.txt"
        second = 1_000_000_000
        text.write_text(f"""synctrace-text 1 start_realtime_ns={1_700_000_000 * second} process_id=4711
chunk
schemas
clock monotonic_ns=0 realtime_ns={1_700_000_000 * second}
context context=1 device=0 null_stream=7
window time_ns=0 open=1 reason="start"
string id=1 text="k"
launch thread=4711 begin_ns=0 duration_ns=10 api=33554643 correlation=5
kernel begin_ns=10 duration_ns={10 * second - 10} context=1 stream=7 name=1 correlation=5
launch thread=4711 begin_ns={150 * second} duration_ns=10 api=33554643 correlation=6
kernel begin_ns={150 * second + 10} duration_ns={second} context=1 stream=7 name=1 correlation=6
end time_ns={160 * second} reason="exit"
""")
        trace = self.folder / "long.synctrace"
        datasets.ok("dump", "-f", "--assemble", text, "-o", trace)
        rollup(self.dataset, trace)
        idle = collections.Counter()
        for row in rows_of(self.dataset, "site_window"):
            if row["device"] == 0:
                idle[row["begin_ns"] // second - 1_699_999_980] += row["idle_ns"]
        # The trace begins 20 s into a minute, so minutes begin 40, 100 and 160 s into the trace.
        self.assertEqual(idle, {0: 30 * second + 10, 60: 60 * second, 120: 50 * second + 10 + 9 * second - 10})


class TheSameAgain(RollupCase):
    def contents(self):
        return {file.relative_to(self.dataset): file.read_bytes() for file in sorted(self.dataset.rglob("*")) if file.is_file()}

    def test_a_recording_replaces_itself_whatever_its_name(self):
        trace = self.stored("sync_per_step")
        rollup(self.dataset, trace)
        before = self.contents()
        self.assertEqual(len(before), len(TABLES))
        other = self.folder / "renamed.synctrace"
        shutil.copy(trace, other)
        rollup(self.dataset, other)
        self.assertEqual(self.contents(), before)
        self.assertIn("are the same recording", rollup(self.dataset, trace, other).stderr)
        self.assertEqual(self.contents(), before)

    def test_folders_are_job_date_and_rank(self):
        trace = self.stored("sync_per_step")
        rollup(self.dataset, trace)
        for table in TABLES:
            file, = [file for file in datasets.files_of(self.dataset, table) if file.is_file()]
            job, date, rank = file.relative_to(self.dataset / table).parts[:3]
            self.assertRegex(" ".join((job, date, rank)), r"^job=\S+ date=20\d\d-\d\d-\d\d rank=-?\d+$")
        rollup(self.folder / "named", trace, "--job", "../a job=1/é", "--commit", "abc123")
        self.assertEqual([one.name for one in (self.folder / "named" / "runs").iterdir()], ["job=..%2Fa%20job%3D1%2F%C3%A9"])
        self.assertEqual(rows_of(self.folder / "named", "runs")[0]["commit"], "abc123")

    def test_without_source(self):
        trace = self.stored("torch_loop")
        rollup(self.dataset, trace)
        whole = self.tables()
        self.assertTrue(any("torch_loop.py" in row["file"] for row in whole["sites"]))
        rollup(self.dataset, trace, "--no-source")
        bare = self.tables()
        for row in bare["sites"]:
            self.assertEqual((row["file"], row["function"], row["source"], row["line"]), ("", "", "", 0))
        self.assertEqual([row["site"] for row in bare["sites"]], [row["site"] for row in whole["sites"]])
        self.assertEqual(bare["site_window"], whole["site_window"])
        for file in self.dataset.rglob("*.parquet"):
            said = " ".join(str(value) for row in datasets.parquet_file.ParquetFile(file).rows for value in row.values())
            self.assertNotIn("torch_loop", said)
            self.assertNotIn("item", said)


class Trouble(RollupCase):
    def test_an_empty_trace_has_empty_tables(self):
        text = self.folder / "empty.trace.txt"
        text.write_text("synctrace-text 1 start_realtime_ns=1700000000000000000 process_id=4711\nchunk\nschemas\n")
        trace = self.folder / "empty.synctrace"
        datasets.ok("dump", "-f", "--assemble", text, "-o", trace)
        rollup(self.dataset, trace)
        tables = self.tables()
        self.assertEqual({table: len(rows) for table, rows in tables.items()},
                         {"runs": 1, "ranks": 0, "sites": 0, "site_window": 0, "steps": 0, "collectives": 0})

    def test_damage_leaves_tables_that_add_up(self):
        whole = self.stored("torch_loop").read_bytes()
        for share in (3, 2):
            trace = self.folder / f"cut-{share}.synctrace"
            trace.write_bytes(whole[:len(whole) // share])
            rollup(self.dataset, trace)
            tables = self.tables()
            self.assertEqual(len(tables["runs"]), 1)  # the longer one is the same recording
            self.assertEqual(total(tables["ranks"], "idle_ns"), total(tables["site_window"], "idle_ns"))

    def test_what_is_no_trace_is_said_and_the_rest_is_there(self):
        other = self.folder / "no.synctrace"
        other.write_text("nothing of ours")
        done = cli("rollup", "--no-symbols", "-o", self.dataset, other, self.stored("sync_per_step"))
        self.assertEqual(done.returncode, 3)
        self.assertEqual(len(done.stderr.strip().splitlines()), 2, done.stderr)
        self.assertEqual(len(rows_of(self.dataset, "runs")), 1)

    def test_a_dataset_that_cannot_be_written(self):
        self.dataset.write_text("a file")
        done = cli("rollup", "--no-symbols", "-o", self.dataset, self.stored("sync_per_step"))
        self.assertEqual((done.returncode, self.dataset.read_text()), (3, "a file"))
        self.assertRegex(done.stderr, r"^synctrace rollup: cannot make the folder .*: Not a directory; choose another --output\.\n$")

    def test_no_trace_at_all(self):
        empty = self.folder / "none"
        empty.mkdir()
        self.assertEqual(cli("rollup", "-o", self.dataset, empty).returncode, 4)
        self.assertEqual(cli("rollup", empty).returncode, 2)


class Jobs(RollupCase):
    def test_a_job_says_what_its_report_says(self):
        traces = datasets.generated_job(self.folder / "job", 4, 30, 20, 2_000_000, "read")
        rollup(self.dataset, *traces)
        said = report(*traces)
        tables = self.tables()
        self.assertEqual(len(tables["runs"]), 4)
        runs = {row["run"]: row for row in tables["runs"]}
        for rank in said["ranks"]:
            file, = (self.dataset / "runs").glob(f"*/*/rank={rank['rank']}/*")
            run = runs[int(file.stem, 16)]
            self.assertEqual(run["others_waited_ns"], rank["others_waited_ns"])
            self.assertEqual((run["late_count"], run["late_margin_ns"], run["job_ranks"]), (rank["late_count"], rank["margin_ns"], 4))
            for device in rank["devices"]:
                row, = (row for row in tables["ranks"] if (row["run"], row["device"]) == (run["run"], device["id"]))
                for name in ("waiting_ns", "transfer_ns", "idle_ns"):
                    self.assertEqual(row[name], device["recorded"][name], name)
                self.assertEqual(row["idle_ns"], sum(one["idle_ns"] for one in tables["site_window"]
                                                     if (one["run"], one["device"]) == (run["run"], device["id"])))
            self.assertEqual(total([row for row in tables["collectives"] if row["run"] == run["run"]], "count"), rank["collectives"])
        for row in tables["collectives"]:
            self.assertEqual(row["time_ns"], row["waiting_ns"] + row["transfer_ns"] + row["unsplit_ns"])
        waited = collections.Counter()
        for row in tables["collectives"]:
            waited[row["late_rank"]] += row["waiting_ns"]
        self.assertEqual(waited.most_common(1)[0][0], 1)  # the rank with the fault
        self.assertEqual(total(tables["sites"], "others_waited_ns"),
                         sum(one["others_waited_ns"] for cause in said["job"]["causes"] for one in cause["ranks"]))
        self.assertEqual(sorted(path.name for path in self.dataset.glob("runs/*/*/*")), [f"rank={n}" for n in range(4)])

    def test_a_rank_alone_does_not_know_what_was_waiting(self):
        traces = datasets.generated_job(self.folder / "job", 2, 10, 5)
        rollup(self.dataset, traces[0])
        rows = rows_of(self.dataset, "collectives")
        self.assertGreater(total(rows, "count"), 0)
        self.assertEqual([row["unsplit_ns"] for row in rows], [row["time_ns"] for row in rows])


if __name__ == "__main__":
    unittest.main()
