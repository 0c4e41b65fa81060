# SPDX-License-Identifier: Apache-2.0
"""The tables of comma-separated values, read by Python's csv module, beside the trace's own records."""
import collections
import csv
import unittest

from export_case import HOSTILE_TEXT, ExportCase, hostile_names_trace

TABLES = ("kernels", "copies", "calls", "ranges")


class Tables(ExportCase):
    def tables(self, *traces, options=()):
        self.ok("export", *traces, "--format", "csv", "-o", self.folder / "out.csv", "--force-overwrite", *options)
        result = {}
        for table in TABLES:
            with open(self.folder / f"out.{table}.csv", encoding="utf-8", newline="") as file:
                reader = csv.DictReader(file, strict=True)
                result[table] = list(reader)
                for row in result[table]:
                    self.assertEqual(list(row), reader.fieldnames)
                    self.assertNotIn(None, row.values())
        return result

    def test_every_record_is_a_row(self):
        for name in ("memory_kinds", "polling", "all_kinds_1_0", "graph_replay"):
            trace = [trace for trace in self.stored_traces() if trace.name.startswith(f"{name}.")][-1]
            with self.subTest(name):
                tables, records = self.tables(trace), self.records(trace)
                times = lambda rows: collections.Counter((int(row["begin_ns"]), int(row["duration_ns"])) for row in rows)  # noqa: E731
                self.assertEqual(times(tables["kernels"]), times(records.of("kernel") + records.of("graph")))
                self.assertEqual(times(tables["copies"]), times(records.of("copy") + records.of("memset")))
                self.assertEqual(times(tables["calls"]), times(records.of("call") + records.of("launch") + records.of("poll")))
                self.assertEqual(len(tables["ranges"]), len(records.of("nvtx_push")) + len(records.of("nvtx_start")))
                self.assertEqual(sum(int(row["bytes"]) for row in tables["copies"]), sum(one.get("bytes", 0) for one in records.of("copy") + records.of("memset")))

    def test_names_of_any_bytes(self):
        trace = hostile_names_trace(self)
        tables = self.tables(trace, options=["--stacks"])
        self.assertEqual({row["name"] for row in tables["kernels"]}, {HOSTILE_TEXT})
        self.assertEqual({row["text"] for row in tables["ranges"]}, {HOSTILE_TEXT})
        self.assertEqual({row["function"] for row in tables["calls"]}, {HOSTILE_TEXT})
        self.assertEqual({row["stack"] for row in tables["calls"]}, {f"{HOSTILE_TEXT} ({HOSTILE_TEXT}:7)"})
        first = tables["kernels"][0]
        self.assertEqual((first["begin_ns"], first["issued_ns"], first["correlation"]), ("2000", "1500", "5"))

    def test_several_traces_in_one_table(self):
        trace = hostile_names_trace(self)
        self.assertEqual(len(self.tables(trace, trace)["kernels"]), 4)

    def test_a_folder(self):
        trace = hostile_names_trace(self)
        self.ok("export", trace, "--format", "csv", "-o", "out/")
        self.assertEqual(sorted(file.name for file in (self.folder / "out").iterdir()), sorted(f"hostile.{table}.csv" for table in TABLES))
        done = self.cli("export", trace, "--format", "csv", "-o", "out/")
        self.assertEqual(done.returncode, 2)
        self.assertIn("exists already", done.stderr)
        self.assertEqual(self.cli("export", trace, "--format", "csv", "-o", "-").returncode, 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
