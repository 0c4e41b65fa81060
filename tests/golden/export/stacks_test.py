# SPDX-License-Identifier: Apache-2.0
"""Idle time by stack, as speedscope, flamegraph.pl and pprof read it: each whole by its own rules, all of them the same, and
their sum the devices' idle time of the report."""
import collections
import gzip
import json
import pathlib
import re
import shutil
import unittest

import proto_text
from export_case import HOSTILE_TEXT, ExportCase, hostile_names_trace

SCHEMA = pathlib.Path(__file__).with_name("profile.proto")
NAMES = ("sync_per_step", "pageable_async", "torch_loop", "merged_stacks", "all_kinds_1_0", "syncs_level")


def read_folded(text):
    """stack -> weight, as flamegraph.pl splits its lines."""
    result = collections.Counter()
    for line in text.split("\n")[:-1]:
        match = re.fullmatch(r"(.*) (\d+)", line)
        result[tuple(match.group(1).split(";"))] += int(match.group(2))
    return result


def check_speedscope(document):
    """The rules of speedscope's published schema, and those of its importer. Profile name -> {stack of frames: weight}."""
    assert document["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    assert set(document) <= {"$schema", "shared", "profiles", "name", "activeProfileIndex", "exporter"}
    frames = document["shared"]["frames"]
    for frame in frames:
        assert isinstance(frame["name"], str) and set(frame) <= {"name", "file", "line", "col"}
        assert isinstance(frame.get("file", ""), str) and isinstance(frame.get("line", 0), int)
    assert document["profiles"] and 0 <= document["activeProfileIndex"] < len(document["profiles"])
    result = {}
    for profile in document["profiles"]:
        assert set(profile) == {"type", "name", "unit", "startValue", "endValue", "samples", "weights"}
        assert profile["type"] == "sampled" and profile["unit"] in ("none", "nanoseconds", "microseconds", "milliseconds", "seconds", "bytes")
        assert len(profile["samples"]) == len(profile["weights"])
        assert all(weight >= 0 for weight in profile["weights"])
        assert profile["startValue"] == 0 and profile["endValue"] == sum(profile["weights"])
        stacks = collections.Counter()
        for sample, weight in zip(profile["samples"], profile["weights"]):
            assert sample and all(0 <= frame < len(frames) for frame in sample)
            stacks[tuple((frames[frame]["name"], frames[frame].get("file"), frames[frame].get("line")) for frame in sample)] += weight
        assert profile["name"] not in result
        result[profile["name"]] = stacks
    return result


def read_pprof(data):
    """Measure -> {stack: value}, outermost first."""
    profile = proto_text.decode(SCHEMA, "Profile", gzip.decompress(data))
    strings = profile["string_table"]
    assert strings[0] == "" and len(set(strings)) == len(strings)
    text = lambda message, field: strings[(message[field] or [0])[0]]  # noqa: E731
    functions = {one["id"][0]: (text(one, "name"), text(one, "filename") or None) for one in profile["function"]}
    places = {}
    for place in profile["location"]:
        line, = place["line"]
        places[place["id"][0]] = (*functions[line["function_id"][0]], (line["line"] or [None])[0])
    measures = [text(one, "type") for one in profile["sample_type"]]
    result = {measure: collections.Counter() for measure in measures}
    for sample in profile["sample"]:
        assert len(sample["value"]) == len(measures)
        assert [text(label, "key") for label in sample["label"]] == ["process"]
        stack = tuple(places[place] for place in reversed(sample["location_id"]))
        for measure, value in zip(measures, sample["value"]):
            if value:
                result[measure][stack] += value
    assert strings[profile["default_sample_type"][0]] == "gpu_idle"
    return result


class Stacks(ExportCase):
    def exported(self, kind, *traces, options=()):
        result = self.folder / f"out.{kind}"
        self.ok("export", *traces, "--format", kind, "--no-symbols", "-o", result, "--force-overwrite", *options)
        return result.read_bytes()

    def speedscope(self, *traces):
        return check_speedscope(json.loads(self.exported("speedscope", *traces).decode("utf-8")))

    def folded(self, *traces, weight="gpu_idle"):
        return read_folded(self.exported("folded", *traces, options=("--weight", weight)).decode("utf-8"))

    def test_all_say_the_same_and_it_is_what_the_report_says(self):
        seen = 0
        for trace in self.stored_traces():
            if trace.name.split(".")[0] not in NAMES:
                continue
            with self.subTest(trace.name):
                report = self.report(trace)
                speedscope = self.speedscope(trace)
                idle = speedscope.get("GPU idle caused", collections.Counter())
                self.assertEqual(sum(idle.values()), sum(device["idle_ns"] for device in report["devices"]))
                waits = speedscope.get("Host blocked", collections.Counter())
                self.assertEqual(sum(waits.values()), sum(wait["host_blocked_ns"] for wait in report["waits"]))
                folded = self.folded(trace)
                self.assertEqual(sorted(folded.values()), sorted(idle.values()))
                self.assertEqual(sum(self.folded(trace, weight="host_blocked").values()), sum(waits.values()))
                if shutil.which("protoc"):
                    pprof = read_pprof(self.exported("pprof", trace))
                    self.assertEqual(pprof["gpu_idle"], idle)
                    self.assertEqual(pprof["host_blocked"], waits)
                    self.assertEqual(sum(pprof["waits"].values()), sum(wait["blocked_count"] for wait in report["waits"]))
                seen += len(idle)
        self.assertGreater(seen, 30)

    def test_names_of_any_bytes(self):
        trace = hostile_names_trace(self)
        stack = ((HOSTILE_TEXT, HOSTILE_TEXT, 7), (HOSTILE_TEXT, None, None), ("[stream-sync]", None, None))
        self.assertIn(stack, self.speedscope(trace)["GPU idle caused"])
        if shutil.which("protoc"):
            self.assertIn(stack, read_pprof(self.exported("pprof", trace))["gpu_idle"])
        flat = 'a"b\\c      \ufffd\ufffd</script>\U0001f600\\u202e'
        names = {frame for one in self.folded(trace) for frame in one}
        self.assertTrue(any(name.startswith('a"b\\c') for name in names), (flat, names))
        self.assertFalse(any(ord(c) < 0x20 for name in names for c in name))

    def test_semicolons_in_names(self):
        trace = hostile_names_trace(self)
        text = self.ok("dump", trace).replace("</script>", "; 7;")
        for one in self.folded(self.assemble(text, "semicolons")):
            self.assertLessEqual(len(one), 3)

    def test_two_processes(self):
        trace = hostile_names_trace(self)
        self.assertEqual({one[0] for one in self.folded(trace, self.assemble(self.ok("dump", trace), "again"))}, {"process 4711"})
        self.assertEqual(sum(self.folded(trace, trace).values()), 2 * sum(self.folded(trace).values()))

    def test_a_trace_without_anything(self):
        empty = self.assemble("synctrace-text 1 start_realtime_ns=1 process_id=1\nchunk\nschemas\n", "empty")
        self.assertEqual(self.folded(empty), {})
        self.assertEqual([sum(stacks.values()) for stacks in self.speedscope(empty).values()], [0])


if __name__ == "__main__":
    unittest.main(verbosity=2)
