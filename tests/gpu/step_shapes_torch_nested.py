# SPDX-License-Identifier: Apache-2.0
"""Loops in loops in PyTorch whose steps are known: step_shapes_torch_nested.py SHAPE, like step_shapes_torch.py. A step is the outer loop's
round: an optimizer's step, an iteration of reinforcement learning, a time step, a round of an engine."""
import random
import sys

import torch
from torch import nn
from torch.nn import functional as F
from truth import Phase, host_work, tell

DEVICE = "cuda"


def network(width=256, depth=4):
    layers = [layer for _ in range(depth) for layer in (nn.Linear(width, width), nn.ReLU())]
    return nn.Sequential(*layers, nn.Linear(width, 16)).to(DEVICE)


def batch(size=64, width=256):
    return torch.randn(size, width).pin_memory().to(DEVICE, non_blocking=True), torch.randint(16, (size,)).to(DEVICE)


def micro_batches():
    model, phase = network(), Phase("micro", __file__, micro_steps=4)
    optimizer = torch.optim.AdamW(model.parameters())
    with phase:
        for _ in range(50):  # loop: micro
            optimizer.zero_grad()
            for _ in range(4):
                x, y = batch()
                loss = F.cross_entropy(model(x), y)
                (loss / 4).backward()
                loss.item()
            optimizer.step()
            phase.step()


def varied_micro_batches():
    model, phase, sizes = network(), Phase("varied micro", __file__), random.Random(3)
    optimizer = torch.optim.AdamW(model.parameters())
    with phase:
        for _ in range(60):  # loop: varied micro
            optimizer.zero_grad()
            for _ in range(sizes.randrange(2, 7)):
                x, y = batch()
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                loss.item()
            optimizer.step()
            phase.step()


class OwnOptimizer:
    """A loop over parameters, with a read of each one's norm where `reads`."""

    def __init__(self, parameters, reads=False):
        self.parameters, self.reads = list(parameters), reads
        self.momentum = [torch.zeros_like(parameter) for parameter in self.parameters]

    @torch.no_grad()
    def update(self):
        for parameter, momentum in zip(self.parameters, self.momentum):
            if self.reads and parameter.grad.norm().item() > 1e6:
                continue
            momentum.mul_(0.9).add_(parameter.grad)
            parameter.sub_(momentum, alpha=1e-3)
            parameter.grad.zero_()


def own_optimizer(reads=False, name="own optimizer"):
    model, phase = network(depth=24), Phase(name, __file__)
    optimizer = OwnOptimizer(model.parameters(), reads)
    with phase:
        for _ in range(120):  # loop: own optimizer
            x, y = batch()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.update()
            loss.item()
            phase.step()


def own_optimizer_reads():
    own_optimizer(reads=True)


def layers():
    """Layers of a model that is a function, in a loop of the user's."""
    weights, phase = [torch.randn(512, 512, device=DEVICE) / 20 for _ in range(12)], Phase("layers", __file__)
    with phase:
        for _ in range(150):  # loop: layers
            x = torch.randn(64, 512, device=DEVICE)
            for weight in weights:
                x = torch.relu(x @ weight) + 0.1 * x
            x.mean().item()
            phase.step()


def attend(x, weights, heads=8):
    parts = []
    for head in range(heads):
        q, k, v = (x @ weight[:, head * 32:(head + 1) * 32] for weight in weights)
        parts.append((q @ k.transpose(0, 1)).softmax(-1) @ v)
    return torch.cat(parts, -1)


def heads():
    weights = [torch.randn(256, 256, device=DEVICE, requires_grad=True) for _ in range(3)]
    optimizer, phase = torch.optim.SGD(weights, lr=1e-5), Phase("heads", __file__)
    with phase:
        for _ in range(100):  # loop: heads
            optimizer.zero_grad()
            loss = attend(torch.randn(64, 256, device=DEVICE), weights).square().mean()
            loss.backward()
            optimizer.step()
            phase.step()
    torch.cuda.synchronize()


def recurrent():
    cell, head = nn.LSTMCell(128, 256).to(DEVICE), nn.Linear(256, 8).to(DEVICE)
    optimizer, phase = torch.optim.Adam([*cell.parameters(), *head.parameters()]), Phase("recurrent", __file__)
    with phase:
        for _ in range(60):  # loop: recurrent
            x, state = torch.randn(24, 32, 128, device=DEVICE), None
            for t in range(24):
                state = cell(x[t], state)
            loss = head(state[0]).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            loss.item()
            phase.step()


def augment(sample):
    sample = sample.roll(3, 0) * 1.1 + 0.1
    return (sample - sample.mean()) / (sample.std() + 1e-3)


def samples():
    """The data code runs small operations on the GPU for each sample."""
    model, phase = network(), Phase("samples", __file__)
    optimizer = torch.optim.AdamW(model.parameters())
    with phase:
        for _ in range(100):  # loop: samples
            rows = []
            for _ in range(16):
                rows.append(augment(torch.randn(256).to(DEVICE)))
            loss = model(torch.stack(rows)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            loss.item()
            phase.step()


def reinforcement_iterations():
    policy, phase = network(64, 2), Phase("iteration", __file__)
    policy = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 4)).to(DEVICE)
    optimizer = torch.optim.Adam(policy.parameters())
    with phase:
        for _ in range(40):  # loop: iteration
            state, states, values = torch.zeros(16, 8), [], []
            for _ in range(24):
                output = policy(state.to(DEVICE))
                action = output.argmax(-1).cpu()
                host_work(0.2)
                states.append(state.to(DEVICE))
                values.append(output[:, 0].detach())
                state = state + 0.1 * action[:, None]
            advantage, advantages = torch.zeros(16, device=DEVICE), []
            for value in reversed(values):
                advantage = value + 0.95 * advantage
                advantages.append(advantage)
            inputs, targets = torch.cat(states), torch.cat(advantages)
            for _ in range(2):
                for part in torch.randperm(len(inputs), device=DEVICE).split(96):
                    loss = (policy(inputs[part])[:, 0] - targets[part]).square().mean()
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
            loss.item()
            phase.step()


def to_host(tensor):
    return tensor.cpu()


def read_helper():
    """Five reads a step behind one function."""
    model, phase = network(), Phase("helper", __file__)
    optimizer = torch.optim.AdamW(model.parameters())
    with phase:
        for _ in range(150):  # loop: helper
            x, y = batch()
            output = model(x)
            loss = F.cross_entropy(output, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            shown = [to_host(loss), to_host(output.max())]
            shown.append(to_host(output.min()))
            shown.append(to_host((output.argmax(-1) == y).sum()))
            shown.append(to_host(output.std()))
            phase.step()


def average_of_weights():
    model, phase = network(depth=20), Phase("average", __file__)
    average = [parameter.detach().clone() for parameter in model.parameters()]
    optimizer = torch.optim.AdamW(model.parameters())
    with phase:
        for _ in range(120):  # loop: average
            x, y = batch()
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
            with torch.no_grad():
                for mean, parameter in zip(average, model.parameters()):
                    mean.lerp_(parameter, 0.01)
            phase.step()
    torch.cuda.synchronize()


def tasks():
    models, phase = [network() for _ in range(3)], Phase("tasks", __file__, micro_steps=3)
    optimizer = torch.optim.AdamW([parameter for model in models for parameter in model.parameters()])
    with phase:
        for _ in range(80):  # loop: tasks
            optimizer.zero_grad()
            for model in models:
                x, y = batch()
                F.cross_entropy(model(x), y).backward()
            optimizer.step()
            phase.step()
    torch.cuda.synchronize()


def diffusion():
    model, phase = network(256, 6), Phase("denoise", __file__)
    model[-1] = nn.Linear(256, 256).to(DEVICE)
    with phase, torch.no_grad():
        for _ in range(40):
            x = torch.randn(32, 256, device=DEVICE)
            for t in range(12):  # loop: denoise
                x = x - 0.01 * model(x) + 0.001 * torch.randn_like(x) * t
                phase.step()
            x.cpu()


def graph_breaks():
    """A compiled function with a read inside: two compiled parts in each step."""
    weights = [torch.randn(256, 256, device=DEVICE) / 16 for _ in range(6)]

    @torch.compile
    def work(x):
        for weight in weights[:3]:
            x = torch.tanh(x @ weight)
        scale = x.abs().mean().item()
        for weight in weights[3:]:
            x = torch.tanh(x @ weight) * scale
        return x.sum()

    phase = Phase("graph breaks", __file__)
    work(torch.randn(64, 256, device=DEVICE))
    with phase:
        for _ in range(200):  # loop: graph breaks
            work(torch.randn(64, 256, device=DEVICE)).item()
            phase.step()


class Engine:
    """Batches requests as they come: a round prefills new ones and gives each running one a token."""

    def __init__(self, width=256):
        self.model, self.head = network(width, 8), nn.Linear(16, 100).to(DEVICE)
        self.running, self.width = [], width

    def prefill(self, requests):
        for length in requests:
            tokens = torch.randn(length, self.width).to(DEVICE)
            self.running.append([tokens.mean(0), 24])
            self.head(self.model(tokens))[-1].argmax().item()

    def decode(self):
        x = torch.stack([state for state, _ in self.running])
        self.head(self.model(x)).argmax(-1).tolist()
        for request in self.running:
            request[1] -= 1
        self.running = [request for request in self.running if request[1] > 0]

    def round(self, requests):
        if requests:
            self.prefill(requests)
        if self.running:
            self.decode()


def engine():
    served, arrivals, phase = Engine(), random.Random(7), Phase("engine", __file__)
    served.round([64, 64])
    kinds = []
    with phase, torch.no_grad():
        for _ in range(300):  # loop: engine
            requests = [arrivals.randrange(32, 256) for _ in range(arrivals.choice((1, 2, 3)))] if arrivals.random() < 0.2 else []
            kinds.append(bool(requests))
            served.round(requests)
            phase.step()
    print(f"{sum(kinds)} of {len(kinds)} rounds prefill", file=sys.stderr)


SHAPES = {each.__name__: each for each in (
    micro_batches, varied_micro_batches, own_optimizer, own_optimizer_reads, layers, heads, recurrent, samples, reinforcement_iterations,
    read_helper, average_of_weights, tasks, diffusion, graph_breaks, engine)}
torch.manual_seed(0)
SHAPES[sys.argv[1]]()
tell()
