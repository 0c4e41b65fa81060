# SPDX-License-Identifier: Apache-2.0
"""Stored traces, exported: valid for viewers, complete, and with times that say the same as the report."""
import collections
import copy
import json
import re
import unittest

import chrome_json
from export_case import GOLDEN, WORK_RECORDS, ExportCase


class StoredTraces(ExportCase):
    def test_viewers_can_show_them(self):
        for trace in self.stored_traces():
            with self.subTest(trace.name):
                self.assertEqual(chrome_json.violations(self.export(trace)), [])

    def test_nothing_is_left_out(self):
        for trace in self.stored_traces():
            with self.subTest(trace.name):
                exported = chrome_json.slices(self.export(trace))
                records = self.records(trace)
                wanted = collections.Counter()
                for kind, category in WORK_RECORDS.items():
                    wanted[category] += len(records.of(kind))
                found = collections.Counter(one.category for one in exported)
                self.assertEqual({key: found[key] for key in wanted}, dict(wanted))
                calls = sum(len(records.of(kind)) for kind in ("call", "launch", "poll"))
                self.assertEqual(found["cuda_runtime"] + found["cuda_driver"], calls)
                self.assertEqual(found["host_wait"], len(records.of("host_wait")))
                self.assertEqual(found["overhead"], len(records.of("overhead")))

    def test_calls_point_at_their_work(self):
        arrows = 0
        for trace in self.stored_traces():
            document = self.export(trace)
            calls = {one.args["correlation"] for one in chrome_json.slices(document, chrome_json.CALL_CATEGORIES)
                     if "correlation" in one.args}
            work = {one.args["correlation"] for one in chrome_json.slices(document, chrome_json.GPU_CATEGORIES)
                    if "correlation" in one.args}
            found = {event["id"] for event in document["traceEvents"] if event["ph"] == "s"}
            self.assertEqual(found, calls & work, trace.name)
            arrows += len(found)
        self.assertGreater(arrows, 1000)

    def test_facts_of_the_process(self):
        trace = self.assemble((GOLDEN / "report/sync_per_step.trace.txt").read_text(encoding="utf-8"))
        document = self.export(trace)
        self.assertEqual(document["distributedInfo"], {"rank": 3})
        self.assertEqual(document["deviceProperties"][0]["name"], "NVIDIA H200")
        self.assertEqual(document["deviceProperties"][0]["numSms"], 132)
        self.assertTrue(document["simulated"])
        # HTA reads the rank line by line, and only with a blank behind the colon.
        lines = (self.folder / "export.json").read_text(encoding="utf-8").splitlines()
        self.assertEqual([re.search(r'"rank":\s+(\d+)', line).group(1) for line in lines if '"rank":' in line], ["3"])


class Validator(unittest.TestCase):
    """The validator sees what it is there to see."""

    EVENTS = [
        {"ph": "M", "name": "process_name", "pid": 9, "tid": 0, "ts": 0, "args": {"name": "p"}},
        {"ph": "M", "name": "thread_name", "pid": 9, "tid": 1, "ts": 0, "args": {"name": "t"}},
        {"ph": "X", "cat": "cuda_runtime", "name": "a", "pid": 9, "tid": 1, "ts": 1, "dur": 4, "args": {"correlation": 1}},
        {"ph": "X", "cat": "cuda_runtime", "name": "b", "pid": 9, "tid": 1, "ts": 2, "dur": 3, "args": {}},
        {"ph": "s", "cat": "ac2g", "name": "ac2g", "id": 1, "pid": 9, "tid": 1, "ts": 1},
        {"ph": "f", "bp": "e", "cat": "ac2g", "name": "ac2g", "id": 1, "pid": 9, "tid": 1, "ts": 2},
    ]

    def changed(self, index, **values):
        events = copy.deepcopy(self.EVENTS)
        events[index].update(values)
        return chrome_json.violations({"traceEvents": events})

    def test_a_good_document(self):
        self.assertEqual(self.changed(0), [])

    def test_what_it_refuses(self):
        for index, values, word in [(3, {"dur": 4}, "cuts into"), (3, {"ts": 0}, "comes after"), (3, {"dur": -1}, "negative"),
                                    (3, {"cat": "else"}, "category"), (3, {"args": {"stream": 7}}, "a stream"),
                                    (3, {"args": {"correlation": 1}}, "2 calls"), (3, {"tid": 2}, "has no name"),
                                    (3, {"cat": "kernel"}, "no stream"), (5, {"id": 2}, "alone"), (5, {"ts": 4}, "no slice"),
                                    (5, {"bp": "x"}, "bind"), (4, {"ts": 2}, None), (5, {"ts": 1}, None),
                                    (1, {"tid": 0, "name": "process_name"}, "twice")]:
            with self.subTest(str(values)):
                found = self.changed(index, **values)
                self.assertEqual(any(word in line for line in found) if word else not found, True, found)

    def test_broken_json(self):
        for text in ('{"a": NaN}', '{"a": 1, "a": 2}', '{"a": 1,}'):
            with self.assertRaises(ValueError):
                json.loads(text, parse_constant=chrome_json._refuse, object_pairs_hook=chrome_json._object)
        with self.assertRaises(ValueError):
            chrome_json.ns("1.0005")


if __name__ == "__main__":
    unittest.main(verbosity=2)
