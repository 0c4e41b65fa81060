# SPDX-License-Identifier: Apache-2.0
"""What the interposed calls cost when they have nothing to wait for: without the recorder, preloaded in a process that does
not use CUDA, and while recording. The CUDA runtime is the one on LD_LIBRARY_PATH; the simulated GPU's will do.

  host_waits_cost.py LIBRARY PROGRAM [ROUNDS]    PROGRAM: bench_host_waits_calls

Rounds alternate between the three in shuffled order; the figures are the medians of what each round adds to the plain call.
"""
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import measured_rows  # noqa: E402

IDLE_LIMIT_NS, RECORDING_LIMIT_NS = 5, 40


def run(program, library=None, cuda=False):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SYNCTRACE_")}
    environment.pop("LD_PRELOAD", None)
    with tempfile.TemporaryDirectory() as folder:
        if library:
            environment.update(LD_PRELOAD=library, SYNCTRACE_OUTPUT=os.path.join(folder, "trace"), SYNCTRACE_QUIET="1")
        done = subprocess.run([program] + (["--cuda"] if cuda else []), env=environment, stdout=subprocess.PIPE, text=True,
                              check=True, timeout=300)
    return {name: float(ns) for name, ns in (line.rsplit(" ", 1) for line in done.stdout.splitlines())}


def main():
    library, program = (os.path.abspath(path) for path in sys.argv[1:3])
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 15
    kinds = {"plain": {"cuda": True}, "idle": {"library": library}, "recording": {"library": library, "cuda": True}}
    results = {kind: [] for kind in kinds}
    order = random.Random(1)
    for _ in range(rounds):
        for kind in order.sample(list(kinds), len(kinds)):
            results[kind].append(run(program, **kinds[kind]))
    print(f"{'ns per call':<24} {'plain':>8} {'+ before CUDA':>14} {'+ recording':>12}")
    worst = {"idle": 0.0, "recording": 0.0}
    for name in results["plain"][0]:
        plain = [round_[name] for round_ in results["plain"]]
        more = {kind: statistics.median(with_us[name] - without for with_us, without in zip(results[kind], plain))
                for kind in worst}
        worst = {kind: max(worst[kind], more[kind]) for kind in worst}
        print(f"{name:<24} {statistics.median(plain):>8.1f} {more['idle']:>14.1f} {more['recording']:>12.1f}")
    measured_rows.Rows("cost", simulated=True).add("parts", "an interposed call while recording, the dearest", f"{worst['recording']:.1f}", "ns", n=rounds)
    print(f"most: {worst['idle']:.1f} ns before CUDA (limit {IDLE_LIMIT_NS}), {worst['recording']:.1f} ns while recording "
          f"(limit {RECORDING_LIMIT_NS}); {rounds} rounds")
    return worst["idle"] > IDLE_LIMIT_NS or worst["recording"] > RECORDING_LIMIT_NS


if __name__ == "__main__":
    sys.exit(main())
