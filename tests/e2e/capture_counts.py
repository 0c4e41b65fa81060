# SPDX-License-Identifier: Apache-2.0
"""Known programs, exact counts."""
import collections

import harness
from survival_case import SurvivalCase

# CUpti_ActivityMemoryKind of what memory_kinds calls the memory. Registered memory is pinned memory.
MEMORY = {"pageable": 1, "pinned": 2, "registered": 2, "managed": 5, "device": 3}

# A launch is recorded where it costs least, which may be the driver's domain.
KERNEL_LAUNCH = ("cudaLaunchKernel", "cuLaunchKernel", "cuLaunchKernelEx")
GRAPH_LAUNCH = ("cudaGraphLaunch", "cuGraphLaunch")


class Counts(SurvivalCase):
    def record_exactly(self, *command, options=()):
        recorded = self.wrapped(*command, options=options)
        alone = self.alone(*command)
        self.assertEqual((recorded.stdout, recorded.returncode), (alone.stdout, alone.returncode))
        records = self.dump()
        self.assert_nothing_lost(records, self.report())
        return records

    def test_launches(self):
        records = self.record_exactly(harness.program("launch_many"), 10_000, 2)
        self.assertEqual(len(records.launches("cuLaunchKernel")), 10_001)
        self.assertEqual(len(records.of("kernel")), 10_001)
        correlated = {launch["correlation"] for launch in records.launches()}
        self.assertEqual({kernel["correlation"] for kernel in records.of("kernel")}, correlated)

    def test_every_copy_call_and_kind_of_memory(self):
        records = self.record_exactly(harness.program("memory_kinds"))
        listed = [line for line in self.alone(harness.program("memory_kinds")).stdout.splitlines() if ">" in line]
        ranges = [range_ for range_ in records.ranges() if ">" in range_[0]]
        self.assertEqual([range_[0] for range_ in ranges], listed)
        for range_ in ranges:
            with self.subTest(range_[0]):
                name, kinds, size = range_[0].split(" ")
                source, target = kinds.split(">")
                calls = records.calls_in(range_)
                self.assertEqual([records.api_names[call["api"]] for call in calls], [name])
                self.assertEqual(calls[0]["bytes"], int(size))
                self.check_memory(calls[0], source, target, "Symbol" in name)

    def check_memory(self, call, source, target, symbol):
        recorded = (call["source_memory"], call["target_memory"])
        wanted = (MEMORY[source], MEMORY[target])
        if symbol:  # the symbol's side may be told apart as static device memory
            recorded = tuple(3 if kind == 6 else kind for kind in recorded)
        self.assertEqual(recorded, wanted)

    def test_graphs(self):
        records = self.record_exactly(harness.program("graph_replay"), 20, 50)
        self.assertEqual(len(records.launches(*GRAPH_LAUNCH)), 50)
        self.assertEqual(len(records.of("graph")), 50)
        self.assertEqual(len(records.of("kernel")), 0)

    def test_graph_nodes(self):
        records = self.record_exactly(harness.program("graph_replay"), 20, 50, options=["--graph-nodes"])
        self.assertEqual(len(records.launches(*GRAPH_LAUNCH)), 50)
        self.assertEqual(len(records.of("kernel")), 1000)
        launched = {launch["correlation"] for launch in records.launches(*GRAPH_LAUNCH)}
        self.assertEqual({kernel["correlation"] for kernel in records.of("kernel")}, launched)

    def test_captured_launches_run_nothing(self):
        records = self.record_exactly(harness.program("stream_capture"))
        self.assertEqual(len(records.of("kernel")), 3)
        self.assertEqual(len(records.launches("cuLaunchKernel")), 3 + 8)
        self.assertEqual(len(records.of("graph")), 5)

    def test_stream_ordered_allocation(self):
        records = self.record_exactly(harness.program("pool_alloc"))
        self.assertEqual(len(records.calls("cudaMallocAsync")), 50)
        self.assertEqual(len(records.calls("cudaFreeAsync")), 50)
        self.assertEqual({call["bytes"] for call in records.calls("cudaMallocAsync")}, {1 << 16})
        self.assertEqual(len(records.of("memset")), 50)
        self.assertEqual(len(records.of("copy")), 50)

    def test_nvtx(self):
        records = self.record_exactly(harness.program("nvtx_ranges"))
        texts = collections.Counter(range_[0] for range_ in records.ranges())
        self.assertEqual(texts["step"], 10)
        # What comes before the first CUDA call belongs to a process that may never use CUDA, and is not recorded.
        self.assertEqual(texts["worker"], 400)
        self.assertEqual(texts["before cuda"], 1)
        self.assertEqual(texts["registered"], 1)
        self.assertEqual(texts["in domain"], 1)
        marks = collections.Counter(records.strings[mark["text"]] for mark in records.of("nvtx_mark"))
        self.assertEqual(marks, {"mark": 1, "mark with attributes": 1, "in domain": 1})
        self.assertIn("survey", [domain["name"] for domain in records.of("nvtx_domain")])
        starts = collections.Counter(records.strings[start["text"]] for start in records.of("nvtx_start"))
        self.assertEqual(starts, {"overlapping": 1, "registered": 1, "in domain": 1})
        ended = {end["range"] for end in records.of("nvtx_end")}
        self.assertEqual({start["range"] for start in records.of("nvtx_start")}, ended)
        self.assertIn("left open", [records.strings[push["text"]] for push in records.of("nvtx_push")])


if __name__ == "__main__":
    harness.main()
