# SPDX-License-Identifier: Apache-2.0
"""Waits of Python programs are recorded at their line, for the thread that uses CUDA and for those that only run Python,
under every CPython there is (those of python_frames.py)."""
import json

import harness
from survival_case import SurvivalCase
from trace_stacks import Stacks

PROGRAM = '''
import ctypes, json, os, queue, select, sys, threading, time

runtime = ctypes.CDLL("libcudart.so.13")
runtime.cudaFree(None)
assert runtime.cudaDeviceSynchronize() == 0
truth = []
time.sleep(1.2)  # the recorder looks for an interpreter now and then


def timed(name, waker, call):
    begin = time.perf_counter_ns()
    call()
    truth.append({"name": name, "waker": waker, "begin_ns": begin, "end_ns": time.perf_counter_ns(),
                  "thread": threading.get_native_id()})


def later(call, *arguments):
    """Another thread does it after a while."""
    thread = threading.Thread(target=lambda: (time.sleep(0.03), call(*arguments)))
    thread.start()
    return thread


def main_waits():
    box = queue.Queue()
    event = threading.Event()
    lock = threading.Lock()
    lock.acquire()
    ends = os.pipe()
    helpers = [later(box.put, 1)]
    timed("queue.get", 0, lambda: box.get())  # queue.get
    helpers.append(later(event.set))
    timed("Event.wait", 0, lambda: event.wait())  # Event.wait
    timed("Event.wait limit", 0, lambda: threading.Event().wait(0.02))  # Event.wait limit
    helpers.append(later(lock.release))
    timed("Lock.acquire", 0, lambda: lock.acquire())  # Lock.acquire
    helpers.append(later(os.write, ends[1], b"x"))
    timed("os.read", 0, lambda: os.read(ends[0], 1))  # os.read
    helpers.append(later(os.write, ends[1], b"x"))
    timed("select", 0, lambda: select.select([ends[0]], [], []))  # select
    timed("sleep", 0, lambda: time.sleep(0.02))  # sleep
    thread = threading.Thread(target=time.sleep, args=(0.03,))
    thread.start()
    timed("join", 0, lambda: thread.join())  # join
    for helper in helpers:
        helper.join()


def only_python():
    """A thread without CUDA, as a loader's pin-memory thread."""
    box = queue.Queue()
    later(box.put, 1)
    timed("worker queue.get", 0, lambda: box.get())  # worker queue.get


def keep_busy(stop):
    while not stop.is_set():
        sum(range(200))


def wait_for_the_interpreter():
    sys.setswitchinterval(0.03)
    stop = threading.Event()
    busy = threading.Thread(target=keep_busy, args=(stop,))
    busy.start()
    for _ in range(10):
        timed("GIL", busy.native_id, lambda: time.sleep(0.005))  # GIL
    stop.set()
    busy.join()


main_waits()
worker = threading.Thread(target=only_python)
worker.start()
worker.join()
wait_for_the_interpreter()
assert runtime.cudaDeviceSynchronize() == 0
with open(sys.argv[1], "w") as file:
    json.dump(truth, file)
print("done")
'''

CONDITION = 1


class HostWaitsPython(SurvivalCase):
    @staticmethod
    def line_of(name):
        return next(number for number, line in enumerate(PROGRAM.splitlines(), 1) if line.endswith("# " + name))

    def check(self, interpreter):
        script = self.folder / "waits.py"
        script.write_text(PROGRAM, encoding="utf-8")
        truth = self.folder / "truth.json"
        self.forget_traces()
        recorded = self.wrapped(interpreter, script, truth)
        self.assertEqual((recorded.returncode, recorded.stdout), (0, "done\n"), recorded.stderr)
        records = self.dump()
        stacks = Stacks(records)
        wakers = set()  # who ended waits for the interpreter
        for wait in json.loads(truth.read_text(encoding="utf-8")):
            with self.subTest(wait["name"]):
                for record in self.check_wait(wait, records, stacks, script):
                    if wait["name"] == "GIL" and record["call"] == CONDITION:
                        wakers.add("none" if record["waker"] == 0 else "keeper" if record["waker"] == wait["waker"] else "other")
        self.assertTrue(wakers, "no wait for the interpreter")
        # A thread waits for its switch interval, and then asks: what follows may be too short to be recorded.
        self.assertLessEqual(wakers, {"none", "keeper"})
        self.assertNotIn("ring-full", records.losses())

    def check_wait(self, wait, records, stacks, script):
        inside = [record for record in records.of("host_wait")
                  if record["thread"] == wait["thread"] and wait["begin_ns"] - 5000 <= record["begin_ns"]
                  and record["begin_ns"] + record["duration_ns"] <= wait["end_ns"] + 5000]
        self.assertTrue(inside, "not recorded")
        for record in inside:
            self.assertEqual(stacks.line_in(record["stack"], script), self.line_of(wait["name"]))
        # All that the program timed, less Python's own work. What it was woken for it may have waited for the interpreter.
        waited = sum(record["duration_ns"] for record in inside)
        self.assertGreater(waited, 0.7 * (wait["end_ns"] - wait["begin_ns"]))
        return inside

    def test_every_interpreter(self):
        for interpreter in self.interpreters():
            with self.subTest(version=interpreter.version):
                print("{}.{}".format(*interpreter.version), flush=True)
                self.check(interpreter.executable)

    @staticmethod
    def interpreters():
        from python_frames import find_interpreters  # only a build with the Python probe can import it
        return [interpreter for interpreter in find_interpreters() if interpreter.is_supported]


if __name__ == "__main__":
    harness.main()
