# SPDX-License-Identifier: Apache-2.0
"""The programs that whole_programs.py compares, nobody annotated. Each runs until it is ended, and prints a line behind each step.

  whole_cases.py CASE [before | after]

"after" is the program with the fix made that its marked line names: a value is read every 50 steps or one step later, a copy comes from pinned
memory, the loader has four times the workers.
RECORDER_MARK in the environment: an NVTX mark before the first step, which switches parts of the recorder (docs/overhead.md).
"""
import os
import random
import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

import torch_steps


def eager(after):
    """Some 1,000 small kernels a step, nothing read."""
    return torch_steps.eager_step()


def resnet(after):
    """Bound by the GPU."""
    return torch_steps.resnet50_step()


def reads(after):
    """Twenty reads a step."""
    return torch_steps.scalar_reads()


class Model(nn.Module):
    """A small transformer that predicts the next token."""

    def __init__(self, width=128, layers=3, tokens=500):
        super().__init__()
        self.embed = nn.Embedding(tokens, width)
        block = nn.TransformerEncoderLayer(d_model=width, nhead=4, dim_feedforward=2 * width, dropout=0.1, batch_first=True)
        self.body = nn.TransformerEncoder(block, num_layers=layers, enable_nested_tensor=False)
        self.head = nn.Linear(width, tokens)

    def forward(self, tokens):
        return self.head(self.body(self.embed(tokens)))


class Later:
    """Numbers of the GPU, to be had one step later without waiting for newer work."""

    def __init__(self, count=1, dtype=torch.float32):
        self.host = torch.zeros(count, dtype=dtype).pin_memory()
        self.done = torch.cuda.Event()

    def swap(self, values):
        """The last numbers for new ones."""
        self.done.synchronize()
        last = self.host.tolist()
        self.host.copy_(values, non_blocking=True)
        self.done.record()
        return last


def language(after):
    """A launch-bound step that adds up its loss, by a read; after: on the GPU, read every 50 steps."""
    model = Model().cuda().train()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    tokens = torch.randint(0, 500, (16, 33), device="cuda")
    total, unread, steps = 0.0, torch.zeros((), device="cuda"), 0

    def run():
        nonlocal total, steps
        optimizer.zero_grad()
        output = model(tokens[:, :-1])
        loss = nn.functional.cross_entropy(output.flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if not after:
            total += loss.item()  # defer-read: language
            return
        unread.add_(loss.detach())
        steps += 1
        if steps % 50 == 0:
            total += unread.item()
            unread.zero_()

    return run


def perceptron(width=512, layers=12):
    return nn.Sequential(*[part for _ in range(layers) for part in (nn.Linear(width, width), nn.LayerNorm(width), nn.ReLU())], nn.Linear(width, 10))


def training(model):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False, fused=False)

    def run(inputs, labels):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()

    return run


def pageable(after):
    """A launch-bound step whose batch of 4 MiB comes from pageable memory."""
    train = training(perceptron().cuda())
    batch, labels = torch.randn(2048, 512), torch.randint(0, 10, (2048,), device="cuda")
    batch = batch.pin_memory() if after else batch

    def run():
        inputs = batch.to("cuda", non_blocking=after)  # async-copy: pageable
        train(inputs, labels)

    return run


class Samples(Dataset):
    """Work of 150 us a sample."""

    def __len__(self):
        return 1 << 30

    def __getitem__(self, index):
        until = time.perf_counter() + 150e-6
        while time.perf_counter() < until:
            pass
        return torch.full((512,), float(index % 7))


def loader(after):
    """A launch-bound step that waits for two workers, which take longer than it does."""
    train = training(perceptron(layers=6).cuda())
    labels = torch.randint(0, 10, (128,), device="cuda")
    batches = iter(DataLoader(Samples(), batch_size=128, num_workers=8 if after else 2, pin_memory=False))

    def run():
        batch = next(batches)  # feed-input: loader
        train(batch.to("cuda"), labels)

    return run


def decode(after):
    """Sixteen tokens, each read to know whether it is the last; after: all of them at once, sixteen later."""
    model, later = Model(layers=2).cuda().eval(), Later(17, torch.long)

    @torch.no_grad()
    def run():
        tokens = torch.zeros((1, 1), dtype=torch.long, device="cuda")
        for _ in range(16):
            token = model(tokens)[:, -1].argmax(-1, keepdim=True)
            tokens = torch.cat((tokens, token), 1)
            if not after and token.item() < 0:  # defer-read: decode
                break
        if after and min(later.swap(tokens[0])) < 0:
            raise SystemExit("a token is negative")

    return run


def norms(after):
    """The norm of every gradient is read, to log the largest."""
    model = perceptron(layers=8).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, foreach=False)
    inputs, labels = torch.randn(64, 512, device="cuda"), torch.randint(0, 10, (64,), device="cuda")
    parameters = list(model.parameters())
    later, largest = Later(len(parameters)), 0.0

    def run():
        nonlocal largest
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(inputs), labels).backward()
        norms = []
        for parameter in parameters:
            norm = parameter.grad.norm()
            norms.append(norm if after else norm.item())  # defer-read: norms
        largest = max(largest, *(later.swap(torch.stack(norms)) if after else norms))
        optimizer.step()

    return run


def engine(after):
    """A serving engine: a round takes in new requests, and gives each running one a token."""
    model, arrivals, running = Model(layers=4).cuda().eval(), random.Random(7), []

    @torch.no_grad()
    def run():
        for _ in range(arrivals.choice((1, 2, 3)) if not running or arrivals.random() < 0.2 else 0):
            prompt = torch.randint(500, (1, arrivals.randrange(32, 128))).cuda()
            running.append(prompt[0, -31:].tolist() + [model(prompt)[0, -1].argmax().item()])
        tokens = model(torch.tensor([request[-32:] for request in running]).cuda())[:, -1].argmax(-1).tolist()
        for request, token in zip(running, tokens):
            request.append(token)
        running[:] = [request for request in running if len(request) < 56]

    return run


def generate(after):
    """Four tokens of generate(): few and thin enough that the least turn, 20 of these, takes about as long as one of the other programs."""
    from transformers import LlamaConfig, LlamaForCausalLM
    sizes = {"hidden_size": 512, "intermediate_size": 1408, "num_hidden_layers": 2, "num_attention_heads": 8}
    model = LlamaForCausalLM(LlamaConfig(vocab_size=8000, eos_token_id=None, pad_token_id=0, **sizes)).to("cuda", torch.bfloat16).eval()
    prompts = torch.randint(2, 8000, (16, 32), device="cuda")
    mask = torch.ones_like(prompts)
    return lambda: model.generate(prompts, attention_mask=mask, max_new_tokens=4, do_sample=False)


CASES = {make.__name__: make for make in (eager, resnet, reads, language, pageable, loader, decode, norms, engine, generate)}


def main():
    torch.manual_seed(0)
    run = CASES[sys.argv[1]](sys.argv[2:] == ["after"])
    mark = os.environ.get("RECORDER_MARK")
    if mark:
        torch.cuda.nvtx.mark(mark)
    torch.cuda.synchronize()
    while True:
        os.write(1, b"\n")
        run()


if __name__ == "__main__":
    try:
        main()
    except BrokenPipeError:
        pass
