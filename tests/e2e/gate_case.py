# SPDX-License-Identifier: Apache-2.0
"""A Python program with steps, of which tests say what each does; and how to judge it."""
import json
import os
import pathlib
import sys

import harness

WORK = os.path.join(harness.PROGRAMS, "libgate_work.so")
MODULE = str(pathlib.Path(__file__).resolve().parents[2] / "libsynctrace" / "python")

PROGRAM = """\
import ctypes
import os
import sys

import synctrace

runtime = ctypes.CDLL("libcudart.so.13")
work = ctypes.CDLL({work!r})
work.gate_stream.restype = ctypes.c_void_p
stream = ctypes.c_void_p(work.gate_stream())
buffer = ctypes.c_void_p()
assert runtime.cudaMalloc(ctypes.byref(buffer), ctypes.c_size_t(8 << 20)) == 0
host = ctypes.create_string_buffer(8 << 20)


def spin():
    work.gate_spin(ctypes.c_longlong(300_000))


def read(size):
    runtime.cudaMemcpyAsync(host, buffer, ctypes.c_size_t(size), 2, stream)


def train_step(number):
    spin()
{body}


for number in range({steps}):
    with synctrace.step(number):
        train_step(number)
{end}
"""

# The code between the user's lines and CUDA.
CONFIG = """\
[gate]
library-code = ["libgate_work.so", "libffi*"]
"""


class GateCase(harness.CliTest):
    def setUp(self):
        super().setUp()
        if not harness.SIMGPU:
            self.skipTest("the program needs libcudart.so.13 on the loader's path")
        (self.folder / ".git").mkdir()  # the root of a repository

    def write_program(self, *body, steps=12, end="", name="train.py"):
        """A program whose steps run these lines; the number of the first of them."""
        lines = "\n".join("    " + line for line in body or ("pass",))
        text = PROGRAM.format(work=WORK, body=lines, steps=steps, end=end)
        (self.folder / name).write_text(text)
        return text[:text.index(lines)].count("\n") + 1

    def write_config(self, text="", head=CONFIG):
        (self.folder / "synctrace.toml").write_text(head + text)

    def record_program(self, *options, level="syncs", name="train.py", env=None):
        done = self.record(sys.executable, name, options=[f"--level={level}", "--report=none", "-f", *options],
                           env={"PYTHONPATH": MODULE, **(env or {})})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def gate(self, *options, status=None, traces=None, **more):
        done = self.run_cli("gate", *options, *(traces or [self.trace]), **more)
        if status is not None:
            self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def verdict(self, *options, status=None, **more):
        """The result as a dictionary."""
        return json.loads(self.gate("--format", "json", *options, status=status, **more).stdout)

    def run_gate(self, *options, name="train.py", status=None, env=None):
        done = self.run_cli("run", *harness.SIMULATED, "-o", "trace", "-f", "--gate", *options, "--", sys.executable, name,
                            env={"PYTHONPATH": MODULE, **(env or {})})
        if status is not None:
            self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done
