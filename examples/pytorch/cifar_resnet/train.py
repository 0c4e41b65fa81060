# SPDX-License-Identifier: Apache-2.0
"""ResNet-50 on images of CIFAR's size, made faster a stage at a time. No downloads: all data is made up.

  baseline       two loader workers, pageable copies, loss and accuracy read every step
  deferred       loss and accuracy summed on the GPU, read once an epoch
  pinned         and pinned memory, copied with non_blocking
  workers        and eight loader workers

Each of these has the four changes above, and one of the kernels' own work:
  benchmark      cuDNN tries its algorithms
  compile        torch.compile, and matmuls in TF32
  max_autotune   the same, and Inductor tries its kernels
  scaler         autocast to float16, with a GradScaler
  bf16           autocast to bfloat16
  channels_last  the memory format that convolutions prefer
  tuned          the last two and max_autotune
"""
import argparse
import statistics
import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torchvision.models import resnet50

HOST_STAGES = ("baseline", "deferred", "pinned", "workers")
KERNEL_STAGES = {name: {name} for name in ("benchmark", "compile", "max_autotune", "scaler", "bf16", "channels_last")}
KERNEL_STAGES["tuned"] = {"max_autotune", "bf16", "channels_last"}
WARM_UP = 10


def changes_of(stage):
    if stage in KERNEL_STAGES:
        return KERNEL_STAGES[stage] | set(HOST_STAGES)
    return set(HOST_STAGES[:HOST_STAGES.index(stage) + 1])


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


def train_epoch(changes, model, optimizer, loader, device):
    pinned = "pinned" in changes
    reads = "deferred" not in changes
    reduced = torch.float16 if "scaler" in changes else torch.bfloat16
    scaler = torch.amp.GradScaler(enabled="scaler" in changes)
    total_loss = 0.0 if reads else torch.zeros((), device=device)
    correct = 0 if reads else torch.zeros((), device=device, dtype=torch.long)
    times = []
    begin = time.perf_counter()
    for _, (inputs, targets) in enumerate(loader):
        inputs, targets = inputs.to(device, non_blocking=pinned), targets.to(device, non_blocking=pinned)
        if "channels_last" in changes:
            inputs = inputs.contiguous(memory_format=torch.channels_last)
        with torch.cuda.nvtx.range("forward"), torch.autocast("cuda", reduced, enabled=bool(changes & {"bf16", "scaler"})):
            outputs = model(inputs)
            loss = nn.functional.cross_entropy(outputs, targets)
        with torch.cuda.nvtx.range("backward"):
            optimizer.zero_grad(set_to_none=True)
            scaler.scale(loss).backward()
        with torch.cuda.nvtx.range("optimizer step"):
            scaler.step(optimizer)
            scaler.update()
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
    parser.add_argument("--stage", choices=(*HOST_STAGES, *KERNEL_STAGES), default="baseline")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--batch", type=int, default=1024)
    options = parser.parse_args()
    changes = changes_of(options.stage)
    device = torch.device("cuda")
    torch.manual_seed(0)
    model = resnet50(num_classes=10).to(device)
    if "channels_last" in changes:
        model = model.to(memory_format=torch.channels_last)
    torch.backends.cudnn.benchmark = "benchmark" in changes
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    loader = DataLoader(Images(options.batch * options.steps), batch_size=options.batch,
                        num_workers=8 if "workers" in changes else 2, pin_memory="pinned" in changes)
    if changes & {"compile", "max_autotune"}:
        torch.set_float32_matmul_precision("high")
        model = torch.compile(model, mode="max-autotune" if "max_autotune" in changes else None)
    times, mean_loss, correct = train_epoch(changes, model, optimizer, loader, device)
    print(f"{options.batch / statistics.mean(times[WARM_UP:]):.0f} images/s, loss {mean_loss:.3f}, {correct} right", file=sys.stderr)


if __name__ == "__main__":
    main()
