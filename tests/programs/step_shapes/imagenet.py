# SPDX-License-Identifier: Apache-2.0
"""Training and validation in turns, each with worker processes of its own, which start anew each time."""
import torch
from models import Classifier
from torch.nn import functional as F
from torch.utils.data import DataLoader
from truth import Phase, host_work, tell


def decode(index):
    host_work(0.3)


def train(model, loader, optimizer, phase):
    with phase:
        for index, images in enumerate(loader):  # loop: train
            images = images.to("cuda", non_blocking=True)
            loss = F.cross_entropy(model(images), images)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if index % 10 == 0:
                print(f"[{index}] {loss.item():.3f}")
            phase.step()


def validate(model, loader, phase):
    with phase, torch.no_grad():
        for images in loader:  # loop: validate
            images = images.to("cuda", non_blocking=True)
            output = model(images)
            F.compare(output)
            F.cross_entropy(output, images).item()
            phase.step()


def main():
    model = Classifier(10)
    optimizer = torch.optim.SGD(model.parameters())
    phases = Phase("train", __file__), Phase("validate", __file__)
    loader = DataLoader(80, decode, num_workers=2)
    validation = DataLoader(18, decode, num_workers=2)
    for _ in range(3):
        train(model, loader, optimizer, phases[0])
        validate(model, validation, phases[1])
        torch.save(model)
    tell()


main()
