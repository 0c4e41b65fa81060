# SPDX-License-Identifier: Apache-2.0
"""A DCGAN trains on made-up images of 64 x 64 with two optimizers, in float32 and channels first. Convolutions, transposed
convolutions and batch norms keep the GPU busy the whole time."""
import argparse
import time

import torch
from torch import nn

BATCH, BATCHES, NOISE, WIDTH = 256, 8, 100, 128


def make_generator():
    layers = [nn.ConvTranspose2d(NOISE, WIDTH * 8, 4, 1, 0, bias=False), nn.BatchNorm2d(WIDTH * 8), nn.ReLU()]
    for factor in (8, 4, 2):
        layers += [nn.ConvTranspose2d(WIDTH * factor, WIDTH * factor // 2, 4, 2, 1, bias=False),
                   nn.BatchNorm2d(WIDTH * factor // 2), nn.ReLU()]
    return nn.Sequential(*layers, nn.ConvTranspose2d(WIDTH, 3, 4, 2, 1), nn.Tanh())


def make_discriminator():
    layers = [nn.Conv2d(3, WIDTH, 4, 2, 1), nn.LeakyReLU(0.2)]
    for factor in (1, 2, 4):
        layers += [nn.Conv2d(WIDTH * factor, WIDTH * factor * 2, 4, 2, 1, bias=False),
                   nn.BatchNorm2d(WIDTH * factor * 2), nn.LeakyReLU(0.2)]
    return nn.Sequential(*layers, nn.Conv2d(WIDTH * 8, 1, 4), nn.Flatten(0))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=80)
    steps = parser.parse_args().steps
    torch.manual_seed(0)
    generator, discriminator = make_generator().cuda(), make_discriminator().cuda()
    optimizer_g = torch.optim.Adam(generator.parameters(), lr=2e-5, betas=(0.5, 0.999))
    optimizer_d = torch.optim.Adam(discriminator.parameters(), lr=2e-5, betas=(0.5, 0.999))
    loss_of = nn.BCEWithLogitsLoss()
    ones, zeros = torch.ones(BATCH, device="cuda"), torch.zeros(BATCH, device="cuda")
    images = torch.randn(BATCHES * BATCH, 3, 64, 64, device="cuda").tanh()
    total = torch.zeros((), device="cuda")
    for step in range(steps):
        if step == steps // 5:
            torch.cuda.synchronize()
            start = time.perf_counter()
        real = images[step % BATCHES * BATCH:(step % BATCHES + 1) * BATCH]
        fake = generator(torch.randn(BATCH, NOISE, 1, 1, device="cuda"))
        loss_d = loss_of(discriminator(real), ones) + loss_of(discriminator(fake.detach()), zeros)
        optimizer_d.zero_grad()
        loss_d.backward()
        optimizer_d.step()
        loss_g = loss_of(discriminator(fake), ones)
        optimizer_g.zero_grad()
        loss_g.backward()
        optimizer_g.step()
        total += loss_d.detach() + loss_g.detach()
    torch.cuda.synchronize()
    print(f"ms/step={1000 * (time.perf_counter() - start) / (steps - steps // 5):.4f}")
    print(f"result={total.item() / steps:.6g}")


if __name__ == "__main__":
    main()
