# SPDX-License-Identifier: Apache-2.0
"""Every 40th step the host does something else for 100 ms."""
import torch
from models import Classifier
from torch.nn import functional as F
from torch.utils.data import DataLoader
from truth import Phase, host_work, tell


def main():
    model = Classifier()
    optimizer = torch.optim.AdamW(model.parameters())
    phase = Phase("train", __file__)
    with phase:
        for step, batch in enumerate(DataLoader(120)):  # loop: train
            batch = batch.to("cuda", non_blocking=True)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(batch), batch)
            loss.backward()
            optimizer.step()
            loss.item()
            if step % 40 == 39:
                host_work(100)
            phase.step()
    tell()


main()
