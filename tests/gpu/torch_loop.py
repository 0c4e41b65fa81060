# SPDX-License-Identifier: Apache-2.0
"""A small training loop as people write it: an MLP on synthetic data, a DataLoader with workers, `.item()` every step.

stdout is one line that is the same in every run on the same machine; it shows that recording changed nothing.
"""
import argparse
import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Synthetic(Dataset):
    """Samples made from their index, so that every worker gives the same ones in every run."""

    def __init__(self, size, features):
        self.size = size
        self.features = features

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        return torch.randn(self.features, generator=generator), index % 10


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--workers", type=int, default=4)
    options = parser.parse_args()

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loss_of = nn.CrossEntropyLoss()
    loader = DataLoader(Synthetic(options.steps * 64, 256), batch_size=64, num_workers=options.workers, pin_memory=True)

    total = 0.0
    start = time.perf_counter()
    for inputs, targets in loader:
        torch.cuda.nvtx.range_push("step")
        inputs = inputs.to("cuda")
        targets = targets.to("cuda")
        loss = loss_of(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        torch.cuda.nvtx.range_pop()
    seconds = time.perf_counter() - start
    print(f"steps {options.steps}, mean loss {total / options.steps:.2f}")
    print(f"{1000 * seconds / options.steps:.3f} ms per step", file=sys.stderr)


if __name__ == "__main__":
    main()
