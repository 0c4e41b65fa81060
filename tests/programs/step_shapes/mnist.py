# SPDX-License-Identifier: Apache-2.0
"""The only wait of training is its log line, every ten batches; a test that reads each loss follows each epoch."""
import torch
from models import Classifier
from torch.nn import functional as F
from torch.utils.data import DataLoader
from truth import Phase, tell


def train(model, loader, optimizer, phase):
    model.train()
    with phase:
        for index, data in enumerate(loader):  # loop: train
            data = data.to("cuda", non_blocking=True)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(data), data)
            loss.backward()
            optimizer.step()
            if index % 10 == 0:
                print(f"[{index}/{len(loader)}] loss {loss.item():.3f}")
            phase.step()


def test(model, loader, phase):
    model.eval()
    lost = 0.0
    with phase, torch.no_grad():
        for data in loader:  # loop: test
            data = data.to("cuda", non_blocking=True)
            output = model(data)
            lost += F.cross_entropy(output, data).item()
            F.compare(output)
            lost += torch.Tensor(4).item()
            phase.step()
    print(f"test {lost:.3f}")


def main():
    model = Classifier()
    optimizer = torch.optim.AdamW(model.parameters())
    phases = Phase("train", __file__), Phase("test", __file__)
    for _ in range(2):
        train(model, DataLoader(90), optimizer, phases[0])
        test(model, DataLoader(15), phases[1])
    tell()


main()
