# SPDX-License-Identifier: Apache-2.0
"""Whose line makes three ranks wait, in the loops of four_rank_programs.py, on four GPUs: what the report says of each planted
fault, against what was planted and what the job takes less without it.

  four_ranks.py --synctrace PATH --folder FOLDER [--only WORD,...] [--steps N] [--together N] [--time-limit SECONDS] [--table] [--record FOLDER]
  four_ranks.py --cost --synctrace PATH --folder FOLDER [--rounds N] [--time-limit SECONDS] [--record FOLDER]

Jobs run one at a time. Several load their libraries together before the first of them begins, as a host that loads slows the ranks of others.
Each pattern's job without a fault and with its first one come first, then the timings. Results go to FOLDER/four_ranks.json after each job. --time-limit: no job's turn comes later, and those
that wait for it are stopped. --table: no run, only the reports and the table of what FOLDER holds. --cost: two jobs of two ranks side by side,
one of them recorded at level syncs, and again with GPUs swapped. Exit status 1 when an answer is wrong, 77 when there are not four GPUs."""
import argparse
import collections
import concurrent.futures
import itertools
import json
import math
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import measured_rows  # noqa: E402
import rank_group  # noqa: E402

PROGRAM = pathlib.Path(__file__).resolve().with_name("four_rank_programs.py")
RANKS, LATE_RANK = 4, 2
# Functions with the fault's line; the lines of a model where its batch is larger; none where a line is not at fault.
FAULTS = {"late": ("augment",), "read": ("log_norms",), "garbage": ("clean_up",), "loader": ("batches",), "uneven": ("forward", "step"), "neighbour": ()}
PLAN = {"ddp": ("late", "neighbour"), "fsdp2": ("garbage", "uneven"), "tensor": ("read", "late"), "sequence": ("late", "garbage"),
        "mesh": ("read", "late"), "pipeline": ("late", "garbage"), "pipeline1f1b": ("late", "neighbour"), "experts": ("uneven", "late"),
        "loader": ("loader", "read")}
SHARED = f"another process used the GPU of rank {LATE_RANK} "
SHARED_STEPS = 4  # times as many: the driver tells of other processes several times a second
PATIENCE_S = 60
MOST_LINES = 30
WORTH = 0.01  # a saving below this is none
FELT, NEARLY = 0.03, 0.03  # a fault that costs less of a step is hidden; a saving is near within so much of one

Job = collections.namedtuple("Job", "pattern what fault")


def at_fault(function, fault):
    """A function by its name in Python, as "Loader.batches" or "Attention.forward.<locals>.<genexpr>"."""
    return (function or "").partition(".<locals>")[0].rpartition(".")[2] in FAULTS.get(fault, ())


def name_of(job):
    return f"{job.pattern}.{job.fault or 'time'}"


def all_jobs():
    first = [Job(pattern, "record", fault) for pattern, faults in PLAN.items() for fault in ("none", faults[0])]
    times = [Job(pattern, "time", "") for pattern in PLAN]
    return [*first, *times, *(Job(pattern, "record", faults[1]) for pattern, faults in PLAN.items())]


def recorder(options, *words):
    return [options.synctrace, "run", "--quiet", "--report=none", *words]


def started(options, job, port):
    is_timing = job.what == "time"
    steps = options.timed_steps if is_timing else options.steps * (SHARED_STEPS if job.fault == "neighbour" else 1)
    words = rank_group.python(PROGRAM, job.pattern, job.what, *([job.fault] if job.fault else []), "--steps", steps)
    has_neighbour = "neighbour" in (PLAN[job.pattern] if is_timing else (job.fault,))
    neighbour = (rank_group.python(PROGRAM, "neighbour"), LATE_RANK) if has_neighbour else None
    return rank_group.Group(options.folder, name_of(job), words, port, range(RANKS), None if is_timing else recorder(options), neighbour)


def run_all(options, jobs):
    """Returns the timings by pattern, what failed, and what was not run."""
    waiting, done, left = collections.deque(), [], collections.deque(jobs)
    timings, failed, not_run = {}, {}, []
    ports = itertools.count(options.port)
    end = time.monotonic() + options.time_limit
    try:
        while left and time.monotonic() < end:
            while left and len(waiting) < options.together:
                job = left.popleft()
                waiting.append((job, started(options, job, next(ports))))
            wait_until_loaded([group for _, group in waiting], options.patience)
            while waiting and time.monotonic() < end:
                run_one(options, *waiting[0], done, timings, failed)
                waiting.popleft()
                write(options, timings, failed, not_run)
    finally:
        for _, group in waiting:
            group.stop()
    not_run += [name_of(job) for job, _ in waiting] + [name_of(job) for job in left]
    for job, group in done:
        if problem := group.end(options.patience):
            failed[name_of(job)] = problem
    write(options, timings, failed, not_run)
    return timings, failed, not_run


def wait_until_loaded(groups, patience_s):
    begin = time.monotonic()
    while not all(group.is_loaded() for group in groups) and time.monotonic() < begin + patience_s:
        time.sleep(0.1)
    print(f"{len(groups)} jobs loaded: {time.monotonic() - begin:.1f} s", file=sys.stderr, flush=True)


def run_one(options, job, group, done, timings, failed):
    begin = time.monotonic()
    group.begin()
    try:
        result = group.result(begin + options.patience)
        done.append((job, group))
        if job.what == "time":
            timings[job.pattern] = result
    except RuntimeError as problem:
        failed[name_of(job)] = str(problem)
    group.stop_neighbour()
    print(f"{name_of(job)}: {time.monotonic() - begin:.1f} s {failed.get(name_of(job), '')}", file=sys.stderr, flush=True)


def write(options, *results):
    (options.folder / "four_ranks.json").write_text(json.dumps(results), encoding="utf-8")


def report_of(options, job):
    """The report's text and what its JSON says."""
    folder = options.folder / name_of(job)
    text = subprocess.run([options.synctrace, "report", str(folder)], capture_output=True, text=True, timeout=PATIENCE_S, check=False,
                          env=dict(os.environ, COLUMNS="100"))
    (options.folder / f"{name_of(job)}.report.txt").write_text(text.stdout + text.stderr, encoding="utf-8")
    done = subprocess.run([options.synctrace, "report", "--format", "json", str(folder)], capture_output=True, text=True,
                          timeout=PATIENCE_S, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip()[-300:])
    found = json.loads(done.stdout)
    (options.folder / f"{name_of(job)}.json").write_text(json.dumps({"job": found.get("job"), "ranks": found.get("ranks")}), encoding="utf-8")
    return text.stdout, found


class Answer:
    """What the report says of one job, judged."""

    def __init__(self, options, job, text, found, seconds):
        self.job, self.problems = job, []
        self.files = len(list((options.folder / name_of(job)).glob("*.synctrace")))
        self.lines = len(text.splitlines())
        self.verdict, self.rank, self.where, self.function, self.step_s, self.saving, self.range = "-", "-", "-", None, 0.0, 0.0, (0.0, 0.0)
        self.is_shared = SHARED in " ".join(text.split()) + " "
        self.gain = 1 - seconds["none"] / seconds[job.fault] if seconds and job.fault in seconds and job.fault != "none" else None
        self.is_one_job = bool(found.get("job")) and found["job"]["recorded_ranks"] == RANKS
        if self.files != RANKS:
            self.problems.append("files")
        if not self.is_one_job:
            self.problems.append("not one job of four ranks")
        if found.get("job"):
            self.read(found["job"])
        if self.lines > MOST_LINES:
            self.problems.append("long")
        self.judge()

    def read(self, said):
        self.verdict, self.rank = f"{said['verdict']}, {said['shape']}", said["late_rank"] or "-"
        self.step_s = 1e-9 * said["base_ns"] / max(1, said["steps"])
        cause = said["causes"][0] if said["causes"] else None
        if not cause:
            return
        self.function = cause["function"]
        file = pathlib.PurePath(cause["file"] or "?").name
        self.where = f"{file}:{cause['line']} in {cause['function']}: {cause['kernel'] or cause['cause']}"
        if cause["saving"]["ns"] >= WORTH * said["base_ns"]:
            self.saving, *self.range = (cause["saving"][end] / max(1, said["base_ns"]) for end in ("ns", "lo_ns", "hi_ns"))

    @property
    def is_felt(self):
        """A fault that costs something, or was not timed."""
        return self.job.fault != "none" and (self.gain is None or self.gain >= FELT)

    @property
    def error(self):
        return abs(self.saving - max(0.0, self.gain)) if self.gain is not None and FAULTS[self.job.fault] else None

    def judge(self):
        if self.job.fault == "none":  # ranks that are late in turn are nobody's fault
            if self.verdict.startswith("rank-bound") and not self.verdict.endswith("in-turn"):
                self.problems.append("blamed")
        elif not self.is_felt:
            if self.error is not None and self.error > NEARLY:
                self.problems.append("saving")
        elif self.job.fault == "neighbour":
            if self.rank != str(LATE_RANK) and not self.is_shared:
                self.problems.append("rank")
            if not self.is_shared:
                self.problems.append("line")  # where a GPU is shared, that is the answer instead of a line
        else:
            if not self.verdict.startswith("rank-bound") or self.rank != str(LATE_RANK):
                self.problems.append("rank")
            if not at_fault(self.function, self.job.fault):
                self.problems.append("line")

    def row(self):
        gain = "" if self.gain is None else f"{100 * self.gain:.1f}"
        error = "" if self.error is None else f"{100 * self.error:.1f}"
        shared = "; shared GPU" if self.is_shared else ""
        right = "right" if self.job.fault == "none" or self.is_felt else "hidden"
        return (f"| {self.job.pattern} {self.job.fault} | {self.verdict} | {self.rank} | {self.where}{shared} | {1e3 * self.step_s:.2f} | "
                f"{self.files} | {self.lines} | "
                f"{100 * self.saving:.1f} ({100 * self.range[0]:.1f} to {100 * self.range[1]:.1f}) | {gain} | {error} | {', '.join(self.problems) or right} |")


def add_rows(options, answers):
    """Only of what was recorded just now: a table made again is no measurement."""
    if options.table:
        return
    rows = measured_rows.Rows("four-ranks", gpus=RANKS)
    for one in answers:
        case = f"{one.job.pattern} {one.job.fault}"
        rows.add("jobs", f"{case}: verdict", one.verdict)
        rows.add("jobs", f"{case}: rank and line", f"{one.rank}: {one.where}")
        rows.add("jobs", f"{case}: step", f"{1e3 * one.step_s:.2f}", "ms")
        rows.add("jobs", f"{case}: saving said", f"{100 * one.saving:.1f}", "%", f"{100 * one.range[0]:.1f} to {100 * one.range[1]:.1f}")
        if one.gain is not None:
            rows.add("jobs", f"{case}: saving timed", f"{100 * one.gain:.1f}", "%")
    if options.only or not answers:
        return
    felt, even = [one for one in answers if one.is_felt], [one for one in answers if one.job.fault == "none"]
    errors = [one.error for one in answers if one.error is not None]
    if felt:
        rows.add_of("four-gpus", "faults: rank and line named", sum(not {"rank", "line"} & set(one.problems) for one in felt), len(felt))
    if even:
        rows.add_of("four-gpus", "jobs without a fault: nobody blamed", sum("blamed" not in one.problems for one in even), len(even))
    if errors:
        rows.add("four-gpus", "savings, middle: error", f"{100 * statistics.median(errors):.1f}", "points", n=len(errors))
    rows.add_of("four-gpus", "files of all ranks: jobs", sum(one.files == RANKS and one.is_one_job for one in answers), len(answers))


def judge(options, jobs, timings, failed, not_run):
    recorded = [job for job in jobs if job.what == "record" and name_of(job) not in (*failed, *not_run)]
    answers = []
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        reports = [(job, pool.submit(report_of, options, job)) for job in recorded]
        for job, report in reports:
            try:
                answers.append(Answer(options, job, *report.result(), timings.get(job.pattern)))
            except (RuntimeError, subprocess.TimeoutExpired, KeyError) as problem:
                failed[name_of(job)] = f"{type(problem).__name__}: {problem}"
    print("| job | verdict | rank | line | step, ms | files | lines | saving, % | timed, % | apart, points | |\n|---|---|---|---|---|---|---|---|---|---|---|")
    for one in answers:
        print(one.row())
    for name, problem in failed.items():
        print(f"\n{name} failed: {' '.join(problem.split())}")
    if not_run:
        print(f"\nnot run: {', '.join(not_run)}")
    add_rows(options, answers)
    errors = [one.error for one in answers if one.error is not None]
    if errors:
        print(f"\nsaving against timed: error median {100 * statistics.median(errors):.1f} points, largest {100 * max(errors):.1f}, of {len(errors)}")
    right = sum(not one.problems for one in answers)
    print(f"\n{right} of {len(answers)} right, {len(failed)} failed, {len(not_run)} not run")
    return 0 if answers and right == len(answers) and not failed else 1


def side_by_side(options, number):
    """A bare job and a recorded one beside it, on each other's GPUs the next time."""
    words = rank_group.python(PROGRAM, "ddp", "pace", "none", "--steps", options.timed_steps)
    groups = {}
    for is_recorded in (False, True):
        place = (number + is_recorded) % 2
        name = f"cost.{number}.{'syncs' if is_recorded else 'bare'}"
        record = recorder(options, "--level", "syncs") if is_recorded else None
        groups[is_recorded] = rank_group.Group(options.folder, name, words, options.port + 2 * number + place, ((0, 1), (2, 3))[place], record)
    return groups


def paced(options, groups):
    """Seconds a step: bare, recorded."""
    for group in groups.values():
        group.begin()
    deadline = time.monotonic() + options.patience
    bare, recorded = (statistics.median(groups[is_recorded].result(deadline)["step_s"]) for is_recorded in (False, True))
    print(f"bare {1e3 * bare:.3f} ms, recorded {1e3 * recorded:.3f} ms a step", file=sys.stderr, flush=True)
    for group in groups.values():
        if problem := group.end(options.patience):
            raise RuntimeError(problem)
    return bare, recorded


def cost(options):
    """Each round has both orders, so that a faster GPU is on both sides of the mean."""
    end = time.monotonic() + options.time_limit
    pairs, groups = [], []
    try:
        while len(pairs) < 2 * options.rounds and (len(pairs) % 2 or time.monotonic() < end):
            if len(groups) == len(pairs):
                count = min(options.together, 2 * options.rounds - len(pairs))
                groups += [side_by_side(options, len(groups) + number) for number in range(count)]
                wait_until_loaded([one for pair in groups[len(pairs):] for one in pair.values()], options.patience)
            pairs.append(paced(options, groups[len(pairs)]))
    finally:
        for group in (one for pair in groups[len(pairs):] for one in pair.values()):
            group.stop()
    if not pairs:
        print("no time for a round")
        return 1
    logs = [math.log(recorded / bare) for bare, recorded in pairs]
    rounds = [(first + second) / 2 for first, second in zip(logs[::2], logs[1::2])]
    ratio, bare_s = math.exp(statistics.mean(rounds)), statistics.median(bare for bare, _ in pairs)
    error = f"{ratio * statistics.stdev(rounds) / len(rounds) ** 0.5:.4f}" if len(rounds) > 1 else ""
    print(f"recorded at level syncs to bare: {ratio:.4f}, error {error or 'not known'}, {len(rounds)} rounds; bare {1e3 * bare_s:.2f} ms a step")
    rows = measured_rows.Rows("four-ranks", gpus=RANKS)
    rows.add("cost", "two jobs of two ranks, DDP: bare step", f"{1e3 * bare_s:.2f}", "ms", n=len(pairs))
    rows.add("cost", "two jobs of two ranks, DDP: syncs to bare", f"{ratio:.4f}", error=error, n=len(rounds))
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--synctrace", type=pathlib.Path, required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="", help="words of which one is in a job's name (ddp.late, ddp.time)")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--timed-steps", type=int, default=8)
    parser.add_argument("--together", type=int, default=7, help="jobs that load at the same time")
    parser.add_argument("--port", type=int, default=29700)
    parser.add_argument("--patience", type=float, default=PATIENCE_S, help="seconds that a job has from its turn")
    parser.add_argument("--time-limit", type=float, default=1e9)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--cost", action="store_true")
    measured_rows.add_option(parser)
    options = parser.parse_args()
    options.synctrace, options.folder = options.synctrace.resolve(), options.folder.resolve()
    if not options.table and measured_rows.words_of("nvidia-smi", "-L").count("GPU ") < RANKS:
        print("there are not four GPUs here")
        return 77
    options.folder.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # ranks that wait for their turn are stopped
    if options.cost:
        return cost(options)
    jobs = [job for job in all_jobs() if any(word in name_of(job) for word in options.only.split(","))]
    if options.table:
        jobs = [job for job in jobs if job.what == "record" and (options.folder / name_of(job)).is_dir()]
        timings, failed, not_run = json.loads((options.folder / "four_ranks.json").read_text(encoding="utf-8"))
    else:
        timings, failed, not_run = run_all(options, jobs)
    return judge(options, jobs, timings, failed, not_run)


if __name__ == "__main__":
    sys.exit(main())
