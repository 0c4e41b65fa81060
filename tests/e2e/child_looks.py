# SPDX-License-Identifier: Apache-2.0
"""What looks say of the processes that a program forks as workers: which, whose, how busy, and that nobody notices."""
import collections
import os
import sys
import textwrap

import harness
import trace_records

UNKNOWN, RUNNING, SLEEPING, DISK, STOPPED, ENDED = range(6)

# Workers compute until each has used its CPU time, say so, and wait for work that never comes. The program goes on using
# the GPU until each has been idle for a second, so that a look sees all that they did. The last worker is the child of a
# server of its own.
PROGRAM = """\
import ctypes
import os
import sys
import time

runtime = ctypes.CDLL("libcudart.so.13")
PR_SET_NAME = 15


def use_gpu():
    pointer = ctypes.c_void_p()
    assert runtime.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(64)) == 0
    assert runtime.cudaFree(pointer) == 0
    assert runtime.cudaDeviceSynchronize() == 0


def worker(seconds, done, work):
    ctypes.CDLL(None).prctl(PR_SET_NAME, b"pt_data_worker", 0, 0, 0)
    while time.process_time() < seconds:
        sum(range(1000))
    os.write(done, b"%d %d\\n" % (os.getpid(), time.process_time_ns()))
    os.read(work, 1)
    os._exit(0)


def start(seconds, done, work, is_served=False):
    child = os.fork()
    if child != 0:
        return child
    if not is_served:
        worker(seconds, done, work)
    served = os.fork()
    if served == 0:
        worker(seconds, done, work)
    os.waitpid(served, 0)
    os._exit(0)


def main():
    use_gpu()
    done, tell_done = os.pipe()
    work, tell_work = os.pipe()
    children = [start(seconds, tell_done, work, seconds == 0.2) for seconds in (0.0, 0.3, 0.6, 0.2)]
    lines = b""
    while lines.count(b"\\n") < len(children):
        use_gpu()
        lines += os.read(done, 4096)
    end = time.monotonic() + 1.2
    while time.monotonic() < end:
        use_gpu()
        time.sleep(0.01)
    os.write(tell_work, b"." * len(children))
    assert all(os.waitpid(child, 0)[1] == 0 for child in children)
    sys.stderr.write(lines.decode())
    print("all workers ended")


main()
"""

FORKLESS = """\
import ctypes
import time

runtime = ctypes.CDLL("libcudart.so.13")
for _ in range(50):
    assert runtime.cudaDeviceSynchronize() == 0
    time.sleep(0.01)
"""


class ChildLooks(harness.CliTest):
    def script(self, text):
        path = self.folder / "program.py"
        path.write_text(textwrap.dedent(text))
        return path

    def records(self, *options, text=PROGRAM):
        """The program's stderr, and what was recorded of it."""
        done = self.record(sys.executable, self.script(text), options=("--report=none", "--quiet", *options),
                           env={"PYTHONDONTWRITEBYTECODE": "1"})
        self.assertEqual(done.returncode, 0, done.stderr)
        dump = self.run_cli("dump", self.trace)
        self.assertEqual(dump.returncode, 0, dump.stderr)
        return done, trace_records.Records(dump.stdout)

    def test_each_worker_has_the_time_that_it_used(self):
        done, records = self.records()
        self.assertEqual(done.stdout, "all workers ended\n")
        workers = {int(process): int(cpu_ns) for process, cpu_ns in map(str.split, done.stderr.splitlines())}
        self.assertEqual(len(workers), 4)
        looks = collections.defaultdict(list)
        for look in records.of("child_look"):
            looks[look["process"]].append(look)
        self.assertEqual(len(looks), 5, "four workers and the server of one")
        program = int(records.facts["pid"])
        server = next(process for process in looks if process not in workers)
        parents = {process: {look["parent"] for look in of_one} for process, of_one in looks.items()}
        self.assertEqual(sorted(map(sorted, parents.values())), sorted([[program]] * 4 + [[server]]))
        for process, used_ns in workers.items():
            of_one = sorted(looks[process], key=lambda look: look["time_ns"])
            self.assertEqual({look["started_ns"] for look in of_one}, {of_one[0]["started_ns"]})
            times = [look["cpu_ns"] for look in of_one]
            self.assertEqual(times, sorted(times))
            last = of_one[-1]
            self.assertEqual(records.strings[last["name"]], "pt_data_worker")
            # Behind what the worker says of itself come its message, its sleep, and perhaps its end.
            self.assertGreaterEqual(times[-1], used_ns)
            self.assertLess(times[-1], used_ns + 50_000_000)
            idle = [look for look in of_one if look["state"] == SLEEPING and look["cpu_ns"] >= used_ns]
            self.assertTrue(idle, "a look while it waited for work")
        self.assertGreaterEqual(int(records.facts["children.looks"]), 3)
        self.assertEqual(records.lost_events(), {})

    def test_the_program_does_not_notice(self):
        program = self.script(PROGRAM)
        recorded = self.record(sys.executable, program, options=("--report=none", "--quiet"))
        alone = self.run_program(sys.executable, program, env=harness.SIMULATED_ENV)
        self.assertEqual((recorded.stdout, recorded.returncode), (alone.stdout, alone.returncode), recorded.stderr)

    def test_a_program_without_children_was_looked_at_too(self):
        _, records = self.records(text=FORKLESS)
        self.assertEqual(records.of("child_look"), [])
        looks = int(records.facts["children.looks"])
        self.assertGreaterEqual(looks, 1)
        self.assertLess(int(records.facts["children.look_ns"]), looks * 1_000_000)

    def test_no_looks_without_descriptors_of_our_own_and_none_without_a_window(self):
        for options in (["--plain-syscalls"], ["--level", "syncs"]):
            with self.subTest(options):
                _, records = self.records(*options, "--force-overwrite", text=FORKLESS)
                self.assertEqual(records.of("child_look"), [])
                self.assertNotIn("children.looks", records.facts)

    def test_the_number_of_processors_is_recorded(self):
        _, records = self.records(text=FORKLESS)
        self.assertEqual(int(records.facts["processors"]), len(os.sched_getaffinity(0)))


if __name__ == "__main__":
    harness.main()
