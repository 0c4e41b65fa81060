# SPDX-License-Identifier: Apache-2.0
"""Runs synctrace as a user does, and looks at what comes out. Python's standard library only (3.10 or newer).

Where things are comes from the environment, which ctest sets (CMakeLists.txt):
  SYNCTRACE_BIN  the command line          SYNCTRACE_LIB  libsynctrace.so
  SIMGPU_DIR     the simulated GPU         PROGRAMS_DIR   small CUDA programs to record
Without SIMGPU_DIR the programs run on the real GPU (tests/gpu/run_all.sh).
"""
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SYNCTRACE = os.environ["SYNCTRACE_BIN"]
LIBRARY = os.environ.get("SYNCTRACE_LIB", "")
SIMGPU = os.environ.get("SIMGPU_DIR", "")
PROGRAMS = os.environ.get("PROGRAMS_DIR", "")
# What makes a program of ours use the simulated GPU: an option of `synctrace run`, or the environment.
SIMULATED = ["--simgpu"] if SIMGPU else []
SIMULATED_ENV = {"LD_LIBRARY_PATH": SIMGPU} if SIMGPU else {}

# Nothing that a test does may take longer, on a slow and busy machine. It is there so that a hang fails.
PATIENCE_S = 600

# What the tester's own shell has set must not reach the programs under test.
_FOREIGN = ("SYNCTRACE_", "CUDA_INJECTION", "NVTX_INJECTION", "RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_", "TORCHELASTIC_", "SLURM_", "PMI_",
            "PMIX_", "OMPI_", "MV2_", "HOROVOD_")


def go_first():
    """The simulated GPU runs in real time, and what waits for what depends on it. So a test and all that it starts go before the
    other processes of the machine, where that is allowed, as for root. They share the processors with each other as ever: the
    sampler must not wait for the thread that it looks at."""
    with contextlib.suppress(PermissionError):
        os.nice(-10)


def environment(**changes):
    """The environment for a program under test; a change to None removes a variable."""
    result = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}
    result.pop("LD_PRELOAD", None)
    for name, value in changes.items():
        result.pop(name, None)
        if value is not None:
            result[name] = str(value)
    return result


def program(name):
    """The path of one of the small CUDA programs."""
    return os.path.join(PROGRAMS, name)


def table_of_waits(report):
    """The part of a text report that ranks the calls; the causes of idle time above it name the same lines."""
    return report[report.index("The host waited"):]


class CliTest(unittest.TestCase):
    """A test with a folder of its own, which is the current folder of all that it runs."""

    maxDiff = None

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="synctrace-e2e-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def run_program(self, *command, env=None, **options):
        """Runs a command in the test's folder. stdout and stderr are text, or bytes with text=False."""
        options.setdefault("text", True)
        options.setdefault("stdin", subprocess.DEVNULL if "input" not in options else None)
        if options["stdin"] is None:
            del options["stdin"]
        return subprocess.run([str(word) for word in command], cwd=self.folder, env=environment(**(env or {})),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE_S, **options)

    def run_cli(self, *arguments, **options):
        return self.run_program(SYNCTRACE, *arguments, **options)

    def start(self, *command, env=None, **options):
        """Starts a command and returns at once. It is killed at the end of the test if it still runs."""
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
        process = subprocess.Popen([str(word) for word in command], cwd=self.folder, env=environment(**(env or {})), **options)
        self.addCleanup(self._end, process)
        return process

    @staticmethod
    def _end(process):
        if process.poll() is None:
            process.kill()
        process.communicate()

    def record(self, *command, options=(), env=None, **more):
        """`synctrace run`; the trace is self.trace."""
        return self.run_cli("run", *SIMULATED, "-o", "trace", *options, "--", *command, env=env, **more)

    def preload(self, *command, env=None, **options):
        """Runs a command with the recorder preloaded, without the command line's help."""
        preset = {"LD_PRELOAD": LIBRARY, **SIMULATED_ENV, "SYNCTRACE_OUTPUT": self.folder / "trace"}
        return self.run_program(*command, env={**preset, **(env or {})}, **options)

    @property
    def trace(self):
        return self.folder / "trace.synctrace"

    def assemble_trace(self, text, name="trace"):
        """Makes NAME.synctrace of a trace's text form."""
        (self.folder / "text").write_text(text, encoding="utf-8")
        done = self.run_cli("dump", "-f", "--assemble", "text", "-o", f"{name}.synctrace")
        self.assertEqual(done.returncode, 0, done.stderr)
        (self.folder / "text").unlink()

    def report(self, trace=None):
        """The report of a trace (default: self.trace) as a dictionary."""
        done = self.run_cli("report", "--format", "json", trace or self.trace)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["processes"][0]

    def files(self):
        """The names of the files in the test's folder, sorted."""
        return sorted(entry.name for entry in self.folder.iterdir() if entry.is_file())

    def assert_one_line(self, text, *parts):
        """Exactly one line of `text` contains every one of `parts`; returns it."""
        lines = [line for line in text.splitlines() if all(part in line for part in parts)]
        self.assertEqual(len(lines), 1, f"wanted one line with {parts} in:\n{text}")
        return lines[0]

    def assert_unharmed(self, recorded, *command, env=None, **options):
        """The recorded run gave the same output and ended the same way as the command alone does."""
        alone = self.run_program(*command, env=env, **options)
        self.assertEqual(recorded.stdout, alone.stdout)
        self.assertEqual(recorded.returncode, alone.returncode, recorded.stderr)
        return alone


def main():
    go_first()
    unittest.main(verbosity=2)
