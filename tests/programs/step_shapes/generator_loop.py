# SPDX-License-Identifier: Apache-2.0
"""The steps are taken by a generator; the loop that asks it for losses turns as often."""
import torch
from models import Classifier
from torch.nn import functional as F
from torch.utils.data import DataLoader
from truth import Phase, tell


def losses(model, loader, optimizer):
    for batch in loader:  # loop: train
        x = batch.to("cuda", non_blocking=True)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), x)
        loss.backward()
        optimizer.step()
        yield loss


def main():
    model = Classifier()
    optimizer = torch.optim.AdamW(model.parameters())
    phase, seen = Phase("train", __file__), 0.0
    with phase:
        for step, loss in enumerate(losses(model, DataLoader(100), optimizer)):  # loop: train
            if step % 20 == 19:
                seen += loss.item()
            phase.step()
    tell()


main()
