# SPDX-License-Identifier: Apache-2.0
"""Heat spreads over a plate in implicit time steps, each solved by conjugate gradients in CuPy. The solver reads the
norm of the residual in every iteration, so the GPU runs dry each time."""
import argparse
import time

import cupy

SIZE, COEFFICIENT, TOLERANCE = 1536, 1.5, 2.5e-3

apply_operator = cupy.ElementwiseKernel(
    "T center, raw T x, int32 n, T c", "T y",
    """
    const int row = i / n, column = i % n;
    T around = 0;
    if (row > 0) around += x[i - n];
    if (row < n - 1) around += x[i + n];
    if (column > 0) around += x[i - 1];
    if (column < n - 1) around += x[i + 1];
    y = center + c * (4 * center - around);
    """, "apply_operator")


def solve(b, x):
    r = b - apply_operator(x, x, SIZE, COEFFICIENT)
    p = r.copy()
    rr = r.dot(r)
    for iteration in range(200):
        ap = apply_operator(p, p, SIZE, COEFFICIENT)
        alpha = rr / p.dot(ap)
        x = x + alpha * p
        r -= alpha * ap
        if float(cupy.linalg.norm(r)) < TOLERANCE:
            break
        rr_next = r.dot(r)
        p = r + (rr_next / rr) * p
        rr = rr_next
    return x


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=200)
    steps = parser.parse_args().steps
    random = cupy.random.RandomState(0)
    sources = [random.standard_normal(SIZE * SIZE) for _ in range(8)]
    heat = cupy.zeros(SIZE * SIZE)
    for step in range(steps):
        if step == steps // 5:
            cupy.cuda.Device().synchronize()
            start = time.perf_counter()
        heat = solve(heat + sources[step % len(sources)], heat)
    cupy.cuda.Device().synchronize()
    print("ms/step=%.4f" % (1e3 * (time.perf_counter() - start) / (steps - steps // 5)))
    print("result=%.6g" % float(cupy.linalg.norm(heat)))


if __name__ == "__main__":
    main()
