# SPDX-License-Identifier: Apache-2.0
"""Kinds of CUDA graphs x windows x levels and options of `synctrace run`: no run may die, and what the trace counts is what ran.

  graph_matrix.py --build BUILD --out OUT [--runs 600] [--jobs CORES] [--time-limit SECONDS] [--kinds xla,nodes] [--bare]

The program is graph_matrix.cu, built here by nvcc unless --program names it. Each kind runs once bare first. Runs without a window are
counted: graphs (or with --graph-nodes their kernels, copies and memsets), kernels, copies and memsets beside them. Exit status: 0 when all
holds.
"""
import argparse
import collections
import csv
import itertools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import survival_runs as survival

HERE = pathlib.Path(__file__).resolve().parent
LIMIT_S = 60
KINDS = {"captured": [], "nodes": [], "child": [], "if": [], "while": [], "updated": [], "cloned": [], "device": [], "threads": [], "many": [],
         "xla": [], "xla library": ["library=1", "update=1"], "xla capture": ["capture=1", "pool=1", "host=1", "events=1", "priority=1"], "peer": []}
WINDOWS = ([], ["--delay", "1s"], ["--duration", "500ms"], ["--duty", "500ms/1s"], ["--capture-range", "cudaProfilerApi"])
OPTIONS = ([], ["--graph-nodes"], ["--stacks", "none"], ["--stacks", "native"], ["--sample-rate", "1000"], ["--host-waits", "off"],
           ["--buffer-size", "4M"])
LONGER = ["launch_us=5000"]  # so that windows begin and end while graphs run
OPEN_KINDS = ("device",)  # CUPTI does not tell of a graph that the device launched
COLUMNS = ("kind", "runs", "died", "hangs", "other end", "not recorded", "wrong counts")


def compiled(folder):
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    subprocess.run([nvcc, "-O1", "-std=c++17", "-arch=sm_90", "-cudart", "shared", "-rdc=true", HERE / "graph_matrix.cu", "-o", folder / "graph_matrix",
                    "-lcudadevrt", "-ldl"], check=True)
    return folder / "graph_matrix"


def matrix(kinds):
    """(kind, options of run), all kinds of a row before the next row, so that a run that is cut off has tried each."""
    ways = [[*window, *options] for window, options in itertools.product(WINDOWS, OPTIONS)]
    ways += [[*window, "--only-windows"] for window in WINDOWS if window]
    ways += [["--level", "syncs"], ["--level", "syncs", "--stacks", "none"], ["--level", "syncs", "--sample-rate", "1000"], [], ["--graph-nodes"]]
    return [(kind, way) for way in ways for kind in kinds]


def has_window(way):
    return any(word in way for word in ("--delay", "--duration", "--duty", "--capture-range"))


def printed(output):
    return {name: int(number) for name, number in re.findall(r"(\w+)=(-?\d+)", output)}


def wrong_counts(synctrace, run, kind, way):
    """Where the trace and the program disagree."""
    if has_window(way) or "syncs" in way or kind in OPEN_KINDS:
        return
    trace = survival.traces_in(run.folder)[0][0]
    dumped = subprocess.run([synctrace, "dump", trace], capture_output=True, text=True, errors="replace", timeout=120, check=False)
    records = collections.Counter(line.partition(" ")[0] for line in dumped.stdout.splitlines())
    said = printed(run.output)
    wanted = {"graph": said["graphs"], "kernel": said["kernels"], "copy": said["copies"] + said["peer"], "memset": said["memsets"]}
    if "--graph-nodes" in way:
        if said["graph_kernels"] < 0:
            return
        wanted = {"graph": 0, "kernel": said["kernels"] + said["graph_kernels"], "memset": said["memsets"] + said["graph_memsets"],
                  "copy": said["copies"] + said["peer"] + said["graph_copies"] + said["graph_peer"]}
    if "--buffer-size" in way and {"ring-full", "buffer-refused", "cupti-dropped"} & set(re.findall(r'^loss .*name="([\w-]+)"', dumped.stdout, re.MULTILINE)):
        return  # too little room, and the trace says so
    for name, count in wanted.items():
        if records[name] != count:
            yield f"{records[name]} of {count} {name} records"


class Matrix:
    def __init__(self, options, shared):
        self.options, self.shared = options, shared
        self.synctrace = options.build / "bin/synctrace"
        self.log = survival.Log(options.out / "graph_matrix.log")
        self.environment = survival.environment_of(shared)
        self.references = {}

    def command(self, kind, way):
        more = [f"launches={self.options.launches}"] if self.options.launches else []
        return [self.options.program, kind.split()[0], *KINDS[kind], *more, *self.options.arguments, *(LONGER if has_window(way) else [])]

    def work(self, job):
        number, (kind, way) = job
        command = self.command(kind, way)
        recorder = [] if self.options.bare else [self.synctrace, "run", "--quiet", "--report=none", *way, *(["--simgpu"] if self.options.simulated else []),
                                                 "-o", "trace.%p", "--"]
        run = survival.execute([*recorder, *command], self.shared / f"runs/{number}", LIMIT_S, self.environment)
        wrong, words = self.judge(run, kind, way)
        if wrong:
            stacks = survival.backtrace(command[0], run.folder) if run.crashed else ""
            self.log.add(f"{number} {kind} {' '.join(way)}: {wrong}, {words}", run.output[-500:], run.errors[-3000:], stacks)
            survival.say(f"  {number} {kind} {' '.join(way)}: {wrong}, {words}")
        shutil.rmtree(run.folder, ignore_errors=True)
        return wrong, words, run

    def judge(self, run, kind, way):
        if run.hung:
            return "hangs", f"after {run.seconds:.0f} s"
        if run.status != self.references[kind].status:
            return ("died" if run.crashed or run.status == 3 else "other end"), run.end
        if run.output != self.references[kind].output:
            return "other end", "other output"
        if self.options.bare:
            return "", ""
        whole, partial = survival.traces_in(run.folder)
        if not whole or partial:
            return "not recorded", ""
        counts = list(wrong_counts(self.synctrace, run, kind, way))
        return ("wrong counts" if counts else ""), "; ".join(counts)


def table(kinds, results, left_out):
    rows = []
    for kind in [*kinds, "all"]:
        mine = [result for (_, (ran, _)), result in results if kind in (ran, "all")]
        count = collections.Counter(wrong for wrong, _, _ in mine)
        rows.append([kind, left_out.get(kind) or len(mine), *(count[word] for word in COLUMNS[2:])])
    return survival.markdown(COLUMNS, rows)


def references(matrix_, kinds):
    left_out = {}
    for kind, run in survival.run_jobs(kinds, lambda kind: survival.execute(matrix_.command(kind, []), matrix_.shared / f"runs/bare.{kind.replace(' ', '_')}", LIMIT_S, matrix_.environment), 4, float("inf")):
        matrix_.references[kind] = run
        survival.say(f"  bare {kind}: {run.end}, {run.seconds:.1f} s, {run.output.strip()} {run.errors.strip()[-200:]}")
        if run.hung or run.status != 0:
            left_out[kind] = "needs what is not here" if run.status == 77 else f"bare: {run.end}"
    return left_out


def parsed():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--program", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=616)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--time-limit", type=float, default=3600)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--launches", type=int)
    parser.add_argument("--arguments", nargs="*", default=[], help="more for the program, such as verify=0")
    parser.add_argument("--bare", action="store_true")
    parser.add_argument("--simulated", action="store_true", help="pass --simgpu to run, to try this script without a GPU")
    survival.measured_rows.add_option(parser)
    options = parser.parse_args()
    options.build, options.out = options.build.resolve(), options.out.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    return options


def main():
    options = parsed()
    deadline = time.monotonic() + options.time_limit
    if problem := survival.allow_cores():
        survival.say(problem)
    with tempfile.TemporaryDirectory(prefix="graphs.") as folder:
        matrix_ = Matrix(options, pathlib.Path(folder))
        options.program = options.program.resolve() if options.program else compiled(matrix_.shared)
        kinds = [kind for kind in options.kinds.split(",") if kind in KINDS]
        left_out = references(matrix_, kinds)
        ways = matrix([kind for kind in kinds if kind not in left_out])
        jobs = list(enumerate(itertools.islice(itertools.cycle(ways), options.runs if ways else 0)))
        results = survival.run_jobs(jobs, matrix_.work, options.jobs, deadline)
    with open(options.out / "graph_matrix.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("run", "kind", "options", "end", "seconds", "wrong", "words"))
        writer.writerows((number, kind, " ".join(way), run.end, f"{run.seconds:.1f}", wrong, words) for (number, (kind, way)), (wrong, words, run) in results)
    shown = table(kinds, results, left_out)
    survival.say(shown)
    if results and not options.bare:
        what = "graph matrix, kinds x windows x levels x options: died, hung or differed"
        rows = survival.measured_rows.Rows("survival", simulated=options.simulated)
        rows.add_of("wild", what, sum(bool(wrong) for _, (wrong, _, _) in results), len(results))
    survival.say(f"{len(results)} of {len(jobs)} runs in time")
    return 1 if any(wrong for _, (wrong, _, _) in results) or any(words.startswith("bare") for words in left_out.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
