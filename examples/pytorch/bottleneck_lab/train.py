# SPDX-License-Identifier: Apache-2.0
"""One training loop that can be made to suffer from one bottleneck at a time. No downloads: all data is made up.

  train.py --preset data --workers 0     every sample is costly to make: the GPU waits for its input
  train.py --preset eager                many small operations: the GPU waits for launches
  train.py --preset graph                the same, as one CUDA graph a step
  train.py --preset kernel               large operations: the GPU is what takes the time
"""
import argparse
import statistics
import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

FEATURES = 1024


class CostlySamples(Dataset):
    """A sample takes about `cost_ms` of one core to make."""

    def __init__(self, count, cost_ms):
        self.count = count
        self.cost_s = cost_ms / 1000

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        end = time.perf_counter() + self.cost_s
        words = []
        while time.perf_counter() < end:
            words.append(hash(f"{index}:{len(words)}"))
        return torch.full((FEATURES,), float(index % 7)), index % 10


class SmallOperations(nn.Module):
    """Normalisation and activation written out by hand: some 20 tiny kernels a block."""

    def __init__(self, blocks):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(FEATURES, FEATURES) for _ in range(blocks))
        self.head = nn.Linear(FEATURES, 10)

    def forward(self, x):
        for layer in self.layers:
            y = layer(x)
            y = (y - y.mean(-1, keepdim=True)) / (y.var(-1, keepdim=True) + 1e-5).sqrt()
            y = 0.5 * y * (1.0 + torch.tanh(0.79788456 * (y + 0.044715 * y.pow(3))))
            x = x + 0.1 * y
        return self.head(x)


class LargeOperations(nn.Module):
    """Few kernels, each bound by the GPU's memory or its arithmetic."""

    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(FEATURES, width)
        self.middle = nn.Linear(width, width)
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        return self.head(torch.relu(self.middle(torch.relu(self.up(x)))))


def same_batch(batch, steps, device):
    inputs = torch.randn(batch, FEATURES, device=device)
    targets = torch.randint(0, 10, (batch,), device=device)
    for _ in range(steps):
        yield inputs, targets


def make(options, device):
    if options.preset == "data":
        loader = DataLoader(CostlySamples(options.batch * options.steps, options.sample_ms), batch_size=options.batch,
                            num_workers=options.workers, pin_memory=True, persistent_workers=options.workers > 0)
        return LargeOperations(2048), loader
    is_small = options.preset in ("eager", "graph")
    model = SmallOperations(12) if is_small else LargeOperations(8192)
    batch = options.batch if is_small else 64 * options.batch
    return model, same_batch(batch, options.steps, device)


def train_step(model, optimizer, inputs, targets):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(inputs), targets).backward()
    optimizer.step()


def as_graph(model, optimizer, batches):
    """A step that replays what train_step launches for a batch of that shape."""
    held = [tensor.clone() for tensor in next(iter(batches))]
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            train_step(model, optimizer, *held)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        train_step(model, optimizer, *held)

    def step(_model, _optimizer, inputs, targets):
        held[0].copy_(inputs)
        held[1].copy_(targets)
        graph.replay()

    return step


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", choices=("data", "eager", "graph", "kernel"), required=True)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--sample-ms", type=float, default=1.0)
    parser.add_argument("--tf32", action="store_true", help="matmuls on tensor cores")
    options = parser.parse_args()
    device = torch.device("cuda")
    torch.manual_seed(0)
    if options.tf32:
        torch.set_float32_matmul_precision("high")
    model, batches = make(options, device)
    model.to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    step = as_graph(model, optimizer, same_batch(options.batch, 1, device)) if options.preset == "graph" else train_step
    times = []
    samples = 0
    begin = time.perf_counter()
    for inputs, targets in batches:
        inputs = inputs.to(device, non_blocking=True)
        targets = targets.to(device, non_blocking=True)
        with torch.cuda.nvtx.range("train_step"):
            step(model, optimizer, inputs, targets)
        now = time.perf_counter()
        times.append(1000 * (now - begin))
        samples = len(inputs)
        begin = now
    torch.cuda.synchronize()
    times[-1] += 1000 * (time.perf_counter() - begin)  # what the host was ahead of the GPU
    steady = times[min(5, len(times) // 2):]
    mean_ms = statistics.mean(steady)
    print(f"{1000 * samples / mean_ms:.1f} samples/s, {mean_ms:.2f} ms/step, median {statistics.median(steady):.2f}", file=sys.stderr)


if __name__ == "__main__":
    main()
