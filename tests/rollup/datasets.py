# SPDX-License-Identifier: Apache-2.0
"""Datasets of the stored traces and of generated jobs, and their rows by the reader of this folder."""
import json
import os
import pathlib
import re
import subprocess

import parquet_file

SYNCTRACE = os.environ["SYNCTRACE_BIN"]
GENERATED_JOB = os.environ["GENERATED_JOB"]
GOLDEN = pathlib.Path(os.environ["GOLDEN_FOLDER"]).resolve()
TABLES = ("runs", "ranks", "sites", "site_window", "steps", "collectives")
PATIENCE_S = 120


def cli(*arguments):
    return subprocess.run([SYNCTRACE, *map(str, arguments)], capture_output=True, text=True, encoding="utf-8", errors="surrogateescape",
                          timeout=PATIENCE_S, check=False)


def ok(*arguments):
    done = cli(*arguments)
    assert done.returncode == 0, (arguments, done.stderr)
    return done


def stored_traces(folder):
    """The traces of tests/golden; what is stored as text is assembled in the folder."""
    for text in sorted(GOLDEN.rglob("*.trace.txt")):
        trace = folder / (text.name.split(".")[0] + ".synctrace")
        ok("dump", "-f", "--assemble", text, "-o", trace)
        yield trace
    # The binary traces of tests/golden/format are there as texts too.
    yield from (trace for trace in sorted(GOLDEN.rglob("*.synctrace")) if trace.parent.name != "format")


def rollup(dataset, *arguments):
    return ok("rollup", "--no-symbols", "-o", dataset, *arguments)


def files_of(dataset, table):
    return sorted((dataset / table).rglob("*"), key=str) if (dataset / table).exists() else []


def rows_of(dataset, table):
    """The rows of all files, without the columns that the folders' names are."""
    return [row for file in files_of(dataset, table) if file.suffix == ".parquet" for row in parquet_file.ParquetFile(file).rows]


def report(*traces):
    return json.loads(ok("report", "--no-symbols", "--format", "json", *traces).stdout)


def generated_job(folder, ranks, steps, kernels, *fault):
    folder.mkdir()
    subprocess.run([GENERATED_JOB, str(folder), str(ranks), str(steps), str(kernels), *map(str, fault)], check=True)
    return sorted(folder.glob("*.synctrace"))


def begun_later(trace, by_ns):
    """The same recording, had it begun later: another one."""
    text = ok("dump", trace).stdout
    moved = re.sub(r"\b((?:start_)?realtime_ns)=(\d+)", lambda found: f"{found[1]}={int(found[2]) + by_ns}", text)
    later = trace.with_name(f"later-{trace.stem}.trace.txt")
    later.write_text(moved, errors="surrogateescape")
    ok("dump", "-f", "--assemble", later, "-o", later.with_suffix("").with_suffix(".synctrace"))
    return later.with_suffix("").with_suffix(".synctrace")


def fleet(folder):
    """A dataset of many jobs and commits, one of which made a line worse: a rank of "four ranks" reads a value that it did not read."""
    dataset = folder / "dataset"
    stored = list(stored_traces(folder))
    rollup(dataset, "--commit", "old", *stored[:20])
    rollup(dataset, "--commit", "new", "--job", "a/b", *stored[20:])
    good = generated_job(folder / "good", 4, 30, 20, 0)
    rollup(dataset, "--job", "four ranks", "--commit", "good", *good)
    bad = [begun_later(trace, 3_600_000_000_000) for trace in generated_job(folder / "bad job", 4, 30, 20, 2_000_000, "read")]
    rollup(dataset, "--job", "four ranks", "--commit", "bad", *bad)
    return dataset
