# SPDX-License-Identifier: Apache-2.0
"""Programs that start other processes, in every way: nobody is harmed, and exactly those that use CUDA leave a trace."""
import harness
from survival_case import SurvivalCase


class Children(SurvivalCase):
    def check(self, *command, traces):
        """Both ways to record; returns the records of each trace of the last one."""
        alone = self.alone(*command)
        for record in (self.preloaded, self.wrapped):
            self.forget_traces()
            recorded = record(*command, env={"SYNCTRACE_OUTPUT": self.folder / "trace"})
            self.assert_same(recorded, alone)
            self.assertEqual(self.our_lines(recorded.stderr), [])
            self.assertEqual(len(self.traces()), traces, self.files())
            self.assertEqual({trace.suffix for trace in self.traces()}, {".synctrace"}, "closed in order")
        return [self.dump(trace) for trace in self.traces()]

    def waits(self, records):
        return sorted(len(one.calls("cudaStreamSynchronize")) for one in records)

    def test_fork_while_cuda_is_up(self):
        records = self.check(harness.program("fork_with_cuda"), 6, traces=1)
        self.assertEqual(self.waits(records), [20 + 6 * 5 + 20])

    def test_fork_before_cuda(self):
        records = self.check(harness.program("fork_before_cuda"), 3, traces=4)
        self.assertEqual(self.waits(records), [10, 11, 12, 100])

    def test_spawn_and_vfork(self):
        records = self.check(harness.program("vfork_spawn"), traces=1)
        self.assertEqual(self.waits(records), [5])

    def test_exec(self):
        command = [harness.program("exec_self")]
        alone = self.alone(*command)
        for record in (self.preloaded, self.wrapped):
            self.forget_traces()
            recorded = record(*command)
            self.assert_same(recorded, alone)
            self.assertEqual(len(self.traces()), 2, self.files())
            waits = self.waits([self.dump(trace) for trace in self.traces()])
            self.assertEqual(waits[1], 25, "the second life ends in order")
            self.assertLessEqual(waits[0], 25, "the first may lack its last second")

    def test_a_thousand_short_lived_children(self):
        records = self.check(harness.program("many_children"), 1000, 3, traces=4)
        self.assertEqual(self.waits(records), [10, 10, 10, 10])


if __name__ == "__main__":
    harness.main()
