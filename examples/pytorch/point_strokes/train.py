# SPDX-License-Identifier: Apache-2.0
"""Training on clouds of points, made faster a stage at a time. No downloads: all data is made up.

  baseline    samples made by the training process, pageable copies
  loader      four loader workers, pinned memory, copies with non_blocking
  fps         farthest point sampling in one kernel, not in a loop of tiny ones
  first_sync  one hidden wait less: a size read from the GPU becomes a constant
  syncs       and the second, a tensor used as a bool
  matching    strokes matched on the GPU for the whole batch, not on the CPU sample by sample
  bf16        autocast
"""
import argparse
import statistics
import sys
import time

import torch
from model import (MAX_STROKES, StrokeNet, build_target_masks, compute_mask_loss, farthest_point_sampling,
                   farthest_point_sampling_in_one_kernel, match_on_device, match_on_host)
from torch.utils.data import DataLoader, Dataset

STAGES = ("baseline", "loader", "fps", "first_sync", "syncs", "matching", "bf16")
WARM_UP = 10


class Clouds(Dataset):
    def __init__(self, count, points):
        self.count = count
        self.points = points

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        strokes = 1 + index % MAX_STROKES
        labels = torch.randint(0, strokes, (self.points,), generator=generator)
        points = torch.randn(self.points, 3, generator=generator) + labels.unsqueeze(-1)
        return points, labels, strokes


def train_step(options, stage, model, optimizer, batch, device):
    pinned = stage >= STAGES.index("loader")
    points, labels, n_strokes_per = (part.to(device, non_blocking=pinned) for part in batch)
    match = match_on_device if stage >= STAGES.index("matching") else match_on_host
    with torch.autocast("cuda", torch.bfloat16, enabled=options.stage == "bf16"):
        tokens, costs = model.coarse(points)
        order = match(costs).to(device, non_blocking=True)
        masks = model.masks(points, tokens)
        masks = torch.gather(masks, 1, order.unsqueeze(-1).expand(-1, -1, masks.shape[-1]))
        targets, valid = build_target_masks(labels, n_strokes_per, stage >= STAGES.index("first_sync"))
        loss = compute_mask_loss(masks, targets, valid, stage >= STAGES.index("syncs"))
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    return loss.detach()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stage", choices=STAGES, default="baseline")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--points", type=int, default=1024)
    parser.add_argument("--centres", type=int, default=256)
    parser.add_argument("--tf32", action="store_true", help="matmuls on tensor cores")
    options = parser.parse_args()
    stage = STAGES.index(options.stage)
    device = torch.device("cuda")
    torch.manual_seed(0)
    if options.tf32:
        torch.set_float32_matmul_precision("high")
    loop = stage < STAGES.index("fps")
    model = StrokeNet(options.centres, farthest_point_sampling if loop else farthest_point_sampling_in_one_kernel).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    loader = DataLoader(Clouds(options.batch * options.steps, options.points), batch_size=options.batch,
                        num_workers=4 if stage >= STAGES.index("loader") else 0, pin_memory=stage >= STAGES.index("loader"))
    epoch_loss = torch.zeros((), device=device)
    begin = time.perf_counter()
    times = []
    for batch in loader:
        with torch.cuda.nvtx.range("step"):
            epoch_loss += train_step(options, stage, model, optimizer, batch, device)
        now = time.perf_counter()
        times.append(now - begin)
        begin = now
    mean_loss = epoch_loss.item() / options.steps
    times[-1] += time.perf_counter() - begin  # what the host had run ahead
    print(f"{options.batch / statistics.mean(times[WARM_UP:]):.0f} samples/s, loss {mean_loss:.3f}", file=sys.stderr)


if __name__ == "__main__":
    main()
