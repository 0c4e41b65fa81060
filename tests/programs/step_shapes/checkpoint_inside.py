# SPDX-License-Identifier: Apache-2.0
"""Every 30 steps all parameters are saved from inside the loop; that loop is no loop of steps."""
import torch
from models import Classifier
from torch.nn import functional as F
from torch.utils.data import DataLoader
from truth import Phase, tell


def main():
    model = Classifier()
    optimizer = torch.optim.AdamW(model.parameters())
    phase = Phase("train", __file__)
    with phase:
        for step, batch in enumerate(DataLoader(120), 1):  # loop: train
            x = batch.to("cuda", non_blocking=True)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), x)
            loss.backward()
            optimizer.step()
            if step % 30 == 0:
                print(f"{step}: {loss.item():.3f}")
                torch.save(model)
            phase.step()
    tell()


main()
