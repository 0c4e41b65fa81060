# SPDX-License-Identifier: Apache-2.0
"""Gradients are accumulated by one loop whose every fourth pass steps the optimizer."""
import torch
from models import Classifier
from torch.nn import functional as F
from torch.utils.data import DataLoader
from truth import Phase, tell


def main():
    model = Classifier()
    optimizer = torch.optim.AdamW(model.parameters())
    phase = Phase("train", __file__, micro_steps=4)
    with phase:
        for i, batch in enumerate(DataLoader(240)):  # loop: train
            batch = batch.to("cuda", non_blocking=True)
            loss = F.cross_entropy(model(batch), batch)
            loss.backward()
            if i % 4 == 3:
                optimizer.step()
                optimizer.zero_grad()
                phase.step()
            if i % 40 == 39:
                print(f"{i}: {loss.item():.3f}")
    tell()


main()
