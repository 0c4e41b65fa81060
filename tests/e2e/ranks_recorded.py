# SPDX-License-Identifier: Apache-2.0
"""Jobs of two H200s (tests/golden/jobs): the rank, its line, how long the other one waited for it, and the saving."""
import json
import pathlib
import sys
import types

import harness

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "gpu"))
import ranks  # noqa: E402

# Job: the function of the late line, what it is, the range that what was timed lies in (docs/measurements/ranks.md), steps.
JOBS = {
    "ddp_host": ("augment", "host-compute", (0.09, 0.20), 100),
    "sharded_host": ("augment", "host-compute", (0.20, 0.32), 60),
    "pipeline_host": ("augment", "host-compute", (0.12, 0.18), 60),
    "tensor_kernel": ("extra_work", "slow-kernel", (0.06, 0.12), 60),
}


class RanksRecorded(harness.CliTest):
    def test_a_rank_with_more_work(self):
        done = self.run_cli("report", "--format", "json", TESTS / "golden" / "jobs" / "experts_uneven")
        job = json.loads(done.stdout)["job"]
        self.assertEqual((job["verdict"], job["shape"], job["late_rank"], job["causes"][0]["cause"]), ("rank-bound", "one-rank", "2", "more-work"))
        self.assertTrue(0.10 <= job["causes"][0]["saving"]["ns"] / job["base_ns"] <= 0.20)  # timed: 17.9 %

    def test_hosts_that_are_all_busy_name_no_rank(self):
        done = self.run_cli("report", "--format", "json", TESTS / "golden" / "jobs" / "mesh_slow")
        job = json.loads(done.stdout)["job"]
        self.assertEqual((job["verdict"], job["shape"]), ("host-bound", "even"))

    def test_the_line_that_makes_the_other_rank_wait(self):
        for name, (function, cause, (least, most), steps) in JOBS.items():
            with self.subTest(job=name):
                done = self.run_cli("report", "--format", "json", TESTS / "golden" / "jobs" / name)
                self.assertEqual(done.returncode, 0, done.stderr)
                job = json.loads(done.stdout)["job"]
                self.assertEqual((job["verdict"], job["shape"], job["late_rank"]), ("rank-bound", "one-rank", "1"))
                first = job["causes"][0]
                self.assertEqual((first["function"], first["cause"], [one["rank"] for one in first["ranks"]][:1]), (function, cause, ["1"]))
                self.assertTrue(least <= first["saving"]["ns"] / job["base_ns"] <= most, first["saving"])
                self.assertAlmostEqual(job["steps"], steps, delta=6)
                # What a rank's own report has for a line that launches a kernel does not make the kernel shorter.
                self.assertFalse([one for one in job["causes"] if one["kernel"] and one["title"]])

    def test_a_job_whose_ranks_are_alike_blames_none(self):
        done = self.run_cli("report", "--format", "json", TESTS / "golden" / "jobs" / "ddp_even")
        self.assertEqual(done.returncode, 0, done.stderr)
        job = json.loads(done.stdout)["job"]
        self.assertEqual((job["verdict"], job["shape"]), ("gpu-bound", "even"))
        # Each operation is late by a kernel, now on one rank, now on the other.
        self.assertGreater(job["saving_if_ranks_were_alike_ns"], 0.03 * job["base_ns"])
        self.assertEqual(job["causes"][-1]["cause"], "varying-kernel")

    def test_waits_by_lengths_are_those_by_the_host_s_clock(self):
        for name, (_, _, _, steps) in JOBS.items():
            with self.subTest(job=name):
                options = types.SimpleNamespace(synctrace=harness.SYNCTRACE, folder=self.folder)
                (self.folder / name).symlink_to(TESTS / "golden" / "jobs" / name)
                said, true = ranks.waits_s(options, name)
                self.assertLess(abs(said - true) / steps, max(0.05 * true / steps, 100e-6))
                self.assertGreater(said / steps, 1e-3)


if __name__ == "__main__":
    harness.main()
