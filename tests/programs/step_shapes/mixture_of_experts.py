# SPDX-License-Identifier: Apache-2.0
"""In each layer the host reads how many tokens each expert has, so a step waits as often as it has layers."""
import torch
from models import Block
from torch import nn
from torch.nn import functional as F
from truth import Phase, tell


class Experts(nn.Module):
    def __init__(self, count):
        self.gate, self.experts = nn.Linear(), [nn.Linear() for _ in range(count)]

    def forward(self, x):
        F.softmax(self.gate(x))
        F.compare(x)
        torch.Tensor(4 * len(self.experts)).item()
        for expert in self.experts:
            F.gelu(expert(x))
        return x


class Model(nn.Module):
    def __init__(self, depth):
        self.layers = [layer for _ in range(depth) for layer in (Block(), Experts(4))]

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def main():
    model = Model(6)
    optimizer = torch.optim.AdamW(model.parameters())
    phase = Phase("train", __file__)
    with phase:
        for _ in range(40):  # loop: train
            x = torch.Tensor(8192, pinned=True).to("cuda", non_blocking=True)
            F.cross_entropy(model(x), x).backward()
            optimizer.step()
            optimizer.zero_grad()
            phase.step()
    tell()


main()
