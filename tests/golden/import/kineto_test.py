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


class Head(ImportCase):
    """What stands at the top of a report on an imported profile."""

    def events(self, **without):
        return [one for one in json.loads(SMALL.read_text(encoding="utf-8"))["traceEvents"] if one.get("cat") not in without.get("without", ())]

    def text(self, events):
        return self.ok("report", "--full", "--no-symbols", self.imported(self.document({"traceEvents": events})))

    def test_the_name_of_the_steps_once(self):
        text = self.text(self.events())
        self.assertIn("3 by ranges ProfilerStep#: mean", text)
        self.assertNotIn("lines     ", text)

    def test_without_lines(self):
        document = self.document({"traceEvents": self.events(without=("python_function",))})
        done = self.cli("import", document, "-o", self.folder / "out.synctrace")
        self.assertIn("was recorded without with_stack=True: reports will name operators of PyTorch, and no lines", done.stderr)
        sentence = "the profile was made without with_stack=True, so rows name operators of PyTorch"
        self.assertIn(f"No lines: {sentence}.\n", self.ok("report", self.folder / "out.synctrace"))
        text = self.ok("report", "--full", "--no-symbols", self.folder / "out.synctrace")
        self.assertIn(f"  lines     {sentence}\n", "".join(text.splitlines(keepends=True)[:8]))
        self.assertIn(f"**No lines**: {sentence}.", self.ok("report", "--format", "md", self.folder / "out.synctrace"))
        self.assertNotIn("before :", text)
        without = ("python_function", "cpu_op")
        self.assertIn("  lines     the profile has no stacks", self.text(self.events(without=without)))

    def test_a_few_kernels_have_no_verdict(self):
        kernels = [{**Hostile.EVENT, "ts": 1000 * i, "dur": 10} for i in range(4)]
        trace = self.imported(self.document({"traceEvents": kernels}))
        report = self.report(trace)
        self.assertEqual((report["verdict"], report["verdict_evidence"]),
                         (None, "4 pieces of GPU work are too little to say what binds the program"))
        self.assertIn("NO VERDICT: too little GPU work", self.ok("report", trace))
        self.assertIn("  verdict   none: 4 pieces of GPU work are too little", self.ok("report", "--full", trace))
        self.assertIn("**No verdict**: 4 pieces", self.ok("report", "--format", "md", trace))
        self.assertIn("1 piece of GPU work is too little", self.text(kernels[:1]))
        self.assertIsNotNone(self.report(self.imported(self.document({"traceEvents": [*kernels, {**kernels[0], "ts": 4000}]})))["verdict"])


class Streams(ImportCase):
    """The file has no flags of streams: those whose work shows it are free of the default stream."""

    def pair(self, at, stream, begin, length):
        common = {"ph": "X", "pid": 1, "tid": 1, "args": {"correlation": at, "device": 0, "context": 1, "stream": stream}}
        return [{**common, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 1000 + at, "dur": 1},
                {**common, "cat": "kernel", "name": "k", "pid": 0, "tid": stream, "ts": 1000 + begin, "dur": length}]

    def flags(self, *pairs):
        trace = self.imported(self.document({"traceEvents": [event for pair in pairs for event in pair]}))
        return {one["stream"]: one["flags"] for one in trace_records.Records(self.ok("dump", trace)).of("stream")}

    def test_work_beside_the_default_stream(self):
        self.assertEqual(self.flags(self.pair(1, 7, 10, 100), self.pair(2, 13, 50, 10)), {7: 2, 13: 1})
        self.assertEqual(self.flags(self.pair(1, 13, 10, 100), self.pair(2, 7, 50, 10)), {7: 2, 13: 1})

    def test_work_before_what_was_issued_before_it(self):
        """It never runs beside the default stream's kernel, but begins while that one is queued."""
        self.assertEqual(self.flags(self.pair(1, 7, 200, 100), self.pair(2, 13, 50, 10)), {7: 2, 13: 1})

    def test_work_in_turn(self):
        self.assertEqual(self.flags(self.pair(1, 7, 10, 100), self.pair(2, 13, 109, 10), self.pair(3, 7, 119, 5)), {7: 2, 13: 0})
        self.assertEqual(self.flags(self.pair(1, 13, 10, 100), self.pair(2, 15, 50, 10)), {13: 0, 15: 0})

    def test_savings_are_predicted(self):
        """Two streams side by side for a hundred kernels: in order with each other, their times would contradict."""
        pairs = [self.pair(50 * i + k, stream, 50 * i + 10, 45) for i in range(100) for k, stream in ((1, 7), (2, 13))]
        report = self.report(self.imported(self.document({"traceEvents": [event for pair in pairs for event in pair]})))
        self.assertIsNone(report["savings"]["refused"])
        self.assertGreater(report["savings"]["base_ns"], 4_000_000)


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
        self.refused(self.document("[]"), "holds no events")
        self.refused(self.document({"traceEvents": [{"ph": "X"}]}), "no trace of torch.profiler")
        self.refused(self.document("[" * 100000), "too deeply")
        self.refused(self.document('{"traceEvents": ["' + "a" * (17 << 20) + '"]}'), "16.0 MiB")
        self.refused(self.folder / "absent.json", "absent.json")
        self.refused(self.document("x", "report.nsys-rep"), "nsys export")
        packed = self.folder / "cut.json.gz"
        packed.write_bytes(gzip.compress(SMALL.read_bytes())[:-200])
        self.refused(packed, "cut off")

    def test_refused_for_what_it_is(self):
        operator = {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 5, "dur": 1}
        call = {**operator, "cat": "cuda_runtime", "name": "hipLaunchKernel"}
        self.refused(self.document({"traceEvents": [operator]}),
                     "what PyTorch did on the CPU, and no CUDA calls and no GPU work: it was recorded without a GPU, or without Prof")
        self.refused(self.document({"deviceProperties": [{"id": 0, "name": "NVIDIA H200"}], "traceEvents": [operator]}),
                     "give torch.profiler ProfilerActivity.CUDA as well")
        self.refused(self.document({"traceEvents": [operator, {**operator, "cat": "mtia_runtime"}]}), "holds work of MTIA, and none of CUDA")
        self.refused(self.document({"traceEvents": [self.EVENT, {**operator, "cat": "xpu_runtime"}]}), "holds work of Intel's XPU")
        self.refused(self.document({"traceEvents": [self.EVENT, operator, call]}), "holds calls of AMD's HIP")
        self.refused(self.document({"schema": "1.0.1", "nodes": [{"name": "aten::add"}]}), "is an execution trace of PyTorch")
        self.refused(self.document("x", "kernels.ncu-rep"), "is of Nsight Compute")
        self.refused(self.document("PK\3\4rest", "trace.json.zip"), "is a ZIP archive")
        trace = self.folder / "ours.synctrace"
        self.ok("import", SMALL, "-o", trace)
        self.refused(trace, "is a trace already")

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
