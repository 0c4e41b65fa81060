# SPDX-License-Identifier: Apache-2.0
"""A reaction and diffusion of two fields is simulated in CuPy, with diffusion by FFT. The reaction is a chain of 21
operations on whole arrays, each a kernel of its own that reads and writes the GPU's memory."""
import argparse
import time

import cupy

SIZE, STEP = 4096, 0.05


def react(u, v):
    cubic = u * u * u * (1.0 / 3.0)
    rate = 0.02 + 0.06 / (1.0 + cupy.exp(-5.0 * u))
    du = u - cubic - v + 0.5
    dv = rate * (u + 0.7 - 0.8 * v)
    u = cupy.maximum(u + STEP * du, -3.0)
    v = cupy.minimum(v + STEP * dv, 3.0)
    return u, v


def diffuse(field, decay):
    return cupy.fft.irfft2(cupy.fft.rfft2(field) * decay, s=field.shape)


def decay_of(diffusivity):
    ky = 2.0 * cupy.pi * cupy.fft.fftfreq(SIZE)[:, None]
    kx = 2.0 * cupy.pi * cupy.fft.rfftfreq(SIZE)[None, :]
    return cupy.exp(-diffusivity * STEP * (kx * kx + ky * ky)).astype(cupy.float32)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=400)
    steps = parser.parse_args().steps
    random = cupy.random.RandomState(0)
    u = random.standard_normal((SIZE, SIZE), dtype=cupy.float32)
    v = 0.5 * random.standard_normal((SIZE, SIZE), dtype=cupy.float32)
    decay_u, decay_v = decay_of(1.0), decay_of(0.1)
    for step in range(steps):
        if step == steps // 5:
            cupy.cuda.Device().synchronize()
            start = time.perf_counter()
        u, v = diffuse(u, decay_u), diffuse(v, decay_v)
        u, v = react(u, v)
    cupy.cuda.Device().synchronize()
    print("ms/step=%.4f" % (1e3 * (time.perf_counter() - start) / (steps - steps // 5)))
    print("result=%.6g %.6g" % (float((u * u).mean()), float((v * v).mean())))


if __name__ == "__main__":
    main()
