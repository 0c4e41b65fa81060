# SPDX-License-Identifier: Apache-2.0
"""An optimizer without fused kernels: a loop over 100 parameters, each with four kernels of its own."""
import torch
from models import Classifier
from torch.nn import functional as F
from torch.utils.data import DataLoader
from truth import Phase, tell


def main():
    model = Classifier(24)
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
    phase = Phase("train", __file__)
    with phase:
        for step, batch in enumerate(DataLoader(50)):  # loop: train
            batch = batch.to("cuda", non_blocking=True)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(batch), batch)
            loss.backward()
            optimizer.step()
            if step % 10 == 0:
                print(f"{step}: {loss.item():.3f}")
            phase.step()
    tell()


main()
