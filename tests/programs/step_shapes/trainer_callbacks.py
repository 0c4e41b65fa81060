# SPDX-License-Identifier: Apache-2.0
"""The loop is a trainer's, and calls back: a step of the module, and hooks around it."""
import torch
import trainer_kit
from models import Classifier
from torch.nn import functional as F
from torch.utils.data import DataLoader
from truth import Phase, tell


class Module(torch.nn.Module):
    def __init__(self):
        self.net = Classifier()

    def training_step(self, x):
        return F.cross_entropy(self.net(x), x)

    def validation_step(self, x):
        F.compare(self.net(x))
        F.cross_entropy(x, x).item()


class Progress(trainer_kit.Callback):
    def on_batch_end(self, trainer, index, loss):
        if index % 10 == 9:
            self.shown = loss.item()


class Warm(trainer_kit.Callback):
    def on_batch_begin(self, trainer, index):
        self.rate = 1e-3 * min(1.0, (index + 1) / 10)


def main():
    module = Module()
    trainer = trainer_kit.Trainer(module, torch.optim.AdamW(module.parameters()), [Warm(), Progress()])
    phases = Phase("train", trainer_kit.__file__), Phase("validate", trainer_kit.__file__)
    trainer.fit(DataLoader(60), DataLoader(25), 2, *phases)
    tell()


main()
