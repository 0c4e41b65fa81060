# SPDX-License-Identifier: Apache-2.0
"""Many threads, and users of CUDA that come and go: every event is there."""
import harness
from survival_case import SurvivalCase


class Load(SurvivalCase):
    def check_threads(self, name):
        command = [harness.program(name), 64, 100]
        recorded = self.wrapped(*command)
        self.assert_same(recorded, self.alone(*command))
        records = self.dump()
        self.assertEqual(len(records.launches()), 6400)
        self.assertEqual(len(records.of("kernel")), 6400)
        self.assertEqual(len(records.calls("cudaMemcpyAsync")), 12800)
        self.assertEqual(len(records.of("copy")), 12800)
        self.assertEqual(len(records.calls("cudaStreamSynchronize")), 6400)
        self.assertEqual(len({call["thread"] for call in records.calls("cudaStreamSynchronize")}), 64)
        self.assert_nothing_lost(records, self.report())

    def test_64_threads(self):
        self.check_threads("threads64")

    def test_64_threads_with_a_default_stream_each(self):
        self.check_threads("threads64_ptds")

    def test_a_plugin_that_uses_cuda_is_unloaded(self):
        command = [harness.program("dlclose_user"), 20]
        alone = self.alone(*command)
        for record in (self.preloaded, self.wrapped):
            self.forget_traces()
            self.assert_same(record(*command), alone)
            records = self.dump()
            self.assertEqual(len(records.calls("cudaStreamSynchronize")), 200)
            self.assertEqual(len(records.of("kernel")), 200)
            self.assert_nothing_lost(records)


if __name__ == "__main__":
    harness.main()
