# SPDX-License-Identifier: Apache-2.0
"""Training loops whose data loader is too slow, each in its own way, for loader_advice.py. A step multiplies matrices and
waits for the step before; what differs is where a batch's time goes.

  loader_programs.py '[{"case": .., "workers": .., "work": .. | "batch_s": .., "matmuls": .., "steps": ..}, ..]'

A batch costs so many units of work, which more workers may slow down, or so many seconds by the clock, whatever the host
does. Prints one line of JSON for each: steps a second behind the first ones."""
import json
import sys
import time
import zlib

SKIPPED = 40  # steps until queues that were filled in advance are empty
PACKED = zlib.compress(bytes(range(256)) * 256, 1)
SHARDS = 4
CHEAP = 40  # a batch that holds nobody up costs one part in so many


def decode(times):
    for _ in range(times):
        zlib.decompress(PACKED)


def decode_for(seconds):
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        zlib.decompress(PACKED)


def count(times):
    total = 0
    for i in range(times):
        total += i % 7
    return total


def sample():
    import torch

    return torch.ones(32, 256)


class Map:
    """Every batch costs the same."""

    def __init__(self, run, work, cost):
        self.steps, self.work, self.cost = run["steps"], work, cost

    def __len__(self):
        return self.steps

    def __getitem__(self, index):
        self.work(self.cost)
        return sample()


class Rebuilt:
    """A batch that is expensive to unpickle, which the main process does."""

    def __init__(self, tensor, batch_s):
        self.tensor, self.batch_s = tensor, batch_s

    def __reduce__(self):
        return rebuild, (self.tensor, self.batch_s)


def rebuild(tensor, batch_s):
    decode_for(batch_s)
    return tensor


class SlowToPin:
    """A batch that is expensive to copy into pinned memory, which a thread of the main process does."""

    def __init__(self, tensor, batch_s):
        self.tensor, self.batch_s = tensor, batch_s

    def pin_memory(self):
        decode_for(self.batch_s)
        return self.tensor.pin_memory()


def loader_of(run):
    from torch.utils.data import DataLoader, IterableDataset, get_worker_info

    class Shards(IterableDataset):
        """Worker i reads the shards i, i + n...; the first shard's batches are expensive."""

        def __iter__(self):
            info = get_worker_info()
            for shard in range(info.id, SHARDS, info.num_workers):
                for _ in range(run["steps"] // SHARDS):
                    decode_for(run["batch_s"] if shard == 0 else run["batch_s"] / CHEAP)
                    yield sample()

    case = run["case"]
    options = {"batch_size": None, "num_workers": run["workers"]}
    if run["workers"] > 0:
        options["multiprocessing_context"] = "fork"
    if case in ("decode", "in the loop"):
        return DataLoader(Map(run, decode, run["work"]), **options)
    if case == "python":
        return DataLoader(Map(run, count, run["work"]), **options)
    if case == "one shard":
        return DataLoader(Shards(), **options)
    cheap = Map(run, decode_for, run["batch_s"] / CHEAP)
    if case == "pin thread":
        return DataLoader(cheap, pin_memory=True, collate_fn=lambda item: SlowToPin(item, run["batch_s"]), **options)
    if case == "main process":
        return DataLoader(cheap, collate_fn=lambda item: Rebuilt(item, run["batch_s"]), **options)
    raise ValueError(case)


def train(batches, matmuls, left, right, out):
    import torch

    index = begin = 0
    last = None
    for index, batch in enumerate(batches, 1):  # the loop
        batch = batch.cuda(non_blocking=True)
        for _ in range(matmuls):
            torch.mm(left, right, out=out)
        out[0, 0] += batch[0, 0]
        before, last = last, torch.cuda.Event()
        last.record()
        if before is not None:
            before.synchronize()
        if index == SKIPPED:
            begin = time.perf_counter()
    last.synchronize()
    return (index - SKIPPED) / (time.perf_counter() - begin)


def main():
    import torch

    left, right = torch.randn(2, 2048, 2048, device="cuda")
    out = torch.empty_like(left)
    for _ in range(20):
        torch.mm(left, right, out=out)
    torch.cuda.synchronize()
    if sys.argv[1] == "calibrate":
        begin = time.perf_counter()
        for _ in range(200):
            torch.mm(left, right, out=out)
        torch.cuda.synchronize()
        print(json.dumps({"matmul_s": (time.perf_counter() - begin) / 200}), flush=True)
        return
    for run in json.loads(sys.argv[1]):
        ready = run["case"] == "ready"
        batches = [sample().pin_memory()] * run["steps"] if ready else loader_of(run)
        rate = train(batches, run["matmuls"], left, right, out)
        del batches
        print(json.dumps({**run, "steps_a_second": rate}), flush=True)


if __name__ == "__main__":
    main()
