# SPDX-License-Identifier: Apache-2.0
"""An FCN with a ResNet-50 trains for segmentation on made-up images of 256 x 256 in float32 and channels
first. Dilated convolutions and batch norms over large tensors keep the GPU busy the whole time."""
import argparse
import time

import torch
import torch.nn.functional as F
from torchvision.models.segmentation import fcn_resnet50

BATCH, BATCHES, SIZE, CLASSES = 12, 8, 256, 21


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=60)
    steps = parser.parse_args().steps
    torch.manual_seed(0)
    model = fcn_resnet50(weights=None, weights_backbone=None, num_classes=CLASSES).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9)
    images = torch.randn(BATCHES, BATCH, 3, SIZE, SIZE, device="cuda")
    labels = torch.randint(0, CLASSES, (BATCHES, BATCH, SIZE, SIZE), device="cuda")
    for step in range(steps):
        if step == steps // 5:
            torch.cuda.synchronize()
            start = time.perf_counter()
        output = model(images[step % BATCHES])["out"]
        loss = F.cross_entropy(output, labels[step % BATCHES])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.cuda.synchronize()
    print(f"ms/step={1000 * (time.perf_counter() - start) / (steps - steps // 5):.4f}")
    print(f"result={loss.item():.6g}")


if __name__ == "__main__":
    main()
