# SPDX-License-Identifier: Apache-2.0
"""Training loops in which a step now and then takes many times as long, and the same loops without its cause.

  irregular_programs.py NAME [ROUNDS]     # pairs of windows with the cause and without it, in turns; then one with it, three times as long, between
                                          # cuProfilerStart and cuProfilerStop; prints {"with_s": .., "without_s": ..}: seconds a step

Both are in one process, as the host of one process may be a fifth slower than that of the next. `run --only-windows` records the last one alone.

The line that makes steps slow ends with "# slow"."""
import collections
import ctypes
import gc
import json
import os
import statistics
import sys
import time

try:
    import numpy as np
except ImportError:  # a stored trace is judged without it
    np = None

STEPS, LEAD, EVERY = 400, 40, 40
LINES = 3000


class Program:
    """One step of a small model, and what it does beside that in each fortieth step."""

    def __init__(self):
        import torch
        self.torch = torch
        torch.manual_seed(1)
        self.device = torch.device("cuda")
        layers = [layer for _ in range(6) for layer in (torch.nn.Linear(512, 512), torch.nn.ReLU())]
        self.model = torch.nn.Sequential(*layers).to(self.device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-4)
        self.x = torch.randn(128, 512, device=self.device)
        self.value = 0.0

    def begin(self, slow):
        """Before a window."""

    def step(self, number, slow):
        self.optimizer.zero_grad()
        loss = self.model(self.x).square().mean()
        loss.backward()
        self.optimizer.step()
        self.value = loss.item()

    def loop(self, slow, steps=STEPS):
        """Seconds a step behind the first ones."""
        self.begin(slow)
        begin = time.perf_counter()
        for number in range(steps + LEAD):
            if number == LEAD:
                begin = time.perf_counter()
            self.step(number, slow and number % EVERY == EVERY // 2)
        return (time.perf_counter() - begin) / steps


class Collector(Program):
    """Records that stay for a while make the automatic collection look at all objects now and then."""

    def __init__(self):
        super().__init__()
        self.table = [{"row": i, "values": [i]} for i in range(400_000)]
        self.kept = collections.deque(maxlen=60)

    def begin(self, slow):
        gc.unfreeze()
        gc.enable()
        if not slow:
            gc.freeze()
            gc.disable()

    def step(self, number, slow):
        self.kept.append([{"step": number, "at": [i]} for i in range(2_000)])  # slow
        super().step(number, slow)


class Collect(Program):
    def __init__(self):
        super().__init__()
        self.table = [{"row": i, "values": [i]} for i in range(300_000)]

    def step(self, number, slow):
        super().step(number, slow)
        if slow:
            gc.collect()  # slow


class Checkpoint(Program):
    def step(self, number, slow):
        super().step(number, slow)
        if slow:
            self.torch.save(self.model.state_dict(), f"/tmp/irregular.{os.getpid()}.pt")  # slow


class Metric(Program):
    def __init__(self):
        super().__init__()
        self.scores = np.random.default_rng(1).random(600_000)

    def step(self, number, slow):
        super().step(number, slow)
        if slow:
            self.value += np.sort(self.scores)[100]  # slow


class Compile(Program):
    """A part of the model is compiled again for each new length."""

    def begin(self, slow):
        self.torch._dynamo.reset()
        self.part = self.torch.compile(lambda x: (x.sin() * x.cos()).sum(), dynamic=False, backend="aot_eager")
        self.length = 64
        self.torch._dynamo.config.cache_size_limit = 64

    def step(self, number, slow):
        super().step(number, slow)
        if slow:
            self.length += 8
        self.value += self.part(self.x[:, :self.length]).item()  # slow


class Allocate(Program):
    def step(self, number, slow):
        super().step(number, slow)
        if slow:
            self.torch.cuda.empty_cache()
            [self.torch.empty((40 + i) << 20, device=self.device) for i in range(40)]  # slow


class Picture(Program):
    def __init__(self):
        super().__init__()
        self.picture = self.torch.rand(8_000_000, device=self.device)

    def step(self, number, slow):
        super().step(number, slow)
        if slow:
            self.value += np.histogram(self.picture.cpu().numpy(), 64)[0][3]  # slow


class Shard(Program):
    """The next part of the data is read and parsed in the loop."""

    def __init__(self):
        super().__init__()
        self.text = json.dumps([{"id": i, "tokens": list(range(20))} for i in range(LINES * 2)])

    def step(self, number, slow):
        if slow:
            self.rows = json.loads(self.text)  # slow
        super().step(number, slow)


class Report(Program):
    """A server that takes the figures answers late."""

    def step(self, number, slow):
        super().step(number, slow)
        if slow:
            time.sleep(0.03)  # slow


class Disk(Program):
    def __init__(self):
        super().__init__()
        self.rows = np.random.default_rng(1).random(60_000).tolist()

    def step(self, number, slow):
        super().step(number, slow)
        if slow:
            with open(f"/tmp/irregular.{os.getpid()}.txt", "w", encoding="utf-8") as file:
                file.write("\n".join(f"{row:.6f}" for row in self.rows))  # slow


class JaxShapes:
    """A compiled step that meets a new length now and then."""

    def __init__(self):
        import jax
        self.jax = jax
        weights = jax.numpy.ones((512, 512)) / 512
        self.function = lambda x: jax.numpy.tanh(x @ weights @ weights).sum()
        self.x = np.ones((4096, 512), np.float32)

    def loop(self, slow, steps=STEPS):
        compiled = self.jax.jit(lambda x: self.function(x))
        length = 256
        inputs = self.jax.device_put(self.x)
        begin = time.perf_counter()
        for number in range(steps + LEAD):
            if number == LEAD:
                begin = time.perf_counter()
            if slow and number % EVERY == EVERY // 2:
                length += 8
            part = inputs[:length]
            float(compiled(part))  # slow
        return (time.perf_counter() - begin) / steps


PROGRAMS = {"collector": Collector, "collect": Collect, "checkpoint": Checkpoint, "metric": Metric, "compile": Compile, "allocate": Allocate,
            "picture": Picture, "shard": Shard, "report": Report, "disk": Disk, "jax shapes": JaxShapes}


def main():
    program = PROGRAMS[sys.argv[1]]()
    program.loop(True)  # hosts get faster for a second
    times = {True: [], False: []}
    for turn in range(int(sys.argv[2]) if len(sys.argv) > 2 else 9):
        for slow in (True, False) if turn % 2 == 0 else (False, True):
            times[slow].append(program.loop(slow))
    driver = ctypes.CDLL("libcuda.so.1")
    driver.cuProfilerStart()
    program.loop(True, 3 * STEPS)
    driver.cuProfilerStop()
    # Neighbours in time are compared: the host changes its speed from second to second by as much as some causes take.
    with_s = statistics.median(times[True])
    shares = [without / slow for slow, without in zip(times[True], times[False])]
    print(json.dumps({"with_s": with_s, "without_s": with_s * statistics.median(shares), "rounds": len(shares),
                      "shares": [round(share, 4) for share in sorted(shares)]}))


if __name__ == "__main__":
    main()
