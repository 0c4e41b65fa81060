# SPDX-License-Identifier: Apache-2.0
"""A loop in CuPy whose steps are known: step_shapes_cupy.py SHAPE, like step_shapes_torch.py."""
import sys

import cupy
from truth import Phase, tell

smooth = cupy.RawKernel("""
extern "C" __global__ void smooth(const float* from, float* to, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > 0 && i + 1 < count) to[i] = 0.25f * from[i - 1] + 0.5f * from[i] + 0.25f * from[i + 1];
}""", "smooth")


def sweep():
    count = 1 << 20
    old, new = cupy.random.rand(count, dtype=cupy.float32), cupy.zeros(count, cupy.float32)
    arguments = ((count + 255) // 256,), (256,)
    smooth(*arguments, (old, new, cupy.int32(count)))  # compiled before the loop
    error, turns, phase = 1.0, 0, Phase("sweep", __file__)
    with phase:
        while error >= 0.0 and turns < 300:  # loop: sweep
            for _ in range(8):
                smooth(*arguments, (old, new, cupy.int32(count)))
                old, new = new, old
            residual = cupy.abs(new - old).max()
            turns += 1
            if turns % 5 == 0:
                error = float(residual)
            phase.step()


def stages():
    """A time step of four stages, each of the same operations."""
    state, phase = cupy.random.rand(1 << 18, dtype=cupy.float32), Phase("stages", __file__)
    slope = state * 0.5 - cupy.sin(state)
    with phase:
        for _ in range(150):  # loop: stages
            total = cupy.zeros_like(state)
            for weight in (1, 2, 2, 1):
                slope = (state + 0.01 * slope) * 0.5 - cupy.sin(state)
                total += weight * slope
            state = state + 0.001 * total
            float(cupy.abs(total).max())
            phase.step()


{"sweep": sweep, "stages": stages}[sys.argv[1]]()
tell()
