# SPDX-License-Identifier: Apache-2.0
"""Records the programs of soak/ again and again, several at a time, and compares each end and output with a run without us.

  soak.py --build BUILD --out OUT [--runs 34] [--jobs CORES] [--time-limit SECONDS] [--rows OUT/soak.csv] [--programs hf_trainer,graphs] [--bare]

Each program runs once bare, which says what its status and output are to be; one that fails there is left out, and the table says so.
Options are taken in turns, the defaults every second time. Stacks of crashes are in OUT/soak.log. --bare repeats the programs
without us: how often they die by themselves. Exit status: 0 when nothing differed.
"""
import argparse
import collections
import csv
import dataclasses
import datetime
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import survival_runs as survival

HERE = pathlib.Path(__file__).resolve().parent
LIMIT_S = 150
FIRST_LIMIT_S = 240  # caches are empty
LIBRARIES, CHECKED_EVERY = 120, 5
WAYS = ([], ["--level", "syncs"], [], ["--graph-nodes"], [], ["--duty", "1s/2s"], [], ["--stacks", "native"], [], ["--sample-rate", "1000"], [],
        ["--host-waits", "off"])
PYTHON = ("hf_trainer", "hf_generate", "lightning_fit", "pyg_train", "torchvision_resnet", "compile_graphs", "loader_workers", "jax_flax",
          "jax_diffrax", "cupy_loop")
COLUMNS = ("program", "runs", "crashes", "hangs", "other status", "other output", "not recorded", "unreadable", "median s")


@dataclasses.dataclass
class Job:
    program: str
    number: int
    options: list


def build_programs(names, shared):
    """The C++ programs and the libraries of one of them; without nvcc they fail in their bare run."""
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    flags = ["-O1", "-std=c++17", "-arch=sm_90", "-cudart", "shared"]
    if "many_libraries" in names:
        subprocess.run([nvcc, *flags, HERE / "soak/many_libraries.cu", "-o", shared / "many_libraries", "-ldl"], check=False)
        makers = [subprocess.Popen(["gcc", "-shared", "-fPIC", f"-DNUMBER={i}", f"-DRELOCATIONS={20000 if i % 10 == 0 else 100}", HERE / "soak/library.c",
                                    "-o", shared / f"lib{i}.so"]) for i in range(LIBRARIES)]
        for maker in makers:
            maker.wait()
    if "graphs" in names:
        subprocess.run([nvcc, *flags, "-rdc=true", HERE / "graph_matrix.cu", "-o", shared / "graph_matrix", "-lcudadevrt", "-ldl"], check=False)


def commands(shared):
    found = {name: [sys.executable, HERE / f"soak/{name}.py"] for name in PYTHON}
    for way in ("read", "no-read"):
        found[f"jax_graphs {way}"] = [sys.executable, HERE / "soak/jax_graphs.py", way]
    found["many_libraries"] = [shared / "many_libraries", shared, LIBRARIES, 6, 150]
    found["graphs"] = [shared / "graph_matrix", "all"]
    return found


def chosen(names, programs):
    wanted = [name for word in names.split(",") for name in programs if word in ("all", name, name.split()[0])]
    if not wanted:
        sys.exit(f"--programs {names}: there are {', '.join(programs)}")
    return {name: programs[name] for name in dict.fromkeys(wanted)}


class Soak:
    def __init__(self, options, shared):
        self.options, self.shared = options, shared
        self.synctrace = options.build / "bin/synctrace"
        self.environment = survival.environment_of(shared)
        self.log = survival.Log(options.out / "soak.log")
        self.references = {}
        self.rows = Rows(options.rows)

    def folder(self, name, number):
        return self.shared / "runs" / f"{name.replace(' ', '_')}.{number}"

    def bare(self, name, command, number="bare", limit_s=FIRST_LIMIT_S):
        return survival.execute(command, self.folder(name, number), limit_s, self.environment)

    def work(self, job, command):
        """The words for what was wrong with this run, and its time."""
        if self.options.bare:
            run = self.bare(job.program, command, job.number, LIMIT_S)
        else:
            recorder = [self.synctrace, "run", "--quiet", "--report=none", *job.options, "-o", "trace.%p", "--"]
            run = survival.execute([*recorder, *command], self.folder(job.program, job.number), LIMIT_S, self.environment)
        wrong = list(self.compare(run, self.references[job.program]))
        if not self.options.bare and not run.hung:
            wrong += self.check_traces(job, run)
        if wrong:
            stacks = survival.backtrace(command[0], run.folder) if run.crashed else ""
            self.log.add(f"{job.program} {job.number} {' '.join(job.options)}: {', '.join(wrong)} ({run.end}, {run.seconds:.1f} s)",
                         "-- stdout", run.output[-2000:], "-- stderr", run.errors[-4000:], "-- stacks" if stacks else "", stacks)
            survival.say(f"  {job.program} {job.number} {' '.join(job.options)}: {', '.join(wrong)} ({run.end})")
        shutil.rmtree(run.folder, ignore_errors=True)
        self.rows.add(job, run, wrong, self.options.bare)
        return wrong, run

    @staticmethod
    def compare(run, reference):
        if run.hung:
            yield "hangs"
        elif run.crashed and run.status != reference.status:
            yield "crashes"
        elif run.status != reference.status:
            yield "other status"
        elif run.output != reference.output:
            yield "other output"

    def check_traces(self, job, run):
        whole, partial = survival.traces_in(run.folder)
        if not whole or partial:
            return ["not recorded"]
        if job.number % CHECKED_EVERY:
            return []
        unread = [words for trace in whole if (words := survival.readable(self.synctrace, trace))]
        self.log.add(f"{job.program} {job.number}", *unread) if unread else None
        return ["unreadable"] if unread else []


class Rows:
    """The rows of all runs, each written as it ends. They are added to those of other days."""

    def __init__(self, path):
        self.path, self.lock, self.began = path, threading.Lock(), datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M")
        if not path.exists():
            self.write("time", "program", "run", "options", "end", "seconds", "wrong")

    def write(self, *cells):
        with self.lock, open(self.path, "a", newline="", encoding="utf-8") as file:
            csv.writer(file).writerow(cells)

    def add(self, job, run, wrong, bare):
        self.write(self.began, job.program, job.number, "bare" if bare else " ".join(job.options), run.end, f"{run.seconds:.1f}", ", ".join(wrong))


def table(programs, results, failed):
    rows, total = [], collections.Counter()
    for name in programs:
        mine = [result for job, result in results if job.program == name]
        count = collections.Counter(word for wrong, _ in mine for word in wrong)
        count["runs"] = len(mine)
        total.update(count)
        seconds = sorted(run.seconds for _, run in mine)
        rows.append([name, len(mine), *cells(count), f"{seconds[len(seconds) // 2]:.1f}" if seconds else failed.get(name, "-")])
    rows.append(["all", total["runs"], *cells(total), ""])
    return survival.markdown(COLUMNS, rows)


def cells(count):
    return [count[word] for word in ("crashes", "hangs", "other status", "other output", "not recorded", "unreadable")]


def parsed():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--rows", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=34)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--programs", default="all")
    parser.add_argument("--time-limit", type=float, default=3600)
    parser.add_argument("--bare", action="store_true")
    parser.add_argument("--defaults", action="store_true", help="no options of run but the defaults")
    parser.add_argument("--simulated", action="store_true", help="pass --simgpu to run, to try this script without a GPU")
    survival.measured_rows.add_option(parser)
    options = parser.parse_args()
    options.build, options.out = options.build.resolve(), options.out.resolve()
    options.rows = options.rows or options.out / "soak.csv"
    options.out.mkdir(parents=True, exist_ok=True)
    return options


def references(soak, programs):
    """Bare runs side by side; what fails there is left out."""
    failed = {}
    for name, run in survival.run_jobs(programs, lambda name: soak.bare(name, programs[name]), soak.options.jobs, float("inf")):
        soak.references[name] = run
        survival.say(f"  bare {name}: {run.end}, {run.seconds:.1f} s, {run.output.strip()[-100:]} {(run.errors.strip().splitlines() or [''])[-1][-150:] if run.status else ''}")
        if run.hung or run.status != 0 or not run.output.splitlines()[-1:] or not run.output.splitlines()[-1].startswith("ok"):
            failed[name] = f"bare: {run.end}"
            soak.log.add(f"bare {name}: {run.end}", run.output[-2000:], run.errors[-6000:])
        shutil.rmtree(run.folder, ignore_errors=True)
    return failed


def add_rows(options, programs, results):
    if options.bare or not results:
        return
    rows = survival.measured_rows.Rows("survival", simulated=options.simulated)
    what = f"soak, {len(programs)} programs" if options.programs == "all" else f"soak, {', '.join(programs)}"
    rows.add_of("wild", f"{what}, {options.runs} times each, {options.jobs} at a time: died, hung or differed", sum(bool(wrong) for _, (wrong, _) in results), len(results))


def main():
    options = parsed()
    deadline = time.monotonic() + options.time_limit
    with tempfile.TemporaryDirectory(prefix="soak.") as folder:
        soak = Soak(options, pathlib.Path(folder))
        programs = chosen(options.programs, commands(soak.shared))
        if problem := survival.allow_cores():
            survival.say(problem)
        build_programs(programs, soak.shared)
        failed = references(soak, programs)
        jobs = [Job(name, number, ([] if options.defaults else WAYS[number % len(WAYS)]) + (["--simgpu"] if options.simulated else []))
                for number in range(options.runs) for name in programs if name not in failed]
        results = survival.run_jobs(jobs, lambda job: soak.work(job, programs[job.program]), options.jobs, deadline)
        shown = table(programs, results, failed)
    survival.say(shown)
    add_rows(options, programs, results)
    survival.say(f"{len(results)} of {len(jobs)} runs in time")
    return 1 if failed or any(wrong for _, (wrong, _) in results) else 0


if __name__ == "__main__":
    sys.exit(main())
