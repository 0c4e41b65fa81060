# SPDX-License-Identifier: Apache-2.0
"""Windows one after the other on a program that changes all the time: it stays as it is, and so do its memory and its threads.
LIVE_CYCLES says how many (200); the last line has the figures."""
import os
import re
import time

import harness
from live_case import LiveCase

CYCLES = int(os.environ.get("LIVE_CYCLES", "200"))
WARM_UP = 40  # behind which every table has its size
# Buffers, tables and stacks of threads are used again: there come to be as many as were ever needed at one moment. That took 8 MiB
# in 10,000 windows, half of it in the first thousand.
MOST_GROWTH_KB = 12 << 10
READ_EACH = 40


class Cycles(LiveCase):
    def resident_kb(self, pid):
        with open(f"/proc/{pid}/status", encoding="ascii") as status:
            return int(re.search(r"VmRSS:\s*(\d+)", status.read())[1])

    def own_threads(self, pid):
        return [name for name in self.threads(pid) if name.startswith("synctrace")]

    def until_dormant(self, process, pid):
        self.until(lambda: self.state(pid) == "dormant" or process.poll() is not None, "the end of the window")
        if process.poll() is not None:
            self.fail(f"the program has ended: {self.finish(process)}")

    def cycle(self, process, pid, number):
        """One window, ended by a request or by itself."""
        duration = "" if number % 2 else "duration_ns 5000000\n"
        self.until_dormant(process, pid)
        answer = self.ask(pid, f"verb start\noutput {self.trace}\n{duration}")
        self.assertIn(answer.get("state"), ("recording", "stopping", "dormant"), answer)
        if number % 2:
            answer = self.ask(pid, "verb stop\n")
            self.assertEqual(answer.get("state"), "dormant", answer)
        self.until_dormant(process, pid)
        if number % READ_EACH == 0:
            self.assert_complete(self.trace)
        self.trace.unlink()

    def test_nothing_grows_and_nothing_is_harmed(self):
        process, pid = self.start_dormant("churn", self.folder / "end")
        for number in range(WARM_UP):
            self.cycle(process, pid, number)
        before_kb = self.resident_kb(pid)
        began = time.monotonic()
        for number in range(CYCLES):
            self.cycle(process, pid, number)
        each_ms = (time.monotonic() - began) / CYCLES * 1000
        self.until(lambda: self.own_threads(pid) == ["synctrace", "synctrace-ctl"], "two threads")
        after_kb = self.resident_kb(pid)
        self.assertEqual(self.ask(pid)["windows"], str(WARM_UP + CYCLES))
        (self.folder / "end").touch()
        done = self.finish(process)
        self.assertEqual((done.returncode, done.stdout, self.others_lines(done.stderr)), (0, "0 errors\n", []))
        print(f"{CYCLES} windows, {each_ms:.0f} ms each: {before_kb} KiB before, {after_kb} KiB after")
        self.assertLess(after_kb - before_kb, MOST_GROWTH_KB)


if __name__ == "__main__":
    harness.main()
