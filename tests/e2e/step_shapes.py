# SPDX-License-Identifier: Apache-2.0
"""Steps and phases of programs that nobody annotated, against what each program counted itself.

  step_shapes.py [--repetitions N] [--only WORD] [--table FILE] [--keep FOLDER]

Ends with a table of all shapes. `--keep` leaves the traces there."""
import argparse
import json
import os
import pathlib
import shutil
import sys
import unittest

import harness

HERE = pathlib.Path(__file__).resolve().parent
SHAPES = HERE.parent / "programs" / "step_shapes"
sys.path.insert(0, str(HERE.parent / "support"))
import step_comparison  # noqa: E402

BUILT = pathlib.Path(harness.PROGRAMS) / "step_shapes"
PARTS = {"truth", "models", "trainer_kit"}
CPP = ("sync_each", "log_line", "solver", "two_streams", "graph_step", "two_phases", "wait_helper", "levels", "many_graphs")
# No line is asked for in C++, and where another thread issues all work. One that is named must be right all the
# same.
# The launches of decode_no_read all come from inside the model: no stack shows the loop around it.
# Steps of 20 launches are over before a look is due.
NO_LINES = {*CPP, "jax_thread", "decode_no_read", "short_steps"}
# Where the GPU has more to do than the host, which so runs ahead of it; everywhere else launches bind.
KERNEL_NS = {"mnist": 20000, "function_loop": 15000, "log_line": 10000, "graph_step": 10000}
# What an operator of PyTorch costs the host, not what a bare launch does; a step then takes a millisecond or so.
LAUNCH_NS = {"short_steps": None} | dict.fromkeys(CPP)
options = argparse.Namespace(repetitions=1, only="", table=None, keep=None)


def shapes():
    """Names and commands."""
    scripts = [script for script in sorted(SHAPES.glob("*.py")) if script.stem not in PARTS]
    python = {script.stem: [sys.executable, script] for script in scripts}
    return python | {name: [BUILT / "step_loops", name] for name in CPP}


class StepShapes(harness.CliTest):
    def told_and_found(self, shape, command, trace):
        env = {"PYTHONPATH": SHAPES / "site-packages", "PYTHONDONTWRITEBYTECODE": "1",
               "STEP_SHAPES_LIBRARIES": BUILT / "site-packages", "SIMGPU_KERNEL_NS": KERNEL_NS.get(shape),
               "SIMGPU_LAUNCH_NS": LAUNCH_NS.get(shape, 8000)}
        done = self.run_cli("run", *harness.SIMULATED, "--report=none", "--quiet", "-o", trace, "--", *command, env=env)
        self.assertEqual(done.returncode, 0, f"{shape}: {done.stderr}")
        told = json.loads(done.stdout.splitlines()[-1])
        return told, self.report(f"{trace}.synctrace")

    def row(self, shape, command):
        row = step_comparison.Row(shape)
        for repetition in range(options.repetitions):
            trace = self.folder / f"{shape}.{repetition}"
            told, entry = self.told_and_found(shape, command, trace)
            row.add(told, entry, lines_known=shape not in NO_LINES)
            kept = pathlib.Path(f"{trace}.synctrace")
            if options.keep:
                os.makedirs(options.keep, exist_ok=True)
                shutil.copy(kept, options.keep)
            kept.unlink()
        return row

    def test_steps_and_phases_are_those_of_the_program(self):
        chosen = {shape: command for shape, command in shapes().items() if options.only in shape}
        self.assertTrue(chosen)
        # One after the other: where others delay its launches, a loop shows to fewer looks.
        rows = [self.row(shape, command) for shape, command in chosen.items()]
        table = step_comparison.table(rows)
        print(table, flush=True)
        if options.table:
            pathlib.Path(options.table).write_text(table + "\n")
        self.assertEqual([row.shape for row in rows if not row.is_right()], [])


def told(*phases):
    return {"phases": [{"name": name, "steps": steps, "time_ns": time_ns, "optional": False, "micro_steps": micro_steps,
                        "places": [{"file": "/a/train.py", "first": line, "last": line + 4}]}
                       for name, steps, time_ns, micro_steps, line in phases]}


def entry(*phases, warm_up=0, micro_steps=1):
    """A report, the first phase the reported one."""
    rows = [{"name": "main", "file": "/b/train.py", "line": line, "steps": steps, "time_ns": time_ns,
             "reported": index == 0}
            for index, (steps, time_ns, line) in enumerate(phases)]
    count = rows[0]["steps"] - warm_up if rows else 0
    return {"steps": {"count": count, "warm_up_count": warm_up, "micro_steps": micro_steps}, "phases": rows[::-1]}


class Comparison(unittest.TestCase):
    """What the comparison must not let pass."""
    TWO = told(("train", 100, 900, 1, 10), ("test", 20, 100, 1, 30))

    def check(self, truth, report, *problems, **more):
        self.assertEqual(step_comparison.compare(truth, report, **more)[2], list(problems))

    def test_right_answers(self):
        self.check(self.TWO, entry((98, 850, 11), (22, 120, 30), warm_up=4))
        self.check(told(("train", 25, 900, 4, 10)), entry((25, 900, 14), micro_steps=4))
        self.check(self.TWO, entry((100, 900, 0), (20, 100, 0)), lines_known=False)

    def test_a_multiple_and_a_missing_phase(self):
        self.check(self.TWO, entry((10, 900, 11)), "train has 100 steps, not 10", "test is missing")
        self.check(self.TWO, entry(), "train is missing", "test is missing")

    def test_three_steps_off(self):
        self.check(self.TWO, entry((97, 900, 11), (20, 100, 31)), "train has 100 steps, not 97")

    def test_a_phase_that_is_short_need_not_be_there(self):
        self.check(told(("train", 100, 960, 1, 10), ("test", 20, 40, 1, 30)), entry((100, 900, 11)))
        self.check(told(("train", 100, 900, 1, 10), ("save", 2, 100, 1, 30)), entry((100, 900, 11)))

    def test_the_report_is_about_the_phase_with_the_most_time(self):
        self.check(self.TWO, entry((20, 100, 30), (100, 900, 10)), "the report is not about train")

    def test_what_is_no_phase(self):
        for line in (12, 50):  # a loop that has its phase already, and no loop
            report = entry((100, 900, 10), (20, 100, 30), (40, 300, line))
            self.check(self.TWO, report, f"40 at train.py:{line} is no phase")

    def test_micro_steps_and_lines(self):
        accumulated = told(("train", 25, 900, 4, 10))
        self.check(accumulated, entry((25, 900, 14)), "train has 4 micro-steps, not 1")
        self.check(accumulated, entry((25, 900, 0), micro_steps=4), "no line of train")

    def test_one_different_answer(self):
        row, truth = step_comparison.Row("shape"), told(("train", 100, 900, 1, 10))
        for line in (10, 11) * 9:
            row.add(truth, entry((100, 900, line)), lines_known=True)
        self.assertTrue(row.is_right())
        row.add(truth, entry((99, 900, 10)), lines_known=True)
        self.assertFalse(row.is_right())
        self.assertIn("2 different answers", step_comparison.table([row]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=options.repetitions)
    parser.add_argument("--only", default=options.only, help="shapes with this word in their name")
    parser.add_argument("--table")
    parser.add_argument("--keep")
    _, rest = parser.parse_known_args(namespace=options)
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)


if __name__ == "__main__":
    main()
