# SPDX-License-Identifier: Apache-2.0
"""No command opens a recording more than twice, whatever is asked of it: one process, several, and a job of ranks. The kernel counts."""
import ctypes
import os
import pathlib
import shutil
import struct
import subprocess

import harness

GENERATED_JOB = os.environ["GENERATED_JOB"]
RANKS, STEPS = 4, 20
IN_CLOSE_NOWRITE, IN_OPEN, IN_ISDIR = 0x10, 0x20, 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)


class Opens:
    """Counts how often each file of some folders is opened. Closing is asked for too: equal events in a row would be one."""

    def __init__(self, *folders):
        self.descriptor = LIBC.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self.descriptor < 0:
            raise OSError(ctypes.get_errno(), "inotify_init1")
        self.folders = {}
        for folder in folders:
            watch = LIBC.inotify_add_watch(self.descriptor, os.fsencode(folder), IN_OPEN | IN_CLOSE_NOWRITE)
            if watch < 0:
                raise OSError(ctypes.get_errno(), "inotify_add_watch")
            self.folders[watch] = pathlib.Path(folder)

    def take(self):
        """The count for each recording since the last time."""
        counts = {}
        while True:
            try:
                events = os.read(self.descriptor, 1 << 16)
            except BlockingIOError:
                return counts
            while events:
                watch, mask, _, length = struct.unpack_from("iIII", events)
                name = os.fsdecode(events[16:16 + length].rstrip(b"\0"))
                events = events[16 + length:]
                if mask & IN_OPEN and not mask & IN_ISDIR and name.endswith(".synctrace"):
                    path = str(self.folders[watch] / name)
                    counts[path] = counts.get(path, 0) + 1

    def close(self):
        os.close(self.descriptor)


class FileOpens(harness.CliTest):
    def setUp(self):
        super().setUp()
        self.job = self.make_job("job", "2000000")
        self.after = self.make_job("after", "0")
        # A rank alone is a process like any other.
        self.several = self.folder / "several"
        self.several.mkdir()
        self.one = str(self.several / "one.synctrace")
        shutil.copy(self.job / "rank-0.synctrace", self.one)
        self.out = self.folder / "out"
        self.out.mkdir()
        self.counter = Opens(self.job, self.after, self.several)
        self.addCleanup(self.counter.close)

    def make_job(self, name, fault):
        folder = self.folder / name
        folder.mkdir()
        subprocess.run([GENERATED_JOB, folder, str(RANKS), str(STEPS), "6", fault], check=True, timeout=harness.PATIENCE_S)
        return folder

    def most(self, *arguments, files, most=2, statuses=(0,)):
        """Runs a command, which has to open each of so many recordings, and none more than `most` times."""
        self.counter.take()
        done = self.run_cli(*arguments)
        self.assertIn(done.returncode, statuses, done.stdout + done.stderr)
        counts = self.counter.take()
        self.assertEqual(len(counts), files, counts)
        self.assertLessEqual(max(counts.values(), default=0), most, (arguments, counts))

    def outputs(self, *arguments):
        """The arguments, with a new name for each PATH."""
        self.number = getattr(self, "number", 0) + 1
        return [str(argument).replace("PATH", str(self.out / f"{self.number}")) for argument in arguments]

    def test_report_of_one_process(self):
        for asked in ([], ["--full"], ["--format", "json"], ["--format", "json", "-o", "PATH.json", "--html", "PATH.html"], ["--html", "PATH.html"]):
            self.most("report", *self.outputs(*asked), self.one, files=1, most=1)

    def test_report_of_a_job(self):
        for asked in ([], ["--full"], ["--format", "json"], ["--format", "md"], ["--html", "PATH.html"],
                      ["--format", "json", "-o", "PATH.json", "--html", "PATH.html"]):
            self.most("report", *self.outputs(*asked), self.job, files=RANKS)
        self.most("report", "--rank", "1", self.job, files=RANKS)
        self.most("report", *self.outputs("--rank", "1", "--html", "PATH.html"), self.job, files=RANKS)

    def test_report_of_different_jobs(self):
        rank = str(self.after / "rank-1.synctrace")
        for asked in ([], ["--format", "json", "-o", "PATH.json", "--html", "PATH.html"]):
            self.most("report", *self.outputs(*asked), self.one, rank, files=2)

    def test_gate_and_baseline(self):
        self.most("gate", "--no-config", self.job, files=RANKS, most=1, statuses=(0, 1))
        baseline = str(self.out / "baseline.json")
        for verb in ("create", "update", "prune"):
            self.most("baseline", verb, "--no-config", "--baseline", baseline, self.job, files=RANKS, most=1)

    def test_diff(self):
        self.most("diff", self.job, self.after, files=2 * RANKS, statuses=(0, 1))
        self.most("diff", self.one, str(self.after / "rank-1.synctrace"), files=2, most=1, statuses=(0, 1))

    def test_export_in_each_format(self):
        for form in ("chrome", "perfetto", "nsys-sqlite", "csv", "speedscope", "pprof", "folded"):
            with self.subTest(form):
                self.most("export", *self.outputs("--format", form, "-o", "PATH.out"), self.one, files=1)
                self.most("export", *self.outputs("--format", form, "-o", "PATH.out"), self.job, files=RANKS)
                self.most("export", *self.outputs("--format", form, "-o", "PATH/"), self.job, files=RANKS)

    def test_rollup_and_fleet(self):
        self.most("rollup", self.one, "-o", self.out / "alone", files=1, most=1)
        self.most("rollup", self.job, "-o", self.out / "tables", files=RANKS)
        self.most("fleet", "report", self.out / "tables", files=0)


if __name__ == "__main__":
    harness.main()
