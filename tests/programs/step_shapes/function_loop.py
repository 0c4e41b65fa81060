# SPDX-License-Identifier: Apache-2.0
"""A loop in a function that waits for nothing until its end."""
import torch
from models import Classifier
from torch.nn import functional as F
from torch.utils.data import DataLoader
from truth import Phase, tell


def train(model, loader, optimizer, phase):
    with phase:
        for batch in loader:  # loop: train
            x = batch.to("cuda", non_blocking=True)
            optimizer.zero_grad()
            F.cross_entropy(model(x), x).backward()
            optimizer.step()
            phase.step()
    torch.cuda.synchronize()


def main():
    model = Classifier()
    train(model, DataLoader(120), torch.optim.AdamW(model.parameters()), Phase("train", __file__))
    tell()


main()
