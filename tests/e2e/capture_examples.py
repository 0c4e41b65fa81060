# SPDX-License-Identifier: Apache-2.0
"""Every example, as its README says: which call waits, how often, and that the repaired form does not."""
import collections
import pathlib

import harness
from survival_case import SurvivalCase

EXAMPLES = pathlib.Path(harness.SYNCTRACE).parent

# Example: the function of the finding, the rule, calls that wait in a run of 20 steps (at least: on a busy machine the
# work may be over before the host gets to the call).
FINDINGS = {
    "sync_per_step": ("cudaStreamSynchronize", "ST001", 10),
    "event_sync": ("cudaEventSynchronize", "ST003", 10),
    "redundant_sync": ("cudaStreamSynchronize", "ST001", 10),
    "blocking_copy": ("cudaMemcpy", "ST010", 10),
    "default_stream": ("cudaMemcpy", "ST010", 10),
    "pageable_async": ("cudaMemcpyAsync", "ST011", 10),
    "free_in_loop": ("cudaFree", "ST031", 10),
}
# Examples whose mistake is no blocking call: at most the last wait, the one of the final read, blocks.
NO_BLOCKING_CALL = ("late_launch", "tiny_kernels")
MOST_RUNS = 5


class Examples(SurvivalCase):
    def run_example(self, name, *arguments):
        self.forget_traces()
        command = [EXAMPLES / name, "--steps", 20, *arguments]
        recorded = self.wrapped(*command)
        self.assertEqual(recorded.returncode, 0, recorded.stderr)
        self.assertEqual(recorded.stdout, self.alone(*command).stdout)
        return self.report(self.only_trace())

    def blocked(self, report, api):
        return sum(site["blocked_count"] for site in report["waits"] if site["api"] == api)

    def test_findings(self):
        for name, (api, rule, blocked) in FINDINGS.items():
            with self.subTest(name):
                report = self.run_example(name)
                dearest = report["waits"][0]
                self.assertEqual((dearest["api"], dearest["rule"]), (api, rule))
                # A call that was held up by the machine as well is told as unclear.
                self.assertGreater(dearest["blocked_count"], 0)
                self.assertGreaterEqual(dearest["blocked_count"] + dearest["unclear_count"], blocked)
                self.assertEqual(report["simulated"], bool(harness.SIMGPU))

    def test_repaired_forms(self):
        for name, (api, _, blocked) in FINDINGS.items():
            if name == "event_sync":
                continue  # still waits in every step, for the step before: what changes is the idle time
            with self.subTest(name):
                self.assertLess(self.blocked(self.run_example(name, "--fixed"), api), blocked / 2)

    def test_events_name_the_lines_that_make_streams_wait(self):
        self.run_example("healthy_pipeline")
        records = self.dump()
        marks = [call for call in records.of("call") if records.api_names[call["api"]] in ("cudaEventRecord", "cudaStreamWaitEvent")]
        self.assertGreaterEqual(len(marks), 40)
        with_stack = {records.api_names[call["api"]] for call in marks if call["stack"] != 0}
        self.assertEqual(with_stack, {"cudaEventRecord", "cudaStreamWaitEvent"})

    def test_no_blocking_call(self):
        for name in NO_BLOCKING_CALL:
            with self.subTest(name):
                report = self.run_example(name)
                self.assertLessEqual(sum(site["blocked_count"] for site in report["waits"]), 2)

    def test_verdicts(self):
        for name, verdict, rule in (("tiny_kernels", "launch-bound", "ST050"), ("healthy_pipeline", "gpu-bound", None)):
            with self.subTest(name):
                # A process that gets no processor for long may well be bound by that: then it runs again.
                seen = []
                while (verdict, rule) not in seen and len(seen) < MOST_RUNS:
                    report = self.run_example(name)
                    first_rule = report["devices"][0]["causes"][0]["rule"] if rule is not None else None
                    seen.append((report["verdict"], first_rule))
                self.assertIn((verdict, rule), seen)

    def test_redundant_waits(self):
        report = self.run_example("redundant_sync")
        redundant = collections.Counter()
        for site in report["waits"]:
            redundant[site["api"]] += site["redundant_count"]
        self.assertGreaterEqual(redundant["cudaEventSynchronize"], 10)
        self.assertGreaterEqual(redundant["cudaDeviceSynchronize"], 10)

    def test_polling(self):
        report = self.run_example("polling")
        polls = [site for site in report["waits"] if site["api"] == "cudaEventQuery"]
        self.assertEqual([site["rule"] for site in polls], ["ST004"])
        self.assertGreaterEqual(polls[0]["blocked_count"], 10)
        self.assertGreater(polls[0]["count"], 20 * 10)

    def test_steps_are_on_the_trace(self):
        self.run_example("healthy_pipeline")
        steps = [range_ for range_ in self.dump(self.only_trace()).ranges() if range_[0] == "step"]
        self.assertEqual(len(steps), 20)


if __name__ == "__main__":
    harness.main()
