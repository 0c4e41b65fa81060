# SPDX-License-Identifier: Apache-2.0
"""Nsight Systems' SQLite export as a trace: a database made here by its schema, our own export and back, and files that are no
good."""
import sqlite3
import unittest

import trace_records
from export_case import HOSTILE_TEXT, ExportCase, hostile_names_trace

PID, THREAD = 4711, 4712
GLOBAL = PID << 24
STRINGS = {1: "cudaLaunchKernel_v7000", 2: "cudaStreamSynchronize_v3020", 3: "cudaMemcpyAsync_v3020", 4: "_Z4spinx", 5: "spin(long long)",
           6: "spin", 7: "python3", 8: "cudaEventRecord_v3020", 9: "cudaEventSynchronize_v3020", 10: "train_step", 11: "/home/user/train.py:12",
           12: "pthread_cond_wait", 13: "forward", 14: "cuLaunchKernel", 15: "cudaEventQuery_v3020"}


class Nsys:
    """A database with the rows of a small loop: a launch, a copy of 4 bytes, a wait for both, and the step around them."""

    TABLES = {
        "StringIds": "id INTEGER PRIMARY KEY, value TEXT",
        "CUPTI_ACTIVITY_KIND_RUNTIME": "start, end, eventClass, globalTid, correlationId, nameId, returnValue, callchainId",
        "CUPTI_ACTIVITY_KIND_KERNEL": "start, end, deviceId, contextId, streamId, correlationId, globalPid, demangledName, shortName, mangledName",
        "CUPTI_ACTIVITY_KIND_MEMCPY": "start, end, deviceId, contextId, streamId, correlationId, globalPid, bytes, copyKind, srcKind, dstKind",
        "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": "start, end, deviceId, contextId, streamId, correlationId, globalPid, syncType, eventId",
        "CUPTI_ACTIVITY_KIND_CUDA_EVENT": "deviceId, contextId, streamId, correlationId, eventId",
        "NVTX_EVENTS": "start, end, eventType, text, globalTid, textId, domainId",
        "OSRT_API": "start, end, globalTid, nameId, callchainId",
        "CUDA_CALLCHAINS": "id, symbol, module, stackDepth",
        "ThreadNames": "nameId, priority, globalTid",
        "TARGET_INFO_GPU": "id, name, uuid, smCount",
        "TARGET_INFO_SESSION_START_TIME": "utcEpochNs",
    }

    def __init__(self, path, steps=4, tables=tuple(TABLES), process=PID):
        self.connection = sqlite3.connect(path)
        self.tables = tables
        for table in tables:
            self.connection.execute(f"CREATE TABLE {table} ({self.TABLES[table]})")
        for key, value in STRINGS.items():
            self.add("StringIds", key, value)
        self.add("ThreadNames", 7, None, process << 24 | THREAD)
        self.add("TARGET_INFO_GPU", 0, "NVIDIA H200", "GPU-1", 132)
        self.add("TARGET_INFO_SESSION_START_TIME", 1760000000000000000)
        self.add("CUDA_CALLCHAINS", 1, 10, 11, 0)
        for step in range(steps):
            self.step(step, process)
        self.connection.commit()
        self.connection.close()

    def add(self, table, *row):
        if table in self.tables:
            self.connection.execute(f"INSERT INTO {table} VALUES ({','.join('?' * len(row))})", row)

    def step(self, step, process):
        begin, correlation = 1_000_000 + 3_000_000 * step, 10 * step
        thread, pid = process << 24 | THREAD, process << 24
        self.add("NVTX_EVENTS", begin, begin + 2_900_000, 59, None if step % 2 else "forward", thread, 13, 0)
        self.add("CUPTI_ACTIVITY_KIND_RUNTIME", begin + 1000, begin + 6000, 0, thread, correlation + 1, 1, 0, 1)
        self.add("CUPTI_ACTIVITY_KIND_RUNTIME", begin + 2000, begin + 5000, 1, thread, correlation + 9, 14, 0, None)
        self.add("CUPTI_ACTIVITY_KIND_KERNEL", begin + 9000, begin + 1_009_000, 0, 1, 7, correlation + 1, pid, 5, 6, 4)
        self.add("CUPTI_ACTIVITY_KIND_RUNTIME", begin + 7000, begin + 12000, 0, thread, correlation + 2, 3, 0, 1)
        self.add("CUPTI_ACTIVITY_KIND_MEMCPY", begin + 1_010_000, begin + 1_012_000, 0, 1, 7, correlation + 2, pid, 4, 2, 2, 0)
        self.add("CUPTI_ACTIVITY_KIND_RUNTIME", begin + 13000, begin + 1_020_000, 0, thread, correlation + 3, 2, 0, 1)
        self.add("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", begin + 13000, begin + 1_020_000, 0, 1, 7, correlation + 3, pid, 3, None)
        self.add("CUPTI_ACTIVITY_KIND_RUNTIME", begin + 1_021_000, begin + 1_022_000, 0, thread, correlation + 4, 8, 0, None)
        self.add("CUPTI_ACTIVITY_KIND_CUDA_EVENT", 0, 1, 7, correlation + 4, 99)
        self.add("CUPTI_ACTIVITY_KIND_RUNTIME", begin + 1_030_000, begin + 1_031_000, 0, thread, correlation + 5, 15, 600, None)
        self.add("CUPTI_ACTIVITY_KIND_RUNTIME", begin + 1_032_000, begin + 1_033_000, 0, thread, correlation + 6, 15, 0, None)
        self.add("OSRT_API", begin + 1_100_000, begin + 2_100_000, thread, 12, None)


class ImportCase(ExportCase):
    def imported(self, source, *options):
        trace = self.folder / "imported.synctrace"
        done = self.cli("import", source, "-o", trace, "--force-overwrite", *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.said = done.stderr
        return trace

    def database(self, name="nsys.sqlite", **options):
        path = self.folder / name
        Nsys(path, **options)
        return path


class Small(ImportCase):
    def test_what_the_report_says(self):
        report = self.report(self.imported(self.database()))
        self.assertEqual((report["steps"]["source"], report["steps"]["count"]), ("nvtx", 3))
        device, = report["devices"]
        self.assertEqual((device["name"], device["compute_ns"], device["copy_only_ns"]), ("NVIDIA H200", 4_000_000, 8_000))
        wait, = [one for one in report["waits"] if one["blocked_count"]]
        self.assertEqual((wait["rule"], wait["file"], wait["line"], wait["blocked_count"]), ("ST020", "/home/user/train.py", 12, 4))
        self.assertNotIn("import-no-host-waits", {loss["name"] for loss in report["losses"]})

    def test_every_row(self):
        records = trace_records.Records(self.ok("dump", self.imported(self.database())))
        counts = {kind: len(records.of(kind)) for kind in ("call", "launch", "poll", "kernel", "copy", "host_wait", "nvtx_push")}
        self.assertEqual(counts, {"call": 12, "launch": 4, "poll": 4, "kernel": 4, "copy": 4, "host_wait": 4, "nvtx_push": 4})
        self.assertEqual({(poll["count"], poll["not_ready_count"]) for poll in records.of("poll")}, {(2, 1)})
        self.assertEqual({records.strings[kernel["name"]] for kernel in records.of("kernel")}, {"_Z4spinx"})
        copy = records.of("copy")[0]
        self.assertEqual((copy["copy_kind"], copy["source_memory"], copy["target_memory"], copy["bytes"]), (2, 3, 1, 4))
        event = records.calls("cudaEventRecord")[0]
        self.assertEqual((event["object"], event["stream"]), (99, 7))
        self.assertEqual(records.calls("cudaStreamSynchronize")[0]["stream"], 7)
        self.assertEqual([thread["name"] for thread in records.of("thread")], ["python3"])

    def test_tables_that_are_missing_are_named(self):
        tables = [table for table in Nsys.TABLES if table not in ("NVTX_EVENTS", "OSRT_API", "CUDA_CALLCHAINS")]
        report = self.report(self.imported(self.database(tables=tables)))
        self.assertIn("NVTX_EVENTS", self.said)
        self.assertLessEqual({"import-no-table", "import-no-host-waits", "import-no-stacks"}, {loss["name"] for loss in report["losses"]})

    def test_one_process_of_several(self):
        one, other = self.database("one.sqlite"), self.database("other.sqlite", process=5000, steps=3)
        with sqlite3.connect(one) as connection:
            connection.execute("ATTACH ? AS other", (str(other),))
            for table in ("CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_KERNEL"):
                connection.execute(f"INSERT INTO {table} SELECT * FROM other.{table}")
        connection.close()
        done = self.cli("import", one, "-o", "x.synctrace")
        self.assertEqual(done.returncode, 3)
        self.assertIn("4711, 5000", done.stderr)
        self.assertEqual(len(trace_records.Records(self.ok("dump", self.imported(one, "--process", "5000"))).of("kernel")), 3)
        self.assertEqual(self.cli("import", one, "-o", "x.synctrace", "--process", "6").returncode, 3)


class RoundTrip(ImportCase):
    NAMES = ("sync_per_step", "memory_kinds", "graph_replay", "healthy_pipeline")

    def test_stored_traces(self):
        for trace in self.stored_traces():
            if trace.name.split(".")[0] not in self.NAMES:
                continue
            with self.subTest(trace.name):
                self.ok("export", trace, "--format", "nsys-sqlite", "--stacks", "-o", "export.sqlite", "--force-overwrite")
                again = self.imported("export.sqlite")
                before, after = self.report(trace), self.report(again)
                self.assertEqual([(device["compute_ns"], device["copy_only_ns"]) for device in after["devices"]],
                                 [(device["compute_ns"], device["copy_only_ns"]) for device in before["devices"]])
                lengths = lambda path, kind: sorted(one["duration_ns"] for one in trace_records.Records(self.ok("dump", path)).of(kind))  # noqa: E731
                for kind in ("kernel", "copy", "memset", "graph", "call", "launch"):
                    self.assertEqual(lengths(again, kind), lengths(trace, kind), kind)
                blocked = lambda report: sum(wait["blocked_count"] for wait in report["waits"])  # noqa: E731
                self.assertEqual(blocked(after), blocked(before))

    def test_names_of_any_bytes(self):
        self.ok("export", hostile_names_trace(self), "--format", "nsys-sqlite", "--stacks", "-o", "export.sqlite")
        records = trace_records.Records(self.ok("dump", self.imported("export.sqlite")))
        self.assertIn(HOSTILE_TEXT, records.strings.values())
        self.assertEqual(len(records.of("kernel")), 2)


class Hostile(ImportCase):
    def refused(self, source, word):
        done = self.cli("import", source, "-o", "out.synctrace")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn(word, done.stderr)
        self.assertEqual(list(self.folder.glob("out*")), [])

    def test_refused_with_one_sentence(self):
        good = self.database().read_bytes()
        bad = self.folder / "bad.sqlite"
        bad.write_bytes(good[:100])
        self.refused(bad, "bad.sqlite")
        bad.write_bytes(good[:len(good) // 2])
        self.refused(bad, "bad.sqlite")
        bad.write_bytes(good[:4096] + b"\xff" * (len(good) - 4096))
        self.refused(bad, "bad.sqlite")
        empty = self.folder / "empty.sqlite"
        with sqlite3.connect(empty) as connection:
            connection.execute("CREATE TABLE a (b)")
        connection.close()
        self.refused(empty, "--trace=cuda")

    def test_values_of_any_type(self):
        for value in ("NULL", "'x'", "-1", "1e300", "9223372036854775807", "x'00ff'", "zeroblob(100000)"):
            path = self.database("odd.sqlite")
            with sqlite3.connect(path) as connection:
                for table, columns in Nsys.TABLES.items():
                    for column in columns.split(", "):
                        name = column.split()[0]
                        if name != "id":
                            connection.execute(f"UPDATE {table} SET {name} = {value} WHERE rowid = 2")
            connection.close()
            self.report(self.imported(path, "--process", PID))
            path.unlink()

    def test_a_view_is_no_table(self):
        path = self.folder / "view.sqlite"
        with sqlite3.connect(path) as connection:
            connection.execute("""CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE n(start) AS
                                  (SELECT 1 UNION ALL SELECT start + 1 FROM n) SELECT start, start AS end FROM n""")
        connection.close()
        self.refused(path, "--trace=cuda")


if __name__ == "__main__":
    unittest.main(verbosity=2)
