# SPDX-License-Identifier: Apache-2.0
"""A network of 8 blocks is compiled with torch.compile. Each block records the largest activation with .item(), which
breaks the graph and waits for the GPU."""
import argparse
import time

import torch
import torch.nn.functional as F
from torch import nn

WIDTH, BLOCKS, ROWS = 768, 8, 4096


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.scale = None

    def forward(self, x):
        x = x + self.down(F.gelu(self.up(self.norm(x))))
        self.scale = x.detach().abs().max().item()
        return x


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(BLOCKS))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=300)
    steps = parser.parse_args().steps
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")
    network = Network().cuda()
    compiled = torch.compile(network)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-4, fused=True)
    inputs = torch.randn(16, ROWS, WIDTH, device="cuda")
    targets = torch.tanh(inputs @ torch.randn(WIDTH, WIDTH, device="cuda") / WIDTH**0.5)
    for step in range(steps):
        if step == steps // 5:
            torch.cuda.synchronize()
            start = time.perf_counter()
        loss = F.mse_loss(compiled(inputs[step % 16]), targets[step % 16])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    torch.cuda.synchronize()
    print("ms/step=%.4f" % ((time.perf_counter() - start) / (steps - steps // 5) * 1000))
    print("result=%.6g %.6g" % (loss.item(), sum(float(block.scale) for block in network.blocks)))


if __name__ == "__main__":
    main()
