# SPDX-License-Identifier: Apache-2.0
"""Programs that look closely, or limit themselves: seccomp filters, an empty environment, an overflowing stack, another
allocator; and what stands in a trace, and with which rights."""
import glob
import os
import signal
import stat
import subprocess
import unittest

import harness
from survival_case import SurvivalCase, without_core_dump

PROGRAM = harness.program("strict")


class Strict(SurvivalCase):
    def check(self, *command, env=None, **options):
        alone = self.alone(*command, env={"LD_PRELOAD": (env or {}).pop("AS_WELL", None)}, **options)
        recorded = self.preloaded(*command, env=env, **options)
        self.assert_same(recorded, alone)
        return recorded

    def test_filter_before_the_first_call(self):
        recorded = self.check(PROGRAM, "filter-before", env={"SYNCTRACE_QUIET": "0"})
        self.assertEqual((recorded.returncode, recorded.stdout), (5, "filter on\nfilter-before\n"))
        self.assert_one_line(recorded.stderr, "seccomp filter", "--plain-syscalls")
        records = self.dump()
        self.assert_nothing_lost(records)
        self.assertEqual(len(records.calls("cudaDeviceSynchronize")), 2000)

    def test_filter_after_the_first_call(self):
        recorded = self.check(PROGRAM, "filter-after", env={"SYNCTRACE_PLAIN_SYSCALLS": "1"})
        self.assertEqual((recorded.returncode, recorded.stdout), (5, "filter on\nfilter-after\n"))
        records = self.dump()
        self.assert_nothing_lost(records)
        self.assertEqual(len(records.calls("cudaDeviceSynchronize")), 4000)

    def test_filter_by_the_command(self):
        recorded = self.wrapped(PROGRAM, "filter-after", options=["--plain-syscalls"])
        self.assertEqual((recorded.returncode, recorded.stdout), (5, "filter on\nfilter-after\n"))
        self.assertEqual(self.files(), ["trace.synctrace"])

    def test_the_list_of_calls_is_complete(self):
        """Every thread, ours too, is ended with the process at a call that docs/what-a-program-sees.md does not list."""
        for env in ({}, {"SYNCTRACE_PLAIN_SYSCALLS": "1"}):
            with self.subTest(env=env):
                self.forget_traces()
                recorded = self.check(PROGRAM, "filter-list", env=env)
                self.assertEqual((recorded.returncode, recorded.stdout), (5, "filter on\nfilter-list\n"))
                records = self.dump()
                self.assert_nothing_lost(records)
                self.assertEqual(len(records.calls("cudaDeviceSynchronize")), 2000)

    def test_no_file_is_opened_later(self):
        """A program that forbids itself to open files once it runs, in all its threads."""
        recorded = self.check(PROGRAM, "filter-open", env={"SYNCTRACE_PLAIN_SYSCALLS": "1"})
        self.assertEqual((recorded.returncode, recorded.stdout), (5, "filter on\nfilter-open\n"))
        self.assert_nothing_lost(self.dump())

    def test_a_thread_in_strict_mode_lives(self):
        """It may read, write and end: whatever else is called on it, in a wait, a mark or a sample's handler, kills it."""
        for way in ("strict-prctl", "strict-syscall", "strict-fresh"):
            for env in ({"SYNCTRACE_SAMPLE_RATE": "1000"}, {"SYNCTRACE_PLAIN_SYSCALLS": "1"}):
                with self.subTest(way=way, env=env):
                    self.forget_traces()
                    recorded = self.check(PROGRAM, way, env=dict(env))
                    self.assertEqual((recorded.returncode, recorded.stdout), (5, f"lives\n{way}\n"))
                    fresh = way == "strict-fresh"
                    self.assertEqual(len(self.dump().calls("cudaDeviceSynchronize")), 4300 if fresh else 4301)

    def test_a_refused_strict_mode_changes_nothing(self):
        recorded = self.check(PROGRAM, "strict-refused")
        self.assertEqual(recorded.returncode, 5)
        self.assertEqual(len(self.dump().calls("cudaDeviceSynchronize")), 4000)

    def test_doctor_knows_a_filter(self):
        filtered = self.start(PROGRAM, "filter-wait", env=harness.SIMULATED_ENV, stdin=subprocess.PIPE)
        self.assertEqual(filtered.stdout.readline(), "filter on\n")
        said = self.run_cli("doctor", "--pid", filtered.pid).stdout
        for words in ("the recorder is not in it", "it has a seccomp filter of its own", "--plain-syscalls"):
            self.assertIn(words, said)
        free = self.start("sleep", "60")
        self.assertNotIn("filter of its own", self.run_cli("doctor", "--pid", free.pid).stdout)
        self.assertIn("there is no process", self.run_cli("doctor", "--pid", 2**22 + 1).stdout)
        self.assertEqual(self.run_cli("doctor", "--pid", 0).returncode, 2)

    def test_empty_environment(self):
        recorded = self.check(PROGRAM, "clear")
        self.assertEqual(recorded.returncode, 5)
        line = self.assert_one_line(recorded.stderr, "CUDA_INJECTION64_PATH", "nothing is recorded")
        self.assertTrue(line.startswith("synctrace: "))
        self.assertEqual(self.traces(), [])

    def test_stack_overflow(self):
        for way in ("overflow", "overflow-thread"):
            with self.subTest(way):
                self.forget_traces()
                recorded = self.check(PROGRAM, way, preexec_fn=without_core_dump)
                self.assertEqual(recorded.returncode, -signal.SIGSEGV)
                self.assertEqual(self.only_trace().suffix, ".partial")

    def test_other_allocators(self):
        found = [library for name in ("libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libtcmalloc.so.4")
                 for library in glob.glob(f"/usr/lib/*/{name}")]
        if not found:
            self.skipTest("neither jemalloc nor tcmalloc is installed")
        for library in found:
            for preload in (f"{library}:{harness.LIBRARY}", f"{harness.LIBRARY}:{library}"):
                with self.subTest(preload):
                    self.forget_traces()
                    self.check(harness.program("threads64"), 16, 50, env={"LD_PRELOAD": preload, "AS_WELL": library})
                    self.assert_nothing_lost(self.dump())


class Rights(SurvivalCase):
    def mode(self):
        return stat.S_IMODE(os.stat(self.trace).st_mode)

    def record_with(self, mask, *options):
        def set_umask():
            os.umask(mask)
        done = self.wrapped(harness.program("threads64"), 1, 1, options=options, preexec_fn=set_umask)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.mode()

    def test_umask_and_an_older_trace(self):
        self.assertEqual(self.record_with(0o077), 0o600)
        self.assertEqual(self.record_with(0o022, "-f"), 0o600)
        self.trace.unlink()
        self.assertEqual(self.record_with(0o002), 0o664)

    def test_links_pipes_and_folders(self):
        victim = self.folder / "victim"
        victim.write_text("precious")
        partial = self.folder / "trace.synctrace.partial"
        for make in (lambda: partial.symlink_to(victim), lambda: os.link(victim, partial), lambda: os.mkfifo(partial)):
            make()
            done = self.wrapped(harness.program("threads64"), 1, 1, options=["-f"])
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(victim.read_text(), "precious")
            partial.unlink(missing_ok=True)
        self.forget_traces()
        self.trace.mkdir()
        done = self.wrapped(harness.program("threads64"), 1, 1, options=["-f"])
        self.assertEqual(done.returncode, 2)
        self.assert_one_line(done.stderr, "trace.synctrace is a folder", "--output")
        done = self.preloaded(harness.program("threads64"), 1, 1, env={"SYNCTRACE_FORCE_OVERWRITE": "1"})
        self.assertEqual(done.returncode, 0)
        self.assert_one_line(done.stderr, "trace.synctrace is a folder")

    def test_arguments_stay_out(self):
        self.wrapped(harness.program("threads64"), 1, 1, "--token=hunter2")
        self.assertIn(b"hunter2", subprocess.run([harness.SYNCTRACE, "dump", self.trace], stdout=subprocess.PIPE, check=True).stdout)
        self.wrapped(harness.program("threads64"), 1, 1, "--token=hunter2", options=["-f", "--no-arguments", "--no-compress"])
        self.assertNotIn(b"hunter2", self.trace.read_bytes())
        self.assertIn("threads64", self.run_cli("report", self.trace).stdout)

    def test_the_environment_stays_out(self):
        self.wrapped(harness.program("threads64"), 1, 1, options=["--no-compress"], env={"API_KEY": "hunter2"})
        self.assertNotIn(b"hunter2", self.trace.read_bytes())


if __name__ == "__main__":
    harness.main()
