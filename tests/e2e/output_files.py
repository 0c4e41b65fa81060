#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No output takes the place of a recording, or of a file that is not the same output of ours, unless -f says so."""
import pathlib
import shutil
import unittest

import harness

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden"
TRACE = GOLDEN / "h200" / "sync_per_step.synctrace"

# Each with OUT for the file that it writes, and whether it knows its own output again.
OUTPUTS = [
    ("report --html OUT a.synctrace", True),
    ("report -o OUT a.synctrace", True),
    ("report --full -o OUT a.synctrace", True),
    ("report --format json -o OUT a.synctrace", True),
    ("report --format md -o OUT a.synctrace", True),
    ("report --format csv -o OUT a.synctrace", True),
    ("report -o OUT a.synctrace b.synctrace", True),
    ("report --table causes -o OUT a.synctrace", False),
    ("gate --no-config -o OUT a.synctrace", False),
    ("gate --no-config --format json -o OUT a.synctrace", True),
    ("gate --no-config --format sarif -o OUT a.synctrace", True),
    ("gate --no-config --format junit -o OUT a.synctrace", True),
    ("gate --no-config --format github -o OUT a.synctrace", True),
    ("gate --no-config --format gitlab -o OUT a.synctrace", True),
    ("gate --no-config --format md -o OUT a.synctrace", True),
    ("gate --no-config --write json=OUT a.synctrace", True),
    ("gate --no-config --print-allow -o OUT a.synctrace", False),
    ("diff -o OUT a.synctrace b.synctrace", False),
    ("diff --format json -o OUT a.synctrace b.synctrace", True),
    ("export --format chrome -o OUT a.synctrace", False),
    ("export --format nsys-sqlite -o OUT a.synctrace", False),
    ("export --format pprof --no-symbols -o OUT a.synctrace", False),
    ("dump -o OUT a.synctrace", True),
    ("dump --assemble a.txt -o OUT", False),
    ("rollup a.synctrace -o tables --prom-textfile OUT", True),
    ("fleet report dataset -o OUT", False),
    ("fleet report dataset --format json -o OUT", True),
]


class OutputFiles(harness.CliTest):
    def setUp(self):
        super().setUp()
        for name in ("a", "b"):
            shutil.copy(TRACE, self.folder / f"{name}.synctrace")
        for words in ("dump -o a.txt a.synctrace", "rollup a.synctrace -o dataset"):
            self.assertEqual(self.run_cli(*words.split()).returncode, 0)

    def write(self, command, output, *more):
        return self.run_cli(*command.replace("OUT", output).split(), *more)

    def refused(self, command, name, content):
        path = self.folder / name
        path.write_bytes(content)
        done = self.write(command, name)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn(name, done.stderr)
        self.assertIn("-f", done.stderr)
        self.assertEqual(path.read_bytes(), content)
        return done.stderr

    def test_what_is_not_ours_stays(self):
        for command, _ in OUTPUTS:
            with self.subTest(command):
                said = self.refused(command, "other.file", TRACE.read_bytes())
                self.assertIn("is a recording", said)
                self.refused(command, "notes", b"what synctrace report a.synctrace said:\n")

    def test_our_own_and_empty_files_are_replaced(self):
        for command, knows_its_own in OUTPUTS:
            with self.subTest(command):
                out = self.folder / "out"
                out.unlink(missing_ok=True)
                first = self.write(command, "out")
                self.assertIn(first.returncode, (0, 1), first.stderr)
                if "--prom-textfile" not in command:
                    self.assert_one_line(first.stderr, "wrote out (")
                content = out.read_bytes()
                self.assertTrue(content)
                if knows_its_own:
                    again = self.write(command, "out")
                    self.assertEqual((again.returncode, again.stderr), (first.returncode, first.stderr))
                else:
                    self.assertEqual(self.write(command, "out").returncode, 2)
                self.assertIn(self.write(command, "out", "-f").returncode, (0, 1))
                out.write_bytes(b"")
                self.assertEqual(self.write(command, "out").returncode, first.returncode)
                out.write_bytes(TRACE.read_bytes())
                self.assertEqual(self.write(command, "out", "-f").returncode, first.returncode)
                self.assertNotEqual(out.read_bytes(), TRACE.read_bytes())

    def test_one_kind_is_not_another(self):
        self.write("gate --no-config --format json -o OUT a.synctrace", "verdict")
        self.refused("report --format json -o OUT a.synctrace", "verdict", (self.folder / "verdict").read_bytes())

    def test_a_trace_that_is_read_is_never_written(self):
        for command in ("report -o OUT a.synctrace", "report --html OUT a.synctrace", "gate --no-config -o OUT a.synctrace",
                        "export --format csv -o OUT a.synctrace", "dump -o OUT a.synctrace"):
            target = "a.synctrace"
            if "csv" in command:
                continue  # its files have names of their own
            done = self.write(command, target, "-f")
            self.assertEqual(done.returncode, 2, command)
            self.assertIn("one of the traces", done.stderr)

    def test_a_baseline_is_updated_and_nothing_else_is(self):
        command = "baseline create --no-config --baseline OUT a.synctrace"
        (self.folder / "other").write_bytes(TRACE.read_bytes())
        self.assertNotEqual(self.write(command, "other").returncode, 0)
        self.assertEqual((self.folder / "other").read_bytes(), TRACE.read_bytes())
        self.assertEqual(self.write(command, "known").returncode, 0)
        self.assertEqual(self.write(command, "known").returncode, 2)
        self.assertEqual(self.write(command.replace("create", "update"), "known").returncode, 0)

    def test_a_pipe_is_no_file(self):
        done = self.write("report -o OUT a.synctrace", "/dev/stdout")
        self.assertIn("sync_per_step", done.stdout)
        self.assertEqual(done.stderr, "")

    def test_what_is_called_like_a_temporary_file_stays(self):
        for command in ("report --html OUT a.synctrace", "export --format nsys-sqlite -o OUT a.synctrace"):
            mine = self.folder / "page.tmp"
            mine.write_text("mine")
            self.assertEqual(self.write(command, "page").returncode, 0)
            self.assertEqual(mine.read_text(), "mine")
            (self.folder / "page").unlink()

    def test_a_table_of_the_dataset_is_replaced_by_a_table_alone(self):
        table = next((self.folder / "dataset" / "runs").rglob("*.parquet"))
        self.assertEqual(self.run_cli("rollup", "a.synctrace", "-o", "dataset").returncode, 0)
        table.write_bytes(b"something else")
        done = self.run_cli("rollup", "a.synctrace", "-o", "dataset")
        self.assertEqual((done.returncode, table.read_bytes()), (3, b"something else"), done.stderr)
        self.assertEqual(self.run_cli("rollup", "a.synctrace", "-o", "dataset", "-f").returncode, 0)


if __name__ == "__main__":
    unittest.main()
