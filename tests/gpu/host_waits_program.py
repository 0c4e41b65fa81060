# SPDX-License-Identifier: Apache-2.0
"""Lines that wait, each timed by itself: host_waits_program.py torch|cupy|jax|python TRUTH_FILE. Run by host_waits.py.

A line that times is also the line that a recording has to name, so each call stands on one line with its timing."""
import json
import queue
import sys
import threading
import time

truth = []


def timed(name, call, waker=None):
    """`waker`: the thread that will end the wait, where the program knows it."""
    begin = time.perf_counter_ns()
    call()
    end = time.perf_counter_ns()
    truth.append({"name": name, "line": sys._getframe(1).f_lineno, "begin_ns": begin, "end_ns": end,
                  "thread": threading.get_native_id(), "waker": waker() if waker else None})


def helper(call, after_s=0.03):
    """A thread that does it after a while; its number, for `waker`."""
    thread = threading.Thread(target=lambda: (time.sleep(after_s), call()))
    thread.start()
    return lambda: thread.native_id


def keep_interpreter_busy(stop):
    while not stop.is_set():
        sum(range(500))


def wait_in_python():
    box, event = queue.Queue(), threading.Event()
    waker = helper(lambda: box.put(1))
    timed("queue.get", lambda: box.get(), waker)
    waker = helper(event.set)
    timed("Event.wait", lambda: event.wait(), waker)
    timed("Event.wait with limit", lambda: threading.Event().wait(0.03))
    stop = threading.Event()
    busy = threading.Thread(target=keep_interpreter_busy, args=(stop,))
    sys.setswitchinterval(0.05)
    busy.start()
    for _ in range(5):
        timed("interpreter lock", lambda: time.sleep(0.005))
    stop.set()
    busy.join()
    sys.setswitchinterval(0.005)


class SlowItems:
    """A dataset; the workers import it by name."""

    def __len__(self):
        return 24

    def __getitem__(self, index):
        import torch
        time.sleep(0.04)
        return torch.full((64, 64), float(index))


def busy_torch():
    import torch
    torch.cuda._sleep(45_000_000)  # some 26 ms


def run_torch():
    import torch
    x = torch.rand(2048, 2048, device="cuda")  # before the first wait: nothing is recorded until CUDA is up
    torch.cuda.synchronize()
    wait_in_python()
    one = x.sum()
    pageable = torch.rand(1024, 1024)
    pinned = pageable.pin_memory()
    mask = x > 0.5
    layers = torch.nn.Sequential(*[torch.nn.Linear(64, 64) for _ in range(400)]).cuda()
    batch = torch.rand(64, 64, device="cuda")
    layers(batch).sum().backward()
    calls = [x[mask], x.nonzero(), bool((x > 2).any()), x[:4].tolist(), one.item(), x.cpu()]  # first times are slow
    calls.append(torch.tensor([1.0, 2.0], device="cuda"))
    del calls
    torch.cuda.synchronize()
    busy_torch(), timed(".item()", lambda: one.item())
    busy_torch(), timed("float(t)", lambda: float(one))
    busy_torch(), timed("if tensor", lambda: bool((x > 2).any()))
    busy_torch(), timed("nonzero", lambda: x.nonzero())
    busy_torch(), timed("t[mask]", lambda: x[mask])
    busy_torch(), timed(".cpu()", lambda: x.cpu())
    busy_torch(), timed(".tolist()", lambda: x[:4].tolist())
    busy_torch(), timed("pageable.to", lambda: pageable.to("cuda"))
    busy_torch(), timed("pageable.to non_blocking", lambda: pageable.to("cuda", non_blocking=True))
    busy_torch(), timed("torch.tensor on device", lambda: torch.tensor([1.0, 2.0], device="cuda"))
    busy_torch(), timed("pinned.to", lambda: pinned.to("cuda"))
    busy_torch(), timed("synchronize", lambda: torch.cuda.synchronize())
    for _ in range(3):
        loss = layers(batch).sum()
        torch.cuda.synchronize()
        timed("backward()", lambda: loss.backward())
    torch.cuda.synchronize()
    loader = iter(torch.utils.data.DataLoader(SlowItems(), batch_size=2, num_workers=1, pin_memory=True))
    next(loader)
    for _ in range(4):
        timed("next(loader)", lambda: next(loader))
    del loader


def run_cupy():
    import cupy
    x = cupy.random.rand(4096, 4096)
    y = x @ x
    one = x.sum()
    float(one), bool(one > 0), y.get()
    positive = one > 0

    def busy():
        for _ in range(4):
            cupy.matmul(x, x, out=y)

    busy(), timed("float(x)", lambda: float(one))
    busy(), timed("x.get()", lambda: y.get())
    busy(), timed("bool(x)", lambda: bool(positive))


def run_jax():
    import jax
    import jax.numpy as jnp
    import numpy as np

    @jax.jit
    def work(x):  # some 20 ms, beside which a slow host's own part of a call is small
        return jax.lax.fori_loop(0, 60, lambda i, y: (y @ x) * 1e-3, x)

    x = jnp.ones((4096, 4096))
    total = jax.jit(lambda y: work(y).sum())
    is_large = jax.jit(lambda y: work(y).sum() > 0)
    work(x).block_until_ready(), float(total(x)), bool(is_large(x)), np.asarray(work(x))
    for _ in range(2):
        y = total(x)
        timed("float(x)", lambda: float(y))
        z = work(x)
        timed("block_until_ready", lambda: z.block_until_ready())
        w = total(x)
        timed("np.asarray", lambda: np.asarray(w))
        v = is_large(x)
        timed("bool(x)", lambda: bool(v))


def run_python():
    """No framework: the runtime through ctypes, also the simulated GPU's."""
    import ctypes
    runtime = ctypes.CDLL("libcudart.so.13")
    if runtime.cudaDeviceSynchronize() != 0:
        sys.exit("no GPU")
    time.sleep(1)
    wait_in_python()


if __name__ == "__main__":
    {"torch": run_torch, "cupy": run_cupy, "jax": run_jax, "python": run_python}[sys.argv[1]]()
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        json.dump(truth, file)
