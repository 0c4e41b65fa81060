# SPDX-License-Identifier: Apache-2.0
"""What a user is told to type fits the framework, the library and the line, on traces written as text; and no stored recording is
answered with nonsense."""
import json
import pathlib
import re

import advice_evidence
import harness
from report_phases import COPY, LAUNCH, MS, SYNC

STEPS = 40
GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden"
TRAIN = "/job/train.py"
TRAINER = "/usr/lib/python3/site-packages/transformers/trainer.py"
MODULE = "/usr/lib/python3/site-packages/torch/nn/modules/module.py"
TRAINER_CALLS = [(TRAINER, "Trainer.train", 100, ""), (TRAIN, "main", 20, "trainer.train()")]
NAN_FILTER = [(TRAINER, "Trainer._inner_training_loop", 200, "torch.isnan(step_loss)"), *TRAINER_CALLS]
# Another read of the Trainer's, at the same line of the user's.
OTHER_READ = [(TRAINER, "Trainer._other", 300, "value.item()"), *TRAINER_CALLS]
FORWARD = [(TRAIN, "Net.forward", 5, "x = x * 2"), (MODULE, "Module._call_impl", 10, ""), (TRAIN, "main", 21, "y = net(x)")]
STEP = [(TRAIN, "step", 31, "y = y * 2 + 1"), (TRAIN, "main", 22, "step(y)")]
STEP_READS = [(TRAIN, "step", 32, "print(y.sum().item())"), (TRAIN, "main", 22, "step(y)")]
COLLECT = [(TRAIN, "main", 25, "gc.collect()")]


class Program:
    """Steps of parts: launches of small kernels, reads behind a kernel, and code of the host."""

    def __init__(self):
        self.now = MS
        self.calls = 0
        self.codes = {}
        self.stacks = {}
        self.lines = ["synctrace-text 1 start_realtime_ns=1700000000000000000 process_id=4711", "chunk", "schemas",
                      'fact key="working_folder" value="/job"', "context context=1 device=0 null_stream=7",
                      f'api_name api={LAUNCH} category=14 name="cudaLaunchKernel"', f'api_name api={COPY} category=6 name="cudaMemcpyAsync"',
                      f'api_name api={SYNC} category=1 name="cudaStreamSynchronize"', 'window time_ns=0 open=1 reason="start"',
                      'string id=1 text="kernel"', 'string id=2 text=""']

    def stack(self, frames):
        key = tuple(frames)
        if key in self.stacks:
            return self.stacks[key]
        words = []
        for file, function, line, text in frames:
            if (file, function, line) not in self.codes:
                self.codes[file, function, line] = len(self.codes) + 1
                number = self.codes[file, function, line]
                self.lines.append(f'code id={number} python_version=51119600 first_line={line - 2} file="{file}" function="{function}" '
                                  'line_table="\\xe9\\x04"')
                if text:
                    self.lines.append(f'source_line line={line} file="{file}" text="{text}"')
            words.append(f"p{self.codes[file, function, line]}:0")
        self.stacks[key] = len(self.stacks) + 1
        self.lines.append(f'stack id={self.stacks[key]} frames="{" ".join(words)}"')
        return self.stacks[key]

    def kernel(self, frames, length_ns, pause_ns=10_000):
        stack = self.stack(frames)
        self.calls += 1
        self.lines += [f"launch thread=4711 begin_ns={self.now} duration_ns=5000 api={LAUNCH} correlation={self.calls} stack={stack}",
                       f"kernel begin_ns={self.now + 6000} duration_ns={length_ns} context=1 stream=7 correlation={self.calls} name=1"]
        self.now += pause_ns

    def read(self, frames, wait_ns=400_000):
        stack = self.stack(frames)
        self.kernel(frames, wait_ns)
        self.calls += 1
        copy = "bytes=4 copy_kind=2 source_memory=3 target_memory=1"
        self.lines += [f"call thread=4711 begin_ns={self.now} duration_ns={wait_ns + 10000} api={COPY} correlation={self.calls} context=1 "
                       f"stream=7 {copy} stack={stack}",
                       f"copy begin_ns={self.now + wait_ns + 1000} duration_ns=2000 context=1 stream=7 correlation={self.calls} {copy}"]
        self.now += wait_ns + 12_000
        self.calls += 1
        self.lines.append(f"call thread=4711 begin_ns={self.now} duration_ns=2000 api={SYNC} correlation={self.calls} context=1 stream=7 "
                          f"stack={stack}")
        self.now += 5_000

    def host(self, frames, length_ns):
        stack = self.stack(frames)
        for _ in range(length_ns // 1_000_000):
            self.lines.append(f"sample thread=4711 begin_ns={self.now} duration_ns=0 state=1 count=1 channel=2 stack={stack}")
            self.now += 1_000_000

    def text(self):
        return "\n".join([*self.lines, f'end time_ns={self.now} record_count=1 reason="exit"']) + "\n"


class Advice(harness.CliTest):
    def remedies(self, *parts):
        """The changes for a program whose steps are these parts: (what, frames) each."""
        program = Program()
        for _ in range(STEPS):
            for what, frames in parts:
                if what == "launches":
                    for _ in range(40):
                        program.kernel(frames, 2_000, 20_000)
                elif what == "read":
                    program.read(frames)
                else:
                    program.host(frames, 3 * MS)
            program.now += 50_000
        self.assemble_trace(program.text())
        self.screen = self.run_cli("report", self.trace, env={"COLUMNS": "160"}).stdout
        return {change["title"]: change for change in self.report()["savings"]["remedies"]}

    def test_a_wait_inside_of_a_library_is_answered_by_its_own_switch(self):
        found = self.remedies(("read", NAN_FILTER), ("read", OTHER_READ))
        switch = [change for change in found.values() if "logging_nan_inf_filter=False" in change["to_type"][0]]
        self.assertEqual(len(switch), 1, found.keys())
        self.assertEqual([(fix["line"], fix["through"]["line"]) for fix in switch[0]["fixes"]], [(20, 200)])
        self.assertIn("trainer.train() (through Trainer._inner_training_loop, trainer.py:200)", self.screen)
        # What no row knows is not answered by that switch, although the user's line is the same.
        others = [change for change in found.values() if change is not switch[0]]
        self.assertEqual([fix["through"] for change in others for fix in change["fixes"]], [None])

    def test_what_becomes_a_graph_has_the_users_names(self):
        found = self.remedies(("launches", FORWARD), ("launches", STEP))
        typed = [line for change in found.values() for line in change["to_type"]]
        self.assertIn('fast_net = torch.compile(net, mode="reduce-overhead") before the loop', typed)
        self.assertIn('above def step: @torch.compile(mode="reduce-overhead")', typed)

    def test_no_graph_is_promised_where_the_host_reads_inside(self):
        found = self.remedies(("launches", STEP), ("launches", FORWARD), ("read", STEP_READS))
        typed = " ".join(line for change in found.values() for line in change["to_type"])
        self.assertNotIn("def step", typed)
        self.assertIn("No CUDA graph is promised for", self.screen)
        self.assertIn("the host waits inside, at train.py:32.", self.screen)

    def test_a_call_that_no_step_needs_is_deleted(self):
        found = self.remedies(("launches", STEP), ("host", COLLECT))
        change = found["Delete gc.collect()"]
        self.assertEqual((change["fix"], change["fixes"][0]["line"]), ("drop-call", 25))
        asked = self.run_cli("report", "--format=json", "--what-if", "drop-call@train.py:25", self.trace)
        self.assertEqual(asked.returncode, 0, asked.stderr)
        # All of it goes: 3 ms of steps that take little more.
        self.assertGreater(json.loads(asked.stdout)["processes"][0]["savings"]["asked"]["saving"]["ns"], STEPS * 2.5 * MS)


# What no user can type, or what is no advice: a function assigned to itself, a place to be filled, a name of the compiler's.
NONSENSE = [r"^(\w+) = torch\.compile\(\1\)$", r"=N\b", r"torch_dynamo_resume", r"<locals>|<module>|<lambda>", r"\bmain = |def main\b",
            r"keep value\.detach", r"^\s*$", r"\.\.\)"]


class StoredRecordings(harness.CliTest):
    def test_no_change_is_nonsense(self):
        traces = [path for path in sorted(GOLDEN.glob("*/*.synctrace")) if path.parent.name != "jobs"]
        self.assertGreater(len(traces), 40)
        shown = 0
        for trace in traces:
            done = self.run_cli("report", "--format", "json", trace)
            if done.returncode != 0:
                continue  # one of those that are damaged
            report = json.loads(done.stdout)["processes"][0]
            dump = self.run_cli("dump", trace).stdout
            for change in (report["savings"] or {}).get("remedies", []):
                shown += 1
                with self.subTest(trace=trace.name, change=change["title"]):
                    self.assertTrue(change["to_type"] or change["fix"] == "like-others")
                    for text in change["to_type"]:
                        for pattern in NONSENSE:
                            self.assertNotRegex(text, pattern)
                        self.assertEqual(advice_evidence.lacking(text, dump), [], text)
        self.assertGreater(shown, 150)

    def test_nothing_is_cut_within_a_place_or_a_title(self):
        traces = [path for path in sorted(GOLDEN.glob("*/*.synctrace")) if path.parent.name != "jobs"]
        for trace in traces:
            for columns in (80, 100, 120, 200):
                done = self.run_cli("report", trace, env={"COLUMNS": str(columns)})
                lines = done.stdout.splitlines()
                with self.subTest(trace=trace.name, columns=columns):
                    self.assertLessEqual(len(lines), 30)
                    for line in lines:
                        # Code may be cut, at its end: no other words have dots within them.
                        self.assertNotRegex(line, r"^ {6}(in )?\.\.|^ ?\d+  .*\w\.\.|^ +-> .*[a-z]\.\.(?!\.)")
                    changes = [line for line in lines if re.match(r"^ ?\d+  \S", line)]
                    for line in changes:
                        self.assertNotIn("..", line.split("[")[0])


if __name__ == "__main__":
    harness.main()
