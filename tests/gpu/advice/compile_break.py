# SPDX-License-Identifier: Apache-2.0
"""A compiled network of 8 blocks is trained on small batches. Each block calls a check that torch.compile may not trace,
so 16 small graphs are launched in place of one."""
import argparse
import time

import torch
import torch.nn.functional as F
from torch import nn

WIDTH, BLOCKS, ROWS = 512, 8, 2048


@torch.compiler.disable
def check_shape(x):
    assert x.shape[-1] % 64 == 0, x.shape


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        hidden = F.gelu(self.up(self.norm(x)))
        check_shape(hidden)
        return x + self.down(hidden)


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
    parser.add_argument("--steps", type=int, default=400)
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
    print("result=%.6g" % loss.item())


if __name__ == "__main__":
    main()
