# SPDX-License-Identifier: Apache-2.0
"""What the tests of exports share: the stored traces, and the work of an export, of a dump and of a report."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import chrome_json
import hta_rule
import trace_records

SYNCTRACE = os.environ["SYNCTRACE_BIN"]
GOLDEN = pathlib.Path(os.environ["GOLDEN_FOLDER"])
PATIENCE_S = 120

WORK_RECORDS = {"kernel": "kernel", "copy": "gpu_memcpy", "memset": "gpu_memset", "graph": "kernel"}


def work_of_export(document):
    """GPU work as hta_rule.Work, times on the trace's own clock."""
    base = document["baseTimeMonotonicNanoseconds"]
    issued = {one.args["correlation"]: one.begin for one in chrome_json.slices(document, chrome_json.CALL_CATEGORIES)
              if "correlation" in one.args}
    return [hta_rule.Work(one.args["device"], one.args["stream"], one.begin + base, one.end + base,
                          issued[one.args["correlation"]] + base if one.args.get("correlation") in issued else None)
            for one in chrome_json.slices(document, chrome_json.GPU_CATEGORIES)]


def work_of_dump(records):
    """The same, from the records of the trace alone."""
    issued = {}
    for kind in ("call", "launch"):
        for record in records.of(kind):
            if record.get("correlation"):
                issued.setdefault(record["correlation"], record["begin_ns"])
    return [hta_rule.Work(one.get("device", 0), one["stream"], one["begin_ns"], one["begin_ns"] + one["duration_ns"],
                          issued.get(one.get("correlation")))
            for kind in WORK_RECORDS for one in records.of(kind)]


class ExportCase(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="synctrace-export-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def cli(self, *arguments):
        return subprocess.run([SYNCTRACE, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True,
                              encoding="utf-8", errors="surrogateescape", timeout=PATIENCE_S, check=False)

    def ok(self, *arguments):
        done = self.cli(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def assemble(self, text, name="case"):
        """A trace of a text, in the test's folder."""
        source = self.folder / f"{name}.trace.txt"
        source.write_text(text, encoding="utf-8", errors="surrogateescape")
        trace = self.folder / f"{name}.synctrace"
        self.ok("dump", "-f", "--assemble", source, "-o", trace)
        return trace

    def stored_traces(self):
        """Path of each trace of the golden folders; those stored as texts are assembled."""
        texts = sorted((GOLDEN / "report").glob("*.trace.txt")) + sorted((GOLDEN / "format").glob("*.trace.txt"))
        for text in texts:
            yield self.assemble(text.read_text(encoding="utf-8", errors="surrogateescape"), text.name.split(".")[0])
        yield from sorted((GOLDEN / "h200").glob("*.synctrace")) + sorted((GOLDEN / "torch").glob("*.synctrace"))

    def export(self, *traces, options=()):
        result = self.folder / "export.json"
        self.ok("export", *traces, "-o", result, "--force-overwrite", *options)
        return chrome_json.load(result)

    def report(self, trace):
        return json.loads(self.ok("report", "--no-symbols", "--format", "json", trace))["processes"][0]

    def records(self, trace):
        return trace_records.Records(self.ok("dump", trace))


# A name that breaks whatever does not expect it, as a trace in text form has it and as a valid text.
HOSTILE_NAME = r'a\"b\\c\x01\x1f\x7f\n\t\xff\xfe</script>\xf0\x9f\x98\x80\xe2\x80\xae'
HOSTILE_TEXT = 'a"b\\c\x01\x1f\x7f\n\t\ufffd\ufffd</script>\U0001f600\\u202e'


def hostile_names_trace(case):
    """A call, its kernel and a range around them, each with that name; and so the thread and the program."""
    return case.assemble(f"""synctrace-text 1 start_realtime_ns=1700000000000000000 process_id=4711
chunk
schemas
clock monotonic_ns=1000 realtime_ns=1700000000000001000
context context=1 device=0 null_stream=7
device device=0 name="{HOSTILE_NAME}"
window time_ns=1000 open=1 reason="start"
string id=1 text="{HOSTILE_NAME}"
fact key="program" value="{HOSTILE_NAME}"
thread thread=4711 name="{HOSTILE_NAME}"
api_name api=33554643 category=14 name="{HOSTILE_NAME}"
api_name api=33554563 category=1 name="{HOSTILE_NAME}"
code id=1 python_version=50921712 first_line=7 file="{HOSTILE_NAME}" function="{HOSTILE_NAME}"
stack id=1 frames="p1:-1"
launch thread=4711 begin_ns=1500 duration_ns=10 api=33554643 correlation=5 stack=1
kernel begin_ns=2000 duration_ns=100000 context=1 stream=7 name=1 correlation=5
call thread=4711 begin_ns=2500 duration_ns=101000 api=33554563 context=1 stream=7 stack=1
launch thread=4711 begin_ns=204000 duration_ns=10 api=33554643 correlation=6 stack=1
kernel begin_ns=205000 duration_ns=5000 context=1 stream=7 name=1 correlation=6
nvtx_push thread=4711 time_ns=1400 text=1
nvtx_pop thread=4711 time_ns=400000
end time_ns=500000 reason="exit"
""", "hostile")
