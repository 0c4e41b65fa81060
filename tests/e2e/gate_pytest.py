# SPDX-License-Identifier: Apache-2.0
"""The plugin of pytest: a marked test fails with the line that synchronised."""
import os
import subprocess
import sys
import threading
import unittest

import gate_case
import harness

TESTS = """\
import ctypes
import pytest

runtime = ctypes.CDLL("libcudart.so.13")
work = ctypes.CDLL({work!r})
work.gate_stream.restype = ctypes.c_void_p
stream = ctypes.c_void_p(work.gate_stream())


def wait():
    runtime.cudaStreamSynchronize(stream)  # the wait


@pytest.mark.no_gpu_sync
def test_clean():
    work.gate_spin(ctypes.c_longlong(300_000))


@pytest.mark.no_gpu_sync
@pytest.mark.parametrize("size", [1, 2, 3])
def test_dirty(size):
    work.gate_spin(ctypes.c_longlong(300_000))
    wait()


@pytest.mark.no_gpu_sync
@pytest.mark.parametrize("name", [pytest.param(1, id="x" * 600), pytest.param(2, id="\\x7f\\u202e" * 3)])
def test_named(name):
    wait()


def test_unmarked():
    wait()
"""


def python_with_pytest():
    """The interpreter of this test, or the system's, for which packages of the distribution are; None: neither has it."""
    for python in (sys.executable, "/usr/bin/python3"):
        has_it = subprocess.run([python, "-c", "import pytest"], stderr=subprocess.DEVNULL, check=False) if os.path.exists(python) else None
        if has_it is not None and has_it.returncode == 0:
            return python
    return None


PYTHON = python_with_pytest()


@unittest.skipUnless(PYTHON, "pytest is not installed")
class Plugin(gate_case.GateCase):
    def setUp(self):
        super().setUp()
        (self.folder / "test_gpu.py").write_text(TESTS.format(work=gate_case.WORK))
        self.write_config()
        self.env = {"PYTHONPATH": gate_case.MODULE, "SYNCTRACE_COMMAND": harness.SYNCTRACE}
        self.pytest = [PYTHON, "-m", "pytest", "-q", "-p", "synctrace", "-p", "no:cacheprovider", "--gpu-sync-config=synctrace.toml"]

    def test_under_synctrace(self):
        done = self.record(*self.pytest, options=["--level=syncs", "--report=none"], env=self.env)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("5 failed, 2 passed", done.stdout)
        self.assertNotIn("did not see the end of the test", done.stdout)
        line = TESTS[:TESTS.index("runtime.cudaStreamSynchronize")].count("\n") + 1
        self.assertEqual(done.stdout.count(f"test_gpu.py:{line}: synchronises where nothing may"), 5, done.stdout)
        self.assertIn("[ST001 stream-sync]", done.stdout)
        self.assertIn("runtime.cudaStreamSynchronize(stream)  # the wait", done.stdout)

    def test_alone(self):
        environment = {**self.env, **harness.SIMULATED_ENV}
        self.assertEqual(self.run_program(*self.pytest, env=environment).returncode, 0)
        done = self.run_program(*self.pytest, "--gpu-sync=require", env=environment)
        self.assertIn("6 failed, 1 passed", done.stdout)
        self.assertIn("run under synctrace run", done.stdout)

    def test_finds_the_trace_while_other_files_come_and_go(self):
        sys.path.insert(0, gate_case.MODULE)
        self.addCleanup(sys.path.remove, gate_case.MODULE)
        import synctrace
        ended = threading.Event()

        def open_and_close():
            while not ended.is_set():
                for file in [open(os.devnull) for _ in range(20)]:
                    file.close()

        others = threading.Thread(target=open_and_close)
        others.start()
        self.addCleanup(others.join)
        self.addCleanup(ended.set)
        before = [open(os.devnull) for _ in range(20)]  # theirs come before the trace's
        with open(self.folder / "x.synctrace.partial", "w") as trace:
            for file in before:
                file.close()
            found = {synctrace._trace_of_this_process() for _ in range(300)}
            self.assertEqual(found, {trace.name})


if __name__ == "__main__":
    harness.main()
