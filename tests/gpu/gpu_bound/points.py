# SPDX-License-Identifier: Apache-2.0
"""A point cloud classifier with edge convolutions trains in float32 on made-up clouds. Every step finds the nearest neighbours
from the full distance matrix, gathers their features, runs a layer over all pairs and takes the maximum. The GPU is busy the
whole time."""
import argparse
import time

import torch
import torch.nn.functional as F
from torch import nn

BATCH, BATCHES, POINTS, NEIGHBOURS, CLASSES = 16, 8, 4096, 20, 40


def nearest(points):
    return torch.cdist(points, points).topk(NEIGHBOURS, dim=-1, largest=False).indices


def gather_points(x, index):
    rows = torch.arange(len(x), device=x.device).view(-1, 1, 1)
    return x[rows, index]


class EdgeConv(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(2 * inputs, outputs, bias=False)
        self.norm = nn.BatchNorm1d(outputs)

    def forward(self, x, index):
        neighbour = gather_points(x, index)
        centre = x.unsqueeze(2).expand_as(neighbour)
        edge = self.linear(torch.cat([centre, neighbour - centre], dim=-1))
        edge = F.relu(self.norm(edge.flatten(0, 2)).view_as(edge))
        return edge.max(dim=2).values


class PointClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([EdgeConv(3, 64), EdgeConv(64, 64), EdgeConv(64, 128)])
        self.head = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, CLASSES))

    def forward(self, points):
        index = nearest(points)
        x = points
        for layer in self.layers:
            x = layer(x, index)
        return self.head(x.max(dim=1).values)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=80)
    steps = parser.parse_args().steps
    torch.manual_seed(0)
    model = PointClassifier().cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-4)
    clouds = torch.randn(BATCHES, BATCH, POINTS, 3, device="cuda") * torch.rand(BATCHES, BATCH, 1, 3, device="cuda")
    labels = torch.randint(0, CLASSES, (BATCHES, BATCH), device="cuda")
    for step in range(steps):
        if step == steps // 5:
            torch.cuda.synchronize()
            start = time.perf_counter()
        logits = model(clouds[step % BATCHES])
        loss = F.cross_entropy(logits, labels[step % BATCHES])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.cuda.synchronize()
    print(f"ms/step={1000 * (time.perf_counter() - start) / (steps - steps // 5):.4f}")
    print(f"result={loss.item():.6g}")


if __name__ == "__main__":
    main()
