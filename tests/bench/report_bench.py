# SPDX-License-Identifier: Apache-2.0
"""From a trace file to its report: events per second, memory per event, and whether the cost grows linearly.

  report_bench.py FOLDER [RECORDS...]      FOLDER: the programs of a build (build/release/bin); default 1, 5 and 20 million

For each size a trace is written, the command `synctrace report` is run three times, and the fastest run is shown. Fails when
the largest trace falls short of 5 million events a second of elapsed time, or takes more than 64 bytes of memory for an event.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import measured_rows  # noqa: E402

RUNS = 3
FEWEST_PER_SECOND = 5e6
MOST_BYTES = 64


def run(command):
    begin = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{command[0]} ended with {child.returncode}")
    return time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def main():
    folder = sys.argv[1]
    sizes = [int(size) for size in sys.argv[2:]] or [1_000_000, 5_000_000, 20_000_000]
    print(f"{'records':>11} {'file, MB':>9} {'elapsed, s':>11} {'CPU, s':>8} {'M records/s':>12} {'(CPU)':>7} {'peak, MB':>9} {'B/record':>9}")
    rows = measured_rows.Rows("speed", gpus=0)
    with tempfile.TemporaryDirectory() as scratch:
        trace = os.path.join(scratch, "training.synctrace")
        for records in sizes:
            subprocess.run([os.path.join(folder, "training_trace"), str(records), trace], check=True)
            wall, cpu, peak = min(run([os.path.join(folder, "synctrace"), "report", trace]) for _ in range(RUNS))
            print(f"{records:>11,} {os.path.getsize(trace) / 1e6:>9.1f} {wall:>11.2f} {cpu:>8.2f} {records / wall / 1e6:>12.2f} "
                  f"{records / cpu / 1e6:>7.2f} {peak / 1e6:>9.1f} {peak / records:>9.1f}", flush=True)
            rows.add("report", f"{records / 1e6:g} M records: time", f"{wall:.2f}", "s", n=RUNS)
        rows.add("report", f"{records / 1e6:g} M records: records a second", f"{records / wall / 1e6:.2f}", "million/s", n=RUNS)
        rows.add("report", f"{records / 1e6:g} M records: memory a record", f"{peak / records:.1f}", "B")
        subprocess.run([os.path.join(folder, "report_phases"), trace], check=True)
    return records / wall < FEWEST_PER_SECOND or peak / records > MOST_BYTES


if __name__ == "__main__":
    sys.exit(main())
