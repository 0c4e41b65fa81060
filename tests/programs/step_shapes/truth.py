# SPDX-License-Identifier: Apache-2.0
"""What a program knows of its own phases: counted and timed while it runs, and told as JSON in its last line.

A loop says which phase it is with a comment on its first line, `# loop: train`; so may a function that does all of a
pass's work. Nothing here calls CUDA."""
import ast
import json
import re
import time

_phases = []
_open = []  # the innermost phase is last; time belongs to it
_mark_ns = 0


def _credit():
    global _mark_ns
    now_ns = time.perf_counter_ns()
    if _open:
        _open[-1].time_ns += now_ns - _mark_ns
    _mark_ns = now_ns


def _places(name, file):
    """The lines of each loop, or body of one, that says that it is this phase."""
    with open(file, encoding="utf-8") as source:
        text = source.read()
    marked = {number for number, line in enumerate(text.splitlines(), 1) if re.search(rf"# loop: {name}$", line)}
    loops = [node for node in ast.walk(ast.parse(text))
             if isinstance(node, (ast.For, ast.While, ast.FunctionDef)) and node.lineno in marked]
    assert len(loops) == len(marked) > 0, (name, file, marked)
    return [{"file": file, "first": loop.lineno, "last": loop.end_lineno} for loop in loops]


class Phase:
    """Steps that follow one another. `optional`: too few or too short to be asked for, but no mistake where found.
    `micro_steps`: passes of the loop in one step, where an optimizer runs once in several."""

    def __init__(self, name, file, optional=False, micro_steps=1):
        self.name, self.steps, self.time_ns = name, 0, 0
        self.optional, self.micro_steps = optional, micro_steps
        self.places = _places(name, file)
        _phases.append(self)

    def __enter__(self):
        _credit()
        _open.append(self)
        return self

    def __exit__(self, *unused):
        _credit()
        _open.pop()

    def step(self):
        self.steps += 1


def host_work(milliseconds):
    """What a program does on the host between two steps."""
    until_ns = time.perf_counter_ns() + int(1e6 * milliseconds)
    total = 0
    while time.perf_counter_ns() < until_ns:
        total += 1
    return total


def tell():
    print(json.dumps({"phases": [vars(phase) for phase in _phases]}), flush=True)
