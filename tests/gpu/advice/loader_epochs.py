# SPDX-License-Identifier: Apache-2.0
"""A ResNet-18 is trained for many epochs of 20 steps. The loader starts its 8 workers anew in each epoch."""
import argparse
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset
from torchvision.models import resnet18

SIZE, CLASSES, BATCH, STEPS_PER_EPOCH = 96, 10, 256, 20


class Images(Dataset):
    def __init__(self, length):
        rng = np.random.default_rng(0)
        self.labels = rng.integers(CLASSES, size=length).tolist()
        templates = rng.integers(0, 96, (CLASSES, 3, SIZE, SIZE), dtype=np.uint8)
        noise = rng.integers(0, 160, (64, 3, SIZE, SIZE), dtype=np.uint8)
        self.images = np.stack([templates[label] + noise[i % 64] for i, label in enumerate(self.labels)])

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        image = torch.from_numpy(self.images[index])
        return image.flip(2) if index % 2 else image, self.labels[index]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=300)
    steps = parser.parse_args().steps
    torch.manual_seed(0)
    dataset = Images(STEPS_PER_EPOCH * BATCH)
    loader = DataLoader(dataset, batch_size=BATCH, num_workers=8, pin_memory=True)
    model = resnet18(num_classes=CLASSES).cuda().to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    step = 0
    for epoch in range(steps // STEPS_PER_EPOCH):
        for images, labels in loader:
            if step == steps // 5:
                torch.cuda.synchronize()
                start = time.perf_counter()
            images = images.cuda(non_blocking=True).to(torch.float32, memory_format=torch.channels_last).div_(255)
            labels = labels.cuda(non_blocking=True)
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = F.cross_entropy(model(images), labels, label_smoothing=0.1)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            step += 1
    torch.cuda.synchronize()
    print("ms/step=%.4f" % ((time.perf_counter() - start) / (step - steps // 5) * 1000))
    print("result=%.6g" % loss.item())


if __name__ == "__main__":
    main()
