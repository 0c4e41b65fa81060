# SPDX-License-Identifier: Apache-2.0
"""Whose line makes the other rank wait, in the loops of rank_programs.py, on two GPUs: what the report says of each planted
fault, against what was planted and what the job takes less without it.

  ranks.py --synctrace PATH --folder FOLDER [--only WORD,...] [--steps N] [--ahead N] [--time-limit SECONDS] [--table]

Recordings and timings run one at a time; while one runs, the next ones load their libraries and the last one ends. Results go to FOLDER/ranks.json.
--time-limit: no job starts later. --table: no run, only the reports and the table of what FOLDER holds. Ends with a table. Exit status 1 when an answer is wrong,
77 when there are not two GPUs."""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import measured_rows  # noqa: E402

PROGRAM = pathlib.Path(__file__).resolve().with_name("rank_programs.py")
PATTERNS = ("ddp", "fsdp", "pipeline", "tensor")
# Rank 1's faults: what the loop without the fault is called, and the function with the fault's line (none: it is harmless).
FAULTS = {"host1": ("none", "augment"), "host5": ("none", "augment"), "host20": ("none", "augment"), "read": ("unread", "log_norms"),
          "loader": ("loaded", "batches"), "garbage": ("none", "clean_up"), "kernel": ("none", "extra_work"), "hidden": ("none", None),
          "save": ("none", "save_state"), "empty": ("none", "free_cache"), "pageable": ("none", "upload")}
# Jobs in which no rank is to blame: without a fault, and one in which the ranks take turns at being late.
EVEN = ("none", "unread", "loaded", "jitter")
PATIENCE_S = 120
WAIT_SHARE, WAIT_S = 0.05, 100e-6  # a wait a step is right within the larger of them
WORTH = 0.01  # a saving below this is none
FELT, NEARLY = 0.03, 0.03  # a fault that costs less of a step is hidden; a saving is near within so much of one

Job = collections.namedtuple("Job", "pattern what fault")


def name_of(job):
    return f"{job.pattern}.{job.fault or 'time'}"


class Started:
    """Two ranks that wait for their turn."""

    def __init__(self, options, job, port):
        self.job = job
        self.turn = options.folder / f"{name_of(job)}.turn"
        self.turn.unlink(missing_ok=True)
        self.traces = options.folder / name_of(job)
        shutil.rmtree(self.traces, ignore_errors=True)
        words = [sys.executable, "-B", str(PROGRAM), job.pattern, job.what, *([job.fault] if job.fault else []), "--steps",
                 str(options.steps if job.what == "record" else options.timed_steps)]
        if job.what == "record":
            words = [str(options.synctrace), "run", "--quiet", "--report=none", "-o", f"{self.traces}/rank%r", "--", *words]
            self.traces.mkdir(parents=True)
        self.ranks = []
        for rank in range(2):
            environment = dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1",
                               MASTER_PORT=str(port), RANK_TURN=str(self.turn))
            output = open(options.folder / f"{name_of(job)}.{rank}.txt", "w", encoding="utf-8")
            self.ranks.append((subprocess.Popen(words, env=environment, stdout=output, stderr=subprocess.STDOUT), output))

    def run(self):
        """Seconds a step by kind, for a timing, when the loop is done; an exception where a rank failed."""
        self.turn.touch()
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            results = [self.result_of(output) for _, output in self.ranks]
            if all(result is not None for result in results):
                return results[0]
            if any(process.poll() for process, _ in self.ranks):
                break
            time.sleep(0.05)
        for process, _ in self.ranks:
            process.terminate()
        raise RuntimeError(" / ".join(pathlib.Path(output.name).read_text().strip()[-300:] for _, output in self.ranks))

    @staticmethod
    def result_of(output):
        lines = pathlib.Path(output.name).read_text().splitlines()
        return next((json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")), None)

    def end(self):
        for process, output in self.ranks:
            try:
                process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()
            output.close()


def report_of(options, job):
    folder = options.folder / name_of(job)
    text = subprocess.run([options.synctrace, "report", str(folder)], capture_output=True, text=True, timeout=PATIENCE_S, check=False,
                          env=dict(os.environ, COLUMNS="100"))
    (options.folder / f"{name_of(job)}.report.txt").write_text(text.stdout + text.stderr)
    done = subprocess.run([options.synctrace, "report", "--format", "json", str(folder)], capture_output=True, text=True,
                          timeout=PATIENCE_S, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip()[-300:])
    found = json.loads(done.stdout)
    (options.folder / f"{name_of(job)}.json").write_text(json.dumps({"job": found.get("job"), "ranks": found.get("ranks")}))
    return found


def slices(options, traces, output, wanted):
    """(begin, length, name) in us of the wanted slices of one export, in order."""
    subprocess.run([options.synctrace, "export", "--force-overwrite", *map(str, traces), "-o", str(output)], check=True,
                   capture_output=True, timeout=PATIENCE_S)
    path = output / f"{traces[0].stem}.json" if output.is_dir() else output
    events = json.loads(path.read_text())["traceEvents"]
    found = [(event["ts"], event["dur"], event["name"]) for event in events if event.get("ph") == "X" and wanted(event)]
    shutil.rmtree(output) if output.is_dir() else output.unlink()
    return sorted(found)


def waits_s(options, name):
    """What rank 0 waited in all for rank 1: as the export of the job says, by durations; and as begins on the host's clock
    say, which both ranks share."""
    traces = sorted((options.folder / name).glob("*.synctrace"))
    together = options.folder / f"{name}.together"
    together.mkdir(exist_ok=True)
    said = sum(length for _, length, _ in slices(options, traces, together, lambda event: event.get("cat") == "rank_wait"))
    by_name = []
    for trace in traces:
        kernels = collections.defaultdict(list)
        alone = slices(options, [trace], options.folder / f"{name}.alone.json",
                       lambda event: event.get("cat") == "kernel" and "nccl" in event["name"])
        for begin, length, name in alone:
            kernels[name].append((begin, length))
        by_name.append(kernels)
    true = 0.0
    for name, own in by_name[0].items():
        for (begin, length), (other, _) in zip(own, by_name[1][name]):
            true += min(length, max(0.0, other - begin))
    return 1e-6 * said, 1e-6 * true


class Answer:
    """What the report says of one job, judged."""

    def __init__(self, options, job, found, seconds):
        base, function = FAULTS.get(job.fault, (job.fault, None))
        self.job, self.problems = job, []
        said, ranks = found.get("job"), found.get("ranks")
        if not said:
            self.problems.append("not seen as one job")
            return
        self.verdict, self.steps = f"{said['verdict']}, {said['shape']}", said["steps"]
        self.step_s = 1e-9 * said["base_ns"] / max(1, said["steps"])
        cause = said["causes"][0] if said["causes"] else None
        self.where, self.rank, self.saving, self.range = "-", "-", 0.0, (0.0, 0.0)
        if cause and cause["saving"]["ns"] >= WORTH * said["base_ns"]:
            file = pathlib.PurePath(cause["file"] or "?").name
            self.where = f"{file}:{cause['line']} in {cause['function']}: {cause['kernel'] or cause['cause']}"
            self.rank = cause["ranks"][0]["rank"]
            # One fault can be several rows of its function: saving a state copies and computes.
            of_fault = [one for one in said["causes"] if one is cause or (one["function"] == function and function)]
            self.saving, *self.range = (min(1, sum(one["saving"][end] for one in of_fault) / said["base_ns"]) for end in ("ns", "lo_ns", "hi_ns"))
        count = max(1, options.steps)
        self.wait_s, self.true_wait_s = (seconds_in_all / count for seconds_in_all in waits_s(options, name_of(job)))
        if abs(self.wait_s - self.true_wait_s) > max(WAIT_SHARE * self.true_wait_s, WAIT_S):
            self.problems.append("wait")
        self.cost_s = self.gain = None
        if seconds and job.fault in FAULTS:
            self.cost_s = seconds[job.fault] - seconds[base]
            self.gain = 1 - seconds[base] / seconds[job.fault]
            self.timed_s = seconds[job.fault]
        if job.fault == "jitter":  # both ranks have the line, so it may be named, but no rank
            if said["verdict"] == "rank-bound" and (said["shape"] != "in-turn" or "augment" not in self.where):
                self.problems.append("blamed")
            return
        if function is None:
            if said["verdict"] == "rank-bound" or self.saving >= FELT:
                self.problems.append("blamed")
            return
        if self.gain is not None and self.gain < FELT:  # hidden: then it is not to be blamed, and nothing else is
            if abs(self.saving - max(0.0, self.gain)) > NEARLY:
                self.problems.append("saving")
            return
        if said["verdict"] != "rank-bound" or said["late_rank"] != "1" or self.rank != "1":
            self.problems.append("rank")
        if not cause or cause["function"] != function:
            self.problems.append("line")

    def row(self):
        if not hasattr(self, "verdict"):
            return f"| {self.job.pattern} {self.job.fault} | | | | | | | {', '.join(self.problems)} |"
        timed = "" if self.cost_s is None else f"{1e3 * self.cost_s:.2f}"
        gain = "" if self.gain is None else f"{100 * self.gain:.1f}"
        return (f"| {self.job.pattern} {self.job.fault} | {self.verdict} | {self.rank} | {self.where} | {1e3 * self.step_s:.2f} | "
                f"{1e3 * self.wait_s:.2f}, {1e3 * self.true_wait_s:.2f} | {timed} | {100 * self.saving:.1f} ({100 * self.range[0]:.1f} to {100 * self.range[1]:.1f}) | "
                f"{gain} | {', '.join(self.problems) or 'right'} |")


def run_all(options, jobs):
    """Returns the timings by pattern, and what failed."""
    waiting, timings, failed, done = collections.deque(), {}, {}, []
    ports = iter(range(options.port, 65000))
    left = collections.deque(jobs)
    end = time.monotonic() + options.time_limit
    while left or waiting:
        if time.monotonic() > end:
            left.clear()
        while left and len(waiting) <= options.ahead:
            waiting.append(Started(options, left.popleft(), next(ports)))
        started = waiting.popleft()
        begin = time.monotonic()
        try:
            result = started.run()
            if started.job.what == "time":
                timings[started.job.pattern] = result
        except (RuntimeError, StopIteration, subprocess.TimeoutExpired) as problem:
            failed[name_of(started.job)] = str(problem)
        done.append(started)
        print(f"{name_of(started.job)}: {time.monotonic() - begin:.1f} s", file=sys.stderr, flush=True)
    for started in done:
        started.end()
    return timings, failed


def in_range(answer):
    return answer.range[0] - 0.005 <= answer.gain <= answer.range[1] + 0.005


def gains_of(answers):
    errors = [abs(one.saving - one.gain) for one in answers if one.gain is not None and FAULTS[one.job.fault][1]]
    inside = sum(in_range(one) for one in answers if one.gain is not None)
    if not errors:
        return "nothing timed"
    return (f"saving against timed: error median {100 * statistics.median(errors):.1f} points, largest {100 * max(errors):.1f}, of "
            f"{len(errors)}; the range held {inside} of {sum(one.gain is not None for one in answers)}")


def add_rows(options, answers):
    """Only of what was recorded just now: a table made again is no measurement."""
    if options.table:
        return
    rows = measured_rows.Rows("ranks", gpus=2)
    for one in answers:
        case = f"{one.job.pattern} {one.job.fault}"
        rows.add("jobs", f"{case}: verdict", one.verdict)
        rows.add("jobs", f"{case}: rank and line", "-" if one.where == "-" else f"{one.rank}: {one.where}")
        rows.add("jobs", f"{case}: step", f"{1e3 * one.step_s:.2f}", "ms")
        rows.add("jobs", f"{case}: rank 0 waits a step (said, by the clock)", f"{1e3 * one.wait_s:.2f}, {1e3 * one.true_wait_s:.2f}", "ms")
        rows.add("jobs", f"{case}: saving said", f"{100 * one.saving:.1f}", "%", f"{100 * one.range[0]:.1f} to {100 * one.range[1]:.1f}")
        if one.gain is not None:
            rows.add("jobs", f"{case}: saving timed", f"{100 * one.gain:.1f}", "%")
    felt = [one for one in answers if one.gain is not None and FAULTS[one.job.fault][1] and one.gain >= FELT]
    errors = [abs(one.saving - one.gain) for one in answers if one.gain is not None and FAULTS[one.job.fault][1]]
    if options.only == "" and felt:
        rows.add_of("two-gpus", "faults that cost 3 % or more: rank", sum("rank" not in one.problems for one in felt), len(felt))
        rows.add_of("two-gpus", "faults that cost 3 % or more: line", sum("line" not in one.problems for one in felt), len(felt))
        even = [one for one in answers if one.job.fault in EVEN]
        rows.add_of("two-gpus", "jobs without a late rank: blamed", sum(bool(one.problems) for one in even), len(even))
        rows.add("two-gpus", "savings, middle: error", f"{100 * statistics.median(errors):.1f}", "points", n=len(errors))
        timed = [one for one in answers if one.gain is not None]
        rows.add_of("two-gpus", "timed saving in the range: jobs", sum(map(in_range, timed)), len(timed))
        hidden = [one for one in answers if one.job.fault == "hidden"]
        rows.add_of("two-gpus", "hidden work: blamed", sum("blamed" in one.problems for one in hidden), len(hidden))


def judge(options, jobs, timings, failed):
    recorded = [job for job in jobs if job.what == "record" and name_of(job) not in failed]
    answers = []
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        reports = [(job, pool.submit(report_of, options, job)) for job in recorded]
        for job, report in reports:
            try:
                answers.append(Answer(options, job, report.result(), timings.get(job.pattern)))
            except (RuntimeError, subprocess.TimeoutExpired, KeyError, StopIteration) as problem:
                failed[name_of(job)] = f"{type(problem).__name__}: {problem}"
    print("| job | verdict | rank | line | step, ms | rank 0 waits, ms a step: said, by the clock | the fault costs, ms a step | saving, % | timed, % | |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for one in answers:
        print(one.row())
    for name, problem in failed.items():
        print(f"\n{name} failed: {re.sub(chr(10), ' ', problem)}")
    right = sum(not one.problems for one in answers)
    add_rows(options, [one for one in answers if hasattr(one, "gain")])
    print(f"\n{gains_of([one for one in answers if hasattr(one, 'gain')])}\n\n{right} of {len(answers)} right, {len(failed)} failed")
    return 0 if answers and right == len(answers) and not failed else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--synctrace", required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="", help="words of which one is in a job's name (ddp.host5)")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--timed-steps", type=int, default=15)
    parser.add_argument("--ahead", type=int, default=4)
    parser.add_argument("--port", type=int, default=29600)
    parser.add_argument("--time-limit", type=float, default=1e9)
    parser.add_argument("--table", action="store_true")
    measured_rows.add_option(parser)
    options = parser.parse_args()
    listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False) if not options.table else None
    if listed is not None and listed.stdout.count("GPU ") < 2:
        print("there are not two GPUs here")
        return 77
    options.folder.mkdir(parents=True, exist_ok=True)
    jobs = []
    for pattern in PATTERNS:
        jobs += [Job(pattern, "time", ""), *(Job(pattern, "record", fault) for fault in (*EVEN, *FAULTS))]
    jobs = [job for job in jobs if any(word in name_of(job) for word in options.only.split(","))]
    if options.table:
        jobs = [job for job in jobs if (options.folder / name_of(job)).is_dir()]
    results = options.folder / "ranks.json"
    if options.table:
        timings, failed = json.loads(results.read_text())
    else:
        timings, failed = run_all(options, jobs)
        results.write_text(json.dumps([timings, failed]))
    return judge(options, jobs, timings, failed)


if __name__ == "__main__":
    sys.exit(main())
