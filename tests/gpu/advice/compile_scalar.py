# SPDX-License-Identifier: Apache-2.0
"""A denoising sampler has an update that is compiled with dynamic=False. Each step gives it other Python floats, so it
compiles 8 times and then runs without a compiled graph."""
import argparse
import time

import torch
from torch import nn

BATCH, CHANNELS, SIZE, WIDTH = 32, 4, 512, 32


@torch.compile(dynamic=False)
def update(x, noise, sigma, next_sigma):
    noise = noise.float()
    denoised = (x - sigma * noise).clamp(-1, 1)
    slope = (x - denoised) / sigma
    guided = slope + 0.1 * torch.tanh(slope) * (1 - denoised.square())
    return x + (next_sigma - sigma) * guided


@torch.no_grad()
def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=300)
    steps = parser.parse_args().steps
    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = True
    network = nn.Sequential(nn.Conv2d(CHANNELS, WIDTH, 3, padding=1), nn.GELU(), nn.Conv2d(WIDTH, CHANNELS, 3, padding=1))
    network = network.to("cuda", torch.bfloat16, memory_format=torch.channels_last)
    x = torch.randn(BATCH, CHANNELS, SIZE, SIZE, device="cuda").to(memory_format=torch.channels_last)
    sigmas = torch.linspace(10, 0.1, steps + 1).tolist()
    for step in range(steps):
        if step == steps // 5:
            torch.cuda.synchronize()
            start = time.perf_counter()
        noise = network(x.to(torch.bfloat16))
        x = update(x, noise, sigmas[step], sigmas[step + 1])
    torch.cuda.synchronize()
    print("ms/step=%.4f" % ((time.perf_counter() - start) / (steps - steps // 5) * 1000))
    print("result=%.6g" % x.abs().mean().item())


if __name__ == "__main__":
    main()
