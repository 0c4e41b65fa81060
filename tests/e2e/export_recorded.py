# SPDX-License-Identifier: Apache-2.0
"""Programs recorded here and exported: viewers can show the result, and what the programs did is in it."""
import pathlib
import sys

import harness

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import chrome_json  # noqa: E402


class Recorded(harness.CliTest):
    def exported(self, *command, options=()):
        recorded = self.record(*command, options=options)
        self.assertEqual(recorded.returncode, 0, recorded.stderr)
        done = self.run_cli("export", self.trace, "-o", "out.json", "--stacks")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"^synctrace export: wrote out\.json \([\d.]+ \w+\); format chrome\.\n$")
        document = chrome_json.load(self.folder / "out.json")
        self.assertEqual(chrome_json.violations(document), [])
        self.assertEqual(document["simulated"], bool(harness.SIMULATED))
        return document

    def test_ranges_of_every_kind(self):
        document = self.exported(harness.program("nvtx_ranges"))
        names = {one.name for one in chrome_json.slices(document, {"user_annotation"})}
        self.assertLessEqual({"before cuda", "wide", "inside", "registered", "in domain"}, names)
        self.assertIn("overlapping", {event["name"] for event in document["traceEvents"] if event["ph"] == "b"})
        self.assertIn("mark", {event["name"] for event in document["traceEvents"] if event["ph"] == "i"})

    def test_many_threads_each_in_its_row(self):
        document = self.exported(harness.program("threads64"), 8, 20)
        launching = {one.row for one in chrome_json.slices(document, chrome_json.CALL_CATEGORIES) if "LaunchKernel" in one.name}
        self.assertGreaterEqual(len(launching), 8)

    def test_a_graph_as_a_whole_and_node_by_node(self):
        for options in ((), ("--graph-nodes",)):
            with self.subTest(options=options):
                document = self.exported(harness.program("graph_replay"), options=(*options, "--force-overwrite"))
                (self.folder / "out.json").unlink()
                of_graphs = [one for one in chrome_json.slices(document, chrome_json.GPU_CATEGORIES) if "graph" in one.args]
                self.assertTrue(of_graphs)
                self.assertEqual({one.name.startswith("CUDA graph") for one in of_graphs}, {not options})

    def test_stacks_are_beside_calls(self):
        document = self.exported(harness.program("memory_kinds"))
        stacks = [one.args["Call stack"] for one in chrome_json.slices(document, chrome_json.CALL_CATEGORIES) if "Call stack" in one.args]
        self.assertTrue(any("main" in stack for stack in stacks))


if __name__ == "__main__":
    harness.main()
