# SPDX-License-Identifier: Apache-2.0
"""What a tool costs PyTorch workloads, by alternating windows inside one process; one line of JSON for each workload.

  torch_windows.py TOOL [--seconds S] [--rounds N] [--only WORKLOAD] [--duty ON_MS/PERIOD_MS | --modes MARK,...]

TOOL: synctrace (preloaded, with SYNCTRACE_TEST_CONTROL=1; its modes are switched by NVTX marks), profiler (torch.profiler) or
proton (Triton's; started and finalized for each window). S is for each workload, twice for the first. Starting and stopping a tool is outside of
the windows and reported for itself. Only one of them can hold CUPTI in a process. Where bare CUPTI is among the modes, the others are
compared to it, too, within each round.
"""
import argparse
import json
import os
import statistics
import sys
import tempfile
import time

import torch

import alternation
from torch_steps import WORKLOADS, window_ms


class Synctrace:
    modes = ["off", "cupti-only", "syncs", "timeline"]  # or others of docs/overhead.md; the first is what they are compared to

    @staticmethod
    def window(mode, workload, run):
        torch.cuda.nvtx.mark("synctrace:" + mode)
        window_ms(run, 1)  # the first step after a switch pays for the switch
        return window_ms(run, workload.steps)


class Profiler:
    modes = ["off", "torch.profiler", "torch.profiler with stacks"]

    def __init__(self):
        self.start_ms, self.stop_ms = [], []

    def window(self, mode, workload, run):
        if mode == "off":
            window_ms(run, 1)
            return window_ms(run, workload.steps)
        activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
        profile = torch.profiler.profile(activities=activities, with_stack=mode.endswith("stacks"))
        start = time.perf_counter()
        profile.start()
        self.start_ms.append(1000 * (time.perf_counter() - start))
        window_ms(run, 1)
        took_ms = window_ms(run, workload.steps)
        start = time.perf_counter()
        profile.stop()
        self.stop_ms.append(1000 * (time.perf_counter() - start))
        return took_ms


class Proton:
    modes = ["off", "proton"]

    def __init__(self):
        import triton.profiler
        self.proton = triton.profiler
        self.start_ms, self.stop_ms = [], []
        self.folder = tempfile.TemporaryDirectory(prefix="synctrace-proton-")

    def window(self, mode, workload, run):
        if mode == "off":
            window_ms(run, 1)
            return window_ms(run, workload.steps)
        start = time.perf_counter()
        self.proton.start(os.path.join(self.folder.name, "window"))
        self.start_ms.append(1000 * (time.perf_counter() - start))
        window_ms(run, 1)
        took_ms = window_ms(run, workload.steps)
        start = time.perf_counter()
        self.proton.finalize()
        self.stop_ms.append(1000 * (time.perf_counter() - start))
        return took_ms


TOOLS = {"synctrace": Synctrace, "profiler": Profiler, "proton": Proton}


def duty_windows(workload, run, on_s, period_s):
    """Windows of one whole period: without the recorder, at level syncs, and with the timeline for the first part, both switches of it
    included. It is the program's thread that switches here; `--duty` leaves that to the recorder's own."""
    def period(first, rest):
        def window():
            torch.cuda.nvtx.mark("synctrace:" + rest)
            window_ms(run, workload.block)
            start = time.perf_counter()
            mode, steps = rest, 0
            if first != rest:
                mode = first
                torch.cuda.nvtx.mark("synctrace:" + first)
            while (passed_s := time.perf_counter() - start) < period_s:
                if mode != rest and passed_s >= on_s:
                    mode = rest
                    torch.cuda.nvtx.mark("synctrace:" + rest)
                window_ms(run, workload.block)
                steps += workload.block
            return 1000 * (time.perf_counter() - start) / steps
        return window

    return {"off": period("off", "off"), "duty": period("timeline", "syncs")}


def show(**row):
    print(json.dumps(row), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool", choices=sorted(TOOLS))
    parser.add_argument("--seconds", type=float, default=9)
    parser.add_argument("--rounds", type=int, default=alternation.MOST_ROUNDS, help="at most so many")
    parser.add_argument("--only", help="one workload")
    parser.add_argument("--duty", default="50/500")
    parser.add_argument("--modes", help="marks for the recorder, separated by commas, as in 'off,timeline,timeline -stacks'")
    options = parser.parse_args()
    on_s, period_s = (float(part) / 1000 for part in options.duty.split("/"))
    torch.manual_seed(0)
    tool = TOOLS[options.tool]()
    modes = options.modes.split(",") if options.modes else tool.modes
    for workload in WORKLOADS:
        if options.only not in (None, workload.name):
            continue
        seconds = options.seconds * workload.share
        if options.tool == "synctrace":
            torch.cuda.nvtx.mark("synctrace:timeline")  # else a graph that is made now would not be noticed
        run = workload.make()
        window_ms(run, 5)
        windows = {mode: (lambda mode=mode: tool.window(mode, workload, run)) for mode in modes}
        times = alternation.alternate(windows, seconds, options.rounds)
        compared = alternation.compare(times, modes[0])
        more = {"over_bare": alternation.compare(times, "cupti-only")} if "cupti-only" in modes else {}
        if options.tool == "synctrace" and not options.modes:
            duty = alternation.alternate(duty_windows(workload, run, on_s, period_s), seconds)
            compared["duty"] = {**alternation.compare(duty, "off")["duty"], "on_ms": 1000 * on_s, "period_ms": 1000 * period_s}
        elif options.tool != "synctrace":
            more = {"first_start_ms": round(tool.start_ms[0], 1), "stop_ms": round(statistics.median(tool.stop_ms), 1)}
        show(part="windows", tool=options.tool, workload=workload.name, modes=compared, torch=torch.__version__,
             device=torch.cuda.get_device_name(0), **more)
        del run
    if options.tool == "synctrace":
        torch.cuda.nvtx.mark("synctrace:timeline")


if __name__ == "__main__":
    sys.exit(main())
