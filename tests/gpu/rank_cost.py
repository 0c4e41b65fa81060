# SPDX-License-Identifier: Apache-2.0
"""What recording costs a job of two ranks, by windows inside its processes, with NCCL telling of its operations (as it does
by itself) and without (NCCL_NVTX_DISABLE=1): the difference is what their capture costs.

  rank_cost.py --library libsynctrace.so --folder FOLDER [--steps N]

Prints a table: medians of ratios of windows of one round, with standard errors. Exit status 77 without two GPUs."""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import measured_rows  # noqa: E402

PROGRAM = pathlib.Path(__file__).resolve().with_name("rank_programs.py")
PATIENCE_S = 150
TO_ERROR = 1.2533  # the error of a median is this times the standard deviation over the root of the count


def run(options, pattern, tells, port):
    ranks = []
    for rank in range(2):
        environment = dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port),
                           LD_PRELOAD=str(options.library), SYNCTRACE_TEST_CONTROL="1", SYNCTRACE_FORCE_OVERWRITE="1", SYNCTRACE_REPORT="none",
                           SYNCTRACE_OUTPUT=str(options.folder / f"cost.{pattern}.{rank}"), NCCL_NVTX_DISABLE="0" if tells else "1")
        if tells:
            del environment["NCCL_NVTX_DISABLE"]
        ranks.append(subprocess.Popen([sys.executable, "-B", str(PROGRAM), pattern, "windows", "--steps", str(options.steps)],
                                      env=environment, stdout=subprocess.PIPE, text=True))
    results = [process.communicate(timeout=PATIENCE_S)[0] for process in ranks]
    if any(process.returncode for process in ranks):
        raise RuntimeError(f"{pattern}: status {[process.returncode for process in ranks]}")
    return json.loads(next(line for line in results[0].splitlines() if line.startswith("{")))


def cell(values):
    return f"{statistics.median(values):.4f} ({TO_ERROR * statistics.stdev(values) / len(values) ** 0.5:.4f})"


def add_rows(name, tells, off_us, ratios):
    rows = measured_rows.Rows("ranks", gpus=2)
    case = f"{name.replace('a step', 'a step of DDP')}, NCCL tells {'of its operations' if tells else 'nothing'}"
    rows.add("cost", f"{case}: off", *((f"{off_us / 1000:.2f}", "ms") if off_us >= 1000 else (f"{off_us:.1f}", "us")), n=len(ratios[0]))
    for base, values in zip(("off", "bare CUPTI"), ratios):
        value, _, error = cell(values).rstrip(")").partition(" (")
        rows.add("cost", f"{case}: timeline to {base}", value, error=error, n=len(values))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=pathlib.Path, required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--steps", type=int, default=15)
    measured_rows.add_option(parser)
    options = parser.parse_args()
    listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False)
    if listed.stdout.count("GPU ") < 2:
        print("there are not two GPUs here")
        return 77
    options.folder.mkdir(parents=True, exist_ok=True)
    print("| window | NCCL tells | off | `timeline` to off | `timeline` to bare CUPTI | rounds |\n|---|---|---|---|---|---|")
    for number, tells in enumerate((True, False)):
        seconds = run(options, "ddp", tells, 29500 + number)
        for what, modes in seconds.items():
            off = 1e6 * statistics.median(modes["off"])
            ratios = [[one / other for one, other in zip(modes["timeline"], modes[base])] for base in ("off", "cupti-only")]
            name = "a step" if what == "steps" else "an all-reduce of four bytes"
            add_rows(name, tells, off, ratios)
            print(f"| {name} | {'yes' if tells else 'no'} | {off:.1f} us | {cell(ratios[0])} | {cell(ratios[1])} | {len(ratios[0])} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
