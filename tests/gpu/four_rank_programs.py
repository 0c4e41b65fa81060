# SPDX-License-Identifier: Apache-2.0
"""Training loops of four ranks, written as the frameworks' tutorials write them, in which rank 2 has one fault, for four_ranks.py.

four_rank_programs.py PATTERN record FAULT --steps N   the fault in each step
four_rank_programs.py PATTERN time --steps N           the pattern's faults and none in turns, in blocks of N steps: prints seconds a step
four_rank_programs.py PATTERN pace --steps N           no fault: prints seconds a step of BLOCKS blocks of N steps; also for two ranks
four_rank_programs.py neighbour                        no rank: multiplies matrices on the GPU while the file NEIGHBOUR is there
PATTERN: ddp, fsdp2, tensor, sequence, mesh, pipeline, pipeline1f1b, experts, loader. Started once for each rank, with RANK, LOCAL_RANK,
WORLD_SIZE, MASTER_ADDR and MASTER_PORT as torchrun sets them. With RANK_TURN, nothing runs on the GPU before that file is there."""
import argparse
import json
import os
import pathlib
import statistics
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import ColwiseParallel, PrepareModuleInput, RowwiseParallel, SequenceParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

from four_ranks import FAULTS, LATE_RANK, PLAN
from rank_programs import Slow, augment, clean_up, log_norms, wait_for_turn

RANK = int(os.environ["RANK"])
LOCAL_RANK = int(os.environ["LOCAL_RANK"])
RANKS = int(os.environ["WORLD_SIZE"])
# Sizes by which the GPU has the longer part of a step, also where the host is recorded.
WIDTH, HEAD, LENGTH, LAYERS, VOCABULARY = 2048, 128, 1024, 4, 8192
SEQUENCES = 8  # a rank's own batch
MICRO_BATCHES = 8
ITEM_S = 0.02  # the late rank loads an item so long; the other ones' are ready
LOG_EVERY = 10
LEAD = 3  # steps of a block that are not timed
ROUNDS = 3
BLOCKS = 8


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))

    def forward(self, x):
        queries, keys, values = (self.in_heads(one(x)) for one in (self.wq, self.wk, self.wv))
        mixed = F.scaled_dot_product_attention(queries, keys, values, is_causal=True)
        return self.wo(mixed.transpose(1, 2).flatten(2))

    @staticmethod
    def in_heads(x):
        """The heads that this rank has, a dimension of their own."""
        return x.view(x.shape[0], x.shape[1], -1, HEAD).transpose(1, 2)


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.w1 = nn.Linear(WIDTH, 4 * WIDTH, bias=False)
        self.w2 = nn.Linear(4 * WIDTH, WIDTH, bias=False)

    def forward(self, x):
        return self.w2(F.gelu(self.w1(x)))


class Block(nn.Module):
    def __init__(self, affine=True):
        super().__init__()
        self.attention_norm = nn.LayerNorm(WIDTH, elementwise_affine=affine)
        self.attention = Attention()
        self.ffn_norm = nn.LayerNorm(WIDTH, elementwise_affine=affine)
        self.feed_forward = FeedForward()

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        return x + self.feed_forward(self.ffn_norm(x))


def on_gpu(*modules):
    return nn.Sequential(*modules).to("cuda", torch.bfloat16)


def random_batch(sequences, length, seed):
    generator = torch.Generator(torch.device("cuda", LOCAL_RANK)).manual_seed(seed)
    return torch.randn(sequences, length, WIDTH, device="cuda", dtype=torch.bfloat16, generator=generator)


class Job:
    """A model with an optimizer, and its batches: the same one again and again."""
    sequences, length = SEQUENCES, LENGTH
    late_ms = 40.0  # with the rest of the host's part it is longer than the GPU's

    def __init__(self):
        self.model = self.build()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, foreach=True)

    def seed(self):
        return RANK

    def batches(self, count, fault):
        sequences = self.sequences * 3 // 2 if fault == "uneven" and RANK == LATE_RANK else self.sequences
        batch = random_batch(sequences, self.length, self.seed())
        for _ in range(count):
            yield batch

    def step(self, batch):
        loss = self.model(batch).float().square().mean()
        loss.backward()
        return loss


class DataParallel(Job):
    def build(self):
        return DistributedDataParallel(on_gpu(*(Block() for _ in range(LAYERS))), device_ids=[LOCAL_RANK])


class FullySharded(Job):
    sequences = SEQUENCES * 2

    def build(self):
        model = on_gpu(*(Block() for _ in range(LAYERS)))
        for block in model:
            fully_shard(block)
        return fully_shard(model)


class TensorParallel(Job):
    """Heads and hidden units divided among all ranks, which have the same batch."""
    sequences = SEQUENCES * 8
    late_ms = 80.0

    def build(self):
        mesh = init_device_mesh("cuda", (RANKS,))
        model = on_gpu(*(Block(affine=False) for _ in range(LAYERS)))
        for block in model:
            parallelize_module(block, mesh, {
                "attention.wq": ColwiseParallel(), "attention.wk": ColwiseParallel(), "attention.wv": ColwiseParallel(),
                "attention.wo": RowwiseParallel(), "feed_forward.w1": ColwiseParallel(), "feed_forward.w2": RowwiseParallel()})
        return model

    def seed(self):
        return 0


def divide_sequences(block, mesh):
    """Between the divided layers, each rank has a part of each sequence."""
    whole = PrepareModuleInput(input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),))
    parallelize_module(block, mesh, {
        "attention_norm": SequenceParallel(), "attention": whole,
        "attention.wq": ColwiseParallel(), "attention.wk": ColwiseParallel(), "attention.wv": ColwiseParallel(),
        "attention.wo": RowwiseParallel(output_layouts=Shard(1)),
        "ffn_norm": SequenceParallel(), "feed_forward": whole,
        "feed_forward.w1": ColwiseParallel(), "feed_forward.w2": RowwiseParallel(output_layouts=Shard(1))})


class SequenceDivided(Job):
    sequences, length = SEQUENCES * 12, LENGTH // 4
    late_ms = 100.0

    def build(self):
        mesh = init_device_mesh("cuda", (RANKS,))
        model = on_gpu(*(Block() for _ in range(LAYERS)))
        for block in model:
            divide_sequences(block, mesh)
        return model


class Mesh(Job):
    """Two copies of the batch's part, each divided between two ranks."""
    sequences, length = SEQUENCES * 9, LENGTH // 2
    late_ms = 120.0

    def build(self):
        mesh = init_device_mesh("cuda", (2, 2), mesh_dim_names=("dp", "tp"))
        model = on_gpu(*(Block() for _ in range(LAYERS)))
        for block in model:
            divide_sequences(block, mesh["tp"])
            fully_shard(block, mesh=mesh["dp"])
        return fully_shard(model, mesh=mesh["dp"])


class Pipeline(Job):
    """A block on each rank. Only the last stage knows the loss."""
    schedule = ScheduleGPipe
    sequences = SEQUENCES * 8
    late_ms = 80.0

    def build(self):
        model = on_gpu(Block())
        stage = PipelineStage(model, RANK, RANKS, torch.device("cuda", LOCAL_RANK))
        self.line = self.schedule(stage, n_microbatches=MICRO_BATCHES, loss_fn=lambda output, target: F.mse_loss(output.float(), target.float()))
        return model

    def step(self, batch):
        if RANK == 0:
            self.line.step(batch)
            return None
        if RANK < RANKS - 1:
            self.line.step()
            return None
        losses = []
        self.line.step(target=batch, losses=losses)
        return torch.stack(losses).mean()


class Pipeline1F1B(Pipeline):
    schedule = Schedule1F1B


class Exchange(torch.autograd.Function):
    """Rows to the ranks of their experts, and their gradients back."""

    @staticmethod
    def forward(ctx, rows, sent, received):
        ctx.sent, ctx.received = sent, received
        result = rows.new_empty(sum(received), rows.shape[1])
        dist.all_to_all_single(result, rows.contiguous(), received, sent)
        return result

    @staticmethod
    def backward(ctx, gradient):
        result = gradient.new_empty(sum(ctx.sent), gradient.shape[1])
        dist.all_to_all_single(result, gradient.contiguous(), ctx.sent, ctx.received)
        return result, None, None


class ExpertBlock(Block):
    """One expert a rank; each takes the rows that its gate rates highest, equally many of them."""

    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(WIDTH, RANKS, bias=False)

    def forward(self, x, received):
        x = x + self.attention(self.attention_norm(x))
        rows = self.ffn_norm(x).flatten(0, 1)
        count = len(rows) // RANKS
        weights, chosen = self.gate(rows).softmax(dim=1).topk(count, dim=0)
        index, sent = chosen.T.flatten(), [count] * RANKS
        routed = Exchange.apply(rows.index_select(0, index), sent, received)
        done = Exchange.apply(self.feed_forward(routed), received, sent)
        return x + torch.zeros_like(rows).index_add(0, index, done * weights.T.flatten().unsqueeze(1)).view_as(x)


class Experts(Job):
    def build(self):
        model = on_gpu(*(ExpertBlock() for _ in range(LAYERS)))
        self.shared = [one for name, one in model.named_parameters() if "feed_forward" not in name]
        return model

    def step(self, batch):
        sent = torch.full((RANKS,), batch.shape[0] * batch.shape[1] // RANKS, device="cuda")
        received = torch.empty_like(sent)
        dist.all_to_all_single(received, sent)
        counts, output = received.tolist(), batch
        for block in self.model:
            output = block(output, counts)
        loss = output.float().square().mean()
        loss.backward()
        for one in self.shared:
            dist.all_reduce(one.grad, op=dist.ReduceOp.AVG)
        return loss


class Tokens(Slow):
    def __getitem__(self, index):
        super().__getitem__(index)
        return torch.arange(index, index + LENGTH + 1) % VOCABULARY


class Loader(Job):
    """Predicts the next token, of batches from a loader with workers."""

    def build(self):
        model = on_gpu(nn.Embedding(VOCABULARY, WIDTH), *(Block() for _ in range(LAYERS)), nn.Linear(WIDTH, VOCABULARY))
        return DistributedDataParallel(model, device_ids=[LOCAL_RANK])

    def batches(self, count, fault):
        dataset = Tokens(count * self.sequences * RANKS, ITEM_S if fault == "loader" and RANK == LATE_RANK else 0.0)
        for tokens in DataLoader(dataset, batch_size=self.sequences, sampler=DistributedSampler(dataset), num_workers=2, pin_memory=True):
            yield tokens.to("cuda", non_blocking=True)

    def step(self, batch):
        logits = self.model(batch[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        loss.backward()
        return loss


PATTERNS = {"ddp": DataParallel, "fsdp2": FullySharded, "tensor": TensorParallel, "sequence": SequenceDivided, "mesh": Mesh, "pipeline": Pipeline,
            "pipeline1f1b": Pipeline1F1B, "experts": Experts, "loader": Loader}


def meet():
    torch.cuda.synchronize()
    dist.barrier()
    torch.cuda.synchronize()


def switch_neighbour(is_on):
    flag = pathlib.Path(os.environ["NEIGHBOUR"])
    while not flag.with_suffix(".ready").exists():
        time.sleep(0.01)
    flag.touch() if is_on else flag.unlink()
    time.sleep(0.1)  # it looks at the file between its matrices


def log(number, loss):
    print(f"step {number + 1}: loss {loss.item():.4f}", flush=True)


def train(program, fault, count, lead=0):
    """Steps with this fault, or none. Returns the seconds of one, behind the first few."""
    is_late = RANK == LATE_RANK
    if is_late and fault == "neighbour":
        switch_neighbour(True)
    for number, batch in enumerate(program.batches(count, fault)):
        if number == lead:
            meet()
            start = time.perf_counter()
        if is_late and fault == "late":
            augment(program.late_ms)
        loss = program.step(batch)
        if is_late and fault == "read":
            log_norms(program.model.parameters())
        program.optimizer.step()
        program.optimizer.zero_grad()
        if is_late and fault == "garbage":
            clean_up()
        if loss is not None and number % LOG_EVERY == LOG_EVERY - 1:
            log(number, loss)
    meet()
    seconds = (time.perf_counter() - start) / (count - lead)
    if is_late and fault == "neighbour":
        switch_neighbour(False)
    return seconds


def timed(program, pattern, count):
    kinds = ["none", *PLAN[pattern]]
    seconds = {kind: [] for kind in kinds}
    for turn in range(ROUNDS):
        for kind in kinds if turn % 2 == 0 else reversed(kinds):
            seconds[kind].append(train(program, kind, LEAD + count, LEAD))
    return {kind: statistics.median(blocks) for kind, blocks in seconds.items()}


def be_neighbour():
    flag, parent = pathlib.Path(os.environ["NEIGHBOUR"]), os.getppid()
    wait_for_turn()
    matrix = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
    torch.cuda.synchronize()
    flag.with_suffix(".ready").touch()
    while os.getppid() == parent:
        if not flag.exists():
            time.sleep(0.005)
            continue
        for _ in range(8):
            torch.mm(matrix, matrix)
        torch.cuda.synchronize()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("pattern", choices=(*PATTERNS, "neighbour"))
    parser.add_argument("what", nargs="?", choices=("record", "time", "pace"))
    parser.add_argument("fault", nargs="?", default="none", choices=("none", *FAULTS))
    parser.add_argument("--steps", type=int, default=40)
    options = parser.parse_args()
    torch.cuda.set_device(LOCAL_RANK)
    torch.cuda.init()
    if options.pattern == "neighbour":
        return be_neighbour()
    wait_for_turn()
    dist.init_process_group("nccl")
    dist.barrier()
    torch.manual_seed(1)
    program = PATTERNS[options.pattern]()
    kept = [[number] for number in range(200_000)]  # noqa: F841 - what a collection of garbage looks through
    if options.what == "record":
        result = {"step_s": train(program, options.fault, options.steps)}
    elif options.what == "time":
        train(program, "none", LOG_EVERY)
        result = timed(program, options.pattern, options.steps)
    else:
        train(program, "none", LOG_EVERY)
        result = {"step_s": [train(program, "none", LEAD + options.steps, LEAD) for _ in range(BLOCKS)]}
    print(json.dumps(result), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
