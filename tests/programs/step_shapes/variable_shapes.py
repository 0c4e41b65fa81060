# SPDX-License-Identifier: Apache-2.0
"""Sequences of many lengths: the matrix kernels have other names in each step, and there are more or fewer of them."""
import random

import torch
from models import Transformer
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader
from truth import Phase, tell

GEMMS = [F.gemm_of_shape(f"tilesize{m}x{n}x32") for m in (64, 128, 192, 256) for n in (16, 32, 64, 96, 128)]


class Model(nn.Module):
    def __init__(self):
        self.core, self.length = Transformer(2), 0

    def forward(self, x):
        x = self.core(x)
        for _ in range(2 + self.length % 3):
            F.relu(GEMMS[self.length % len(GEMMS)](x))
        return x


def main():
    model, lengths = Model(), random.Random(5)
    optimizer = torch.optim.AdamW(model.parameters())
    phase = Phase("train", __file__)
    with phase:
        for batch in DataLoader(90, pin_memory=False, size=16384):  # loop: train
            model.length = lengths.randrange(1000)
            x = batch.to("cuda")
            loss = F.cross_entropy(model(x), x)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            phase.step()
    tell()


main()
