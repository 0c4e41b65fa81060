# SPDX-License-Identifier: Apache-2.0
"""Is the advice about a data loader's workers right? Three loops with too few workers are recorded, and run again with the
number that the report names: they must come within 10 % of a loop whose batches lie ready. Three loops that more workers
cannot help are recorded: the report must say why, and twice the workers must gain less than 5 %.

  loader_advice.py --synctrace SYNCTRACE [--folder FOLDER] [--json FILE]    needs a GPU, PyTorch and about eight CPU cores

Prints a table, and ends with status 1 when one is not as it should be, 77 without PyTorch on a GPU."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import loader_programs

PROGRAM = pathlib.Path(__file__).resolve().with_name("loader_programs.py")
STEP_S = 0.008  # of a step whose batch is ready
STEPS = 280

# What a batch costs, with how many workers it starts, and what the report has to say.
TOO_FEW = {"decode": (0.036, 2), "python": (0.028, 2), "in the loop": (0.012, 0)}
NO_HELP = {"one shard": (0.080, 4, "one-worker"), "pin thread": (0.020, 4, "pin-thread"), "main process": (0.020, 4, "main-process")}


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
        self.synctrace, self.folder = synctrace, folder
        matmul_s = last_lines(run([sys.executable, PROGRAM, "calibrate"]))[0]["matmul_s"]
        self.matmuls = max(1, round(STEP_S / matmul_s))
        self.decode_s = seconds_of(loader_programs.decode, 200)
        self.count_s = seconds_of(loader_programs.count, 200_000)
        print(f"a step: {self.matmuls} products of {1e3 * matmul_s:.2f} ms; {os.cpu_count()} processors", flush=True)

    def loop(self, case, workers, batch_s=0.0):
        unit_s = self.count_s if case == "python" else self.decode_s
        return {"case": case, "workers": workers, "work": round(batch_s / unit_s), "matmuls": self.matmuls, "steps": STEPS}

    def advice(self, loop):
        """What the report of a recorded run says of its loader, and its verdict."""
        trace = self.folder / (loop["case"].replace(" ", "_") + ".synctrace")
        run([self.synctrace, "run", "--quiet", "--force-overwrite", "--report=none", "-o", trace.with_suffix(""), "--",
             sys.executable, PROGRAM, json.dumps([loop])])
        [report] = json.loads(run([self.synctrace, "report", "--format", "json", trace]))["processes"]
        return report.get("loader"), report

    def rates(self, loops):
        """Steps a second of each, one after the other in one process: those of one process can be compared."""
        return [line["steps_a_second"] for line in last_lines(run([sys.executable, PROGRAM, json.dumps(loops)], 240))]


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

    said = {}
    for case, (batch_s, workers, *_) in {**TOO_FEW, **NO_HELP}.items():
        said[case] = trial.advice(trial.loop(case, workers, batch_s))
        print(f"{case}: {words(*said[case])}", flush=True)

    plan = [("ready", 0, 0.0)]
    for case, (batch_s, workers) in TOO_FEW.items():
        advice = said[case][0]
        plan.append((case, workers, batch_s))
        if advice and advice["needed_workers"]:
            plan.append((case, advice["needed_workers"], batch_s))
    for case, (batch_s, workers, _) in NO_HELP.items():
        plan += [(case, workers, batch_s), (case, 2 * workers, batch_s)]
    plan.append(("ready", 0, 0.0))
    rates = trial.rates([trial.loop(case, workers, batch_s) for case, workers, batch_s in plan])
    ready = max(rates[0], rates[-1])
    rate_of = {(case, workers): rate for (case, workers, _), rate in zip(plan, rates)}

    print("\n| loop | workers | steps/s | then | steps/s | | as it should be |\n|---|---|---|---|---|---|---|")
    rows, failed = [], 0
    for case, (_, workers, *wanted) in {**TOO_FEW, **NO_HELP}.items():
        advice = said[case][0]
        then = (2 * workers if wanted else advice["needed_workers"] if advice else None)
        before, after = rate_of[case, workers], rate_of.get((case, then))
        if after is None:
            good, share = False, "no number"
        elif wanted:
            good = advice is not None and advice["limit"] == wanted[0] and not advice["more_workers_help"] and after < 1.05 * before
            share = f"{100 * (after / before - 1):+.1f} % by twice the workers"
        else:
            good, share = after >= 0.9 * ready, f"{100 * after / ready:.1f} % of ready batches"
        failed += not good
        rows.append({"case": case, "workers": workers, "before": before, "then": then, "after": after, "advice": advice, "good": good})
        after_text = "-" if after is None else f"{after:.1f}"
        print(f"| {case} | {workers} | {before:.1f} | {then} | {after_text} | {share} | {'yes' if good else 'NO'} |")
    print(f"\nready batches: {rates[0]:.1f} and {rates[-1]:.1f} steps/s")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps({"ready": [rates[0], rates[-1]], "rows": rows}, indent=1))
    print(f"{len(rows) - failed} of {len(rows)} as they should be")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
