# SPDX-License-Identifier: Apache-2.0
"""A thread of the program's own makes batches and copies them to the GPU on a stream of its own."""
import queue
import threading

import torch
from models import Classifier
from torch import _C
from torch.nn import functional as F
from truth import Phase, host_work, tell

BATCHES = 100
side = torch._C.ctypes.c_void_p(_C.held.stream())


def load(ready):
    for _ in range(BATCHES):
        host_work(0.1)
        ready.put(torch.Tensor(1 << 18, pinned=True).to("cuda", non_blocking=True, stream=side))
    ready.put(None)


def main():
    model = Classifier()
    optimizer = torch.optim.SGD(model.parameters())
    ready, phase = queue.Queue(maxsize=4), Phase("train", __file__)
    thread = threading.Thread(target=load, args=(ready,))
    thread.start()
    with phase:
        while (batch := ready.get()) is not None:  # loop: train
            _C.held.wait_for_stream(_C.DEFAULT_STREAM, side)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(batch), batch)
            loss.backward()
            optimizer.step()
            phase.step()
    thread.join()
    loss.item()
    tell()


main()
