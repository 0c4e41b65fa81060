# SPDX-License-Identifier: Apache-2.0
"""Is the advice about a data loader's workers right? Three loops with too few workers are recorded, and run again with the
number that the report names: they must come within 10 % of a loop whose batches lie ready. Three loops that more workers
cannot help are recorded: the report must say why, and twice the workers must gain less than 5 %.

Processes of one host differ in speed by a fifth and more, and one process from minute to minute. So the first three are
recorded and timed in several processes, each beside ready batches in its own process; the middle one of the rounds
counts. A batch of the others costs a time by the clock, which is the same on a slow host. Each is timed in one process
with once, twice, twice and once the workers, so that a drift of the host cancels. `--only` leaves out other loops.

  loader_advice.py --synctrace SYNCTRACE [--folder FOLDER] [--json FILE]    needs a GPU, PyTorch and about eight CPU cores

Prints a table, and ends with status 1 when one is not as it should be, 77 without PyTorch on a GPU."""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import measured_rows  # noqa: E402

import loader_programs

PROGRAM = pathlib.Path(__file__).resolve().with_name("loader_programs.py")
STEP_S = 0.008  # a step whose batch is ready
STEPS = 280
STEPS_IN_TURNS = 140

# What a batch costs, with how many workers it starts, and what the report has to say.
TOO_FEW = {"decode": (0.036, 2), "python": (0.028, 2), "in the loop": (0.012, 0)}
NO_HELP = {"one shard": (0.080, 4, "one-worker"), "pin thread": (0.020, 4, "pin-thread"), "main process": (0.020, 4, "main-process")}
ROW_OF = {"decode": "decode (zlib)", "python": "loop of Python", "in the loop": "no workers", "one shard": "one slow shard",
          "pin thread": "slow pin-memory thread", "main process": "slow main process"}


def seconds_of(work, times):
    best = None
    for _ in range(5):
        begin = time.perf_counter()
        work(times)
        took = time.perf_counter() - begin
        best = took if best is None else min(best, took)
    return best / times


def run(command, limit_s=150):
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True, timeout=limit_s)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))[:200]}: status {done.returncode}\n{done.stdout[-1000:]}\n{done.stderr[-3000:]}")
    return done.stdout


def last_lines(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


class Trial:
    def __init__(self, synctrace, folder):
        self.synctrace, self.folder, self.recorded = synctrace, folder, 0
        matmul_s = last_lines(run([sys.executable, PROGRAM, "calibrate"]))[0]["matmul_s"]
        self.matmuls = max(1, round(STEP_S / matmul_s))
        self.decode_s = seconds_of(loader_programs.decode, 200)
        self.count_s = seconds_of(loader_programs.count, 200_000)
        print(f"a step: {self.matmuls} products of {1e3 * matmul_s:.2f} ms; {os.cpu_count()} processors", flush=True)

    def loop(self, case, workers, batch_s=0.0, steps=STEPS):
        unit_s = self.count_s if case == "python" else self.decode_s
        cost = {"batch_s": batch_s} if case in NO_HELP else {"work": round(batch_s / unit_s)}
        return {"case": case, "workers": workers, **cost, "matmuls": self.matmuls, "steps": steps}

    def advice(self, loop):
        """What the report of a recorded run says of its loader, and its verdict."""
        self.recorded += 1
        trace = self.folder / f"{loop['case'].replace(' ', '_')}.{self.recorded}.synctrace"
        run([self.synctrace, "run", "--quiet", "--force-overwrite", "--report=none", "-o", trace.with_suffix(""), "--",
             sys.executable, PROGRAM, json.dumps([loop])])
        [report] = json.loads(run([self.synctrace, "report", "--format", "json", trace]))["processes"]
        return report.get("loader"), report

    def said(self, case, batch_s, workers, *_):
        advice, report = self.advice(self.loop(case, workers, batch_s))
        print(f"{case}: {words(advice, report)}", flush=True)
        return advice

    def rates(self, plan):
        """Steps a second of each, one after the other in one process: those of one process can be compared."""
        loops = [self.loop(*one) for one in plan]
        return [line["steps_a_second"] for line in last_lines(run([sys.executable, PROGRAM, json.dumps(loops)], 240))]


def needed(advice):
    """The number of workers that the report names, none if it names none."""
    return advice["needed_workers"] or None if advice else None


def words(advice, report):
    if advice is None:
        return f"nothing said ({report['verdict']}, {report['steps']['count']} steps)"
    return (f"{advice['title']} [{advice['limit']}] workers {advice['workers']}, busy {100 * advice['utilisation']:.0f} % "
            f"({100 * advice['idlest']:.0f} - {100 * advice['busiest']:.0f}), pin {100 * advice['pin_thread']:.0f} %, "
            f"main {100 * advice['main_process']:.0f} %, step {1e-6 * advice['step_ns']:.1f} ms, "
            f"without the wait {1e-6 * advice['step_without_wait_ns']:.1f} ms")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--synctrace", required=True)
    parser.add_argument("--folder", default=None)
    parser.add_argument("--json", default=None)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=[*TOO_FEW, *NO_HELP])
    measured_rows.add_option(parser)
    options = parser.parse_args()
    try:
        import torch
    except ImportError:
        torch = None
    if torch is None or not torch.cuda.is_available():
        print("no PyTorch with CUDA")
        return 77
    folder = pathlib.Path(options.folder or tempfile.mkdtemp(prefix="loader-advice-"))
    folder.mkdir(parents=True, exist_ok=True)
    trial = Trial(os.path.abspath(options.synctrace), folder)

    too_few, no_help = ({case: how for case, how in cases.items() if case in (options.only or cases)}
                        for cases in (TOO_FEW, NO_HELP))
    tried = {case: [] for case in too_few}
    ready = []
    for _ in range(options.rounds if too_few else 0):
        said = {case: trial.said(case, *how) for case, how in too_few.items()}
        plan = [("ready", 0, 0.0)]
        for case, (batch_s, workers) in too_few.items():
            plan += [(case, count, batch_s) for count in (workers, needed(said[case])) if count is not None]
        plan.append(("ready", 0, 0.0))
        rates = trial.rates(plan)
        limit = max(rates[0], rates[-1])
        ready.append(limit)
        rate_of = {(case, workers): rate for (case, workers, _), rate in zip(plan, rates)}
        for case, (_, workers) in too_few.items():
            then = needed(said[case])
            after = rate_of.get((case, then), 0.0)
            tried[case].append({"workers": workers, "before": rate_of[case, workers], "then": then, "after": after,
                                "of_ready": after / limit, "advice": said[case]})
    said = {case: trial.said(case, batch_s, workers) for case, (batch_s, workers, _) in no_help.items()}
    rates = {case: trial.rates([(case, factor * workers, batch_s, STEPS_IN_TURNS) for factor in (1, 2, 2, 1)])
             for case, (batch_s, workers, _) in no_help.items()}

    print("\n| loop | workers | steps/s | then | steps/s | | as it should be |\n|---|---|---|---|---|---|---|")
    good_of, added = {}, measured_rows.Rows("savings")
    for case, rounds in tried.items():
        middle = statistics.median(one["of_ready"] for one in rounds)
        good_of[case] = middle >= 0.9
        added.add("loader", f"{ROW_OF[case]}: of ready batches", f"{100 * middle:.1f}", "%", n=len(rounds))
        for one in rounds:
            print(f"| {case} | {one['workers']} | {one['before']:.1f} | {one['then']} | {one['after']:.1f} | "
                  f"{100 * one['of_ready']:.1f} % of ready batches | |")
        print(f"| {case} | | | | | **{100 * middle:.1f} %**, the middle one | {'yes' if good_of[case] else 'NO'} |")
    for case, (_, workers, limit) in no_help.items():
        first, *twice, last = rates[case]
        before, after = statistics.fmean((first, last)), statistics.fmean(twice)
        gain = after / before - 1
        advice = said[case]
        good_of[case] = advice is not None and advice["limit"] == limit and not advice["more_workers_help"] and gain < 0.05
        added.add("loader", f"{ROW_OF[case]}: gain of twice the workers", f"{100 * gain:.1f}", "%")
        print(f"| {case} | {workers} | {before:.1f} | {2 * workers} | {after:.1f} | "
              f"**{100 * gain:+.1f} %** by twice the workers | {'yes' if good_of[case] else 'NO'} |")
    print("\nready batches: " + ", ".join(f"{rate:.1f}" for rate in ready) + " steps/s")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps({"ready": ready, "rounds": tried, "rates": rates, "good": good_of}, indent=1))
    if not options.only:
        added.add_of("loader", "loops as they should be: count", sum(good_of.values()), len(good_of))
    print(f"{sum(good_of.values())} of {len(good_of)} as they should be")
    return 0 if all(good_of.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
