# SPDX-License-Identifier: Apache-2.0
"""A convolutional encoder and decoder is trained to segment images. The timers of the data, forward,
backward and optimizer parts of each step synchronise with the GPU."""
import argparse
import time

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, RandomSampler, TensorDataset


def double(inputs, width):
    return nn.Sequential(nn.Conv2d(inputs, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(),
                         nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU())


def up(inputs, width):
    return nn.Sequential(nn.ConvTranspose2d(inputs, width, 2, 2), double(width, width))


def now():
    torch.cuda.synchronize()
    return time.perf_counter()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=400)
    steps = parser.parse_args().steps
    torch.manual_seed(0)
    masks = torch.randint(2, (128, 1, 8, 8), dtype=torch.uint8).repeat_interleave(20, 2).repeat_interleave(20, 3)
    data = TensorDataset(100 * masks + torch.randint(156, (128, 3, 160, 160), dtype=torch.uint8), masks)
    sampler = RandomSampler(data, replacement=True, num_samples=steps * 16)
    loader = DataLoader(data, batch_size=16, sampler=sampler, num_workers=4, pin_memory=True)
    down = [double(3, 32), nn.MaxPool2d(2), double(32, 64), nn.MaxPool2d(2), double(64, 128), nn.MaxPool2d(2)]
    model = nn.Sequential(*down, double(128, 256), up(256, 128), up(128, 64), up(64, 32), nn.Conv2d(32, 1, 1))
    model = model.cuda().to(memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    batches, seconds = iter(loader), [0.0, 0.0, 0.0, 0.0]
    for step in range(steps):
        if step == steps // 5:
            torch.cuda.synchronize()
            start = time.perf_counter()
        times = [now()]
        images, masks = (part.cuda(non_blocking=True) for part in next(batches))
        images = images.to(torch.float32, memory_format=torch.channels_last).div_(255)
        times.append(now())
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = F.binary_cross_entropy_with_logits(model(images), masks * 0.8 + 0.1)
        times.append(now())
        loss.backward()
        times.append(now())
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        times.append(now())
        seconds = [total + end - begin for total, begin, end in zip(seconds, times, times[1:])]
    torch.cuda.synchronize()
    print("ms/step=%.4f" % ((time.perf_counter() - start) / (steps - steps // 5) * 1000))
    print("result=%.6g" % loss.item())


if __name__ == "__main__":
    main()
