# SPDX-License-Identifier: Apache-2.0
"""ResNet-18 on large images, from a loop that starves the GPU to one that does not, a stage at a time. No downloads.

  baseline   samples are made by the training process itself, copies are pageable
  workers    eight loader workers
  pinned     and pinned memory, copied with non_blocking
  streams    and copies on a stream of their own, one batch ahead
  prefetcher and three batches ahead

Each of these has pinned memory, and one change of the kernels' own work:
  channels_last  the memory format that convolutions prefer
  compile        torch.compile, and matmuls in TF32
  bf16           autocast to bfloat16
  tuned          the three at once, and three batches ahead
"""
import argparse
import collections
import statistics
import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torchvision.models import resnet18

KERNEL_CHANGES = ("channels_last", "compile", "bf16")
STAGES = {"baseline": (), "workers": ("workers",), "pinned": ("workers", "pinned"), "streams": ("workers", "pinned", "streams"),
          "prefetcher": ("workers", "pinned", "prefetcher"), **{name: ("workers", "pinned", name) for name in KERNEL_CHANGES},
          "tuned": ("workers", "pinned", "prefetcher", *KERNEL_CHANGES)}


class Images(Dataset):
    def __init__(self, count, side):
        self.count = count
        self.side = side

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        return torch.rand(3, self.side, self.side, generator=generator), index % 1000


def copied(batches, device, non_blocking):
    for inputs, targets in batches:
        with torch.cuda.nvtx.range("copy batch"):
            inputs = inputs.to(device, non_blocking=non_blocking)
            targets = targets.to(device, non_blocking=non_blocking)
        yield inputs, targets


def copied_ahead(batches, device, depth):
    """So many batches ahead, on a stream of its own."""
    stream = torch.cuda.Stream()
    ahead = collections.deque()

    def take():
        tensors, copied_event = ahead.popleft()
        torch.cuda.current_stream().wait_event(copied_event)
        for tensor in tensors:
            tensor.record_stream(torch.cuda.current_stream())
        return tensors

    for inputs, targets in batches:
        with torch.cuda.nvtx.range("copy batch"), torch.cuda.stream(stream):
            tensors = inputs.to(device, non_blocking=True), targets.to(device, non_blocking=True)
            ahead.append((tensors, stream.record_event()))
        if len(ahead) > depth:
            yield take()
    while ahead:
        yield take()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stage", choices=list(STAGES), default="baseline")
    parser.add_argument("--steps", type=int, default=16)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--side", type=int, default=512)
    options = parser.parse_args()
    changes = STAGES[options.stage]
    device = torch.device("cuda")
    torch.manual_seed(0)
    model = resnet18().to(device)
    if "channels_last" in changes:
        model = model.to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    if "compile" in changes:
        torch.set_float32_matmul_precision("high")
        model = torch.compile(model)
    workers = 8 if "workers" in changes else 0
    loader = DataLoader(Images(options.batch * options.steps, options.side), batch_size=options.batch, num_workers=workers,
                        pin_memory="pinned" in changes)
    if "streams" in changes or "prefetcher" in changes:
        batches = copied_ahead(loader, device, depth=1 if "streams" in changes else 3)
    else:
        batches = copied(loader, device, non_blocking="pinned" in changes)
    times = []
    step_end = None
    begin = time.perf_counter()
    for inputs, targets in batches:
        with torch.cuda.nvtx.range("compute"):
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast("cuda", torch.bfloat16, enabled="bf16" in changes):
                loss = nn.functional.cross_entropy(model(inputs), targets)
            loss.backward()
            optimizer.step()
        # Nothing reads the loss, so the host would run ahead without a limit: it stays one step in front of the GPU.
        if step_end is not None:
            step_end.synchronize()
        step_end = torch.cuda.current_stream().record_event()
        now = time.perf_counter()
        times.append(now - begin)
        begin = now
    torch.cuda.synchronize()
    steady = times[4:] or times
    print(f"{1 / statistics.mean(steady):.2f} steps/s", file=sys.stderr)


if __name__ == "__main__":
    main()
