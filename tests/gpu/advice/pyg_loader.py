# SPDX-License-Identifier: Apache-2.0
"""A graph network of PyTorch Geometric is trained on many small graphs. The loader has no workers, so the training loop
itself puts 512 graphs into one batch before each step."""
import argparse
import time

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import RandomSampler
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GINConv, global_add_pool

GRAPHS, NODES, EDGES, FEATURES, WIDTH, CLASSES, BATCH = 12800, 24, 60, 16, 512, 4, 512


class GIN(nn.Module):
    def __init__(self):
        super().__init__()
        sizes = [FEATURES] + [WIDTH] * 4
        self.layers = nn.ModuleList(
            GINConv(nn.Sequential(nn.Linear(a, b), nn.BatchNorm1d(b), nn.ReLU(), nn.Linear(b, b), nn.ReLU()))
            for a, b in zip(sizes, sizes[1:]))
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, batch):
        x = batch.x
        for layer in self.layers:
            x = layer(x, batch.edge_index)
        return self.head(global_add_pool(x, batch.batch, size=batch.num_graphs) / NODES)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=200)
    steps = parser.parse_args().steps
    torch.manual_seed(0)
    graphs = [Data(x=torch.randn(NODES, FEATURES) + 0.1 * (i % CLASSES), edge_index=torch.randint(NODES, (2, EDGES)),
                   y=torch.tensor([i % CLASSES])) for i in range(GRAPHS)]
    sampler = RandomSampler(graphs, generator=torch.Generator().manual_seed(0))
    loader = DataLoader(graphs, batch_size=BATCH, sampler=sampler, pin_memory=True)
    model = GIN().cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)
    step, total = 0, torch.zeros((), device="cuda")
    while step < steps:
        for batch in loader:
            if step == steps // 5:
                torch.cuda.synchronize()
                start = time.perf_counter()
            batch = batch.to("cuda", non_blocking=True)
            loss = F.cross_entropy(model(batch), batch.y)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            total += loss.detach()
            step += 1
    torch.cuda.synchronize()
    print("ms/step=%.4f" % ((time.perf_counter() - start) / (step - steps // 5) * 1000))
    print("result=%.6g" % (total.item() / step))


if __name__ == "__main__":
    main()
