# SPDX-License-Identifier: Apache-2.0
"""However a program ends, it ends as it would have, and its trace can be read."""
import harness
from survival_case import SurvivalCase, without_core_dump

# Ways in which the recorder gets to close the trace: everything that happened is in it.
ORDERLY = ["return", "exit", "exit_in_thread", "cuda_in_destructor", "device_reset"]
# Ways that end the process at once. The trace may lack its last second, which is all of such a short run.
SUDDEN = ["_exit", "quick_exit", "exception", "exception_in_thread", "abort", "sigterm", "sigint", "sigkill", "sigsegv",
          "sigterm_handled"]
THREADED = "pthread_exit"  # works twice, in main and in a thread that outlives it


class Exits(SurvivalCase):
    def check(self, way, record):
        command = [harness.program("exit_paths"), way]
        alone = self.alone(*command, preexec_fn=without_core_dump)
        recorded = record(*command, preexec_fn=without_core_dump)
        self.assert_same(recorded, alone)
        self.assertEqual(self.our_lines(recorded.stderr), [])
        trace = self.only_trace()
        least = 40 if way == THREADED else 20
        most = least + (way == "cuda_in_destructor")
        calls = len(self.dump(trace).calls("cudaStreamSynchronize"))
        report = self.report(trace)
        self.assertLessEqual(calls, most)
        if way in ORDERLY or way == THREADED:
            self.assertEqual(trace.suffix, ".synctrace", "closed in order")
            self.assertGreaterEqual(calls, least)
            losses = {loss["name"]: loss["count"] for loss in report["losses"] if loss["severity"] != "note"}
            self.assertIn(losses, ({}, {"cupti-untimed": 1}), "at most the kernel that was still running")

    def test_recorded_by_synctrace_run(self):
        for way in ORDERLY + SUDDEN:
            with self.subTest(way=way):
                self.check(way, self.wrapped)
            self.forget_traces()

    def test_preloaded(self):
        for way in ORDERLY + SUDDEN:
            with self.subTest(way=way):
                self.check(way, self.preloaded)
            self.forget_traces()

    def test_main_leaves_by_pthread_exit(self):
        """The process ends with its last thread; a thread of the recorder is not one of them."""
        for record in (self.wrapped, self.preloaded):
            self.forget_traces()
            with self.subTest(record=record.__name__):
                self.check("pthread_exit", record)

    def test_a_trace_cut_short_says_so(self):
        self.preloaded(harness.program("exit_paths"), "sigkill")
        report = self.report(self.only_trace())
        self.assertIn("unclean-end", [loss["name"] for loss in report["losses"]])


if __name__ == "__main__":
    harness.main()
