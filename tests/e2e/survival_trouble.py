# SPDX-License-Identifier: Apache-2.0
"""When recording is impossible or goes wrong: one clear line, an unharmed program, and the loss in the report."""
import os
import pathlib
import resource
import signal
import subprocess
import unittest

import harness
from survival_case import SurvivalCase

WORK = ("threads64", 8, 50)


def small_files_only():
    """A preexec_fn: writes beyond 64 KiB of a file fail, as on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 << 10, 64 << 10))


class Trouble(SurvivalCase):
    def check(self, *words, env=None, program=WORK, **options):
        """Preloaded, the program runs as it does alone, and one line of ours holds all `words`. Returns that line."""
        command = [harness.program(program[0]), *program[1:]]
        simulated = {name: value for name, value in (env or {}).items() if name.startswith(("SIMGPU_", "LD_LIBRARY_PATH"))}
        alone = self.alone(*command, env=simulated)
        recorded = self.preloaded(*command, env=env, **options)
        self.assert_same(recorded, alone)
        lines = self.our_lines(recorded.stderr)
        self.assertEqual(len(lines), 1, recorded.stderr)
        for word in words:
            self.assertIn(word, lines[0])
        return lines[0]

    def lost(self, trace=None):
        """Names of the losses that the report shows, those that are mere notes apart."""
        losses = self.report(trace or self.only_trace())["losses"]
        return {loss["name"]: loss["count"] for loss in losses if loss["severity"] != "note"}

    def test_file_size_limit(self):
        recorded = self.preloaded(harness.program("launch_many"), 100_000, preexec_fn=small_files_only)
        self.assertEqual((recorded.returncode, recorded.stdout), (0, "launches 100001\n"))
        self.assertEqual(len(self.our_lines(recorded.stderr)), 1, recorded.stderr)
        self.assertIn("cannot write", self.our_lines(recorded.stderr)[0])
        self.assertNotEqual(self.lost(), {})

    @unittest.skipUnless(os.geteuid() == 0, "mounting needs root")
    def test_full_disk(self):
        disk = self.folder / "disk"
        disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", disk], stderr=subprocess.PIPE, check=False)
        if mounted.returncode != 0:
            self.skipTest("no permission to mount")
        self.addCleanup(subprocess.run, ["umount", disk], check=False)
        recorded = self.preloaded(harness.program("launch_many"), 100_000, env={"SYNCTRACE_OUTPUT": disk / "trace"})
        self.assertEqual((recorded.returncode, recorded.stdout), (0, "launches 100001\n"))
        self.assertEqual(len(self.our_lines(recorded.stderr)), 1, recorded.stderr)
        self.assertIn("cannot write", self.our_lines(recorded.stderr)[0])
        self.assertNotEqual(self.lost(next(disk.iterdir())), {})

    def test_folder_that_cannot_be_written(self):
        folder = self.folder / "closed"
        folder.mkdir(mode=0o555)
        if os.geteuid() == 0:
            folder = pathlib.Path("/sys")  # root may write anywhere but where the kernel says no
        self.check(str(folder), env={"SYNCTRACE_OUTPUT": folder / "trace"})

    def test_cupti_path_without_a_file(self):
        self.check("SYNCTRACE_CUPTI_PATH", "/nowhere/libcupti.so", env={"SYNCTRACE_CUPTI_PATH": "/nowhere/libcupti.so"})

    def test_no_cupti_on_the_library_path(self):
        runtime_only = self.folder / "runtime"
        runtime_only.mkdir()
        (runtime_only / "libcudart.so.13").symlink_to(pathlib.Path(harness.SIMGPU) / "libcudart.so.13")
        self.check(env={"LD_LIBRARY_PATH": str(runtime_only), "CUDA_HOME": "/nowhere"})

    def test_cupti_that_is_a_text_file(self):
        (self.folder / "libcupti.so").write_text("not a library\n")
        self.check("libcupti.so", env={"SYNCTRACE_CUPTI_PATH": self.folder / "libcupti.so"})

    def test_cupti_without_its_symbols(self):
        library = pathlib.Path(harness.SIMGPU) / "libcudart.so.13"
        self.check(str(library), env={"SYNCTRACE_CUPTI_PATH": library})

    def test_cupti_of_an_unsupported_version(self):
        self.check("CUPTI", env={"SIMGPU_CUPTI_VERSION": "9"})

    def test_subscriber_taken(self):
        self.check("other tool", env={"SIMGPU_SUBSCRIBER_TAKEN": "other tool"})

    def test_program_with_a_cupti_client_of_its_own(self):
        before = self.preloaded(harness.program("second_subscriber"), "before")
        self.assertEqual((before.returncode, before.stdout), (0, "subscribe: 0\n20 kernels\n"))
        self.assertEqual(len(self.our_lines(before.stderr)), 1, before.stderr)
        self.assertIn("second_subscriber", self.our_lines(before.stderr)[0])
        self.forget_traces()
        after = self.preloaded(harness.program("second_subscriber"), "after")
        self.assertEqual(after.returncode, 0)
        self.assertRegex(after.stdout, r"\Asubscribe: 39, held by .*synctrace.*\n20 kernels\n\Z")
        self.assertEqual(len(self.dump().of("kernel")), 20)

    def test_unknown_variable(self):
        self.check("SYNCTRACE_LEVLE", env={"SYNCTRACE_LEVLE": "syncs"})
        self.assertEqual(len(self.dump().of("kernel")), 400)

    def test_dropped_buffers(self):
        command = [harness.program("threads64"), 8, 50]
        recorded = self.preloaded(*command, env={"SIMGPU_DROP_BUFFERS": "1"})
        self.assert_same(recorded, self.alone(*command))
        lost = self.lost()
        self.assertGreater(lost["cupti-dropped"], 0)


if __name__ == "__main__":
    harness.main()
