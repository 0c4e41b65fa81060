# SPDX-License-Identifier: Apache-2.0
"""A generated job, exported on one axis: its clocks are seconds apart and drift, and what its ranks did in true time is known."""
import collections
import itertools
import json
import os
import shutil
import subprocess
import unittest

import chrome_json
from export_case import ExportCase
from perfetto_test import Perfetto

RANKS, STEPS, LATE = 4, 20, 1
# The play lets ranks leave an operation up to 2 us apart, and clocks are aligned by those ends.
MARGIN_NS = 10_000
SURE_NS = 20_000  # by less nobody is said to be late


class Exchange:
    """An operation of one rank as an export shows it."""

    def __init__(self, whole, parts):
        self.begin, self.end, self.name = whole.begin, whole.end, whole.name
        self.key = (int(whole.args["communicator"], 16), whole.args["turn"])
        self.wait = sum(one.end - one.begin for one in parts if one.category == "rank_wait")
        self.moving = sum(one.end - one.begin for one in parts if one.category == "transfer")
        self.waits_for = [one.name for one in parts if one.category == "rank_wait"]


def exchanges(document):
    """By title of the rank's group, then by operation."""
    titles = {event["pid"]: event["args"]["name"] for event in document["traceEvents"] if event["name"] == "process_name"}
    found = collections.defaultdict(dict)
    parts = collections.defaultdict(list)
    for one in chrome_json.slices(document, {"rank_wait", "transfer"}):
        parts[one.row].append(one)
    for whole in chrome_json.slices(document, {"collective"}):
        inside = [one for one in parts[whole.row] if whole.begin <= one.begin and one.end <= whole.end]
        exchange = Exchange(whole, inside)
        found[titles[whole.row[0]]][exchange.key] = exchange
    return found


class Job(ExportCase):
    def setUp(self):
        super().setUp()
        self.traces = self.folder / "traces"
        self.traces.mkdir()
        subprocess.run([os.environ["GENERATED_JOB"], self.traces, str(RANKS), str(STEPS), "6", "2000000", "truth"], check=True,
                       timeout=120)
        self.truth = json.loads((self.traces / "truth.json").read_text(encoding="utf-8"))["meetings"]

    def trace(self, rank):
        return self.traces / f"rank-{rank}.synctrace"

    def title(self, rank):
        return f"rank {rank} \u00b7 node0"

    def cut(self, rank, collectives, host="node0"):
        """The recording ends after so many operations, as if its process had been killed."""
        lines = self.ok("dump", self.trace(rank)).replace('key="host" value="node0"', f'key="host" value="{host}"').splitlines()
        asked = [number for number, line in enumerate(lines) if line.startswith("collective ")]
        text = self.folder / "cut.txt"
        text.write_text("\n".join(lines[:asked[collectives]]) + "\n", encoding="utf-8")
        self.ok("dump", "-f", "--assemble", text, "-o", self.trace(rank))

    def check_axis(self, found, ranks):
        """Operations end together, and their begins and waits are the true ones."""
        seen = 0
        for meeting in self.truth:
            key = (meeting["communicator"], meeting["turn"])
            arrivals = {int(rank): ns for rank, ns in meeting["arrivals"].items()}
            here = {rank: found[self.title(rank)][key] for rank in ranks if key in found[self.title(rank)]}
            if len(here) < 2:
                continue
            seen += 1
            ends = [one.end for one in here.values()]
            self.assertLess(max(ends) - min(ends), MARGIN_NS, key)
            for (a, one), (b, other) in itertools.combinations(here.items(), 2):
                self.assertLess(abs(one.begin - other.begin - (arrivals[a] - arrivals[b])), MARGIN_NS, key)
            last = max(here, key=arrivals.get)
            for rank, one in here.items():
                self.assertEqual(one.wait + one.moving, one.end - one.begin)
                self.assertLess(abs(one.wait - (arrivals[last] - arrivals[rank])), MARGIN_NS, key)
                if min(arrivals[last] - arrivals[other] for other in here if other != last) > SURE_NS and rank != last:
                    self.assertEqual(one.waits_for, [f"waiting for rank {last}"], key)
        return seen

    def test_recorded_clocks_are_seconds_apart(self):
        """Else none of these tests would show anything."""
        ends = [max(one.end for one in chrome_json.slices(self.export(self.trace(rank)), {"kernel"})) for rank in range(RANKS)]
        self.assertGreater(max(ends) - min(ends), 100_000_000)

    def test_one_file(self):
        document = self.export(self.traces)
        self.assertEqual(chrome_json.violations(document), [])
        found = exchanges(document)
        self.assertEqual(set(found), {self.title(rank) for rank in range(RANKS)})
        self.assertEqual(self.check_axis(found, range(RANKS)), len(self.truth))

    def test_a_rank_has_one_group_of_rows(self):
        document = self.export(self.traces)
        groups = {event["pid"]: event["args"]["name"] for event in document["traceEvents"] if event["name"] == "process_name"}
        self.assertEqual(sorted(groups.values()), [self.title(rank) for rank in range(RANKS)])
        rows = collections.defaultdict(set)
        for one in chrome_json.slices(document):
            rows[one.row[0]].add(one.category)
        for categories in rows.values():
            self.assertLessEqual({"kernel", "cuda_runtime", "collective", "rank_wait", "transfer"}, categories)

    def test_an_arrow_leads_through_each_operation_as_ranks_came(self):
        document = self.export(self.traces)
        titles = {event["pid"]: event["args"]["name"] for event in document["traceEvents"] if event["name"] == "process_name"}
        arrows = collections.defaultdict(list)
        for event in document["traceEvents"]:
            if event.get("cat") == "ranks":
                arrows[event["id"]].append(event)
        self.assertEqual(len(arrows), len(self.truth))
        sure = 0
        by_key = {(one["communicator"], one["turn"]): one for one in self.truth}
        begins = {(self.title(rank), one.begin): one.key for rank in range(RANKS)
                  for one in exchanges(document)[self.title(rank)].values()}
        for events in arrows.values():
            events.sort(key=lambda event: chrome_json.ns(event["ts"]))
            self.assertEqual(sorted(event["ph"] for event in events), ["f", "s"] + ["t"] * (RANKS - 2))
            keys = {begins[titles[event["pid"]], chrome_json.ns(event["ts"])] for event in events}
            self.assertEqual(len(keys), 1)
            arrivals = by_key[keys.pop()]["arrivals"]
            order = sorted(arrivals.values())
            if order[-1] - order[-2] > MARGIN_NS:
                last, = (event for event in events if event["ph"] == "f")
                self.assertEqual(titles[last["pid"]], self.title(max(arrivals, key=arrivals.get)))
                sure += 1
        self.assertGreater(sure, STEPS / 2)

    def test_a_folder_has_one_file_for_each_rank_on_the_same_axis(self):
        whole = exchanges(self.export(self.traces))
        self.ok("export", self.traces, "-o", "ranks/")
        for rank in range(RANKS):
            document = chrome_json.load(self.folder / f"ranks/rank-{rank}.json")
            self.assertEqual(chrome_json.violations(document), [])
            self.assertEqual(document["distributedInfo"]["rank"], rank)
            self.assertEqual(document["distributedInfo"]["backend"], "nccl")
            self.assertFalse([event for event in document["traceEvents"] if event.get("cat") == "ranks"])
            alone = exchanges(document)["GPU 0"]
            together = whole[self.title(rank)]
            self.assertEqual({key: (one.begin, one.end, one.wait) for key, one in alone.items()},
                             {key: (one.begin, one.end, one.wait) for key, one in together.items()})

    def test_perfetto_says_the_same(self):
        if not shutil.which("protoc"):
            self.skipTest("protoc is not installed")
        document = self.export(self.traces)
        self.ok("export", self.traces, "-o", "job.pftrace")
        found = Perfetto((self.folder / "job.pftrace").read_bytes())
        spans = collections.Counter((one.name, one.begin, one.end, one.category) for one in chrome_json.slices(document))
        self.assertEqual(collections.Counter((one.name, one.begin, one.end, one.category) for one in found.slices), spans)
        points = collections.defaultdict(list)
        for event in document["traceEvents"]:
            if event["ph"] in "stf":
                points[event["id"]].append(("f" if event["ph"] == "f" else "s", chrome_json.ns(event["ts"])))
        self.assertEqual({key: sorted(flow) for key, flow in found.flows.items()},
                         {key: sorted(flow) for key, flow in points.items()})
        names = [track["process"][0]["process_name"][0] for track in found.tracks.values() if track["process"]]
        self.assertEqual(names, [self.title(rank) for rank in range(RANKS)])
        for track in found.tracks.values():  # all of a rank under its name
            self.assertTrue(track["process"] or track["parent_uuid"])

    def test_a_missing_rank_is_said_and_the_others_are_on_one_axis(self):
        self.trace(2).unlink()
        done = self.cli("export", self.traces, "-o", "job.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("3 of 4 ranks were recorded, not rank 2:", done.stderr)
        document = chrome_json.load(self.folder / "job.json")
        self.assertEqual(chrome_json.violations(document), [])
        found = exchanges(document)
        self.assertEqual(len(found), RANKS - 1)
        for key in found[self.title(0)]:
            ends = [found[self.title(rank)][key].end for rank in (0, 1, 3)]
            self.assertLess(max(ends) - min(ends), MARGIN_NS)

    def test_a_rank_cut_short_is_on_the_axis_as_far_as_it_goes(self):
        self.cut(3, 30)
        document = self.export(self.traces)
        self.assertEqual(chrome_json.violations(document), [])
        found = exchanges(document)
        self.assertEqual(len(found[self.title(3)]), 30)
        self.assertEqual(self.check_axis(found, range(RANKS)), len(self.truth))

    def test_a_rank_that_cannot_be_read_is_named_once_and_the_others_are_written(self):
        self.trace(2).write_bytes(b"nothing of a trace")
        for output, files in (("job.json", ["job.json"]), ("ranks/", ["ranks/rank-0.json", "ranks/rank-1.json", "ranks/rank-3.json"])):
            with self.subTest(output):
                done = self.cli("export", self.traces, "-o", output)
                self.assertEqual(done.returncode, 3)
                self.assertEqual(sum("rank-2.synctrace" in line for line in done.stderr.splitlines()), 1, done.stderr)
                for file in files:
                    self.assertEqual(chrome_json.violations(chrome_json.load(self.folder / file)), [])
                self.assertFalse((self.folder / "ranks/rank-2.json").exists())

    def test_a_rank_without_enough_in_common_is_placed_by_its_own_wall_clock(self):
        self.cut(3, 2, "node1")
        alone = self.export(self.trace(3))
        done = self.cli("export", self.traces, "-o", "job.json")
        self.assertIn("rank 3 shares too few operations", done.stderr)
        document = chrome_json.load(self.folder / "job.json")
        self.assertEqual(chrome_json.violations(document), [])
        pid, = {event["pid"] for event in document["traceEvents"]
                if event["name"] == "process_name" and event["args"]["name"] == self.title(3).replace("node0", "node1")}
        kernels = [one.begin for one in chrome_json.slices(document, {"kernel"}) if one.row[0] == pid]
        offset = document["baseTimeNanoseconds"] - alone["baseTimeNanoseconds"]
        self.assertEqual(kernels[0] + offset, chrome_json.slices(alone, {"kernel"})[0].begin)


if __name__ == "__main__":
    unittest.main(verbosity=2)
