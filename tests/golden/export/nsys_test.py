# SPDX-License-Identifier: Apache-2.0
"""The SQLite database, asked as scripts for Nsight Systems' own ask: sums of kernels, calls and copies, what each range launched,
threads and processes by their global numbers, and copies by kind."""
import sqlite3
import unittest

import hta_rule
from export_case import HOSTILE_TEXT, ExportCase, hostile_names_trace

KERNEL_SUM = """
    SELECT s.value, COUNT(*), SUM(k.end - k.start) FROM CUPTI_ACTIVITY_KIND_KERNEL AS k
    JOIN StringIds AS s ON k.demangledName = s.id GROUP BY s.value ORDER BY 3 DESC"""
CALL_SUM = """
    SELECT s.value, COUNT(*), SUM(r.end - r.start) FROM CUPTI_ACTIVITY_KIND_RUNTIME AS r
    LEFT JOIN StringIds AS s ON r.nameId = s.id GROUP BY r.nameId"""
LAUNCHES = """
    SELECT k.start - r.start FROM CUPTI_ACTIVITY_KIND_KERNEL AS k JOIN CUPTI_ACTIVITY_KIND_RUNTIME AS r
    ON k.correlationId = r.correlationId AND k.globalPid / 0x1000000 = r.globalTid / 0x1000000"""
COPIES = """
    SELECT o.label, src.label, dst.label, COUNT(*), SUM(m.bytes) FROM CUPTI_ACTIVITY_KIND_MEMCPY AS m
    LEFT JOIN ENUM_CUDA_MEMCPY_OPER AS o ON m.copyKind = o.id LEFT JOIN ENUM_CUDA_MEM_KIND AS src ON m.srcKind = src.id
    LEFT JOIN ENUM_CUDA_MEM_KIND AS dst ON m.dstKind = dst.id GROUP BY 1, 2, 3"""
RANGE_KERNELS = """
    SELECT n.text, COUNT(k.start) FROM NVTX_EVENTS AS n
    JOIN CUPTI_ACTIVITY_KIND_RUNTIME AS r ON r.globalTid = n.globalTid AND r.start >= n.start AND r.end <= n.end
    JOIN CUPTI_ACTIVITY_KIND_KERNEL AS k ON k.correlationId = r.correlationId
    WHERE n.eventType = 59 GROUP BY n.text"""
SYNCS = """
    SELECT e.label, COUNT(*) FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION AS s
    JOIN ENUM_CUPTI_SYNC_TYPE AS e ON s.syncType = e.id GROUP BY 1"""
THREADS = """
    SELECT s.value, t.globalTid % 0x1000000, t.globalTid / 0x1000000 % 0x1000000 FROM ThreadNames AS t
    JOIN StringIds AS s ON t.nameId = s.id"""


class Database(ExportCase):
    def database(self, *traces, options=()):
        result = self.folder / "export.sqlite"
        self.ok("export", *traces, "--format", "nsys-sqlite", "-o", result, "--force-overwrite", *options)
        connection = sqlite3.connect(result)
        self.addCleanup(connection.close)
        self.assertEqual(connection.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
        return lambda query: connection.execute(query).fetchall()

    def trace(self, name):
        return [trace for trace in self.stored_traces() if trace.name.startswith(f"{name}.")][-1]

    def test_sums_are_those_of_the_records(self):
        for name in ("sync_per_step", "memory_kinds", "polling", "all_kinds_1_0"):
            trace = self.trace(name)
            with self.subTest(name):
                ask, records = self.database(trace), self.records(trace)
                kernels = records.of("kernel")
                self.assertEqual(sum(count for _, count, _ in ask(KERNEL_SUM)), len(kernels))
                self.assertEqual(sum(total for _, _, total in ask(KERNEL_SUM)), sum(one["duration_ns"] for one in kernels))
                calls = records.of("call") + records.of("launch") + records.of("poll")
                self.assertEqual(sum(count for _, count, _ in ask(CALL_SUM)), len(calls))
                self.assertEqual(sum(count for *_, count, _ in ask(COPIES)), len(records.of("copy")))
                self.assertEqual(sum(total or 0 for *_, total in ask(COPIES)), sum(one["bytes"] for one in records.of("copy")))

    def test_kernels_join_their_launches(self):
        trace = self.trace("sync_per_step")
        delays = [delay for delay, in self.database(trace)(LAUNCHES)]
        self.assertEqual(len(delays), len(self.records(trace).of("kernel")))
        self.assertTrue(all(delay >= 0 for delay in delays))

    def test_devices_are_as_idle_as_the_report_says(self):
        for name in ("sync_per_step", "pageable_async"):
            trace = self.trace(name)
            ask, report = self.database(trace), self.report(trace)
            start, = ask("SELECT start, correlationId FROM CUPTI_ACTIVITY_KIND_KERNEL ORDER BY start LIMIT 1")
            first = min((one["begin_ns"], one["correlation"]) for one in self.records(trace).of("kernel"))
            self.assertEqual(start[1], first[1])
            work = [hta_rule.Work(device, stream, begin + first[0] - start[0], end + first[0] - start[0], None)
                    for table in ("KERNEL", "MEMCPY", "MEMSET", "GRAPH_TRACE")
                    for device, stream, begin, end in ask(f"SELECT deviceId, streamId, start, end FROM CUPTI_ACTIVITY_KIND_{table}")]
            windows = [(window["begin_ns"], window["end_ns"]) for window in report["windows"]]
            for device in report["devices"]:
                own = [one for one in work if one.device == device["id"]]
                self.assertEqual(hta_rule.idle_ns(own, windows), device["idle_ns"])

    def test_ranges_and_what_they_launched(self):
        ask = self.database(hostile_names_trace(self))
        self.assertEqual(ask(RANGE_KERNELS), [(HOSTILE_TEXT, 2)])
        self.assertEqual(ask("SELECT s.value FROM NVTX_EVENTS n JOIN StringIds s ON n.textId = s.id"), [(HOSTILE_TEXT,)])
        self.assertEqual(ask(SYNCS), [("Stream sync", 1)])
        self.assertEqual(ask(THREADS), [(HOSTILE_TEXT, 4711, 4711)])
        self.assertEqual(ask("SELECT name, cuDevice FROM TARGET_INFO_GPU"), [(HOSTILE_TEXT, 0)])
        self.assertEqual(ask("SELECT utcEpochNs + (SELECT MIN(start) FROM CUPTI_ACTIVITY_KIND_RUNTIME) FROM TARGET_INFO_SESSION_START_TIME"),
                         [(1700000000000001500,)])

    def test_kinds_of_copies(self):
        rows = {row[:3]: row[3] for row in self.database(self.trace("memory_kinds"))(COPIES)}
        self.assertIn(("Host-to-Device", "Pageable", "Device"), rows)
        self.assertIn(("Device-to-Host", "Device", "Pinned"), rows)

    def test_short_names(self):
        names = {"_Z4spinx": "spin", "_ZN2at6native12_GLOBAL__N_14fillIfEEvT_": "fill", "plain": "plain", "": ""}
        lines = [f'string id={i} text="{name}"\nkernel begin_ns={1000 * i} duration_ns=5 context=1 stream=7 name={i}'
                 for i, name in enumerate(names, start=1)]
        trace = self.assemble("synctrace-text 1 start_realtime_ns=1700000000000000000 process_id=1\nchunk\nschemas\n" + "\n".join(lines) + "\n")
        found = self.database(trace)("SELECT s.value FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON k.shortName = s.id ORDER BY start")
        self.assertEqual([name for name, in found], list(names.values()))

    def test_stacks(self):
        trace = hostile_names_trace(self)
        query = """SELECT f.value, c.stackDepth FROM CUPTI_ACTIVITY_KIND_RUNTIME r JOIN CUDA_CALLCHAINS c ON r.callchainId = c.id
                   JOIN StringIds f ON c.symbol = f.id"""
        self.assertEqual(self.database(trace, options=["--stacks"])(query), [(HOSTILE_TEXT, 0)] * 3)
        self.assertEqual(self.database(trace)(query), [])

    def test_two_processes_with_one_number(self):
        trace = hostile_names_trace(self)
        ask = self.database(trace, trace)
        self.assertEqual(len(ask("SELECT DISTINCT globalPid FROM CUPTI_ACTIVITY_KIND_KERNEL")), 2)
        self.assertEqual(len(ask(LAUNCHES)), 4)

    def test_what_it_cannot_do(self):
        trace = hostile_names_trace(self)
        for target, status, word in (("-", 2, "needs a file"), ("/dev/null", 2, "needs a file"), ("no/such/x.sqlite", 2, "there is no folder no/such")):
            done = self.cli("export", trace, "--format", "nsys-sqlite", "-o", target)
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertIn(word, done.stderr)
        self.assertEqual(list(self.folder.glob("*.tmp")), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
