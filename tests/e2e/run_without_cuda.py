# SPDX-License-Identifier: Apache-2.0
"""A program that never uses CUDA pays nothing and leaves nothing behind."""
import ctypes
import os
import unittest

import harness


def is_driver_here():
    try:
        return os.path.exists("/proc/driver/nvidia/version") or bool(ctypes.CDLL("libcuda.so.1"))
    except OSError:
        return False


class WithoutCuda(harness.CliTest):
    def test_says_so_and_leaves_no_file(self):
        done = self.run_cli("run", "--", "sh", "-c", "echo out; echo err >&2; exit 3", env={"TMPDIR": str(self.folder)})
        self.assertEqual((done.returncode, done.stdout), (3, "out\n"))
        lines = done.stderr.splitlines()
        self.assertEqual(lines[0], "err")
        self.assertEqual(len(lines), 2, done.stderr)
        self.assertIn("nothing was recorded", lines[1])
        self.assertIn("synctrace doctor", lines[1])
        self.assertEqual(self.files(), [])

    @unittest.skipIf(is_driver_here(), "a driver is here")
    def test_without_a_driver(self):
        said = "no NVIDIA driver here"
        done = self.run_cli("run", "--", "true")
        self.assertEqual(done.stderr, f"synctrace: nothing was recorded: {said}. Run it where there is a GPU, or without one: "
                                      "synctrace run --simgpu. More: synctrace doctor\n")
        self.assertNotIn(said, self.run_cli("run", "--simgpu", "--", "true").stderr)
        self.assertIn(f"fail  driver: {said}\n      -> Run it where there is a GPU. Without a GPU: synctrace run --simgpu.\n",
                      self.run_cli("doctor").stdout)

    def test_quiet_is_quiet(self):
        self.assertEqual(self.run_cli("run", "-q", "--", "true").stderr, "")

    def test_of_many_ranks_one_speaks(self):
        ranks = {"WORLD_SIZE": 2, "LOCAL_RANK": 0}
        self.assertIn("nothing was recorded", self.run_cli("run", "--", "true", env={"RANK": 0, **ranks}).stderr)
        self.assertEqual(self.run_cli("run", "--", "true", env={"RANK": 1, **ranks}).stderr, "")

    def test_of_many_ranks_one_warns(self):
        unset = ["-o", "a%r%q{NO_SUCH_THING}"]
        for rank, lines in [(0, 1), (1, 0)]:
            done = self.run_cli("run", "-v", *unset, "--", "true", env={"RANK": rank, "WORLD_SIZE": 2})
            self.assertEqual(done.stderr.count("NO_SUCH_THING is not set"), lines, done.stderr)
            self.assertEqual(done.stderr.count("recorder: "), lines, done.stderr)

    def test_switched_off(self):
        done = self.run_cli("run", "--", "true", env={"SYNCTRACE_ENABLE": "0"})
        self.assert_one_line(done.stderr, "nothing was recorded", "SYNCTRACE_ENABLE=0")

    def test_without_a_folder_for_temporary_files(self):
        done = self.run_cli("run", "--", "true", env={"TMPDIR": "/no/such/folder"})
        self.assertEqual(done.returncode, 0)
        self.assertIn("nothing was recorded", done.stderr)


if __name__ == "__main__":
    harness.main()
