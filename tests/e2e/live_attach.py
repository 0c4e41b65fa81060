# SPDX-License-Identifier: Apache-2.0
"""`synctrace attach`: programs that were not prepared get the recorder at random moments, are recorded once, and end as they do
alone: Python's threads that compile, fork and collect (churning_program.py), C threads that load and unload libraries
(tests/programs/loader), a C++ program that waits for the GPU. ATTACH_ROUNDS: how often each, 3 unless given.
SYNCTRACE_TEST_PYTHONS: interpreters, separated as in PATH; python3 unless given."""
import collections
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time

import harness

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import loader_churn  # noqa: E402

ROUNDS = int(os.environ.get("ATTACH_ROUNDS", "3"))
SECONDS = 3
CHURNING = pathlib.Path(__file__).with_name("churning_program.py")
REFUSALS = {
    "no thread of it is at rest": "no thread at rest",
    "there is no such process, or it has ended": "ended before",
    "has ended meanwhile": "ended meanwhile",
}


class LiveAttach(harness.CliTest):
    def setUp(self):
        super().setUp()
        self.rng = random.Random(1)
        self.counts = collections.Counter()
        self.milliseconds = []

    def bare(self, *command):
        return self.start(*command, env=harness.SIMULATED_ENV)

    def attach(self, process):
        """Counts what came of it; true when the program can be recorded."""
        begin = time.monotonic()
        done = self.run_cli("attach", process.pid)
        if done.returncode == 0:
            self.milliseconds.append(1000 * (time.monotonic() - begin))
            self.assert_one_line(done.stderr, "which was at rest, has loaded", f"synctrace start {process.pid}")
            self.counts["attached"] += 1
            return True
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        reason = next((short for text, short in REFUSALS.items() if text in done.stderr), done.stderr)
        if reason.startswith("ended"):
            process.wait(timeout=harness.PATIENCE_S)
        self.counts[reason] += 1
        return False

    def round(self, command, status, output, latest_s=1.5):
        """One program, attached to at a random moment and recorded once where that worked."""
        process = self.bare(*command)
        # Not to wait for something: the moment is what is tried.
        time.sleep(self.rng.uniform(0.0, latest_s))
        if self.attach(process):
            trace = self.folder / f"window{self.counts['attached']}.synctrace"
            done = self.run_cli("start", process.pid, "--duration", "200ms", "--report=none", "-q", "-o", trace)
            if done.returncode == 0:
                self.counts["recorded"] += 1
                self.assertEqual(self.report(trace)["process"]["id"], process.pid)
                trace.unlink()
            else:
                process.wait(timeout=harness.PATIENCE_S)  # only its end excuses it
                self.counts["ended before the window"] += 1
        out, err = process.communicate(timeout=harness.PATIENCE_S)
        self.assertEqual((process.returncode, out, err), (status, output, ""))

    def tell(self, name):
        middle = sorted(self.milliseconds)[len(self.milliseconds) // 2] if self.milliseconds else 0
        print(f"{name}: {ROUNDS} rounds, {dict(self.counts)}, attached within {middle:.0f} ms (median)", flush=True)

    def test_python(self):
        for interpreter in os.environ.get("SYNCTRACE_TEST_PYTHONS", sys.executable).split(os.pathsep):
            with self.subTest(interpreter=interpreter):
                self.counts.clear()
                for _ in range(ROUNDS):
                    self.round((interpreter, CHURNING, SECONDS), 0, "done\n")
                self.tell(interpreter)
                self.assertGreater(self.counts["attached"], 0)

    def test_threads_in_the_loader(self):
        if not shutil.which(os.environ.get("CC", "cc").split()[0]):
            self.skipTest("no C compiler")
        made = self.folder / "made"
        made.mkdir()
        loader_churn.make(made)
        for seed in range(ROUNDS):
            command = (made / "loader_churn", "churn", made, seed, self.rng.choice((20, 65, 200)), self.rng.randint(1, 8))
            alone = self.run_program(*command, env=harness.SIMULATED_ENV)
            self.assertEqual(alone.returncode, 0, alone.stderr)
            self.round(command, 0, alone.stdout, latest_s=0.2)
        self.tell("loader_churn")

    def test_a_program_that_waits_for_the_gpu(self):
        for _ in range(ROUNDS):
            process = self.bare(harness.program("endless"))
            process.stdout.readline()
            self.assertTrue(self.attach(process))
            done = self.run_cli("start", process.pid, "--duration", "300ms", "-o", "window", "-f")
            self.assertEqual(done.returncode, 0, done.stderr)
            report = self.report(self.folder / "window.synctrace")
            self.assertGreater(report["process"]["recorded_ns"], 200_000_000)
            again = self.run_cli("attach", process.pid)
            self.assert_one_line(again.stderr, "can be recorded already")
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=harness.PATIENCE_S)
            self.assertEqual(process.returncode, -signal.SIGTERM)

    def test_a_command_that_is_killed_in_the_middle(self):
        """The program does not need the command to live on."""
        for _ in range(ROUNDS):
            process = self.bare(sys.executable, CHURNING, SECONDS)
            time.sleep(self.rng.uniform(0.1, 1.0))
            command = subprocess.Popen([harness.SYNCTRACE, "attach", str(process.pid)], stderr=subprocess.DEVNULL,
                                       env=harness.environment())
            time.sleep(self.rng.uniform(0.0, 0.05))
            command.kill()
            command.wait()
            out, err = process.communicate(timeout=harness.PATIENCE_S)
            self.assertEqual((process.returncode, out, err), (0, "done\n", ""))

    def test_what_is_refused(self):
        gone = subprocess.Popen(["true"])
        gone.wait()
        refused = self.run_cli("attach", gone.pid)
        self.assertEqual(refused.returncode, 3)
        self.assert_one_line(refused.stderr, "there is no such process, or it has ended")
        recorded = self.start(harness.SYNCTRACE, "run", *harness.SIMULATED, "-q", "--report=none", "--", harness.program("endless"))
        pid = self.child_that_maps(recorded.pid, "libsynctrace.so")
        refused = self.run_cli("attach", pid)
        self.assert_one_line(refused.stderr, "the recorder is in it already")
        recorded.kill()
        self.assertEqual(self.run_cli("attach", "x").returncode, 2)

    def child_that_maps(self, parent, library):
        deadline = time.monotonic() + harness.PATIENCE_S
        while time.monotonic() < deadline:
            for entry in pathlib.Path("/proc").glob("[0-9]*"):
                try:
                    is_child = re.search(rf"^PPid:\s+{parent}$", (entry / "status").read_text(), re.MULTILINE)
                    if is_child and library in (entry / "maps").read_text():
                        return int(entry.name)
                except OSError:
                    continue
        self.fail(f"no child of {parent} maps {library}")


if __name__ == "__main__":
    harness.main()
