# SPDX-License-Identifier: Apache-2.0
"""The steps of PyTorch that the cost is measured on. Each maker gives a function that does one step and returns nothing."""
import collections
import time

import torch
from torch import nn

# steps: of a window. block: after so many of them a duty cycle looks at the clock. share: of the time; the noisiest gets more.
Workload = collections.namedtuple("Workload", "name make steps block share")


def eager_step():
    """About 1,000 small kernels, bound by the host."""
    layers = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(d_model=128, nhead=4, dim_feedforward=256, dropout=0.1, batch_first=True), num_layers=8,
        enable_nested_tensor=False).cuda().train()
    optimizer = torch.optim.SGD(layers.parameters(), lr=1e-3, momentum=0.9, foreach=False)
    inputs = torch.randn(8, 32, 128, device="cuda")

    def run():
        optimizer.zero_grad()
        layers(inputs).square().mean().backward()
        optimizer.step()

    return run


def convolution(inputs, outputs, size, stride=1):
    return [nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False), nn.BatchNorm2d(outputs)]


class Bottleneck(nn.Module):
    """The block of ResNet-50: 1x1, 3x3, 1x1, and the shortcut."""

    def __init__(self, inputs, width, stride):
        super().__init__()
        outputs = 4 * width
        self.body = nn.Sequential(*convolution(inputs, width, 1), nn.ReLU(True), *convolution(width, width, 3, stride), nn.ReLU(True),
                                  *convolution(width, outputs, 1))
        self.shortcut = nn.Sequential(*convolution(inputs, outputs, 1, stride)) if stride != 1 or inputs != outputs else nn.Identity()

    def forward(self, inputs):
        return torch.relu(self.body(inputs) + self.shortcut(inputs))


def resnet50():
    blocks, inputs = [], 64
    for stage, count in enumerate((3, 4, 6, 3)):
        for number in range(count):
            blocks.append(Bottleneck(inputs, 64 << stage, 2 if stage > 0 and number == 0 else 1))
            inputs = 4 * (64 << stage)
    return nn.Sequential(*convolution(3, 64, 7, 2), nn.ReLU(True), nn.MaxPool2d(3, 2, 1), *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(inputs, 1000))


def resnet50_step():
    """Forward, backward, SGD on 32 images."""
    model = resnet50().cuda().train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    images = torch.randn(32, 3, 224, 224, device="cuda")
    labels = torch.randint(0, 1000, (32,), device="cuda")

    def run():
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()

    return run


def scalar_reads():
    """20 times a matrix product, a sum and a read of the sum."""
    matrix = torch.randn(512, 512, device="cuda")

    def run():
        for _ in range(20):
            (matrix @ matrix).sum().item()

    return run


def graph_replay():
    """One CUDA graph of 400 nodes, bound by the GPU."""
    values = torch.zeros(1024, device="cuda")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            values.add_(1.0)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(400):
            values.add_(1.0)
    return graph.replay


WORKLOADS = [Workload("eager_step", eager_step, 5, 1, 2), Workload("resnet50_step", resnet50_step, 3, 1, 1), Workload("scalar_reads", scalar_reads, 30, 5, 1),
             Workload("graph_replay_400", graph_replay, 100, 20, 1)]


def window_ms(run, steps):
    """Milliseconds of a step, from an idle GPU to an idle GPU."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(steps):
        run()
    torch.cuda.synchronize()
    return 1000 * (time.perf_counter() - start) / steps
