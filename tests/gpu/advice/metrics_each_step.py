# SPDX-License-Identifier: Apache-2.0
"""A classifier is trained with three TorchMetrics. Each step computes all three and reads them with float(), which waits
for the GPU three times."""
import argparse
import time

import torch
import torch.nn.functional as F
from torch import nn
from torchmetrics.classification import MulticlassAccuracy, MulticlassF1Score

FEATURES, WIDTH, DEPTH, CLASSES, BATCH = 1024, 4096, 6, 100, 2048


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=400)
    steps = parser.parse_args().steps
    torch.manual_seed(0)
    sizes = [FEATURES] + [WIDTH] * DEPTH
    hidden = [layer for a, b in zip(sizes, sizes[1:]) for layer in (nn.Linear(a, b), nn.ReLU())]
    model = nn.Sequential(*hidden, nn.Linear(WIDTH, CLASSES)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    features = torch.randn(32, BATCH, FEATURES, device="cuda")
    labels = (features @ torch.randn(FEATURES, CLASSES, device="cuda")).argmax(-1)
    # Their checks of the labels would read from the GPU, too.
    metrics = {
        "accuracy": MulticlassAccuracy(CLASSES, average="micro", validate_args=False).cuda(),
        "top5": MulticlassAccuracy(CLASSES, top_k=5, average="micro", validate_args=False).cuda(),
        "f1": MulticlassF1Score(CLASSES, top_k=5, average="macro", validate_args=False).cuda(),
    }
    history = []
    for step in range(steps):
        if step == steps // 5:
            torch.cuda.synchronize()
            start = time.perf_counter()
        x, y = features[step % 32], labels[step % 32]
        with torch.autocast("cuda", dtype=torch.bfloat16):
            logits = model(x)
        logits = logits.float()
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        for metric in metrics.values():
            metric.update(logits.detach(), y)
        history.append({name: float(metric.compute()) for name, metric in metrics.items()})
    torch.cuda.synchronize()
    print("ms/step=%.4f" % ((time.perf_counter() - start) / (steps - steps // 5) * 1000))
    print("result=%.6g %.6g %.6g" % (loss.item(), history[-1]["accuracy"], history[-1]["f1"]))


if __name__ == "__main__":
    main()
