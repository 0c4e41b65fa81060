# SPDX-License-Identifier: Apache-2.0
"""The command lines of the documentation that install and use the packages (tests/support/doc_blocks.py), as they stand on the page, in a
fresh environment of Python, without a network. The packages are made: this test is behind packages.made."""
import importlib.util
import pathlib
import shutil
import subprocess
import sys
import tempfile

import package_case

sys.path[:0] = [str(package_case.SOURCE / "tests/support"), str(package_case.SOURCE / "tests/docs")]
import run_blocks  # noqa: E402

TRAIN = "import os\nos.execv({program!r}, [{program!r}])\n"


class Installed(run_blocks.Workshop):
    """Nothing of the build is on PATH but the simulated GPU, as a driver would be."""

    def __init__(self, root, build, folder):
        super().__init__(root, build, folder)
        shutil.rmtree(self.programs)
        subprocess.run(["/usr/bin/python3", "-m", "venv", self.programs.parent], check=True)
        (self.programs / "make").write_text("#!/bin/sh\n# It has run.\ntest \"$*\" = demo || { test \"$*\" = package && test -d dist; }\n", encoding="utf-8")
        (self.programs / "make").chmod(0o755)
        for name in ("PYTHONPATH", "PYTEST_PLUGINS", "PROGRAMS_DIR"):
            del self.environment[name]
        system = ":".join(part for part in self.environment["PATH"].split(":") if part not in (str(self.programs), str(self.build / "bin")))
        self.environment |= {"PATH": f"{self.programs}:{system}", "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}

    def page(self, name, blocks):
        folder = super().page(name, blocks)
        shutil.copytree(package_case.PACKAGES, folder / "dist")
        for package in package_case.PACKAGES.iterdir():
            (folder / package.name).symlink_to(package)
        (folder / "train.py").write_text(TRAIN.format(program=package_case.OLD_PROGRAM), encoding="utf-8")
        return folder


def main():
    if not importlib.util.find_spec("venv") or not pathlib.Path("/usr/bin/python3").exists():
        print("skipped: no python3-venv here")
        return package_case.SKIPPED
    with tempfile.TemporaryDirectory(prefix="synctrace-docs-") as folder:
        workshop = Installed(package_case.SOURCE, package_case.BUILD, folder)
        return run_blocks.run_pages(workshop, [], lambda block: block.needs == "packages")


if __name__ == "__main__":
    sys.exit(main())
