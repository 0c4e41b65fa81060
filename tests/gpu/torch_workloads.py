# SPDX-License-Identifier: Apache-2.0
"""What the recorder costs three PyTorch workloads, by alternating windows inside one process.

With SYNCTRACE_TEST_CONTROL=1 the recorder obeys NVTX marks of the default domain ("synctrace:off" and so on); without a
recorder all modes are the same, which shows the noise. Every round runs each mode once, in a random order, and gives the
ratio of its time to "off" of the same round. JSON on stdout: per workload and mode the median time and the median ratio.
"""
import argparse
import json
import random
import statistics
import sys
import time

import torch
from torch import nn

MODES = ["off", "cupti-only", "syncs", "timeline"]
# What the parts of the recorder cost: each one left out.
PARTS = ["off", "cupti-only", "timeline", "timeline -stacks", "timeline -native", "timeline -waits", "timeline -samples",
         "timeline -stacks -waits -samples"]


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


WORKLOADS = [("eager_step", eager_step, 5), ("scalar_reads", scalar_reads, 30), ("graph_replay_400", graph_replay, 100)]


def window_ms(run, repetitions):
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(repetitions):
        run()
    torch.cuda.synchronize()
    return 1000 * (time.perf_counter() - start) / repetitions


def measure(run, modes, repetitions, rounds, order_of):
    samples = {mode: [] for mode in modes}
    for _ in range(rounds):
        order = modes[:]
        order_of.shuffle(order)
        for mode in order:
            torch.cuda.nvtx.mark("synctrace:" + mode)
            window_ms(run, 1)  # the first one after a switch pays for the switch
            samples[mode].append(window_ms(run, repetitions))
    return samples


def summarize(samples):
    return {mode: {"median_ms": statistics.median(times),
                   "ratio": statistics.median(t / off for t, off in zip(times, next(iter(samples.values()))))}
            for mode, times in samples.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=24)
    parser.add_argument("--parts", action="store_true", help="what each part of level timeline costs")
    parser.add_argument("--modes", help="marks of your own choice, separated by commas; the first is what the others are compared to")
    parser.add_argument("--only", help="one workload")
    options = parser.parse_args()
    modes = options.modes.split(",") if options.modes else PARTS if options.parts else MODES
    order_of = random.Random(20261120)
    torch.manual_seed(0)
    results = {}
    for name, make, repetitions in WORKLOADS:
        if options.only not in (None, name):
            continue
        run = make()
        for _ in range(5):
            run()
        results[name] = summarize(measure(run, modes, repetitions, options.rounds, order_of))
        print(f"{name}: " + ", ".join(f"{mode} {r['median_ms']:.3f} ms ({r['ratio']:.3f})"
                                      for mode, r in results[name].items()), file=sys.stderr)
    torch.cuda.nvtx.mark("synctrace:timeline")
    json.dump({"torch": torch.__version__, "device": torch.cuda.get_device_name(0), "rounds": options.rounds,
               "results": results}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
