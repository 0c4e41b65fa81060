# SPDX-License-Identifier: Apache-2.0
"""Programs of known work for try_trials.py: each step does UNITS equal pieces, so that 98 instead of 100 take 2 % less.
try_program.py KIND [--units N] [--steps N] prints "ms/step TIME" for each step.

  spin    kernels that compute for some 40 us, by the driver alone: the GPU is the limit, and a run takes a second
  calls   launches of kernels that do next to nothing, by the driver alone: the host is the limit
  matmul  PyTorch: products of matrices, the GPU is the limit
  eager   PyTorch: small operations, the host is the limit
  read    PyTorch: small operations with a value read after each ten
"""
import argparse
import ctypes
import time

SPIN = b""".version 7.8
.target sm_80
.address_size 64
.visible .entry spin(.param .u32 rounds, .param .u64 out)
{
  .reg .pred %p;
  .reg .u32 %r<3>;
  .reg .f32 %f;
  .reg .u64 %d;
  ld.param.u32 %r1, [rounds];
  ld.param.u64 %d, [out];
  mov.u32 %r2, 0;
  mov.f32 %f, 0f3F800000;
again:
  fma.rn.f32 %f, %f, 0f3F7FFFFE, 0f34000000;
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p, %r2, %r1;
  @%p bra again;
  st.global.f32 [%d], %f;
  ret;
}
"""
ROUNDS = {"spin": 20_000, "calls": 1}


class Driver:
    """A kernel without a framework: a process of it begins within half a second."""

    def __init__(self, rounds):
        self.library = ctypes.CDLL("libcuda.so.1")
        device, context, module = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
        self.kernel, self.memory = ctypes.c_void_p(), ctypes.c_uint64()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        self.call("cuModuleLoadData", ctypes.byref(module), SPIN)
        self.call("cuModuleGetFunction", ctypes.byref(self.kernel), module, b"spin")
        self.call("cuMemAlloc_v2", ctypes.byref(self.memory), ctypes.c_size_t(256))
        self.rounds = ctypes.c_uint32(rounds)
        self.arguments = (ctypes.c_void_p * 2)(ctypes.cast(ctypes.byref(self.rounds), ctypes.c_void_p),
                                               ctypes.cast(ctypes.byref(self.memory), ctypes.c_void_p))

    def call(self, name, *arguments):
        result = getattr(self.library, name)(*arguments)
        if result != 0:
            raise RuntimeError(f"{name}: error {result}")

    def unit(self):
        self.call("cuLaunchKernel", self.kernel, 1, 1, 1, 32, 1, 1, 0, None, self.arguments, None)

    def wait(self):
        self.call("cuCtxSynchronize")


class Torch:
    def __init__(self, kind):
        import torch
        self.torch, self.kind, self.count = torch, kind, 0
        size = 2048 if kind == "matmul" else 64
        self.left = torch.randn(size, size, device="cuda")
        self.right = torch.randn(size, size, device="cuda")

    def unit(self):
        if self.kind == "matmul":
            self.torch.mm(self.left, self.right)
            return
        small = self.left + self.right
        small = small * 0.5
        small.relu_()
        self.count += 1
        if self.kind == "read" and self.count % 10 == 0:
            small[0, 0].item()

    def wait(self):
        self.torch.cuda.synchronize()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=["spin", "calls", "matmul", "eager", "read"])
    parser.add_argument("--units", type=int, default=100)
    parser.add_argument("--steps", type=int, default=60)
    options = parser.parse_args()
    work = Driver(ROUNDS[options.kind]) if options.kind in ROUNDS else Torch(options.kind)
    units = options.units * (20 if options.kind == "calls" else 1)
    for _ in range(options.steps):
        begin = time.perf_counter()
        for _ in range(units):
            work.unit()
        work.wait()
        print(f"ms/step {1e3 * (time.perf_counter() - begin):.4f}")


if __name__ == "__main__":
    main()
