# SPDX-License-Identifier: Apache-2.0
"""What the survival and capture tests share: programs on the simulated GPU, alone and recorded in both ways, and the traces
they leave."""
import os
import resource

import harness
from trace_records import Records

LONG = os.environ.get("SYNCTRACE_LONG") == "1"


class SurvivalCase(harness.CliTest):
    def alone(self, *command, env=None, **options):
        return self.run_program(*command, env={**harness.SIMULATED_ENV, **(env or {})}, **options)

    def wrapped(self, *command, options=(), **more):
        """`synctrace run` that says nothing of its own unless there is trouble."""
        return self.record(*command, options=["--quiet", "--report=none", *options], **more)

    def preloaded(self, *command, env=None, **options):
        return self.preload(*command, env={"SYNCTRACE_QUIET": "1", **(env or {})}, **options)

    def traces(self):
        """Every trace in the test's folder, complete or cut short."""
        return sorted([*self.folder.glob("*.synctrace"), *self.folder.glob("*.synctrace.partial")])

    def only_trace(self):
        traces = self.traces()
        self.assertEqual(len(traces), 1, traces)
        return traces[0]

    def forget_traces(self):
        for trace in self.traces():
            trace.unlink()

    def dump(self, trace=None):
        done = self.run_cli("dump", trace or self.only_trace())
        self.assertEqual(done.returncode, 0, done.stderr)
        return Records(done.stdout)

    def assert_same(self, recorded, alone):
        """Output and status are the program's own; stderr too, but for lines of ours."""
        self.assertEqual(recorded.stdout, alone.stdout)
        self.assertEqual(recorded.returncode, alone.returncode, recorded.stderr)
        self.assertEqual(self.others_lines(recorded.stderr), self.others_lines(alone.stderr))

    @staticmethod
    def our_lines(stderr):
        return [line for line in stderr.splitlines() if line.startswith("synctrace: ")]

    @staticmethod
    def others_lines(stderr):
        return [line for line in stderr.splitlines() if not line.startswith("synctrace: ")]

    def assert_nothing_lost(self, records, report=None):
        self.assertEqual(records.lost_events(), {})
        if report is not None:
            self.assertEqual([loss for loss in report["losses"] if loss["severity"] != "note"], [])


def without_core_dump():
    """A preexec_fn: a program that crashes on purpose leaves no file behind."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def child_of(pid):
    """The process that `synctrace run` has started, once there is one."""
    while True:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
            found = children.read().split()
        if found:
            return int(found[0])
