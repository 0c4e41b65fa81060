# SPDX-License-Identifier: Apache-2.0
"""Which kinds of CUPTI's records together kill programs with CUDA graphs, by a recorder that has nothing of synctrace (cupti_pairs.c).

  cupti_pairs.py --out OUT [--runs 2] [--jobs CORES] [--time-limit SECONDS] [--kinds A,B] [--triples] [--programs xla,jax] [--flush 100]
  cupti_pairs.py --out OUT --smallest        variants of the C++ program under the four that are known to kill JAX's graphs

GRAPH_TRACE is on in each row. Each cell is died/runs: by a signal, a status that is not 0, or a hang. Exit status: 0 when nothing died.
"""
import argparse
import collections
import csv
import itertools
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import graph_matrix
import survival_runs as survival

HERE = pathlib.Path(__file__).resolve().parent
LIMIT_S = 60
KINDS = {"kernel": "CONCURRENT_KERNEL", "memcpy": "MEMCPY", "memcpy2": "MEMCPY2", "memset": "MEMSET", "overhead": "OVERHEAD",
         "standing": "DEVICE,CONTEXT,STREAM", "runtime": "RUNTIME", "driver": "DRIVER"}
DEADLY = "CONCURRENT_KERNEL,MEMCPY,MEMCPY2,GRAPH_TRACE"
OURS = "CONCURRENT_KERNEL,MEMCPY,MEMSET,OVERHEAD,DEVICE,CONTEXT,STREAM,GRAPH_TRACE"  # what the recorder asks for
OTHER_CALLS = {
    "ours, flushed": {"FLUSH_MS": 100},
    "ours, flushed by force": {"FLUSH_MS": 100, "FORCED": 1},
    "ours, flushed each 10 ms": {"FLUSH_MS": 10},
    "ours, switched each 50 ms": {"SWITCH_MS": 50},
    "ours, switched each 50 ms, flushed": {"SWITCH_MS": 50, "FLUSH_MS": 100},
    "ours, all callbacks, flushed": {"CALLBACKS": 1, "FLUSH_MS": 100},
    "ours, callbacks on and off, flushed": {"CALLBACKS": 2, "SWITCH_MS": 50, "FLUSH_MS": 100},
    "ours, graphs late, flushed": {"LATE": 1, "SWITCH_MS": 500, "FLUSH_MS": 100},
}
PROGRAMS = ("xla", "xla capture", "jax")
SMALLEST = (
    "xla", "xla library=1", "xla library=2", "xla kernels=1", "xla kernels=5", "xla kernels=100", "xla copies=0", "xla plain=0", "xla graphs=1", "xla update=1",
    "xla capture=1", "xla pool=1", "xla pool=2", "xla host=1", "xla events=1", "xla priority=1", "xla read=1", "xla thread=1", "xla background=0",
    "xla background=0 warmup=0", "xla launch_us=0 launches=3000", "xla library=1 capture=1 pool=1 host=1 events=1 priority=1 update=1",
    "xla library=2 pool=2 events=1 priority=1 read=1 thread=1 update=1", "nodes", "captured", "child", "while", "updated", "cloned", "threads", "many", "jax")


def built(shared):
    include = next(folder for folder in (pathlib.Path("/usr/local/cuda/include"), pathlib.Path("/usr/local/cuda/extras/CUPTI/include"))
                   if (folder / "cupti.h").exists())
    subprocess.run(["gcc", "-shared", "-fPIC", f"-I{include}", "-I/usr/local/cuda/include", HERE / "cupti_pairs.c", "-o", shared / "cupti_pairs.so", "-ldl",
                    "-lpthread"], check=True)
    return shared / "cupti_pairs.so", graph_matrix.compiled(shared)


def cupti_library():
    """That of Python's packages, which fits their CUDA, or the toolkit's."""
    places = [pathlib.Path(folder) / "nvidia" for folder in sys.path if folder]
    found = [file for place in places for file in sorted(place.glob("*/lib/libcupti.so.13"))]
    found += [file for folder in ("lib64", "extras/CUPTI/lib64") if (file := pathlib.Path("/usr/local/cuda") / folder / "libcupti.so.13").exists()]
    return found[0] if found else "libcupti.so.13"


class Pairs:
    def __init__(self, options, shared):
        self.options, self.shared = options, shared
        self.recorder, self.program = built(shared)
        self.environment = {**survival.environment_of(shared), "PAIRS_CUPTI": str(options.cupti or cupti_library())}
        self.log = survival.Log(options.out / "cupti_pairs.log")

    def command(self, program):
        if program == "jax":
            return [sys.executable, HERE / "soak/jax_graphs.py", "read", 300]
        kind, *arguments = program.split()
        if arguments == ["capture"]:
            arguments = graph_matrix.KINDS[program]
        return [self.program, kind, *arguments]

    def work(self, job):
        number, row, program, settings = job
        injected = {"CUDA_INJECTION64_PATH": str(self.recorder), **{f"PAIRS_{name}": str(value) for name, value in settings.items()}} if settings else {}
        run = survival.execute(self.command(program), self.shared / f"runs/{number}", LIMIT_S, {**self.environment, **injected})
        died = run.hung or run.status != 0
        if died:
            stacks = survival.backtrace(self.command(program)[0], run.folder) if run.crashed else ""
            self.log.add(f"{row} | {program} | {settings}: {run.end}", run.output[-500:], run.errors[-2000:], stacks)
            survival.say(f"  {row} | {program}: {run.end}: {(run.errors.strip().splitlines() or [''])[-1][:150]}")
        shutil.rmtree(run.folder, ignore_errors=True)
        return died, run


def rows_of_pairs(options):
    """Row: what the recorder asks for. The bare program is a row too."""
    rows = {"bare": {}, "the deadly four": {"KINDS": DEADLY, "FLUSH_MS": 100}}
    rows |= {name: {"KINDS": OURS, **settings} for name, settings in OTHER_CALLS.items()}
    names = options.kinds.split(",")
    groups = [*itertools.combinations(names, 2), *(itertools.combinations(names[:5], 3) if options.triples else ())]
    for flush_ms in options.flush:
        for group in groups:
            rows[f"{' + '.join(group)}, {f'flush {flush_ms} ms' if flush_ms else 'no flush'}"] = {
                "KINDS": ",".join([*(KINDS[name] for name in group), "GRAPH_TRACE"]), "FLUSH_MS": flush_ms}
    return rows


def jobs_of(options):
    if options.smallest:
        planned = [(row, program, {} if row == "bare" else {"KINDS": DEADLY, "FLUSH_MS": 100}) for row in ("deadly", "bare") for program in SMALLEST
                   for _ in range(options.runs if row == "deadly" else 1)]
    else:
        planned = [(row, program, settings) for _ in range(options.runs) for row, settings in rows_of_pairs(options).items() for program in options.programs]
    return [(number, *job) for number, job in enumerate(planned)]


def table(options, results):
    died, runs = collections.Counter(), collections.Counter()
    rows, programs = {}, {}
    for (_, row, program, _), (bad, _) in sorted(results, key=lambda result: result[0][0]):
        rows[row] = programs[program] = None
        died[row, program] += bad
        runs[row, program] += 1

    def cell(row, program):
        return f"{died[row, program]}/{runs[row, program]}" if runs[row, program] else "-"

    if options.smallest:
        return survival.markdown(("program", *rows), [[program, *(cell(row, program) for row in rows)] for program in programs])
    return survival.markdown(("records beside GRAPH_TRACE", *programs), [[row, *(cell(row, program) for program in programs)] for row in rows])


def add_rows(options, results):
    """A row for each set of records of each program, and one of the smallest program in each of its forms."""
    rows, died = survival.measured_rows.Rows("cupti-graph-crash"), collections.defaultdict(list)
    for (_, row, program, _), (bad, _) in results:
        died[f"{program}, {row}"].append(bad)
    for what, ends in died.items():
        rows.add_of("smallest" if options.smallest else "pairs", f"{what}: died", sum(ends), len(ends))


def parsed():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--time-limit", type=float, default=3600)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--programs", type=lambda text: text.split(","), default=PROGRAMS)
    parser.add_argument("--flush", type=int, nargs="*", default=(100, 0))
    parser.add_argument("--cupti", type=pathlib.Path)
    parser.add_argument("--triples", action="store_true")
    parser.add_argument("--smallest", action="store_true")
    survival.measured_rows.add_option(parser)
    options = parser.parse_args()
    if unknown := [name for name in options.kinds.split(",") if name not in KINDS]:
        parser.error(f"--kinds {','.join(unknown)}: there are {', '.join(KINDS)}")
    options.out = options.out.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    return options


def main():
    options = parsed()
    deadline = time.monotonic() + options.time_limit
    if problem := survival.allow_cores():
        survival.say(problem)
    with tempfile.TemporaryDirectory(prefix="pairs.") as folder:
        pairs = Pairs(options, pathlib.Path(folder))
        survival.say(f"CUPTI: {pairs.environment['PAIRS_CUPTI']}")
        jobs = jobs_of(options)
        results = survival.run_jobs(jobs, pairs.work, options.jobs, deadline)
    with open(options.out / "cupti_pairs.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("run", "records", "program", "end", "seconds"))
        writer.writerows((number, row, program, run.end, f"{run.seconds:.1f}") for (number, row, program, _), (_, run) in results)
    survival.say(table(options, results))
    add_rows(options, results)
    survival.say(f"{len(results)} of {len(jobs)} runs in time")
    return 1 if any(died for _, (died, _) in results) else 0


if __name__ == "__main__":
    sys.exit(main())
