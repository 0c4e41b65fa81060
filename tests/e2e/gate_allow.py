# SPDX-License-Identifier: Apache-2.0
"""What may wait: by entries, comments and NVTX ranges; and zones in which nothing may."""
import gate_case
import harness

WAIT = "runtime.cudaStreamSynchronize(stream)"


class Allow(gate_case.GateCase):
    def entry(self, text, **more):
        self.write_config(f"[[allow]]\nrule = \"ST001\"\nreason = \"a test\"\n{text}\n", **more)

    def test_comments(self):
        self.write_config()
        self.write_program(f"{WAIT}  # synctrace: allow[ST001] the test needs it")
        self.record_program()
        finding, = self.verdict(status=0)["findings"]
        self.assertEqual((finding["status"], finding["reason"]), ("allowed", "the test needs it"))
        self.write_program("# synctrace: allow[stream-sync] on a line of its own", WAIT)
        self.record_program()
        self.gate(status=0)
        line = self.write_program(f"{WAIT}  # synctrace: allow[ST001]")
        self.record_program()
        self.assert_one_line(self.gate(status=1).stdout, f"train.py:{line}: error: no reason is given", "[allow-without-reason]")
        self.write_program(f"{WAIT}  # synctrace: allow[ST002] another rule")
        self.record_program()
        self.gate(status=1)

    def test_a_changed_file_allows_nothing(self):
        self.write_config()
        self.write_program(WAIT)
        self.record_program()
        self.write_program("# synctrace: allow[ST001] too late", WAIT)
        self.gate(status=1)

    def test_limits(self):
        self.write_program(WAIT, "spin()", WAIT)
        self.record_program()
        self.entry("max-per-step = 2")
        self.gate(status=0)
        self.entry("max-per-step = 1")
        self.assertIn("allowed 1 a step, there were 2", self.gate(status=1).stdout)
        self.entry("max-total = 17")
        self.assertIn("allowed 17 times in all, there were 18", self.gate(status=1).stdout)
        self.entry("max-total = 18")
        self.gate(status=0)
        self.write_program(f"if number % 4 == 0: {WAIT}")
        self.record_program()
        self.entry("every-n-steps = 4")
        self.gate(status=0)
        self.entry("every-n-steps = 5")
        self.assertIn("it came again after 4", self.gate(status=1).stdout)

    def test_stack_and_function(self):
        self.write_program("finish()", end=f"def finish():\n    {WAIT}\n")
        text = (self.folder / "train.py").read_text()
        (self.folder / "train.py").write_text(text.replace("def spin():", f"def finish():\n    {WAIT}\n\n\ndef spin():"))
        self.record_program()
        for text, status in (("stack = [\"...\", \"finish\", \"train_step\"]", 0), ("stack = [\"...\", \"finish\", \"spin\"]", 1),
                             ("func = \"finish\"", 0), ("func = \"train_step\"", 1), ("at = \"train.py:finish\"", 0), ("at = \"other.py\"", 1)):
            with self.subTest(text):
                self.entry(text)
                self.gate(status=status)

    def test_open_ranges(self):
        self.write_program(WAIT)
        self.record_program()
        for text, status in (("range = \"synctrace@step*\"", 0), ("range = \"synctrace@eval*\"", 1), ("range = \"other@step*\"", 1)):
            with self.subTest(text):
                self.entry(text)
                self.gate(status=status)

    def test_print_allow(self):
        self.write_program(WAIT, "read(4)")
        self.write_config()
        self.record_program()
        self.assertIn("ST001", self.gate(status=1).stdout)
        self.write_config(self.gate("--print-allow", status=0).stdout)
        self.gate(status=0)

    def test_ranges_of_python(self):
        self.write_config()
        self.write_program("with synctrace.allow('ST001', reason='a test'):", f"    {WAIT}")
        self.record_program()
        self.gate(status=0)
        self.write_program("with synctrace.allow(['ST002', 'ST003'], reason='a test'):", f"    {WAIT}")
        self.record_program()
        self.gate(status=1)
        self.write_program("with synctrace.allow('ST001', reason='a test', max_per_step=1):", f"    {WAIT}", "    spin()", f"    {WAIT}")
        self.record_program()
        self.gate(status=1)
        self.write_program("with synctrace.ignore():", f"    {WAIT}")
        self.record_program()
        self.gate(status=0)

    def test_zones_of_python(self):
        # Nothing to wait for, but a synchronisation; and no entry of the configuration helps.
        line = self.write_program(WAIT, "with synctrace.no_sync('decode'):", f"    {WAIT}") + 2
        self.record_program()
        self.entry("")
        answer = self.verdict(status=1)
        finding, = [finding for finding in answer["findings"] if finding["fails"]]
        self.assertEqual((finding["line"], finding["strict"], finding["zone"], finding["count"]), (line, True, "decode", 9))
        self.assertEqual(answer["zones"], [{"name": "decode", "count": 12, "open": 0}])
        self.write_program("with synctrace.no_sync(), synctrace.allow('ST001', reason='a test'):", f"    {WAIT}")
        self.record_program()
        self.write_config()
        self.gate(status=0)  # the innermost counts

    def test_only_zones(self):
        self.write_config()
        self.write_program(WAIT)
        self.record_program()
        self.assertIn("no zone was entered", self.gate("--only-zones", status=4).stdout)
        self.write_program(WAIT, "with synctrace.no_sync():", "    spin()")
        self.record_program()
        self.gate("--only-zones", status=0)
        self.gate(status=1)

    def test_a_range_that_means_nothing(self):
        self.write_config()
        self.write_program("with synctrace._range('alow:ST001'):", "    pass")
        self.record_program()
        self.assertIn("alow:ST001", self.gate(status=1).stdout)

    def test_ranges_of_a_program(self):
        """annotate.h says the same."""
        for what, status in (("clean", 0), ("zone", 1), ("allowed", 0)):
            done = self.record(harness.program("gate_zones"), what, options=["--level=syncs", "-f", "--report=none"])
            self.assertEqual(done.returncode, 0, done.stderr)
            answer = self.verdict("--no-config", status=status)
            self.assertEqual(answer["traces"][0]["steps"], {"source": "nvtx", "name": "synctrace:step", "count": 12, "judged": 9})
            if what == "zone":
                finding, = [finding for finding in answer["findings"] if finding["fails"]]
                self.assertEqual((finding["zone"], finding["source"]), ("decode", "CHECK(cudaStreamSynchronize(stream));  // in a zone"))

    def test_started_ranges_hold_for_all_threads(self):
        for what, zone in (("pushed", None), ("started", "decode")):
            done = self.record(harness.program("gate_zones"), what, options=["--level=syncs", "-f", "--report=none"])
            self.assertEqual(done.returncode, 0, done.stderr)
            finding, = [finding for finding in self.verdict("--no-config", status=1)["findings"] if finding["fails"]]
            self.assertEqual((finding["strict"], finding["zone"]), (zone is not None, zone))
            self.assertEqual(finding["source"], "CHECK(cudaStreamSynchronize(stream));  // in another thread")

    def test_the_module_does_nothing_alone(self):
        code = ("import sys, synctrace\n"
                "with synctrace.allow('ST001', reason='x'), synctrace.no_sync('z'), synctrace.step(3), synctrace.warmup(), synctrace.ignore(): pass\n"
                "assert not synctrace.enabled()\n"
                "assert 'ctypes' not in sys.modules and 'pytest' not in sys.modules\n")
        done = self.run_program("python3", "-c", code, env={"PYTHONPATH": gate_case.MODULE})
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    harness.main()
