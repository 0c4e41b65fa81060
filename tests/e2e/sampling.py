# SPDX-License-Identifier: Apache-2.0
"""What the sampler says of the threads of a program, and that the program does not notice it."""
import collections
import os
import sys
import textwrap
import unittest

import harness
import trace_records

UNKNOWN, RUNNING, RUNNABLE, BLOCKED, COLLECTING = range(5)

# A loop that waits for its data: at first they are computed on the same thread, then by another one.
LOADER = """\
import ctypes
import threading
import time

runtime = ctypes.CDLL("libcudart.so.13")


def use(batch):
    pointer = ctypes.c_void_p()
    assert runtime.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(64)) == 0
    assert runtime.cudaFree(pointer) == 0
    assert runtime.cudaDeviceSynchronize() == 0


def compute(seconds):
    end = time.thread_time() + seconds  # of the processor's, however busy the machine is
    total = 0
    while time.thread_time() < end:  # computing
        total += 1
    return total


def computed_here():
    for _ in range(20):
        yield compute(0.05)


class Worker:
    def __init__(self):
        self.ready = threading.Semaphore(0)
        threading.Thread(target=self.work, daemon=True).start()

    def work(self):
        for _ in range(20):
            time.sleep(0.05)
            self.ready.release()

    def __iter__(self):
        for _ in range(20):
            self.ready.acquire()  # the worker is slow
            yield 0


def train(loader):
    for batch in loader:  # the loop
        use(batch)


use(None)
start = time.perf_counter()
train(computed_here())  # first
middle = time.perf_counter()
train(Worker())  # second
print("done")
"""

# Automatic collections take most of the first function's time, and none of the second's.
COLLECTOR = """\
import ctypes
import gc
import time

runtime = ctypes.CDLL("libcudart.so.13")
assert runtime.cudaDeviceSynchronize() == 0
kept = [[] for _ in range(300000)]


def collects(end):
    while time.thread_time() < end:
        kept.append([[] for _ in range(1000)])


def computes(end):
    while time.thread_time() < end:
        pass


gc.set_threshold(500, 1, 1)
collects(time.thread_time() + 1)
gc.disable()
computes(time.thread_time() + 1)
print("done")
"""

LINES = {line.split("# ")[1]: number for number, line in enumerate(LOADER.splitlines(), 1) if "# " in line}


class Samples:
    """The samples of a trace with their Python frames as (function, line) pairs, innermost first."""

    def __init__(self, text):
        self.records = trace_records.Records(text)
        self.codes = {code["id"]: code for code in self.records.of("code")}
        self.stacks = {stack["id"]: stack["frames"].split() for stack in self.records.of("stack")}

    def of(self, thread=None):
        return [sample for sample in self.records.of("sample") if thread in (None, sample["thread"])]

    def functions(self, sample):
        """Names of the Python functions on the sample's stack, innermost first."""
        frames = [frame for frame in self.stacks.get(sample["stack"], []) if frame.startswith("p")]
        codes = [int(frame[1:].split(":")[0]) for frame in frames]
        return [self.codes[code]["function"].rpartition(".")[2] for code in codes if code]


class Sampling(harness.CliTest):
    def setUp(self):
        super().setUp()
        if not harness.SIMGPU:
            self.skipTest("the programs need the simulated GPU")

    def samples(self):
        done = self.run_cli("dump", self.trace)
        self.assertEqual(done.returncode, 0, done.stderr)
        return Samples(done.stdout)

    def run_script(self, text, *options, interpreter=sys.executable):
        script = self.folder / "script.py"
        script.write_text(textwrap.dedent(text))
        done = self.record(interpreter, script, options=["--report=none", *options])
        self.assertEqual((done.returncode, done.stdout), (0, "done\n"), done.stderr)
        return done

    def test_a_starved_loop(self):
        self.run_script(LOADER, "--sample-rate=200")
        samples = self.samples()
        states = collections.Counter()
        for sample in samples.of():  # only the main thread trains
            functions = samples.functions(sample)
            if "train" not in functions:
                continue
            where = "computing" if "compute" in functions else "waiting" if "__iter__" in functions else "other"
            states[where, sample["state"]] += sample["count"]
        computing = sum(count for (where, _), count in states.items() if where == "computing")
        waiting = sum(count for (where, _), count in states.items() if where == "waiting")
        # A second or more each at 200 Hz; a busy machine gives "runnable" for "running".
        self.assertGreater(computing, 40, states)
        self.assertGreater(waiting, 40, states)
        self.assertLess(states["computing", BLOCKED], computing * 0.2, states)
        self.assertGreater(states["waiting", BLOCKED], waiting * 0.8, states)

    @unittest.skipUnless((3, 9) <= sys.version_info[:2] <= (3, 13), "where the collector's mark is, is known for 3.9 to 3.13")
    def test_a_collection(self):
        self.run_script(COLLECTOR, "--sample-rate=200")
        samples = self.samples()
        states = collections.Counter()
        for sample in samples.of():
            for name in {"collects", "computes"} & set(samples.functions(sample)):
                states[name, sample["state"]] += sample["count"]
        self.assertGreater(states["collects", COLLECTING], 0, states)
        self.assertEqual(states["computes", COLLECTING], 0, states)

    def test_none(self):
        for options in (["--sample-rate=0"], ["--level=syncs"], ["--delay=1h"]):
            with self.subTest(options=options):
                self.run_script(LOADER.replace("0.05", "0.005"), "--force-overwrite", *options)
                self.assertEqual(self.samples().of(), [])

    def test_calls_are_not_ended(self):
        command = [harness.program("blocked_in_calls"), 5]
        done = self.record(*command, options=["--report=none", "--sample-rate=1000"])
        self.assertEqual((done.returncode, done.stdout), (0, "interrupted 0 wrong 0\n"), done.stderr)
        samples = self.samples()
        facts = samples.records.facts
        print(done.stderr.strip(), {key: value for key, value in facts.items() if key.startswith("sampling.")},
              samples.records.losses(), flush=True)
        self.assertGreater(int(facts["sampling.signals"]), 500)
        self.assertNotIn("sample-eintr", samples.records.losses())

    def test_calls_would_be_ended_by_other_signals(self):
        done = self.run_program(harness.program("blocked_in_calls"), 3, "signals", env=harness.SIMULATED_ENV)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(int(done.stdout.split()[1]), 10, done.stderr)

    def test_without_any_privilege(self):
        if os.geteuid() != 0:
            self.skipTest("not run by root: the other tests say it")
        self.folder.chmod(0o777)
        drop = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs", "--bounding-set=-all"]
        probe = self.run_program(*drop, harness.SYNCTRACE, "--version")
        if probe.returncode != 0:
            self.skipTest("nobody cannot read the build: " + probe.stderr)
        done = self.run_program(*drop, harness.SYNCTRACE, "run", *harness.SIMULATED, "-o", "trace", "--report=none", "--",
                                harness.program("blocked_in_calls"), 2)
        self.assertEqual((done.returncode, done.stdout), (0, "interrupted 0 wrong 0\n"), done.stderr)
        states = {sample["state"] for sample in self.samples().of()}
        self.assertIn(BLOCKED, states)
        self.assertTrue(states & {RUNNING, RUNNABLE}, states)


if __name__ == "__main__":
    harness.main()
