# SPDX-License-Identifier: Apache-2.0
"""The train.py of the documentation, on the simulated GPU: a step of GPU work, and a wait that its comment allows. Where a launcher
started it, it becomes the C++ program `ranks`, which does what a rank of a data-parallel job does."""
import ctypes
import os

RANK_VARIABLES = ("RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID")

if any(name in os.environ for name in RANK_VARIABLES):
    ranks = os.path.join(os.environ["PROGRAMS_DIR"], "ranks")
    os.execv(ranks, [ranks, os.environ["NCCL_FOLDER"], "4"])

runtime = ctypes.CDLL("libcudart.so.13")
work = ctypes.CDLL(os.path.join(os.environ["PROGRAMS_DIR"], "libgate_work.so"))
work.gate_stream.restype = ctypes.c_void_p
stream = ctypes.c_void_p(work.gate_stream())


def train_step():
    work.gate_spin(ctypes.c_longlong(300_000))


def show_loss():
    runtime.cudaStreamSynchronize(stream)  # synctrace: allow[ST001] the loss is printed each time


if __name__ == "__main__":
    for _ in range(40):
        train_step()
        show_loss()
