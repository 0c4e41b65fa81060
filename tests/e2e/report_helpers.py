# SPDX-License-Identifier: Apache-2.0
"""Waits and copies in small helpers are shown at the lines that call them, in every output. A baseline knows them by their own line,
whoever calls them."""
import json
import pathlib
import re

import harness
from report_phases import COPY, LAUNCH, MS, SYNC

STEPS = 60
SOURCE = pathlib.Path(__file__).resolve().parents[1] / "programs" / "wait_helpers.cu"
# Made by the version before callers were told apart: the helper's line, twice a step.
OLD_BASELINE = {
    "schema_version": 1,
    "findings": [{"rule": "ST020", "file": "utils.py", "function": "to_host", "line_text": "return x.detach().cpu()",
                  "line_text_hash": "384872b6e38dd093", "ordinal": 1, "count_per_step": 2}],
}


class Program:
    """train() at train.py:42 and 43 reads a value through to_host() at utils.py:7, behind a kernel each, and check() does once at the end."""

    def __init__(self):
        self.now = MS
        self.calls = 0
        lines = '"\\xe9\\x04\\xe9\\x02\\xe9\\x02"'
        code = "code id={} python_version=51119600 first_line={} file={} function={} line_table=" + lines
        self.lines = ["synctrace-text 1 start_realtime_ns=1700000000000000000 process_id=4711", "chunk", "schemas",
                      'fact key="working_folder" value="/job"', "context context=1 device=0 null_stream=7",
                      f'api_name api={LAUNCH} category=14 name="cudaLaunchKernel"', f'api_name api={COPY} category=6 name="cudaMemcpyAsync"',
                      f'api_name api={SYNC} category=1 name="cudaStreamSynchronize"', 'window time_ns=0 open=1 reason="start"',
                      code.format(1, 40, '"/job/train.py"', '"train"'), code.format(2, 5, '"/job/utils.py"', '"to_host"'),
                      code.format(3, 90, '"/job/train.py"', '"check"'),
                      'stack id=1 frames="p2:0 p1:0"', 'stack id=2 frames="p2:0 p1:4"', 'stack id=3 frames="p1:8"',
                      'stack id=4 frames="p2:0 p3:0"',
                      'source_line line=42 file="/job/train.py" text="loss = to_host(total)"',
                      'source_line line=43 file="/job/train.py" text="score = to_host(correct)"',
                      'source_line line=7 file="/job/utils.py" text="return x.detach().cpu()"',
                      'string id=1 text="forward"', 'string id=2 text="score"']
        for _ in range(STEPS):
            self.kernel(1, 400_000)
            self.read(1, 400_000)
            self.kernel(2, 200_000)
            self.read(2, 200_000)
            self.now += 100_000
        self.read(4, 0)
        self.lines.append(f'end time_ns={self.now} record_count=1 reason="exit"')

    def kernel(self, name, length_ns):
        self.calls += 1
        self.lines += [f"launch thread=4711 begin_ns={self.now} duration_ns=5000 api={LAUNCH} correlation={self.calls} stack=3",
                       f"kernel begin_ns={self.now + 10000} duration_ns={length_ns} context=1 stream=7 correlation={self.calls} name={name}"]
        self.now += 10_000

    def read(self, stack, wait_ns):
        self.calls += 1
        copy = "bytes=8 copy_kind=2 source_memory=3 target_memory=1"
        self.lines += [f"call thread=4711 begin_ns={self.now} duration_ns={wait_ns + 10000} api={COPY} correlation={self.calls} context=1 "
                       f"stream=7 {copy} stack={stack}",
                       f"copy begin_ns={self.now + wait_ns + 1000} duration_ns=2000 context=1 stream=7 correlation={self.calls} {copy}"]
        self.now += wait_ns + 12_000
        self.calls += 1
        self.lines.append(f"call thread=4711 begin_ns={self.now} duration_ns=2000 api={SYNC} correlation={self.calls} context=1 stream=7 "
                          f"stack={stack}")
        self.now += 5_000

    def text(self):
        return "\n".join(self.lines) + "\n"


class PythonHelper(harness.CliTest):
    def setUp(self):
        super().setUp()
        self.assemble_trace(Program().text())

    def saved_ns(self, question):
        done = self.run_cli("report", "--format", "json", "--what-if", question, self.trace)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["processes"][0]["savings"]["asked"]["saving"]["ns"]

    def test_each_caller_has_its_row(self):
        report = self.report()
        helper = {"file": "/job/utils.py", "line": 7, "function": "to_host", "source": "return x.detach().cpu()"}
        self.assertEqual([(row["file"], row["line"], row["function"], row["source"], row["count"]) for row in report["waits"]],
                         [("/job/train.py", 42, "train", "loss = to_host(total)", STEPS),
                          ("/job/train.py", 43, "train", "score = to_host(correct)", STEPS),
                          ("/job/train.py", 92, "check", None, 1)])
        self.assertEqual([row["through"] for row in report["waits"]], [helper] * 3)
        causes = {row["line"]: row["through"] for row in report["devices"][0]["causes"] if row["rule"] == "ST020"}
        self.assertEqual(causes.get(42), helper)
        change = report["savings"]["remedies"][0]
        self.assertEqual(change["title"], "Call to_host every 50 steps")
        self.assertEqual({fix["line"] for fix in change["fixes"]} - {92}, {42, 43})

    def test_every_text_names_the_caller_and_the_helper(self):
        words = "train.py:42 in train (through to_host, utils.py:7)"
        self.assertIn(words, self.run_cli("report", "--full", self.trace, env={"COLUMNS": "160"}).stdout)
        self.assertIn("loss = to_host(total) (through to_host, utils.py:7)", self.run_cli("report", self.trace, env={"COLUMNS": "120"}).stdout)
        for form in ("md", "html"):
            options = ["--format", "md"] if form == "md" else ["--html", "page.html"]
            text = self.run_cli("report", *options, self.trace).stdout
            if form == "html":
                text = (self.folder / "page.html").read_text(encoding="utf-8")
            self.assertIn("train.py:42 (through to_host, utils.py:7)", text, form)

    def test_a_question_may_name_the_caller_or_the_helper(self):
        first, both = self.saved_ns("fix@train.py:42"), self.saved_ns("fix@utils.py:7")
        self.assertGreater(both, 0)
        self.assertGreaterEqual(both, first)
        self.assertEqual(both, self.saved_ns("fix@train.py:42,fix@train.py:43,fix@train.py:92"))

    def test_a_baseline_made_before_still_matches(self):
        (self.folder / "known.json").write_text(json.dumps(OLD_BASELINE))
        (self.folder / ".git").mkdir()
        (self.folder / "synctrace.toml").write_text('[gate]\nbaseline = "known.json"\n')
        done = self.run_cli("gate", "--format", "json", self.trace)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        findings = json.loads(done.stdout)["findings"]
        self.assertEqual([(row["status"], row["file"], row["line"], row["count_per_step"]) for row in findings],
                         [("baseline", "utils.py", 7, 2)])
        self.assertEqual([(row["file"], row["line"]) for row in findings[0]["callers"]], [("train.py", 42), ("train.py", 43)])
        sarif = json.loads(self.run_cli("gate", "--all", "--format", "sarif", self.trace).stdout)
        result = sarif["runs"][0]["results"][0]
        places = [place["physicalLocation"] for place in result["locations"] + result["relatedLocations"]]
        self.assertEqual([(place["artifactLocation"]["uri"], place["region"]["startLine"]) for place in places],
                         [("utils.py", 7), ("train.py", 42), ("train.py", 43)])


class RecordedHelpers(harness.CliTest):
    """tests/programs/wait_helpers.cu: five reads through one function from three, and two copies through another."""

    def test_reads_and_copies_are_at_the_lines_that_call(self):
        done = self.record(harness.program("wait_helpers"))
        self.assertEqual(done.returncode, 0, done.stderr)
        source = SOURCE.read_text(encoding="utf-8").splitlines()
        sites = {number: line.split("// site: ")[1] for number, line in enumerate(source, 1) if "// site: " in line}
        rows = [row for row in self.report()["waits"] if row["through"]]
        found = {sites.get(row["line"]): (re.search(r"(\w+)\(\(anon", row["through"]["function"])[1], row["count"]) for row in rows}
        reads = ("advance", "advance again", "residual", "residual again", "energy")
        self.assertEqual(found, {**dict.fromkeys(reads, ("read_value", 60)), **dict.fromkeys(("first array", "second array"), ("send", 60))})
        # A copy and the wait behind it are one read, although the helper has a line for each.
        self.assertEqual(len(rows), len(found))
        self.assertEqual({len(row["calls"]) for row in rows if "array" not in sites[row["line"]]}, {2})


if __name__ == "__main__":
    harness.main()
