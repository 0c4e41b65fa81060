# SPDX-License-Identifier: Apache-2.0
"""Three loops whose idle time has a known owner. stdout is the same in every run.

  eager    forward, backward on the engine's thread, optimizer: small kernels, nothing waits
  graph    one CUDA graph replayed, bound by the GPU
  graph-read   the same, with a read of a value after each replay
"""
import argparse

import torch
from torch import nn


def eager(steps):
    layers = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(d_model=128, nhead=4, dim_feedforward=256, dropout=0.1, batch_first=True), num_layers=8,
        enable_nested_tensor=False).cuda().train()
    optimizer = torch.optim.SGD(layers.parameters(), lr=1e-3, momentum=0.9, foreach=False)
    inputs = torch.randn(8, 32, 128, device="cuda")
    for _ in range(steps):
        optimizer.zero_grad()  # step: zero
        outputs = layers(inputs)  # step: forward
        loss = outputs.square().mean()  # step: loss
        loss.backward()  # step: backward
        optimizer.step()  # step: optimizer


def captured():
    values = torch.zeros(1 << 20, device="cuda")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            values.add_(1.0)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(200):
            values.add_(1.0)
    return graph, values


def replay(steps, read):
    graph, values = captured()
    seen = 0.0
    for _ in range(steps):
        graph.replay()
        if read:
            seen += values[0].item()  # read
    return seen


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("loop", choices=("eager", "graph", "graph-read"))
    parser.add_argument("--steps", type=int, default=60)
    options = parser.parse_args()
    torch.manual_seed(0)
    if options.loop == "eager":
        eager(options.steps)
    else:
        replay(options.steps * 10, options.loop == "graph-read")
    torch.cuda.synchronize()
    print("done")


if __name__ == "__main__":
    main()
