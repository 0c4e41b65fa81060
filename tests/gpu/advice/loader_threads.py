# SPDX-License-Identifier: Apache-2.0
"""A transformer classifies scans, which the loader's workers whiten with a matrix product. Each of the 8 workers sets 16
CPU threads for itself, so that 128 threads compete for the cores."""
import argparse
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

PATCHES, WIDTH, CLASSES, LAYERS, BATCH = 1024, 512, 10, 12, 8


class Scans(Dataset):
    def __init__(self, length):
        rng = np.random.default_rng(0)
        self.length, self.labels = length, rng.integers(CLASSES, size=32)
        templates = rng.standard_normal((CLASSES, 1, WIDTH), dtype=np.float32)
        self.scans = rng.standard_normal((32, PATCHES, WIDTH), dtype=np.float32) + templates[self.labels]
        self.whitening = rng.standard_normal((WIDTH, WIDTH), dtype=np.float32) / np.float32(WIDTH**0.5)

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        scan = torch.from_numpy(self.scans[index % 32])
        return (scan @ torch.from_numpy(self.whitening)).bfloat16(), int(self.labels[index % 32])


def init_worker(worker_id):
    torch.set_num_threads(16)  # the whitening is heavy


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=150)
    steps = parser.parse_args().steps
    torch.manual_seed(0)
    options = {"dropout": 0.0, "batch_first": True, "norm_first": True, "device": "cuda"}
    layers = [nn.TransformerEncoderLayer(WIDTH, 8, 4 * WIDTH, **options) for _ in range(LAYERS)]
    model = nn.Sequential(*layers, nn.LayerNorm(WIDTH, device="cuda"), nn.Linear(WIDTH, CLASSES, device="cuda"))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    loader = DataLoader(Scans(steps * BATCH), BATCH, num_workers=8, pin_memory=True, worker_init_fn=init_worker)
    for step, (scans, labels) in enumerate(loader):
        if step == steps // 5:
            torch.cuda.synchronize()
            start = time.perf_counter()
        scans, labels = scans.cuda(non_blocking=True), labels.cuda(non_blocking=True)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = F.cross_entropy(model(scans).mean(dim=1), labels, label_smoothing=0.1)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    torch.cuda.synchronize()
    print("ms/step=%.4f" % ((time.perf_counter() - start) / (steps - steps // 5) * 1000))
    print("result=%.6g" % loss.item())


if __name__ == "__main__":
    main()
