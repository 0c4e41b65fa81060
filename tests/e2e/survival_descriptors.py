# SPDX-License-Identifier: Apache-2.0
"""Programs that close, duplicate over, reuse and count descriptors: every byte of every file of theirs, what they print and
how they end is as without us. SYNCTRACE_ROUNDS repeats each way (tests/gpu and long runs)."""
import os

import harness
from survival_case import SurvivalCase

WAYS = ("close", "close_range", "start", "dup2", "child", "daemon", "exit", "count", "full", "lowest", "few", "exec")
ROUNDS = int(os.environ.get("SYNCTRACE_ROUNDS", "1"))
# On a GPU the driver's own descriptors are closed too, and dup2 gives its calls to the program's files. CUPTI keeps some
# open as well, so numbers differ there whoever uses it.
DRIVER_SURVIVES = ("start", "child", "daemon", "exit", "lowest", "exec")


class Descriptors(SurvivalCase):
    def run_here(self, way, **env):
        """What the program printed, how it ended, and its files; the folder is empty again."""
        done = self.run_program(harness.program("descriptors"), way, env={**harness.SIMULATED_ENV, **env})
        files = {file.name: file.read_bytes() for file in self.folder.glob("user.*")}
        traces = self.traces()
        lost = [self.dump(trace).lost_events() for trace in traces]
        for file in self.folder.iterdir():
            file.unlink()
        return (done.stdout, done.returncode, self.others_lines(done.stderr), files), traces, lost

    def check(self, way, **env):
        """Runs one way alone and recorded; each of ROUNDS leaves one trace. Returns the last one, and what it lost."""
        alone, _, _ = self.run_here(way)
        for _ in range(ROUNDS):
            recorded, traces, lost = self.run_here(
                way, LD_PRELOAD=harness.LIBRARY, SYNCTRACE_QUIET="1", SYNCTRACE_OUTPUT=self.folder / "trace", **env)
            self.assertEqual(recorded, alone)
            self.assertEqual(len(traces), 1, traces)
        return traces[0], lost[0]

    def test_out_of_the_programs_reach(self):
        for way in WAYS if harness.SIMULATED else DRIVER_SURVIVES:
            with self.subTest(way):
                trace, lost = self.check(way)
                if way not in ("full", "exec"):
                    self.assertEqual(trace.suffix, ".synctrace")
                if way != "full" and harness.SIMULATED:
                    self.assertEqual(lost, {})

    def test_in_the_programs_table(self):
        """Where a thread can have no descriptors of its own: the program sees one more, high up, and may take it away."""
        if not harness.SIMULATED:
            self.skipTest("the driver's own descriptors are taken away first")
        for way in WAYS:
            if way in ("count", "few", "lowest"):
                continue
            with self.subTest(way):
                self.check(way, SYNCTRACE_PLAIN_SYSCALLS="1")


if __name__ == "__main__":
    harness.main()
