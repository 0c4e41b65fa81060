# SPDX-License-Identifier: Apache-2.0
"""What is printed about the stored jobs, to the byte; of the JSON its part about the job, and of the page the names of what its
timelines show. With SYNCTRACE_BLESS=1 the files are written."""
import base64
import gzip
import json
import os
import pathlib
import re
import shlex
import subprocess
import tempfile
import unittest

COMMAND = shlex.split(os.environ["SYNCTRACE_BIN"])
FOLDER = pathlib.Path(__file__).resolve().parent
OUTPUTS = {"screen.txt": [], "report.md": ["--format", "md"], "digest.txt": ["--format", "agent"], "job.json": ["--format", "json"],
           "timelines.txt": []}
LONG, OF_JOBS = ("job.json", "timelines.txt"), ("ddp_host", "sharded_host")  # for two jobs alone


def names_in_timelines(job):
    """A line for each kind of slice: the lanes of all ranks, then what stands in them."""
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder, "page.html")
        subprocess.run([*COMMAND, "report", "--no-symbols", "--html", page, job], cwd=FOLDER, timeout=600, check=True)
        packed = re.findall(r'<script type="application/gzip" id="timeline-\d+">(.*?)</script>', page.read_text(encoding="utf-8"), re.DOTALL)
    lines = []
    for number, text in enumerate(packed):
        data = gzip.decompress(base64.b64decode(text))
        payload = json.loads(data[4:4 + int.from_bytes(data[:4], "little")])
        lines += [f"{number} lane {lane['kind']}: {lane['label']}" for lane in payload["lanes"]]
        lines += sorted({f"{number} {' | '.join(map(str, name))}" for name in payload["names"] if name[0] not in ("idle", "copying")})
    return "".join(line + "\n" for line in lines)


def report(job, output, options):
    if output == "timelines.txt":
        return names_in_timelines(job)
    done = subprocess.run([*COMMAND, "report", "--no-symbols", *options, job], cwd=FOLDER, capture_output=True, text=True, timeout=600, check=True)
    if output != "job.json":
        return done.stdout
    told = json.loads(done.stdout)
    return json.dumps({"job": told["job"], "ranks": told["ranks"]}, indent=1, ensure_ascii=False) + "\n"


class Jobs(unittest.TestCase):
    maxDiff = None

    def test_every_output_is_the_stored_one(self):
        jobs = sorted(path.name for path in FOLDER.iterdir() if path.is_dir() and path.name != "__pycache__")
        self.assertGreaterEqual(len(jobs), 5)
        for job in jobs:
            for output, options in OUTPUTS.items():
                if output in LONG and job not in OF_JOBS:
                    continue
                with self.subTest(job=job, output=output):
                    said, stored = report(job, output, options), FOLDER / f"{job}.{output}"
                    if os.environ.get("SYNCTRACE_BLESS"):
                        stored.write_text(said, encoding="utf-8")
                    self.assertEqual(said, stored.read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()
