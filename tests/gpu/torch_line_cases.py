# SPDX-License-Identifier: Apache-2.0
"""Lines of PyTorch that make the host wait, each marked: `# waits: NAME`, with NAME once for each line.

Before each of them the GPU is given work for some 20 ms, so that there is something to wait for. Lines marked `# setup` may
wait as well; no other line does. tests/gpu/torch_lines.py compares the marks with what synctrace says.
"""
import concurrent.futures
import os

os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # compile in this process, not in a pool of others

import torch  # noqa: E402

ROUNDS = 3
BUSY_CYCLES = 40_000_000


def keep_busy():
    torch.cuda._sleep(BUSY_CYCLES)


class Cases:
    """Every case on its own line, with tensors that were made before."""

    def __init__(self):
        self.values = torch.arange(4096, device="cuda", dtype=torch.float32)
        self.large = torch.zeros(1 << 20, device="cuda")
        self.pageable = torch.ones(4 << 20)
        self.stream = torch.cuda.Stream()
        self.pool = concurrent.futures.ThreadPoolExecutor(1)
        self.seen = 0.0
        self.graphs = []  # kept, so that none is destroyed in between

    def item(self):
        self.seen += self.values.sum().item()  # waits: .item()

    def truth(self):
        if self.values.any():  # waits: if tensor:
            self.seen += 1

    def to_float(self):
        self.seen += float(self.values[7])  # waits: float(t)

    def show(self):
        print(self.values[:4], file=open(os.devnull, "w", encoding="utf-8"))  # waits: print(t)

    def to_host(self):
        self.seen += len(self.large.cpu())  # waits: .cpu()

    def to_list(self):
        self.seen += len(self.values.tolist())  # waits: .tolist()

    def find_nonzero(self):
        self.seen += len(torch.nonzero(self.values))  # waits: nonzero

    def mask(self):
        positive = self.values > 10
        self.seen += len(self.values[positive])  # waits: boolean mask

    def upload(self):
        self.large = self.pageable.to("cuda")  # waits: pageable .to("cuda")

    def upload_without_blocking(self):
        self.large = self.pageable.to("cuda", non_blocking=True)  # waits: pageable .to("cuda", non_blocking=True)

    def synchronize(self):
        torch.cuda.synchronize()  # waits: torch.cuda.synchronize()

    def give_back_memory(self):
        torch.cuda.empty_cache()  # waits: empty_cache()


def autograd_hook(values):
    """The hook runs on a thread of the autograd engine."""

    def hook(gradient):
        keep_busy()
        values.append(gradient.sum().item())  # waits: hook on the autograd thread

    weights = torch.ones(1024, device="cuda", requires_grad=True)
    scaled = weights * 2
    scaled.register_hook(hook)
    scaled.sum().backward()


@torch.compile
def compiled(inputs):
    doubled = inputs * 2 + 1
    if doubled.sum().item() > 0:  # waits: torch.compile
        doubled = doubled - 1
    return doubled


def on_the_pool(values):
    return values.sum().item()  # waits: thread pool


def warm_up(values):
    """What is recommended before a capture, with a wait in it."""
    doubled = values * 2
    return doubled.sum().item()  # waits: warm-up of a CUDA graph


def capture(cases):
    cases.stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(cases.stream):
        keep_busy()
        cases.seen += warm_up(cases.values)
    torch.cuda.current_stream().wait_stream(cases.stream)
    graph = torch.cuda.CUDAGraph()
    keep_busy()
    with torch.cuda.graph(graph):  # waits: begin of a capture
        doubled = cases.values * 2
    graph.replay()
    cases.graphs.append((graph, doubled))


def one_round(cases):
    for case in (cases.item, cases.truth, cases.to_float, cases.show, cases.to_host, cases.to_list, cases.find_nonzero,
                 cases.mask, cases.upload, cases.upload_without_blocking, cases.synchronize):
        keep_busy()
        case()
    unused = torch.empty(64 << 20, dtype=torch.uint8, device="cuda")
    del unused
    keep_busy()
    cases.give_back_memory()
    gradients = []
    autograd_hook(gradients)
    keep_busy()
    compiled(cases.values)
    keep_busy()
    cases.seen += cases.pool.submit(on_the_pool, cases.values).result()
    capture(cases)
    torch.cuda.synchronize()  # setup


def main():
    cases = Cases()
    keep_busy()
    compiled(cases.values)  # setup
    torch.cuda.synchronize()  # setup
    for _ in range(ROUNDS):
        one_round(cases)
    print("done")


if __name__ == "__main__":
    main()
