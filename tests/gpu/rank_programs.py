# SPDX-License-Identifier: Apache-2.0
"""Training loops of two ranks, nobody annotated, in which rank 1 has one fault, for ranks.py.

rank_programs.py PATTERN record FAULT --steps N   the fault in each step
rank_programs.py PATTERN time --steps N           all faults and none in turns, in blocks of N steps: prints
                                                  seconds a step
rank_programs.py PATTERN windows --steps N        no fault; windows of N steps, and of 20 N all-reduces of four bytes, with the
                                                  recorder off and on in turns (SYNCTRACE_TEST_CONTROL=1): prints the seconds of each
PATTERN: ddp, fsdp, pipeline (send and receive), tensor (parallel). Started once for each rank, with RANK, LOCAL_RANK, WORLD_SIZE,
MASTER_ADDR and MASTER_PORT as torchrun sets them. With RANK_TURN, nothing runs on the GPU before that file is there."""
import argparse
import gc
import io
import json
import os
import pathlib
import random
import statistics
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

from ranks import EVEN, FAULTS

RANK = int(os.environ["RANK"])
LATE_RANK = 1
BASES = ("none", "unread", "loaded")
# So large that the GPU has the longer part of a step: on a slow host, everything else waits for the host.
WIDTH, HIDDEN, LAYERS = {"ddp": (2048, 8192, 6)}.get(sys.argv[1], (4096, 16384, 4))
ROWS = 8192
MICRO_BATCHES = 4
LOADER_S = 0.08  # the late rank loads a batch so long; the other one's are ready
ROUNDS = 2
WINDOW_ROUNDS = 20


def augment(milliseconds):
    end = time.perf_counter() + 1e-3 * milliseconds
    while time.perf_counter() < end:
        pass


def log_norms(parameters):
    return [getattr(one.grad, "to_local", lambda one=one: one.grad)().norm().item() for one in parameters]


def clean_up():
    gc.collect()


def extra_work(matrix):
    for _ in range(10):
        matrix = matrix @ matrix
    return matrix


def save_state(model):
    torch.save(model.state_dict(), io.BytesIO())


def free_cache():
    torch.cuda.empty_cache()


def upload(table):
    return table.to("cuda").sum()


def block(hidden=HIDDEN):
    return nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, hidden), nn.GELU(), nn.Linear(hidden, WIDTH)).cuda().bfloat16()


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=1e-5, momentum=0.9)


class DataParallel:
    def __init__(self):
        self.model = DistributedDataParallel(nn.Sequential(*(block() for _ in range(LAYERS))))
        self.optimizer = sgd(self.model)

    def step(self, batch):
        loss = self.model(batch).float().square().mean()
        loss.backward()
        return loss


class FullySharded(DataParallel):
    def __init__(self):
        self.model = nn.Sequential(*(block() for _ in range(LAYERS)))
        for layer in self.model:
            fully_shard(layer)
        fully_shard(self.model)
        self.optimizer = sgd(self.model)


class Pipeline:
    """Two stages; all micro-batches forward, then all backward."""

    def __init__(self):
        self.model = nn.Sequential(*(block() for _ in range(LAYERS)))
        self.optimizer = sgd(self.model)

    def step(self, batch):
        return self.first_stage(batch) if RANK == 0 else self.last_stage(batch)

    def first_stage(self, batch):
        outputs = []
        for part in batch.chunk(MICRO_BATCHES):
            outputs.append(self.model(part))
            dist.send(outputs[-1].detach(), 1)
        for output in outputs:
            gradient = torch.empty_like(output)
            dist.recv(gradient, 1)
            output.backward(gradient)
        return gradient.float().square().mean()

    def last_stage(self, batch):
        inputs, losses = [], []
        for part in batch.chunk(MICRO_BATCHES):
            inputs.append(torch.empty_like(part))
            dist.recv(inputs[-1], 0)
            inputs[-1].requires_grad_()
            losses.append(self.model(inputs[-1]).float().square().mean())
        for value, loss in zip(inputs, losses):
            loss.backward()
            dist.send(value.grad, 0)
        return loss


class SumForward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, value):
        value = value.clone()
        dist.all_reduce(value)
        return value

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class SumBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, value):
        return value.view_as(value)

    @staticmethod
    def backward(ctx, gradient):
        gradient = gradient.clone()
        dist.all_reduce(gradient)
        return gradient


class TensorParallel:
    """Each rank has half of the hidden units of each layer."""

    def __init__(self):
        self.model = nn.ModuleList(block(HIDDEN // 2) for _ in range(LAYERS))
        self.optimizer = sgd(self.model)

    def step(self, batch):
        for layer in self.model:
            batch = batch + SumForward.apply(layer(SumBackward.apply(batch)))
        loss = batch.float().square().mean()
        loss.backward()
        return loss


PATTERNS = {"ddp": DataParallel, "fsdp": FullySharded, "pipeline": Pipeline, "tensor": TensorParallel}


class Slow(Dataset):
    def __init__(self, count, seconds):
        self.count, self.seconds = count, seconds

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        time.sleep(self.seconds)
        return torch.zeros(16)


def batches(count, kind):
    """The same batch again and again, or, where the loader matters, after a small batch from a loader."""
    batch = torch.randn(ROWS, WIDTH, device="cuda", dtype=torch.bfloat16)
    if kind not in ("loader", "loaded"):
        for _ in range(count):
            yield batch
        return
    seconds = LOADER_S if kind == "loader" and RANK == LATE_RANK else 0.0
    for shift in DataLoader(Slow(count, seconds), batch_size=None, num_workers=1, pin_memory=True):
        yield batch + shift.to("cuda", non_blocking=True).sum()


def train(program, kind, count, matrix):
    """Steps with this fault, or none."""
    is_late = RANK == LATE_RANK
    turns = random.Random(1)  # the same on all ranks
    table = torch.ones(16 << 20) if is_late and kind == "pageable" else None  # 64 MiB of pageable memory
    for number, batch in enumerate(batches(count, kind)):
        if is_late and kind.startswith("host"):
            augment(float(kind[4:]))
        if kind == "jitter" and turns.randrange(2) == RANK:
            augment(8.0)
        if is_late and kind == "pageable":
            upload(table)
        if is_late and kind == "kernel":
            extra_work(matrix)
        loss = program.step(batch)
        if is_late and kind == "read":
            log_norms(program.model.parameters())
        program.optimizer.step()
        program.optimizer.zero_grad()
        if is_late and kind == "garbage" and number % 4 == 3:
            clean_up()
        if is_late and kind == "save" and number % 4 == 3:
            save_state(program.model)
        if is_late and kind == "empty":
            free_cache()
        if is_late and kind == "hidden":
            augment(1.0)
        if kind not in ("unread", "read"):
            loss.item()


def timed(program, matrix, count):
    """Blocks in turns; of the two loops with a loader, its start is in none."""
    kinds = [*BASES, *FAULTS]
    seconds = {kind: [] for kind in kinds}
    for turn in range(ROUNDS):
        for kind in kinds if turn % 2 == 0 else reversed(kinds):
            took = []
            for number in (3, count):
                torch.cuda.synchronize()
                dist.barrier()
                start = time.perf_counter()
                train(program, kind, number, matrix)
                torch.cuda.synchronize()
                dist.barrier()
                torch.cuda.synchronize()
                took.append(time.perf_counter() - start)
            seconds[kind].append((took[1] - took[0]) / (count - 3))  # without what comes once in a block
    return seconds


def windows(program, matrix, count):
    small = torch.zeros(1, device="cuda")

    def steps():
        train(program, "none", count, matrix)

    def reductions():
        for _ in range(20 * count):
            dist.all_reduce(small)

    order_of = random.Random(1)  # the same on all ranks
    modes = ["off", "cupti-only", "timeline"]
    seconds = {what: {mode: [] for mode in modes} for what in ("steps", "reductions")}
    for _ in range(WINDOW_ROUNDS):
        order_of.shuffle(modes)
        for mode in modes:
            torch.cuda.nvtx.mark("synctrace:" + mode)
            for what, loop in (("steps", steps), ("reductions", reductions)):
                train(program, "none", 1, matrix)
                torch.cuda.synchronize()
                dist.barrier()
                torch.cuda.synchronize()
                start = time.perf_counter()
                loop()
                torch.cuda.synchronize()
                seconds[what][mode].append((time.perf_counter() - start) / (count if what == "steps" else 20 * count))
    return seconds


def wait_for_turn():
    turn = os.environ.get("RANK_TURN")
    if loaded := os.environ.get("RANK_LOADED"):
        pathlib.Path(loaded).touch()
    while turn and not pathlib.Path(turn).exists():
        time.sleep(0.02)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("pattern", choices=PATTERNS)
    parser.add_argument("what", choices=("record", "time", "windows"))
    parser.add_argument("fault", nargs="?", default="none", choices=(*EVEN, *FAULTS))
    parser.add_argument("--steps", type=int, default=60)
    options = parser.parse_args()
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    torch.cuda.init()
    wait_for_turn()
    dist.init_process_group("nccl")
    torch.manual_seed(1)
    program = PATTERNS[options.pattern]()
    matrix = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16) / 64
    kept = [[number] for number in range(200_000)]  # noqa: F841 - what a collection of garbage looks through
    if options.what == "record":
        train(program, options.fault, options.steps, matrix)
        result = {}
    elif options.what == "time":
        train(program, "none", 10, matrix)
        result = {kind: statistics.median(blocks) for kind, blocks in timed(program, matrix, options.steps).items()}
    else:
        train(program, "none", 10, matrix)
        result = windows(program, matrix, options.steps)
    torch.cuda.synchronize()
    dist.barrier()
    torch.cuda.synchronize()
    print(json.dumps(result), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
