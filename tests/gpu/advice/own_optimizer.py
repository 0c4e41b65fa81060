# SPDX-License-Identifier: Apache-2.0
"""A vision transformer is trained by an Adam of our own. Its step() goes over about 200 parameters in Python and launches
several small kernels for each."""
import argparse
import time

import torch
import torch.nn.functional as F
from torch import nn

TOKENS, PIXELS, DIM, DEPTH, CLASSES, BATCH = 196, 768, 384, 16, 10, 48


class Adam:
    def __init__(self, params, lr, beta1=0.9, beta2=0.999, eps=1e-8):
        self.params = list(params)
        self.lr, self.beta1, self.beta2, self.eps, self.count = lr, beta1, beta2, eps, 0
        self.means = [torch.zeros_like(p) for p in self.params]
        self.squares = [torch.zeros_like(p) for p in self.params]

    @torch.no_grad()
    def step(self):
        self.count += 1
        scale = (1 - self.beta2**self.count) ** 0.5
        rate = self.lr * scale / (1 - self.beta1**self.count)
        for p, mean, square in zip(self.params, self.means, self.squares):
            mean.mul_(self.beta1).add_(p.grad, alpha=1 - self.beta1)
            square.mul_(self.beta2).addcmul_(p.grad, p.grad, value=1 - self.beta2)
            p.addcdiv_(mean, square.sqrt().add_(self.eps * scale), value=-rate)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=300)
    steps = parser.parse_args().steps
    torch.manual_seed(0)
    layers = [nn.TransformerEncoderLayer(DIM, 6, 4 * DIM, dropout=0.0, activation="gelu", batch_first=True,
                                         norm_first=True) for _ in range(DEPTH)]
    model = nn.Sequential(nn.Linear(PIXELS, DIM), *layers, nn.LayerNorm(DIM), nn.Linear(DIM, CLASSES)).cuda()
    optimizer = Adam(model.parameters(), lr=1e-4)
    labels = torch.randint(CLASSES, (8, BATCH), device="cuda")
    patches = torch.randn(CLASSES, TOKENS, PIXELS, device="cuda")[labels]
    patches += torch.randn_like(patches)
    for step in range(steps):
        if step == steps // 5:
            torch.cuda.synchronize()
            start = time.perf_counter()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = F.cross_entropy(model(patches[step % 8]).mean(dim=1), labels[step % 8], label_smoothing=0.1)
        model.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    torch.cuda.synchronize()
    print("ms/step=%.4f" % ((time.perf_counter() - start) / (steps - steps // 5) * 1000))
    print("result=%.6g" % loss.item())


if __name__ == "__main__":
    main()
