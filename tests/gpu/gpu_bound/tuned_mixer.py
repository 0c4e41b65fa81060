# SPDX-License-Identifier: Apache-2.0
"""An MLP-Mixer of the size S/16 that is tuned already trains on made-up images: bfloat16, TF32, compiled, with a fused
optimizer. Its matrix products and fused kernels keep the GPU busy the whole time."""
import argparse
import time

import torch
import torch.nn.functional as F
from torch import nn

BATCH, BATCHES, PATCH, SIDE = 512, 2, 16, 14


def two_layers(width, hidden):
    return nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width))


class Block(nn.Module):
    def __init__(self, tokens, width):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.over_tokens, self.over_channels = two_layers(tokens, width // 2), two_layers(width, 4 * width)

    def forward(self, x):
        x = x + self.over_tokens(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.over_channels(self.norm2(x))


class Mixer(nn.Module):
    def __init__(self, width=512, layers=8, classes=1000):
        super().__init__()
        self.embed = nn.Linear(3 * PATCH * PATCH, width)
        self.blocks = nn.Sequential(*[Block(SIDE * SIDE, width) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, images):
        patches = images.view(-1, 3, SIDE, PATCH, SIDE, PATCH).permute(0, 2, 4, 1, 3, 5)
        x = self.embed(patches.reshape(-1, SIDE * SIDE, 3 * PATCH * PATCH))
        return self.head(self.norm(self.blocks(x)).mean(1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=60)
    steps = parser.parse_args().steps
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")
    model = Mixer().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.05, fused=True)
    images = torch.randn(BATCHES, BATCH, 3, SIDE * PATCH, SIDE * PATCH, device="cuda")
    labels = torch.randint(0, 1000, (BATCHES, BATCH), device="cuda")
    compiled = torch.compile(model)
    for step in range(steps):
        if step == steps // 5:
            torch.cuda.synchronize()
            start = time.perf_counter()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            output = compiled(images[step % BATCHES])
            loss = F.cross_entropy(output, labels[step % BATCHES])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.cuda.synchronize()
    print(f"ms/step={1000 * (time.perf_counter() - start) / (steps - steps // 5):.4f}")
    print(f"result={loss.item():.6g}")


if __name__ == "__main__":
    main()
