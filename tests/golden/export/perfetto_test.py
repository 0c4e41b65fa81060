# SPDX-License-Identifier: Apache-2.0
"""Perfetto's protobuf, decoded by protoc with a schema of ours: whole in itself, and the same slices and arrows as the JSON."""
import collections
import pathlib
import shutil
import unittest

import chrome_json
import proto_text
from export_case import HOSTILE_TEXT, ExportCase, hostile_names_trace

SCHEMA = pathlib.Path(__file__).with_name("perfetto.proto")
TABLES = {"event_categories": "category", "event_names": "name", "debug_annotation_names": "key", "function_names": "function",
          "source_paths": "path", "debug_annotation_string_values": "value"}
Slice = collections.namedtuple("Slice", "name begin end category args track stack")


class Perfetto:
    """The packets of a file, with their names; ValueError where something is used before it was defined."""

    def __init__(self, data):
        self.tracks, self.slices, self.instants = {}, [], []
        self.flows = collections.defaultdict(list)
        self.names = collections.defaultdict(dict)
        self.frames, self.stacks = {}, {}
        events = collections.defaultdict(list)
        packets = proto_text.decode(SCHEMA, "Trace", data)["packet"]
        for number, packet in enumerate(packets):
            assert packet["trusted_packet_sequence_id"] == [1] and packet["sequence_flags"] == [1 if number == 0 else 2]
            for interned in packet["interned_data"]:
                self._define(interned)
            for track in packet["track_descriptor"]:
                self._track(track)
            for event in packet["track_event"]:
                track, = event["track_uuid"]
                if track not in self.tracks:
                    raise ValueError(f"an event on the unknown track {track}")
                events[track].append((packet["timestamp"][0], event))
        for track, of_track in events.items():
            self._replay(track, of_track)

    def _define(self, interned):
        for table, name in TABLES.items():
            for entry in interned[table]:
                iid, = entry["iid"]
                if iid in self.names[name]:
                    raise ValueError(f"{name} {iid} twice")
                self.names[name][iid] = (entry["name"] or [""])[0]
        for frame in interned["frames"]:
            path = self.names["path"][frame["source_path_iid"][0]] if frame["source_path_iid"] else None
            self.frames[frame["iid"][0]] = (self.names["function"][frame["function_name_id"][0]], path, (frame["line_number"] or [0])[0])
        for stack in interned["callstacks"]:
            self.stacks[stack["iid"][0]] = [self.frames[frame] for frame in stack["frame_ids"]]

    def _track(self, track):
        uuid, = track["uuid"]
        parent = (track["parent_uuid"] or [None])[0]
        if uuid in self.tracks or (parent is not None and parent not in self.tracks):
            raise ValueError(f"track {uuid} twice, or before its parent")
        self.tracks[uuid] = track

    def _replay(self, track, events):
        """Goes through them like a reader: in the order of time, and of the file where times are the same."""
        open_slices = []
        for t, event in sorted(events, key=lambda pair: pair[0]):
            kind, = event["type"]
            if kind == "INSTANT":
                self.instants.append((self.names["name"][event["name_iid"][0]], t))
            elif kind == "SLICE_BEGIN":
                open_slices.append((t, event))
            else:
                begin, event = open_slices.pop()
                args = {self.names["key"][one["name_iid"][0]]: self._arg(one) for one in event["debug_annotations"]}
                category, = event["category_iids"]
                stack = self.stacks[event["callstack_iid"][0]] if event["callstack_iid"] else None
                self.slices.append(Slice(self.names["name"][event["name_iid"][0]], begin, t, self.names["category"][category], args, track, stack))
                for flow in event["flow_ids"]:
                    self.flows[flow].append(("s", begin))
                for flow in event["terminating_flow_ids"]:
                    self.flows[flow].append(("f", begin))
        if open_slices:
            raise ValueError(f"track {track}: {len(open_slices)} slices without an end")

    def _arg(self, annotation):
        if annotation["string_value_iid"]:
            return self.names["value"][annotation["string_value_iid"][0]]
        return (annotation["uint_value"] or [annotation["bool_value"]])[0]


@unittest.skipUnless(shutil.which("protoc"), "protoc is not installed")
class SameAsChrome(ExportCase):
    NAMES = {"sync_per_step", "all_kinds_1_0", "merged_stacks", "graph_replay", "polling"}

    def perfetto(self, *traces, options=()):
        result = self.folder / "export.pftrace"
        self.ok("export", *traces, "--format", "perfetto", "-o", result, "--force-overwrite", *options)
        return Perfetto(result.read_bytes())

    def test_stored_traces(self):
        for trace in self.stored_traces():
            if trace.name.split(".")[0] not in self.NAMES:
                continue
            with self.subTest(trace.name):
                document, found = self.export(trace), self.perfetto(trace)
                wanted = chrome_json.slices(document)
                free = {event["id"]: event for event in document["traceEvents"] if event["ph"] == "b"}
                ends = {event["id"]: event for event in document["traceEvents"] if event["ph"] == "e"}
                spans = collections.Counter((one.name, one.begin, one.end, one.category) for one in wanted)
                spans.update((event["name"], chrome_json.ns(event["ts"]), chrome_json.ns(ends[key]["ts"]), event["cat"])
                             for key, event in free.items())
                self.assertEqual(collections.Counter((one.name, one.begin, one.end, one.category) for one in found.slices), spans)
                arrows = {event["id"] for event in document["traceEvents"] if event["ph"] == "s"}
                self.assertEqual(set(found.flows), arrows)
                self.assertTrue(all(sorted(kind for kind, _ in flow) == ["f", "s"] for flow in found.flows.values()))
                streams = {one.args["stream"] for one in wanted if one.category in chrome_json.GPU_CATEGORIES}
                self.assertEqual({one.args["stream"] for one in found.slices if "stream" in one.args}, streams)

    def test_stacks(self):
        trace = hostile_names_trace(self)
        stacks = [one.stack for one in self.perfetto(trace, options=["--stacks"]).slices if one.stack]
        self.assertEqual(stacks, [[(HOSTILE_TEXT, HOSTILE_TEXT, 7)]] * 3)
        self.assertFalse(any(one.stack for one in self.perfetto(trace).slices))

    def test_names_of_any_bytes(self):
        found = self.perfetto(hostile_names_trace(self))
        self.assertEqual({one.name for one in found.slices}, {HOSTILE_TEXT})

    def test_two_processes(self):
        trace = hostile_names_trace(self)
        found = self.perfetto(trace, trace)
        pids = [track["process"][0]["pid"][0] for track in found.tracks.values() if track["process"]]
        self.assertEqual(len(set(pids)), 2)
        self.assertEqual(len(found.flows), 4)


if __name__ == "__main__":
    unittest.main(verbosity=2)
