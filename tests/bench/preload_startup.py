# SPDX-License-Identifier: Apache-2.0
"""What preloading the recorder costs a process that never uses CUDA: start to end, alternating with and without it.

  preload_startup.py LIBRARY PROGRAM [PAIRS]

Prints the medians in microseconds, and the median of the differences within each pair.
"""
import os
import pathlib
import random
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import measured_rows  # noqa: E402


def wall_us(program, environment):
    start = time.perf_counter_ns()
    child = os.posix_spawn(program, [program], environment)
    _, status = os.waitpid(child, 0)
    if status != 0:
        sys.exit(f"{program} ended with status {status}")
    return (time.perf_counter_ns() - start) / 1000


def main():
    library, program = (os.path.abspath(path) for path in sys.argv[1:3])
    pairs = int(sys.argv[3]) if len(sys.argv) > 3 else 500
    plain = dict(os.environ)
    preloaded = {**plain, "LD_PRELOAD": library}
    order_of = random.Random(1)
    with_us, without_us = [], []
    for _ in range(pairs):
        order = [(plain, without_us), (preloaded, with_us)]
        order_of.shuffle(order)
        for environment, samples in order:
            samples.append(wall_us(program, environment))
    more = statistics.median(a - b for a, b in zip(with_us, without_us))
    measured_rows.Rows("cost", gpus=0).add("disk", "a program without CUDA: starts later by", f"{more / 1000:.2f}", "ms", n=pairs)
    print(f"without {statistics.median(without_us):.0f} us, preloaded {statistics.median(with_us):.0f} us, "
          f"difference {more:.0f} us (medians of {pairs} pairs)")


if __name__ == "__main__":
    main()
