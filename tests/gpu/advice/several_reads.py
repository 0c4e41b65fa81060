# SPDX-License-Identifier: Apache-2.0
"""A convolutional variational autoencoder is trained on blurred noise. Each step reads five metrics with .item() for a
log, and each read waits for the GPU."""
import argparse
import time

import torch
import torch.nn.functional as F
from torch import nn

WIDTHS, LATENT, BATCH = (3, 64, 128, 256, 512), 128, 384


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        down, up = [], []
        for a, b in zip(WIDTHS, WIDTHS[1:]):
            down += [nn.Conv2d(a, b, 4, 2, 1), nn.BatchNorm2d(b), nn.ReLU()]
            up = [nn.ConvTranspose2d(b, a, 4, 2, 1), nn.BatchNorm2d(a), nn.ReLU()] + up
        self.encoder = nn.Sequential(*down, nn.Flatten(), nn.Linear(512 * 16, 2 * LATENT))
        self.decoder = nn.Sequential(nn.Linear(LATENT, 512 * 16), nn.Unflatten(1, (512, 4, 4)), *up[:-2])

    def forward(self, images):
        mean, log_var = self.encoder(images).chunk(2, dim=1)
        return self.decoder(mean + torch.randn_like(mean) * (0.5 * log_var).exp()), mean.float(), log_var.float()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=400)
    steps = parser.parse_args().steps
    torch.manual_seed(0)
    model = VAE().cuda().to(memory_format=torch.channels_last)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    images = F.interpolate(torch.randn(16 * BATCH, 3, 4, 4, device="cuda"), size=64, mode="bilinear")
    images = (images + 0.5 * torch.randn_like(images)).to(memory_format=torch.channels_last).split(BATCH)
    history = []
    for step in range(steps):
        if step == steps // 5:
            torch.cuda.synchronize()
            start = time.perf_counter()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            output, mean, log_var = model(images[step % 16])
        mse = F.mse_loss(output.float(), images[step % 16])
        kl = -0.5 * (1 + log_var - mean**2 - log_var.exp()).mean()
        loss = mse + 1e-3 * kl
        metrics = {"loss": loss.item(), "mse": mse.item(), "kl": kl.item()}
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        metrics["grad_norm"] = nn.utils.clip_grad_norm_(model.parameters(), 1.0).item()
        optimizer.step()
        metrics["psnr"] = (-10 * mse.detach().log10()).item()
        history.append(metrics)
    torch.cuda.synchronize()
    print("ms/step=%.4f" % ((time.perf_counter() - start) / (steps - steps // 5) * 1000))
    print("result=%.6g" % loss.item())


if __name__ == "__main__":
    main()
