# SPDX-License-Identifier: Apache-2.0
"""Epochs of twenty batches with two optimizers, which read their losses at the end of a batch, and checkpoints."""
import torch
from models import Classifier
from torch.nn import functional as F
from torch.utils.data import DataLoader
from truth import Phase, tell


def main():
    generator, critic = Classifier(), Classifier()
    optimizer_g = torch.optim.AdamW(generator.parameters())
    optimizer_d = torch.optim.AdamW(critic.parameters())
    phase = Phase("train", __file__)
    loader = DataLoader(20)
    for epoch in range(4):
        with phase:
            for index, data in enumerate(loader):  # loop: train
                real = data.to("cuda", non_blocking=True)
                optimizer_d.zero_grad()
                F.mse_loss(critic(real), real).backward()
                fake = generator(real)
                loss_d = F.mse_loss(critic(fake), real)
                loss_d.backward()
                optimizer_d.step()
                optimizer_g.zero_grad()
                loss_g = F.mse_loss(critic(fake), real)
                loss_g.backward()
                optimizer_g.step()
                print(f"[{epoch}][{index}] {loss_d.item():.3f} {loss_g.item():.3f}")
                phase.step()
        torch.save(generator)
        torch.save(critic)
    tell()


main()
