#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a newcomer types that cannot work: each is refused in two lines at most, which name the mistake and what to type instead."""
import os
import pathlib
import re
import shutil
import signal
import stat
import unittest

import harness

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden"
TRACE = GOLDEN / "h200" / "sync_per_step.synctrace"
NOBODY = 65534

# What is typed behind `synctrace`, the exit status, and what the answer must contain: first what was wrong, last what to type.
WRONG = [
    # A file of the wrong kind, or the verb for another one.
    ("report train.py", 3, ["train.py", "synctrace run -- python3 train.py"]),
    ("report run.pt.trace.json", 3, ["run.pt.trace.json", "synctrace import run.pt.trace.json -o run.synctrace"]),
    ("diff run.pt.trace.json a.synctrace", 3, ["run.pt.trace.json", "synctrace import run.pt.trace.json -o run.synctrace"]),
    ("export profile.sqlite -o x.json", 3, ["profile.sqlite", "synctrace import profile.sqlite -o profile.synctrace"]),
    ("gate profile.nsys-rep", 3, ["profile.nsys-rep", "nsys export", "synctrace import profile.sqlite -o profile.synctrace"]),
    ("import kernels.ncu-rep -o x.synctrace", 3, ["kernels.ncu-rep", "Nsight Compute", "synctrace run -- PROGRAM"]),
    ("import train.py -o x.synctrace", 3, ["train.py", "synctrace run -- python3 train.py"]),
    ("import a.synctrace -o x.synctrace", 3, ["a.synctrace", "synctrace report a.synctrace"]),
    ("report baseline.json", 3, ["baseline.json", "synctrace gate --baseline baseline.json"]),
    ("report a.txt", 3, ["a.txt", "synctrace dump --assemble a.txt -o a.synctrace"]),
    ("gate --baseline a.synctrace a.synctrace", 2, ["--baseline a.synctrace", "synctrace baseline create a.synctrace"]),
    ("gate --baseline none.json a.synctrace", 2, ["none.json", "synctrace baseline create --baseline none.json"]),
    ("gate --config a.synctrace a.synctrace", 2, ["--config a.synctrace", "leave it out"]),
    ("fleet report a.synctrace", 4, ["a.synctrace", "synctrace rollup a.synctrace -o DATASET"]),
    ("run a.synctrace", 127, ["a.synctrace", "synctrace report a.synctrace"]),
    ("a.synctrace", 2, ["a.synctrace", "synctrace report a.synctrace"]),
    # Files that are empty, cut, missing, a folder, a pipe, somebody else's, or too many.
    ("report empty.synctrace", 3, ["empty.synctrace", "synctrace run -- PROGRAM"]),
    ("report cut.synctrace", 3, ["cut.synctrace", "cut off", "synctrace run -- PROGRAM"]),
    ("report a2.synctrace", 3, ["a2.synctrace", "did you mean a.synctrace?"]),
    ("report a", 3, ["a: No such file", "did you mean a.synctrace?"]),
    ("report nothing", 4, ["nothing", "synctrace run -o nothing/ -- PROGRAM"]),
    ("dump nothing", 3, ["nothing", "is a folder", "nothing/FILE"]),
    ("report pipe", 3, ["pipe", "into a file"]),
    ("report secret.synctrace", 3, ["secret.synctrace: Permission denied", "chmod a+r secret.synctrace"]),
    ("dump a.synctrace b.synctrace", 2, ["b.synctrace is one too many", "synctrace dump a.synctrace"]),
    ("import run.pt.trace.json", 2, ["--output", "synctrace import run.pt.trace.json --output TRACE"]),
    ("diff a.synctrace", 2, ["two recordings", "synctrace diff BEFORE AFTER"]),
    # Programs that are not there, or cannot be run.
    ("run", 2, ["which program?", "synctrace run -- PROGRAM"]),
    ("run --level syncs --", 2, ["which program?", "synctrace run -- PROGRAM"]),
    ("run -- no_such_program", 127, ["no_such_program: command not found", "synctrace run -- FOLDER/no_such_program"]),
    ("trian.py", 2, ["trian.py", "did you mean train.py?"]),
    ("run -- ./notes.txt", 126, ["./notes.txt: Permission denied", "chmod +x ./notes.txt", "synctrace run -- sh ./notes.txt"]),
    ("run -- ./nothing", 126, ["it is a folder", "synctrace run -- ./nothing/PROGRAM"]),
    # Programs that are not there to be recorded; others of this user may be.
    ("start 999999999 --duration 1s", 3, ["no program", "waits for a request", "synctrace"]),
    ("start no-such-job", 3, ["no program", "waits for a request", "synctrace"]),
    ("stop 999999999", 3, ["no program", "waits for a request", "synctrace"]),
    ("status 999999999", 3, ["no program", "waits for a request", "synctrace"]),
    ("start", 2, ["PID is required", "synctrace start PID"]),
    ("start 1 2", 2, ["2 is one too many", "synctrace start 1"]),
    ("stop 1 2", 2, ["2 is one too many", "synctrace stop 1"]),
    ("ps 1", 2, ["1 is one too many", "synctrace ps"]),
    ("start 1 --duration 0", 2, ["--duration 0", "500ms"]),
    ("start 1 --duration soon", 2, ["--duration soon", "500ms"]),
    ("start 1 --at noon", 2, ["--at noon", "14:30", "+5s"]),
    ("start 1 --at 25:00", 2, ["--at 25:00", "14:30"]),
    ("start 1 --at +soon", 2, ["--at +soon", "+5s"]),
    ("start 1 --level magic", 2, ["--level: ", "timeline"]),
    ("start 1 --max-size lots", 2, ["--max-size lots", "64M"]),
    ("start 1 -o a", 2, ["a.synctrace exists already", "--force-overwrite"]),
    ("run --dormant --duration 1s -- true", 2, ["--dormant", "synctrace start", "--duration"]),
    ("run --dormant --gate -- true", 2, ["--gate", "--dormant"]),
    # Verbs, options and values.
    ("reprot a.synctrace", 2, ["'reprot'", "did you mean 'report'?"]),
    ("baseline a.synctrace", 2, ["what to do", "synctrace baseline create, update, prune or show"]),
    ("report", 2, ["TRACE is required", "synctrace report TRACE"]),
    ("report --htlm p.html a.synctrace", 2, ["--htlm", "did you mean --html?"]),
    ("report --html a.synctrace", 2, ["--html took a.synctrace", "synctrace report --html FILE a.synctrace"]),
    ("report a.synctrace --html", 2, ["--html needs a value", "synctrace report --html FILE"]),
    ("report --format html a.synctrace", 2, ["html is none of", "--html FILE"]),
    ("run --html p.html -- train.py", 2, ["--html", "synctrace report has it"]),
    ("report --simgpu a.synctrace", 2, ["--simgpu", "synctrace run has it"]),
    ("run --duration soon -- true", 2, ["--duration=soon", "500ms"]),
    ("report --html p.html --max-html-size lots a.synctrace", 2, ["--max-html-size: lots", "5M"]),
    ("report --assume magic a.synctrace", 2, ["--assume: 'magic'", "pinned"]),
    ("explain ST999", 2, ["'ST999'", "synctrace explain"]),
    ("gate --judge-steps all a.synctrace", 2, ["--judge-steps=all", "FIRST:"]),
    # Outputs.
    ("report -o no/x.txt a.synctrace", 2, ["--output no/x.txt", "mkdir -p no"]),
    ("report --html locked/p.html a.synctrace", 2, ["--html locked/p.html: Permission denied", "another --html"]),
    ("report -o notes.txt a.synctrace", 2, ["notes.txt exists already", "--force-overwrite"]),
    ("run -o a -- true", 2, ["a.synctrace exists already", "--force-overwrite"]),
    ("run -o locked/x -- true", 2, ["locked (Permission denied)", "synctrace run -o /tmp/"]),
    ("export a.synctrace -o a.xyz", 2, ["a.xyz", "--format", ".json (chrome)"]),
]


class WrongUses(harness.CliTest):
    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)
        for name in ("a", "b", "secret"):
            shutil.copy(TRACE, self.folder / f"{name}.synctrace")
        for words in ("dump -o a.txt a.synctrace", "baseline create --no-config --baseline baseline.json a.synctrace"):
            self.assertEqual(self.run_cli(*words.split()).returncode, 0)
        for name, content in {"train.py": b"print('trains')\n", "notes.txt": b"mine\n", "run.pt.trace.json": b'{"traceEvents": []}',
                              "profile.sqlite": b"SQLite format 3\0" + bytes(100), "profile.nsys-rep": b"NSYS", "kernels.ncu-rep": b"NCU",
                              "empty.synctrace": b"", "cut.synctrace": TRACE.read_bytes()[:20]}.items():
            (self.folder / name).write_bytes(content)
        (self.folder / "nothing").mkdir()
        (self.folder / "locked").mkdir(mode=0o555)
        os.mkfifo(self.folder / "pipe")
        os.chmod(self.folder / "secret.synctrace", 0)
        if os.geteuid() == 0:
            for path in (self.folder, *self.folder.rglob("*")):
                os.chown(path, NOBODY, NOBODY)
        self.files_before = self.tree()

    def tree(self):
        return sorted((str(path), stat.S_ISFIFO(path.stat().st_mode) or path.is_dir() or path.stat().st_size) for path in self.folder.rglob("*"))

    def type(self, words):
        """Nothing is forbidden to root, so that nobody types."""
        as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        return self.run_cli(*words.split(), env={"PATH": "/usr/bin:/bin"}, **as_nobody)

    def help_of(self, *verb):
        return self.run_cli(*verb, "--help").stdout

    def assert_says_what_exists(self, said):
        """Each command and option in the sentence is one of ours, but for those of another tool."""
        verbs = set(re.findall(r"^  ([a-z]+) ", self.run_cli("--help").stdout, re.M))
        named = re.findall(r"(?<![.\w])synctrace ([a-z]+)", said)
        self.assertLessEqual(set(named) - {"trace"}, verbs, said)
        helps = "".join(self.help_of(verb) for verb in verbs - {"baseline", "fleet"}) + self.help_of("baseline", "create")
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", re.sub(r"nsys export --type sqlite|there is no option \S+", "", said)):
            self.assertIn(option, helps, said)
        return named

    def test_each_is_answered_with_what_to_type(self):
        self.assertGreaterEqual(len(WRONG), 30)
        for words, status, parts in WRONG:
            with self.subTest(words):
                done = self.type(words)
                self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
                lines = done.stderr.splitlines()
                self.assertIn(len(lines), (1, 2), done.stderr)
                self.assertRegex(lines[0], r"^synctrace( [a-z]+)*: ")
                for part in parts:
                    self.assertIn(part, done.stderr)
                for noise in ("Traceback", "terminate called", "Sanitizer", "internal error"):
                    self.assertNotIn(noise, done.stderr)
                said = done.stderr.split(": ", 1)[1]
                named = self.assert_says_what_exists(said)
                self.assertTrue(named or re.search(r"--[a-z]|did you mean|chmod|into a file|FILE", said), said)
                self.assertEqual(self.tree(), self.files_before, "something was written")

    def test_a_reader_that_goes_away_is_no_mistake(self):
        """With the signal as shells have it, and ignored, as some services start their commands."""
        for words in ("report --full a.synctrace", "dump a.synctrace", "explain", "export --format chrome -o - a.synctrace"):
            for ignored in (False, True):
                with self.subTest(words, ignored=ignored):
                    command = self.start(harness.SYNCTRACE, *words.split(), preexec_fn=self.ignore_pipes if ignored else None,
                                         restore_signals=not ignored)
                    command.stdout.close()
                    self.assertEqual(command.stderr.read(), "")
                    command.wait(timeout=harness.PATIENCE_S)

    @staticmethod
    def ignore_pipes():
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)

    def installed_alone(self):
        """The command and its recorder as a package has them, without the simulated GPU."""
        for source, place in ((harness.SYNCTRACE, "bin"), (harness.LIBRARY, "lib"),
                              (pathlib.Path(harness.LIBRARY).parent / "synctrace-probe", "lib")):
            (self.folder / "usr" / place).mkdir(parents=True, exist_ok=True)
            shutil.copy(source, self.folder / "usr" / place)
        return self.folder / "usr" / "bin" / "synctrace"

    @unittest.skipUnless(harness.LIBRARY, "built without the recorder")
    def test_a_package_without_the_simulated_gpu_says_how_to_add_it(self):
        command = self.installed_alone()
        done = self.run_program(command, "run", "--simgpu", "--", "true")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (3, 1), done.stderr)
        self.assertIn("--simgpu: the simulated GPU is not installed", done.stderr)
        adds = done.stderr.split("add it: ")[1]
        tree = self.folder / "tree" / "synctrace-simulated-gpu-0.1.0" / "lib" / "synctrace"
        tree.mkdir(parents=True)
        shutil.copytree(harness.SIMGPU, tree / "simgpu", symlinks=True)
        self.run_program("tar", "-czf", "synctrace-simulated-gpu-0.1.0.tar.gz", "-C", "tree", "synctrace-simulated-gpu-0.1.0")
        self.assertEqual(self.run_program("sh", "-c", adds).returncode, 0)
        done = self.run_program(command, "run", "--simgpu", "--", "true")
        self.assertEqual(done.returncode, 0)
        self.assertIn("running on the simulated GPU", done.stderr)


if __name__ == "__main__":
    unittest.main()
