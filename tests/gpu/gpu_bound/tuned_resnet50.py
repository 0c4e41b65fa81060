# SPDX-License-Identifier: Apache-2.0
"""A ResNet-50 that is tuned already trains on made-up images: channels last, bfloat16, compiled, with a fused
optimizer. Its kernels keep the GPU busy the whole time."""
import argparse
import time

import torch
import torch.nn.functional as F
import torchvision

BATCH, BATCHES = 96, 32


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=60)
    steps = parser.parse_args().steps
    torch.manual_seed(0)
    model = torchvision.models.resnet50().to("cuda", memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9, weight_decay=1e-4, fused=True)
    images = torch.randn(BATCHES * BATCH, 3, 224, 224, device="cuda").to(memory_format=torch.channels_last)
    labels = torch.randint(0, 1000, (BATCHES * BATCH,), device="cuda")
    compiled = torch.compile(model)
    for step in range(steps):
        if step == steps // 5:
            torch.cuda.synchronize()
            start = time.perf_counter()
        rows = slice(step % BATCHES * BATCH, (step % BATCHES + 1) * BATCH)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            output = compiled(images[rows])
            loss = F.cross_entropy(output, labels[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.cuda.synchronize()
    print(f"ms/step={1000 * (time.perf_counter() - start) / (steps - steps // 5):.4f}")
    print(f"result={loss.item():.6g}")


if __name__ == "__main__":
    main()
