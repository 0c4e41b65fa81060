# SPDX-License-Identifier: Apache-2.0
"""A trainer that others' code is called from."""
import torch


class Callback:
    def on_batch_begin(self, trainer, index):
        pass

    def on_batch_end(self, trainer, index, loss):
        pass


class Trainer:
    def __init__(self, module, optimizer, callbacks):
        self.module, self.optimizer, self.callbacks = module, optimizer, callbacks

    def call(self, hook, *arguments):
        for callback in self.callbacks:
            getattr(callback, hook)(self, *arguments)

    def fit(self, loader, validation, epochs, train, validate):
        for _ in range(epochs):
            with train:
                for index, batch in enumerate(loader):  # loop: train
                    self.call("on_batch_begin", index)
                    loss = self.run_batch(batch)
                    self.call("on_batch_end", index, loss)
                    train.step()
            with validate, torch.no_grad():
                for batch in validation:  # loop: validate
                    self.module.validation_step(batch.to("cuda", non_blocking=True))
                    validate.step()

    def run_batch(self, batch):  # loop: train
        self.optimizer.zero_grad()
        loss = self.module.training_step(batch.to("cuda", non_blocking=True))
        loss.backward()
        self.optimizer.step()
        return loss
