# SPDX-License-Identifier: Apache-2.0
"""A graph network with four message passing layers trains on a made-up graph in float32. Each layer gathers both ends of two
million edges, runs an MLP over the edges, and adds the messages at the nodes. The GPU is busy the whole time."""
import argparse
import time

import torch
import torch.nn.functional as F
from torch import nn

NODES, EDGES, FEATURES, CLASSES = 200_000, 2_000_000, 64, 40


class MessageLayer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.message_in = nn.Linear(2 * width, width)
        self.message_out = nn.Linear(width, width)
        self.update = nn.Sequential(nn.Linear(2 * width, width), nn.ReLU(), nn.Linear(width, width))
        self.norm = nn.LayerNorm(width)

    def forward(self, h, source, target, degree):
        pair = torch.cat([h.index_select(0, source), h.index_select(0, target)], dim=1)
        message = self.message_out(F.relu(self.message_in(pair)))
        total = message.new_zeros(h.shape).index_add_(0, target, message)
        return self.norm(h + self.update(torch.cat([h, total / degree], dim=1)))


class GraphNetwork(nn.Module):
    def __init__(self, width=64, layers=4):
        super().__init__()
        self.encoder = nn.Linear(FEATURES, width)
        self.layers = nn.ModuleList([MessageLayer(width) for _ in range(layers)])
        self.head = nn.Linear(width, CLASSES)

    def forward(self, x, source, target, degree):
        h = self.encoder(x)
        for layer in self.layers:
            h = layer(h, source, target, degree)
        return self.head(h)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=80)
    steps = parser.parse_args().steps
    torch.manual_seed(0)
    source = torch.randint(0, NODES, (EDGES,), device="cuda")
    target = torch.randint(0, NODES, (EDGES,), device="cuda")
    degree = torch.ones(NODES, device="cuda").index_add_(0, target, torch.ones(EDGES, device="cuda")).unsqueeze(1)
    features = torch.randn(NODES, FEATURES, device="cuda")
    labels = (features[:, :CLASSES] + torch.randn(NODES, CLASSES, device="cuda")).argmax(dim=1)
    model = GraphNetwork().cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(steps):
        if step == steps // 5:
            torch.cuda.synchronize()
            start = time.perf_counter()
        logits = model(features, source, target, degree)
        loss = F.cross_entropy(logits, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.cuda.synchronize()
    print(f"ms/step={1000 * (time.perf_counter() - start) / (steps - steps // 5):.4f}")
    print(f"result={loss.item():.6g}")


if __name__ == "__main__":
    main()
