# SPDX-License-Identifier: Apache-2.0
"""A diffusion model (DDPM) with a small U-Net trains on made-up images of 64 x 64 in float32 and channels first. Its attention
is written by hand and makes a large matrix of weights. The GPU is busy the whole time."""
import argparse
import math
import time

import torch
import torch.nn.functional as F
from torch import nn

BATCH, BATCHES, SIZE, STAGES = 48, 8, 64, 1000


class ResBlock(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(32, inputs), nn.GroupNorm(32, outputs)
        self.conv1 = nn.Conv2d(inputs, outputs, 3, padding=1)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1)
        self.time = nn.Linear(256, outputs)
        self.skip = nn.Conv2d(inputs, outputs, 1)

    def forward(self, x, time):
        h = self.conv1(F.silu(self.norm1(x)))
        h = h + self.time(time)[:, :, None, None]
        return self.skip(x) + self.conv2(F.silu(self.norm2(h)))


class Attention(nn.Module):
    def __init__(self, width, heads=4):
        super().__init__()
        self.heads = heads
        self.norm = nn.GroupNorm(32, width)
        self.qkv, self.project = nn.Conv2d(width, 3 * width, 1), nn.Conv2d(width, width, 1)

    def forward(self, x):
        batch, width, height, columns = x.shape
        qkv = self.qkv(self.norm(x)).reshape(batch, 3, self.heads, width // self.heads, height * columns)
        q, k, v = qkv.transpose(-2, -1).unbind(1)
        weights = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]), dim=-1)
        out = weights @ v
        return x + self.project(out.transpose(-2, -1).reshape(batch, width, height, columns))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("frequencies", torch.exp(torch.linspace(0, -math.log(10000), 64)))
        self.time = nn.Sequential(nn.Linear(128, 256), nn.SiLU(), nn.Linear(256, 256), nn.SiLU())
        self.enter, self.leave = nn.Conv2d(3, 128, 3, padding=1), nn.Conv2d(128, 3, 3, padding=1)
        self.down1, self.down2, self.middle = ResBlock(128, 128), ResBlock(128, 256), ResBlock(256, 256)
        self.up2, self.up1 = ResBlock(512, 256), ResBlock(384, 128)
        self.attention2, self.attention3 = Attention(256), Attention(256)
        nn.init.zeros_(self.leave.weight)

    def forward(self, x, stage):
        angle = stage[:, None] * self.frequencies
        time = self.time(torch.cat([angle.sin(), angle.cos()], dim=1))
        first = self.down1(self.enter(x), time)
        second = self.attention2(self.down2(F.avg_pool2d(first, 2), time))
        h = self.attention3(self.middle(F.avg_pool2d(second, 2), time))
        h = self.up2(torch.cat([F.interpolate(h, scale_factor=2), second], dim=1), time)
        h = self.up1(torch.cat([F.interpolate(h, scale_factor=2), first], dim=1), time)
        return self.leave(h)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=80)
    steps = parser.parse_args().steps
    torch.manual_seed(0)
    model = UNet().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    kept = torch.cumprod(1 - torch.linspace(1e-4, 0.02, STAGES, device="cuda"), dim=0)
    images = torch.randn(BATCHES * BATCH, 3, SIZE, SIZE, device="cuda")
    for step in range(steps):
        if step == steps // 5:
            torch.cuda.synchronize()
            start = time.perf_counter()
        batch = images[step % BATCHES * BATCH:(step % BATCHES + 1) * BATCH]
        stage = torch.randint(0, STAGES, (BATCH,), device="cuda")
        noise = torch.randn(BATCH, 3, SIZE, SIZE, device="cuda")
        share = kept[stage].view(-1, 1, 1, 1)
        noisy = share.sqrt() * batch + (1 - share).sqrt() * noise
        loss = F.mse_loss(model(noisy, stage), noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.cuda.synchronize()
    print(f"ms/step={1000 * (time.perf_counter() - start) / (steps - steps // 5):.4f}")
    print(f"result={loss.item():.6g}")


if __name__ == "__main__":
    main()
