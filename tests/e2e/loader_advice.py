# SPDX-License-Identifier: Apache-2.0
"""What a report says of a loop that waits for its data loader. The loader is a small one of our own that lies where PyTorch's
would, with worker processes and a thread named as PyTorch names them."""
import json
import sys

import harness

LOADER = """\
import ctypes
import multiprocessing
import queue
import threading


def call_thread(name):
    ctypes.CDLL(None).prctl(15, name, 0, 0, 0)


def work(dataset, tasks, results):
    call_thread(b"pt_data_worker")
    while True:
        results.put(dataset(tasks.get()))


def pin(results, ready, pin_batch):
    call_thread(b"pt_data_pin")
    while True:
        ready.put(pin_batch(results.get()))


def batches_made_here(dataset, count):
    for index in range(count):
        yield dataset(index)


def batches_of_workers(dataset, count, workers, pin_batch):
    context = multiprocessing.get_context("fork")
    tasks, results, ready = context.Queue(), context.Queue(), queue.Queue()
    for _ in range(workers):
        context.Process(target=work, args=(dataset, tasks, results), daemon=True).start()
    threading.Thread(target=pin, args=(results, ready, pin_batch), daemon=True).start()
    for index in range(2 * workers):
        tasks.put(index)
    for index in range(count):
        yield ready.get()
        tasks.put(index)
"""

PROGRAM = """\
import ctypes
import sys
import zlib

from torch.utils.data import loader

runtime = ctypes.CDLL("libcudart.so.13")
PACKED = zlib.compress(bytes(1 << 20))
host, device = ctypes.c_void_p(), ctypes.c_void_p()


def expensive(index):
    for _ in range(4):
        zlib.decompress(PACKED)
    return index


def cheap(index):
    return index


def pinned_slowly(batch):
    assert runtime.cudaEventQuery(None) >= 0
    return expensive(batch)


def use(batch):
    for _ in range(2):
        assert runtime.cudaMemcpyAsync(device, host, ctypes.c_size_t(20000), 1, None) == 0
    assert runtime.cudaStreamSynchronize(None) == 0


def train(batches):
    for batch in batches:
        use(batch)


def main(case):
    assert runtime.cudaMallocHost(ctypes.byref(host), ctypes.c_size_t(1 << 20)) == 0
    assert runtime.cudaMalloc(ctypes.byref(device), ctypes.c_size_t(1 << 20)) == 0
    if case == "made here":
        train(loader.batches_made_here(expensive, 300))
    elif case == "pin thread":
        train(loader.batches_of_workers(cheap, 450, 2, pinned_slowly))
    else:
        train(loader.batches_made_here(cheap, 300))


main(sys.argv[1])
"""


class LoaderAdvice(harness.CliTest):
    def advice(self, case):
        package = self.folder / "torch" / "utils" / "data"
        package.mkdir(parents=True)
        (package / "loader.py").write_text(LOADER)
        program = self.folder / "train.py"
        program.write_text(PROGRAM)
        # A copy of 20 kB takes 2 ms of the simulated GPU.
        done = self.record(sys.executable, program, case, options=("--report=none", "--quiet"),
                           env={"PYTHONDONTWRITEBYTECODE": "1", "SIMGPU_PINNED_GBPS": "0.01"})
        self.assertEqual(done.returncode, 0, done.stderr)
        report = self.report()
        self.assertGreaterEqual(report["steps"]["count"], 8)
        return report["loader"]

    def test_batches_that_the_loop_makes_are_work_for_workers(self):
        advice = self.advice("made here")
        self.assertEqual((advice["limit"], advice["workers"]), ("too-few-workers", 0), json.dumps(advice))
        self.assertTrue(advice["more_workers_help"])
        needed = advice["needed_workers"]
        self.assertGreaterEqual(needed, 1)
        self.assertLessEqual(needed, max(1, advice["processors"] - 1))
        self.assertEqual(advice["title"], f"DataLoader workers: 0 -> {needed}")
        self.assertEqual(advice["type"], f"num_workers={needed}, persistent_workers=True")
        self.assertLess(advice["step_without_wait_ns"], advice["step_ns"])

    def test_a_slow_pin_thread_is_not_helped_by_workers(self):
        advice = self.advice("pin thread")
        self.assertEqual((advice["limit"], advice["workers"]), ("pin-thread", 2), json.dumps(advice))
        self.assertFalse(advice["more_workers_help"])
        self.assertIsNone(advice["needed_workers"])

    def test_nothing_is_said_of_a_loader_that_is_fast_enough(self):
        self.assertIsNone(self.advice("fast"))


if __name__ == "__main__":
    harness.main()
