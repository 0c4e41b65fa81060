# SPDX-License-Identifier: Apache-2.0
"""Programs that close, duplicate over, reuse and count descriptors: every byte of every file of theirs, what they print and
how they end is as without us. SYNCTRACE_ROUNDS repeats each way (tests/gpu and long runs)."""
import os

import harness
from survival_case import SurvivalCase

WAYS = ("close", "close_range", "start", "dup2", "child", "daemon", "exit", "count", "full", "lowest", "few", "exec")
ROUNDS = int(os.environ.get("SYNCTRACE_ROUNDS", "1"))
# On a GPU the driver's own descriptors are closed too, and dup2 gives its calls to the program's files.
DRIVER_SURVIVES = ("start", "child", "daemon", "exit", "count", "lowest", "few", "exec")


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

    def check(self, ways, **env):
        for way in ways:
            with self.subTest(way):
                alone, _, _ = self.run_here(way)
                for _ in range(ROUNDS):
                    recorded, traces, lost = self.run_here(
                        way, LD_PRELOAD=harness.LIBRARY, SYNCTRACE_QUIET="1", SYNCTRACE_OUTPUT=self.folder / "trace", **env)
                    self.assertEqual(recorded, alone)
                    self.assertEqual(len(traces), 1, traces)
                    yield way, traces[0], lost[0]

    def test_out_of_the_programs_reach(self):
        for way, trace, lost in self.check(WAYS if harness.SIMULATED else DRIVER_SURVIVES):
            if way == "full":
                continue
            self.assertEqual(lost, {}, way)
            if way != "exec":
                self.assertEqual(trace.suffix, ".synctrace", way)

    def test_in_the_programs_table(self):
        """Where a thread can have no descriptors of its own: the program sees one more, high up, and may take it away."""
        if not harness.SIMULATED:
            self.skipTest("the driver's own descriptors are taken away first")
        ways = [way for way in WAYS if way not in ("count", "few", "lowest")]
        for _ in self.check(ways, SYNCTRACE_PLAIN_SYSCALLS="1"):
            pass


if __name__ == "__main__":
    harness.main()
