# SPDX-License-Identifier: Apache-2.0
"""A net of dilated one-dimensional convolutions with gates learns in float32 to clean made-up audio: it names
the level of each clean sample. Convolutions, batch norms and gates over long clips keep the GPU busy the
whole time."""
import argparse
import math
import time

import torch
import torch.nn.functional as F
from torch import nn

BATCH, BATCHES, SAMPLES, RATE, LEVELS = 16, 16, 8192, 16000, 256


class Block(nn.Module):
    def __init__(self, width, dilation):
        super().__init__()
        self.conv = nn.Conv1d(width, 2 * width, 3, padding=dilation, dilation=dilation)
        self.norm, self.project = nn.BatchNorm1d(2 * width), nn.Conv1d(width, width, 1)

    def forward(self, x):
        signal, gate = self.norm(self.conv(x)).chunk(2, dim=1)
        return x + self.project(torch.tanh(signal) * torch.sigmoid(gate))


class Net(nn.Module):
    def __init__(self, width=128, dilations=(1, 2, 4, 8, 16) * 2):
        super().__init__()
        self.first, self.last = nn.Conv1d(1, width, 9, padding=4), nn.Conv1d(width, LEVELS, 1)
        self.blocks = nn.Sequential(*[Block(width, dilation) for dilation in dilations])

    def forward(self, x):
        return self.last(self.blocks(self.first(x)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=60)
    steps = parser.parse_args().steps
    torch.manual_seed(0)
    model = Net().cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    seconds = torch.arange(SAMPLES, device="cuda") / RATE
    tones = 100 + 900 * torch.rand(BATCHES, BATCH, 4, 1, device="cuda")
    clean = torch.sin(2 * math.pi * tones * seconds).mean(2)
    levels = ((clean + 1) / 2 * (LEVELS - 1)).long()
    noisy = (clean + 0.3 * torch.randn_like(clean)).unsqueeze(2)
    for step in range(steps):
        if step == steps // 5:
            torch.cuda.synchronize()
            start = time.perf_counter()
        output = model(noisy[step % BATCHES])
        loss = F.cross_entropy(output, levels[step % BATCHES])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.cuda.synchronize()
    print(f"ms/step={1000 * (time.perf_counter() - start) / (steps - steps // 5):.4f}")
    print(f"result={loss.item():.6g}")


if __name__ == "__main__":
    main()
