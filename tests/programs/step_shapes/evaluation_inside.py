# SPDX-License-Identifier: Apache-2.0
"""An evaluation every 50 steps, called from inside the training loop."""
import torch
from models import Classifier
from torch.nn import functional as F
from torch.utils.data import DataLoader
from truth import Phase, tell


def evaluate(model, loader, phase):
    with phase, torch.no_grad():
        for batch in loader:  # loop: evaluate
            batch = batch.to("cuda", non_blocking=True)
            F.compare(model(batch))
            torch.Tensor(4).item()
            phase.step()


def main():
    model = Classifier()
    optimizer = torch.optim.AdamW(model.parameters())
    training, evaluation = Phase("train", __file__), Phase("evaluate", __file__)
    with training:
        for step, batch in enumerate(DataLoader(150)):  # loop: train
            batch = batch.to("cuda", non_blocking=True)
            optimizer.zero_grad()
            F.cross_entropy(model(batch), batch).backward()
            optimizer.step()
            training.step()
            if step % 50 == 49:
                evaluate(model, DataLoader(20), evaluation)
    tell()


main()
