# SPDX-License-Identifier: Apache-2.0
"""One run of PyTorch workloads under one tool, from start to a readable answer; one line of JSON at the end.

  torch_run.py TOOL FOLDER [--workloads eager_step,...] [--seconds S | --steps N]

TOOL: none (also for what comes from outside: synctrace, nsys), profiler, profiler-stacks, proton. FOLDER gets what the tool
writes. STARTED_NS in the environment is CLOCK_MONOTONIC at the start of the process.
"""
import argparse
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import time

started_ns = int(os.environ.get("STARTED_NS", time.monotonic_ns()))

import torch  # noqa: E402 (the time to import it counts)

from torch_steps import WORKLOADS, window_ms  # noqa: E402

TABLE_ROWS = 20


def seconds_since_start():
    return (time.monotonic_ns() - started_ns) / 1e9


class Timed(dict):
    """Seconds by name of what was done."""

    @contextlib.contextmanager
    def __call__(self, name):
        start = time.perf_counter()
        yield
        self[name] = round(time.perf_counter() - start, 4)


class NoTool:
    def __init__(self, folder, timed):
        self.folder, self.timed = folder, timed

    def start(self):
        pass

    def stop(self):
        pass

    def kernels(self):
        return None


class Profiler(NoTool):
    with_stack = False

    def start(self):
        activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
        self.profile = torch.profiler.profile(activities=activities, with_stack=self.with_stack)
        with self.timed("start_s"):
            self.profile.start()

    def stop(self):
        with self.timed("stop_s"):
            self.profile.stop()
        with self.timed("table_s"):
            self.profile.key_averages().table(sort_by="cpu_time_total", row_limit=TABLE_ROWS)
        with self.timed("export_s"):
            self.profile.export_chrome_trace(str(self.folder / "trace.json"))

    def kernels(self):
        return (self.folder / "trace.json").read_bytes().count(b'"cat": "kernel"')


class ProfilerWithStacks(Profiler):
    with_stack = True


class Proton(NoTool):
    def start(self):
        import triton.profiler
        self.proton = triton.profiler
        with self.timed("start_s"):
            self.proton.start(str(self.folder / "proton"))

    def stop(self):
        with self.timed("stop_s"):
            self.proton.finalize()
        with self.timed("table_s"):  # what its command line prints; needs pandas and hatchet
            words = [sys.executable, "-m", "triton.profiler.viewer", "-m", "time/ms", str(self.folder / "proton.hatchet")]
            self.viewer_status = subprocess.run(words, capture_output=True, timeout=60, check=False).returncode
        if self.viewer_status != 0:
            self.timed["table_s"] = None


TOOLS = {"none": NoTool, "profiler": Profiler, "profiler-stacks": ProfilerWithStacks, "proton": Proton}


def peak_resident_kib():
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    return 0


def run_workload(workload, seconds, steps):
    """(steps done, ms of one). With `seconds`, whole windows until they are over."""
    run = workload.make()
    window_ms(run, 3)
    if steps:
        return steps, window_ms(run, steps)
    times = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        times.append(window_ms(run, workload.steps))
    return len(times) * workload.steps, sum(times) / len(times)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool", choices=sorted(TOOLS))
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--workloads", default="eager_step")
    parser.add_argument("--seconds", type=float, default=0.7)
    parser.add_argument("--steps", type=int, default=0)
    options = parser.parse_args()
    row = {"tool": options.tool, "imported_s": round(seconds_since_start(), 3)}
    torch.manual_seed(0)
    torch.zeros(1, device="cuda")
    torch.cuda.synchronize()
    row["cuda_s"] = round(seconds_since_start(), 3)
    tool = TOOLS[options.tool](options.folder, Timed())
    tool.start()
    row["steps"], row["step_ms"] = {}, {}
    for workload in WORKLOADS:
        if workload.name in options.workloads.split(","):
            steps, step_ms = run_workload(workload, options.seconds, options.steps)
            row["steps"][workload.name], row["step_ms"][workload.name] = steps, round(step_ms, 4)
    row["resident_kib"] = peak_resident_kib()
    tool.stop()
    row.update(tool.timed)
    row["resident_at_end_kib"] = peak_resident_kib()
    row["bytes"] = sum(path.stat().st_size for path in options.folder.iterdir() if path.is_file())
    row["kernels"] = tool.kernels()
    row["ended_ns"] = time.monotonic_ns()
    print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
