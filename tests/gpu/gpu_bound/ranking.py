# SPDX-License-Identifier: Apache-2.0
"""A recommender like DLRM learns made-up clicks in plain float32: embedding bags, dot products between them,
and wide layers. The float32 matrix products of the wide layers keep the GPU busy the whole time."""
import argparse
import time

import torch
import torch.nn.functional as F
from torch import nn

BATCH, BATCHES, TABLES, ROWS, WIDTH, NUMBERS, BAG = 24576, 16, 8, 100000, 128, 64, 4


def layers(*widths):
    made = [nn.Linear(widths[0], widths[1])]
    for inputs, outputs in zip(widths[1:], widths[2:]):
        made += [nn.ReLU(), nn.Linear(inputs, outputs)]
    return nn.Sequential(*made)


class Ranker(nn.Module):
    def __init__(self):
        super().__init__()
        self.tables = nn.ModuleList([nn.EmbeddingBag(ROWS, WIDTH, mode="sum") for _ in range(TABLES)])
        for table in self.tables:
            nn.init.normal_(table.weight, std=0.02)
        one, other = torch.tril_indices(TABLES + 1, TABLES + 1, -1)
        self.register_buffer("pairs", one * (TABLES + 1) + other)
        self.below = layers(NUMBERS, 1024, 512, WIDTH)
        self.above = layers(WIDTH + len(self.pairs), 4096, 2048, 1024, 1)

    def forward(self, numbers, ids):
        dense = self.below(numbers)
        vectors = torch.stack([dense] + [table(bags) for table, bags in zip(self.tables, ids)], dim=1)
        products = (vectors @ vectors.transpose(1, 2)).flatten(1).index_select(1, self.pairs)
        return self.above(torch.cat([dense, products], dim=1)).squeeze(1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=60)
    steps = parser.parse_args().steps
    torch.manual_seed(0)
    model = Ranker().cuda()
    optimizer = torch.optim.Adagrad(model.parameters(), lr=1e-4)
    numbers = torch.randn(BATCHES, BATCH, NUMBERS, device="cuda")
    ids = (torch.rand(BATCHES, TABLES, BATCH, BAG, device="cuda") ** 3 * ROWS).long()
    clicks = (torch.rand(BATCHES, BATCH, device="cuda") < 0.25).float()
    for step in range(steps):
        if step == steps // 5:
            torch.cuda.synchronize()
            start = time.perf_counter()
        output = model(numbers[step % BATCHES], ids[step % BATCHES])
        loss = F.binary_cross_entropy_with_logits(output, clicks[step % BATCHES])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.cuda.synchronize()
    print(f"ms/step={1000 * (time.perf_counter() - start) / (steps - steps // 5):.4f}")
    print(f"result={loss.item():.6g}")


if __name__ == "__main__":
    main()
