# SPDX-License-Identifier: Apache-2.0
"""A training loop in which something happens now and then: episodes_program.py torch|simulated PLAN.

PLAN has lines "BEGIN_S END_S KIND", counted from the line "ready" that this program prints, and ends with "END_S 0 end". Kinds that make
each step slower: loader, item, gc, host. Kinds that do not: checkpoint, validation, logging, allocation; they happen once, at BEGIN_S.
`synctrace watch` is held against both by live_episodes.py, which finds the lines by the comments behind them."""
import ctypes
import functools
import gc
import io
import pickle
import sys
import time

READ_EVERY = 10
BYTES = 1 << 20


class Torch:
    def __init__(self):
        import torch
        self.torch = torch
        torch.manual_seed(0)
        self.model = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(16)]).cuda()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-5)
        self.batch = torch.randn(2048, 1024).pin_memory()
        self.loss = None
        self.wait = torch.cuda.synchronize

    def step(self):
        batch = self.batch.to("cuda", non_blocking=True)
        self.optimizer.zero_grad(set_to_none=True)
        self.loss = self.model(batch).square().mean()
        self.loss.backward()
        self.optimizer.step()

    def read(self):
        return self.loss.item()

    def allocate(self):
        self.torch.cuda.empty_cache()

    def state(self):
        return {name: value.cpu() for name, value in self.model.state_dict().items()}


class Simulated:
    """The same calls at the simulated GPU's runtime: a copy, work of a millisecond, and now and then a read."""

    def __init__(self):
        self.runtime = ctypes.CDLL("libcudart.so.13")
        self.memory, self.stream = ctypes.c_void_p(), ctypes.c_void_p()
        self.runtime.cudaMalloc(ctypes.byref(self.memory), ctypes.c_size_t(64 * BYTES))
        self.runtime.cudaStreamCreate(ctypes.byref(self.stream))
        self.wait = functools.partial(self.runtime.cudaStreamSynchronize, self.stream)
        self.pinned = ctypes.c_void_p()
        self.runtime.cudaMallocHost(ctypes.byref(self.pinned), ctypes.c_size_t(BYTES))

    def step(self):
        self.runtime.cudaMemcpyAsync(self.memory, self.pinned, ctypes.c_size_t(BYTES), 1, self.stream)
        self.runtime.cudaMemsetAsync(self.memory, 0, ctypes.c_size_t(4 * BYTES), self.stream)

    def read(self):
        self.runtime.cudaMemcpyAsync(self.pinned, self.memory, ctypes.c_size_t(4), 2, self.stream)
        self.runtime.cudaStreamSynchronize(self.stream)
        return 0.0

    def allocate(self):
        more = ctypes.c_void_p()
        self.runtime.cudaMalloc(ctypes.byref(more), ctypes.c_size_t(BYTES))
        self.runtime.cudaFree(more)

    def state(self):
        return {"weights": bytes(8 * BYTES)}


def slow_load():
    time.sleep(0.015)  # episode: loader


def read_all(backend):
    for _ in range(8):
        backend.wait()  # episode: item


def collect():
    gc.collect()  # episode: gc


def encode(rows):
    return sum(len(pickle.dumps(row)) for row in rows)  # episode: host


def run_once(kind, backend):
    if kind == "checkpoint":
        pickle.dump(backend.state(), io.BytesIO())
        time.sleep(0.6)
    elif kind == "validation":
        for _ in range(60):
            backend.step()
            backend.read()
    elif kind == "logging":
        for number in range(2000):
            print("loss", number, file=sys.stderr)
    elif kind == "allocation":
        backend.allocate()


def main():
    backend = {"torch": Torch, "simulated": Simulated}[sys.argv[1]]()
    with open(sys.argv[2], encoding="ascii") as plan:
        episodes = [(float(begin), float(end), kind) for begin, end, kind in map(str.split, plan)]
    heap = [[number] for number in range(400_000)]
    gc.disable()
    rows = [list(range(4000)) for _ in range(60)]
    actions = {"loader": slow_load, "item": lambda: read_all(backend), "gc": collect, "host": lambda: encode(rows)}
    for _ in range(50):
        backend.step()
        backend.read()
    print("ready", time.monotonic_ns(), flush=True)
    began, step = time.monotonic(), 0
    while episodes[0][2] != "end" or time.monotonic() - began < episodes[0][0]:
        time.sleep(0.003)  # the data that a loader has ready
        begin, end, kind = episodes[0]
        now = time.monotonic() - began
        if now >= begin and kind in actions and kind != "item":
            actions[kind]()
        elif now >= begin and kind not in actions:
            run_once(kind, backend)
        if now >= (end if kind in actions else begin) and kind != "end":
            episodes.pop(0)
        backend.step()
        step += 1
        if now >= begin and kind == "item":  # while the GPU works
            actions[kind]()
        if step % READ_EVERY == 0:
            backend.read()
    print("end", step, len(heap), flush=True)


main()
