# SPDX-License-Identifier: Apache-2.0
"""Small PyTorch loops before and after a fix, for savings_pairs.py. Each case is a function that sets up its data and gives
its steps by name: "before", and one for each fix. A line of "before" that a fix changes ends with `# fix: NAMES`; where fixes
make one CUDA graph of all it launches, its first line ends with `# graph: NAMES`.

savings_programs.py trace CASE --steps N      runs "before", each step in an NVTX range, to be recorded: N steps, and a second;
                                              then the same with the recorder switched off (if SYNCTRACE_TEST_CONTROL=1), timed:
                                              one line of JSON with the seconds a step
savings_programs.py time CASE --steps N --repetitions R
                                              times all steps of the case in turns, N steps and a third of a second each; one
                                              line of JSON: seconds a step
savings_programs.py list                      the cases
"""
import argparse
import json
import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

CASES = {}
LEAST_SECONDS = 0.3  # a timing takes this long at least


def case(function):
    CASES[function.__name__] = function
    return function


def model_of(width, depth):
    layers = []
    for _ in range(depth):
        layers += [nn.Linear(width, width), nn.ReLU()]
    return nn.Sequential(*layers).cuda()


def busy_host(microseconds):
    """Host work between launches, as preparing the next batch would be."""
    end = time.perf_counter() + microseconds * 1e-6
    while time.perf_counter() < end:
        pass


def gpu_work(matrix, count):
    result = matrix
    for _ in range(count):
        result = result @ matrix
    return result


def graph_of(work):
    """A CUDA graph of what `work` launches."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            work()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph


@case
def item():
    """Case study B: the loss is read in every step; afterwards one step later."""
    matrix = torch.randn(4096, 4096, device="cuda") / 64
    state = {"total": 0.0, "host": torch.zeros(2).pin_memory(), "events": [torch.cuda.Event(), torch.cuda.Event()], "i": 0}

    def before():
        loss = gpu_work(matrix, 4).sum()
        state["total"] += loss.item()  # fix: after
        busy_host(1500)

    def after():
        loss = gpu_work(matrix, 4).sum()
        now = state["i"] % 2
        if state["i"] > 0:
            state["events"][1 - now].synchronize()
            state["total"] += float(state["host"][1 - now])
        state["host"][now : now + 1].copy_(loss.reshape(1), non_blocking=True)
        state["events"][now].record()
        state["i"] += 1
        busy_host(1500)

    return {"before": before, "after": after}


@case
def absorbing():
    """Case study A: a tensor used as a condition, and right behind it a number that is read."""
    matrix = torch.randn(4096, 4096, device="cuda") / 64
    state = {"total": 0.0}

    def step(first, second):
        result = gpu_work(matrix, 4)
        loss = result.sum()
        if first:
            if torch.isnan(loss):  # fix: first, both
                state["total"] = 0.0
        if second:
            state["total"] += loss.item()  # fix: second, both
        busy_host(1500)

    return {"before": lambda: step(True, True), "first": lambda: step(False, True), "second": lambda: step(True, False),
            "both": lambda: step(False, False)}


@case
def pageable():
    """Case studies B and E: a batch from pageable memory; afterwards pinned and non_blocking."""
    matrix = torch.randn(4096, 4096, device="cuda") / 64
    batch = torch.randn(16, 1 << 20)
    pinned = batch.pin_memory()

    def before():
        inputs = batch.to("cuda")  # fix: after
        gpu_work(matrix, 4).add_(inputs[0, 0])
        busy_host(500)

    def after():
        inputs = pinned.to("cuda", non_blocking=True)
        gpu_work(matrix, 4).add_(inputs[0, 0])
        busy_host(500)

    return {"before": before, "after": after}


class Slow(Dataset):
    """Samples that take the host a while, in one thread."""

    def __init__(self, rounds):
        self.rounds = rounds

    def __len__(self):
        return 1 << 30

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        sample = torch.randn(3, 128, 128, generator=generator)
        for _ in range(self.rounds):
            sample = torch.nn.functional.avg_pool2d(sample.unsqueeze(0), 3, 1, 1).squeeze(0)
        return sample


@case
def loader():
    """Samples are made by the loop's own thread, but twice as fast as the GPU uses them: nothing to gain."""
    matrix = torch.randn(4096, 4096, device="cuda") / 64
    batches = iter(DataLoader(Slow(2), batch_size=8, num_workers=0))
    cached = next(iter(DataLoader(Slow(2), batch_size=8, num_workers=0)))

    def before():
        inputs = next(batches)  # fix: after
        gpu_work(matrix, 4).add_(inputs[0, 0, 0, 0].item())

    def after():
        gpu_work(matrix, 4).add_(cached[0, 0, 0, 0].item())

    return {"before": before, "after": after}


@case
def workers():
    """Case studies B, C and E: the loop's own thread makes the samples, and the GPU waits for them; afterwards eight workers
    make them, or they are there."""
    matrix = torch.randn(4096, 4096, device="cuda") / 64
    batches = iter(DataLoader(Slow(12), batch_size=16, num_workers=0))
    cached = next(iter(DataLoader(Slow(12), batch_size=16, num_workers=0)))
    state = {}

    def step(inputs):
        gpu_work(matrix, 2).add_(inputs[0, 0, 0, 0].item())

    def before():
        inputs = next(batches)  # fix: eight, ready
        gpu_work(matrix, 2).add_(inputs[0, 0, 0, 0].item())

    def eight():
        if "made" not in state:
            state["made"] = iter(DataLoader(Slow(12), batch_size=16, num_workers=8))
        step(next(state["made"]))

    return {"before": before, "eight": eight, "ready": lambda: step(cached)}


@case
def prefetched():
    """Case study E's last stage: copies on a stream of their own, one step ahead, and the GPU always has work; afterwards
    there are none at all. Nothing to gain."""
    matrix = torch.randn(4096, 4096, device="cuda") / 64
    pinned = torch.randn(16, 1 << 18).pin_memory()
    side = torch.cuda.Stream()
    buffers = [torch.empty(16, 1 << 18, device="cuda") for _ in range(2)]
    filled = [torch.cuda.Event() for _ in range(2)]
    used = [torch.cuda.Event() for _ in range(2)]
    state = {"i": 0}

    def step(copies):
        now = state["i"] % 2
        state["i"] += 1
        with torch.cuda.stream(side):
            if copies:
                side.wait_event(used[now])
                buffers[now].copy_(pinned, non_blocking=True)  # fix: after
            filled[now].record()
        torch.cuda.current_stream().wait_event(filled[1 - now])
        gpu_work(matrix, 4).add_(buffers[1 - now][0, 0])
        used[1 - now].record()

    return {"before": lambda: step(True), "after": lambda: step(False)}


@case
def kernel():
    """Case study C's kernel preset: the GPU has work all the time, whatever the host does meanwhile. Nothing to gain."""
    matrix = torch.randn(4096, 4096, device="cuda") / 64

    def before():
        gpu_work(matrix, 4)
        sum(range(100_000))  # fix: after

    return {"before": before, "after": lambda: gpu_work(matrix, 4)}


@case
def allocation():
    """Memory given back to the driver and taken again in every step; afterwards kept."""
    matrix = torch.randn(4096, 4096, device="cuda") / 64

    def step(release):
        scratch = torch.empty(64 << 20, dtype=torch.uint8, device="cuda")  # fix: after
        gpu_work(matrix, 4).add_(scratch[0])
        del scratch
        if release:
            torch.cuda.empty_cache()  # fix: after
        busy_host(500)

    return {"before": lambda: step(True), "after": lambda: step(False)}


@case
def optimizer():
    """Case study C, eager: some launches for each small tensor; afterwards one CUDA graph, or fused: which spares the GPU work,
    too, and no replay can know how much."""
    parameters = [torch.randn(64, 64, device="cuda", requires_grad=True) for _ in range(200)]
    for parameter in parameters:
        parameter.grad = torch.randn_like(parameter)
    single = torch.optim.Adam(parameters, foreach=False, fused=False, capturable=True)
    fused = torch.optim.Adam(parameters, fused=True)

    def before():  # graph: graph, fused
        single.step()

    return {"before": before, "graph": graph_of(single.step).replay, "fused": fused.step}


@case
def eager():
    """Case study C's eager preset: a small model's whole training step, kernel by kernel; afterwards one CUDA graph."""
    model = model_of(256, 8)
    inputs = torch.randn(64, 256, device="cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, foreach=False)

    def before():  # graph: after
        optimizer.zero_grad(set_to_none=False)
        loss = model(inputs).square().mean()
        loss.backward()
        optimizer.step()

    return {"before": before, "after": graph_of(before).replay}


@case
def sampling():
    """Case study A: farthest points, each found by a handful of tiny kernels; afterwards one launch."""
    points = torch.randn(4096, 3, device="cuda")
    chosen = torch.zeros(256, dtype=torch.long, device="cuda")

    def before():  # graph: after
        distance = torch.full((4096,), 1e10, device="cuda")
        last = torch.zeros(1, dtype=torch.long, device="cuda")
        for i in range(256):
            chosen[i : i + 1] = last
            gap = (points - points[last]).square().sum(1)
            distance = torch.minimum(distance, gap)
            last = distance.argmax().reshape(1)

    return {"before": before, "after": graph_of(before).replay}


@case
def decode():
    """A chain of small kernels, as decoding a token is; afterwards one CUDA graph."""
    model = model_of(512, 40).half().eval()
    token = torch.randn(1, 512, device="cuda").half()
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad():
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            model(token)
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(graph):
            model(token)

    def before():  # graph: after
        with torch.no_grad():
            model(token)

    return {"before": before, "after": graph.replay}


@case
def mask():
    """A boolean mask has to know how many elements there are; afterwards where() does without."""
    matrix = torch.randn(4096, 4096, device="cuda") / 64

    def before():
        result = gpu_work(matrix, 4)
        result[result > 0].sum()  # fix: after
        busy_host(1500)

    def after():
        result = gpu_work(matrix, 4)
        torch.where(result > 0, result, 0).sum()
        busy_host(1500)

    return {"before": before, "after": after}


@case
def polling():
    """The host spins on an event before it goes on; afterwards it does not."""
    matrix = torch.randn(4096, 4096, device="cuda") / 64
    event = torch.cuda.Event()

    def before():
        gpu_work(matrix, 4)
        event.record()
        while not event.query():  # fix: after
            pass
        busy_host(1500)

    def after():
        gpu_work(matrix, 4)
        event.record()
        busy_host(1500)

    return {"before": before, "after": after}


@case
def harmless():
    """Negative control: 150 waits in a step for work that is long over; the GPU is never without work."""
    matrix = torch.randn(1024, 1024, device="cuda") / 32
    events = [torch.cuda.Event() for _ in range(8)]
    state = {"i": 0}

    def step(waits):
        for _ in range(150):
            gpu_work(matrix, 2)
            events[state["i"] % 8].record()
            if waits and state["i"] >= 4:
                events[(state["i"] - 4) % 8].synchronize()  # fix: after
            state["i"] += 1

    return {"before": lambda: step(True), "after": lambda: step(False)}


@case
def dependency():
    """A second stream waits for the first one's work without any need; afterwards it does not."""
    matrix = torch.randn(2048, 2048, device="cuda") / 45
    other = torch.randn(64, 1 << 20, device="cuda")
    side = torch.cuda.Stream()
    event = torch.cuda.Event()
    done = torch.cuda.Event()

    def step(depends):
        gpu_work(matrix, 4)
        if depends:
            event.record()  # fix: after
            side.wait_event(event)
        with torch.cuda.stream(side):
            other.mul_(1.0)
            done.record()
        torch.cuda.current_stream().wait_event(done)

    return {"before": lambda: step(True), "after": lambda: step(False)}


def run(step, count, seconds=0.0):
    """At least so many steps for at least so long; how many."""
    done, end = 0, time.perf_counter() + seconds
    while done < count or time.perf_counter() < end:
        torch.cuda.nvtx.range_push("step")
        step()
        torch.cuda.nvtx.range_pop()
        done += 1
    return done


def timed(steps, count, repetitions):
    """Seconds a step of each, in turns, so that the machine's moods hit all alike. From the end of some first steps' work to
    the end of the last one's, as predictions count: until the GPU has work at all is no part of a step."""
    seconds = {name: [] for name in steps}
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    for step in steps.values():
        run(step, 10)
    for _ in range(repetitions):
        for name, step in steps.items():
            run(step, 5)
            begin.record()
            done = run(step, count, LEAST_SECONDS)
            end.record()
            torch.cuda.synchronize()
            seconds[name].append(begin.elapsed_time(end) / 1e3 / done)
    return seconds


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["trace", "time", "list"])
    parser.add_argument("case", nargs="?", choices=sorted(CASES))
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--repetitions", type=int, default=9)
    options = parser.parse_args()
    if options.what == "list":
        print("\n".join(CASES))
        return 0
    torch.manual_seed(0)
    steps = CASES[options.case]()
    if options.what == "trace":
        run(steps["before"], options.steps, 1.0)
        torch.cuda.synchronize()
        torch.cuda.nvtx.mark("synctrace:off")
        print(json.dumps(timed({"before": steps["before"]}, options.steps, 3)))
    else:
        print(json.dumps(timed(steps, options.steps, options.repetitions)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
