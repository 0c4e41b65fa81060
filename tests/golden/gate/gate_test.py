# SPDX-License-Identifier: Apache-2.0
"""The gate, baselines and diff on stored traces, to the byte: expected/CASE. SYNCTRACE_BLESS=1 writes these files instead; read
the difference as a user would."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

SYNCTRACE = os.environ["SYNCTRACE_BIN"]
GOLDEN = pathlib.Path(os.environ["GOLDEN_FOLDER"])
EXPECTED = pathlib.Path(__file__).with_name("expected")
GENERATED_JOB = os.environ["GENERATED_JOB"]
FORMATS = ("text", "json", "sarif", "junit", "github", "gitlab", "md")

# Limits that do not hold, entries that are used, overdrawn, idle, out of date or without a reason.
CONFIG = """\
[gate]
fail-on = ["error", "warning"]
max-gpu-idle-pct = 1.5
max-pageable-bytes-per-step = 100
max-unexpected-syncs-per-step = 1
steps = "10:190"
unused-allow = "warning"

[gate.rules]
"scalar-*" = "note"
ST011 = "warning"

[[allow]]
rule = "ST001"
at = "torch_loop.py:46"
max-per-step = 1
reason = "the order is needed"

[[allow]]
rule = ["ST001", "ST020"]
at = "torch_loop.py:47"
every-n-steps = 50
reason = "printed every 50 steps"

[[allow]]
rule = "ST020"
at = "torch_loop.py:main"
max-total = 3
expires = 2020-02-29
reason = "until then"

[[allow]]
rule = "pageable-*"
func = "nobody"
reason = "nobody calls it"
owner = "@infra"
"""


# Without the GPU's timeline: of three functions, how many calls were long, and how many there were.
CALLS = {"cudaStreamSynchronize": (1, 1, 25), "cudaDeviceSynchronize": (2, 1, 4), "cudaEventSynchronize": (3, 1, 3)}


def trace_without_timeline():
    lines = ["synctrace-text 1 start_realtime_ns=1700000000000000000 process_id=99", "chunk", "schemas",
             'fact key="command_line" value="./train"', 'fact key="level" value="syncs"', 'device device=0 name="NVIDIA H200"',
             "context context=1 device=0 null_stream=7"]
    lines += [f'api_name api={category} category={category} name="{name}"' for name, (category, _, _) in CALLS.items()]
    number = 0
    for category, long, count in CALLS.values():
        for turn in range(count):
            number += 1
            lines.append(f"call thread=99 begin_ns={number}000000 duration_ns={900000 if turn < long else 2000} api={category} "
                         f"correlation={number} context=1 stream=13")
    return "\n".join([*lines, f'end time_ns={number + 1}000000 record_count=0 reason="exit"', ""])


class Gate(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / ".git").mkdir()  # the root of a repository
        for trace in ("torch/torch_loop", "h200/memory_kinds", "h200/polling", "frameworks/image_transfer.baseline",
                      "frameworks/image_transfer.workers", "frameworks/bottleneck_lab.data4", "frameworks/bottleneck_lab.eager"):
            shutil.copy(GOLDEN / f"{trace}.synctrace", self.folder)

    def run_it(self, *arguments, status):
        done = subprocess.run([SYNCTRACE, *arguments], cwd=self.folder, capture_output=True, text=True, encoding="utf-8", timeout=120,
                              check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout

    def check(self, name, text):
        text = text.replace(str(self.folder), "FOLDER")
        if os.environ.get("SYNCTRACE_BLESS"):
            (EXPECTED / name).write_text(text, encoding="utf-8")
        self.assertEqual(text, (EXPECTED / name).read_text(encoding="utf-8"))

    def check_formats(self, name, *arguments, status):
        options = [word for form in FORMATS for word in ("--write", f"{form}={name}.{form}")]
        self.run_it("gate", "--no-symbols", *options, *arguments, status=status)
        for form in FORMATS:
            self.check(f"{name}.{form}", (self.folder / f"{name}.{form}").read_text(encoding="utf-8"))

    def test_without_configuration(self):
        self.check_formats("plain", "--no-config", "torch_loop.synctrace", status=1)

    def test_configuration(self):
        (self.folder / "synctrace.toml").write_text(CONFIG, encoding="utf-8")
        self.check_formats("configured", "--all", "torch_loop.synctrace", "image_transfer.workers.synctrace", status=1)

    def test_idle_time_without_steps(self):
        (self.folder / "synctrace.toml").write_text("[gate]\nmax-gpu-idle-pct = 1\nmax-pageable-bytes-per-step = 1\n"
                                                    "max-unexpected-syncs-per-step = 1\n", encoding="utf-8")
        self.check("idle.text", self.run_it("gate", "--no-symbols", "memory_kinds.synctrace", status=1))

    def test_an_entry_that_is_exceeded_without_steps(self):
        (self.folder / "synctrace.toml").write_text('[[allow]]\nrule = "ST001"\nmax-per-step = 1\nreason = "the order is needed"\n', encoding="utf-8")
        self.check("exceeded.text", self.run_it("gate", "--no-symbols", "memory_kinds.synctrace", status=1))

    def test_several_traces(self):
        self.check_formats("several", "--no-config", "--all", "memory_kinds.synctrace", "polling.synctrace",
                           "image_transfer.workers.synctrace", status=1)

    def test_calls_judged_by_their_length(self):
        (self.folder / "by_length.trace.txt").write_text(trace_without_timeline(), encoding="utf-8")
        self.run_it("dump", "-f", "--assemble", "by_length.trace.txt", "-o", "by_length.synctrace", status=0)
        self.check_formats("by_length", "--no-config", "by_length.synctrace", status=1)

    def test_entries(self):
        self.check("entries.toml", self.run_it("gate", "--no-config", "--no-symbols", "--print-allow", "torch_loop.synctrace",
                                               "memory_kinds.synctrace", status=0))

    def test_baseline(self):
        self.run_it("baseline", "create", "--no-symbols", "--baseline", "known.json", "torch_loop.synctrace", status=0)
        known = (self.folder / "known.json").read_text(encoding="utf-8")
        self.check("baseline.json", known)
        self.check("baseline.known.text", self.run_it("gate", "--no-symbols", "--no-config", "--all", "--baseline", "known.json",
                                                      "torch_loop.synctrace", status=0))
        # Another function, a lower count, an entry less.
        lines = known.split("\n")
        edited = "\n".join([lines[0], lines[1].replace("main", "other"), *lines[2:]]).replace('"per_step":1', '"per_step":0')
        (self.folder / "edited.json").write_text(edited, encoding="utf-8")
        self.check("baseline.edited.text", self.run_it("gate", "--no-symbols", "--no-config", "--all", "--baseline", "edited.json",
                                                       "torch_loop.synctrace", status=1))

    def test_diff_of_guessed_steps(self):
        self.check("diff.guessed.text", self.run_it("diff", "--no-symbols", "bottleneck_lab.data4.synctrace", "bottleneck_lab.eager.synctrace",
                                                    status=0))

    def test_diff_without_steps(self):
        for form in ("text", "json"):
            self.check(f"diff.whole.{form}", self.run_it("diff", "--no-symbols", "--format", form, "memory_kinds.synctrace",
                                                         "polling.synctrace", status=1))

    def make_job(self, name, *fault):
        (self.folder / name).mkdir()
        subprocess.run([GENERATED_JOB, self.folder / name, "4", "12", "4", *fault], check=True, timeout=120)

    def test_job(self):
        self.make_job("job", "300000", "read")
        self.check_formats("job", "--no-config", "job", status=1)

    def test_job_with_a_rank_missing(self):
        self.make_job("job", "0")
        (self.folder / "job" / "rank-2.synctrace").unlink()
        self.run_it("baseline", "create", "--no-symbols", "--no-config", "--baseline", "known.json", "job/rank-0.synctrace", status=0)
        self.check("job.missing.text", self.run_it("gate", "--no-symbols", "--no-config", "--baseline", "known.json", "job", status=4))

    def test_diff_of_jobs(self):
        self.make_job("before", "0")
        self.make_job("after", "300000", "read")
        for form in ("text", "json"):
            self.check(f"diff.job.{form}", self.run_it("diff", "--no-symbols", "--format", form, "before", "after", status=1))
        self.check("diff.job.same.text", self.run_it("diff", "--no-symbols", "before", "before", status=0))

    def test_diff(self):
        for form in ("text", "json"):
            self.check(f"diff.{form}", self.run_it("diff", "--no-symbols", "--format", form, "image_transfer.baseline.synctrace",
                                                   "image_transfer.workers.synctrace", status=1))


if __name__ == "__main__":
    unittest.main()
