# SPDX-License-Identifier: Apache-2.0
"""Rows of docs/measurements/results: what a test script measured, on which machine, of which commit, when.

    rows = measured_rows.Rows("cost", gpus=2)
    rows.add("whole-programs", "syncs beside bare: eager", f"{ratio:.3f}", error=f"{error:.3f}", n=processes)
    rows.add_of("marked-lines", "wrong lines", wrong, lines)           # so many of so many

Rows are added to FOLDER/PAGE.csv if `--record FOLDER` is among the script's options (add_option) or MEASURED_ROWS=FOLDER in its
environment, and to nothing else. MEASURED_COMMIT names what was measured where there is no git.
From a shell, into MEASURED_ROWS: measured_rows.py PAGE CLAIM CASE VALUE [UNIT [N]]"""
import csv
import datetime
import importlib.metadata
import os
import pathlib
import platform
import re
import subprocess
import sys

COLUMNS = ["claim", "case", "value", "unit", "error", "n", "gpu", "driver", "versions", "commit", "utc"]
PACKAGES = {"torch": "PyTorch", "jax": "JAX", "cupy-cuda13x": "CuPy"}
ROOT = pathlib.Path(__file__).resolve().parents[2]


def add_option(parser):
    parser.add_argument("--record", type=set_folder, metavar="FOLDER", help="add what was measured to the rows in this folder (or MEASURED_ROWS)")


def set_folder(folder):
    os.environ["MEASURED_ROWS"] = str(pathlib.Path(folder).resolve())
    return folder


def words_of(*command):
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def processor():
    try:
        found = re.search(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
    except OSError:
        found = None
    return f"{found[1] if found else platform.machine()}, {len(os.sched_getaffinity(0))} cores"


def machine(gpus, simulated):
    """(gpu, driver) of a row: the GPUs that were used, or the processor where it is what was measured."""
    if gpus and not simulated:
        name, _, driver = words_of("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader").partition("\n")[0].partition(", ")
        found = re.search(r"\b[A-Z]+\d+\w*", name)
        if name:
            return (f"{gpus} x " if gpus > 1 else "") + (found[0] if found else name), driver
    return f"{'simulated' if simulated else 'none'}; {processor()}", ""


def versions():
    found = []
    if cuda := re.search(r"CUDA Version: ([\d.]+)", words_of("nvidia-smi")):
        found.append(f"CUDA {cuda[1]}")
    for package, name in PACKAGES.items():
        try:
            found.append(f"{name} {importlib.metadata.version(package).partition('+')[0]}")
        except importlib.metadata.PackageNotFoundError:
            pass
    return "; ".join([*found, f"Python {platform.python_version()}"])


def commit():
    """With a plus if what is measured has changes that are not committed."""
    if "MEASURED_COMMIT" in os.environ:
        return os.environ["MEASURED_COMMIT"]
    changed = words_of("git", "status", "--porcelain", "--", "libsynctrace", "cli", "tests")
    return words_of("git", "rev-parse", "--short=7", "HEAD") + ("+" if changed else "")


class Rows:
    def __init__(self, page, gpus=1, simulated=False):
        folder = os.environ.get("MEASURED_ROWS")
        self.file = pathlib.Path(folder, f"{page}.csv") if folder else None
        self.gpus, self.simulated, self.where = gpus, simulated, None

    def add(self, claim, case, value, unit="", error="", n=""):
        if self.file is None:
            return
        self.where = self.where or (*machine(self.gpus, self.simulated), versions(), commit())
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%MZ")
        self.file.parent.mkdir(parents=True, exist_ok=True)
        is_new = not self.file.exists()
        with open(self.file, "a", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerows([COLUMNS] if is_new else [])
            writer.writerow([claim, case, value, unit, error, n, *self.where, now])

    def add_of(self, claim, case, number, total):
        self.add(claim, case, number, "of", n=total)


if __name__ == "__main__":
    if not 5 <= len(sys.argv) <= 7:
        sys.exit(__doc__)
    unit, number = [*sys.argv[5:], "", ""][:2]
    Rows(sys.argv[1]).add(*sys.argv[2:5], unit=unit, n=number)
