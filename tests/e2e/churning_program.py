# SPDX-License-Identifier: Apache-2.0
"""A program that makes life hard for whoever reads its stacks: churning_program.py SECONDS. Threads that use CUDA
compile functions, call them and drop them, at addresses that are used again at once; make and drop modules; raise, fork
and collect garbage. Each function is called f_<its first line>_<checksum of its file's name>, and is called by `churn`
or by itself: sampled_churn.py checks what the recorder made of them. Python 3.8 or newer."""
import ctypes
import gc
import os
import random
import sys
import threading
import time
import types
import warnings
import zlib

warnings.simplefilter("ignore")  # forking with threads
runtime = ctypes.CDLL("libcudart.so.13")
deadline = time.monotonic() + float(sys.argv[1])
THREADS = 3

BODY = """\
def {name}(depth):
    total = 0
    for number in range({turns}):
        total += number
    if depth:
        return {name}(depth - 1)
    try:
        raise ValueError(total)
    except ValueError as error:
        return [str(error) for _ in range(3)]
"""


def use_cuda():
    pointer = ctypes.c_void_p()
    assert runtime.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(64)) == 0
    assert runtime.cudaFree(pointer) == 0


def make_function(rng):
    line = rng.randrange(1, 400)
    file = "gen-%08x.py" % rng.getrandbits(32)
    name = "f_%d_%08x" % (line, zlib.crc32(file.encode()))
    source = "\n" * (line - 1) + BODY.format(name=name, turns=rng.randrange(20, 400))
    module = types.ModuleType(file)
    sys.modules[file] = module
    exec(compile(source, file, "exec"), module.__dict__)
    function = module.__dict__[name]
    del sys.modules[file]
    return function


def churn(rng):
    function = make_function(rng)
    for _ in range(rng.randrange(1, 6)):
        function(rng.randrange(4))


def fork_once():
    child = os.fork()
    if child == 0:
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def work(seed):
    rng = random.Random(seed)
    turn = 0
    while time.monotonic() < deadline:
        churn(rng)
        turn += 1
        if turn % 50 == 0:
            use_cuda()
        if turn % 400 == seed:
            gc.collect()
        if turn % 100 == 0:
            time.sleep(0.001)


def main():
    use_cuda()
    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(THREADS)]
    for thread in threads:
        thread.start()
    while time.monotonic() < deadline:
        fork_once()
        short = threading.Thread(target=use_cuda)
        short.start()
        short.join()
        time.sleep(0.05)
    for thread in threads:
        thread.join()
    print("done")


main()
