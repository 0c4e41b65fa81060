# SPDX-License-Identifier: Apache-2.0
"""Each of the C library's blocking calls is recorded with its kind, its thread, its length and its waker."""
import json

import harness
from survival_case import SurvivalCase

TIMED_OUT, INTERRUPTED = 1, 2
JOIN = 8
SHORTEST_NS = 50_000
SLACK_NS = 5_000  # between the program's clock and the CPU's counter


class HostWaits(SurvivalCase):
    def record_waits(self, *options, rounds=1):
        """The program's own word on its waits, and the records of the trace."""
        truth = self.folder / "truth.jsonl"
        recorded = self.wrapped(harness.program("host_waits"), truth, rounds, options=options)
        alone = self.alone(harness.program("host_waits"), self.folder / "alone.jsonl", rounds)
        self.assert_same(recorded, alone)
        return [json.loads(line) for line in truth.read_text(encoding="utf-8").splitlines()], self.dump()

    @staticmethod
    def matching(wait, records):
        """The records of that call that lie inside a wait of the program, which has its clock around the call."""
        return [record for record in records.of("host_wait")
                if record["thread"] == wait["thread"] and record["call"] == wait["call"]
                and wait["begin_ns"] - SLACK_NS <= record["begin_ns"]
                and record["begin_ns"] + record["duration_ns"] <= wait["end_ns"] + SLACK_NS]

    def test_every_call(self):
        waits, records = self.record_waits(rounds=3)
        names = {wait["name"] for wait in waits}
        self.assertGreaterEqual(len(names), 30)
        # A busy machine may hold the thread up on its way into a wait until it is over, but hardly three times.
        for name in names:
            with self.subTest(name):
                found = [self.check_wait(wait, records) for wait in waits if wait["name"] == name]
                self.assertIn(True, found, "not recorded in its whole length")
        self.assertEqual([name for name in records.losses() if not name.startswith("sample-")], [])

    def check_wait(self, wait, records):
        """Whether the wait was recorded; what is recorded of it must be right."""
        found = self.matching(wait, records)
        if not found:
            return False
        # One record is the wait; others are retries within it, which a busy machine may make long.
        longest = max(found, key=lambda record: record["duration_ns"])
        self.assertIn(longest["waker"], (wait["waker"], 0) if wait["call"] == JOIN else (wait["waker"],))
        if longest["wake_ns"] != 0:
            self.assertLessEqual(longest["begin_ns"], longest["wake_ns"])
            self.assertLessEqual(longest["wake_ns"], longest["begin_ns"] + longest["duration_ns"])
        limit = TIMED_OUT if wait["name"].endswith(("limit", "nanosleep", "usleep")) else 0
        self.assertEqual(longest["flags"], INTERRUPTED if wait["name"].endswith("interrupted") else limit)
        return longest["duration_ns"] > 0.9 * (wait["end_ns"] - wait["begin_ns"]) and longest["waker"] == wait["waker"]

    def test_only_long_waits_of_threads_that_use_cuda(self):
        waits, records = self.record_waits()
        self.assertEqual({record["thread"] for record in records.of("host_wait")}, {wait["thread"] for wait in waits})
        self.assertGreaterEqual(min(record["duration_ns"] for record in records.of("host_wait")), SHORTEST_NS)

    def test_the_fact(self):
        self.assertEqual(self.record_waits()[1].facts["host_waits"], "preload")

    def test_off(self):
        _, records = self.record_waits("--host-waits=off")
        self.assertEqual(records.of("host_wait"), [])
        self.assertEqual(records.facts["host_waits"], "off")

    def test_injected_without_preload(self):
        env = {"LD_PRELOAD": None, "CUDA_INJECTION64_PATH": harness.LIBRARY}
        done = self.preloaded(harness.program("host_waits"), env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
        records = self.dump()
        self.assertEqual(records.of("host_wait"), [])
        self.assertEqual(records.facts["host_waits"], "not-preloaded")

    def test_level_syncs_has_them_too(self):
        waits, records = self.record_waits("--level=syncs")
        self.assertGreaterEqual(len(records.of("host_wait")), 0.9 * len(waits))


if __name__ == "__main__":
    harness.main()
