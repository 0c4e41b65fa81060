# SPDX-License-Identifier: Apache-2.0
"""The wheel in a fresh environment, without a network: command, module, plugin, manual pages; and nothing of it stays."""
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import package_case

STORED = package_case.SOURCE / "tests/golden/frameworks/point_strokes.fps.synctrace"
SIMULATED = ["synctrace-simulated-gpu-*"]
# One that has pytest as well, if there is one.
PYTHONS = [python for python in (sys.executable, "/usr/bin/python3") if os.path.exists(python)]


def has(python, module):
    return subprocess.run([python, "-c", f"import {module}"], stderr=subprocess.DEVNULL, check=False).returncode == 0


MARKED = "import pytest\n\n@pytest.mark.no_gpu_sync\ndef test_nothing():\n    pass\n"
PYTHON = next((python for python in PYTHONS if has(python, "pytest")), PYTHONS[0])


@unittest.skipUnless(importlib.util.find_spec("venv") and has(PYTHON, "ensurepip"), "no python3-venv here")
class Wheel(package_case.PackageCase):
    @classmethod
    def setUpClass(cls):
        """One environment for all tests: making it takes the most time."""
        made = tempfile.TemporaryDirectory(prefix="synctrace-packages-")
        cls.addClassCleanup(made.cleanup)
        cls.env = pathlib.Path(made.name, "env")
        cls.run_always(PYTHON, "-m", "venv", "--system-site-packages", cls.env)
        cls.before = cls.files()
        cls.pip("install", "--no-index", "--no-deps", package_case.package("*.whl"))
        cls.native = next(cls.env.glob("lib/python*/site-packages/synctrace/_native"))

    @staticmethod
    def run_always(*words):
        subprocess.run([str(word) for word in words], check=True, env=package_case.environment(), stdin=subprocess.DEVNULL)

    @classmethod
    def pip(cls, *words):
        cls.run_always(cls.env / "bin/python", "-m", "pip", "--disable-pip-version-check", "-q", *words)

    @classmethod
    def files(cls):
        """But for empty folders, which pip leaves."""
        return sorted(str(path) for path in cls.env.rglob("*") if path.is_file() and "__pycache__" not in path.parts)

    def env_run(self, program, *words, **options):
        return self.run_it(self.env / "bin" / program, *words, **options)

    def test_all_of_it(self):
        doctor = self.env_run("synctrace", "doctor", status=None).stdout  # its status says whether there is a GPU
        self.assertRegex(doctor, r"ok +recorder: .*/_native/lib/synctrace/libsynctrace.so loads")
        version = self.env_run("synctrace", "--version").stdout
        self.assertEqual(self.env_run("python", "-m", "synctrace", "--version").stdout, version)
        ask = f"import synctrace; print(synctrace.report({str(STORED)!r})['processes'][0]['steps']['count'])"
        self.assertGreater(int(self.env_run("python", "-c", ask).stdout), 10)
        wrong = self.env_run("python", "-c", "import synctrace; synctrace.report('missing.synctrace')", status=1)
        self.assertIn("RuntimeError: ", wrong.stderr)
        for name in ["man/man1/synctrace-run.1", "bash-completion/completions/synctrace"]:
            self.assertTrue((self.env / "share" / name).is_file(), name)

        # Without the other file set there is no simulated GPU, which is said.
        missing = self.env_run("synctrace", "run", "--simgpu", "--", package_case.OLD_PROGRAM, status=3)
        self.assertIn("the simulated GPU is not installed; add it: tar -xzf", missing.stderr)
        self.unpack(self.native, SIMULATED)
        for how in (["synctrace"], ["python", "-m", "synctrace"]):
            recorded = self.env_run(*how, "run", "--simgpu", "-f", "-o", "trace", "--", package_case.OLD_PROGRAM)
            self.assertIn("sum 190", recorded.stdout)
            self.assert_recorded(self.env_run("synctrace", "report", "--format", "json", "trace.synctrace").stdout)

    @unittest.skipUnless(has(PYTHON, "pytest"), "no pytest here")
    def test_the_plugin_is_there_without_an_option(self):
        (self.folder / "test_it.py").write_text(MARKED)
        words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--strict-markers"]
        self.assertIn("1 passed", self.env_run("python", *words).stdout)
        unchecked = self.env_run("python", *words, "-p", "synctrace", "--gpu-sync=require", status=1)
        self.assertIn("not recorded", unchecked.stdout)

    def test_when_all_is_done_it_goes_as_it_came(self):
        self.assertNotEqual(self.files(), self.before)
        shutil.rmtree(self.native / "lib/synctrace/simgpu", ignore_errors=True)
        self.pip("uninstall", "-y", "synctrace")
        self.assertEqual(self.files(), self.before)


if __name__ == "__main__":
    package_case.main()
