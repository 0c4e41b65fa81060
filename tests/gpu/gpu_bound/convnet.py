# SPDX-License-Identifier: Apache-2.0
"""A MobileNetV3 trains on made-up images in float32, with tensors in the default layout (channels first).
Depthwise convolutions, batch norms and activations over large tensors keep the GPU busy the whole time."""
import argparse
import time

import torch
import torch.nn.functional as F
import torchvision

BATCH, BATCHES = 128, 16


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=60)
    steps = parser.parse_args().steps
    torch.manual_seed(0)
    model = torchvision.models.mobilenet_v3_large().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9)
    images = torch.randn(BATCHES, BATCH, 3, 224, 224, device="cuda")
    labels = torch.randint(0, 1000, (BATCHES, BATCH), device="cuda")
    for step in range(steps):
        if step == steps // 5:
            torch.cuda.synchronize()
            start = time.perf_counter()
        output = model(images[step % BATCHES])
        loss = F.cross_entropy(output, labels[step % BATCHES])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.cuda.synchronize()
    print(f"ms/step={1000 * (time.perf_counter() - start) / (steps - steps // 5):.4f}")
    print(f"result={loss.item():.6g}")


if __name__ == "__main__":
    main()
