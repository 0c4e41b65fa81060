# SPDX-License-Identifier: Apache-2.0
"""Gradients are accumulated over four micro-batches by an inner loop; every 30 steps both losses are estimated."""
import torch
from models import Transformer
from torch.nn import functional as F
from truth import Phase, tell

MICRO_STEPS = 4
model = Transformer(2)
optimizer = torch.optim.AdamW(model.parameters())
training = Phase("train", __file__, micro_steps=MICRO_STEPS)
evaluation = Phase("evaluate", __file__)


def get_batch():
    return torch.Tensor(8192, pinned=True).to("cuda", non_blocking=True)


@torch.no_grad()
def estimate_loss():
    model.eval()
    with evaluation:
        for _ in ("train", "val"):
            for _ in range(8):  # loop: evaluate
                x = get_batch()
                F.cross_entropy(model(x), x).item()
                evaluation.step()
    model.train()


step = 0
batch = get_batch()
with training:
    while True:  # loop: train
        if step % 30 == 0:
            estimate_loss()
        if step == 90:
            break
        for _ in range(MICRO_STEPS):
            loss = F.cross_entropy(model(batch), batch)
            batch = get_batch()
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 10 == 0:
            print(f"iter {step}: loss {loss.item():.4f}")
        training.step()
        step += 1
tell()
