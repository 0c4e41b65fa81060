# SPDX-License-Identifier: Apache-2.0
"""Loops that live.py records while they run: live_program.py KIND SECONDS. KIND: eager, read, graph (made before any window), waits, jax.
Prints "ready" behind the warm-up, then a line each quarter second: the time (CLOCK_MONOTONIC, ns), steps so far, and the median
step since the last line in microseconds; at the end a checksum of what the loop has computed."""
import statistics
import sys
import time

LINE_EVERY_NS = 250_000_000
WARM_UP_STEPS = 50


def torch_loop(kind):
    import torch
    torch.manual_seed(0)
    layers = [torch.nn.Linear(512, 512) for _ in range(12)]
    model = torch.nn.Sequential(*[part for layer in layers for part in (layer, torch.nn.ReLU())]).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    batch = torch.randn(64, 512, device="cuda")

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = model(batch).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    if kind == "graph":
        stream = torch.cuda.Stream()
        with torch.no_grad(), torch.cuda.stream(stream):
            for _ in range(3):
                model(batch)
        stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.no_grad(), torch.cuda.graph(graph):
            result = model(batch).square().mean()

        def replay():
            graph.replay()
            torch.cuda.synchronize()
            return result
        return replay, lambda value: float(value)
    if kind == "waits":  # the host is in a wait nearly all the time
        matrix = torch.randn(4096, 4096, device="cuda")

        def waits():
            for _ in range(10):
                product = matrix @ matrix
            return product.sum().item()
        return waits, float
    if kind == "read":
        def read():
            return step().item()
        return read, float

    def plain():
        loss = step()
        torch.cuda.synchronize()
        return loss
    return plain, float


def jax_loop():
    import jax
    import jax.numpy as jnp
    weights = jax.random.normal(jax.random.PRNGKey(0), (12, 512, 512)) * 0.05

    @jax.jit
    def forward(x):
        for i in range(12):
            x = jnp.maximum(x @ weights[i], 0.0)
        return x

    x = jax.random.normal(jax.random.PRNGKey(1), (64, 512))

    def step():
        return forward(x).block_until_ready()
    return step, lambda value: float(value.sum())


def main():
    kind, seconds = sys.argv[1], float(sys.argv[2])
    step, number = jax_loop() if kind == "jax" else torch_loop(kind)
    value = None
    for _ in range(WARM_UP_STEPS):
        value = step()
    print("ready", flush=True)
    end_ns = time.monotonic_ns() + int(seconds * 1e9)
    line_ns = time.monotonic_ns() + LINE_EVERY_NS
    steps, times = 0, []
    while time.monotonic_ns() < end_ns:
        begin_ns = time.monotonic_ns()
        value = step()
        now_ns = time.monotonic_ns()
        times.append((now_ns - begin_ns) / 1000)
        steps += 1
        if now_ns >= line_ns:
            print(now_ns, steps, f"{statistics.median(times):.1f}", flush=True)
            times.clear()
            line_ns = now_ns + LINE_EVERY_NS
    print("end", f"{number(value):.6g}" if kind in ("graph", "jax") else "-", flush=True)


main()
