# SPDX-License-Identifier: Apache-2.0
"""A Lightning module trains a wide perceptron. It logs three values to the progress bar in each step, and the bar reads
each of them from the GPU."""
import argparse
import contextlib
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

try:
    import lightning.pytorch as pl
except ImportError:
    import pytorch_lightning as pl

FEATURES, WIDTH, DEPTH, CLASSES, BATCH, STEPS_PER_EPOCH = 256, 4096, 8, 100, 1024, 100


class Classifier(pl.LightningModule):
    def __init__(self):
        super().__init__()
        sizes = [FEATURES] + [WIDTH] * DEPTH
        hidden = [layer for a, b in zip(sizes, sizes[1:]) for layer in (nn.Linear(a, b), nn.ReLU())]
        self.net = nn.Sequential(*hidden, nn.Linear(WIDTH, CLASSES))

    def training_step(self, batch, batch_idx):
        features, labels = batch
        logits = self.net(features)
        loss = F.cross_entropy(logits, labels)
        values = {"loss": loss, "accuracy": (logits.argmax(1) == labels).float().mean(), "largest": logits.abs().max()}
        self.log_dict(values, prog_bar=True, on_step=True, on_epoch=False)
        self.last_loss = loss.detach()
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-4, fused=True)


class StepTimer(pl.Callback):
    def __init__(self, first, last):
        self.first, self.last = first, last

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        if trainer.global_step == self.first:
            torch.cuda.synchronize()
            self.start = time.perf_counter()
        elif trainer.global_step == self.last:
            torch.cuda.synchronize()
            self.ms = (time.perf_counter() - self.start) / (self.last - self.first) * 1000


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=300)
    steps = parser.parse_args().steps
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")
    features = torch.randn(STEPS_PER_EPOCH * BATCH, FEATURES)
    labels = (features @ torch.randn(FEATURES, CLASSES)).argmax(1)
    loader = DataLoader(TensorDataset(features, labels), batch_size=BATCH, num_workers=8, pin_memory=True,
                        persistent_workers=True)
    model, timer = Classifier(), StepTimer(steps // 5, steps)
    with contextlib.redirect_stdout(sys.stderr):
        trainer = pl.Trainer(max_steps=steps, accelerator="gpu", devices=1, logger=False, enable_checkpointing=False,
                             enable_model_summary=False, callbacks=[pl.callbacks.TQDMProgressBar(), timer])
        trainer.fit(model, loader)
    print("ms/step=%.4f" % timer.ms)
    print("result=%.6g" % model.last_loss.item())


if __name__ == "__main__":
    main()
