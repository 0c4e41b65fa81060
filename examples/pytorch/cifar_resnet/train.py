# SPDX-License-Identifier: Apache-2.0
"""ResNet-50 on images of CIFAR's size, made faster a stage at a time. No downloads: all data is made up.

  baseline       two loader workers, pageable copies, loss and accuracy read every step
  deferred       loss and accuracy summed on the GPU, read once an epoch
  pinned         and pinned memory, copied with non_blocking
  workers        and eight loader workers
  bf16           and autocast
  channels_last  and the memory format that convolutions prefer
"""
import argparse
import statistics
import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torchvision.models import resnet50

STAGES = ("baseline", "deferred", "pinned", "workers", "bf16", "channels_last")
WARM_UP = 10


class Images(Dataset):
    """Padded, cropped and flipped at random, as CIFAR's are in training."""

    def __init__(self, count):
        self.count = count
        self.images = torch.rand(512, 3, 32, 32)

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        image = nn.functional.pad(self.images[index % len(self.images)], (4, 4, 4, 4))
        top, left = index % 9, index // 9 % 9
        image = image[:, top:top + 32, left:left + 32]
        image = image.flip(-1) if index & 1 else image
        return (image - 0.5) / 0.25, index % 10


def train_epoch(options, model, optimizer, loader, device):
    stage = STAGES.index(options.stage)
    pinned = stage >= STAGES.index("pinned")
    reads = stage < STAGES.index("deferred")
    total_loss = 0.0 if reads else torch.zeros((), device=device)
    correct = 0 if reads else torch.zeros((), device=device, dtype=torch.long)
    times = []
    begin = time.perf_counter()
    for _, (inputs, targets) in enumerate(loader):
        inputs, targets = inputs.to(device, non_blocking=pinned), targets.to(device, non_blocking=pinned)
        if options.stage == "channels_last":
            inputs = inputs.contiguous(memory_format=torch.channels_last)
        with torch.cuda.nvtx.range("forward"), torch.autocast("cuda", torch.bfloat16, enabled=stage >= STAGES.index("bf16")):
            outputs = model(inputs)
            loss = nn.functional.cross_entropy(outputs, targets)
        with torch.cuda.nvtx.range("backward"):
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
        with torch.cuda.nvtx.range("optimizer step"):
            optimizer.step()
        with torch.cuda.nvtx.range("loss stats"):
            if reads:
                total_loss += loss.item()
                correct += (outputs.argmax(1) == targets).sum().item()
            else:
                total_loss += loss.detach()
                correct += (outputs.argmax(1) == targets).sum()
        now = time.perf_counter()
        times.append(now - begin)
        begin = now
    mean_loss = float(total_loss) / len(times)
    times[-1] += time.perf_counter() - begin  # what the host had run ahead
    return times, mean_loss, int(correct)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stage", choices=STAGES, default="baseline")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--batch", type=int, default=1024)
    options = parser.parse_args()
    stage = STAGES.index(options.stage)
    device = torch.device("cuda")
    torch.manual_seed(0)
    model = resnet50(num_classes=10).to(device)
    if options.stage == "channels_last":
        model = model.to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    loader = DataLoader(Images(options.batch * options.steps), batch_size=options.batch,
                        num_workers=8 if stage >= STAGES.index("workers") else 2, pin_memory=stage >= STAGES.index("pinned"))
    times, mean_loss, correct = train_epoch(options, model, optimizer, loader, device)
    print(f"{options.batch / statistics.mean(times[WARM_UP:]):.0f} images/s, loss {mean_loss:.3f}, {correct} right", file=sys.stderr)


if __name__ == "__main__":
    main()
