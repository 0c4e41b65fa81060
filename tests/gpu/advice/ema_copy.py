# SPDX-License-Identifier: Apache-2.0
"""An MLP-Mixer is trained beside a moving average of its weights. Each step updates the average one parameter at a time,
some 300 of them, through two state dicts."""
import argparse
import copy
import time

import torch
import torch.nn.functional as F
from torch import nn

TOKENS, PIXELS, DIM, DEPTH, CLASSES, BATCH = 256, 192, 384, 24, 10, 32


class MixerBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.tokens = nn.Sequential(nn.Linear(TOKENS, 2 * TOKENS), nn.GELU(), nn.Linear(2 * TOKENS, TOKENS))
        self.channels = nn.Sequential(nn.Linear(DIM, 4 * DIM), nn.GELU(), nn.Linear(4 * DIM, DIM))

    def forward(self, x):
        x = x + self.tokens(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channels(self.norm2(x))


@torch.no_grad()
def update_average(average, model, decay=0.98):
    weights = model.state_dict()
    for name, value in average.state_dict().items():
        value.mul_(decay).add_(weights[name], alpha=1 - decay)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=300)
    steps = parser.parse_args().steps
    torch.manual_seed(0)
    blocks = [MixerBlock() for _ in range(DEPTH)]
    model = nn.Sequential(nn.Linear(PIXELS, DIM), *blocks, nn.LayerNorm(DIM), nn.Linear(DIM, CLASSES)).cuda()
    average = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4, fused=True)
    labels = torch.randint(CLASSES, (8, BATCH), device="cuda")
    patches = torch.randn(CLASSES, TOKENS, PIXELS, device="cuda")[labels]
    patches += torch.randn_like(patches)
    for step in range(steps):
        if step == steps // 5:
            torch.cuda.synchronize()
            start = time.perf_counter()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = F.cross_entropy(model(patches[step % 8]).mean(dim=1), labels[step % 8], label_smoothing=0.1)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        update_average(average, model)
    torch.cuda.synchronize()
    print("ms/step=%.4f" % ((time.perf_counter() - start) / (steps - steps // 5) * 1000))
    print("result=%.6g %.6g" % (loss.item(), average(patches[0]).std().item()))


if __name__ == "__main__":
    main()
