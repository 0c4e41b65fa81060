# SPDX-License-Identifier: Apache-2.0
"""Another process on the same GPU: two copies of a training loop at once, each recorded, and the same loop alone.

  shared_gpu.py --synctrace PATH --folder DIR [--seconds 8]

Both copies' screens have to say that another process used the GPU, with its share; of the loop alone none of three may. Exit status:
0 when all holds.
"""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import measured_rows  # noqa: E402

LIMIT_S = 120
ALONE_RUNS = 3
SENTENCE = re.compile(r"another process used|other processes used", re.IGNORECASE)


def program(seconds):
    """Steps of some 10 ms: products of matrices, and a value that is read at the end of each."""
    import torch
    matrix, total = torch.randn(4096, 4096, device="cuda"), 0.0
    torch.cuda.synchronize()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for _ in range(4):
            matrix = torch.tanh(matrix @ matrix)
        total += matrix.sum().item()


def start(options, name):
    command = [options.synctrace, "run", "-f", "-o", options.folder / name, "--", sys.executable, __file__, "--program", str(options.seconds)]
    return subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def ended(options, name, run):
    """The first screen and what JSON says of the GPU's use."""
    screen = run.communicate(timeout=LIMIT_S)[1]
    (options.folder / f"{name}.screen.txt").write_text(screen)
    if run.returncode != 0:
        return screen, None
    text = subprocess.run([options.synctrace, "report", "--format", "json", options.folder / f"{name}.synctrace"], capture_output=True,
                          text=True, timeout=LIMIT_S, check=True).stdout
    return screen, json.loads(text)["processes"][0]["devices"][0].get("use")


def faults(name, screen, use, is_shared):
    if use is None:
        yield "NVML was not asked, or said nothing"
        return
    share = use["others_ns"] / use["looked_ns"]
    print(f"  {name}: others {100 * share:.1f} % of {use['looked_ns'] / 1e9:.1f} s, at most {use['others']} at once; "
          f"power {100 * use['power_limited_ns'] / use['looked_ns']:.0f} %, heat {100 * use['thermal_limited_ns'] / use['looked_ns']:.0f} %")
    if bool(SENTENCE.search(" ".join(screen.split()))) != is_shared:
        yield "the screen " + ("says nothing of the other process" if is_shared else "speaks of another process")
    if (use["rule"] == "ST057") != is_shared:
        yield f"the rule is {use['rule']}"


def main():
    if sys.argv[1:2] == ["--program"]:
        return program(float(sys.argv[2]))
    parser = argparse.ArgumentParser()
    parser.add_argument("--synctrace", type=pathlib.Path, required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--seconds", type=float, default=8)
    measured_rows.add_option(parser)
    options = parser.parse_args()
    options.synctrace = options.synctrace.resolve()
    shutil.rmtree(options.folder, ignore_errors=True)
    options.folder.mkdir(parents=True)
    rows, failed = measured_rows.Rows("shared-gpu"), 0
    groups = [(["beside_a", "beside_b"], True)] + [([f"alone_{i}"], False) for i in range(ALONE_RUNS)]
    for names, is_shared in groups:
        runs, before = [(name, start(options, name)) for name in names], failed
        for name, run in runs:
            found = list(faults(name, *ended(options, name, run), is_shared))
            failed += bool(found)
            print(f"{'FAILED' if found else 'ok    '}  {name}  {'; '.join(found)}", flush=True)
        if is_shared:
            rows.add_of("shared-gpu", "wrong screens of two copies at once", failed - before, len(names))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
