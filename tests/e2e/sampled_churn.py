# SPDX-License-Identifier: Apache-2.0
"""Samples at 1 kHz of a program that makes and drops code objects, forks, raises and collects (churning_program.py): it
lives, and no frame has a wrong name. 10 seconds under python3; with SYNCTRACE_LONG=SECONDS that long under every CPython
on PATH or in SYNCTRACE_TEST_PYTHONS."""
import collections
import os
import pathlib
import re
import subprocess
import sys
import zlib

import harness
import trace_records

PROGRAM = pathlib.Path(__file__).with_name("churning_program.py")
LONG_S = float(os.environ.get("SYNCTRACE_LONG", "0"))
NAME = re.compile(r"f_(\d+)_([0-9a-f]{8})$")
# Comprehensions have code objects of their own up to 3.11.
INNER = re.compile(r"f_\d+_[0-9a-f]{8}\.<locals>\.<listcomp>$")


def is_named_right(code):
    """Whether it is a function that the program made: then its name tells where it is defined."""
    if code["function"] in ("<module>", "<listcomp>") or INNER.match(code["function"]):
        return True
    match = NAME.match(code["function"])
    return (match is not None and int(match.group(1)) == code["first_line"]
            and int(match.group(2), 16) == zlib.crc32(code["file"].encode()))


class SampledChurn(harness.CliTest):
    def setUp(self):
        super().setUp()
        if not harness.SIMGPU:
            self.skipTest("the program needs libcudart.so.13 on the loader's path")

    def check(self, interpreter, seconds):
        command = [harness.SYNCTRACE, "run", *harness.SIMULATED, "-o", "trace", "--force-overwrite", "--report=none",
                   "--sample-rate=1000", "--", interpreter, PROGRAM, seconds]
        done = subprocess.run([str(word) for word in command], cwd=self.folder, env=harness.environment(), text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds * 2 + harness.PATIENCE_S)
        self.assertEqual((done.returncode, done.stdout), (0, "done\n"), done.stderr[-2000:])
        records = self.read_dump()
        wrong = [code for code in records.codes.values() if code["file"].startswith("gen-") and not is_named_right(code)]
        self.assertEqual(wrong, [])
        made = sum(1 for code in records.codes.values() if code["file"].startswith("gen-"))
        misplaced = [names for names in records.stacks if not self.is_in_order(names)]
        self.assertEqual(misplaced, [])
        facts = {key: value for key, value in records.facts.items() if key.startswith("sampling.")}
        print(f"{interpreter}: {seconds:.0f} s, {records.samples[0]} samples {dict(records.states)}, {made} made functions, "
              f"{len(records.stacks)} stacks, {records.losses}, {facts}", flush=True)
        self.assertGreater(made, 20)

    def read_dump(self):
        """The dump line by line: half an hour of it is large."""
        result = collections.namedtuple("Dump", "codes stacks facts losses samples states")({}, [], {}, collections.Counter(),
                                                                                           [0], collections.Counter())
        dump = self.start(harness.SYNCTRACE, "dump", self.trace, stderr=None, errors="replace")
        for line in dump.stdout:
            kind = line.split(" ", 1)[0]
            if kind not in ("code", "stack", "sample", "loss", "fact"):
                continue
            record = trace_records.Records(line).of(kind)[0]
            if kind == "code":
                result.codes[record["id"]] = record
            elif kind == "stack":
                ids = [int(frame[1:].split(":")[0]) for frame in record["frames"].split() if frame.startswith("p")]
                result.stacks.append([result.codes[code]["function"] if code else "?" for code in ids])
            elif kind == "sample":
                result.samples[0] += record["count"]
                result.states[record["state"]] += record["count"]
            elif kind == "loss":
                result.losses[record["name"]] += record["count"]
            else:
                result.facts[record["key"]] = record["value"]
        self.assertEqual(dump.wait(), 0)
        return result

    @staticmethod
    def is_in_order(names):
        """A made function is called by itself, or by churn; "?" is one that could not be described."""
        return all(caller in (name, "churn", "?") for name, caller in zip(names, names[1:]) if NAME.match(name))

    def test_short(self):
        self.check(sys.executable, 10)

    def test_long(self):
        if LONG_S == 0:
            self.skipTest("SYNCTRACE_LONG is not set")
        for interpreter in os.environ.get("SYNCTRACE_TEST_PYTHONS", sys.executable).split(os.pathsep):
            if interpreter:
                with self.subTest(interpreter=interpreter):
                    self.check(interpreter, LONG_S)


if __name__ == "__main__":
    harness.main()
