# SPDX-License-Identifier: Apache-2.0
"""Another process on the same GPU, and clocks that are held down, as NVML says it (the simulated one, by a script): the
first screen and the JSON have the share, and nothing is said of a program that is alone. The looks stand apart from the
program: it sees nothing of them and waits for nothing."""
import os
import pathlib
import select
import sys
import textwrap
import time

import harness

# Says who is on the GPU, then uses it until it was looked at often enough. "self" is this process.
PROGRAM = """\
import ctypes
import os
import sys
import time

said, script = os.environ["SAID"], os.environ["SIMGPU_NVML"]
with open(script, "w") as file:
    file.write(said.replace("self", str(os.getpid())))

runtime = ctypes.CDLL("libcudart.so.13")
pointer = ctypes.c_void_p()
assert runtime.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(64)) == 0


def looks():
    try:
        with open(script + ".asked") as file:
            return file.read().count("\\n")
    except OSError:
        return 0


limit = time.monotonic() + float(sys.argv[2])
while looks() < int(sys.argv[1]) and time.monotonic() < limit:
    assert runtime.cudaMemset(pointer, 0, ctypes.c_size_t(64)) == 0
    assert runtime.cudaDeviceSynchronize() == 0
    time.sleep(0.01)
print(os.getpgid(0) == os.getpgid(os.getppid()))
"""
LOOKS = 4  # the first begins the first stretch


class SharedGpu(harness.CliTest):
    def setUp(self):
        super().setUp()
        self.script = self.folder / "nvml"
        self.program = self.folder / "program.py"
        self.program.write_text(textwrap.dedent(PROGRAM))
        self.env = {"SIMGPU_NVML": self.script, "PYTHONDONTWRITEBYTECODE": "1"}

    def command(self, looks=LOOKS, limit_s=harness.PATIENCE_S / 4):
        return [sys.executable, self.program, looks, limit_s]

    def record_beside(self, said, *command, **more):
        done = self.record(*(command or self.command(**more)), env={**self.env, "SAID": said})
        self.assertEqual((done.returncode, done.stdout), (0, "True\n"), done.stderr)
        return " ".join(done.stderr.split())

    def use(self):
        return self.report()["devices"][0].get("use")

    def askers(self):
        asked = pathlib.Path(f"{self.script}.asked")
        return [int(line) for line in asked.read_text().splitlines()] if asked.exists() else []

    def assert_nobody_looks(self):
        for process in set(self.askers()):
            with self.assertRaises(ProcessLookupError):
                os.kill(process, 0)

    def test_another_process_is_said_with_its_share(self):
        screen = self.record_beside("process self 30\nprocess 1 62\nbusy 92\n")
        sentence = r"Another process used this GPU for 6[12]\.\d % of [^[]* \[ST057\]\. Run it alone, or on another GPU"
        self.assertRegex(screen, sentence)
        self.assertNotIn("clocks", screen)
        use = self.use()
        self.assertEqual((use["rule"], use["others"]), ("ST057", 1))
        self.assertAlmostEqual(use["others_ns"] / use["looked_ns"], 0.62, delta=0.01)
        for options in (["--full"], ["--format", "md"]):
            text = " ".join(self.run_cli("report", *options, self.trace).stdout.replace("\\", "").split())
            self.assertRegex(text, sentence)
        self.assertEqual(self.run_cli("report", "--html", "page.html", self.trace).returncode, 0)
        self.assertIn("Another process used this GPU", (self.folder / "page.html").read_text())

    def test_clocks_that_are_held_down_are_said(self):
        screen = self.record_beside("process self 30\nreasons 4\n")
        self.assertRegex(screen, r"The clocks of this GPU were held down for 100(\.0)? % of .*, to limit its power\.")
        self.assertIsNone(self.use()["rule"])

    def test_nothing_is_said_of_a_program_that_is_alone(self):
        screen = self.record_beside("process self 100\nbusy 100\nreasons 1\n")
        self.assertNotIn("process used", screen)
        self.assertNotIn("clocks", screen)
        self.assertEqual(self.use()["others_ns"], 0)
        self.assert_nobody_looks()

    def test_all_that_the_run_started_is_its_own(self):
        """Here a shell that waits for the program, and has no trace. This test is another process: it only has a context."""
        shell = ["sh", "-c", 'SAID="$SAID process $$ 50" "$@"; exit $?', "sh"]
        self.record_beside(f"process self 40\nprocess {os.getpid()} 0\n", *shell, *self.command())
        use = self.use()
        self.assertEqual((use["others"], use["others_ns"]), (0, 0))

    def test_processes_with_other_numbers_are_not_told_apart(self):
        """In a container NVML may number processes as its host does."""
        screen = self.record_beside("process 999999999 30\nprocess 999999998 62\nbusy 92\n")
        self.assertNotIn("process used", screen)
        self.assertEqual(self.use()["others"], 0)

    def test_nvml_that_does_not_answer_holds_up_nothing(self):
        self.record_beside("hang\n", looks=1)
        self.assertEqual(len(self.askers()), 1)
        self.assertIsNone(self.use())
        self.assert_nobody_looks()

    def test_the_looks_end_with_run_however_it_ends(self):
        run = self.start(harness.SYNCTRACE, "run", "--simgpu", "--", *self.command(10**6), env={**self.env, "SAID": "process self 1\n"})
        while not self.askers():
            self.assertIsNone(run.poll())
            time.sleep(0.01)
        gone = os.pidfd_open(self.askers()[0])
        run.kill()
        self.assertTrue(select.select([gone], [], [], harness.PATIENCE_S)[0])
        os.close(gone)

    def test_nobody_looks_before_a_process_uses_the_gpu(self):
        self.script.write_text("process 1 62\n")
        done = self.run_cli("run", "--simgpu", "--", "sleep", "1.2", env=self.env)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.askers(), [])


if __name__ == "__main__":
    harness.main()
