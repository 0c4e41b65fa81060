# SPDX-License-Identifier: Apache-2.0
"""What recording costs a program that keeps its GPU busy: whole runs in turns on one GPU, bare, recorded and profiled.

  gpu_bound_cost.py --synctrace PATH --out DIR [--rounds 4] [--steps 150] [--time-limit S] [NAME...]

A GPU that is the limit gives the same time twice within 0.2 %, so runs one after the other can be compared. A run's figure is what the
program prints: milliseconds a step, from a fifth of its steps on. Each round has each mode once, in a random order. Rows go to
DIR/gpu_bound_cost.json, a table to stdout. Exit status 77 without a GPU.
"""
import argparse
import json
import math
import pathlib
import random
import re
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import measured_rows  # noqa: E402

STEP = re.compile(r"ms/step=([0-9.]+)")
PROFILED = """
import runpy, sys, torch
sys.argv = sys.argv[1:]
with torch.profiler.profile():
    runpy.run_path(sys.argv[0], run_name="__main__")
"""


def commands(options, name):
    program = [sys.executable, str(HERE / "gpu_bound" / f"{name}.py"), "--steps", str(options.steps)]
    recorded = [options.synctrace, "run", "--quiet", "--report=none", "-f", "-o", str(options.out / f"{name}.synctrace")]
    return {"bare": program, "syncs": [*recorded, "--level", "syncs", "--", *program], "timeline": [*recorded, "--", *program],
            "torch.profiler": [sys.executable, "-c", PROFILED, *program[1:]]}


def step_ms(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=True)
    return float(STEP.search(done.stdout).group(1))


def compared(times):
    """mode -> (median ratio to the bare run of its round, standard error of the mean ratio)"""
    result = {}
    for mode in times:
        ratios = [one / bare for one, bare in zip(times[mode], times["bare"])]
        if mode != "bare" and len(ratios) > 1:
            result[mode] = statistics.median(ratios), statistics.stdev(ratios) / math.sqrt(len(ratios)), len(ratios)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=["gpt", "resnet50"])
    parser.add_argument("--synctrace", required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--time-limit", type=float, default=500)
    measured_rows.add_option(parser)
    options = parser.parse_intermixed_args()
    if subprocess.run(["nvidia-smi", "-L"], capture_output=True, check=False).returncode != 0:
        print("no GPU here")
        return 77
    options.out.mkdir(parents=True, exist_ok=True)
    end, all_times = time.monotonic() + options.time_limit, {name: {} for name in options.names}
    for _ in range(options.rounds):
        for name in options.names:
            if time.monotonic() > end - 60:
                break  # a round is whole, or it does not count
            modes = list(commands(options, name).items())
            random.shuffle(modes)
            for mode, command in modes:
                all_times[name].setdefault(mode, []).append(step_ms(command))
            (options.out / "gpu_bound_cost.json").write_text(json.dumps(all_times, indent=1), encoding="utf-8")
    added = measured_rows.Rows("cost")
    for name, times in all_times.items():
        for mode, (ratio, error, count) in compared(times).items():
            added.add("gpu-bound", f"{mode} beside bare: {name}", f"{ratio:.4f}", "", f"{error:.4f}", count)
            print(f"{name}: {mode} {ratio:.4f} ({error:.4f}; {count} runs), bare {statistics.median(times['bare']):.3f} ms a step")
    return 0


if __name__ == "__main__":
    sys.exit(main())
