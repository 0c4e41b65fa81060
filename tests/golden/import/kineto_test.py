# SPDX-License-Identifier: Apache-2.0
"""torch.profiler's JSON as a trace: a small file by its conventions, our own export and back, and files that are no good."""
import gzip
import json
import pathlib
import subprocess
import unittest

import trace_records
from export_case import PATIENCE_S, SYNCTRACE, ExportCase

SMALL = pathlib.Path(__file__).with_name("kineto_small.json")


class ImportCase(ExportCase):
    def imported(self, source):
        trace = self.folder / "imported.synctrace"
        self.ok("import", source, "-o", trace, "--force-overwrite")
        return trace

    def document(self, value, name="case.json"):
        path = self.folder / name
        path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8", errors="surrogatepass")
        return path


class Small(ImportCase):
    def test_what_the_report_says(self):
        report = self.report(self.imported(SMALL))
        self.assertEqual(report["steps"]["source"], "profiler-step")
        self.assertEqual(report["steps"]["count"], 3)  # and one to warm up
        device, = report["devices"]
        self.assertEqual(device["name"], "NVIDIA H200")
        # Busy from the first kernel on for 1 ms, and 22 us of copies.
        self.assertEqual(device["compute_ns"], 4 * 1_000_000)
        self.assertEqual(device["copy_only_ns"], 4 * 22_000)
        self.assertEqual(sum(cause["idle_ns"] for cause in device["causes"]), device["idle_ns"])
        wait, = [one for one in report["waits"] if one["function"] == "train_step" and one["rule"] == "ST020" and one["blocked_count"]]
        self.assertEqual((wait["file"], wait["line"], wait["blocked_count"]), ("/home/user/train.py", 12, 4))
        self.assertEqual(report["process"]["rank"], "3")
        names = {loss["name"]: loss["severity"] for loss in report["losses"]}
        self.assertLessEqual({"imported", "import-no-host-waits", "import-no-waited-objects", "import-function-lines"}, set(names))
        self.assertNotIn("warning", names.values())

    def test_every_row(self):
        records = trace_records.Records(self.ok("dump", self.imported(SMALL)))
        counts = {kind: len(records.of(kind)) for kind in ("call", "launch", "kernel", "copy", "overhead", "nvtx_push", "nvtx_pop")}
        self.assertEqual(counts, {"call": 13, "launch": 8, "kernel": 8, "copy": 8, "overhead": 1, "nvtx_push": 4, "nvtx_pop": 4})
        launch, kernel = records.of("launch")[0], records.of("kernel")[0]
        self.assertEqual(kernel["correlation"], launch["correlation"])
        self.assertEqual(kernel["begin_ns"] - launch["begin_ns"], 15_000)
        self.assertEqual(kernel["duration_ns"], 300_000)
        copy = records.of("copy")[0]
        self.assertEqual((copy["bytes"], copy["copy_kind"], copy["source_memory"], copy["target_memory"]), (65536, 1, 1, 3))
        wait = [call for call in records.of("call") if call["duration_ns"] == 930_000][0]
        self.assertEqual((wait["context"], wait["stream"]), (1, 7))
        self.assertEqual(records.of("call")[0]["duration_ns"], 30_250)
        self.assertEqual({thread["name"] for thread in records.of("thread")}, {"python3", "pt_autograd_0"})

    def test_packed(self):
        packed = self.folder / "small.json.gz"
        packed.write_bytes(gzip.compress(SMALL.read_bytes()))
        first = self.imported(packed).read_bytes()
        self.assertEqual(first, self.imported(SMALL).read_bytes())

    def test_the_gate_takes_it(self):
        done = self.cli("gate", self.imported(SMALL))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("train.py:12", done.stdout)

    def test_without_stacks(self):
        document = json.loads(SMALL.read_text(encoding="utf-8"))
        events = document["traceEvents"]
        document["traceEvents"] = [one for one in events if one.get("cat") != "python_function"]
        report = self.report(self.imported(self.document(document)))
        self.assertIn("aten::_local_scalar_dense", {one["function"] for one in report["waits"]})
        self.assertIn("import-operators-only", {loss["name"] for loss in report["losses"]})
        document["traceEvents"] = [one for one in document["traceEvents"] if one.get("cat") != "cpu_op"]
        report = self.report(self.imported(self.document(document)))
        self.assertIn("import-no-stacks", {loss["name"] for loss in report["losses"]})


class RoundTrip(ImportCase):
    """A trace of ours, exported and imported: the same work, and devices as idle as before."""

    NAMES = {"sync_per_step", "memory_kinds", "graph_replay", "pageable_async", "healthy_pipeline"}

    def busy(self, report, trace):
        records = trace_records.Records(self.ok("dump", trace))
        work = {kind: sorted((one["begin_ns"], one["duration_ns"], one.get("device", 0), one["stream"]) for one in records.of(kind))
                for kind in ("kernel", "copy", "memset", "graph")}
        return work, {device["id"]: (device["compute_ns"], device["copy_only_ns"]) for device in report["devices"]}

    def test_stored_traces(self):
        checked = 0
        for trace in self.stored_traces():
            if trace.name.split(".")[0] not in self.NAMES:
                continue
            before = self.report(trace)
            with self.subTest(trace.name):
                export = self.folder / "export.json"
                self.ok("export", trace, "-o", export, "--force-overwrite")
                again = self.imported(export)
                after = self.report(again)
                work, device_before = self.busy(before, trace)
                work_again, device_after = self.busy(after, again)
                self.assertEqual(work_again, work)
                self.assertEqual(device_after, device_before)
                for device in after["devices"]:
                    self.assertEqual(sum(cause["idle_ns"] for cause in device["causes"]), device["idle_ns"])
                self.check_idle(before, after)
                checked += 1
        self.assertGreaterEqual(checked, len(self.NAMES))

    def check_idle(self, before, after):
        """Between the first work and the last one. The windows end elsewhere: of an import they are its rows'."""
        edges = {"startup", "shutdown", "capture-edge"}
        for one, other in zip(before["devices"], after["devices"]):
            inner = [device["idle_ns"] - sum(cause["idle_ns"] for cause in device["causes"] if cause["cause"] in edges)
                     for device in (one, other)]
            self.assertAlmostEqual(inner[1], inner[0], delta=inner[0] * 1e-3 + 100_000)


class Hostile(ImportCase):
    EVENT = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 5, "dur": 1, "args": {"stream": 7, "device": 0}}

    def refused(self, source, word, status=3):
        done = self.cli("import", source, "-o", self.folder / "out.synctrace")
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn(word, done.stderr)
        self.assertEqual(sorted(file.name for file in self.folder.glob("out*")), [])

    def test_refused_with_one_sentence(self):
        text = SMALL.read_text(encoding="utf-8")
        self.refused(self.document(text[:len(text) // 2]), "cut off")
        self.refused(self.document("hello"), "no JSON")
        self.refused(self.document(""), "cut off")
        self.refused(self.document("{}"), "no traceEvents")
        self.refused(self.document("[]"), "no CUDA calls")
        self.refused(self.document({"traceEvents": [{"ph": "X"}]}), "no CUDA calls")
        self.refused(self.document("[" * 100000), "too deeply")
        self.refused(self.document('{"traceEvents": ["' + "a" * (17 << 20) + '"]}'), "16.0 MiB")
        self.refused(self.folder / "absent.json", "absent.json")
        self.refused(self.document("x", "report.nsys-rep"), "nsys export")
        packed = self.folder / "cut.json.gz"
        packed.write_bytes(gzip.compress(SMALL.read_bytes())[:-200])
        self.refused(packed, "cut off")

    def test_values_of_any_type(self):
        for key in ("ph", "cat", "name", "pid", "tid", "ts", "dur", "args"):
            for value in (None, True, -1, 1e300, "x", [], {}, [[{}]], {"stream": "x", "device": -5, "bytes": -1, "correlation": 1e99}):
                bad = {**self.EVENT, key: value}
                document = self.document([self.EVENT, bad, {**self.EVENT, "args": {"stream": value, "device": value}}])
                done = self.cli("import", document, "-o", self.folder / "out.synctrace", "--force-overwrite")
                self.assertEqual(done.returncode, 0, (key, value, done.stderr))
        self.ok("report", self.folder / "out.synctrace")

    def test_times_that_cannot_be(self):
        """A time is exact however large; beside such times small ones are errors."""
        far = [{**self.EVENT, "ts": ts} for ts in (1760000000000001, 0, -5, 1e18, "9", "exact")]
        text = json.dumps(far).replace('"exact"', "1760000000000000.125")
        report = self.report(self.imported(self.document(text)))
        self.assertEqual(report["devices"][0]["compute_ns"], 1_875)
        self.assertIn("impossible-times", {loss["name"] for loss in report["losses"]})

    def test_names_of_any_kind(self):
        names = ["\"\\\n", "\u202eabc", "\ud800".encode("utf-8", "surrogatepass").decode("utf-8", "replace"), "x" * (1 << 20), ""]
        document = self.document([{**self.EVENT, "name": name, "ts": 10 * i} for i, name in enumerate(names)])
        trace = self.imported(document)
        records = trace_records.Records(self.ok("dump", trace))
        self.assertEqual(len(records.of("kernel")), len(names))
        self.ok("report", trace)

    def test_ranges_that_cut_into_each_other(self):
        spans = [(0, 10), (5, 10), (5, 0), (10, 5), (12, 20), (14, 1)]
        events = [{"ph": "X", "cat": "user_annotation", "name": f"r{i}", "pid": 1, "tid": 1, "ts": ts, "dur": dur}
                  for i, (ts, dur) in enumerate(spans)]
        records = trace_records.Records(self.ok("dump", self.imported(self.document([self.EVENT, *events]))))
        self.assertEqual(len(records.of("nvtx_push")), len(records.of("nvtx_pop")))
        self.assertEqual(len(records.of("nvtx_push")) + len(records.of("nvtx_start")), len(spans))

    def test_files_are_not_replaced_unasked(self):
        target = self.document("mine", "out.synctrace")
        done = self.cli("import", SMALL, "-o", target)
        self.assertEqual((done.returncode, target.read_text()), (2, "mine"))
        copy = self.document(SMALL.read_text(encoding="utf-8"))
        done = self.cli("import", copy, "-o", copy, "--force-overwrite")
        self.assertEqual(done.returncode, 2)

    def test_a_pipe(self):
        done = subprocess.run([SYNCTRACE, "import", "/dev/stdin", "-o", self.folder / "out.synctrace"], input=SMALL.read_bytes(),
                              stderr=subprocess.PIPE, timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
