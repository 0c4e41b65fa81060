# SPDX-License-Identifier: Apache-2.0
"""`synctrace watch` and `top`: rules about a program that runs, on the simulated GPU."""
import re
import signal
import sys
import time

import harness

# Copies 4 KiB back in each step and waits for it. A step takes three times as long while the file `slow` is there; it reads four times
# while `reads` is there, and nothing happens while `rest` is.
PROGRAM = """
import ctypes, os, time
runtime = ctypes.CDLL("libcudart.so.13")
device, stream = ctypes.c_void_p(), ctypes.c_void_p()
host = (ctypes.c_char * 4096)()
assert runtime.cudaMalloc(ctypes.byref(device), ctypes.c_size_t(4096)) == 0
assert runtime.cudaStreamCreate(ctypes.byref(stream)) == 0
print("ready", flush=True)
while not os.path.exists("end"):
    time.sleep(0.030 if os.path.exists("slow") else 0.010)
    for _ in range(4 if os.path.exists("reads") else 0 if os.path.exists("rest") else 1):
        runtime.cudaMemcpyAsync(host, device, ctypes.c_size_t(4096), 2, stream)
        runtime.cudaStreamSynchronize(stream)
"""


class LiveWatch(harness.CliTest):
    def setUp(self):
        super().setUp()
        (self.folder / "loop.py").write_text(PROGRAM, encoding="utf-8")
        self.program = self.start(harness.SYNCTRACE, "run", *harness.SIMULATED, "--dormant", "-q", "-o", "window", "--", sys.executable, "loop.py")
        self.assertEqual(self.program.stdout.readline(), "ready\n")
        self.pid = self.wait_for(lambda: re.search(r"^ *(\d+) .* loop$", self.run_cli("ps").stdout, re.MULTILINE))[1]

    def wait_for(self, condition):
        deadline = time.monotonic() + harness.PATIENCE_S
        while time.monotonic() < deadline:
            if found := condition():
                return found
            time.sleep(0.05)
        self.fail("waited in vain")

    def windows(self):
        """How many the program has had."""
        said = re.search(r"windows so far: (\d+)", self.run_cli("status", self.pid).stdout)
        return int(said[1]) if said else 0  # a busy machine answers the next time

    def end_program(self):
        (self.folder / "end").touch()
        out, err = self.program.communicate(timeout=harness.PATIENCE_S)
        self.assertEqual((self.program.returncode, out, err), (0, "", ""))

    def test_a_slow_episode_is_recorded_once(self):
        watch = self.start(harness.SYNCTRACE, "watch", self.pid, "--when", "step > 1.6 x median for 2", "--when", "gpu idle < 1 %",
                           "--level", "timeline", "--look", "200ms", "--every", "500ms", "--record", "400ms", "--cooldown", "0", "-n", "1")
        self.wait_for(lambda: self.windows() >= 7)
        self.assertIsNone(watch.poll())
        self.assertEqual(self.files(), ["loop.py"])
        (self.folder / "slow").touch()
        out, err = watch.communicate(timeout=harness.PATIENCE_S)
        self.assertEqual(watch.returncode, 0, err)
        self.assert_one_line(out, "step > 1.6 x median for 2: a step takes", "times the median of", "; recording 400.0 ms")
        self.assertIn("This look beside the last at which no rule held:", out)
        self.assertIn("loop.py", err)  # the report of the window
        report = self.report(self.folder / "window.synctrace")
        self.assertGreater(report["steps"]["mean_ns"], 25_000_000)
        self.end_program()

    def test_reads_that_are_new_are_seen_without_the_work_of_the_gpu(self):
        watch = self.start(harness.SYNCTRACE, "watch", self.pid, "--when", "waits > 2 x median", "--look", "200ms", "--every", "500ms",
                           "--record", "2s", "-n", "1", "--report=none")
        self.wait_for(lambda: self.windows() >= 7)
        (self.folder / "reads").touch()
        out, err = watch.communicate(timeout=harness.PATIENCE_S)
        self.assertEqual(watch.returncode, 0, err)
        self.assert_one_line(out, "waits > 2 x median: there are", "waits/s", "times the median of")
        self.assertNotIn("CUPTI", err)
        self.assertEqual(self.report(self.folder / "window.synctrace")["process"]["level"], "syncs")
        screen = self.run_cli("report", self.folder / "window.synctrace").stdout
        self.assert_one_line(screen, "What else the host did, in ", " samples")
        self.assert_one_line(screen, "loop.py:10 ", "time.sleep(")
        self.end_program()

    def test_a_rule_about_what_no_look_shows(self):
        (self.folder / "rest").touch()
        watch = self.start(harness.SYNCTRACE, "watch", self.pid, "--when", "step > 3 x median", "--look", "50ms", "--every", "100ms")
        says = next(line for line in watch.stderr if "none of" in line)
        self.assertEqual(says, "synctrace: --when step > 3 x median: none of 5 looks showed it. Longer looks may (--look 5s), "
                         "or --level timeline.\n")
        watch.send_signal(signal.SIGINT)
        watch.communicate(timeout=harness.PATIENCE_S)
        self.end_program()

    def test_a_rule_that_never_holds_records_nothing(self):
        watch = self.start(harness.SYNCTRACE, "watch", self.pid, "--when", "step > 10 s", "--look", "100ms", "--every", "300ms")
        self.wait_for(lambda: self.windows() >= 3)
        watch.send_signal(signal.SIGINT)
        out, err = watch.communicate(timeout=harness.PATIENCE_S)
        self.assertEqual((watch.returncode, out), (0, ""), err)
        self.assert_one_line(err, "looking at 1 process for 100.0 ms in every 300.0 ms (33.3 % of the time)")
        self.assertEqual(self.files(), ["loop.py"])
        self.end_program()

    def test_the_end_of_the_program_ends_the_watch(self):
        watch = self.start(harness.SYNCTRACE, "watch", self.pid, "--when", "step > 10 s", "--look", "100ms", "--every", "300ms")
        self.wait_for(lambda: self.windows() >= 1)
        self.end_program()
        _, err = watch.communicate(timeout=harness.PATIENCE_S)
        self.assertEqual(watch.returncode, 0, err)
        self.assertIn(f"synctrace: {self.pid} has ended.", err)

    def test_a_job_that_begins_is_waited_for(self):
        """The launcher is named before its program has used a GPU; a rank that comes later is looked at, too."""
        (self.folder / "late.py").write_text("import os, time\nwhile not os.path.exists('begin'):\n    time.sleep(0.01)\n" + PROGRAM, encoding="utf-8")
        launcher = self.start(harness.SYNCTRACE, "run", *harness.SIMULATED, "--dormant", "-q", "--", sys.executable, "late.py")
        watch = self.start(harness.SYNCTRACE, "watch", str(launcher.pid), "--when", "step > 10 s", "--look", "100ms", "--every", "300ms")
        said = watch.stderr.readline()
        self.assertEqual(said, f"synctrace: waiting until {launcher.pid} uses a GPU.\n")
        (self.folder / "begin").touch()
        self.assertIn("looking at 1 process for 100.0 ms", watch.stderr.readline())
        (self.folder / "end").touch()
        launcher.communicate(timeout=harness.PATIENCE_S)
        _, err = watch.communicate(timeout=harness.PATIENCE_S)
        self.assertEqual(watch.returncode, 0, err)
        self.end_program()

    def test_screens_follow_each_other(self):
        done = self.run_cli("top", self.pid, "--window", "200ms", "--every", "300ms", "-n", "2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(re.findall(r"^\d\d:\d\d:\d\d  window \d, 200.0 ms long, one every 300.0 ms; Ctrl-C ends this, not the program$", done.stdout,
                                        re.MULTILINE)), 2)
        self.assertEqual(done.stdout.count("SIMULATED GPU"), 2)
        self.assertEqual(self.files(), ["loop.py"])
        self.end_program()

    def test_what_makes_no_sense(self):
        for arguments, says in ((("watch", self.pid), "which rule? Type --when"),
                                (("watch", self.pid, "--when", "step >"), "'step >' is no rule: expected QUANTITY > VALUE"),
                                (("watch", self.pid, "--when", "step > 3", "--every", "500ms"), "--every is less than twice --look"),
                                (("watch", self.pid, "--when", "gpu idle > 40 %"), "--when gpu idle > 40 %: this needs --level timeline. CUPTI goes on"),
                                (("top", self.pid, "--every", "1ms"), "--every is shorter than --window"),
                                (("top", self.pid, "--window", "x"), "--window x: expected a duration")):
            with self.subTest(arguments=arguments):
                done = self.run_cli(*arguments)
                self.assertEqual(done.returncode, 2)
                self.assert_one_line(done.stderr, says)
        self.end_program()


if __name__ == "__main__":
    harness.main()
