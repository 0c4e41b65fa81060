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


{"sweep": sweep}[sys.argv[1]]()
tell()
