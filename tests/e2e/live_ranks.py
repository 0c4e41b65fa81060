# SPDX-License-Identifier: Apache-2.0
"""One window of all ranks of a job: it begins at one moment, leaves a file a rank and one report, which names the slow rank as that
of a whole recording does."""
import json
import re
import sys

import harness
from live_case import LiveCase
from ranks_capture import LAUNCHER, TORCHRUN

SLOW_RANK = 1
FAULT_MS = 20
ENDLESS_STEPS = 1_000_000
TOGETHER_NS = 200_000_000


class LiveRanks(LiveCase):
    def start_job(self, world, *, asks_cuda, fault="kernel", fault_ms=FAULT_MS, **variables):
        """A launcher with its ranks; returns its number, and those of the ranks once all of them can be asked."""
        text = LAUNCHER if asks_cuda else LAUNCHER.replace("assert ctypes", "None and ctypes")
        (self.folder / "launcher.py").write_text(text, encoding="utf-8")
        process = self.start(harness.SYNCTRACE, "run", *harness.SIMULATED, "--dormant", "--quiet", "-o", "out/", "--", sys.executable,
                             self.folder / "launcher.py", world, json.dumps(TORCHRUN), harness.program("ranks"), self.folder,
                             ENDLESS_STEPS, fault, SLOW_RANK, fault_ms, env=variables)
        launcher = self.until(lambda: self.child_of(process.pid), "the launcher")
        self.addCleanup(self.kill_below, launcher)
        self.until(lambda: len(self.ranks()) == world, "the ranks")
        return launcher, self.ranks()

    def kill_below(self, launcher):
        for pid in self.dormant():
            self.kill(pid)
        self.kill(launcher)

    def dormant(self):
        return [int(path.stem) for path in (self.runtime / "synctrace").glob("*.sock")]

    def ranks(self):
        """Number of the process by rank."""
        answers = [answer for answer in map(self.ask, self.dormant()) if answer and "rank" in answer]
        return {int(answer["rank"]): int(answer["pid"]) for answer in answers}

    def traces(self):
        return sorted((self.folder / "out").glob("*.synctrace*"))

    def check_window(self, world, told):
        self.assertRegex(told.stderr, rf"recording {world} processes for ")
        self.assertEqual(len(self.traces()), world, self.traces())
        records = [self.dump(trace) for trace in self.traces()]
        self.assertEqual(sorted(int(one.facts["rank"]) for one in records), list(range(world)))
        opened = [one.windows()[0]["time_ns"] for one in records]
        self.assertLess(max(opened) - min(opened), TOGETHER_NS)
        for one in records:
            self.assertEqual(one.lost_events(), {})
            self.assertEqual(max(communicator["ranks"] for communicator in one.of("communicator")), world)
        job = json.loads(self.run_cli("report", "--format=json", *self.traces()).stdout)["job"]
        self.assertEqual((job["verdict"], job["late_rank"]), ("rank-bound", str(SLOW_RANK)))
        self.assertEqual(job["causes"][0]["kernel"], "spin_ns", job["causes"])
        self.assertIn(f"RANK {SLOW_RANK} HOLDS UP", told.stderr)

    def test_two_ranks_below_a_launcher_that_asks_for_devices(self):
        """It waits for a request itself, but is no rank."""
        launcher, ranks = self.start_job(2, asks_cuda=True)
        self.until(lambda: self.state(launcher) == "dormant", "the launcher's answer")
        self.check_window(2, self.window(launcher, "--duration", "1s"))
        self.assertEqual({self.state(pid) for pid in ranks.values()}, {"dormant"})
        self.assertEqual(self.ask(launcher)["windows"], "0")

    def test_ranks_begin_at_one_moment_without_the_work_of_the_gpu_too(self):
        launcher, _ = self.start_job(2, asks_cuda=False)
        self.window(launcher, "--duration", "500ms", "--level=syncs", "--report=none")
        times = [[call["begin_ns"] for call in self.dump(trace).calls("cudaStreamSynchronize")] for trace in self.traces()]
        first, last = [min(one) for one in times], [max(one) for one in times]
        self.assertLess(max(first) - min(first), TOGETHER_NS)
        self.assertLess(max(last) - min(first), 500_000_000 + TOGETHER_NS)

    def test_the_rank_that_comes_late_is_named_without_the_work_of_the_gpu(self):
        fault_ms = 60  # busy neighbours hold up the other rank for less
        launcher, _ = self.start_job(2, asks_cuda=False, fault="host", fault_ms=fault_ms)
        told = self.window(launcher, "--duration", "3s", "--level=syncs")
        late = re.search(rf"RANK {SLOW_RANK} IS LATE\n  It is the last to call \d+ of \d+ operations of NCCL, ([\d.]+) ms after the first", told.stderr)
        self.assertTrue(late, told.stderr)
        self.assertGreater(float(late[1]), 0.9 * fault_ms)
        self.assertRegex(told.stderr, r"What else the host did[^\n]*\n  ranks\.cu:\d+ +(clock_gettime|for \(volatile)")

    def test_eight_ranks(self):
        launcher, _ = self.start_job(8, asks_cuda=False)
        self.check_window(8, self.window(launcher, "--duration", "2s"))

    def test_a_job_by_its_name_twice(self):
        self.start_job(2, asks_cuda=False, TORCHELASTIC_RUN_ID="night run")
        self.assertEqual(self.cli("ps").stdout.count("night run"), 2)
        self.cli("start", "night run")
        stopped = self.cli("stop", "night run")
        self.assertIn("rank0", stopped.stderr + str(self.traces()))
        self.assertEqual(len(self.traces()), 2)
        self.window("night run", "--duration", "300ms", "--report=none")
        self.assertEqual(len(self.traces()), 4)

    def test_a_rank_that_refuses_is_told_and_the_others_are_recorded(self):
        launcher, ranks = self.start_job(2, asks_cuda=False)
        self.ask(ranks[0], f"verb start\noutput {self.folder}/first\n")
        done = self.run_cli("start", launcher, "--duration", "300ms", "--report=none")
        self.assertEqual(done.returncode, 3)
        self.assert_one_line(done.stderr, f"process {ranks[0]}: a window is being recorded already")
        self.assertEqual(len(self.traces()), 1)


if __name__ == "__main__":
    harness.main()
