# SPDX-License-Identifier: Apache-2.0
"""CuPy: kernels compiled at run time, streams, pinned copies, a captured graph, the memory pool given back."""
import cupy as cp
import numpy as np

add = cp.ElementwiseKernel("int64 x, int64 y", "int64 z", "z = x + y", "soak_add")
scale = cp.RawKernel(r'extern "C" __global__ void scale(long long* data, int n) {'
                     r' int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) data[i] *= 3; }', "scale")
COUNT = 1 << 16


def main():
    pinned = cp.cuda.alloc_pinned_memory(COUNT * 8)
    host = np.frombuffer(pinned, np.int64, COUNT)
    host[:] = np.arange(COUNT)
    total, side = cp.zeros(COUNT, cp.int64), cp.cuda.Stream(non_blocking=True)
    cp.cuda.Device().synchronize()
    checks = 0
    for step in range(600):
        with side:
            data = cp.empty(COUNT, cp.int64)
            data.set(host, stream=side)
            scale((COUNT // 256,), (256,), (data, np.int32(COUNT)))
            total = add(total, data)
        if step % 20 == 0:
            side.synchronize()
            checks += int(total[7].get()) % 1000
        if step % 100 == 0:
            cp.get_default_memory_pool().free_all_blocks()
    side.synchronize()
    ones = cp.ones(COUNT, cp.int64)
    cp.cuda.Device().synchronize()
    with side:
        scale((COUNT // 256,), (256,), (ones, np.int32(COUNT)))
        side.begin_capture()
        for _ in range(20):
            scale((COUNT // 256,), (256,), (ones, np.int32(COUNT)))
        graph = side.end_capture()
        for _ in range(200):
            graph.launch(side)
        side.synchronize()
    print("ok", checks, int(total.sum()), int(ones.sum()))


if __name__ == "__main__":
    main()
