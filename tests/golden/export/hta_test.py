# SPDX-License-Identifier: Apache-2.0
"""The idle time of stored and of generated traces, three ways: by HTA's published rule on our export, by the same rule on
the trace's own records, and by our report. The report's is exact to the nanosecond, and never larger than a stream's."""
import os
import subprocess
import unittest

import hta_rule
from export_case import ExportCase, work_of_dump, work_of_export

# Kinds of idle time at the edges of what was recorded, which a rule about gaps between work knows nothing of.
EDGES = {"startup", "shutdown", "capture-edge"}
GENERATED = 60


class IdleTime(ExportCase):
    def check(self, trace):
        """Everything that holds for one trace; returns its split by HTA's rule."""
        document = self.export(trace)
        report = self.report(trace)
        work = work_of_export(document)
        windows = [(window["begin_ns"], window["end_ns"]) for window in report["windows"]]
        for device in report["devices"]:
            own = [one for one in work if one.device == device["id"]]
            self.assertEqual(hta_rule.idle_ns(own, windows), device["idle_ns"])
            self.check_device(own, windows, device)
        return hta_rule.idle_split(work)

    def check_device(self, work, windows, device):
        """A device is idle where all of its streams are: within a stream's life, for no longer than that stream."""
        edges = sum(cause["idle_ns"] for cause in device["causes"] if cause["cause"] in EDGES)
        for stream in hta_rule.by_stream(work).values():
            gaps, life = hta_rule.stream_gaps_ns(stream)
            inside = [span for window in windows for span in hta_rule.clipped([life], window)]
            self.assertLessEqual(hta_rule.idle_ns(work, inside), gaps)
            if len(windows) == 1 and len(hta_rule.by_stream(work)) == 1:
                # One stream and one window: its gaps are all that the device's idle time has beside the edges.
                recorded = [one for one in stream if one.end > windows[0][0] and one.begin < windows[0][1]]
                self.assertLessEqual(device["idle_ns"] - edges, hta_rule.stream_gaps_ns(recorded)[0] if recorded else 0)

    def test_stored_traces(self):
        seen = dict.fromkeys(hta_rule.CATEGORIES, 0)
        for trace in self.stored_traces():
            with self.subTest(trace.name):
                split = self.check(trace)
                # Nothing that the rule looks at was lost or moved on the way into the export.
                self.assertEqual(split, hta_rule.idle_split(work_of_dump(self.records(trace))))
                for categories in split.values():
                    for category, ns in categories.items():
                        seen[category] += ns
        self.assertTrue(all(seen.values()), seen)

    def test_generated_traces(self):
        subprocess.run([os.environ["GENERATED_TRACES"], self.folder, str(GENERATED)], check=True)
        traces = sorted(self.folder.glob("*.synctrace"))
        self.assertEqual(len(traces), GENERATED)
        for trace in traces:
            with self.subTest(trace.name):
                self.check(trace)


class Rule(unittest.TestCase):
    """The rule itself, on work that was sorted by hand."""

    def test_each_kind_of_gap(self):
        work = [hta_rule.Work(0, 7, begin, end, issued)
                for begin, end, issued in [(0, 100_000, -5_000), (110_000, 200_000, 50_000), (300_000, 310_000, 250_000),
                                           (400_000, 410_000, 305_000), (405_000, 420_000, None)]]
        self.assertEqual(hta_rule.idle_split(work), {7: {"host_wait": 100_000, "kernel_wait": 10_000 - 5_000, "other": 90_000}})

    def test_idle_time_of_a_device(self):
        work = [hta_rule.Work(0, 1, 10, 20, None), hta_rule.Work(0, 2, 15, 30, None), hta_rule.Work(0, 1, 40, 50, None)]
        self.assertEqual(hta_rule.idle_ns(work, [(0, 45)]), 20)
        self.assertEqual(hta_rule.idle_ns(work, [(12, 18), (25, 42)]), 10)


if __name__ == "__main__":
    unittest.main(verbosity=2)
