# SPDX-License-Identifier: Apache-2.0
"""What samples cost, by the recorder's own account: CPU time of its sampling thread and of the handler of its signals, in
percent of one core. The target: at most 0.5 % at the default rate.

  sampling_cost.py LIBRARY SIMGPU_FOLDER [SECONDS] [SYNCTRACE]

LIBRARY is libsynctrace.so, SYNCTRACE the command line (beside it in ../bin by default). The programs: a Python thread that computes at
depth 20; one that sleeps and computes by turns; four threads of Python that compute under one GIL.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import measured_rows  # noqa: E402

PROGRAM = """\
import ctypes, sys, threading, time
runtime = ctypes.CDLL("libcudart.so.13")
kind, seconds = sys.argv[1], float(sys.argv[2])
end = time.monotonic() + seconds

def use_cuda():
    pointer = ctypes.c_void_p()
    runtime.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(64))
    runtime.cudaFree(pointer)

def compute(until):
    total = 0
    while time.monotonic() < until:
        for number in range(200):
            total += number

def alternate():
    while time.monotonic() < end:
        compute(min(end, time.monotonic() + 0.003))
        time.sleep(0.003)

def deep(depth, function):
    if depth:
        return deep(depth - 1, function)
    return function()

def thread():
    use_cuda()
    deep(18, lambda: compute(end))

use_cuda()
if kind == "computes":
    deep(18, lambda: compute(end))
elif kind == "alternates":
    deep(18, alternate)
else:
    threads = [threading.Thread(target=thread) for _ in range(4)]
    for each in threads: each.start()
    for each in threads: each.join()
"""


def facts_of(synctrace, trace):
    text = subprocess.run([synctrace, "dump", trace], check=True, capture_output=True, text=True, errors="replace").stdout
    facts = dict(re.findall(r'^fact key="(sampling\.\w+)" value="(\d+)"', text, re.M))
    samples = sum(int(count) for count in re.findall(r"^sample .* count=(\d+)", text, re.M))
    return {key: int(value) for key, value in facts.items()}, samples


def main():
    library, simgpu = (os.path.abspath(path) for path in sys.argv[1:3])
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 10
    synctrace = sys.argv[4] if len(sys.argv) > 4 else str(pathlib.Path(library).parents[1] / "bin" / "synctrace")
    print("program     rate  samples  signals  thread   handler  per signal   together")
    with tempfile.TemporaryDirectory() as folder:
        script = pathlib.Path(folder) / "program.py"
        script.write_text(PROGRAM)
        for kind in ("computes", "alternates", "four"):
            for rate in (100, 1000):
                trace = pathlib.Path(folder) / f"{kind}-{rate}"
                environment = {**os.environ, "LD_PRELOAD": library, "LD_LIBRARY_PATH": simgpu, "SYNCTRACE_OUTPUT": str(trace),
                               "SYNCTRACE_SAMPLE_RATE": str(rate), "SYNCTRACE_QUIET": "1"}
                subprocess.run([sys.executable, str(script), kind, str(seconds)], env=environment, check=True)
                facts, samples = facts_of(synctrace, f"{trace}.synctrace")
                thread, handler, signals = (facts[f"sampling.{name}"] for name in ("thread_ns", "signal_ns", "signals"))
                share = 100 / (seconds * 1e9)
                measured_rows.Rows("cost", simulated=True).add("parts", f"samples at {rate} Hz, {kind}, of one core", f"{(thread + handler) * share:.2f}", "%")
                print(f"{kind:10} {rate:5}  {samples:7}  {signals:7}  {thread * share:5.2f} %  {handler * share:5.2f} %  "
                      f"{handler / max(1, signals) / 1000:7.1f} us   {(thread + handler) * share:5.2f} %", flush=True)


main()
