# SPDX-License-Identifier: Apache-2.0
"""Lightning's fit: two epochs with loader workers. Lightning sets the dispositions of all signals back."""
import contextlib
import sys
import tempfile

import torch

try:
    import lightning as pl
except ImportError:
    import pytorch_lightning as pl


class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))

    def training_step(self, batch, index):
        loss = torch.nn.functional.cross_entropy(self.net(batch[0]), batch[1])
        self.log("loss", loss, on_step=True, on_epoch=True)
        return loss

    def validation_step(self, batch, index):
        self.log("correct", (self.net(batch[0]).argmax(1) == batch[1]).float().mean())

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


def main():
    pl.seed_everything(0)
    data = torch.utils.data.TensorDataset(torch.randn(6400, 64), torch.randint(0, 10, (6400,)))
    train = torch.utils.data.DataLoader(data, batch_size=64, num_workers=2)
    check = torch.utils.data.DataLoader(data, batch_size=320)
    model = Model()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(sys.stderr):
        trainer = pl.Trainer(max_epochs=2, accelerator="gpu", devices=1, logger=False, default_root_dir=folder,
                             enable_progress_bar=False, enable_model_summary=False)
        trainer.fit(model, train, check)
    print("ok", trainer.global_step, float(trainer.callback_metrics["loss_epoch"]) < 2.5)


if __name__ == "__main__":
    main()
