# SPDX-License-Identifier: Apache-2.0
"""Jobs under real launchers: Open MPI's and MPICH's mpirun, Slurm's srun, and torchrun, each where it is installed.
What the ranks print, how the launcher ends and what a signal does is as without synctrace; each rank leaves one trace
that is named by its number, the launcher none. (A launcher that sets torchrun's variables is in ranks_capture.py.)"""
import json
import pathlib
import shutil
import signal
import subprocess
import time
import unittest

import harness
import slurm_cluster
from survival_case import SurvivalCase


class Launchers:
    """The tests; a launcher is a class that has them with these."""

    source = ""  # which of its variables tell the rank
    environment = {}
    after_a_signal = ()  # its statuses then, where they differ from run to run also without us

    def words(self, ranks):
        """The launcher's own part of a command line."""
        raise NotImplementedError

    def job(self, ranks, *arguments):
        (self.folder / "nccl_id").unlink(missing_ok=True)
        return [*self.words(ranks), harness.program("ranks"), self.folder, *arguments]

    def alone(self, ranks, *arguments):
        return self.run_program(*self.job(ranks, *arguments), env={**harness.SIMULATED_ENV, **self.environment})

    @staticmethod
    def recorder():
        return [harness.SYNCTRACE, "run", *harness.SIMULATED, "--quiet", "--report=none", "-o", "out/", "--"]

    def outside(self, ranks, *arguments):
        return self.run_program(*self.recorder(), *self.job(ranks, *arguments), env=self.environment)

    def inside(self, ranks, *arguments):
        """The launcher starts one synctrace for each rank."""
        words = self.words(ranks)
        program = self.job(ranks, *arguments)[len(words):]
        return self.run_program(*words, *self.recorder(), *program, env=self.environment)

    def recorded(self):
        return sorted((self.folder / "out").iterdir())

    def test_each_rank_leaves_one_trace_with_its_number(self):
        for run in (self.outside, self.inside):
            with self.subTest(run=run.__name__):
                shutil.rmtree(self.folder / "out", ignore_errors=True)
                done = run(2, 2)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(sorted(done.stdout.split("\n")),
                                 ["", "rank 0 of 2: 2 steps", "rank 1 of 2: 2 steps"])
                traces = self.recorded()
                self.assertEqual(len(traces), 2, traces)
                for rank, trace in enumerate(traces):
                    self.assertRegex(trace.name, rf"^ranks\.rank{rank}\.\d+\.synctrace$")
                    facts = self.dump(trace).facts
                    self.assertEqual((facts["rank"], facts["world_size"]), (str(rank), "2"))
                    self.assertEqual(facts["rank_source"], self.source)
                    self.assertEqual(facts["nccl_version"], "2.28.9")

    def test_the_status_of_a_rank_is_told_as_without_us(self):
        alone = self.alone(2, 2, "exit", 1, 3)
        self.assertNotEqual(alone.returncode, 0)
        for run in (self.outside, self.inside):
            self.assertEqual(run(2, 2, "exit", 1, 3).returncode, alone.returncode)

    def test_a_signal_ends_the_job_as_without_us(self):
        alone = self.ended_by_signal(self.job(2, 100_000), {**harness.SIMULATED_ENV, **self.environment})
        recorded = self.ended_by_signal([*self.recorder(), *self.job(2, 100_000)], self.environment)
        if self.after_a_signal:
            self.assertIn(recorded, self.after_a_signal)
        else:
            self.assertEqual(recorded, alone)
        ranks = [pathlib.Path("/proc") / trace.name.split(".")[2] for trace in self.recorded()]
        self.wait_until(lambda: not any(rank.exists() for rank in ranks))

    def ended_by_signal(self, command, environment):
        process = self.start(*command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.wait_until((self.folder / "nccl_id").exists)
        time.sleep(0.3)
        process.send_signal(signal.SIGTERM)
        return process.wait(harness.PATIENCE_S)

    def wait_until(self, is_true):
        deadline = time.monotonic() + harness.PATIENCE_S
        while not is_true():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)

    def test_a_killed_rank_does_not_hide_the_late_one(self):
        alone = self.alone(4, 2, "die", 1, 0)
        # Small kernels fill the buffers of CUPTI, which are lost with the process as far as they are not full.
        done = self.outside(4, 120, "die", 1, 0, "host", 2, 20, "layers", -1, 60)
        self.assertEqual(done.returncode, alone.returncode)
        self.assertEqual(len(self.recorded()), 4)
        job = json.loads(self.run_cli("report", "--format=json", "out").stdout)
        self.assertEqual((job["job"]["verdict"], job["job"]["late_rank"]), ("rank-bound", "2"))
        self.assertIn("1", [rank["rank"] for rank in job["ranks"] if rank["cut_short"]])
        self.assertIn("did not end in order", self.run_cli("report", "out").stdout)
        for trace in self.recorded():
            if ".rank1." in trace.name:
                trace.unlink()
        text = " ".join(self.run_cli("report", "out").stdout.split())
        self.assertIn("RANK 2 HOLDS UP 2 RANKS", text)
        self.assertIn("3 of 4 ranks were recorded, not rank 1;", text)


@unittest.skipUnless(shutil.which("mpirun.openmpi"), "no Open MPI here (Debian: openmpi-bin)")
class OpenMpi(Launchers, SurvivalCase):
    source = "Open MPI (OMPI_COMM_WORLD_RANK)"

    def words(self, ranks):
        return ["mpirun.openmpi", "--oversubscribe", "--allow-run-as-root", "-n", ranks]


@unittest.skipUnless(shutil.which("mpirun.mpich"), "no MPICH here (Debian: mpich)")
class Mpich(Launchers, SurvivalCase):
    source = "PMI (PMIX_RANK or PMI_RANK)"
    after_a_signal = (0, 15)

    def words(self, ranks):
        return ["mpirun.mpich", "-n", ranks]


@unittest.skipIf(slurm_cluster.why_not(), slurm_cluster.why_not())
class Slurm(Launchers, SurvivalCase):
    source = "Slurm (SLURM_PROCID)"

    @classmethod
    def setUpClass(cls):
        try:
            cluster = slurm_cluster.SlurmCluster()
        except TimeoutError as problem:
            raise unittest.SkipTest(str(problem)) from problem
        cls.addClassCleanup(cluster.stop)
        cls.environment = cluster.environment

    def words(self, ranks):
        return ["srun", "--kill-on-bad-exit=1", "-n", ranks]


@unittest.skipUnless(shutil.which("torchrun"), "no torchrun here")
class Torchrun(Launchers, SurvivalCase):
    source = "torchrun (RANK)"

    def words(self, ranks):
        return ["torchrun", "--standalone", "--no-python", f"--nproc-per-node={ranks}"]


if __name__ == "__main__":
    harness.main()
