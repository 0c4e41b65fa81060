# SPDX-License-Identifier: Apache-2.0
"""The report names the line of Python that made a call. The program drives the CUDA runtime through ctypes."""
import os
import sys
import textwrap

import harness
import trace_records

PROGRAM = """\
import ctypes
import threading

runtime = ctypes.CDLL("libcudart.so.13")


def make_buffer(size):
    pointer = ctypes.c_void_p()
    assert runtime.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(size)) == 0
    return pointer


class Trainer:
    def __init__(self):
        self.buffer = make_buffer(1 << 20)

    def step(self):
        runtime.cudaMemcpy(self.buffer, b"x" * 4096, ctypes.c_size_t(4096), 1)  # the copy
        self.finish()  # the step

    def finish(self):
        runtime.cudaDeviceSynchronize()  # the wait


def helper(trainer):
    for _ in range(7):
        (lambda: trainer.finish())()


trainer = Trainer()
for _ in range(50):
    trainer.step()  # the loop
thread = threading.Thread(target=helper, args=(trainer,))
thread.start()
thread.join()
runtime.cudaDeviceSynchronize()  # the last wait
print("done")
"""


def line_of(comment):
    """Number of the program's line that ends in the comment."""
    return next(number for number, line in enumerate(PROGRAM.splitlines(), 1) if line.endswith("# " + comment))


class PythonStacks(harness.CliTest):
    def setUp(self):
        super().setUp()
        if not harness.SIMGPU:
            self.skipTest("the program needs libcudart.so.13 on the loader's path")
        self.script = self.folder / "train.py"
        self.script.write_text(textwrap.dedent(PROGRAM))

    def run_script(self, *options):
        done = self.record(sys.executable, self.script, options=options or ["--report=full"])
        self.assertEqual((done.returncode, done.stdout), (0, "done\n"), done.stderr)
        return done

    def places(self, api):
        """(line, function, count) of each site of a CUDA function that can wait."""
        return sorted((site["line"], site["function"], site["count"]) for site in self.report()["waits"] if site["api"] == api)

    def test_lines(self):
        self.run_script()
        qualified = sys.version_info >= (3, 11)
        finish = "Trainer.finish" if qualified else "finish"
        step = "Trainer.step" if qualified else "step"
        self.assertEqual(self.places("cudaDeviceSynchronize"), [(line_of("the wait"), finish, 57), (line_of("the last wait"), "<module>", 1)])
        self.assertEqual(self.places("cudaMemcpy"), [(line_of("the copy"), step, 50)])
        for site in self.report()["waits"]:
            self.assertEqual(os.path.basename(site["file"]), "train.py")

    def test_the_whole_stack_is_there(self):
        self.run_script()
        stacks = [[frame["line"] for frame in site["stack"] if frame["kind"] == "python"] for site in self.report()["waits"]
                  if site["line"] == line_of("the wait")]
        self.assertEqual(stacks, [[line_of("the wait"), line_of("the step"), line_of("the loop")]])

    def test_lines_that_reach_the_call_by_the_same_native_frames_have_them_all(self):
        waits = "\n".join(["    runtime.cudaDeviceSynchronize()"] * 3)
        self.script.write_text(
            'import ctypes, time\nruntime = ctypes.CDLL("libcudart.so.13")\nend = time.monotonic() + 0.3\n\n\ndef run():\n'
            "    while time.monotonic() < end:  # until the tables of these frames are there\n"
            f'        sum(range(10000))\n        runtime.cudaDeviceSynchronize()\n{waits}\n\n\nrun()\nprint("done")\n')
        self.run_script()
        stacks = {site["line"]: [(frame["kind"], frame["function"] if frame["kind"] == "native" else None) for frame in site["stack"]]
                  for site in self.report()["waits"]}
        self.assertEqual(sorted(stacks), [9, 10, 11, 12])
        self.assertGreater([kind for kind, _ in stacks[9]].count("native"), 2, stacks[9])
        self.assertEqual([stacks[10], stacks[11], stacks[12]], [stacks[9]] * 3)

    def test_the_text_names_the_line(self):
        done = self.run_script()
        self.assert_one_line(harness.table_of_waits(done.stderr), f"ST002 train.py:{line_of('the wait')} in ", "finish")

    def test_the_source_is_there_without_the_script(self):
        self.run_script("--report=none")
        lines = PROGRAM.splitlines()
        self.script.unlink()
        for site in self.report()["waits"]:
            self.assertEqual(site["source"], lines[site["line"] - 1].strip())
        text = self.run_cli("report", "--full", self.trace).stdout
        self.assert_one_line(harness.table_of_waits(text), f"ST010 train.py:{line_of('the copy')} in ", "runtime.cudaMemcpy(self.buffer")

    def test_a_script_that_was_edited_meanwhile_has_no_text(self):
        self.run_script("--report=none", "--no-symbols")
        self.script.write_text("# a new first line\n" + PROGRAM)
        report = self.report()
        self.assertEqual({site["source"] for site in report["waits"]}, {None})
        self.assertIn(("source-file-changed", 1), [(loss["name"], loss["count"]) for loss in report["losses"]])

    def test_the_recording_says_what_its_stacks_cost(self):
        self.run_script("--report=none")
        facts = trace_records.Records(self.run_cli("dump", self.trace).stdout).facts
        taken, total_ns, usual_ns = (int(facts["stacks." + name]) for name in ("taken", "total_ns", "usual_ns"))
        self.assertGreaterEqual(taken, 50 + 57 + 1)
        self.assertLessEqual(usual_ns, min(8000, total_ns))
        self.assertGreater(usual_ns, 0)

    def test_without_stacks(self):
        self.run_script("--stacks=none")
        self.assertEqual({site["line"] for site in self.report()["waits"]}, {None})

    def test_the_program_is_unharmed(self):
        recorded = self.run_script("--quiet", "--report=none")
        self.assert_unharmed(recorded, sys.executable, self.script, env={"LD_LIBRARY_PATH": harness.SIMGPU})


if __name__ == "__main__":
    harness.main()
