#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a user gets wrong, and files that are not what they were: mistyped options of every verb, options that have no
effect, folders of a dataset that cannot be read, recordings that end too early."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest

import harness

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden"
TRACE = GOLDEN / "h200" / "sync_per_step.synctrace"
VERBS = ["run", "report", "explain", "gate", "baseline create", "baseline update", "baseline prune", "baseline show", "diff",
         "export", "import", "rollup", "fleet report", "push", "symbols", "dump", "doctor"]
NOBODY = 65534


class HostileInputs(harness.CliTest):
    def test_every_mistyped_option_names_one_that_is_there(self):
        for verb in VERBS:
            options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", self.run_cli(*verb.split(), "--help").stdout))
            self.assertIn("--help", options)
            for option in sorted(options):
                for mistyped in (option + "p", option[:-1], option[:4] + "x" + option[4:], option + "=1x"):
                    done = self.run_cli(*verb.split(), mistyped)
                    self.assertNotIn("Sanitizer", done.stderr)
                    self.assertGreaterEqual(done.returncode, 0, (verb, mistyped))
                    for meant in re.findall(r"did you mean '?(--[^ '?]*)", done.stderr):
                        self.assertIn(meant, options, (verb, mistyped))
            done = self.run_cli(*verb.split(), "--helpp")
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertIn("did you mean --help?", done.stderr)

    def test_what_is_asked_is_answered_or_refused(self):
        shutil.copy(TRACE, self.folder / "a.synctrace")
        for asked in ("--what-if=fix@nowhere.py:1", "--assume=pinned"):
            done = self.run_cli("report", asked, "a.synctrace")
            if done.returncode == 0:
                self.assertIn("What you asked", done.stdout)
        self.assertIn("What you asked", self.run_cli("report", "--assume=pinned", "a.synctrace").stdout)
        self.assertIn("What you asked", self.run_cli("report", "--assume=pinned", "--html", "p.html", "a.synctrace").stdout)
        for words in ("report --assume=pinned --format csv", "report --assume=pinned --table causes", "report --table causes --format json",
                      "report --stacks --format md", "report --max-html-size 1M", "export --weight samples --format chrome -o x",
                      "gate --no-config --print-allow --format json"):
            done = self.run_cli(*words.split(), "a.synctrace")
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), (words, done.stderr))
        done = self.run_cli("baseline", "create", "--no-config", "--write", "json=x", "a.synctrace")
        self.assertIn("there is no option --write", done.stderr)

    def test_a_recording_without_its_end_has_no_zeros_for_figures(self):
        whole = TRACE.read_bytes()
        for size in (1000, 2000, 4000):
            (self.folder / "cut.synctrace").write_bytes(whole[:size])
            for options in ([], ["--full"], ["--format", "md"]):
                said = self.run_cli("report", "--no-symbols", *options, "cut.synctrace").stdout
                self.assertNotRegex(said, r"(?<![\d.])0 ns|in 0 of 0 calls|No call ", said)
                self.assertNotIn("needs --level=timeline", said)
                self.assertIn("length unknown", said)
                self.assertIn("The end of the recording is missing", said.replace("\n", " "))
            document = json.loads(self.run_cli("report", "--no-symbols", "--format", "json", "cut.synctrace").stdout)
            self.assertIsNone(document["processes"][0]["process"]["recorded_ns"])


class Dataset(harness.CliTest):
    """Three jobs; the folder of the first, by name, cannot be read, and that of the last is a link."""

    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)
        shutil.copy(TRACE, self.folder / "a.synctrace")
        for job in ("a", "b", "c"):
            self.assertEqual(self.run_cli("rollup", "a.synctrace", "--job", job, "-o", "data").returncode, 0)
        for table in ("runs", "ranks", "sites"):
            os.makedirs(self.folder / "elsewhere" / table)
            shutil.move(self.folder / "data" / table / "job=c", self.folder / "elsewhere" / table)
            (self.folder / "data" / table / "job=c").symlink_to(self.folder / "elsewhere" / table / "job=c")
            (self.folder / "data" / table / "again").symlink_to(self.folder / "data" / table)  # a ring

    def report(self):
        as_nobody = {"user": NOBODY} if os.geteuid() == 0 else {}
        done = subprocess.run([harness.SYNCTRACE, "fleet", "report", "--format", "json", "data"], cwd=self.folder, text=True,
                              capture_output=True, timeout=harness.PATIENCE_S, check=False, **as_nobody)
        return done, {job["job"] for job in json.loads(done.stdout)["jobs"]}

    def test_links_are_followed_once(self):
        done, jobs = self.report()
        self.assertEqual((done.returncode, jobs), (0, {"a", "b", "c"}), done.stderr)

    def test_a_folder_that_cannot_be_read_is_named_and_the_rest_is_read(self):
        locked = self.folder / "data" / "ranks" / "job=a"
        os.chmod(locked, 0)
        self.addCleanup(os.chmod, locked, 0o755)
        done, jobs = self.report()
        self.assertEqual((done.returncode, jobs), (3, {"b", "c"}), done.stderr)
        self.assertIn("job=a: Permission denied", done.stderr)


if __name__ == "__main__":
    unittest.main()
