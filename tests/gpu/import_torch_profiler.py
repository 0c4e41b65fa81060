# SPDX-License-Identifier: Apache-2.0
"""One training loop, recorded twice: by `synctrace run`, and by torch.profiler, whose JSON is then imported. CUPTI has one
subscriber, so in two processes, three times in turns. Shown: per step, the medians of both say the same of how long the device was
idle and busy, within 2 % of the step; and of the import with_stack=True, that its waits have the program's functions.

The loop waits for each step's loss and then keeps the host from it for a fixed time, which is the idle time to be found; its kernels
are long enough that no profiler's own cost shows between them, and its copy is from pinned memory: a pageable one takes as long as the
host's processor does, which differs between processes by more than those 2 %.

import_torch_profiler.py --synctrace PATH [--steps N] [--folder DIR]
Exit status: 0 all agrees, 1 not so, 77 no PyTorch with CUDA.
"""
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

WARM_UP = 10
HOST_S = 0.004
RANGE = "train_step"
TOLERANCE = 0.02  # share of the step
ROUNDS = 3


def loop(steps, ranges):
    """`ranges`: opens the range of a step."""
    import torch
    from torch import nn

    def training_step(inputs, targets):
        loss = nn.functional.mse_loss(model(inputs.to("cuda")), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(HOST_S)  # beside the device's work
        value = loss.item()
        time.sleep(HOST_S)  # while the device has none
        return value

    torch.manual_seed(0)
    width = 4096
    model = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    inputs, targets = torch.randn(width, width, pin_memory=True), torch.randn(width, width, device="cuda")
    for _ in range(steps):
        with ranges(RANGE):
            training_step(inputs, targets)
    torch.cuda.synchronize()


def child(options):
    import torch
    if options.child == "alone":
        loop(WARM_UP, lambda name: torch.autograd.profiler.record_function("warm_up"))
        loop(options.steps, torch.cuda.nvtx.range)
        return
    loop(WARM_UP, lambda name: torch.autograd.profiler.record_function("warm_up"))
    kinds = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=kinds, with_stack=options.child == "stacks") as profiler:
        loop(options.steps, torch.profiler.record_function)
    profiler.export_chrome_trace(options.json)


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], check=False, text=True, timeout=280, stdout=subprocess.PIPE, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} ended with status {done.returncode}")
    return done.stdout


class Figures:
    """What a recording's report says about the step's range, per step, in ms."""

    def __init__(self, report):
        self.report = report
        row, = [one for one in report["nvtx_ranges"] if one["name"] == RANGE]
        self.count = row["count"]
        self.step, self.idle, self.busy = (row[key] / row["count"] / 1e6 for key in ("host_ns", "idle_ns", "busy_ns"))

    def __str__(self):
        return f"{self.count} | {self.step:.3f} | {self.busy:.3f} | {self.idle:.3f} | {100 * self.idle / self.step:.2f} %"


def median(recordings, key):
    return statistics.median(getattr(one, key) for one in recordings)


def compare(ours, theirs, name, steps):
    problems = []
    for key in ("idle", "busy"):
        difference = abs(median(ours, key) - median(theirs, key)) / median(ours, "step")
        case = f"torch.profiler, same loop {name.replace('imported with', 'imported, with')}: {key} time of the step differs"
        measured_rows.Rows("causes").add("other-tools", case, f"{100 * difference:.2f}", "%")
        print(f"{name}: {key} differs by {100 * difference:.2f} % of the step")
        if difference > TOLERANCE:
            problems.append(f"{name}: the device's {key} time differs by more than {100 * TOLERANCE:.0f} % of the step")
    counts = {one.count for one in ours + theirs}
    return problems + ([f"{name}: {counts} steps of {steps}"] if counts != {steps} else [])


def check_stacks(report):
    """The wait that the loop is made of has the function that it is in."""
    places = [(pathlib.PurePath(wait["file"] or "").name, wait["function"]) for wait in report["waits"] if wait["blocked_count"]]
    wanted = (pathlib.PurePath(__file__).name, "training_step")
    return [] if wanted in places else [f"with stacks: no wait at {wanted}, but at {places}"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--synctrace")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--folder", help="where the recordings stay; else they go")
    parser.add_argument("--child", choices=("alone", "profiler", "stacks"))
    parser.add_argument("--json")
    measured_rows.add_option(parser)
    options = parser.parse_args()
    if options.child:
        return child(options)
    if subprocess.run([sys.executable, "-c", "import torch, sys; sys.exit(not torch.cuda.is_available())"], check=False,
                      stderr=subprocess.DEVNULL).returncode != 0:
        print("no PyTorch with CUDA")
        return 77
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(options.folder or temporary)
        os.makedirs(folder, exist_ok=True)
        return show(options, folder)


def record(options, folder, name):
    """One recording of the loop, and what our report says of it."""
    program = [sys.executable, __file__, "--steps", options.steps, "--child", name]
    trace = folder / f"{name}.synctrace"
    if name == "alone":
        run(options.synctrace, "run", "--force-overwrite", "--report=none", "-o", trace, "--", *program)
    else:
        profile = folder / f"{name}.json"
        run(*program, "--json", profile)
        run(options.synctrace, "import", profile, "--force-overwrite", "-o", trace)
    return Figures(json.loads(run(options.synctrace, "report", "--format", "json", trace))["processes"][0])


def show(options, folder):
    recorded_by = {"alone": "synctrace", "profiler": "torch.profiler", "stacks": "torch.profiler, with_stack"}
    print("| recorded by | steps | step, ms | device busy, ms | device idle, ms | idle |\n|---|---|---|---|---|---|")
    recordings = {name: [] for name in recorded_by}
    for _ in range(ROUNDS):
        for name, of_name in recordings.items():
            of_name.append(record(options, folder, name))
            print(f"| {recorded_by[name]} | {of_name[-1]} |", flush=True)
    print()
    problems = compare(recordings["alone"], recordings["profiler"], "imported", options.steps)
    problems += compare(recordings["alone"], recordings["stacks"], "imported with stacks", options.steps)
    problems += check_stacks(recordings["stacks"][-1].report)
    for problem in problems:
        print(problem)
    print("FAILED" if problems else "all agrees")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
