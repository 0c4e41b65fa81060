# SPDX-License-Identifier: Apache-2.0
"""The kinds of records that CUPTI is asked for: all copies come, and none of them kills a program with graphs."""
import collections

import harness
import trace_records

# CopyKind. The driver decides which: one record a copy, or two where it goes by the host's memory.
BETWEEN_DEVICES = (8, 10)
TO_HOST, TO_DEVICE = 2, 1


class RecordKinds(harness.CliTest):
    def records(self):
        done = self.run_cli("dump", self.trace)
        self.assertEqual(done.returncode, 0, done.stderr)
        return trace_records.Records(done.stdout)

    def test_graphs_that_are_made_behind_a_flush(self):
        """MEMCPY, MEMCPY2, GRAPH_TRACE and a flush before a graph is made: its launch fails (CUPTI 13.0)."""
        program = harness.program("graphs_later")
        done = self.record(program, 3, env=harness.SIMULATED_ENV)
        self.assert_unharmed(done, program, 3, env=harness.SIMULATED_ENV)
        if harness.SIMGPU:
            self.assertIn("flushed first: yes", done.stderr)
        self.assertEqual(len(self.records().of("graph")), 60)

    def test_copies_between_devices(self):
        program = harness.program("peer_copies")
        env = {**harness.SIMULATED_ENV, "SIMGPU_DEVICES": 2}
        done = self.record(program, 200, env=env)
        if done.stdout == "one device\n":
            self.skipTest("one device")
        self.assert_unharmed(done, program, 200, env=env)
        copies = self.records().of("copy")
        count = collections.Counter(copy["copy_kind"] for copy in copies)
        direct = sum(count[kind] for kind in BETWEEN_DEVICES)
        # The program itself copies twice to a device and once to the host.
        self.assertIn((direct, count[TO_DEVICE] - 2, count[TO_HOST] - 1), ((200, 0, 0), (0, 200, 200)))
        self.assertEqual({copy["bytes"] for copy in copies}, {4096})


if __name__ == "__main__":
    harness.main()
