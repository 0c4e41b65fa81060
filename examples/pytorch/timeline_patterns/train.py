# SPDX-License-Identifier: Apache-2.0
"""The patterns that a profiling handbook teaches to look for in a timeline, one a run; `healthy` has none of them. No downloads.

  train.py --stage input        the GPU idles, the CPU is busy: samples are made by the training loop
  train.py --stage kernels      many short kernels with gaps
  train.py --stage transfer     long copies from the host in every step
  train.py --stage allocation   cudaMalloc during training
  train.py --stage slow_step    now and then a step much slower than the others: code is loaded
  train.py --stage casts        many small copies and casts in every step
  train.py --stage forward      the forward pass waits: a tensor is printed
  train.py --stage logging      slower since the loss is logged
  train.py --stage first_steps  slow only at the begin
  torchrun --nproc-per-node 2 train.py --stage barrier    GPU and CPU idle: one process waits for the other
"""
import argparse
import os
import sys
import time

import torch
from torch import nn

STAGES = ("healthy", "input", "kernels", "transfer", "allocation", "slow_step", "casts", "forward", "logging", "first_steps", "barrier")
WIDTH = 2048


class Model(nn.Module):
    def __init__(self, prints):
        super().__init__()
        self.layers = nn.Sequential(*[layer for _ in range(4) for layer in (nn.Linear(WIDTH, WIDTH), nn.ReLU())])
        self.prints = prints

    def forward(self, x):
        x = self.layers(x)
        if self.prints:
            print("norm", x.norm(), file=sys.stderr)
        return x


def make_sample():
    """Some milliseconds of one core."""
    words = {}
    for i in range(20_000):
        words[f"word {i}"] = i * i % 97
    return sum(words.values()) % 7


def many_small_kernels(x):
    for i in range(300):
        x = x * 1.0001 + 0.0001
    return x


def many_small_copies(rows, device):
    parts = [torch.tensor(row).to(device).double().float() for row in rows]
    return torch.stack(parts)


class Loop:
    def __init__(self, stage, device):
        self.stage = stage
        self.device = device
        self.model = Model(prints=stage == "forward").to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-5)
        self.batch = torch.randn(1024, WIDTH, device=device)
        self.on_host = torch.randn(4096, WIDTH)
        self.rows = [[float(i + k) for k in range(16)] for i in range(100)]
        self.logged = 0.0

    def inputs(self, number):
        x = self.batch
        if self.stage == "input":
            x = x + make_sample()
        elif self.stage == "transfer":
            x = self.on_host.to(self.device)[:1024]
        elif self.stage == "casts":
            x = x + many_small_copies(self.rows, self.device).mean()
        elif self.stage == "kernels":
            x = x + many_small_kernels(x[0])
        elif self.stage == "allocation":
            torch.cuda.empty_cache()
            x = x + torch.zeros(64 << 20, device=self.device)[0]
        elif self.stage == "slow_step" and number % 10 == 9:
            # Another length of a Fourier transform is another plan, and other code.
            x = x + torch.fft.rfft(x[0, : 997 + number]).abs().mean()
        return x

    def step(self, number):
        with torch.cuda.nvtx.range("step"):
            x = self.inputs(number)
            self.optimizer.zero_grad(set_to_none=True)
            loss = self.model(x).square().mean()
            loss.backward()
            self.optimizer.step()
            if self.stage == "logging":
                self.logged += loss.item()
            if self.stage == "barrier":
                if torch.distributed.get_rank() == 1:
                    make_sample()
                torch.distributed.barrier()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stage", choices=STAGES, default="healthy")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--tf32", action="store_true", help="matmuls on tensor cores")
    options = parser.parse_args()
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
    torch.cuda.set_device(device)
    if options.stage == "barrier":
        torch.distributed.init_process_group("nccl", device_id=device)
    torch.manual_seed(0)
    if options.tf32:
        torch.set_float32_matmul_precision("high")
    loop = Loop(options.stage, device)
    warm_up = 0 if options.stage == "first_steps" else 5
    for number in range(warm_up):
        loop.step(number)
    begin = time.perf_counter()
    for number in range(options.steps):
        loop.step(number)
    torch.cuda.synchronize()
    print(f"{options.steps / (time.perf_counter() - begin):.2f} steps/s", file=sys.stderr)
    if options.stage == "barrier":
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
