# SPDX-License-Identifier: Apache-2.0
"""A GRU is trained on sensor windows, which come as NumPy arrays of 31 MB a batch. Each batch is copied to the GPU from
pageable memory, so the host waits and nothing overlaps."""
import argparse
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

SENSORS, LENGTH, HIDDEN, BATCH = 240, 128, 512, 256


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(SENSORS, HIDDEN, num_layers=2, batch_first=True)
        self.head = nn.Linear(HIDDEN, 8)

    def forward(self, windows):
        states, _ = self.gru(windows)
        return self.head(states[:, -1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=200)
    steps = parser.parse_args().steps
    torch.manual_seed(0)
    recordings = np.random.default_rng(0).standard_normal((8, BATCH, LENGTH, SENSORS), dtype=np.float32)
    model = Forecaster().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    for step in range(steps):
        if step == steps // 5:
            torch.cuda.synchronize()
            start = time.perf_counter()
        batch = recordings[step % len(recordings)]
        windows = torch.from_numpy(batch).cuda()
        target = windows[:, -16:, :8].mean(dim=1) + torch.randn(BATCH, 8, device="cuda")
        loss = F.mse_loss(model(windows), target)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    torch.cuda.synchronize()
    print("ms/step=%.4f" % ((time.perf_counter() - start) / (steps - steps // 5) * 1000))
    print("result=%.6g" % loss.item())


if __name__ == "__main__":
    main()
