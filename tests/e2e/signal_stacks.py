# SPDX-License-Identifier: Apache-2.0
"""Samples of running threads need nothing of the program's stacks and signals (tests/programs/signal_stacks.cu).
SYNCTRACE_SIGNAL_STACK_ROUNDS: how often each way is recorded, once unless given."""
import collections
import os
import unittest

import harness
from survival_case import SurvivalCase
from trace_records import Records

PROGRAM = harness.program("signal_stacks")
ROUNDS = int(os.environ.get("SYNCTRACE_SIGNAL_STACK_ROUNDS", "1"))
# The kernel refuses smaller ones; a machine whose signal frames are large, more of them.
SIZES = (2048, 3000, 3800, 4096, 8192, 16384)


class SignalStacks(SurvivalCase):
    def check(self, *arguments):
        alone = self.alone(PROGRAM, *arguments)
        self.assertEqual(alone.returncode, 3, alone.stderr)
        for _ in range(ROUNDS):
            recorded = self.wrapped(PROGRAM, *arguments, options=["--sample-rate=1000", "-f"])
            self.assertEqual((recorded.returncode, recorded.stdout), (alone.returncode, alone.stdout), recorded.stderr)
        return recorded

    def records(self):
        done = self.run_cli("dump", self.trace)
        self.assertEqual(done.returncode, 0, done.stderr)
        return Records(done.stdout)

    def stacks_of_running(self):
        """How many looks at running threads had a stack, and how many had none."""
        looks = collections.Counter()
        for sample in self.records().of("sample"):
            if sample["state"] != 3:
                looks[bool(sample["stack"])] += sample["count"]
        return looks

    def test_alternate_stacks(self):
        for bytes_ in SIZES:
            with self.subTest(bytes=bytes_):
                self.check("small", bytes_)
        for way in ("unmapped", "freed"):
            with self.subTest(way):
                self.check(way)
        self.assertIn("sample-unasked", self.records().losses())

    def test_a_handler_on_its_own_stack(self):
        self.check("in-handler", 16384)

    def test_little_is_left(self):
        for bytes_ in range(1024, 8193, 1024):
            with self.subTest(bytes=bytes_):
                self.check("left", bytes_)
        self.assertGreater(self.stacks_of_running()[True], 10)  # it is sampled all the same

    def test_fibres(self):
        for bytes_ in (1024, 2048, 4096):
            with self.subTest(bytes=bytes_):
                self.check("fibre", bytes_)

    def test_signals_set_back(self):
        recorded = self.check("reset")
        self.assert_one_line(recorded.stderr, "SIGURG")
        report = self.run_cli("report", "--full", self.trace)
        self.assertIn("sample-unasked", report.stdout)

    def test_the_program_sees_its_own(self):
        self.check("view")


if __name__ == "__main__":
    harness.main()
