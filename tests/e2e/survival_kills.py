# SPDX-License-Identifier: Apache-2.0
"""SIGKILL at random moments: the trace can be read and lacks at most the last second before the kill."""
import random
import signal
import time

import harness
from survival_case import LONG, SurvivalCase, child_of

KILLS = 200 if LONG else 20
SECOND = 1_000_000_000


class Kills(SurvivalCase):
    def start_endless(self, wrapped):
        if wrapped:
            process = self.start(harness.SYNCTRACE, "run", *harness.SIMULATED, "--quiet", "--report=none", "-o", "trace", "--",
                                 harness.program("endless"))
        else:
            process = self.start(harness.program("endless"), env={
                "LD_PRELOAD": harness.LIBRARY, **harness.SIMULATED_ENV, "SYNCTRACE_OUTPUT": self.folder / "trace"})
        first = process.stdout.readline()
        self.assertNotEqual(first, "", "it has worked before it is killed")
        return process, child_of(process.pid) if wrapped else process.pid

    def kill(self, after_s, wrapped):
        """Returns how many rounds were over a second before the kill, by the program's own account."""
        process, program = self.start_endless(wrapped)
        time.sleep(after_s)  # the moment is what is tested
        killed_ns = time.monotonic_ns()
        harness.os.kill(program, signal.SIGKILL)
        stdout, stderr = process.communicate(timeout=harness.PATIENCE_S)
        self.assertEqual(process.returncode, -signal.SIGKILL)
        self.assertEqual(self.our_lines(stderr), [])
        rounds = 0
        for line in stdout.splitlines():
            words = line.split()
            if len(words) == 2 and int(words[1]) <= killed_ns - SECOND:
                rounds = int(words[0])
        return rounds

    def test_killed_at_random_moments(self):
        moments = random.Random(2026)
        for attempt in range(KILLS):
            after_s = moments.uniform(0, 2)
            wrapped = attempt % 4 == 3
            with self.subTest(attempt=attempt, after_s=after_s, wrapped=wrapped):
                rounds = self.kill(after_s, wrapped)
                trace = self.only_trace()
                recorded = len(self.dump(trace).calls("cudaStreamSynchronize"))
                self.assertGreaterEqual(recorded, rounds)
                self.assertIn("unclean-end", [loss["name"] for loss in self.report(trace)["losses"]])
            self.forget_traces()


if __name__ == "__main__":
    harness.main()
