# SPDX-License-Identifier: Apache-2.0
"""What tests of the packages share. Where things are comes from ctest (CMakeLists.txt)."""
import glob
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

PACKAGES = pathlib.Path(os.environ["PACKAGES_DIR"])
BUILD = pathlib.Path(os.environ["BUILD_DIR"])
OLD_PROGRAM = os.environ["OLD_PROGRAM"]
SOURCE = pathlib.Path(__file__).resolve().parents[2]
STEPS = 20  # the program's
PATIENCE_S = 600  # so that a hang fails
SKIPPED = 77  # for ctest


def package(pattern):
    """The one package of this pattern."""
    found = glob.glob(str(PACKAGES / pattern))
    if len(found) != 1:
        raise AssertionError(f"wanted one {pattern} in {PACKAGES}, found {found}")
    return pathlib.Path(found[0])


def environment(**changes):
    """Without what the tester's shell has of synctrace's, of preloads, of Python's paths and of pip's."""
    foreign = ("SYNCTRACE_", "CUDA_INJECTION", "NVTX_INJECTION", "LD_", "PYTHON", "PIP_")
    return {**{name: value for name, value in os.environ.items() if not name.startswith(foreign)}, **changes}


class PackageCase(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="synctrace-packages-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def unpack(self, folder=None, tarballs=("synctrace-[0-9]*", "synctrace-simulated-gpu-*")):
        """The tarballs, unpacked over each other as a user would; where their bin/ and lib/ are."""
        folder = folder or self.folder / "tree"
        for pattern in tarballs:
            with tarfile.open(package(pattern + ".tar.gz")) as tar:
                for member in tar.getmembers():
                    member.name = str(pathlib.PurePath(*pathlib.PurePath(member.name).parts[1:]) or ".")
                    tar.extract(member, folder)
        return folder

    def run_it(self, *command, status=0, env=None, cwd=None, message=""):
        done = subprocess.run([str(word) for word in command], cwd=cwd or self.folder, env=environment(**(env or {})),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        if status is not None:
            self.assertEqual(done.returncode, status, f"{message}{command}\n{done.stdout}{done.stderr}")
        return done

    def assert_recorded(self, report, steps=STEPS):
        """A report in JSON, as text: every wait of the program is there. Returns how many of them have their line."""
        waits = [wait for wait in json.loads(report)["processes"][0]["waits"] if wait["rule"] == "ST001"]
        self.assertEqual(sum(wait["count"] for wait in waits), steps, report[:2000])
        return sum(wait["count"] for wait in waits if (wait["file"] or "").endswith("old_program.cpp"))


def main():
    """Does what unittest.main() does, but a file of which nothing could be done is skipped for ctest too, which lists its name."""
    program = unittest.main(verbosity=2, exit=False)
    result = program.result
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(SKIPPED if result.skipped and len(result.skipped) == result.testsRun else 0)
