# SPDX-License-Identifier: Apache-2.0
"""The command itself makes a trace of each text beside this file and prints every report of it, to the byte.

golden_report_test asks the library. This one runs SYNCTRACE_BIN, which may begin with an emulator and its options: so it
shows that a command built for another processor reads, computes and prints as it does here.
"""
import os
import pathlib
import shlex
import subprocess
import tempfile
import unittest

COMMAND = shlex.split(os.environ["SYNCTRACE_BIN"])
FOLDER = pathlib.Path(__file__).resolve().parent
REPORTS = {
    ".screen.txt": [],
    ".report.txt": ["--full"],
    ".report.json": ["--format", "json"],
    ".report.md": ["--format", "md"],
    ".report.csv": ["--format", "csv"],
}


def run(folder, *arguments):
    # In the trace's folder, because reports name the trace as it was named.
    result = subprocess.run([*COMMAND, *arguments], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
    if result.returncode != 0:
        raise AssertionError(f"{arguments}: status {result.returncode}, {result.stderr.decode(errors='replace')}")
    return result.stdout.decode()


class Command(unittest.TestCase):
    maxDiff = None

    def test_every_report_is_the_stored_one(self):
        texts = sorted(FOLDER.glob("*.trace.txt"))
        self.assertGreaterEqual(len(texts), 4)
        with tempfile.TemporaryDirectory() as folder:
            for text in texts:
                name = text.name.removesuffix(".trace.txt")
                run(folder, "dump", "-f", "--assemble", str(text), "-o", f"{name}.synctrace")
                for ending, options in REPORTS.items():
                    with self.subTest(trace=name, report=ending):
                        expected = (FOLDER / (name + ending)).read_bytes().decode()
                        self.assertEqual(run(folder, "report", *options, f"{name}.synctrace"), expected)


if __name__ == "__main__":
    unittest.main()
