# SPDX-License-Identifier: Apache-2.0
"""A training loop of a language model that generates 24 tokens every 40 steps and reads each."""
import torch
from models import Transformer
from torch.nn import functional as F
from truth import Phase, tell


@torch.no_grad()
def generate(model, phase):
    with phase:
        for _ in range(24):  # loop: generate
            model.next_token(None).item()
            phase.step()


def main():
    model = Transformer(4)
    optimizer = torch.optim.AdamW(model.parameters())
    training, generation = Phase("train", __file__), Phase("generate", __file__)
    with training:
        for step in range(1, 121):  # loop: train
            x = torch.Tensor(8192, pinned=True).to("cuda", non_blocking=True)
            loss = F.cross_entropy(model(x), x)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            training.step()
            if step % 20 == 0:
                print(f"{step}: {loss.item():.3f}")
            if step % 40 == 0:
                generate(model, generation)
    tell()


main()
