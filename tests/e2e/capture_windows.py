# SPDX-License-Identifier: Apache-2.0
"""Recording windows, levels and limits: the timeline is there inside the windows only, the waits everywhere."""
import harness
from survival_case import SurvivalCase

# 40 steps of 4 kernels and one wait; "focus" and the profiler range are around steps 10 to 19.
WINDOWS = ("windows", 40, 10, 19)
KERNELS_OF_A_STEP = 4


class Windows(SurvivalCase):
    def record_windows(self, *options, program=WINDOWS):
        command = [harness.program(program[0]), *program[1:]]
        recorded = self.wrapped(*command, options=options)
        self.assert_same(recorded, self.alone(*command))
        self.assertEqual(self.our_lines(recorded.stderr), [])
        records = self.dump()
        self.assertEqual(records.lost_events(), {})
        return records

    def assert_ten_steps(self, records, waits=40):
        self.assertEqual(len(records.of("kernel")), 10 * KERNELS_OF_A_STEP)
        self.assertEqual(len(records.calls("cudaStreamSynchronize")), waits)
        self.assertEqual([window["open"] for window in records.windows()], [1, 0])

    def test_profiler_range(self):
        self.assert_ten_steps(self.record_windows("--capture-range=cudaProfilerApi"))

    def test_nvtx_range(self):
        self.assert_ten_steps(self.record_windows("--capture-range=nvtx:focus"))

    def test_range_of_steps(self):
        self.assert_ten_steps(self.record_windows("--capture-range=steps:10-19"))

    def test_nothing_but_the_window(self):
        for capture in ("cudaProfilerApi", "nvtx:focus", "steps:10-19"):
            with self.subTest(capture=capture):
                records = self.record_windows(f"--capture-range={capture}", "--only-windows")
                self.assert_ten_steps(records, waits=10)
                opened, closed = (window["time_ns"] for window in records.windows())
                for wait in records.of("host_wait"):
                    self.assertTrue(opened <= wait["begin_ns"] <= closed, wait)
                self.assertIn("outside of them were not recorded", self.run_cli("report", "--full", self.only_trace()).stdout)
                self.forget_traces()

    def test_what_was_allocated_before_the_window_is_known_in_it(self):
        copy = "cudaMemcpyAsync {}>device 4096"
        for memory, kind in (("pinned", 2), ("registered", 2), ("managed", 5), ("pageable", 1)):
            with self.subTest(memory=memory):
                options = ["--capture-range=nvtx:" + copy.format(memory), "--only-windows"]
                self.assertEqual(self.wrapped(harness.program("memory_kinds"), options=options).returncode, 0)
                records = self.dump()
                self.assertEqual([call["source_memory"] for call in records.calls("cudaMemcpyAsync")], [kind])
                self.assertGreater(len(records.calls("cudaHostRegister")), 0)
                self.assertEqual(records.calls("cudaMemcpy"), [])
                self.forget_traces()

    def test_a_graph_made_before_the_window_is_recorded_whole(self):
        done = self.wrapped(harness.program("graph_replay"), 100, 3000, options=["--delay=100ms", "--only-windows"])
        self.assertEqual(done.returncode, 0, done.stderr)
        records = self.dump()
        self.assertTrue(0 < len(records.launches()) <= 3000)
        self.assertTrue(0 < len(records.of("graph")) <= 3000)
        self.assertEqual(records.of("kernel"), [])

    def test_a_window_has_the_same_waits_with_and_without_what_is_outside(self):
        waits = []
        for more in ([], ["--only-windows"]):
            self.record_windows("--capture-range=nvtx:focus", *more)
            waits.append([(site["api"], site["rule"], site["count"]) for site in self.report()["waits"]])
            self.forget_traces()
        self.assertEqual(waits[0], waits[1])

    def test_report_covers_the_window(self):
        self.record_windows("--capture-range=nvtx:focus")
        report = self.report()
        self.assertEqual(report["covers"], "windows")
        kernels = sum(work["count"] for work in report["work"] if work["what"] == "kernels")
        self.assertEqual(kernels, 10 * KERNELS_OF_A_STEP)
        waits = [site for site in report["waits"] if site["api"] == "cudaStreamSynchronize"]
        self.assertEqual(sum(site["count"] for site in waits), 10)

    def test_a_range_that_never_comes_is_told(self):
        recorded = self.wrapped(harness.program("windows"), options=["--capture-range=nvtx:no such range"])
        self.assertEqual(recorded.returncode, 0)
        self.assert_one_line(recorded.stderr, "synctrace: ", "no recording window ever opened")
        self.assertEqual(len(self.dump().of("kernel")), 0)

    def test_no_work_is_recorded_before_the_first_window(self):
        """CUPTI, not we, would have thrown it away: each of its buffers comes back empty here, and it counts what was in them."""
        if not harness.SIMGPU:
            self.skipTest("a real CUPTI drops no buffers")
        dropped = []
        for options in ([], ["--capture-range=nvtx:no such range"], ["--delay=1h"]):
            self.wrapped(harness.program("windows"), *WINDOWS[1:], options=options, env={"SIMGPU_DROP_BUFFERS": "1"})
            dropped.append(self.dump().losses().get("cupti-dropped", 0))
            self.forget_traces()
        kernels = 40 * KERNELS_OF_A_STEP
        self.assertGreaterEqual(dropped[0], kernels)
        self.assertLess(max(dropped[1:]), kernels)

    def test_nothing_but_a_window_that_never_comes(self):
        recorded = self.wrapped(harness.program("windows"), options=["--capture-range=nvtx:no such range", "--only-windows"])
        self.assert_one_line(recorded.stderr, "synctrace: ", "no recording window ever opened", "no waits and copies were recorded")
        self.assertEqual(self.dump().calls("cudaStreamSynchronize"), [])
        judged = self.run_cli("gate", "--no-config", self.only_trace())
        self.assertIn("--only-windows", judged.stdout + judged.stderr)
        self.assertNotEqual(judged.returncode, 0)

    def test_delay_and_duration(self):
        # Two seconds of steps: creating a context may take a real GPU longer than one.
        records = self.record_windows("--delay=100ms", "--duration=1500ms", program=("windows", 400, 10, 19))
        self.assertEqual(len(records.calls("cudaStreamSynchronize")), 400)
        opened, closed = records.windows()
        self.assertEqual((opened["open"], closed["open"]), (1, 0))
        # The recorder looks at the clock a few times a second; the delay may run over, and the duration does not grow for it.
        self.assertGreater(closed["time_ns"] - opened["time_ns"], 100_000_000)
        kernels = len(records.of("kernel"))
        self.assertGreater(kernels, 0)
        self.assertLess(kernels, 400 * KERNELS_OF_A_STEP)
        launched = {launch["correlation"]: launch["begin_ns"] for launch in records.launches()}
        for kernel in records.of("kernel"):
            self.assertGreaterEqual(kernel["begin_ns"] + kernel["duration_ns"], opened["time_ns"])
            # What was launched before the end may begin behind it, after the kernels before it.
            self.assertLessEqual(launched.get(kernel["correlation"], kernel["begin_ns"]), closed["time_ns"])

    def test_duty(self):
        records = self.record_windows("--duty=100ms/300ms", program=("windows", 200, 10, 19))
        opened = [window for window in records.windows() if window["open"]]
        self.assertGreaterEqual(len(opened), 2)
        self.assertEqual(len(records.calls("cudaStreamSynchronize")), 200)
        self.assertLess(len(records.of("kernel")), 200 * KERNELS_OF_A_STEP)
        self.assertGreater(len(records.of("kernel")), 0)

    def test_max_size(self):
        command = [harness.program("launch_many"), 300_000]
        recorded = self.wrapped(*command, options=["--max-size=1M", "--no-compress", "--no-symbols"])
        self.assertEqual((recorded.returncode, recorded.stdout), (0, "launches 300001\n"))
        self.assertLessEqual(self.only_trace().stat().st_size, 1 << 20)
        kernels = len(self.dump().of("kernel"))
        self.assertGreater(kernels, 0)
        self.assertLess(kernels, 300_000)
        self.assertEqual(self.dump().windows()[-1]["reason"], "max-size")

    def test_level_syncs(self):
        records = self.record_windows("--level=syncs")
        self.assertEqual(len(records.calls("cudaStreamSynchronize")), 40)
        for kind in ("kernel", "copy", "launch", "window"):
            self.assertEqual(records.of(kind), [], kind)
        report = self.report()
        self.assertEqual(report["devices"], [])
        waits = [site for site in report["waits"] if site["api"] == "cudaStreamSynchronize"]
        self.assertEqual([site["count"] for site in waits], [40])
        self.assertGreaterEqual(waits[0]["blocked_count"], 36)

    def test_level_timeline_is_the_default(self):
        records = self.record_windows()
        self.assertEqual(len(records.of("kernel")), 160)
        self.assertEqual(len(records.launches()), 160)


if __name__ == "__main__":
    harness.main()
